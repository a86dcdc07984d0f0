"""The command that shows what is important, against plain loops."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from typer.testing import Result

from spacy_multihash.corpus.read import model_examples, tokens_of
from spacy_multihash.inspection.importance import (
    EmbeddingImportance,
    Ranking,
    symbol_importance,
)
from spacy_multihash.tables.find import WeightedEmbedding, find_weighted, rows_of
from tests.helpers import cli
from tests.helpers.corpora import HASH, write_corpus
from tests.helpers.pipelines import (
    TEXTCAT,
    add_embedding,
    ngrams_by_loop,
    textcat_pipeline,
    token_docs,
    two_textcats,
    weighted_pipeline,
)

invoke = partial(cli.invoke, "importance")
ok = partial(cli.ok, "importance")

ALL = Ranking(top=1000, min_freq=1)
SINGLE = {**TEXTCAT, "ngram_orders": [1]}


def randomize(nlp: Language, spread: float = 2) -> Language:
    """Set importance parameters of both signs, and of very different sizes, and other weights."""
    rng = numpy.random.default_rng(4)
    for name, pipe in nlp.pipeline:
        for node in pipe.model.walk() if name != "tok2vec" else ():  # type: ignore[attr-defined]
            for param in {*node.param_names} - {"b"}:  # no n-gram changes the bias
                shape = node.get_param(param).shape
                node.set_param(param, rng.normal(size=shape).astype("float32"))
    for embedding in find_weighted(nlp):
        assert embedding.importance is not None
        P = embedding.importance.weights.get_param("E")
        P[:] = rng.normal(size=P.shape) * numpy.exp(spread * rng.normal(size=(len(P), 1)))
    return nlp


def rank(nlp: Language, ranking: Ranking = ALL, **settings: Any) -> list[EmbeddingImportance]:
    return symbol_importance(nlp, lambda: token_docs(nlp), ranking, **settings)


def vector_by_loop(embedding: WeightedEmbedding, id_: int) -> tuple[list[float], list[float]]:
    """Compute the importance parameters of a symbol, and its vector: the sum of p_i * E[row_i]."""
    assert embedding.importance is not None
    ids = numpy.array([id_], dtype="uint64")
    E = embedding.components.weights.get_param("E")
    P = embedding.importance.weights.get_param("E")
    parameters = P[rows_of(embedding.importance.layer, ids)[0, 0]].tolist()
    rows = rows_of(embedding.components.layer, ids)[0]
    vector = [
        sum(p * E[row, column] for p, row in zip(parameters, rows, strict=True))
        for column in range(E.shape[1])
    ]
    return parameters, vector


# Values


@pytest.mark.parametrize("settings", [{}, {"append_importance": True}])
def test_importance_of_tokens_is_that_of_a_loop(settings: dict[str, Any]) -> None:
    nlp = randomize(weighted_pipeline(num_hashes=3, **settings))
    counts = Counter(token.norm_ for doc in token_docs(nlp) for token in doc)
    embedding, found = find_weighted(nlp)[0], rank(nlp)[0]
    assert (found.component, found.attr, found.seed) == ("tok2vec", "NORM", 5)
    assert {symbol.text: symbol.freq for symbol in found.largest} == counts
    for symbol in found.largest:
        parameters, vector = vector_by_loop(embedding, nlp.vocab.strings[symbol.text])
        assert symbol.parameters == parameters
        assert symbol.importance == pytest.approx(sum(map(abs, parameters)) / 3)
        assert symbol.norm == pytest.approx(sum(x * x for x in vector) ** 0.5, rel=1e-5)


def test_importance_of_ngrams_is_that_of_a_loop() -> None:
    nlp = randomize(two_textcats())
    docs = token_docs(nlp)
    for embedding, found, orders in zip(find_weighted(nlp), rank(nlp), [(1, 3), (2,)], strict=True):
        counts = Counter(ngrams_by_loop(docs, *orders))
        assert {symbol.text: symbol.freq for symbol in found.largest} == counts
        extract = embedding.components.ngrams
        assert extract is not None
        for symbol in found.largest:
            # The only n-gram of its order.
            doc = Doc(nlp.vocab, words=symbol.text.split())
            texts, ids = ngrams_by_loop([doc], *orders), extract.predict([doc]).dataXd
            parameters, vector = vector_by_loop(embedding, int(ids[texts.index(symbol.text)]))
            assert symbol.parameters == parameters
            assert symbol.norm == pytest.approx(numpy.linalg.norm(vector), rel=1e-5)


# Order and selection


@pytest.mark.parametrize("sort", ["importance", "norm"])
def test_symbols_are_sorted_from_either_end(sort: Any) -> None:
    nlp = randomize(textcat_pipeline(TEXTCAT))
    everything = rank(nlp, Ranking(sort=sort, top=1000, min_freq=1))[0]
    values = [getattr(symbol, sort) for symbol in everything.largest]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 5
    some = rank(nlp, Ranking(sort=sort, top=4, min_freq=1))[0]
    assert some.largest == everything.largest[:4]
    assert some.smallest == everything.smallest[:4]
    smallest = [getattr(symbol, sort) for symbol in some.smallest]
    assert smallest == sorted(values)[:4]


def test_rare_symbols_are_left_out() -> None:
    nlp = randomize(textcat_pipeline(TEXTCAT))
    counts = Counter(ngrams_by_loop(token_docs(nlp), 1, 2))
    (found,) = rank(nlp, Ranking(top=1000, min_freq=2))
    frequent = {text: count for text, count in counts.items() if count >= 2}
    assert {symbol.text: symbol.freq for symbol in found.smallest} == frequent
    assert (found.num_symbols, found.num_frequent) == (len(counts), len(frequent))
    mean = sum(symbol.importance for symbol in found.largest) / len(frequent)
    assert found.mean_importance == pytest.approx(mean)


def test_symbols_that_share_a_row_are_counted_among_all() -> None:
    nlp = randomize(textcat_pipeline({**TEXTCAT, "importance_rows": 7}))
    (everything,) = rank(nlp)
    keys = [tuple(symbol.parameters) for symbol in everything.largest]
    for symbol, key in zip(everything.largest, keys, strict=True):
        assert symbol.sharing == keys.count(key) - 1
    assert everything.num_sharing == sum(keys.count(key) > 1 for key in keys)
    sharing = {symbol.text: symbol.sharing for symbol in everything.largest}
    (frequent,) = rank(nlp, Ranking(min_freq=2))
    assert frequent.num_sharing == everything.num_sharing
    assert all(symbol.sharing == sharing[symbol.text] for symbol in frequent.largest)


# Important symbols


@pytest.mark.parametrize("share", [0, 0.5, 1, 100])
def test_important_symbols_have_a_share_of_the_mean(share: float) -> None:
    nlp = randomize(weighted_pipeline())
    for found in rank(nlp, Ranking(top=1000, min_freq=1, share=share)):
        least = share * found.mean_importance
        assert found.num_important == sum(s.importance >= least for s in found.largest)


# Labels, against the model's own predictions


def scores(nlp: Language, *words: str) -> numpy.ndarray:
    """The probabilities of a doc's labels."""
    model = nlp.get_pipe("textcat").model  # type: ignore[attr-defined]
    return model.predict([Doc(nlp.vocab, words=list(words))])[0]


