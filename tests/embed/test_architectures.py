from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import NORM, SHAPE
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import (
    Config,
    Model,
    NumpyOps,
    Ops,
    chain,
    fix_random_seed,
    set_current_ops,
    set_dropout_rate,
    to_numpy,
)
from thinc.config import ConfigValidationError

from spacy_multihash import (
    Table,
    Tables,
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    default_seeds,
    set_tables,
    spacy_seeds,
)
from spacy_multihash.compute.hashing import group_seeds
from spacy_multihash.layers import MaxoutWindowEncoder
from tests.helpers.gradients import check_param_gradients
from tests.helpers.rows import reference_rows

ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [500, 100, 100, 50]
TEXTS = ["Anna met Anna in Rome .", "", "One", "The shares of Xerox Corp. rose 12 % in 1998 ."]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def build(**settings: Any) -> Model:
    given: dict[str, Any] = {
        "width": 16,
        "attrs": ATTRS,
        "rows": ROWS,
        "include_static_vectors": False,
    }
    return build_multi_hash_embed_v1(**(given | settings))


def nodes(model: Model, name: str) -> list[Model]:
    return [node for node in model.walk() if node.name == name]


def params(
    model: Model, *names: str, of: Callable[[Model, str], Any] = Model.get_param
) -> list[numpy.ndarray]:
    """Take the parameters, or their gradients, of all nodes of these names."""
    return [
        of(node, param)
        for name in names
        for node in nodes(model, name)
        for param in node.param_names
    ]


def test_spacy_seeds_give_the_weights_vectors_and_gradients_of_spacy(docs: list[Doc]) -> None:
    docs = [doc for doc in docs if len(doc)]
    fix_random_seed(7)
    theirs = MultiHashEmbed(16, ATTRS, ROWS, False).initialize(X=docs)
    fix_random_seed(7)
    ours = build(seeds=spacy_seeds(4)).initialize(X=docs)
    their_params = params(theirs, "hashembed", "maxout", "layernorm")
    our_params = params(ours, "table_embed", "maxout_norm")
    for our_param, their_param in zip(our_params, their_params, strict=True):
        assert_array_equal(our_param, their_param)
    for our_vectors, their_vectors in zip(ours.predict(docs), theirs.predict(docs), strict=True):
        assert_allclose(our_vectors, their_vectors, atol=1e-5)
    d_vectors = [numpy.random.normal(size=(len(doc), 16)).astype("float32") for doc in docs]
    for model in (theirs, ours):
        model.begin_update(docs)[1]([d.copy() for d in d_vectors])
    their_grads = params(theirs, "hashembed", "maxout", "layernorm", of=Model.get_grad)
    our_grads = params(ours, "table_embed", "maxout_norm", of=Model.get_grad)
    for their_grad, our_grad in zip(their_grads, our_grads, strict=True):
        assert_allclose(our_grad, their_grad, rtol=1e-4, atol=1e-5)


def test_number_of_hashes_may_differ_between_attributes(docs: list[Doc]) -> None:
    model = build(num_hashes=[1, 2, 6, 16])
    model.initialize(X=docs)
    hashes = [node.attrs["num_hashes"].value for node in nodes(model, "hash_rows")]
    assert hashes == [1, 2, 6, 16]
    ids = docs[0].to_array(ATTRS)
    (embed,) = nodes(model, "multi_embed")
    expected = [
        to_numpy(table.get_param("E"))[reference_rows(column, nV, k, group_seeds(seed, k))].sum(1)
        for table, column, nV, k, seed in zip(
            nodes(model, "table_embed"), ids.T.tolist(), ROWS, hashes, default_seeds(4), strict=True
        )
    ]
    assert_allclose(embed.predict(ids), numpy.hstack(expected), atol=1e-6)


def test_dropout_differs_between_tokens_of_a_type(docs: list[Doc]) -> None:
    model = build().initialize(X=docs)
    nodes(model, "dropout")[0].attrs["dropout_rate"] = 0.5
    vectors = model.begin_update(docs)[0][0]
    first, second = vectors[0] == 0, vectors[2] == 0  # Anna, Anna
    assert (first != second).any()


