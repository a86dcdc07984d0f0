"""The command that counts what is in a corpus."""

from pathlib import Path

import pytest

from spacy_multihash.cli.corpus_stats import corpus_stats_cli
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus


@pytest.mark.parametrize(
    ("attrs", "expected", "name"),
    [
        ("LOWER{3,5},ORTH[:2", "a name such as ORTH[:2], LOWER{3,5}, MORPH[Case]", "'ORTH[:2'"),
        ("ORTH[2]", "a slice with a colon and without a step", "'ORTH[2]'"),
        ("LOWER{5,3}", "the shortest and the longest n-grams", "'LOWER{5,3}'"),
        ("MORPH[]", "the name of one morphological feature", "'MORPH[]'"),
        ("_.a b", "the name of an extension attribute", "'_.a b'"),
    ],
)
def test_names_of_no_feature_are_refused_as_an_option(
    tmp_path: Path, attrs: str, expected: str, name: str
) -> None:
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    result = invoke_command(corpus_stats_cli, train, "--attrs", attrs)
    assert result.exit_code == 1
    assert f"corpus-stats: each of --attrs must be {expected}" in said(result)
    assert f", was: {name}. Correct the name." in said(result)
    assert "config" not in said(result) and "Embedding layer" not in said(result)


def test_an_empty_name_of_an_attribute_is_refused_before_the_corpus_is_read(
    tmp_path: Path,
) -> None:
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    result = invoke_command(corpus_stats_cli, train, "--attrs", "NORM,")
    assert result.exit_code == 1
    assert "was: ''" in said(result) and "train.spacy" not in said(result)
