"""Settings that decide which row a token meets cannot be changed silently by loading weights."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_equal
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config, Model

from spacy_multihash import build_multi_embed_v1, build_multi_hash_embed_v1, set_tables
from spacy_multihash.layers import hash_rows
from spacy_multihash.tables.set_tables import count_tables
from tests.helpers.pipelines import add_embedding
from tests.helpers.sections import ours

TEXTS = ["Anna met Anna in Rome .", "", "The shares of Xerox Corp. rose 12 % in 1998 ."]
LOOKUP: dict[str, Any] = {"width": 8, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False}
HASH = {**LOOKUP, "rows": [50, 20], "num_hashes": [2, 5], "seeds": [11, 12]}


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in TEXTS]


def build_hash(**settings: Any) -> Model:
    return build_multi_hash_embed_v1(**(HASH | settings))


def build_lookup(**settings: Any) -> Model:
    return build_multi_embed_v1(**(LOOKUP | settings))


def looked_up(docs: list[Doc]) -> Model:
    model = build_lookup()
    set_tables(model, count_tables([model], docs))
    return model.initialize(X=docs)


ONE = {"attrs": ["NORM"], "rows": [50], "num_hashes": [2], "seeds": [11]}
CUT: dict[str, Any] = {"attrs": ["LOWER{2,4}", "SHAPE"]}
SHAPES = [hash_rows(20, attr="SHAPE", num_hashes=2, seed=seed) for seed in (1, 2)]
# What was built, what was saved, and how the message names both.
CHANGED: list[tuple[Model, Model, str]] = [
    (
        build_hash(**CUT),
        build_hash(**{**CUT, name: values}),
        f"built with .*{ours}.*trained with .*{theirs}",
    )
    for name, values, ours, theirs in (
        ("reduce", "mean", r"reduce = \['sum', None", r"reduce = \['mean', None"),
        ("count_repeats", False, r"count_repeats = \[True, None", r"count_repeats = \[False, None"),
        ("attrs", ["LOWER{2,5}", "SHAPE"], r"LOWER\{2,4\}", r"LOWER\{2,5\}"),
    )
]
CHANGED += [
    (build_hash(), build_hash(**{name: values}), f"built with .*{ours}.*trained with .*{theirs}")
    for name, values, ours, theirs in (
        ("seeds", [11, 13], r"seeds = \[11, 12\]", r"seeds = \[11, 13\]"),
        ("num_hashes", [3, 5], r"num_hashes = \[2, 5\]", r"num_hashes = \[3, 5\]"),
        ("rows", [50, 21], r"rows = \[50, 20\]", r"rows = \[50, 21\]"),
        ("attrs", ["NORM", "PREFIX"], "'SHAPE'", "'PREFIX'"),
        ("attrs", ["SHAPE", "NORM"], r"\['NORM', 'SHAPE'\]", r"\['SHAPE', 'NORM'\]"),
    )
]
CHANGED += [
    (build_hash(), build_hash(**ONE), "mismatched structure"),
    (build_lookup(), build_hash(), r"rows_by = \['lookup', .* rows_by = \['hash'"),
    (*SHAPES, "'hash_rows' of SHAPE: it was built with seed = 1, .* trained with seed = 2"),
]


@pytest.mark.parametrize(("built", "saved", "message"), CHANGED)
def test_other_settings_are_refused_and_both_sides_named(
    built: Model, saved: Model, message: str, docs: list[Doc]
) -> None:
    is_embed = built.name != "hash_rows"
    data = (saved.initialize(X=docs) if is_embed else saved).to_bytes()
    with pytest.raises(ValueError, match=message):
        built.from_bytes(data)


def test_numbers_of_numpy_are_those_of_python() -> None:
    one, other = (hash_rows(20, attr="SHAPE", num_hashes=n, seed=1) for n in (2, numpy.int64(2)))
    one.from_bytes(other.to_bytes())
    other.from_bytes(one.to_bytes())


def test_refused_weights_change_nothing(docs: list[Doc]) -> None:
    target = build_hash().initialize(X=docs)
    before = [vectors.copy() for vectors in target.predict(docs)]
    with pytest.raises(ValueError, match="trained with"):
        target.from_bytes(build_hash(seeds=[11, 13]).initialize(X=docs).to_bytes())
    assert_equal(target.predict(docs), before)


def test_unk_dropout_of_the_config_survives_loading(docs: list[Doc]) -> None:
    target = build_lookup(unk_dropout=0.9).from_bytes(looked_up(docs).to_bytes())
    predicted = target.predict(docs)[0]
    assert (target.begin_update(docs)[0][0] != predicted).any()


def test_tables_that_are_set_after_training_need_new_weights(docs: list[Doc]) -> None:
    model = looked_up(docs)
    set_tables(model, count_tables([model], docs))
    with pytest.raises(ValueError, match="^Layer 'table_embed' has no weights: initialize it"):
        model.predict(docs)


def make_nlp() -> Language:
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", ours("MultiHashEmbed", **HASH) | {"width": 16})
    nlp.initialize()
    return nlp


def test_component_that_is_not_initialized_is_named() -> None:
    nlp = spacy.util.load_model_from_config(make_nlp().config)
    with pytest.raises(ValueError, match=r"\[E109\] Component 'tok2vec' could not be run") as error:
        nlp("Rome")
    assert str(error.value.__cause__).startswith("Layer 'table_embed' has no weights: initialize")


def test_config_that_was_edited_after_training_is_refused(tmp_path: Path) -> None:
    make_nlp().to_disk(tmp_path)
    config = Config().from_disk(tmp_path / "config.cfg")
    config["components"]["tok2vec"]["model"]["embed"]["seeds"] = None
    config.to_disk(tmp_path / "config.cfg")
    message = r"seeds = \[2654435769, .* seeds = \[11, 12\]"  # the package's own
    with pytest.raises(ValueError, match=message):
        spacy.load(tmp_path)
