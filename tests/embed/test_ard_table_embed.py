from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from thinc.api import Adam, Model, fix_random_seed, to_numpy

from spacy_multihash import Table, Tables, build_multi_embed_v1, set_tables
from spacy_multihash.embed import ard_table_embed
from spacy_multihash.layers import ArdTableEmbed, TableEmbed
from tests.helpers.gradients import slopes

ROWS = numpy.array([[1, 3], [0, 1], [3, 3], [1, 1]], dtype="int32")
COUNTS = numpy.array([numpy.inf, 4, 1, 2, 5], dtype="float32")
TOUCHED = [0, 1, 3]


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    fix_random_seed(0)


def initialized(**settings: Any) -> Model:
    model = ArdTableEmbed(3, 5, **settings)
    model.attrs["counts"] = COUNTS
    return model.initialize()


def test_predictions_are_those_of_a_plain_table() -> None:
    fix_random_seed(3)
    plain = TableEmbed(3, 5).initialize()
    fix_random_seed(3)
    assert_array_equal(initialized().predict(ROWS), plain.predict(ROWS))


def test_training_draws_the_table_once_for_a_batch() -> None:
    model = initialized()
    vectors = to_numpy(model.begin_update(numpy.array([[1], [2], [1]], dtype="int32"))[0])
    assert_array_equal(vectors[0], vectors[2])
    assert (vectors[0] != model.begin_update(ROWS[2:, :1])[0][1]).all()
    assert (vectors[0] != model.predict(numpy.array([[1]], dtype="int32"))[0]).all()


def test_a_seed_repeats_the_draws() -> None:
    found = []
    for _ in range(2):
        fix_random_seed(5)
        model = initialized()
        found.append([to_numpy(model.begin_update(ROWS)[0]) for _ in range(2)])
    assert_array_equal(found[0], found[1])
    assert (found[0][0] != found[0][1]).any()


def test_draws_have_the_variance_of_sigma() -> None:
    model = ArdTableEmbed(200, 301)
    model.attrs["counts"] = numpy.ones(301, dtype="float32")
    model.initialize()
    rows = numpy.arange(301, dtype="int32")[:, None]
    noise = (model.begin_update(rows)[0] - model.predict(rows)) / numpy.exp(-4)
    assert abs(noise.mean()) < 0.01
    assert noise.std() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("ard", "warmup", "updates"), [(1.0, 0, 0), (2.5, 10, 3), (0.5, 4, 9)])
