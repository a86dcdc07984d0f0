"""Scores of a pipeline under noise."""

from statistics import mean, stdev
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_multihash.corpus.entities import KnownEntities, known_entities
from spacy_multihash.corpus.evaluation import evaluate_entities, predict
from spacy_multihash.corpus.noise import CharNoise
from spacy_multihash.corpus.noisy_evaluation import NoiseScores, evaluate_noise
from tests.helpers.corpora import make_docs

DOCS = make_docs(10)
KNOWN = known_entities(DOCS[1:2])  # Bob, Rome


def examples() -> list[Example]:
    return [Example(RULER.make_doc(doc.text), doc) for doc in DOCS]


def make_ruler() -> Language:
    """Build a pipeline that knows Anna and Rome, and takes a masked token for a person."""
    nlp = spacy.blank("en")
    patterns: list[dict[str, Any]] = [
        {"label": "PER", "pattern": "Anna"},
        {"label": "GPE", "pattern": "Rome"},
        {"label": "PER", "pattern": [{"TEXT": {"REGEX": "^¶+$"}}]},
    ]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)  # type: ignore[attr-defined]
    return nlp


RULER = make_ruler()


def scores_of(noise: CharNoise, seeds: list[int], known: KnownEntities = KNOWN) -> NoiseScores:
    return evaluate_noise(RULER, examples(), known, noise, seeds)


def test_without_noise_the_scores_are_those_of_evaluate() -> None:
    clean = examples()
    predict(RULER, clean)
    scores = scores_of(CharNoise(0, "ab"), [0, 1])
    expected = evaluate_entities(clean, KNOWN)
    assert scores.draws == [expected, expected]
    assert scores.mean == expected
    assert scores.sd.overall.f == 0


def test_text_without_noise_decides_what_is_seen() -> None:
    """Although the pipeline meets masks alone, and finds each token to be a person."""
    noise = CharNoise(1, "ab", mask_share=1)
    (draw,) = scores_of(noise, [0]).draws
    seen, unseen = (draw.masked[name] for name in ("seen", "unseen"))
    assert (seen.entities, unseen.entities) == (40, 30)
    # Bob and Anna are found to be persons, and Rome and Oslo too, which they are not.
    assert (seen.per_label["PER"].r, unseen.per_label["PER"].r) == (1, 1)
    assert (seen.per_label["GPE"].r, unseen.per_label["GPE"].r) == (0, 0)
    assert draw.once["seen"].p == 0.5


def test_statistics_are_those_of_the_draws() -> None:
    noise = CharNoise(0.2, "abc")
    scores = scores_of(noise, [3, 4, 5])
    for place in ("masked", "once"):
        for part in ("seen", "unseen"):
            values = [getattr(draw, place)[part].f for draw in scores.draws]
            assert getattr(scores.mean, place)[part].f == pytest.approx(mean(values))
            assert getattr(scores.sd, place)[part].f == pytest.approx(stdev(values))
    values = [draw.overall.per_label["GPE"].r for draw in scores.draws]
    assert None not in values and len({*values}) > 1
    assert scores.mean.overall.per_label["GPE"].r == pytest.approx(mean(map(float, values)))
    assert scores.mean.overall.entities == 70
    assert scores.mean.by_frequency["more"].f is scores.sd.by_frequency["more"].f is None


def test_one_draw_has_no_deviation() -> None:
    scores = scores_of(CharNoise(0.2, "abc"), [7])
    assert scores.mean == scores.draws[0]
    assert scores.sd.overall.f is None


def test_seeds_decide_the_noise() -> None:
    noise = CharNoise(0.2, "abc")
    first, second = (scores_of(noise, [seed]).draws for seed in (1, 2))
    assert first == scores_of(noise, [1]).draws != second


def test_examples_stay_as_they_are() -> None:
    given = examples()
    evaluate_noise(RULER, given, KNOWN, CharNoise(1, "ab"), [0])
    assert [e.x.text for e in given] == [doc.text for doc in DOCS]
    assert not any(e.x.has_annotation("ENT_IOB") for e in given)


def test_no_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="drawn at least once, found no seeds"):
        scores_of(CharNoise(0.1, "ab"), [])


def test_corpus_without_annotation_is_refused() -> None:
    doc = Doc(RULER.vocab, words=["Anna"])
    with pytest.raises(ValueError, match="1 documents, but none with annotation of entities"):
        evaluate_noise(RULER, [Example(doc.copy(), doc)], KNOWN, CharNoise(0.1, "ab"), [0])
