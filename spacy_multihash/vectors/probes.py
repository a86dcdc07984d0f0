"""Probes: how well a classifier tells a token's entity tag from its vector alone."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy
from threadpoolctl import threadpool_limits

from .affine import AffineMap, identity
from .lookup import word_vectors
from .principal import moments, pca
from .scale import z_norm
from .table import VectorTable

Classifier = Literal["logistic regression", "MLP"]
CLASSIFIERS: tuple[Classifier, ...] = ("logistic regression", "MLP")
OUTSIDE = "O"
# Of the training tokens, each seed takes a random part.
_PART = 0.9
_EXTRA = "probes need scikit-learn: python -m pip install 'spacy-multihash[vectors]'"
# How often each word has each tag.
Tokens = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Probe:
    """Scores of a classifier over seeds.

    classifier (Classifier): The classifier.
    normalized (bool): Whether vectors were z-normed.
    accuracy, f1 (list[float]): Of each seed: the share of tokens whose tag is right, and the F1 of
        the tokens in entities.
    """

    classifier: Classifier
    normalized: bool
    accuracy: list[float]
    f1: list[float]


def probe(
    table: VectorTable, train: Tokens, test: Tokens, *, width: int, seeds: int = 5
) -> Iterator[Probe]:
    """Train and score each classifier, on vectors as they are and z-normed.

    Vectors are reduced to a width by PCA, so that tables are compared at the same one. No mean is
    subtracted, as words that the table lacks have zeros in all tables. Means, axes and deviations
    are those of the training words, each once. Each seed takes nine tenths of the training tokens,
    and draws the weights of the MLP.

    train, test (Tokens): How often each word has each tag, "O" outside of entities.

    Raises ValueError if a corpus has no tokens, if the table has no training word, or too few for
    the width, if there is one tag alone in training, or no entity in the test, and ImportError
    without scikit-learn.
    """
    for name, tokens in (("training", train), ("test", test)):
        if not tokens:
            raise ValueError(
                f"The {name} corpus has no tokens with annotation of entities. Give one that has."
            )
    words = list(dict.fromkeys(word for word, _ in [*train, *test]))
    known = {word for word, _ in train}
    there, X = word_vectors(table, words)
    fitted = X[there & numpy.array([word in known for word in words], dtype=bool)]
    if not len(fitted):
        raise ValueError(
            f"{table.name} has no word of the training corpus. Give one of its language."
        )
    if len({tag for _, tag in train}) < 2:
        raise ValueError("The training corpus has one tag alone. Give one with entities.")
    if all(tag == OUTSIDE for _, tag in test):
        raise ValueError(
            "The test corpus has no entities, so that there is no F1 of them. Give one with some."
        )
    if width < table.width:
        reduce = pca(moments(lambda: iter([fitted])), width, keep_origin=True)
        X, fitted = _mapped(X, there, reduce), reduce(fitted)
    for normalized in (False, True):
        scale = z_norm(moments(lambda: iter([fitted]))) if normalized else identity(width)
        Y = _mapped(X, there, scale)
        vectors = dict(zip(words, Y, strict=True))
        for classifier in CLASSIFIERS:
            runs = [_run(classifier, vectors, train, test, seed) for seed in range(seeds)]
            yield Probe(classifier, normalized, [a for a, _ in runs], [f for _, f in runs])


def scores(
    expected: numpy.ndarray, found: numpy.ndarray, counts: numpy.ndarray
) -> tuple[float, float]:
    """Return accuracy, and the F1 of tokens in entities, of tags (n,) with their counts (n,)."""
    right = (expected == found) * counts
    of_entities = counts[expected != OUTSIDE].sum() + counts[found != OUTSIDE].sum()
    hits = right[expected != OUTSIDE].sum()
    return float(right.sum() / counts.sum()), float(2 * hits / max(of_entities, 1))


def _mapped(X: numpy.ndarray, there: numpy.ndarray, function: AffineMap) -> numpy.ndarray:
    """Map the vectors of words that are there. Those of all others are zeros."""
    Y = numpy.zeros((len(X), function.width), dtype="float32")
    Y[there] = function(X[there])
    return Y


def _run(
    classifier: Classifier,
    vectors: dict[str, numpy.ndarray],
    train: Tokens,
    test: Tokens,
    seed: int,
) -> tuple[float, float]:
    X, tags, counts = _arrays(vectors, train.items())
    counts = numpy.random.default_rng(seed).binomial(counts, _PART)
    kept = counts > 0
    if len(set(tags[kept])) < 2:
        raise ValueError(
            f"A random {_PART:.0%} of the training tokens, that of seed {seed}, has less than two "
            "tags, so that there is nothing to tell apart. Give a larger training corpus."
        )
    Z, expected, weights = _arrays(vectors, test.items())
    model = _model(classifier, seed)
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")  # of steps that did not converge
        model.fit(X[kept], tags[kept], sample_weight=counts[kept].astype("float64"))
        return scores(expected, model.predict(Z), weights)


def _arrays(
    vectors: dict[str, numpy.ndarray], tokens: Iterable[tuple[tuple[str, str], int]]
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Return vectors, tags and counts of tokens, in an order that no reading order changes."""
    ordered = sorted(tokens)
    X = numpy.stack([vectors[word] for (word, _), _ in ordered])
    tags = numpy.array([tag for (_, tag), _ in ordered])
    return X, tags, numpy.array([count for _, count in ordered])


def _model(classifier: Classifier, seed: int):  # type: ignore[no-untyped-def]  # noqa: ANN202
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPClassifier
    except ImportError as error:
        raise ImportError(_EXTRA) from error
    if classifier == "MLP":
        return MLPClassifier((100,), learning_rate_init=0.005, max_iter=100, random_state=seed)
    return LogisticRegression(max_iter=200)
