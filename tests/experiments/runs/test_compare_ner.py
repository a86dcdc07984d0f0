"""The comparison of batch_ner with ner."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import srsly
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span
from typer.testing import Result

from experiments.runs import compare_ner
from experiments.runs.compare_ner import (
    ENTITY,
    SET,
    Difference,
    compare,
    compare_ner_cli,
    find_differences,
    find_entities,
    margin,
    preset,
    tags,
)
from spacy_multihash import BatchEntityRecognizer
from tests.helpers.cli import invoke_command, said
from tests.helpers.transition import WORDS, Case, both, recognizer

Pair = tuple[EntityRecognizer, BatchEntityRecognizer]


@pytest.fixture
def pair() -> Pair:
    """Two recognizers with the same weights, which find entities."""
    return both(Case(labels=("A", "B"), seed=1, favours={"U": 1.0}))


def texts(number: int) -> list[list[str]]:
    rng = numpy.random.default_rng(1)
    return [
        [str(word) for word in rng.choice(WORDS, size=rng.integers(1, 20))] for _ in range(number)
    ]


def shift(pipe: EntityRecognizer, amount: float) -> None:
    """Let all actions of one kind score more."""
    b: Any = pipe.model.get_ref("upper").get_param("b")
    for i in range(pipe.moves.n_moves):
        b[i] += amount * pipe.moves.get_class_name(i).startswith("U")


def test_the_same_weights_are_equal_with_presets_and_without(pair: Pair) -> None:
    found = compare(*pair, texts(30))
    assert found["docs"] == 30 and found["tokens"] == sum(map(len, texts(30)))
    for kind in ("free", "preset"):
        assert found[kind]["near_ties"] == [] and found[kind]["entities"] > 10
    assert found["free"] != found["preset"]


def test_other_weights_are_told_by_doc_and_token(pair: Pair) -> None:
    shift(pair[1], 1.0)
    with pytest.raises(ValueError, match=r"doc \d+ \(free\), token \d+: ner has .*, and batch_ner"):
        compare(*pair, texts(30))


def test_actions_are_told_by_what_follows(pair: Pair) -> None:
    doc = Doc(pair[0].vocab, words=["x"] * 7, ents=["B-A", "I-A", "I-A", "B-A", "O", "B-B", "I-B"])
    assert tags(doc) == ["B-A", "I-A", "L-A", "U-A", "O-", "B-B", "L-B"]


def test_first_token_that_differs_is_found(pair: Pair) -> None:
    ner, _ = pair
    docs = [Doc(ner.vocab, words=["Anna", "met", "Bob"]) for _ in range(3)]
    expected, found = find_entities(ner, docs), find_entities(ner, docs)
    assert find_differences(ner, docs, expected, found) == []
    expected[1].set_ents([Span(expected[1], 1, 2, "A")])
    found[1].set_ents([Span(found[1], 1, 3, "A")])
    (one,) = find_differences(ner, docs, expected, found)
    assert one == Difference(1, 1, "U-A", "B-A", margin(ner, docs, 1, 1))


def test_no_near_tie_is_where_one_action_is_valid(pair: Pair) -> None:
    ner, _ = pair
    docs = [Doc(ner.vocab, words=["Anna", " ", "Bob"])]
    assert margin(ner, docs, 0, 1) == numpy.inf


def test_near_tie_is_counted_and_others_are_errors(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift(pair[1], 1.0)
    monkeypatch.setattr(compare_ner, "NEAR", numpy.inf)
    found = compare(*pair, texts(300))
    ties = found["free"]["near_ties"]
    assert ties and {*ties[0]} == {"doc", "token", "expected", "found", "margin"}
    # numbers are those of all texts, not of a batch
    assert max(one["doc"] for one in ties) >= compare_ner.BATCH


@pytest.mark.parametrize("use_upper", [True, False])
@pytest.mark.parametrize("extra_state_tokens", [True, False])
def test_margin_is_zero_where_two_actions_score_the_same(
    use_upper: bool, extra_state_tokens: bool
) -> None:
    case = Case(labels=("A", "B"), use_upper=use_upper, extra_state_tokens=extra_state_tokens)
    ner = recognizer(EntityRecognizer, case)
    docs = [Doc(ner.vocab, words=["Anna"]), Doc(ner.vocab, words=["met", "Bob"])]
    assert margin(ner, docs, 1, 0) > compare_ner.NEAR
    last = ner.model.get_ref("upper" if use_upper else "lower")
    for name in ("W", "b"):
        array = last.get_param(name)
        array[...] = 0
        last.set_param(name, array)
    if not use_upper:
        last.set_param("pad", 0 * last.get_param("pad"))
    assert margin(ner, docs, 1, 0) == 0


def test_token_without_a_state_has_no_margin(pair: Pair) -> None:
    ner, _ = pair
    with pytest.raises(ValueError, match="ner has no state at token 7"):
        margin(ner, [Doc(ner.vocab, words=["Anna"])], 0, 7)


def test_presets_are_entities_blocked_tokens_and_sentences(pair: Pair) -> None:
    vocab = pair[0].vocab
    doc = preset(Doc(vocab, words=["a"] * 3000), ["A", "B"], numpy.random.default_rng(0))
    iob, types, starts = doc.to_array([ENT_IOB, ENT_TYPE, SENT_START]).T
    assert {ent.label_ for ent in doc.ents} == {"A", "B"}
    assert {len(ent) for ent in doc.ents} == {1, 2, 3, 4}
    assert ((iob == 3) & (types == 0)).sum() > 30  # blocked
    assert (iob == 2).sum() > 10 and (iob == 0).mean() > 0.7
    assert 0.05 < (starts == 1).mean() < 0.15
    assert not types[(iob == 0) | (iob == 2)].any()


def test_entities_of_presets_do_not_overlap(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_ner, "SHARES", tuple(float(i == ENTITY) for i in range(4)))
    doc = preset(Doc(pair[0].vocab, words=["a"] * 99), ["A"], numpy.random.default_rng(0))
    assert sum(map(len, doc.ents)) == 99 and doc.ents[-1].end == 99
    assert not (doc.to_array(SET)[:, 0] == 0).any()


# The command


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: Pair) -> Path:
    """The file of the command, which compares the pair instead of two published pipelines."""
    ner, ours = pair

    def load(pipe: EntityRecognizer) -> Callable[..., Language]:
        nlp = Language(ner.vocab)
        monkeypatch.setattr(nlp, "get_pipe", lambda _: pipe)
        return lambda *args, **kwargs: nlp

    monkeypatch.setattr(compare_ner.spacy, "load", load(ner))
    monkeypatch.setattr(compare_ner, "load_english", load(ours))
    monkeypatch.setattr(compare_ner, "read_texts", lambda dataset, _: texts(len(dataset)))
    return tmp_path / "results" / "equality.json"


def run(path: Path, *datasets: str) -> Result:
    return invoke_command(compare_ner_cli, *datasets, "--output", path)


def test_each_data_set_has_its_counts_and_keeps_those_of_others(results: Path) -> None:
    shown = said(run(results, "wnut17"))
    result = run(results, "archaeo", "conll-es")
    assert result.exit_code == 0, said(result)
    found = srsly.read_json(results)["datasets"]
    assert {name: of["docs"] for name, of in found.items()} == {
        name: len(name) for name in ("wnut17", "archaeo", "conll-es")
    }
    assert f"wnut17: equal on {found['wnut17']['tokens']} tokens, 0 near-ties" in shown
    assert run(results).exit_code == 0
    assert {*srsly.read_json(results)["datasets"]} == {*compare_ner.DATASETS}


def test_difference_is_an_error_that_names_the_data_set(results: Path, pair: Pair) -> None:
    run(results, "wnut17")
    before = results.read_bytes()
    shift(pair[1], 3.0)
    result = run(results, "archaeo")
    assert result.exit_code == 1 and "archaeo, doc " in said(result)
    assert results.read_bytes() == before


def test_unknown_data_set_is_refused(results: Path) -> None:
    result = run(results, "wnut18")
    assert result.exit_code == 1
    assert "expected data sets of wnut17, conll-es, " in said(result)
    assert not results.exists()


def test_missing_assets_are_named(tmp_path: Path) -> None:
    path = tmp_path / "equality.json"
    result = invoke_command(compare_ner_cli, "wnut17", "--assets", tmp_path, "--output", path)
    assert result.exit_code == 1
    assert "wnut17train.conll is missing" in said(result)
    assert "python -m spacy project assets" in said(result)
    assert not path.exists()
