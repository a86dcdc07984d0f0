from types import SimpleNamespace
from typing import Any, Callable, Union

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Model, Ops, chain, fix_random_seed, to_numpy
from thinc.types import Ints1d, Ragged

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.embed import unique_tokens
from spacy_multihash.embed.static_vectors import static_attrs
from spacy_multihash.layers import (
    TableEmbed,
    distinct_rows,
    hash_rows,
    multi_embed,
    with_token_types,
)
from tests.helpers.kernels import using_kernels

A, B, KEY = 10, 20, 30  # attribute ids


@pytest.fixture(autouse=True)
def _no_token_is_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique_tokens, "MAX_TOKENS_AS_THEY_ARE", 0)


class FakeDoc:
    """A stand-in for a Doc, with attributes A, B and KEY."""

    def __init__(self, ids: list[tuple[int, ...]], key_attr: int = KEY) -> None:
        self.ids = numpy.array(ids, dtype="uint64").reshape((len(ids), 3))
        self.vocab = SimpleNamespace(vectors=SimpleNamespace(attr=key_attr))

    def __len__(self) -> int:
        return len(self.ids)

    def to_array(self, attrs: Union[int, list[int]], /) -> numpy.ndarray:
        column = {A: 0, B: 1, KEY: 2}
        if isinstance(attrs, int):
            return self.ids[:, column[attrs]]
        ids = self.ids[:, [column[attr] for attr in attrs]]
        return ids if len(attrs) > 1 else ids.ravel()


REPEATED = [[(1, 2, 3), (4, 5, 6), (1, 2, 3)], [(4, 5, 6), (1, 2, 3)]]


def fake_docs(docs: list[list[tuple[int, ...]]]) -> list[FakeDoc]:
    return [FakeDoc(ids) for ids in docs]


def inner_layer(attrs: list[int]) -> Model:
    """Embed all tokens of a list of docs, with a table of 5 rows for each attribute."""
    tables = multi_embed(
        *(chain(hash_rows(5, attr=str(a), num_hashes=2, seed=a), TableEmbed(2, 5)) for a in attrs)
    )

    def forward(model: Model, docs: list[Any], is_train: bool) -> tuple[Ragged, Callable]:
        ids = numpy.vstack([doc.to_array(attrs).reshape((-1, len(attrs))) for doc in docs])
        vectors, backprop = tables(model.ops.asarray(ids), is_train)
        lengths = model.ops.asarray1i([len(doc) for doc in docs])
        return Ragged(vectors, lengths), lambda d: backprop(d.dataXd)

    def init(model: Model, X: Any = None, Y: Any = None) -> None:
        tables.initialize()

    return Model("inner", forward, init=init, layers=[tables])


def pair(attrs: list[int]) -> tuple[Model, Model]:
    """Build a layer within with_token_types, and alone, with the same weights."""
    once = with_token_types(inner_layer(attrs), 2 * len(attrs), attrs=attrs)
    fix_random_seed(0)
    once.initialize(X=fake_docs([[(1, 2, 3)]]))
    fix_random_seed(0)
    return once, inner_layer(attrs).initialize()


TOKENS = st.tuples(st.integers(0, 3), st.integers(2**64 - 2, 2**64 - 1), st.just(0))


@pytest.mark.parametrize("attrs", [[A, B], [B]])
@given(docs=st.lists(st.lists(TOKENS, max_size=8), min_size=1, max_size=5))
def test_vectors_and_gradients_equal_those_of_every_token(
    attrs: list[int], docs: list[list[tuple[int, ...]]]
) -> None:
    once, every = pair(attrs)
    expected, backprop_every = every.begin_update(fake_docs(docs))
    vectors, backprop_once = once.begin_update(fake_docs(docs))
    assert_array_equal(once.predict(fake_docs(docs)).dataXd, expected.dataXd)
    assert_array_equal(vectors.dataXd, expected.dataXd)
    assert vectors.lengths.tolist() == [len(doc) for doc in docs]
    d = numpy.random.default_rng(0).normal(size=vectors.dataXd.shape).astype("float32")
    backprop_every(Ragged(d, expected.lengths))
    backprop_once(Ragged(d, vectors.lengths))
    for node_once, node_every in zip(tables_of(once), tables_of(every), strict=True):
        grads = [node.maybe_get_grad("E") for node in (node_once, node_every)]
        zeros = numpy.zeros((5, 2))
        assert_allclose(*(zeros if g is None else g for g in grads), atol=1e-5)


def tables_of(model: Model) -> list[Model]:
    return [node for node in model.walk() if node.name == "table_embed"]


def seen_types(docs: list[FakeDoc], *, has_vectors: bool) -> Any:
    """Give what the inner layer is called with."""
    seen: list[Any] = []

    def forward(model: Model, types: list[Any], is_train: bool) -> tuple[Ragged, Callable]:
        seen.extend(types)
        lengths: Ints1d = model.ops.asarray1i([len(types[0])])
        return Ragged(model.ops.alloc2f(len(types[0]), 1), lengths), lambda d: []

    vector_attrs = static_attrs if has_vectors else None
    layer = with_token_types(Model("spy", forward), 1, attrs=[B, A], vector_attrs=vector_attrs)
    layer.predict(docs)
    (types,) = seen
    return types


def test_inner_layer_sees_each_distinct_token_once() -> None:
    types = seen_types(fake_docs(REPEATED), has_vectors=False)
    assert sorted(types.to_array([A, B]).tolist()) == [[1, 2], [4, 5]]
    assert sorted(types.to_array(A).tolist()) == [1, 4]
    assert types.to_array([B]).shape == (2, 1)
    assert len(types) == 2


def test_types_differ_in_the_key_of_their_static_vector() -> None:
    docs = fake_docs([[(1, 2, 3), (1, 2, 4), (1, 2, 3)]])
    assert len(seen_types(docs, has_vectors=False)) == 1
    types = seen_types(docs, has_vectors=True)
    assert sorted(types.to_array(KEY).tolist()) == [3, 4]
    assert types.vocab is docs[0].vocab


@given(
    ids=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2**63, 2**64 - 1])), min_size=1
    )
)
def test_distinct_rows_equal_a_dict(ids: list[tuple[int, int]]) -> None:
    for kernels in available_kernels():
        with using_kernels(kernels):
            first, group_of = distinct_rows(numpy.array(ids, dtype="uint64"))
        groups = [ids[i] for i in first]
        assert len(groups) == len(set(ids))
        assert [groups[g] for g in group_of] == ids
        assert first.tolist() == [ids.index(group) for group in groups]


def test_few_tokens_are_taken_as_they_are(ops: Ops, monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_token_types(inner_layer([A, B]), 4, attrs=[A, B]).initialize()
    docs = fake_docs(REPEATED)
    results = []
    for few in (0, 4, 5):
        monkeypatch.setattr(unique_tokens, "MAX_TOKENS_AS_THEY_ARE", few)
        vectors, backprop = model.begin_update(docs)
        backprop(Ragged(vectors.dataXd, vectors.lengths))
        results.append(to_numpy(vectors.dataXd))
    assert_array_equal(results[1], results[0])
    assert_array_equal(results[2], results[0])