@pytest.mark.parametrize("num_hashes", [4, 6])
def test_predictions_and_gradients_do_not_depend_on_the_device(
    num_hashes: int, ops: Ops, docs: list[Doc]
) -> None:
    model = build(num_hashes=num_hashes).initialize(X=docs)
    set_current_ops(NumpyOps())
    on_cpu = build(num_hashes=num_hashes).from_bytes(model.to_bytes())
    vectors, backprop = model.begin_update(docs)
    expected, backprop_on_cpu = on_cpu.begin_update(docs)
    for one, other in zip(vectors, expected, strict=True):
        assert_allclose(to_numpy(one), other, atol=1e-5)
    # Of equal gradients the normalization leaves nothing but rounding
    rng = numpy.random.default_rng(0)
    d_vectors = [rng.normal(size=each.shape).astype("float32") for each in expected]
    backprop([ops.asarray(each) for each in d_vectors])
    backprop_on_cpu(d_vectors)
    for node, other_node in zip(model.walk(), on_cpu.walk(), strict=True):
        for name in node.param_names:
            grad, expected_grad = to_numpy(node.get_grad(name)), other_node.get_grad(name)
            assert_allclose(grad, expected_grad, rtol=1e-3, atol=1e-4)


def test_node_names_are_stable() -> None:
    model = build(attrs=["NORM"], rows=[10])
    assert [node.name for node in model.walk()] == [
        "multi_hash_embed",
        "with_token_types",
        "dropout",
        "ragged2list",
        "extract_features>>list2ragged>>with_array(multi_embed)>>with_array(maxout_norm)",
        "extract_features>>list2ragged>>with_array(multi_embed)",
        "with_array(maxout_norm)",
        "extract_features",
        "list2ragged",
        "with_array(multi_embed)",
        "maxout_norm",
        "multi_embed",
        "hash_rows>>table_embed",
        "hash_rows",
        "table_embed",
    ]


def tables_of(docs: list[Doc]) -> Tables:
    norms = [token.norm for doc in docs for token in doc]
    keys = numpy.unique(numpy.array(norms[:4], dtype="uint64"))
    return Tables({"NORM": Table(keys, numpy.ones(len(keys), dtype="uint64"))})


def test_unknown_symbols_share_a_vector(docs: list[Doc]) -> None:
    model = build_multi_embed_v1(8, ["NORM"], False)
    tables = tables_of(docs)
    set_tables(model, tables)
    model.initialize(X=docs)
    vectors = numpy.vstack(model.predict(docs))
    known = tables.tables["NORM"].keys.tolist()
    tokens = [token for doc in docs for token in doc]
    unknown = [v for token, v in zip(tokens, vectors, strict=True) if token.norm not in known]
    assert len(unknown) > 5
    # A product may round equal rows differently.
    assert_allclose(unknown, unknown[:1] * len(unknown), atol=1e-5)
    apart = [numpy.abs(vectors - vector).max(axis=1) > 1e-3 for vector in vectors]
    assert len(numpy.unique(apart, axis=0)) == len(known) + 1


@pytest.mark.parametrize("kind", ["hash", "lookup"])
def test_gradients_equal_central_differences(kind: str, docs: list[Doc]) -> None:
    if kind == "hash":
        model = build(width=4, attrs=["NORM", "SHAPE"], rows=[7, 5], num_hashes=2)
    else:
        model = build_multi_embed_v1(4, ["NORM"], False)
        set_tables(model, tables_of(docs))
    model.initialize(X=docs[:1])
    for node in nodes(model, "table_embed"):
        # Initial vectors are short: layer normalization would not be linear within the difference.
        node.set_param("E", node.get_param("E") * 10)
    check_param_gradients(
        model, docs[:1], lambda vectors: vectors[0], eps=1e-3, atol=1e-2, wrap=lambda d: [d]
    )


CONFIG = """
[model]
@architectures = "spacy-multihash.MultiHashEmbed.v1"
width = 16
attrs = ["NORM","SHAPE"]
rows = [50,50]
include_static_vectors = false
"""


@pytest.mark.parametrize("attrs", [[NORM, SHAPE], ["NORM", SHAPE]])
def test_config_may_give_attributes_by_id(attrs: list[str | int]) -> None:
    config = Config().from_str(CONFIG)
    config["model"]["attrs"] = attrs
    model = spacy.registry.resolve(Config().from_str(config.to_str()))["model"]
    assert [node.attrs["attr"].value for node in nodes(model, "hash_rows")] == ["NORM", "SHAPE"]


