"""The command that writes a faster pipeline."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly

from tests.helpers import cli
from tests.helpers.corpora import write_corpus
from tests.helpers.spacy_pipelines import CNN, TEXTS, build, ner, with_listener


@pytest.mark.parametrize("name", ["dev.spacy", "texts.txt", "texts.jsonl"])
def test_pipeline_is_written_and_its_figures_are_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_multihash.pipelines.accelerate.compare_loads", no_loads)
    build(with_listener(ner=ner(CNN))).to_disk(tmp_path / "model")
    data, report = tmp_path / name, tmp_path / "gain.html"
    if name == "dev.spacy":
        write_corpus(data, map(spacy.blank("en"), TEXTS))
    elif name == "texts.txt":
        data.write_text("\n\n".join(TEXTS), "utf8")
    else:
        srsly.write_jsonl(data, [{"text": text} for text in TEXTS])
    args = ("accelerate", tmp_path / "model", tmp_path / "out", "--data", data, "--seconds", 0)
    printed = cli.said(cli.ok(*args, "--report", report))
    assert "Replaced: 4" in printed and re.search("TAG ([0-9]+) \\1 \\1 100.00", printed)
    assert "batches, tokens a second" in report.read_text("utf8")
    assert spacy.load(tmp_path / "out").get_pipe_meta("ner").factory == "batch_ner"
    if name != "dev.spacy":
        return
    figures = json.loads(cli.ok(*args, "--force", "--keep-ner", "--json").stdout)
    assert len(figures["replaced"]) == 3
    assert figures["gain"]["agreement"]["kinds"]["TAG"]["share"] == 1
    code = tmp_path / "out" / "code.py"
    code.touch()
    assert "may not contain each other" in cli.refused(*args, "--force", "--code", code)


def no_loads(*args: Any, **settings: Any) -> tuple[list[Any], str]:
    return [], ""
