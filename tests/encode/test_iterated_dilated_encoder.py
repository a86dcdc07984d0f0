from functools import cache
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Model, Ops, set_dropout_rate, to_numpy

from spacy_multihash import build_iterated_dilated_encoder_v1
from spacy_multihash.layers import IteratedDilatedEncoder, begin_passes, effective_input_width
from tests.helpers.arrays import batch, flat, random_vectors
from tests.helpers.encoders import numbered_weights, reference_passes
from tests.helpers.weights import params, randomize, slopes

LENGTHS = [3, 0, 1, 14, 0, 2]
# Dilations, repeats, window size, and which options are on.
SHAPES: list[tuple[list[int], int, int, dict[str, bool]]] = [
    ([1, 2, 1], 1, 1, {}),
    ([1, 2, 1], 3, 1, {}),
    ([1, 2, 1], 2, 1, {"share": False}),
    ([2, 3], 2, 2, {"residual": True}),
    ([1, 4], 2, 1, {"normalize": True}),
    ([3, 1], 2, 1, {"share": False, "residual": True, "normalize": True}),
    ([2], 2, 0, {}),
]


def build(
    width: int,
    dilations: list[int],
    repeats: int,
    window_size: int,
    options: dict[str, bool],
    input_width: int | None = None,
) -> Model:
    model = IteratedDilatedEncoder(
        width, dilations=dilations, repeats=repeats, window_size=window_size, **options
    )
    model.initialize(X=[model.ops.alloc2f(1, input_width or width)])
    return randomize(model)


@pytest.mark.parametrize(("dilations", "repeats", "window_size", "options"), SHAPES)
def test_encoder_equals_its_reference(
    ops: Ops, dilations: list[int], repeats: int, window_size: int, options: dict[str, bool]
) -> None:
    model = build(4, dilations, repeats, window_size, options, input_width=3)
    Xs = batch(ops, LENGTHS, 3)
    expected = [reference_passes(model, numbered_weights(model), to_numpy(X)) for X in Xs]
    for Ys in (model.predict(Xs), model.begin_update(Xs)[0]):
        assert [Y.shape for Y in Ys] == [(length, 4) for length in LENGTHS]
        assert_allclose(flat(Ys), numpy.concatenate([each[-1] for each in expected]), atol=1e-4)
    passes, _ = begin_passes(model, Xs)
    for number in range(repeats):
        of_pass = numpy.concatenate([each[number] for each in expected])
        assert_allclose(to_numpy(passes[number]), of_pass, atol=1e-4)


@cache
def reference_gradients(number: int, only_last: bool) -> dict[tuple[int, str], numpy.ndarray]:
    """Central differences of the reference, with the model and the docs of the test below."""
    model, X, d_passes = gradient_case(number, only_last)
    weights = numbered_weights(model)

    def loss() -> float:
        docs = [reference_passes(model, weights, doc) for doc in numpy.split(X, [2]) if len(doc)]
        passes = [numpy.concatenate(outputs) for outputs in zip(*docs, strict=True)]
        return sum(
            float((Y * d).sum()) for Y, d in zip(passes, d_passes, strict=True) if d is not None
        )

    return {key: slopes(loss, values) for key, values in [((-1, "X"), X), *weights.items()]}


def gradient_case(number: int, only_last: bool) -> tuple[Model, numpy.ndarray, list[Any]]:
    """An encoder, the vectors of all docs in float64, and gradients of its passes."""
    dilations, repeats, window_size, options = SHAPES[number]
    model = build(3, dilations, repeats, window_size, options)
    rng = numpy.random.default_rng(0)
    d_passes: list[Any] = [rng.normal(size=(9, 3)).astype("float32") for _ in range(repeats)]
    if only_last:
        d_passes[:-1] = [None] * (repeats - 1)
    return model, random_vectors(9, 3).astype("float64"), d_passes


@pytest.mark.parametrize(
    ("number", "only_last"),
    [*((number, False) for number in range(len(SHAPES))), (1, True), (2, True)],
)
def test_gradients_equal_central_differences_of_the_reference(
    ops: Ops, number: int, only_last: bool
) -> None:
    model, _, d_passes = gradient_case(number, only_last)
    given = [None if d is None else ops.asarray(d) for d in d_passes]
    _, backprop = begin_passes(model, batch(ops, [2, 0, 7], 3))
    found = {(-1, "X"): flat(backprop(given))}
    for d, d_given in zip(d_passes, given, strict=True):
        assert d is None or (to_numpy(d_given) == d).all()  # never written to
    for i, layer in enumerate(model.layers):
        found |= {(i, name): to_numpy(layer.get_grad(name)) for name in layer.param_names}
    for key, expected in reference_gradients(number, only_last).items():
        atol = 1e-4 * max(abs(expected).max(), 1)
        assert_allclose(found[key], expected, rtol=0, atol=atol, err_msg=str(key))


def test_the_stack_starts_as_the_identity() -> None:
    model = IteratedDilatedEncoder(4, dilations=[1, 2, 1], repeats=3, window_size=1)
    X = abs(random_vectors(6, 4))
    model.initialize(X=[X])
    assert_allclose(model.predict([X])[0], X, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"residual": True}])
