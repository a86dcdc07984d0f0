"""For which labels n-grams speak, against the model's own predictions."""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash.cli.importance import importance_cli
from spacy_multihash.embed.find import find_weighted
from spacy_multihash.inspection.importance import Ranking, SymbolImportance, symbol_importance
from tests.helpers.cli import invoke_command
from tests.helpers.corpora import write_corpus
from tests.helpers.pipelines import (
    TEXTCAT,
    textcat_pipeline,
    token_docs,
    weighted_pipeline,
)

ALL = Ranking(top=1000, min_freq=1)
SINGLE = {**TEXTCAT, "ngram_orders": [1]}


def randomize(nlp: Language) -> Language:
    """Set all weights of the classifier but the bias, which no n-gram changes."""
    rng = numpy.random.default_rng(1)
    for node in nlp.get_pipe("textcat").model.walk():  # type: ignore[attr-defined]
        for name in node.param_names:
            if name != "b":
                node.set_param(name, rng.normal(size=node.get_param(name).shape).astype("float32"))
    return nlp


def listed(nlp: Language) -> list[list[SymbolImportance]]:
    return [found.largest for found in symbol_importance(nlp, lambda: token_docs(nlp), ALL)]


def scores(nlp: Language, *words: str) -> numpy.ndarray:
    """The probabilities of a doc's labels."""
    model = nlp.get_pipe("textcat").model  # type: ignore[attr-defined]
    return model.predict([Doc(nlp.vocab, words=list(words))])[0]


@pytest.mark.parametrize("settings", [{}, {"append_importance": True}, {"reduce": "mean"}])
def test_exclusive_labels_differ_by_log_odds(settings: dict[str, Any]) -> None:
    nlp = randomize(textcat_pipeline({**SINGLE, **settings}))
    for symbol in listed(nlp)[0]:
        X, Y = scores(nlp, symbol.text)
        assert list(symbol.labels) == ["X", "Y"]
        assert symbol.labels["X"] - symbol.labels["Y"] == pytest.approx(numpy.log(X / Y), rel=1e-3)
        assert sum(symbol.labels.values()) == pytest.approx(0, abs=1e-5)


def test_labels_of_their_own_have_logits_that_add_up() -> None:
    nlp = randomize(textcat_pipeline({**SINGLE, "exclusive_classes": False}))
    by_text = {symbol.text: symbol.labels for symbol in listed(nlp)[0]}
    p = scores(nlp, "what", "joke").astype("float64")
    together = {name: by_text["what"][name] + by_text["joke"][name] for name in "XY"}
    assert list(together.values()) == pytest.approx(numpy.log(p / (1 - p)).tolist(), rel=1e-3)


def test_models_that_are_not_linear_have_no_labels() -> None:
    assert all(not symbol.labels for symbols in listed(weighted_pipeline()) for symbol in symbols)


def test_vectors_that_are_not_finite_are_an_error() -> None:
    nlp = textcat_pipeline(TEXTCAT)
    for embedding in find_weighted(nlp):
        embedding.components.weights.get_param("E")[:] = numpy.nan
    message = r"textcat.LOWER\[1,2\] has vectors that are not finite: training has diverged"
    with pytest.raises(ValueError, match=message):
        listed(nlp)


# The command


def save(nlp: Language, folder: Path) -> tuple[Path, str, Path, str, int]:
    """Save a pipeline and a corpus, and return the arguments of the command."""
    nlp.to_disk(folder / "model")
    corpus = write_corpus(folder / "docs.spacy", token_docs(nlp))
    return folder / "model", "--data", corpus, "--min-freq", 1


def test_command_shows_two_of_many_labels_and_says_how_to_see_all(tmp_path: Path) -> None:
    nlp = textcat_pipeline(TEXTCAT)
    for i in range(20):
        nlp.get_pipe("textcat").add_label(f"LABEL{i}")  # type: ignore[attr-defined]
    args = save(randomize(nlp), tmp_path)
    result = invoke_command(importance_cli, *args, "--top", 2)
    said = " ".join(result.output.split())
    assert "2 of 22 labels. See all with --json." in said
    (symbol, *_) = listed(nlp)[0]
    best, score = max(symbol.labels.items(), key=lambda item: item[1])
    worst, least = min(symbol.labels.items(), key=lambda item: item[1])
    assert f"{best} {score:+.3g} {worst} {least:+.3g}" in said
    (found,) = json.loads(invoke_command(importance_cli, *args, "--json").stdout)
    assert len(found["largest"][0]["labels"]) == 22
