"""Names of attributes that `corpus-stats` refuses before it reads the corpus."""

from pathlib import Path

import pytest

from spacy_multihash.cli.corpus_stats import corpus_stats_cli
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ("LOWER{3,5},ORTH[:2", "corpus-stats: each of --attrs must be a name such as ORTH[:2]"),
        ("_.a b", "each of --attrs must be the name of an extension attribute"),
        ("NORM,", "was: ''"),
    ],
)
def test_names_of_no_feature_are_refused(tmp_path: Path, attrs: str, message: str) -> None:
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    result = invoke_command(corpus_stats_cli, train, "--attrs", attrs)
    assert result.exit_code == 1
    assert message in said(result)
    assert "config" not in said(result) and "train.spacy" not in said(result)