@pytest.mark.parametrize("settings", [{}, {"append_importance": True}, {"reduce": "mean"}])
def test_exclusive_labels_differ_by_log_odds(settings: dict[str, Any]) -> None:
    nlp = randomize(textcat_pipeline({**SINGLE, **settings}), spread=0)
    for symbol in rank(nlp)[0].largest:
        X, Y = scores(nlp, symbol.text)
        assert list(symbol.labels) == ["X", "Y"]
        assert symbol.labels["X"] - symbol.labels["Y"] == pytest.approx(numpy.log(X / Y), rel=1e-3)
        assert sum(symbol.labels.values()) == pytest.approx(0, abs=1e-5)


def test_labels_of_their_own_have_logits_that_add_up() -> None:
    nlp = randomize(textcat_pipeline({**SINGLE, "exclusive_classes": False}), spread=0)
    by_text = {symbol.text: symbol.labels for symbol in rank(nlp)[0].largest}
    p = scores(nlp, "what", "joke").astype("float64")
    together = {name: by_text["what"][name] + by_text["joke"][name] for name in "XY"}
    assert list(together.values()) == pytest.approx(numpy.log(p / (1 - p)).tolist(), rel=1e-3)


# Bad input


def diverged() -> Language:
    nlp = textcat_pipeline(TEXTCAT)
    for embedding in find_weighted(nlp):
        embedding.components.weights.get_param("E")[:] = numpy.nan
    return nlp


