"""The app of the page on serving, run without FastAPI."""

import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spacy_multihash import set_threads
from tests.helpers.paths import ROOT
from tests.helpers.recognizers import trained

TEXTS = ["Anna met Bob in Rome .", "They like rain .", "Bob left Oslo ."]


class FastAPI:
    """Registers nothing."""

    def post(self, path: str) -> Callable[[Any], Any]:
        return lambda function: function


@pytest.mark.parametrize("factory", ["batch_ner", "tagger_ner"])
def test_app_of_the_docs_answers_several_requests_at_a_time(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = trained(factory)
    nlp.to_disk(tmp_path)
    stand_in = ModuleType("fastapi")
    monkeypatch.setattr(stand_in, "FastAPI", FastAPI, raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", stand_in)
    (code,) = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "serving.md").read_text("utf8"), re.S)
    names: dict[str, Any] = {"__name__": "app"}
    former = set_threads(None)
    try:
        exec(code.replace("first/model", str(tmp_path)), names)
        requests = [names["Request"](texts=TEXTS[i % 3 :] * 5) for i in range(24)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(names["entities"], requests))
    finally:
        set_threads(former)
    for request, answer in zip(requests, answers, strict=True):
        assert answer == [
            [{"text": ent.text, "label": ent.label_} for ent in nlp(text).ents]
            for text in request.texts
        ]
    assert names["pipelines"].qsize() == 4
