"""The app of the page on serving."""

import json
import os
import re
import runpy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language

from spacy_multihash import set_threads
from spacy_multihash.ner.calibration import turn_on_probabilities
from tests.helpers.paths import ROOT
from tests.helpers.recognizers import trained
from tests.helpers.spacy_pipelines import add_rules

testclient = pytest.importorskip("fastapi.testclient", reason="FastAPI is in the extra dev")
SERVING = ROOT / "docs" / "serving"
TEXTS = ["Anna met Bob in Rome .", "They like rain .", "Bob left Oslo ."]


@pytest.fixture(params=["batch_ner", "tagger_ner"])
def served(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Any, Language, dict[str, Any]]]:
    """A client of the app, the pipeline that it serves, and the names in the app."""
    nlp = trained(request.param)
    turn_on_probabilities(nlp, request.param)
    add_rules(nlp, {"Bob": "PER"}, first=True).to_disk(tmp_path)
    monkeypatch.setenv("MODEL", str(tmp_path))
    former = set_threads(None)
    names = runpy.run_path(str(SERVING / "app.py"), run_name="app")
    with testclient.TestClient(names["app"]) as client:
        yield client, spacy.load(tmp_path), names
    set_threads(former)


def test_app_answers_several_requests_at_a_time(
    served: tuple[Any, Language, dict[str, Any]],
) -> None:
    client, nlp, names = served
    requests = [TEXTS[i % 3 :] * 5 for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda texts: client.post("/entities", json={"texts": texts}), requests)
        )
    for texts, answer in zip(requests, answers, strict=True):
        expected = [
            [(ent.text, ent.label_, ent.start_char, ent.end_char) for ent in nlp(text).ents]
            for text in texts
        ]
        found = [[tuple(ent.values())[:4] for ent in of_text] for of_text in answer.json()]
        assert found == expected
    for ent in answers[0].json()[0]:
        if ent["text"] == "Bob":  # the ruler's
            assert ent["probability"] in (None, 1)
        else:
            assert 0.1 < ent["probability"] <= 1
    assert names["pipelines"].qsize() == 4


def test_app_refuses_what_is_too_much(served: tuple[Any, Language, dict[str, Any]]) -> None:
    client, _, names = served
    assert client.get("/health").json() == {"status": "ok", "model": os.environ["MODEL"]}
    most = names["MAX_TEXTS"], names["MAX_CHARACTERS"]
    assert client.post("/entities", json={"texts": ["x"] * most[0]}).status_code == 200
    assert client.post("/entities", json={"texts": []}).json() == []
    for texts in (["x"] * (most[0] + 1), ["x" * (most[1] + 1)], "x", [1], None, ["\ud800"]):
        content = json.dumps({"texts": texts})  # in ASCII
        assert client.post("/entities", content=content).status_code == 422, texts
    too_large = client.post("/entities", content=b" " * (names["MAX_BYTES"] + 1))
    assert too_large.status_code == 413
    assert client.post("/entities", content=iter([b"{}"])).status_code == 411
    for _ in range(4):
        names["pipelines"].get()
    names["entities"].__globals__["MAX_WAIT"] = 0.01
    assert client.post("/entities", json={"texts": ["x"]}).status_code == 503


def test_page_shows_the_files() -> None:
    page = (ROOT / "docs" / "serving.md").read_text("utf8")
    shown = {kind: code for kind, code in re.findall(r"```(py|dockerfile)\n(.*?)```", page, re.S)}
    assert shown["py"] == (SERVING / "app.py").read_text("utf8")
    assert shown["dockerfile"] == (SERVING / "Dockerfile").read_text("utf8")
