"""Several tables of vectors, made one: against a loop in float64, and by central differences."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import fix_random_seed, set_dropout_rate

from spacy_multihash.vectors.meta_vectors import MetaVectors, TableRows, weight, weight_backward
from tests.helpers.weights import slopes

MODES = ("concat", "mme")


def reference(P: numpy.ndarray, present: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Weight token by token and entry by entry; give the weights too."""
    n, U, d = P.shape
    Y, A = numpy.zeros((U, d)), numpy.zeros((n, U, d))
    for u, i in numpy.ndindex(U, d):
        having = [j for j in range(n) if present[j, u]]
        total = sum(numpy.exp(numpy.tanh(P[j, u, i])) for j in having)
        for j in having:
            A[j, u, i] = numpy.exp(numpy.tanh(P[j, u, i])) / total
            Y[u, i] += A[j, u, i] * P[j, u, i]
    return Y, A


@st.composite
def problems(draw: st.DrawFn) -> tuple[numpy.ndarray, numpy.ndarray]:
    n, U, d = draw(st.integers(1, 4)), draw(st.integers(0, 4)), draw(st.integers(1, 3))
    P = draw(arrays("float64", (n, U, d), elements=st.floats(-3, 3, width=32)))
    return P, draw(arrays(bool, (n, U)))


@given(problem=problems())
def test_vectors_and_gradients_are_those_of_a_loop(
    problem: tuple[numpy.ndarray, numpy.ndarray],
) -> None:
    P, present = problem
    vectors, weights = weight(P, present)
    Y, A = reference(P, present)
    assert_allclose(vectors, Y, atol=1e-12)
    assert_allclose(weights, A, atol=1e-12)
    assert not vectors[~present.any(axis=0)].any()
    dY = numpy.random.default_rng(0).normal(size=Y.shape)
    dP = weight_backward(dY, P, vectors, weights)
    assert_allclose(dP, slopes(lambda: float((reference(P, present)[0] * dY).sum()), P), atol=1e-6)
    assert not dP[~present].any()


def table_rows(*widths: int, tokens: int = 4) -> TableRows:
    """Make rows: the last token is in no table, each other one is missing in one table."""
    rng = numpy.random.default_rng(3)
    rows = [rng.normal(size=(tokens, width)).astype("float32") for width in widths]
    present = numpy.ones((len(widths), tokens), dtype=bool)
    for token in range(tokens):
        present[token % len(widths), token] = len(widths) == 1
    present[:, -1:] = False
    for table, found in zip(rows, present, strict=True):
        table[~found] = 0
    return TableRows(rows, present)


def test_one_table_alone_is_a_linear_layer() -> None:
    X = TableRows([numpy.ones((2, 3), dtype="f")], numpy.ones((1, 2), dtype=bool))
    model = MetaVectors(4, ["es"], "mme").initialize(X=X)
    expected = X.rows[0] @ model.get_param("W_es").T + model.get_param("b_es")
    assert_allclose(model.predict(X), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_no_tokens_are_an_input_like_any_other(mode: str) -> None:
    width = None if mode == "concat" else 6
    model = MetaVectors(width, ["es", "nl"], mode).initialize(X=table_rows(5, 3))
    Y, backprop = model.begin_update(table_rows(5, 3, tokens=0))
    assert Y.shape == (0, width or 8)
    backprop(Y)
    assert not any(model.get_grad(name).any() for name in model.param_names)


@pytest.mark.parametrize("mode", MODES)
def test_training_drops_entries_by_one_mask(mode: str) -> None:
    fix_random_seed(0)
    X = table_rows(50, 50)
    model = MetaVectors(None if mode == "concat" else 100, ["es", "nl"], mode).initialize(X=X)
    whole = model.predict(X)
    set_dropout_rate(model, 0.5)
    assert_array_equal(model.predict(X), whole)
    dropped, backprop = model.begin_update(X)
    kept = dropped.any(axis=0)
    assert 25 < kept.sum() < 75
    assert_allclose(dropped[:, kept], 2 * whole[:, kept], rtol=1e-5)
    given = numpy.ones_like(dropped)
    backprop(given)
    assert (given == 1).all()
    for name in model.param_names:
        assert not model.get_grad(name)[~kept].any()


def test_initial_weights_are_those_of_the_authors_code() -> None:
    model = MetaVectors(40, ["es", "nl"], "mme").initialize(X=table_rows(4, 100))
    for name, end in (("W_es", 0.5), ("b_es", 0.5), ("W_nl", 0.1)):
        largest = abs(model.get_param(name)).max()
        assert 0.8 * end < largest <= end


def test_width_of_rows_side_by_side_is_their_sum() -> None:
    X = table_rows(5, 3)
    model = MetaVectors(8, ["es", "nl"], "concat").initialize(X=X)
    assert model.get_dim("nO") == 8 and model.param_names == ()
    assert_array_equal(model.predict(X), numpy.hstack(X.rows))
    with pytest.raises(ValueError, match=r"5 \(es\) \+ 3 \(nl\) = 8 wide, but width = 9. Set"):
        MetaVectors(9, ["es", "nl"], "concat").initialize(X=table_rows(5, 3))
