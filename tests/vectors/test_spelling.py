"""Similarity of spelling, kernel PCA and ridge regression, against naive references."""

from collections.abc import Sequence

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spacy_multihash.vectors import kernel_pca
from spacy_multihash.vectors.from_spelling import fit_from_spelling
from spacy_multihash.vectors.held_out import is_held_out
from spacy_multihash.vectors.kernel_pca import KernelPCA, SpellingSettings, fit_kernel_pca
from spacy_multihash.vectors.ridge import choose_ridge, fit_ridge
from spacy_multihash.vectors.spelling import SpellingIndex

ORDERS = (2, 3, 4)
STEMS = ["cant", "habl", "com", "viv", "mir", "trabaj", "escrib", "le"]
ENDINGS = ["ar", "er", "o", "as", "amos", "an", "aba", "iendo", "ado"]
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]
NEW = ["cantaron", "vivir", "zzz", "x", "日本"]


def naive_dice(one: str, other: str) -> float:
    grams = []
    for word in (one, other):
        padded = "\x02" + word + "\x03"
        found = {padded}
        for n in ORDERS:
            for start in range(len(padded)):
                if start + n <= len(padded):
                    found.add(padded[start : start + n])
        grams.append(found)
    return 2 * len(grams[0] & grams[1]) / (len(grams[0]) + len(grams[1]))


def dice(words: Sequence[str], anchors: Sequence[str]) -> numpy.ndarray:
    return numpy.vstack(list(SpellingIndex(anchors, ORDERS).dice(words)))


def naive_kernel(words: Sequence[str], anchors: Sequence[str], sigma: float) -> numpy.ndarray:
    similar = numpy.array([[naive_dice(one, other) for other in anchors] for one in words])
    return numpy.exp(-((1 - similar) ** 2) / (2 * sigma**2))


def naive_coordinates(sigma: float, rank: int) -> numpy.ndarray:
    """The textbook: centre with the matrix of means, and scale eigenvectors by root eigenvalues."""
    size = len(WORDS)
    centring = numpy.eye(size) - numpy.ones((size, size)) / size
    kernel = centring @ naive_kernel(WORDS, WORDS, sigma) @ centring
    values, directions = numpy.linalg.eigh(kernel)
    return directions[:, ::-1][:, :rank] * numpy.sqrt(values[::-1][:rank])


def fitted(rank: int = 10) -> KernelPCA:
    return fit_kernel_pca(WORDS, SpellingSettings(rank=rank))


# Similarity


def test_similarity_is_that_of_naive_loops() -> None:
    expected = [[naive_dice(one, other) for other in WORDS] for one in WORDS + NEW]
    assert_allclose(dice(WORDS + NEW, WORDS), expected, atol=1e-6)


def test_words_are_compared_in_chunks_of_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dice(WORDS, WORDS)
    monkeypatch.setattr("spacy_multihash.vectors.spelling._CHUNK", 7)
    assert_array_equal(dice(WORDS, WORDS), whole)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=8, unique=True))
@settings(max_examples=50, deadline=None)
def test_similarity_is_symmetric_and_1_for_equal_words_alone(words: list[str]) -> None:
    found = dice(words, words)
    assert_array_equal(found, found.T)
    assert ((found >= 0) & (found <= 1)).all()
    assert_array_equal(found == 1, numpy.eye(len(words), dtype=bool))


# Kernel PCA


def test_coordinates_are_those_of_the_textbook_but_for_signs() -> None:
    expected = naive_coordinates(0.5, 10)
    found = fitted().vectors(WORDS)
    assert_allclose(numpy.abs(found), numpy.abs(expected), atol=1e-5)
    assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_known_word_is_where_it_was_as_a_new_one() -> None:
    model = fitted()
    trained = naive_coordinates(0.5, 10)
    signs = numpy.sign((trained * model.vectors(WORDS)).sum(axis=0))
    for i in (0, 5, 70):
        assert numpy.abs(model.vectors([WORDS[i]])[0] - trained[i] * signs).max() < 1e-6


