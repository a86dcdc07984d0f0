"""Tables of whole models: beside spaCy's own layers, and new ones after training."""

import pickle
from typing import Any

import pytest
import spacy
from numpy.testing import assert_equal
from spacy.attrs import NORM, SHAPE
from spacy.tokens import Doc
from thinc.api import Adam, Model, Optimizer, fix_random_seed

from spacy_multihash import (
    build_multi_embed_v1,
    count_symbols,
    find_tables,
    make_tables,
    set_tables,
)
from spacy_multihash.tables.find import lookup_chains, lookup_names, ngram_layers
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.corpora import HASH, LOOKUP, make_docs
from tests.helpers.sections import ours, spacys, tok2vec
from tests.helpers.spacy_pipelines import ENCODE
from tests.helpers.weights import weights_of

BOW = spacys("TextCatBOW.v3", exclusive_classes=True, ngram_size=2, length=64)
BOW["no_output_layer"] = False


def spacy_ensemble(embed: dict[str, Any]) -> dict[str, Any]:
    """spaCy's ensemble around an embedding of ours, beside its own bag of words."""
    vectors = tok2vec({**embed, "width": 16}, ENCODE)
    return spacys("TextCatEnsemble.v2", linear_model=BOW, tok2vec=vectors)


@pytest.mark.parametrize(("embed", "looked_up"), [(LOOKUP, ["NORM", "SHAPE"]), (HASH, [])])
def test_layers_that_extract_ngrams_are_ours(embed: dict[str, Any], looked_up: list[str]) -> None:
    nlp, docs = spacy.blank("en"), make_docs(3)
    textcat: Any = nlp.add_pipe("textcat", config={"model": spacy_ensemble(embed)})
    model = textcat.model
    assert any(node.name == "extract_ngrams" for node in model.walk())
    assert list(ngram_layers(model)) == []
    assert lookup_names(model) == looked_up
    assert list(count_tables([model], docs).tables) == looked_up
    if looked_up:
        counts = count_symbols(docs, {"NORM": NORM, "SHAPE": SHAPE})
        set_tables(model, make_tables(counts, min_freq=1))
    found = [(table.component, table.attr) for table in find_tables(nlp)]
    assert found == [("textcat", "NORM"), ("textcat", "SHAPE")]


def test_weighted_embeddings_have_two_tables_each() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": HASH | ours("MultiWeightedHashEmbed", width=8)})
    parts = [(table.attr, table.part) for table in find_tables(nlp)]
    assert parts == [(a, part) for a in ("NORM", "SHAPE") for part in ("components", "importance")]


# New tables for a model that was trained: nothing is kept of the former ones


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
        assert_equal(weights_of(again), weights_of(new))


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
