"""The command that estimates scores without gold."""

import json
from pathlib import Path
from typing import Any

from tests.helpers import cli


def test_scores_are_printed_and_written_and_texts_chosen(recognizer: Any, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Anna met Bob in Rome .\nThey like rain .\nOslo likes it\n")
    args = ("estimate", recognizer("tagger_ner"), tmp_path / "texts.txt")
    output = cli.said(cli.ok(*args, "--json", tmp_path / "e.json"))
    figures = json.loads((tmp_path / "e.json").read_text())
    assert f"{100 * figures['overall']['f1']:.1f}" in output and "calibrate" in output
    assert "exists. Give another --json" in cli.refused(*args, "--json", tmp_path / "e.json")
    lines = cli.ok(*args, "--next", 2, "--export", "doccano").stdout.splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"text", "label", "expected_mistakes"}] * 2
    by_chance = cli.ok(*args, "--next", 2, "--random", "--export", "doccano").stdout.splitlines()
    assert len(by_chance) == 2 and by_chance != lines
    assert "no corpus at" in cli.refused("estimate", args[1], tmp_path / "nowhere")