def test_components_have_the_variances_that_are_said_the_largest_first() -> None:
    model = fitted()
    assert_allclose(model.vectors(WORDS).var(axis=0), model.variances, rtol=1e-4)
    assert (numpy.diff(model.variances) <= 0).all()


def test_large_matrix_gives_the_same_leading_components(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = fitted(5).vectors(WORDS + NEW)
    monkeypatch.setattr(kernel_pca, "_FEW", 10)
    monkeypatch.setattr(kernel_pca, "_SPARE", 20)
    assert_allclose(fitted(5).vectors(WORDS + NEW), exact, atol=1e-3)


def test_same_words_give_the_same_vectors() -> None:
    assert_array_equal(fitted().vectors(NEW), fitted().vectors(NEW))


def test_no_word_has_no_vector() -> None:
    assert fitted().vectors([]).shape == (0, 10)


def test_anchors_are_the_first_words() -> None:
    model = fit_kernel_pca(WORDS, SpellingSettings(anchors=20, rank=3))
    assert model.index.words == WORDS[:20]


@pytest.mark.parametrize("number", [72, 30])
def test_rank_that_is_larger_than_the_data_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"rank must be at most {number - 1}, .* was: {number}"):
        fit_kernel_pca(WORDS[:number], SpellingSettings(rank=number))


def test_rank_beyond_positive_eigenvalues_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rank must be at most 2, .* was: 3"):
        fit_kernel_pca(["a", "b", "c", "c"], SpellingSettings(rank=3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"anchors": 1}, "anchors must be a whole number from 2 to 10000"),
        ({"anchors": 20000}, "anchors must be a whole number from 2 to 10000"),
        ({"rank": 0}, "rank must be a whole number from 1"),
        ({"sigma": 1e-200}, "sigma must be a number from 0.001 on"),
        ({"sigma": 0}, "sigma must be a number from 0.001 on"),
        ({"sigma": float("nan")}, "sigma must be a number from 0.001 on"),
        ({"orders": []}, "orders must be a list of whole numbers"),
        ({"orders": [0]}, "orders must be a list of whole numbers"),
    ],
)
def test_setting_out_of_range_is_refused(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpellingSettings(**wrong)


def test_memory_is_checked_before_the_matrix_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.common.memory.available_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"shape 72 x 72.*Take fewer anchors"):
        fitted()


# Ridge regression


@pytest.fixture
def pairs() -> tuple[numpy.ndarray, numpy.ndarray]:
    generator = numpy.random.default_rng(3)
    inputs = generator.normal(size=(60, 5)) + 2
    outputs = inputs @ generator.normal(size=(5, 3)) + 0.1 * generator.normal(size=(60, 3)) - 1
    return inputs, outputs


@pytest.mark.parametrize("strength", [1e-6, 0.1, 10.0])
def test_ridge_is_least_squares_with_augmented_rows(
    pairs: tuple[numpy.ndarray, numpy.ndarray], strength: float
) -> None:
    inputs, outputs = pairs
    centred = inputs - inputs.mean(axis=0)
    penalty = strength * 60 * centred.var(axis=0).mean()
    augmented = numpy.vstack([centred, numpy.sqrt(penalty) * numpy.eye(5)])
    target = numpy.vstack([outputs - outputs.mean(axis=0), numpy.zeros((5, 3))])
    weights = numpy.linalg.lstsq(augmented, target, rcond=None)[0]
    expected = centred @ weights + outputs.mean(axis=0)
    assert_allclose(fit_ridge(inputs, outputs, strength)(inputs), expected, atol=1e-4)


def test_what_is_linear_is_found_and_noise_is_not(
    pairs: tuple[numpy.ndarray, numpy.ndarray],
) -> None:
    ridge, held_out = choose_ridge(*pairs)
    assert held_out.strength < 0.01
    assert held_out.words == 6
    assert held_out.r2 > 0.95
    assert held_out.cosine > 0.99 > held_out.cosine_of_mean
    noise = numpy.random.default_rng(0).normal(size=(60, 3))
    ridge, held_out = choose_ridge(pairs[0], noise)
    assert held_out.strength >= 1
    assert held_out.r2 < 0.1


