"""What is given to functions as a corpus, a text or a pipeline."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import spacy
from spacy.attrs import IDS
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_multihash import (
    Reading,
    apply,
    calibrate,
    convert,
    corpus_stats,
    count_symbols,
    errors,
    estimate,
    evaluate,
    evaluate_entities,
    explain,
    explain_corpus,
    fit,
    init_config,
    init_tables,
    keep_entities,
    known_entities,
    next_texts,
    prune_vectors,
    reduce_vectors,
    show,
)
from spacy_multihash.corpus.read import tokens_of
from spacy_multihash.corpus.shards import examples_of_any
from spacy_multihash.training.plan import plan_fit
from tests.helpers.corpora import CALLBACK, LOOKUP, small_config, write_corpus

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


class Items:
    """What has items by number alone, as a Dataset of torch."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __getitem__(self, number: int) -> Any:
        return self.items[number]


def test_whatever_python_iterates_over_is_a_corpus() -> None:
    for name, function in OF_GOLD.items():
        if name not in ("calibrate", "plan_fit"):  # for one text
            function(Items(gold()))
    for function in OF_TEXTS.values():
        function(Items("Anna left"))
    rows = Items({"tokens": ["Anna", "left"], "ner_tags": [1, 0]})
    (doc,) = convert(rows, reading=Reading(labels=["O", "B-PER"])).docs["docs"]
    assert [ent.label_ for ent in doc.ents] == ["PER"]
    with pytest.raises(ValueError, match=r"texts:1: .*--labels"):
        convert(rows)
    assert convert(Items(("Anna", [(0, 4, "PER")]))).docs["docs"][0].ents


def test_texts_in_the_place_of_files_are_named() -> None:
    for text in ("Anna left Rome", "Anna left " * 100):
        for function in (lambda given: convert([given]), lambda given: plan_fit(given, lang="en")):
            with pytest.raises(FileNotFoundError, match="Is it a text"):
                function(text)
    with pytest.raises(ValueError, match="Give a list"):
        evaluate(pipeline(), gold())


def test_options_of_fit_are_suggested() -> None:
    for options, message in (
        ({"lang": "en", "text_cat": True}, "mean textcat"),
        ({}, "needs the language"),
    ):
        with pytest.raises(TypeError, match=message):
            plan_fit([("Anna", [])], **options)
    with pytest.raises(ValueError, match=r"write training\.max_steps"):
        plan_fit([("Anna", [])], lang="en", settings={"training": {"max_steps": 5}})
    assert "textcat" in signature(fit).parameters


def test_texts_are_compared_as_docs_are() -> None:
    texts = ["Anna left", "Bob slept"]
    for given in (texts, iter(texts), pandas.Series(texts), [BLANK(text) for text in texts]):
        examples = list(examples_of_any(pipeline(), given))
        assert [eg.predicted.text for eg in examples] == texts
    with pytest.raises(ValueError, match="texts"):
        list(examples_of_any(pipeline(), [5]))


def test_fit_takes_examples() -> None:
    examples = [
        Example(BLANK(f"Anna{i} left"), Doc(BLANK.vocab, [f"Anna{i}", "left"], ents=["B-PER", "O"]))
        for i in range(30)
    ]
    plan = plan_fit(examples, lang="en")
    assert sum(len(docs) for docs in plan.split.docs.values()) == 30


def test_tables_of_pandas_give_their_rows() -> None:
    rows = [{"text": "Anna left", "label": "a"}, {"text": "Bob left", "label": "b"}]
    frame = pandas.DataFrame(rows)
    assert [max(doc.cats, key=doc.cats.get) for doc in convert(frame).docs["docs"]] == ["a", "b"]
    with pytest.raises(ValueError, match="Docs"):
        evaluate(pipeline(), frame)
    assert estimate(pipeline(), frame["text"]).texts == 2


@pytest.mark.parametrize("name", [*OF_GOLD, *OF_TEXTS, "convert"])
def test_no_items_are_refused(name: str) -> None:
    function = {**OF_GOLD, **OF_TEXTS, "convert": convert}[name]
    for given in ([], Items(), DocBin()):
        with pytest.raises(ValueError, match="got none|must be"):
            function(given)
    used = iter([gold()])
    list(used)
    with pytest.raises(ValueError, match="only once"):
        function(used)