def test_what_cannot_be_the_identity_is_drawn(options: dict[str, bool]) -> None:
    model = IteratedDilatedEncoder(4, dilations=[2], repeats=1, window_size=1, **options)
    model.initialize(X=[random_vectors(6, 4 if options else 3)])
    first, inner = (layer.get_param("W") for layer in model.layers)
    drawn = inner if options else first
    assert len(numpy.unique(drawn)) == drawn.size
    identity = first if options else inner
    assert_array_equal(identity[:, 4:8], numpy.eye(4))
    assert numpy.count_nonzero(identity) == 4


@pytest.mark.parametrize("repeats", [1, 4, 12])
@pytest.mark.parametrize("share", [True, False])
def test_residual_connections_start_near_the_identity(share: bool, repeats: int) -> None:
    model = IteratedDilatedEncoder(
        48, dilations=[1, 2, 1], repeats=repeats, window_size=1, share=share, residual=True
    )
    X = random_vectors(60, 48)
    model.initialize(X=[X])
    Y, backprop = model.begin_update([X])
    dY = random_vectors(60, 48)
    (dX,) = backprop([dY])
    assert 0.5 < numpy.std(Y[0]) / numpy.std(X) < 2
    assert 0.5 < numpy.std(dX) / numpy.std(dY) < 2


@pytest.mark.parametrize(("dilations", "repeats", "window_size", "options"), SHAPES[:3])
def test_a_token_sees_the_effective_input_width_and_no_more(
    dilations: list[int], repeats: int, window_size: int, options: dict[str, bool]
) -> None:
    width = effective_input_width(dilations, repeats, window_size)
    reach = width // 2
    model = build(4, dilations, repeats, window_size, options)
    for node, name in params(model):  # nothing is cut off by ReLU
        node.set_param(name, abs(node.get_param(name)))
    X = abs(random_vectors(2 * reach + 21, 4))
    changed = X.copy()
    place = len(X) // 2
    changed[place] += 1
    (Y,), (Y_changed,) = model.predict([X]), model.predict([changed])
    (different,) = numpy.nonzero((Y != Y_changed).any(axis=1))
    assert (different[0], different[-1]) == (place - reach, place + reach)


def test_dropout_is_drawn_for_each_pass_and_only_in_training() -> None:
    model = build(64, [1], 2, 1, {})
    set_dropout_rate(model, 0.5)
    Xs = batch(model.ops, [30], 64)
    passes, _ = begin_passes(model, Xs)
    first, convolution = model.layers
    X = convolve(first, Xs[0])
    masks = []
    for Y in map(to_numpy, passes):
        plain = numpy.maximum(convolve(convolution, X), 0)
        kept = Y[plain > 0] != 0
        assert_allclose(Y, 2 * plain * (Y != 0), rtol=1e-5, atol=1e-4)
        assert 0.4 < kept.mean() < 0.6
        masks.append((plain > 0) & (Y == 0))
        X = Y
    assert (masks[0] != masks[1]).any()
    assert_allclose(
        model.predict(Xs)[0], reference_passes(model, numbered_weights(model), Xs[0])[-1], atol=1e-3
    )
    set_dropout_rate(model, 1.0)
    passes, backprop = begin_passes(model, Xs)
    assert not numpy.any(passes) and not backprop([passes[0] + 1, passes[1] + 1])[0].any()


def convolve(layer: Model, X: numpy.ndarray) -> numpy.ndarray:
    """Apply a convolution of a window of 1 token at each side, without dilation."""
    around = numpy.pad(X, ((1, 1), (0, 0)))
    windows = numpy.hstack([around[:-2], X, around[2:]])
    return windows @ layer.get_param("W").T + layer.get_param("b")


@pytest.mark.parametrize(
    ("name", "value"), [("dilations", [1, 3]), ("repeats", 3), ("window_size", 2), ("residual", 1)]
)
def test_weights_of_other_settings_are_refused(name: str, value: Any) -> None:
    settings_ = {"dilations": [1, 2], "repeats": 2, "window_size": 1, "residual": False}
    saved = IteratedDilatedEncoder(4, **settings_).initialize().to_bytes()
    other = IteratedDilatedEncoder(4, **(settings_ | {name: value}))
    with pytest.raises(ValueError, match=f"it was built with {name} = "):
        other.from_bytes(saved)


# The registered architecture. What it refuses is in tests/test_settings.py.


def pinned(model: Model) -> dict[str, Any]:
    """Return the settings that decide what a model computes."""
    return {name: value.value for name, value in model.attrs.items() if hasattr(value, "value")}


def test_architecture_needs_a_width_only() -> None:
    model = build_iterated_dilated_encoder_v1(4)
    defaults = {"dilations": [1, 2, 1], "repeats": 1, "window_size": 1, "residual": 0}
    assert pinned(model) == defaults
    assert [layer.name for layer in model.layers] == ["linear"] * 4  # the first, and the stack's
    model.attrs["dilations"].value.append(9)
    assert pinned(build_iterated_dilated_encoder_v1(4)) == defaults


def test_architecture_hands_on_all_settings() -> None:
    options = {"share": False, "residual": True, "normalize": True}
    model = build_iterated_dilated_encoder_v1(4, [1, 3], 2, 2, **options).initialize()
    other = build(4, [1, 3], 2, 2, options)
    assert pinned(model) == pinned(other)
    other.from_bytes(model.to_bytes())
    X = random_vectors(9, 4)
    assert_array_equal(other.predict([X])[0], model.predict([X])[0])
