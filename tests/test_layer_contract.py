"""What thinc and spaCy ask of any layer, of each public layer of spacy_multihash.layers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
import pytest
import spacy
from numpy.testing import assert_equal
from spacy.attrs import LOWER, NORM, SHAPE
from spacy.ml.featureextractor import FeatureExtractor
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from thinc.api import (
    Linear,
    Model,
    Ops,
    chain,
    fix_random_seed,
    list2ragged,
    ragged2list,
    to_numpy,
    with_array,
)
from thinc.types import Ragged
from thinc.util import DATA_VALIDATION, get_width

from spacy_multihash import layers
from spacy_multihash.compute.ops import use_kernel_ops
from spacy_multihash.layers import (
    IteratedDilatedEncoder,
    MaxoutNorm,
    MaxoutWindowEncoder,
    Symbols,
    TableEmbed,
    extract_ngrams,
    hash_rows,
    lookup_rows,
    multi_embed,
    require_vectors,
    token_tagger,
    unit_importance,
    weighted_embed,
    with_unique_tokens,
)
from tests.helpers import arrays as arrays_module
from tests.helpers.weights import params

assert_all_close = partial(arrays_module.assert_all_close, rtol=1e-4, atol=1e-5)
# Public names that are no layers: functions, classes, types and numbers.
NO_LAYERS = {
    *("MAX_ROWS", "UNKNOWN_ROW", "Pinned", "Symbols", "begin_passes", "default_seed"),
    *("default_seeds", "distinct_rows", "effective_input_width", "importance_seed", "ngram_name"),
    "spacy_seeds",
}
KEYS = numpy.array([3, 2**53, 2**53 + 1, 2**64 - 1, 5], dtype="uint64")
WIDTH = 4


# Inputs: n tokens, n-grams, rows or ids


def floats(n: int) -> numpy.ndarray:
    return numpy.random.default_rng(1).normal(size=(n, WIDTH)).astype("float32")


def rows(n: int) -> numpy.ndarray:
    return numpy.random.default_rng(2).integers(0, 5, (n, 2)).astype("int32")


def ids(n: int) -> numpy.ndarray:
    return numpy.resize(KEYS, n)


def lengths(n: int) -> list[int]:
    return [3, 0, n - 3] if n else [0, 0]


def arrays(n: int) -> list[numpy.ndarray]:
    ends = numpy.cumsum([0, *lengths(n)])
    return [floats(n)[start:end] for start, end in pairwise(ends)]


def docs(n: int) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    vocab.set_vector("word", numpy.ones(3, dtype="float32"))
    words = numpy.resize(["a", "word", "another", "Word", "word"], n).tolist()
    ends = numpy.cumsum([0, *lengths(n)])
    return [Doc(vocab, words=words[start:end]) for start, end in pairwise(ends)]


# Layers


def lookup() -> Model:
    model = lookup_rows(attr="NORM")
    model.attrs["symbols"] = Symbols.from_ordered(KEYS[:3])
    return model


def hashed(seed: int = 1, num_hashes: int = 2, **settings: Any) -> Model:
    return hash_rows(5, attr="NORM", num_hashes=num_hashes, seed=seed, **settings)


def dilated(nO: int, **settings: Any) -> Model:
    return IteratedDilatedEncoder(nO, repeats=2, window_size=1, **settings)


def embedded() -> Model:
    return multi_embed(*[chain(hashed(seed), TableEmbed(3, 5)) for seed in (1, 2)])


def weighted() -> Model:
    importance = chain(hashed(seed=3, num_hashes=1), TableEmbed(2, 5))
    return weighted_embed(hashed(), importance, TableEmbed(WIDTH, 5))


def of_types() -> Model:
    attrs = [NORM, SHAPE]
    embed = chain(FeatureExtractor(attrs), list2ragged(), with_array(embedded()))
    return with_unique_tokens(embed, 6, attrs=attrs)


def tagger() -> Model:
    vectors = chain(of_types(), with_array(Linear(WIDTH, 6)), ragged2list())
    model = token_tagger(vectors, Linear(None, WIDTH), every_pass=False, transitions=False)
    model.layers[0].set_dim("nO", WIDTH)
    model.set_dim("nO", 5)
    return model


class Case(NamedTuple):
    build: Callable[[], Model]
    X: Callable[[int], Any]
    trains: bool = True  # whether it has parameters
    of_spacy: bool = False  # spaCy writes to gradients, and takes none of 64 bits


CASES = {
    "MaxoutNorm": Case(lambda: MaxoutNorm(3, WIDTH), floats),
    "MaxoutWindowEncoder": Case(
        lambda: MaxoutWindowEncoder(WIDTH, window_size=1, nP=2, depth=2), arrays
    ),
    "IteratedDilatedEncoder": Case(lambda: dilated(3, dilations=[1, 2]), arrays),
    "IteratedDilatedEncoder, residual": Case(
        lambda: dilated(WIDTH, dilations=[1], residual=True, normalize=True), arrays
    ),
    "TableEmbed": Case(lambda: TableEmbed(3, 5), rows),
    "hash_rows": Case(hashed, ids, trains=False),
    "lookup_rows": Case(lookup, ids, trains=False),
    "multi_embed": Case(embedded, lambda n: numpy.stack([ids(n), ids(n)[::-1]], axis=1)),
    "unit_importance": Case(lambda: unit_importance(2), ids, trains=False),
    "weighted_embed": Case(weighted, ids),
    "with_unique_tokens": Case(of_types, docs),
    "require_vectors": Case(
        lambda: require_vectors(StaticVectors(3, dropout=0.0)), docs, of_spacy=True
    ),
    "token_tagger": Case(tagger, docs),
    "extract_ngrams": Case(
        lambda: extract_ngrams(LOWER, [1, 2], attr_name="LOWER"), docs, trains=False
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(autouse=True)
def _no_dead_activations() -> None:
    fix_random_seed(1)


# Whatever layers take and give, as arrays


def arrays_of(value: Any) -> list[numpy.ndarray]:
    """List the arrays in a value; docs have none."""
    if isinstance(value, Ragged):
        return [to_numpy(value.dataXd), to_numpy(value.lengths)]
    if isinstance(value, (list, tuple)):
        return [array for each in value for array in arrays_of(each)]
    return [] if isinstance(value, Doc) else [to_numpy(value)]


def change(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to each array in a value, but for the lengths of a Ragged."""
    if isinstance(value, Ragged):
        return Ragged(function(value.dataXd), value.lengths)
    if isinstance(value, (list, tuple)):
        return type(value)([change(each, function) for each in value])
    return value if isinstance(value, Doc) else function(value)