def snapshot(*given: Any) -> list[Any]:
    """What may not change of docs, pipelines, vocabs and whatever JSON holds."""
    states = []
    for one in given:
        if isinstance(one, Doc):
            states.append((one.to_bytes(), one.to_array(["NORM", "LEMMA"]).tolist(), one.cats))
            one = one.vocab
        if isinstance(one, Language):
            states.append((one.meta, one.config.to_str(), one.to_bytes(exclude=["vocab"])))
            one = one.vocab
        if isinstance(one, Vocab):
            states.append(
                (id(one.vectors), one.vectors.to_bytes(exclude=["strings"]), one.lookups.to_bytes())
            )
        else:
            states.append(one)
    return deepcopy(states)


def with_vectors() -> Language:
    nlp = spacy.blank("en")
    for word, vector in zip(("Anna", "Bob"), numpy.eye(2, 3, dtype="float32"), strict=True):
        nlp.vocab.set_vector(word, vector)
    return nlp


def test_what_is_given_stays_as_it_was(tmp_path: Path) -> None:
    nlp, doc, other = pipeline(), gold(), with_vectors()
    doc[0].norm_ = "ann"
    doc.user_data["key"] = "value"
    records: list[Any] = [
        {"text": "Anna left", "spans": [span], "meta": {"doc_id": 1}}
        for span in ({"start": 0, "end": 4, "label": "PER"}, {"start": 5, "end": 9, "label": "X"})
    ]
    pairs = [("Anna left", {"PER": 1.0}), ("Bob", {"PER": 0.0})]
    words, overrides = ["Anna", "Bob"], {"paths.train": str(tmp_path / "train.spacy")}
    config = small_config(tmp_path / "none.spacy", LOOKUP, **CALLBACK)
    config.to_disk(tmp_path / "my.cfg")
    write_corpus(tmp_path / "train.spacy", [doc])
    other.to_disk(tmp_path / "vectors")
    example = Example(nlp(doc.text), doc)
    verbs: dict[str, Callable[[], Any]] = {
        "convert": lambda: (convert(records), convert(pairs)),
        "corpus_stats": lambda: corpus_stats([doc], DocBin(docs=[doc]), vectors=other),
        "corpus_stats vocab": lambda: corpus_stats([doc], vectors=other.vocab),
        "evaluate": lambda: evaluate(nlp, [doc], [doc]),
        "evaluate_entities": lambda: evaluate_entities([example], known_entities([doc])),
        "keep_entities": lambda: keep_entities(doc, lambda span: False),
        "count_symbols": lambda: count_symbols([doc], {"NORM": IDS["NORM"]}),
        "init_tables": lambda: init_tables(tmp_path / "my.cfg", overrides=overrides),
        "training_docs": lambda: [*tokens_of([Example(nlp.make_doc(doc.text), doc)])],
        "reduce_vectors": lambda: reduce_vectors(
            tmp_path / "vectors", tmp_path / "out.txt", width=1, words=words, keep_origin=True
        ),
        "prune_vectors": lambda: prune_vectors(
            tmp_path / "vectors", tmp_path / "pruned.txt", words=words
        ),
    }
    given = (nlp, doc, other, records, pairs, words, overrides, example.predicted)
    for name, verb in verbs.items():
        before = snapshot(*given)
        verb()
        assert snapshot(*given) == before, name


def test_labels_of_texts_are_numbers() -> None:
    doc = BLANK("Anna")
    doc.cats = {"A": numpy.bool_(True), "B": 0}
    assert corpus_stats([doc]).splits["train"].cats == {"A": 1}
    doc.cats = {"A": "yes"}
    with pytest.raises(ValueError, match=r"for 'A' in doc\.cats, got 'yes'"):
        corpus_stats([doc])


def test_entities_are_not_all_unseen() -> None:
    with pytest.raises(ValueError, match="no entities, so that all would be unseen"):
        evaluate(pipeline(), [gold()], [BLANK("Anna")])


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
