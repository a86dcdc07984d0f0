"""Runs whose configs the package's own command makes."""

from pathlib import Path

import pytest
from thinc.api import Config
from typer.testing import CliRunner

from experiments.arms.tasks import RECOMMEND
from experiments.runs.files import digests
from experiments.runs.grid import Run, config_hash, run_config
from spacy_multihash.cli.group import multihash_cli
from tests.helpers.corpora import make_docs, write_corpus

RUN = Run("wnut17", RECOMMEND, seed=2)


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for split in ("train", "dev"):
        RUN.corpus(split).parent.mkdir(parents=True, exist_ok=True)
        write_corpus(RUN.corpus(split), make_docs(4))
    return tmp_path


def test_config_is_the_one_that_the_command_writes(corpora: Path) -> None:
    args = ["recommend", str(RUN.corpus("train")), str(RUN.corpus("dev")), "--lang", "en"]
    result = CliRunner().invoke(multihash_cli, [*args, "--output", "written.cfg"])
    assert result.exit_code == 0, result.output
    written = Config().from_disk("written.cfg", interpolate=False)
    made = run_config(RUN)
    assert made["system"]["seed"] == 2
    made["system"]["seed"] = written["system"]["seed"]
    assert config_hash(made) == config_hash(written)
    assert made["paths"] == written["paths"]


def test_settings_are_those_of_the_corpus_and_trusted_without_it(corpora: Path) -> None:
    assert digests(RUN) == (config_hash(run_config(RUN)),)
    for split in ("dev", "train"):
        RUN.corpus(split).unlink()
        assert digests(RUN) is None


def test_what_the_command_says_is_the_error(corpora: Path) -> None:
    RUN.corpus("dev").write_bytes(b"")
    with pytest.raises(ValueError, match=r"multihash recommend .* --lang en: (?s:.)*dev\.spacy"):
        run_config(RUN)
