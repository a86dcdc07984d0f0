"""What is given to functions as a corpus, a text or a pipeline."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_multihash import (
    apply,
    calibrate,
    corpus_stats,
    errors,
    estimate,
    evaluate,
    explain,
    explain_corpus,
    init_config,
    next_texts,
    show,
)
from spacy_multihash.training.plan import plan_fit
from tests.helpers.corpora import write_corpus

BLANK = spacy.blank("en")


@cache
def pipeline() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner").add_label("PER")  # type: ignore[attr-defined]
    nlp.initialize()
    return nlp


def gold() -> Doc:
    return Doc(pipeline().vocab, words=["Anna", "left"], ents=["B-PER", "O"])


OF_GOLD: dict[str, Callable[[Any], Any]] = {
    "corpus_stats": corpus_stats,
    "corpus_stats dev": lambda given: corpus_stats([gold()], given),
    "evaluate": lambda given: evaluate(pipeline(), given),
    "evaluate train": lambda given: evaluate(pipeline(), [gold()], given),
    "errors": lambda given: errors(pipeline(), given),
    "errors train": lambda given: errors(pipeline(), [gold()], train=given),
    "calibrate": lambda given: calibrate(pipeline(), given),
    "explain_corpus": lambda given: explain_corpus(pipeline(), given),
    "plan_fit": lambda given: plan_fit(given, lang="en"),
}
OF_TEXTS: dict[str, Callable[[Any], Any]] = {
    "estimate": lambda given: estimate(pipeline(), given),
    "next_texts": lambda given: next_texts(pipeline(), given, 1),
}
WRONG: list[Any] = [5, b"corpus", {"a": 1}, gold(), [None], [("Anna", 1)]]


@pytest.mark.parametrize("given", WRONG, ids=str)
@pytest.mark.parametrize("name", [*OF_GOLD, *OF_TEXTS])
def test_what_is_no_corpus_is_refused(name: str, given: Any) -> None:
    with pytest.raises(ValueError, match=r"[Ee]xpected|has 1 document|must be"):
        (OF_GOLD | OF_TEXTS)[name](given)


def test_a_docbin_is_a_corpus() -> None:
    docs = DocBin(docs=[gold()])
    assert corpus_stats(docs).splits["train"].entities == 1
    for train, dev in ((docs, [gold()]), ([gold()], docs)):
        assert [*corpus_stats(train, dev).splits] == ["train", "dev"]
    assert evaluate(pipeline(), docs, docs).overall.entities == 1
    assert errors(pipeline(), docs, train=docs).gold == 1
    assert estimate(pipeline(), docs).texts == 1
    assert errors(pipeline(), [Example(pipeline().make_doc("Anna left"), gold())]).gold == 1


def test_labels_of_texts_are_numbers() -> None:
    doc = BLANK("Anna")
    doc.cats = {"A": numpy.bool_(True), "B": 0}
    assert corpus_stats([doc]).splits["train"].cats == {"A": 1}
    doc.cats = {"A": "yes"}
    with pytest.raises(ValueError, match=r"for 'A' in doc\.cats, got 'yes'"):
        corpus_stats([doc])


def test_entities_are_not_all_unseen() -> None:
    with pytest.raises(ValueError, match="no entities, so that all would be unseen"):
        evaluate(pipeline(), [gold()], [])


@pytest.mark.parametrize("text", [None, 5, b"Anna", ["Anna"], " "])
@pytest.mark.parametrize("function", [explain, show])
def test_what_is_no_text_is_refused(function: Callable[..., Any], text: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a string|is empty"):
        function(pipeline(), text)


def test_what_is_no_pipeline_is_refused(tmp_path: Path) -> None:
    for given in (None, 5, b"model"):
        with pytest.raises(ValueError, match="nlp must be"):
            show(given, "Anna")
    pipeline().to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match="Give the pipeline in it"):
        show(tmp_path, "Anna")


@pytest.mark.parametrize("given", [None, 5, b"corpus", [], [gold()]], ids=str)
def test_what_is_no_path_is_refused(given: Any, tmp_path: Path) -> None:
    for paths in ((given, "texts"), ("model", given)):
        with pytest.raises(ValueError, match="must be a path"):
            apply(*paths, tmp_path / "out")
    if given is not None:
        with pytest.raises(ValueError, match="train must be a path"):
            init_config("ner", "en", train=given)


def test_files_beside_a_corpus_are_named(tmp_path: Path) -> None:
    docs = [Doc(BLANK.vocab, [f"Anna{i}", "left"], ents=["B-PER", "O"]) for i in range(40)]
    write_corpus(tmp_path / "a.spacy", docs)
    (tmp_path / "b.conll").write_text("Anna B-PER\n")
    plan = plan_fit(tmp_path, lang="en")
    assert "not read" in str(plan) and "b.conll" in str(plan)