def random_like(array: Any) -> Any:
    values = numpy.random.default_rng(3).normal(size=array.shape)
    return values.astype("float32") if array.dtype.kind == "f" else array


def initialized(case: Case, n: int = 7) -> Model:
    model = case.build()
    model.initialize(X=case.X(n))
    return model


def train(model: Model, X: Any, wrap: Callable[[Any], Any] = lambda dY: dY) -> list[numpy.ndarray]:
    """Give the results of both ways: vectors, the input's gradient, and those of parameters."""
    Y, backprop = model.begin_update(X)
    dX = backprop(wrap(change(Y, random_like)))
    return [*arrays_of(Y), *arrays_of(dX), *gradients(model)]


def gradients(model: Model) -> list[numpy.ndarray]:
    """List the gradients of all parameters, and forget them."""
    found = []
    for node in model.walk():
        for name in node.grad_names:
            found.append(to_numpy(node.get_grad(name)).copy())
            node.set_grad(name, node.get_grad(name) * 0)
    return found


@contextmanager
def validated() -> Iterator[None]:
    """Switch on thinc's data validation, and off again whatever happens: thinc's own does not."""
    token = DATA_VALIDATION.set(True)
    try:
        yield
    finally:
        DATA_VALIDATION.reset(token)


def test_each_public_layer_has_a_case() -> None:
    assert {name.split(",")[0] for name in CASES} == set(layers.__all__) - NO_LAYERS