@pytest.mark.parametrize(
    "line", ['rows = "many"', "width = null", 'num_hashes = "two"', 'seeds = "x"', "typo = 1"]
)
def test_config_is_validated(line: str) -> None:
    name = line.split(" =")[0]
    text = "\n".join(old for old in CONFIG.splitlines() if not old.startswith(name)) + f"\n{line}"
    with pytest.raises(ConfigValidationError, match=name):
        spacy.registry.resolve(Config().from_str(text))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rows": [5]}, "rows .* length 4, .* of NORM, .*, was: .5"),
    ({"rows": 5}, "rows .* length 4, .*, was: 5"),
    ({"num_hashes": [1, 2]}, "num_hashes .* length 4, .*, was: .1, 2"),
    ({"seeds": [1, 2, 3]}, "seeds .* length 4, .*, was: .1, 2, 3"),
    ({"num_hashes": "2"}, "NORM: num_hashes .* 1 to 16, was: '2'"),
    ({"num_hashes": True}, "NORM: num_hashes .* was: True"),
    ({"num_hashes": 0}, "NORM: num_hashes .* was: 0"),
    ({"num_hashes": [1, 1, 1, 17]}, "SHAPE: num_hashes .* was: 17"),
    ({"width": 0}, "width .* was: 0"),
    ({"width": 2**31}, "width .* was: 2147483648"),
    ({"attrs": [], "rows": []}, "attrs .* was: .]"),
    ({"attrs": "NORM"}, "attrs .* was: 'NORM'"),
    ({"attrs": ["NROM"], "rows": [5]}, "attrs .* was: 'NROM'"),
    ({"attrs": ["SHAPE[:2]"], "rows": [5]}, "attrs must be a slice .*, was: 'SHAPE.:2.'"),
    ({"attrs": [9999], "rows": [5]}, "attrs .* was: 9999"),
    ({"attrs": [0], "rows": [5]}, "attrs .* was: 0"),
    ({"attrs": [True], "rows": [5]}, "attrs .* was: True"),
    ({"rows": [5, 0, 5, 5]}, "PREFIX: rows .* was: 0"),
    ({"seeds": [-1, 1, 2, 3]}, "NORM: seeds .* was: -1"),
    ({"include_static_vectors": "no"}, "include_static_vectors .* was: 'no'"),
    ({"table_dropout": "yes"}, "table_dropout .* was: 'yes'"),
    ({"reduce": "max"}, "reduce .* was: 'max'"),
    ({"count_repeats": 1}, "count_repeats .* was: 1"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**settings)


@pytest.mark.parametrize("unk_dropout", [-0.5, 1.0, "0.1", False])
def test_unk_dropout_is_a_share(unk_dropout: Any) -> None:
    with pytest.raises(ValueError, match=f"of NORM: unk_dropout .*, was: '?{unk_dropout}"):
        build_multi_embed_v1(8, ["NORM"], False, unk_dropout)


@pytest.mark.parametrize("texts", [[""], ["", ""], []])
def test_docs_without_tokens_can_be_trained_with_dropout(texts: list[str]) -> None:
    model = chain(build(width=8), MaxoutWindowEncoder(8, window_size=1, nP=2, depth=1))
    nlp = spacy.blank("en")
    model.initialize(X=[nlp.make_doc("Anna met Bob")])
    set_dropout_rate(model, 0.2)
    vectors, backprop = model.begin_update([nlp.make_doc(text) for text in texts])
    assert [each.shape for each in vectors] == [(0, 8)] * len(texts)
    assert backprop(vectors) == []


def test_dropout_of_docs_with_tokens_is_that_of_thinc(docs: list[Doc]) -> None:
    model = build().initialize(X=docs)
    expected = model.predict(docs)
    set_dropout_rate(model, 0.5)
    vectors, _ = model.begin_update(docs)
    dropped = numpy.concatenate(vectors) == 0
    assert 0.3 < dropped.mean() < 0.7
    assert_allclose(
        numpy.concatenate(vectors)[~dropped], 2 * numpy.concatenate(expected)[~dropped], rtol=1e-5
    )