FIXED = "is fixed at 1: there is nothing to show. Train with"
UNTRAINED = {**TEXTCAT, "importance_rows": None, "train_importance": False}
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: Ranking(top=0), "top must be a whole number from 1 on, was: 0"),
    (lambda: Ranking(min_freq=0), "min_freq must be a whole number from 1 on, was: 0"),
    (lambda: Ranking(share=float("nan")), "share must be a number from 0 on, was: nan"),
    (lambda: rank(weighted_pipeline(train_importance=False)), FIXED),
    (lambda: rank(weighted_pipeline(train_importance=False, append_importance=True)), FIXED),
    (lambda: rank(textcat_pipeline(UNTRAINED)), FIXED),
    (lambda: rank(diverged()), r"textcat.LOWER\[1,2\] has vectors that are not finite: training"),
]


@pytest.mark.parametrize(("do", "message"), REFUSED)
def test_refusals(do: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        do()


def test_a_component_can_be_chosen() -> None:
    nlp = weighted_pipeline()
    add_embedding(nlp, "hashed", HASH | {"width": 16})
    chosen, everything = rank(nlp, component="tok2vec"), rank(nlp)
    assert len(chosen) == len(everything) == 2
    assert not any(symbol.labels for each in everything for symbol in each.largest)  # not linear
    with pytest.raises(ValueError, match=r"no weighted hash embedding in \['hashed'\]"):
        rank(nlp, component="hashed")


# The command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder")
    nlp = randomize(two_textcats())
    nlp.to_disk(folder / "model")
    write_corpus(folder / "docs.spacy", token_docs(nlp))
    DocBin().to_disk(folder / "empty.spacy")
    spacy.blank("en").to_disk(folder / "blank")
    return folder


def lines_of(result: Result) -> Iterator[str]:
    return (" ".join(line.split()) for line in result.output.splitlines())


def test_command_shows_both_ends_and_prints_json(folder: Path) -> None:
    args = (folder / "model", "--data", folder / "docs.spacy", "--min-freq", 2, "--top", 3)
    result = ok(*args, "--sort", "norm", "--share", 2)
    lines = list(lines_of(result))
    assert "at least 2 times the mean." in " ".join(lines)
    assert "symbols of at least the mean." in " ".join(lines_of(invoke(*args)))
    ranking = Ranking(sort="norm", top=3, min_freq=2, share=2)
    found = rank(spacy.load(folder / "model"), ranking)
    for each in found:
        for s in (*each.largest, *each.smallest):
            assert any(line.startswith(f"{s.text!r} {s.freq} {s.importance:.3g}") for line in lines)
    printed = json.loads(invoke(*args, "--sort", "norm", "--share", 2, "--json").stdout)
    assert [each["num_important"] for each in printed] == [each.num_important for each in found]
    assert [each.keys() for each in printed] == [asdict(each).keys() for each in found]
    texts = [[symbol["text"] for symbol in each["smallest"]] for each in printed]
    assert texts == [[symbol.text for symbol in each.smallest] for each in found]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("model", "empty.spacy"), "The corpus has no tokens to inspect"),
        (("model", "docs.spacy", "--component", "ner"), "There is no component 'ner'"),
        (("model", "docs.spacy", "--min-freq", 50), r"No symbol of LOWER\[1,3\] occurs"),
        (("blank", "docs.spacy"), r"There is no weighted hash embedding in \[\]"),
    ],
)
def test_bad_input_is_one_clear_error(folder: Path, args: tuple[Any, ...], message: str) -> None:
    model, data, *options = args
    error = cli.refused("importance", folder / model, "--data", folder / data, *options, "--json")
    assert re.search(message, error), error