def test_gradients_are_central_differences_of_the_loss(
    ard: float, warmup: int, updates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = numpy.random.default_rng(0)
    eps = generator.normal(size=(3, 3)).astype("float32")
    monkeypatch.setattr(ard_table_embed, "_draw", lambda ops, shape: eps)
    model = initialized(ard=ard, warmup=warmup)
    model.set_param("log_sigma", generator.normal(-2, 0.5, size=(5, 3)).astype("float32"))
    model.attrs["updates"] = updates
    C = generator.normal(size=(4, 3)).astype("float32")
    mu: numpy.ndarray = to_numpy(model.get_param("E")).astype("float64")
    log_sigma: numpy.ndarray = to_numpy(model.get_param("log_sigma")).astype("float64")
    weight = ard * (min(1, (updates + 1) / warmup) if warmup else 1)

    def loss() -> float:
        table = mu.copy()
        table[TOUCHED] += numpy.exp(log_sigma[TOUCHED]) * eps
        kl = 0.5 * numpy.log(1 + mu**2 / numpy.exp(2 * log_sigma))
        data = sum((table[row].sum(axis=0) * c).sum() for row, c in zip(ROWS, C, strict=True))
        return data + sum(weight / COUNTS[row] * kl[row].sum() for row in TOUCHED)

    _, backprop = model.begin_update(ROWS)
    backprop(C)
    for name, values in (("E", mu), ("log_sigma", log_sigma)):
        assert_allclose(model.get_grad(name), slopes(loss, values), rtol=1e-4, atol=1e-4)
    assert model.attrs["updates"] == updates + 1
    assert not to_numpy(model.get_grad("E"))[[2, 4]].any()  # not in the batch


def test_rows_without_use_shrink() -> None:
    model = initialized(ard=0.1, warmup=10)
    optimizer = Adam(0.02, L2=0)
    rows = numpy.array([[1], [3]], dtype="int32")
    goal = numpy.array([[1.0, -1.0, 2.0], [0.0, 0.0, 0.0]], dtype="float32")
    for _ in range(200):
        Y, backprop = model.begin_update(rows)
        backprop(10 * (Y - goal))
        model.finish_update(optimizer)
    used, unused = abs(model.predict(rows))
    assert_allclose(used, abs(goal[0]), atol=0.2)
    assert unused.max() < 0.02


def test_counts_that_were_never_set_are_refused() -> None:
    with pytest.raises(ValueError, match="has 5 rows, but counts of 0. Set the tables of its look"):
        ArdTableEmbed(3, 5).initialize()


def test_weights_of_a_plain_table_cannot_be_trained() -> None:
    model = ArdTableEmbed(3, 5).from_bytes(TableEmbed(3, 5).initialize().to_bytes())
    with pytest.raises(ValueError, match="has no weights: initialize it"):
        model.begin_update(ROWS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ard": -1.0}, "ard must be a number from 0 on, was: -1.0"),
        ({"ard": float("nan")}, "ard must be a number from 0 on, was: nan"),
        ({"ard": 1.0, "ard_warmup": -1}, "ard_warmup must be a whole number from 0 on, was: -1"),
        ({"ard_warmup": 0.5}, "ard_warmup must be a whole number from 0 on, was: 0.5"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"Embedding layer 'multi_embed': {message}"):
        build_multi_embed_v1(8, ["NORM"], False, **settings)


def tables(*attrs: str, count: int = 3) -> Tables:
    """Make tables with the symbols of the docs, most frequent first."""
    strings = spacy.blank("en").vocab.strings
    words = ["anna", "met", "rome"]
    keys = numpy.array([strings.add(word) for word in words], dtype="uint64")
    counts = numpy.array([count + 2, count + 1, count], dtype="uint64")
    return Tables({attr: Table(keys, counts) for attr in attrs})


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in ("Anna met Anna in Rome .", "", "One")]


def test_counts_are_those_of_the_tables(docs: list[Doc]) -> None:
    model = build_multi_embed_v1(8, ["LOWER"], False, ard=1.0)
    set_tables(model, tables("LOWER"))
    model.initialize(X=docs)
    (table,) = [node for node in model.walk() if node.name == "ard_table_embed"]
    assert table.attrs["counts"].tolist() == [numpy.inf, 5, 4, 3]
    model.begin_update(docs)[1](model.predict(docs))
    assert table.attrs["updates"] == 1
    set_tables(model, tables("LOWER", count=1))  # other symbols: all weights go
    assert table.attrs["updates"] == 0
    assert not table.has_param("E")
    assert not table.has_param("log_sigma")


def test_tables_without_counts_are_refused() -> None:
    model = build_multi_embed_v1(8, ["NORM", "LOWER"], False, ard=1.0)
    with pytest.raises(ValueError, match="of NORM has symbols with a count of 0, but ard weights"):
        set_tables(model, tables("NORM", "LOWER", count=0))
    set_tables(build_multi_embed_v1(8, ["NORM"], False), tables("NORM", count=0))


@pytest.mark.parametrize("attrs", [["LOWER", "SHAPE"], ["LOWER", "LOWER{1,2}"]])
def test_embedding_is_saved_and_trained_further(attrs: list[str], docs: list[Doc]) -> None:
    def build() -> Model:
        return build_multi_embed_v1(8, attrs, False, ard=1.0, ard_warmup=0)

    model = build()
    set_tables(model, tables(*attrs))
    model.initialize(X=docs)
    loaded = build().from_bytes(model.to_bytes())
    for one, other in zip(model.predict(docs), loaded.predict(docs), strict=True):
        assert_array_equal(one, other)
    gradients = []
    for each in (model, loaded):
        fix_random_seed(2)
        vectors, backprop = each.begin_update(docs)
        backprop(vectors)
        found = [node for node in each.walk() if node.name == "ard_table_embed"]
        gradients.append([to_numpy(node.get_grad("log_sigma")) for node in found])
        assert [node.attrs["updates"] for node in found] == [1, 1]
    for one, other in zip(*gradients, strict=True):
        assert_array_equal(one, other)
        assert one.any()
