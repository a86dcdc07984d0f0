"""New tables for a model that was trained: nothing is kept of the former ones."""

import pickle

import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.attrs import NORM
from spacy.tokens import Doc
from thinc.api import Adam, Model, Optimizer, fix_random_seed

from spacy_multihash import build_multi_embed_v1, count_symbols, make_tables, set_tables
from spacy_multihash.tables.find import lookup_chains

NLP = spacy.blank("en")
SIZES = (50, 4, 80)


def words(count: int) -> Doc:
    return Doc(NLP.vocab, [f"w{i}" for i in range(count)])


def train(model: Model, doc: Doc, optimizer: Optimizer) -> Model:
    """Set the tables of a doc, and take two steps."""
    fix_random_seed(0)
    set_tables(model, make_tables(count_symbols([doc], {"NORM": NORM}), min_freq=1))
    model.initialize(X=[doc])
    for _ in range(2):
        (vectors,), backprop = model.begin_update([doc])
        backprop([vectors])
        model.finish_update(optimizer)
    return model


def embed() -> Model:
    return build_multi_embed_v1(8, ["NORM"], False)


def test_a_trained_model_learns_with_new_tables_as_a_new_one_does() -> None:
    again = embed()
    for size in SIZES:
        train(again, words(size), Adam(0.01))
        new = train(embed(), words(size), Adam(0.01))
        for one, other in zip(again.walk(), new.walk(), strict=True):
            for name in one.param_names:
                assert_array_equal(one.get_param(name), other.get_param(name))


def test_an_optimizer_does_not_use_what_it_knows_of_former_tables() -> None:
    model, optimizer = embed(), Adam(0.01)
    for size in SIZES:
        train(model, words(size), optimizer)
    assert optimizer.averages
    with model.use_params(optimizer.averages):
        assert len(model.predict([words(SIZES[-1])])[0]) == SIZES[-1]
    (chain,) = lookup_chains(model)
    assert chain.layers[1].get_param("E").shape == (SIZES[-1] + 1, 8)


def test_former_tables_take_no_memory() -> None:
    model, sizes = embed(), []
    for _ in range(3):
        train(model, words(2000), Adam(0.01))
        sizes.append(len(pickle.dumps(model)))
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01) == pytest.approx(sizes[2], rel=0.01)