def counted(model: Path, data: Path) -> dict[str, int]:
    """The frequencies of all symbols of the first embedding, as the command prints them."""
    result = invoke(model, "--data", data, "--min-freq", 1, "--top", 1000, "--json")
    return {symbol["text"]: symbol["freq"] for symbol in json.loads(result.stdout)[0]["largest"]}


def test_command_shows_the_norms_that_the_pipeline_computes(tmp_path: Path) -> None:
    weighted_pipeline().to_disk(tmp_path / "model")
    words = ["I", "do", "n't", "know"]
    other = spacy.blank("xx").vocab  # without English exceptions
    docs = [Doc(other, words=words, spaces=[True, False, True, False], pos=["X"] * 4)]
    assert [token.norm_ for token in docs[0]] == ["i", "do", "n't", "know"]
    path = write_corpus(tmp_path / "docs.spacy", docs)
    assert counted(tmp_path / "model", path).keys() == {"i", "do", "not", "know"}
    (doc,) = tokens_of(model_examples(spacy.blank("en"), path))
    assert [token.pos_ for token in doc] == ["X"] * 4


def test_command_counts_the_tokens_that_the_pipeline_meets(folder: Path, tmp_path: Path) -> None:
    vocab = spacy.blank("en").vocab
    docs = [
        Doc(vocab, words=["don't", "go"], spaces=[True, False]),
        Doc(vocab, words=["don't", "go"]),  # its spaces are unknown
    ]
    path = write_corpus(tmp_path / "docs.spacy", docs)
    expected = {"do": 1, "n't": 1, "go": 2, "do n't go": 1, "don't": 1}
    assert counted(folder / "model", path) == expected


def save(nlp: Language, folder: Path) -> tuple[Any, ...]:
    """Save a pipeline and a corpus, and return the arguments of the command."""
    nlp.to_disk(folder / "model")
    corpus = write_corpus(folder / "docs.spacy", token_docs(nlp))
    return folder / "model", "--data", corpus, "--min-freq", 1


@pytest.mark.parametrize("warns", [True, False])
def test_command_warns_of_few_updates(warns: bool, tmp_path: Path) -> None:
    nlp = textcat_pipeline(TEXTCAT)
    if not warns:
        (embedding,) = find_weighted(nlp)
        assert embedding.importance is not None
        embedding.importance.weights.get_param("E")[:] = 1
    lines = list(lines_of(invoke(*save(nlp, tmp_path))))
    assert ("frequent symbols is near zero" in " ".join(lines)) == warns


def test_command_shows_all_labels(tmp_path: Path) -> None:
    nlp = textcat_pipeline(TEXTCAT)
    for i in range(20):
        nlp.get_pipe("textcat").add_label(f"LABEL{i}")  # type: ignore[attr-defined]
    args = save(randomize(nlp), tmp_path)
    said = " ".join(lines_of(invoke(*args, "--top", 2)))
    symbol = rank(nlp)[0].largest[0]
    scores = " ".join(f"{score:+.3g}" for score in symbol.labels.values())
    assert f"{symbol.text!r} {scores}" in said
    (found,) = json.loads(invoke(*args, "--json").stdout)
    assert len(found["largest"][0]["labels"]) == 22
