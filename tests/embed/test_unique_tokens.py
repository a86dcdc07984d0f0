"""Each unique token is embedded once: layer by layer in training, in one call in prediction."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, Ops, chain, fix_random_seed
from thinc.types import Ints1d, Ragged

from spacy_multihash import (
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    set_tables,
)
from spacy_multihash.compute.adam import make_adam_v1
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.embed import unique_tokens
from spacy_multihash.embed.static_vectors import static_attrs
from spacy_multihash.layers import (
    TableEmbed,
    distinct_rows,
    hash_rows,
    multi_embed,
    with_unique_tokens,
)
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.arrays import assert_all_close
from tests.helpers.fake_docs import FakeDoc
from tests.helpers.kernels import using_kernels

A, B, KEY = 10, 20, 30  # attribute ids


def fake_docs(docs: list[list[tuple[int, ...]]]) -> list[FakeDoc]:
    columns = [numpy.array(doc, dtype="uint64").reshape(len(doc), 3).T for doc in docs]
    return [FakeDoc(dict(zip((A, B, KEY), of_doc, strict=True)), KEY) for of_doc in columns]


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


TOKENS = st.tuples(st.integers(0, 3), st.integers(2**64 - 2, 2**64 - 1), st.just(0))


@pytest.mark.parametrize("few", [0, 4, 100])  # few tokens are taken as they are
@pytest.mark.parametrize("attrs", [[A, B], [B]])
@given(docs=st.lists(st.lists(TOKENS, max_size=8), min_size=1, max_size=5))
def test_vectors_and_gradients_equal_those_of_every_token(
    attrs: list[int], few: int, docs: list[list[tuple[int, ...]]]
) -> None:
    once = with_unique_tokens(inner_layer(attrs), 2 * len(attrs), attrs=attrs)
    every = inner_layer(attrs)
    for model in (once, every):
        fix_random_seed(0)
        model.initialize(X=fake_docs([[(1, 2, 3)]]))
    expected, backprop_every = every.begin_update(fake_docs(docs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unique_tokens, "MAX_TOKENS_AS_THEY_ARE", few)
        vectors, backprop_once = once.begin_update(fake_docs(docs))
        assert_array_equal(once.predict(fake_docs(docs)).dataXd, expected.dataXd)
    assert_array_equal(vectors.dataXd, expected.dataXd)
    assert vectors.lengths.tolist() == [len(doc) for doc in docs]
    d = numpy.random.default_rng(0).normal(size=vectors.dataXd.shape).astype("float32")
    backprop_every(Ragged(d, expected.lengths))
    backprop_once(Ragged(d, vectors.lengths))
    for nodes in zip(once.walk(), [once, *every.walk()], strict=True):
        if nodes[0].name == "table_embed":
            grads = [node.maybe_get_grad("E") for node in nodes]
            assert_allclose(*(numpy.zeros((5, 2)) if g is None else g for g in grads), atol=1e-5)


def seen_types(docs: list[FakeDoc], *, has_vectors: bool) -> Any:
    seen: list[Any] = []

    def forward(model: Model, types: list[Any], is_train: bool) -> tuple[Ragged, Callable]:
        seen.extend(types)
        lengths: Ints1d = model.ops.asarray1i([len(types[0])])
        return Ragged(model.ops.alloc2f(len(types[0]), 1), lengths), lambda d: []

    vector_attrs = static_attrs if has_vectors else None
    layer = with_unique_tokens(Model("spy", forward), 1, attrs=[B, A], vector_attrs=vector_attrs)
    layer.predict(docs)
    (types,) = seen
    return types


def test_inner_layer_sees_each_distinct_token_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique_tokens, "MAX_TOKENS_AS_THEY_ARE", 0)
    docs = fake_docs([[(1, 2, 3), (4, 5, 6), (1, 2, 7)], [(4, 5, 6), (1, 2, 3)]])
    types = seen_types(docs, has_vectors=False)
    assert sorted(types.to_array([A, B]).tolist()) == [[1, 2], [4, 5]]
    assert sorted(types.to_array(A).tolist()) == [1, 4]
    assert types.to_array([B]).shape == (2, 1)
    types = seen_types(docs, has_vectors=True)  # they differ in the key of their vector
    assert sorted(types.to_array(KEY).tolist()) == [3, 6, 7]
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


# Whole embeddings


def vocab_of_words() -> Vocab:
    vocab = Vocab()
    for i in range(30):
        vocab.set_vector(f"{i}word{i}", numpy.random.default_rng(i).normal(size=7).astype("f"))
    return vocab


VOCAB = vocab_of_words()


def docs_of(lengths: list[int]) -> list[Doc]:
    """Docs whose words come again."""
    draw = numpy.random.default_rng(0)
    return [Doc(VOCAB, words=[f"{i}word{i}" for i in draw.integers(0, 40, n)]) for n in lengths]


class Transposed:
    """A doc whose columns of attributes are contiguous, and not its rows."""

    def __init__(self, doc: Doc) -> None:
        self.doc, self.vocab = doc, doc.vocab

    def __len__(self) -> int:
        return len(self.doc)

    def to_array(self, attrs: Any, /) -> numpy.ndarray:
        return numpy.asfortranarray(self.doc.to_array(attrs))


@given(
    kernels=st.sampled_from(available_kernels()),
    kind=st.sampled_from(["hash", "weighted", "lookup"]),
    attrs=st.lists(
        st.sampled_from(["NORM", "SHAPE", "LOWER{2,3}", "ORTH{1,1}", "LOWER[:2]", "MORPH[Case]"]),
        min_size=1,
        max_size=4,
    ),
    times=st.sampled_from([1, 1, 2, 3]),
    sizes=st.tuples(st.sampled_from([1, 3, 8, 19]), st.integers(1, 16)),
    static=st.booleans(),
    reduce=st.sampled_from(["sum", "mean"]),
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=4),
)
def test_docs_are_embedded_in_one_call_as_layer_by_layer(
    kernels: str,
    kind: str,
    attrs: list[str],
    times: int,
    sizes: tuple[int, int],
    static: bool,
    reduce: Any,
    lengths: list[int],
) -> None:
    """A column may be given several times, in each kind of embedding, and after loading."""
    attrs, (width, num_hashes), docs = attrs * times, sizes, docs_of(lengths)

    def build() -> Model:
        fix_random_seed(0)
        if kind == "lookup":
            model = build_multi_embed_v1(width, attrs, static, reduce=reduce)
            set_tables(model, count_tables([model], docs_of([40])))
            return model
        of_hashes = {"hash": build_multi_hash_embed_v1}
        function = of_hashes.get(kind, build_multi_weighted_hash_embed_v1)
        return function(width, attrs, [7] * len(attrs), static, num_hashes, reduce=reduce)

    model = build().initialize(X=docs_of([3]))
    with using_kernels(kernels):
        for step in range(2):
            expected, backprop = model.begin_update(docs)
            vectors = model.predict(docs)
            assert [Y.shape for Y in vectors] == [(len(doc), width) for doc in docs]
            assert_all_close(vectors, expected, atol=1e-4)
            if step == 0:
                backprop([numpy.ones_like(Y) for Y in expected])
                model.finish_update(make_adam_v1(0.1))
        loaded = build().from_bytes(model.to_bytes())
        assert_equal(loaded.predict(docs), vectors)


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("lengths", [[1], [9], [60], [60, 3]])
def test_attributes_may_be_in_any_memory_layout(lengths: list[int], static: bool) -> None:
    docs = docs_of(lengths)
    model = build_multi_hash_embed_v1(5, ["NORM", "NORM", "SHAPE"], [7] * 3, static)
    model.initialize(X=docs)
    transposed: Any = [Transposed(doc) for doc in docs]
    for is_train in (True, False):
        vectors, expected = (model(X, is_train)[0] for X in (transposed, docs))
        assert_equal(vectors, expected)


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


def test_few_and_many_tokens_have_the_same_vectors(ops: Ops) -> None:
    model = build_multi_hash_embed_v1(5, ["NORM", "LOWER[:2]"], [7, 7], False)
    docs = docs_of([3, 60])
    model.initialize(X=docs)
    together, alone = model.predict(docs), [model.predict([doc])[0] for doc in docs]
    assert_all_close(together, alone, atol=1e-5)
