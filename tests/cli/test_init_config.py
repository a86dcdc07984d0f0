"""The command that writes complete configs."""

from pathlib import Path

import pytest
from spacy.util import load_config
from thinc.api import Config

from spacy_multihash import init_config
from tests.helpers import cli
from tests.helpers.corpora import make_docs, write_corpus


def test_config_is_written_with_its_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path / "train.spacy", make_docs(3))
    monkeypatch.chdir(tmp_path)
    result = cli.ok("init-config", "ner", "my.cfg", "--lang", "en", "--train", "train.spacy")
    made = init_config("ner", "en", train="train.spacy")
    assert load_config("my.cfg") == made.config
    lines = Path("my.cfg").read_text("utf8").splitlines()
    assert lines[0].endswith("init-config ner --lang en --train train.spacy")
    assert all(reason in result.output and f"# {reason}" in lines for reason in made.reasons)
    assert "train my.cfg --output training --paths.dev dev.spacy" in result.output


def test_dash_prints_the_config_and_nothing_else() -> None:
    result = cli.ok("init-config", "ner", "-", "--lang", "en", "--vectors", "my vectors")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("init-config ner --lang en --vectors 'my vectors'")
    config = Config().from_str(result.stdout, interpolate=False)
    assert config == init_config("ner", "en", vectors="my vectors").config


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    assert "textcat_multilabel" in cli.refused("init-config", "parser", tmp_path / "x", "-l", "en")
    assert not list(tmp_path.iterdir())
