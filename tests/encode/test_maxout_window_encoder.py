import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from spacy.ml.models.tok2vec import MaxoutWindowEncoder as SpacyEncoder
from thinc.api import Model, Ops, fix_random_seed, set_dropout_rate, to_numpy

from spacy_multihash import encoder_from_spacy
from spacy_multihash.layers import MaxoutWindowEncoder
from tests.helpers.arrays import assert_all_close, batch, flat
from tests.helpers.encoders import reference_encoder
from tests.helpers.weights import randomize

LENGTHS = [3, 0, 1, 14, 0, 2]


def assert_same_gradients(theirs: Model, ours: Model) -> None:
    maxouts = [node for node in theirs.walk() if node.name == "maxout"]
    norms = [node for node in theirs.walk() if node.name == "layernorm"]
    for maxout, norm, layer in zip(maxouts, norms, ours.layers, strict=True):
        for node, name, our_name in (
            (maxout, "W", "W"),
            (maxout, "b", "b"),
            (norm, "G", "G"),
            (norm, "b", "beta"),
        ):
            expected, found = to_numpy(node.get_grad(name)), to_numpy(layer.get_grad(our_name))
            assert_allclose(found, expected, atol=1e-4 * abs(expected).max(), err_msg=our_name)


SIZES = [(1, 3, 3), (2, 2, 2), (3, 1, 2), (0, 2, 2), (1, 4, 1)]


@pytest.mark.parametrize(("window_size", "nP", "depth"), SIZES)
def test_encoder_equals_its_reference(ops: Ops, window_size: int, nP: int, depth: int) -> None:
    model = MaxoutWindowEncoder(4, window_size=window_size, nP=nP, depth=depth)
    randomize(model.initialize())
    Xs = batch(ops, LENGTHS, 4)
    expected = [reference_encoder(model, to_numpy(X)) for X in Xs]
    for Ys in (model.predict(Xs), model.begin_update(Xs)[0]):
        assert [Y.shape for Y in Ys] == [(length, 4) for length in LENGTHS]
        assert_allclose(flat(Ys), numpy.concatenate(expected), atol=1e-5)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 2), st.integers(1, 4))
def test_each_doc_is_encoded_as_if_it_were_alone(
    lengths: list[int], window_size: int, depth: int
) -> None:
    model = MaxoutWindowEncoder(4, window_size=window_size, nP=2, depth=depth)
    randomize(model.initialize())
    Xs = batch(model.ops, lengths, 4)
    assert_all_close(model.predict(Xs), [model.predict([X])[0] for X in Xs], atol=1e-5)


@pytest.mark.parametrize(("window_size", "nP", "depth"), SIZES)
def test_activations_and_gradients_equal_those_of_spacy(
    ops: Ops, window_size: int, nP: int, depth: int
) -> None:
    theirs = SpacyEncoder(8, window_size, nP, depth)
    Xs = batch(ops, LENGTHS, 8)
    randomize(theirs.initialize(X=Xs[:1]))
    ours = encoder_from_spacy(theirs)
    Ys, backprop = theirs.begin_update(Xs)
    our_Ys, our_backprop = ours.begin_update(Xs)
    assert_allclose(flat(our_Ys), flat(Ys), atol=1e-4)
    dYs = batch(ops, LENGTHS, 8, seed=1)
    dXs, our_dXs = backprop([dY.copy() for dY in dYs]), our_backprop(dYs)
    assert_allclose(flat(our_dXs), flat(dXs), atol=1e-4 * abs(flat(dXs)).max())
    assert_same_gradients(theirs, ours)


def test_initial_weights_are_those_of_spacy(ops: Ops) -> None:
    fix_random_seed(5)
    theirs = SpacyEncoder(8, 1, 3, 4).initialize(X=batch(ops, [3], 8))
    fix_random_seed(5)
    ours = MaxoutWindowEncoder(8, window_size=1, nP=3, depth=4).initialize(X=batch(ops, [3], 8))
    Ws = [to_numpy(node.get_param("W")) for node in theirs.walk() if node.name == "maxout"]
    assert_equal([to_numpy(layer.get_param("W")) for layer in ours.layers], Ws)


def test_dropout_applies_in_training_only(ops: Ops) -> None:
    model = MaxoutWindowEncoder(8, window_size=1, nP=3, depth=1).initialize()
    Xs = batch(ops, [400], 8)
    Y = flat(model.predict(Xs))
    set_dropout_rate(model, 0.25)
    assert_array_equal(flat(model.predict(Xs)), Y)
    dropped, inner = flat(model.begin_update(Xs)[0]) - flat(Xs), Y - flat(Xs)
    share = float((dropped == 0).mean())
    assert 0.2 < share < 0.3
    assert_allclose(dropped[dropped != 0], inner[dropped != 0] / 0.75, rtol=1e-4, atol=1e-5)


def test_gradients_pass_only_what_dropout_kept(ops: Ops) -> None:
    model = MaxoutWindowEncoder(3, window_size=0, nP=2, depth=1).initialize()
    set_dropout_rate(model, 1.0)
    Xs = batch(ops, [5], 3)
    Ys, backprop = model.begin_update(Xs)
    assert_array_equal(flat(Ys), flat(Xs))
    dYs = batch(ops, [5], 3, seed=1)
    assert_array_equal(flat(backprop(dYs)), flat(dYs))
    assert_array_equal(to_numpy(model.layers[0].get_grad("W")), 0)


def test_weights_of_another_window_are_refused() -> None:
    model = MaxoutWindowEncoder(4, window_size=2, nP=3, depth=2).initialize()
    other = MaxoutWindowEncoder(4, window_size=1, nP=3, depth=2)
    with pytest.raises(ValueError, match="window_size = 1, the weights were trained with .* = 2"):
        other.from_bytes(model.to_bytes())
