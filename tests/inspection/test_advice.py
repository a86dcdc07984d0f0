"""Rows for a corpus, and the start near zero."""

from pathlib import Path

import pytest
from spacy.language import Language

from spacy_multihash.cli.importance import importance_cli
from spacy_multihash.embed.find import find_weighted
from spacy_multihash.inspection.importance import Ranking, RowAdvice, advise_rows, symbol_importance
from tests.helpers.cli import invoke_command
from tests.helpers.corpora import write_corpus
from tests.helpers.pipelines import TEXTCAT, textcat_pipeline, token_docs


@pytest.mark.parametrize(
    ("num_frequent", "rows", "importance_rows"),
    [
        (1, 1, 10),
        (10, 10, 100),
        (11, 20, 200),
        (101, 200, 2_000),
        (5_000, 5_000, 50_000),
        (78_745, 100_000, 1_000_000),  # the part of AG News
    ],
)
def test_advice_grows_with_the_corpus(num_frequent: int, rows: int, importance_rows: int) -> None:
    (embedding,) = find_weighted(textcat_pipeline(TEXTCAT))
    advice = advise_rows(embedding, num_frequent)
    assert advice == RowAdvice(30, rows, 60, importance_rows)


def with_importance_of_1() -> Language:
    nlp = textcat_pipeline(TEXTCAT)
    (embedding,) = find_weighted(nlp)
    assert embedding.importance is not None
    embedding.importance.weights.get_param("E")[:] = 1
    return nlp


@pytest.mark.parametrize("warns", [True, False])
def test_command_advises_rows_and_warns_of_few_updates(warns: bool, tmp_path: Path) -> None:
    nlp = textcat_pipeline(TEXTCAT) if warns else with_importance_of_1()
    nlp.to_disk(tmp_path / "model")
    corpus = write_corpus(tmp_path / "docs.spacy", token_docs(nlp))
    result = invoke_command(importance_cli, tmp_path / "model", "--data", corpus, "--min-freq", 1)
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    (found,) = symbol_importance(nlp, lambda: token_docs(nlp), Ranking(min_freq=1))
    advice = found.rows
    row = f"{advice.rows} {advice.advised} {advice.importance_rows} {advice.advised_importance}"
    assert f"textcat.LOWER[1,2] {row}" in lines
    assert ("frequent symbols is near zero" in " ".join(lines)) == warns