def test_data_validation_accepts_the_input(case: Case) -> None:
    model, X = case.build(), case.X(7)
    Y = initialized(case).predict(X)
    with validated():
        model.initialize(X=X, Y=Y)


def test_result_is_as_wide_as_the_layer_says(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    if model.has_dim("nO"):
        assert get_width(model.predict(X)) == model.get_dim("nO")
    if model.has_dim("nI"):
        assert get_width(X) == model.get_dim("nI")


def test_training_without_dropout_gives_what_prediction_gives_in_32_bits(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    trained = arrays_of(model.begin_update(X)[0])
    assert_all_close(trained, arrays_of(model.predict(X)))
    assert {str(array.dtype) for array in trained} <= {"float32", "int32", "uint64"}


def test_copy_predicts_the_same_and_is_trained_apart(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    copy = model.copy()
    expected = arrays_of(model.predict(X))
    assert_all_close(arrays_of(copy.predict(X)), expected)
    for node, name in params(copy):
        node.set_param(name, node.get_param(name) * 0 + 7)
    assert_all_close(arrays_of(model.predict(X)), expected)
    assert [node.name for node in model.walk()] == [node.name for node in copy.walk()]
    assert all(node._func.__name__ for node in model.walk())


def test_bytes_give_a_new_layer_the_same_predictions(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    saved = model.to_bytes()
    loaded = initialized(case).from_bytes(saved)
    assert_all_close(arrays_of(loaded.predict(X)), arrays_of(model.predict(X)))
    assert case.build().from_bytes(saved).to_bytes() == saved


@pytest.mark.parametrize("is_train", [True, False])
def test_batch_may_be_empty(case: Case, is_train: bool) -> None:
    model, X = initialized(case), case.X(0)
    Y, backprop = model(X, is_train)
    widths = {array.shape[-1] for array in arrays_of(model.predict(case.X(7))) if array.ndim > 1}
    assert {array.shape[-1] for array in arrays_of(Y) if array.ndim > 1} <= widths
    if is_train:
        dX = backprop(Y)
        shapes = [array.shape for array in arrays_of(X)]
        assert [array.shape for array in arrays_of(dX)] == shapes
        assert all(numpy.isfinite(gradient).all() for gradient in gradients(model))


def locked(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: Any) -> Any:
    moved = numpy.zeros(array.nbytes + 1, dtype="uint8")[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


# The same numbers, laid out otherwise in memory.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "strided": lambda array: numpy.repeat(array, 2, axis=0)[::2],
    "reversed": lambda array: array[::-1].copy()[::-1],
    "fortran": numpy.asfortranarray,
    "part": lambda array: numpy.concatenate([array, array], axis=-1)[..., : array.shape[-1]],
    "read only": locked,
    "misaligned": misaligned,
}


def wide(array: Any) -> Any:
    return array.astype("float64") if array.dtype.kind == "f" else array


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_and_gradients_may_be_views_and_read_only(case: Case, layout: str) -> None:
    if case.of_spacy and layout == "read only":
        pytest.skip("spaCy writes to the gradient")
    model, X, lay_out = initialized(case), case.X(7), LAYOUTS[layout]
    expected = train(model, X)
    found = train(model, change(X, lay_out), lambda dY: change(dY, lay_out))
    assert_all_close(found, expected)


def test_inputs_of_64_bits_are_taken_and_gradients_are_taken_or_refused(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    expected = train(model, X)
    assert_all_close(train(model, change(X, wide)), expected)
    if case.of_spacy:
        return
    try:
        found = train(model, X, lambda dY: change(dY, wide))
    except ValueError as error:
        assert "Type mismatch in backprop. Y: float32, dY: float64" in str(error)
        assert all((gradient == 0).all() for gradient in gradients(model))
    else:
        assert_all_close(found, expected)


def test_several_updates_may_be_under_way_at_once(case: Case) -> None:
    model, batches = initialized(case), [case.X(n) for n in (7, 5, 9)]
    expected = [train(model, X) for X in batches]
    begun = [model.begin_update(X) for X in batches]
    for (Y, backprop), wanted in reversed(list(zip(begun, expected, strict=True))):
        dX = backprop(change(Y, random_like))
        assert_all_close([*arrays_of(Y), *arrays_of(dX), *gradients(model)], wanted)


def test_gradients_of_several_updates_add_up(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    backward(model, X, times=1)
    once = gradients(model)
    backward(model, X, times=2)
    assert_all_close(gradients(model), [2 * gradient for gradient in once])
    assert bool(once) == case.trains


def backward(model: Model, X: Any, *, times: int) -> None:
    for _ in range(times):
        Y, backprop = model.begin_update(X)
        backprop(change(Y, random_like))


def test_parameters_can_be_replaced_for_a_while(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    before = arrays_of(model.predict(X))
    others = {(node.id, name): random_like(node.get_param(name)) for node, name in params(model)}
    with model.use_params(others):
        within = arrays_of(model.predict(X))
    assert all(numpy.isfinite(array).all() for array in within)
    assert_all_close(arrays_of(model.predict(X)), before)
    if case.trains:
        assert any((one != other).any() for one, other in zip(within, before, strict=True))


def test_layers_keep_their_ops(case: Case) -> None:
    model, X = initialized(case), case.X(7)
    expected = train(model, X)
    use_kernel_ops(model)
    given: list[Ops] = [node.ops for node in model.walk()]
    assert_all_close(train(model, X), expected)
    assert [node.ops for node in model.walk()] == given


def test_inputs_and_gradients_are_not_written_to(case: Case) -> None:
    if case.of_spacy:
        pytest.skip("spaCy writes to the gradient")
    model, X = initialized(case), case.X(7)
    before = [array.copy() for array in arrays_of(X)]
    Y, backprop = model.begin_update(X)
    dY = change(Y, random_like)
    given = [array.copy() for array in arrays_of(dY)]
    backprop(dY)
    assert_equal([*arrays_of(X), *arrays_of(dY)], [*before, *given])


OTHER_SHAPES = [lambda dY: dY[..., :-1], lambda dY: dY[..., 1:, :]]


@pytest.mark.parametrize("cut", OTHER_SHAPES, ids=["narrower", "shorter"])
def test_gradients_of_another_shape_are_refused(case: Case, cut: Callable[[Any], Any]) -> None:
    if case.trains and not case.of_spacy:
        Y, backprop = initialized(case).begin_update(case.X(7))
        with pytest.raises(ValueError, match="Shape mismatch in backprop|takes vectors .* width"):
            backprop(change(Y, cut))


ONE_CALL = [name for name in CASES if name.startswith(("Maxout", "Iterated", "token_tagger"))]


@pytest.mark.parametrize("name", ONE_CALL)
def test_predictions_in_one_call_have_no_way_back(name: str) -> None:
    Y, backprop = initialized(CASES[name])(CASES[name].X(7), is_train=False)
    with pytest.raises(ValueError, match="cannot go back from a prediction"):
        backprop(Y)


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("name", ONE_CALL[1:-1])
def test_encoders_refuse_vectors_of_another_width(name: str, is_train: bool) -> None:
    X = change(CASES[name].X(7), OTHER_SHAPES[0])
    with pytest.raises(ValueError, match="takes vectors of tokens of width 4, got 3"):
        initialized(CASES[name])(X, is_train)
