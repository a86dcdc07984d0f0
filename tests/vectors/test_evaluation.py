"""Word similarity, probes and neighbours, beside scipy and beside what can be known."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_multihash.vectors.neighbours import neighbours
from spacy_multihash.vectors.principal import moments
from spacy_multihash.vectors.probes import probe, scores
from spacy_multihash.vectors.scale import z_norm
from spacy_multihash.vectors.similarity import read_scores, similarity, spearman
from spacy_multihash.vectors.table import VectorTable
from tests.helpers.vectors import WORDS, make_table, random_vectors

# Similarity


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_spearman_is_scipys(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = numpy.array(pairs).T
    found = spearman(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic)


def test_similarity_is_of_the_pairs_that_are_found() -> None:
    X = numpy.array([[1, 0], [1, 0.1], [1, 1], [0, 1], [-1, 0]], dtype="float32")
    table = make_table(X, ["a", "b", "c", "d", "e"])
    pairs = [("a", "b", 9.0), ("a", "c", 5.0), ("a", "d", 3.0), ("a", "e", 1.0), ("a", "x", 7.0)]
    found = similarity(table, pairs, z_norm(moments(lambda: iter([X]))))
    assert (found.pairs, found.found, found.spearman) == (5, 4, pytest.approx(1))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    cosines = [Z[0] @ z / numpy.linalg.norm(Z[0]) / numpy.linalg.norm(z) for z in Z[1:]]
    expected = spearman(numpy.array(cosines), numpy.array([9.0, 5.0, 3.0, 1.0]))
    assert found.normalized == pytest.approx(expected)
    with pytest.raises(ValueError, match="table has none of the 1 pairs"):
        similarity(table, [("a", "x", 1.0)], z_norm(moments(lambda: iter([X]))))


def test_lines_of_scores_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    path.write_text("\ufeffa b 1\nNew York\tRome\t2.5\n", "utf8")
    assert read_scores(path) == [("a", "b", 1.0), ("New York", "Rome", 2.5)]
    for text, message in (
        ("a b 1\na c\n", "pairs, line 2: expected two words and a number, with tabs"),
        ("a b 3\nb a 9\n", r"pairs, line 2: the pair \('b', 'a'\) is in line 1 already"),
        ("a b high\n", "pairs, line 1: expected a number as the third column, was 'high'"),
        ("a b nan\n", "pairs, line 1: expected a number as the third column, was 'nan'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_scores(path)


# Probes


def separable() -> tuple[VectorTable, Counter[tuple[str, str]]]:
    """Words whose first column says whether they are entities."""
    X = random_vectors(60, 5) / 10
    X[:, 0] = numpy.where(numpy.arange(60) % 3 == 0, 4, -4)
    tags = ["PER" if i % 3 == 0 else "O" for i in range(60)]
    return make_table(X), Counter({pair: 10 for pair in zip(WORDS, tags, strict=True)})


def test_probes_find_a_column_that_says_it_all() -> None:
    pytest.importorskip("sklearn")
    table, tokens = separable()
    found = list(probe(table, tokens, tokens, width=5, seeds=2))
    assert [(one.classifier, one.normalized) for one in found] == [
        ("logistic regression", False),
        ("MLP", False),
        ("logistic regression", True),
        ("MLP", True),
    ]
    for one in found:
        assert (len(one.accuracy), len(one.f1)) == (2, 2)
        assert min(one.accuracy) > 0.95


def test_probes_do_not_depend_on_reading_order() -> None:
    pytest.importorskip("sklearn")
    rng = numpy.random.default_rng(0)
    tokens = Counter(
        {(word, tag): int(rng.integers(1, 9)) for word in WORDS for tag in ("O", "PER")}
    )
    table = make_table(random_vectors(60, 5))
    first, second = (
        next(probe(table, order, tokens, width=5, seeds=3))
        for order in (tokens, Counter(dict(reversed(tokens.items()))))
    )
    assert first == second
    assert len({*first.f1}) > 1


def test_probes_cannot_tell_words_without_vectors_apart() -> None:
    pytest.importorskip("sklearn")
    table, tokens = separable()
    test = Counter({("unknown", "PER"): 1, ("missing", "O"): 3})
    for one in probe(table, tokens, test, width=3, seeds=2):
        assert {*one.accuracy} <= {0.25, 0.75}


def test_sample_of_tokens_with_one_tag_is_refused() -> None:
    pytest.importorskip("sklearn")
    table, _ = separable()
    tokens = Counter({(WORDS[0], "PER"): 1, **{(word, "O"): 1 for word in WORDS[1:9]}})
    with pytest.raises(ValueError, match=r"A random 90% of the training tokens, that of seed"):
        list(probe(table, tokens, tokens, width=5, seeds=50))


def test_probes_leave_the_mean_where_it_is() -> None:
    """A word that the table lacks is as far from the others at a smaller width."""
    pytest.importorskip("sklearn")
    X = numpy.random.default_rng(0).normal(size=(60, 5)).astype("float32") + 5
    train = Counter({(word, "PER"): 10 for word in WORDS})
    train.update({("missing1", "O"): 100, ("missing2", "O"): 100})
    test = Counter({("missing3", "O"): 1, (WORDS[0], "PER"): 1})
    for width in (5, 3):
        for one in probe(make_table(X), train, test, width=width, seeds=2):
            assert one.normalized or {*one.accuracy} == {1.0}


def test_scores_count_tokens() -> None:
    expected = numpy.array(["O", "O", "PER", "LOC"])
    found = numpy.array(["O", "PER", "PER", "PER"])
    counts = numpy.array([10, 1, 2, 3])
    assert scores(expected, found, counts) == (12 / 16, pytest.approx(2 * 2 / (5 + 6)))
    assert scores(expected[:1], found[:1], counts[:1]) == (1, 0)


def test_corpora_that_cannot_be_probed_are_refused() -> None:
    table, tokens = separable()
    with pytest.raises(ValueError, match="table has no word of the training corpus"):
        next(probe(table, Counter({("unknown", "O"): 1}), tokens, width=5))
    with pytest.raises(ValueError, match="The training corpus has one tag alone"):
        next(probe(table, Counter({("word1", "O"): 1}), tokens, width=5))
    with pytest.raises(ValueError, match="The training corpus has no tokens with annotation"):
        next(probe(table, Counter(), tokens, width=5))
    with pytest.raises(ValueError, match="The test corpus has no tokens with annotation of"):
        next(probe(table, tokens, Counter(), width=5))
    with pytest.raises(ValueError, match="The test corpus has no entities, so that there is no F1"):
        next(probe(table, tokens, Counter({("word1", "O"): 1}), width=5))
    few = Counter({("word1", "O"): 1, ("word3", "PER"): 1})
    with pytest.raises(ValueError, match="axes must be at most 1, was: 3. The 2 vectors"):
        next(probe(table, few, tokens, width=3))


# Neighbours


def test_neighbours_are_the_largest_cosines_of_each_band() -> None:
    words = [f"w{i}" for i in range(1200)]
    X = random_vectors(1200, 4)
    X[7] = 0
    table = replace(make_table(X, words))
    found = list(neighbours(table, [*words[:3], "unknown", *words[3:]], of_band=2, number=3))
    assert [one.band for one in found] == ["1 to 1,000"] * 2 + ["1,001 to 1,201"] * 2
    unit = X / numpy.maximum(numpy.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    for one in found:
        cosines = unit @ unit[words.index(one.word)]
        cosines[[7, words.index(one.word)]] = -2
        best = numpy.argsort(-cosines)[:3]
        assert [word for word, _ in one.nearest] == [words[i] for i in best]
        assert [c for _, c in one.nearest] == pytest.approx(cosines[best].tolist(), abs=1e-5)


def test_neighbours_need_two_words() -> None:
    table = make_table(random_vectors(2), ["a", "b"])
    assert [one.nearest[0][0] for one in neighbours(table, ["a", "b"])] == ["b", "a"]
    with pytest.raises(ValueError, match="table has 1 of the 2 words, too few for neighbours"):
        list(neighbours(table, ["a", "unknown"]))
