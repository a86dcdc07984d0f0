"""Expected scores on texts without gold, and the texts to annotate next."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_multihash.corpus.convert import Reading, convert
from spacy_multihash.corpus.export import Tool
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.corpus.texts import write_json_lines
from spacy_multihash.ner.calibration import calibrate
from spacy_multihash.ner.estimate import (
    EXTENT,
    FEW_ON_DEV,
    KEY,
    PRIOR,
    Candidate,
    choose,
    estimate,
    next_texts,
    records,
)
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, trained, wrong_docs
from tests.helpers.spacy_pipelines import add_rules

TEXTS = ["Anna met Bob in Rome .", "Oslo likes rain", "They met", "", "Anna left New York . Bob ?"]


def unsure(factory: str, temperature: float = 4.0) -> Language:
    nlp = trained(factory)
    nlp.get_pipe(factory).temperature = temperature  # type: ignore[attr-defined]
    return nlp


@pytest.fixture(params=CONFIGS)
def nlp(request: pytest.FixtureRequest) -> Language:
    return unsure(request.param)


def spans_of(nlp: Language, docs: list[Doc]) -> list[dict[tuple[int, int, str], float]]:
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    pipe.spans_key, pipe.candidates_above = "all", 1e-7
    groups = [doc.spans["all"] for doc in map(pipe, docs)]
    pipe.candidates_above, pipe.spans_key = None, None
    return [
        {(s.start, s.end, s.label_): p for s, p in zip(g, g.attrs["scores"].tolist(), strict=True)}
        for g in groups
    ]


def test_expected_counts_are_sums_over_all_spans(nlp: Language) -> None:
    docs = [nlp.make_doc(text) for text in TEXTS]
    of_spans = spans_of(nlp, docs)
    found = estimate(nlp, TEXTS)
    for label in ("GPE", "PER"):
        right = [
            p
            for doc, spans in zip(docs, of_spans, strict=True)
            for key, p in spans.items()
            if key in {(e.start, e.end, e.label_) for e in doc.ents} and key[2] == label
        ]
        true = sum(p for spans in of_spans for key, p in spans.items() if key[2] == label)
        one = found.labels[label]
        assert one.predicted == len(right) and one.right == pytest.approx(sum(right), rel=1e-5)
        assert one.true == pytest.approx(true, rel=1e-3) and one.true > one.right > 0
    every = found.overall
    assert every.true == pytest.approx(sum(one.true for one in found.labels.values()))
    assert found.precision == every.right / every.predicted
    assert found.recall == every.right / every.true
    assert found.f1 == 2 * every.right / (every.predicted + every.true)
    assert found.texts == 5 and found.tokens == sum(map(len, docs))
    for name, (low, high) in every.intervals.items():
        assert 0 <= low <= getattr(every, name) <= high <= 1
    assert json.loads(json.dumps(found.to_json()))["overall"]["f1"] == found.f1
    assert "Expected" in str(found)


def test_entities_that_are_there_already_are_not_expected(nlp: Language) -> None:
    doc = nlp.make_doc("Anna met Bob in Rome .")
    doc.set_ents([Span(doc, 0, 1, label="PER")], default="missing")
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    pipe.spans_key, pipe.candidates_above = "all", 1e-7
    group = pipe(doc).spans["all"]
    sums = Counter[str]()
    for span, p in zip(group, group.attrs["scores"].tolist(), strict=True):
        sums[span.label_] += p * (span.start > 0)
    assert group.attrs["expected"] == pytest.approx(dict(sums), abs=1e-4)


def test_calibration_on_dev_corrects_the_counts_and_widens_the_intervals(nlp: Language) -> None:
    before = estimate(nlp, wrong_docs())
    dev = wrong_docs() * 10
    calibrate(nlp, dev)
    saved = json.loads(json.dumps(nlp.meta[KEY]))
    gold = sum(len(doc.ents) for doc in dev)
    assert saved["predicted"] == estimate(nlp, dev).overall.predicted and saved["true"] == gold
    found = estimate(nlp, dev)
    missed = saved["expected_true"] - saved["expected_right"]
    factor = (gold - saved["right"] + PRIOR) / (missed + PRIOR)
    assert found.overall.right == pytest.approx(saved["expected_right"], rel=1e-3)
    assert found.overall.true == pytest.approx(found.overall.right + factor * missed, rel=1e-3)
    assert found.confidence == pytest.approx(found.confidence_on_dev) and found.warnings == []
    assert before.confidence_on_dev is None and "calibrate" in str(before.warnings)
    few = estimate(nlp, dev[:4]).overall.intervals["f1"]
    many = found.overall.intervals["f1"]
    assert few[1] - few[0] > many[1] - many[0]


def test_precision_falls_further_than_probabilities_do_and_a_warning_stands_above(
    nlp: Language,
) -> None:
    calibrate(nlp, wrong_docs() * 10)
    texts = [doc.text for doc in wrong_docs()] * 10
    same = estimate(nlp, texts)
    pipe: Any = nlp.get_pipe(nlp.pipe_names[-1])
    surer, pipe.temperature = pipe.temperature, 4 * pipe.temperature  # as if texts were harder
    unsure = estimate(nlp, texts)
    assert same.precision and unsure.precision and unsure.confidence and same.confidence
    fall = math.log(same.confidence / (1 - same.confidence))
    fall -= math.log(unsure.confidence / (1 - unsure.confidence))
    fell = math.log(same.precision / (1 - same.precision))
    fell -= math.log(unsure.precision / (1 - unsure.precision))
    dev = nlp.meta[KEY]["predicted"]
    further = EXTENT * dev / (dev + PRIOR)
    assert fall > 0.5 and fell == pytest.approx((1 + further) * fall, rel=0.05)
    assert unsure.overall.true >= unsure.overall.right
    (warning,) = unsure.warnings
    assert "another kind" in warning and f"{unsure.confidence:.0%}" in warning
    assert str(unsure).startswith(warning) and next(iter(unsure.to_json())) == "warnings"
    assert unsure.page().index("another kind") < unsure.page().index("<table")
    pipe.temperature = surer / 4  # no surer text makes a better model
    sure = estimate(nlp, texts)
    assert sure.precision == pytest.approx(sure.confidence)


def test_calibration_is_saved_with_the_pipeline(nlp: Language, tmp_path: Path) -> None:
    calibrate(nlp, wrong_docs() * 10, tmp_path / "model")
    texts = TEXTS * 10
    loaded, found = estimate(tmp_path / "model", texts), estimate(nlp, texts)
    assert loaded.warnings == found.warnings
    few = estimate(nlp, TEXTS)
    assert "too few entities" in few.warnings[0] and "[" not in "".join(map(str, few.tables()))
    assert loaded.f1 == pytest.approx(found.f1)  # meta.json has nine digits
    assert loaded.overall.intervals["f1"] == pytest.approx(found.overall.intervals["f1"], abs=1e-6)


def test_gold_is_never_looked_at(nlp: Language, tmp_path: Path) -> None:
    gold = make_docs()
    blind = [Doc(doc.vocab, words=[t.text for t in doc]) for doc in gold]
    path = write_corpus(tmp_path / "gold.spacy", gold)
    (tmp_path / "texts.txt").write_text("\n".join(doc.text for doc in blind))
    assert estimate(nlp, gold) == estimate(nlp, blind) == estimate(nlp, path)
    assert estimate(nlp, tmp_path / "texts.txt").overall.predicted > 0
    assert not any(doc.spans for doc in blind)


def test_a_small_dev_corpus_tells_little(nlp: Language) -> None:
    calibrate(nlp, wrong_docs() * 10)
    nlp.meta[KEY].update(predicted=FEW_ON_DEV - 1, right=9, expected_right=9.0)
    (warning,) = estimate(nlp, TEXTS * 10).warnings
    assert "too few to tell" in warning
    nlp.meta[KEY] = {"component": nlp.pipe_names[-1], "log_factors": [0, 0]}  # of an older version
    assert estimate(nlp, TEXTS * 10).confidence_on_dev is None


def test_entities_of_other_components_do_not_count(nlp: Language) -> None:
    add_rules(nlp, {"rain": "GPE"}, before=nlp.pipe_names[-1])
    found = estimate(nlp, ["It will rain"])
    assert "1 predicted entities have no probability" in str(found)
    assert found.overall.predicted == len(nlp("It will rain").ents) - 1


def test_pipelines_without_probabilities_and_no_texts_are_refused(nlp: Language) -> None:
    blank = spacy.blank("en")
    blank.add_pipe("ner")
    with pytest.raises(ValueError, match="accelerate"):
        estimate(blank, TEXTS)
    for ask in (estimate, next_texts):
        with pytest.raises(ValueError, match="got none"):
            ask(nlp, [], *[1] * (ask is next_texts))


# What to annotate next


def candidate(words: str, **probabilities: float) -> Candidate:
    doc = Doc(spacy.blank("en").vocab, words=words.split())
    starts = {token.text: token.idx for token in doc}
    places = {(starts[w], starts[w] + len(w), "X"): p for w, p in probabilities.items()}
    return Candidate(doc, places, 0.0)


def test_uncertain_texts_that_differ_come_first() -> None:
    some = [
        candidate("a sure text", sure=0.99),
        candidate("a doubtful word", doubtful=0.5),
        candidate("one doubtful word", doubtful=0.5),
        candidate("an open question", open=0.3),
        candidate("nothing here"),
    ]
    assert [some.index(one) for one in choose(some, 3)] == [1, 3, 2]
    assert len(choose(some, 9)) == 5


def test_lazy_choice_is_that_of_all_gains_looked_at_each_time() -> None:
    rng = numpy.random.default_rng(0)
    some = [
        candidate(" ".join("abcdefgh"), **dict(zip("abcdefgh", p, strict=True)))
        for p in (rng.random((30, 8)) * (rng.random((30, 8)) < 0.3)).tolist()
    ]
    met, expected = Counter[Any](), list[int]()
    for _ in range(12):
        gains = [sum(g / (1 + met[words]) for words, g in one.gains().items()) for one in some]
        left = [i for i in range(30) if i not in expected]
        best = max(left, key=lambda i: (gains[i], -i))
        expected.append(best)
        met.update(some[best].gains().keys())
    assert [some.index(one) for one in choose(some, 12)] == expected


@pytest.mark.parametrize("tool", ["prodigy", "doccano", "labelstudio"])
def test_next_texts_are_written_for_tools(tool: Tool, tmp_path: Path) -> None:
    nlp = unsure("tagger_ner")
    texts = [*TEXTS[:3], TEXTS[0], "\U0001f600 Anna met Bob ."]
    chosen = next_texts(nlp, texts, 10)
    assert len(chosen) == 4  # each text once
    assert all(one.expected_mistakes >= 0 for one in chosen)
    by_chance = [one.doc.text for one in next_texts(nlp, texts, 3, random=True)]
    assert by_chance == [one.doc.text for one in next_texts(nlp, texts, 3, random=True)]
    assert len(set(by_chance)) == 3 and by_chance != [one.doc.text for one in chosen[:3]]
    lines = list(records(chosen, tool))
    if tool == "labelstudio":
        for line in lines:
            (predicted,) = line.pop("predictions")
            assert 0 < predicted["score"] <= 1
            line["annotations"] = [{"result": predicted["result"]}]  # as if it was accepted
            for result in predicted["result"]:
                value, encoded = result["value"], line["data"]["text"].encode("utf-16-le")
                cut = encoded[2 * value["start"] : 2 * value["end"]]
                assert cut.decode("utf-16-le") == value["text"]
                assert 0 < result["score"] <= 1
    write_json_lines(tmp_path / "next.jsonl", lines)
    reading = Reading(offsets="utf16" if tool == "labelstudio" else None)
    convert(tmp_path / "next.jsonl", tmp_path / "next.spacy", lang="en", reading=reading)
    docs = list(read_docs(tmp_path / "next.spacy", nlp.vocab))
    assert [doc.text for doc in docs] == [one.doc.text for one in chosen]
    assert [[(e.text, e.label_) for e in doc.ents] for doc in docs] == [
        [(e.text, e.label_) for e in one.doc.ents] for one in chosen
    ]
    assert not any(math.isnan(ent.score or 0) for one in chosen for ent in one.entities)
