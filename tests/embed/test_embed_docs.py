from collections import Counter
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed

from spacy_multihash import make_tables, set_tables
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.embed.architectures import build_multi_embed_v1, build_multi_hash_embed_v1
from tests.helpers.kernels import using_kernels

ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE", "LOWER"]
SYMBOLS = ["1word1", "dxxxxd", "1w", "wo", "ord", "or", "d", "d12", "12"]
VOCAB = spacy.blank("en").vocab

pytestmark = pytest.mark.skipif(available_kernels() == ["none"], reason="needs the kernels")


def embedding(width: int, num_hashes: list[int]) -> Model:
    A = len(num_hashes)
    fix_random_seed(0)
    model = build_multi_hash_embed_v1(width, ATTRS[:A], [7] * A, False, num_hashes)
    return model.initialize(X=docs_of([3]))


def docs_of(lengths: list[int]) -> list[Doc]:
    """Docs whose words come again."""
    draw, vocab = numpy.random.default_rng(0), VOCAB
    return [Doc(vocab, words=[f"{i}word{i}" for i in draw.integers(0, 40, n)]) for n in lengths]


def assert_same(model: Model, docs: list[Doc]) -> None:
    expected = model(docs, True)[0]
    found = model.predict(docs)
    assert [Y.shape for Y in found] == [Y.shape for Y in expected]
    for Y, of_layers in zip(found, expected, strict=True):
        assert_allclose(Y, of_layers, atol=1e-5)


@given(
    kernels=st.sampled_from(available_kernels()),
    width=st.integers(1, 20),
    num_hashes=st.lists(st.integers(1, 16), min_size=1, max_size=len(ATTRS)),
    lengths=st.lists(st.integers(0, 60), max_size=4),
)
def test_docs_are_embedded_at_once_as_layer_by_layer(
    kernels: str, width: int, num_hashes: list[int], lengths: list[int]
) -> None:
    with using_kernels(kernels):
        assert_same(embedding(width, num_hashes), docs_of(lengths))


@given(
    kernels=st.sampled_from(available_kernels()),
    attrs=st.lists(
        st.sampled_from(["NORM", "SHAPE", "LOWER{2,3}", "ORTH{1,1}", "LOWER[:2]", "ORTH[-3:]"]),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    looked_up=st.booleans(),
    reduce=st.sampled_from(["sum", "mean"]),
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=4),
)
def test_features_are_mixed_at_once_as_layer_by_layer(
    kernels: str, attrs: list[str], looked_up: bool, reduce: Any, lengths: list[int]
) -> None:
    fix_random_seed(0)
    docs = docs_of(lengths)
    if looked_up:
        model = build_multi_embed_v1(5, attrs, False, reduce=reduce)
        seen = Counter(VOCAB.strings.add(text) for text in SYMBOLS)
        set_tables(model, make_tables(dict.fromkeys(attrs, seen), min_freq=1))
    else:
        model = build_multi_hash_embed_v1(5, attrs, [7] * len(attrs), False, reduce=reduce)
    model.initialize(X=docs_of([3]))
    with using_kernels(kernels):
        assert_same(model, docs)


@pytest.mark.parametrize(
    "attrs", [["NORM", "SHAPE"], ["NORM", "LOWER[:2]"], ["NORM", "LOWER{2,3}"]]
)
def test_each_layer_above_the_columns_runs_in_training(attrs: list[str]) -> None:
    model = build_multi_hash_embed_v1(5, attrs, [7] * len(attrs), False)
    docs = docs_of([40])
    model.initialize(X=docs)
    (columns,) = (node for node in model.walk() if node.name == "multi_embed")
    inside = [node for layer in columns.layers for node in layer.walk()]
    waiting = {node.name for node in model.walk() if node not in inside}
    for node in model.walk():
        if node not in inside:
            function = node._func

            def run(model: Model, X: Any, is_train: bool, function: Any = function) -> Any:
                waiting.discard(model.name)
                return function(model, X, is_train)

            node._func = run
    model.begin_update(docs)
    assert waiting == set()