def test_quality_is_that_of_words_that_the_regression_did_not_see(
    pairs: tuple[numpy.ndarray, numpy.ndarray],
) -> None:
    inputs, outputs = pairs
    apart = numpy.arange(60) % 10 == 9
    ridge, held_out = choose_ridge(inputs, outputs)
    blind = fit_ridge(inputs[~apart], outputs[~apart], held_out.strength)
    wrong = ((blind(inputs[apart]) - outputs[apart]) ** 2).sum()
    spread = ((outputs[apart] - outputs[~apart].mean(axis=0)) ** 2).sum()
    assert_allclose(held_out.r2, 1 - wrong / spread, atol=1e-6)
    assert_allclose(ridge.matrix, fit_ridge(inputs, outputs, held_out.strength).matrix)


def test_equal_inputs_predict_the_mean() -> None:
    outputs = numpy.arange(20.0)[:, None]
    ridge, _ = choose_ridge(numpy.ones((20, 3)), outputs)
    assert_allclose(ridge(numpy.ones((1, 3))), [[9.5]], rtol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (numpy.zeros((20, 2)), numpy.zeros((19, 2)), r"shapes \(20, 2\) and \(19, 2\)"),
        (numpy.zeros((9, 2)), numpy.zeros((9, 2)), "needs 10 words or more.* was given 9"),
        (numpy.zeros((0, 2)), numpy.zeros((0, 2)), "needs 10 words or more.* was given 0"),
        (numpy.full((20, 2), numpy.nan), numpy.zeros((20, 2)), "inputs must be finite, but 20"),
        (numpy.zeros((20, 2)), numpy.full((20, 2), numpy.inf), "outputs must be finite.* row 0"),
    ],
)
def test_pairs_that_cannot_be_fitted_are_refused(
    inputs: numpy.ndarray, outputs: numpy.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        choose_ridge(inputs, outputs)


# Both


def test_vectors_that_follow_from_endings_are_predicted() -> None:
    generator = numpy.random.default_rng(0)
    of_ending = {ending: generator.normal(size=4) for ending in ENDINGS}
    vectors = numpy.stack([of_ending[ending] for _ in STEMS for ending in ENDINGS])
    order = generator.permutation(len(WORDS))
    words = [WORDS[i] for i in order]
    fit = fit_from_spelling(words, vectors[order], SpellingSettings(rank=30))
    assert fit.held_out.r2 > 0.5
    new = fit.predict(["saltamos", "saltiendo"])
    assert numpy.linalg.norm(new[0] - of_ending["amos"]) < numpy.linalg.norm(of_ending["amos"])
    held = [word for word, apart in zip(words, is_held_out(order), strict=True) if apart]
    assert not {*held} & {*fit.spelling.index.words}


def test_words_that_share_a_row_are_held_out_together() -> None:
    """Nothing is known of held-out words whose vectors have nothing to do with spelling."""
    draw = numpy.random.default_rng(0)
    words = ["".join(draw.choice(list("abcdefghij"), 7)) for _ in range(300)]
    rows = numpy.arange(300).repeat(3)
    forms = [form for word in words for form in (word, word.title(), f"{word}s")]
    vectors = draw.normal(size=(300, 5))[rows]
    rank = SpellingSettings(rank=100)
    held_out = fit_from_spelling(forms, vectors, rank, rows).held_out
    assert (held_out.words, held_out.r2 < 0.01) == (90, True)
    with pytest.raises(ValueError, match="10 words or more .*, and share no row, was given 9"):
        fit_from_spelling(forms[:27], vectors[:27], rank, rows[:27])


def test_every_tenth_row_is_held_out_wherever_its_words_are() -> None:
    rows = numpy.array([*range(50, 30, -1), 41, 7, 31])
    assert numpy.flatnonzero(is_held_out(rows)).tolist() == [9, 19, 20, 22]


def test_vectors_with_nan_are_refused_before_the_work() -> None:
    vectors = numpy.zeros((len(WORDS), 2))
    vectors[7] = numpy.nan
    with pytest.raises(ValueError, match=f"but 1 of 72 rows .* that of the word {WORDS[7]!r}"):
        fit_from_spelling(WORDS, vectors, SpellingSettings(rank=3))
