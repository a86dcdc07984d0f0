"""Pipelines that leave: with spaCy's parts in the place of ours."""

import json
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.util import load_config
from thinc.api import Model, NumpyOps, fix_random_seed

from spacy_multihash import Restored, accelerate, compress, restore
from spacy_multihash.pipelines import parts
from spacy_multihash.pipelines.config import our_names
from tests.helpers.pipelines import TEXTCAT
from tests.helpers.processes import predict_without_package
from tests.helpers.sections import ours
from tests.helpers.spacy_pipelines import (
    CNN,
    EMBED,
    ENCODE,
    LISTENER,
    OUR_EMBED,
    OUR_ENCODER,
    TEXTS,
    TOK2VEC,
    assert_equal_tensors,
    gold,
    make,
    ner,
    predictions,
    tagger,
    train,
    with_listener,
)
from tests.helpers.tagger_ner import randomize
from tests.helpers.vectors import files

Settings = dict[str, Any]
HASHES = {**EMBED, "@architectures": OUR_EMBED, "num_hashes": 4, "seeds": [8, 9, 10]}
WINDOWS = {**ENCODE, "@architectures": OUR_ENCODER}
OURS = {**TOK2VEC, "embed": HASHES, "encode": WINDOWS}
FEWER = {**EMBED, "@architectures": "spacy.MultiFewerHashEmbed.v1", "num_hashes": 4}
UNWEIGHTED = HASHES | ours("MultiWeightedHashEmbed", train_importance=False)
VECTORS = {**HASHES, "include_static_vectors": True}


def batch_ner(tok2vec: Settings = OURS, **settings: Any) -> Settings:
    return {**ner(tok2vec), "factory": "batch_ner", **settings}


def batch_parser(tok2vec: Settings = OURS, **settings: Any) -> Settings:
    model = {**ner(tok2vec)["model"], "state_type": "parser"}
    return {"factory": "batch_parser", "model": model, "min_action_freq": 1, **settings}


def embedded(embed: Settings) -> Settings:
    return {**OURS, "embed": embed}


def sized(**sizes: Any) -> Settings:
    config = batch_ner()
    return {**config, "model": {**config["model"], **sizes}}


def drawn(components: Settings) -> Language:
    """A pipeline with random weights, so that it predicts all kinds of things."""
    fix_random_seed(0)
    nlp = make(components)
    for i, word in enumerate(["Anna", "Rome", "."]):
        nlp.vocab.set_vector(word, numpy.full(4, i + 1, dtype="float32"))
    nlp.initialize(lambda: gold(nlp))
    train(nlp)
    if "ruler" in components:
        ruler: Any = nlp.get_pipe("ruler")
        ruler.add([[{"LOWER": "anna"}]], {"TAG": "NNP", "LEMMA": "A."})
    for _, pipe in nlp.components:
        if isinstance(pipe, EntityRecognizer):
            randomize(pipe.model)
    return nlp


CONFIGS: dict[str, Settings] = {
    "our layers": {"ner": batch_ner()},
    "listeners": {
        "tok2vec": {"factory": "tok2vec", "model": OURS},
        "tagger": tagger(LISTENER),
        "entities": batch_ner(LISTENER),
        "parser": batch_parser(LISTENER),
    },
    "static vectors": {"one": batch_ner(embedded(VECTORS)), "two": tagger(embedded(VECTORS))},
    "other seeds": {"ner": batch_ner(embedded({**HASHES, "seeds": None}))},
    "no weights": {"ner": batch_ner(embedded(UNWEIGHTED))},
    "the report's name": {"ner": batch_ner(embedded(FEWER))},
    "one attribute": {
        "ner": batch_ner(embedded({**HASHES, "attrs": ["NORM"], "rows": [9], "seeds": [8]}))
    },
    "a default": {"ner": {"factory": "batch_ner"}, "parser": {"factory": "batch_parser"}},
    "no upper": {"ner": sized(use_upper=False)},
    "6 tokens": {"ner": sized(extra_state_tokens=True, maxout_pieces=3)},
    "a beam": {"ner": batch_ner(beam_width=4, beam_density=0.01)},
    "probabilities": {
        "ner": batch_ner(spans_key="sc", candidates_above=0.2, temperature=1.7, state_dropout=0.3)
    },
    "rules": {"tagger": tagger(OURS), "ruler": {"factory": "indexed_attribute_ruler"}},
    "spaCy's layers": {"tok2vec": {"factory": "tok2vec", "model": CNN}},
}


def restored(nlp: Language, folder: Path, name: str) -> tuple[Path, Restored]:
    (folder / "ours").mkdir(exist_ok=True)
    nlp.to_disk(folder / "ours" / name)
    return folder / name, restore(folder / "ours" / name, folder / name)


def test_pipelines_predict_the_same_where_the_package_is_missing(tmp_path: Path) -> None:
    expected, paths, effects = {}, [], {}
    for name, components in CONFIGS.items():
        nlp = drawn(components)
        expected[name] = predictions(nlp)
        path, done = restored(nlp, tmp_path, name)
        paths.append(path)
        effects[name] = [(lost.path, lost.name) for lost in done.lost]
        assert predictions(done.nlp) == expected[name], name
        assert_equal_tensors(done.nlp, nlp)
        assert not [*our_names(done.nlp.config)]
        assert "multihash" not in (path / "config.cfg").read_text()
        assert {type(n.ops) for _, m in models(done.nlp) for n in m.walk()} == {NumpyOps}
        assert [node_names(m) for _, m in models(done.nlp)] == [
            node_names(m) for _, m in models(spacy.load(path).from_config(done.nlp.config))
        ]
    for name, found in zip(CONFIGS, predict_without_package(*paths), strict=True):
        assert found == json.loads(json.dumps(expected[name])), name
    assert {*effects.pop("probabilities")} == {
        ("components.ner", "state_dropout = 0.3"),
        ("components.ner", "spans_key = sc"),
        ("components.ner", "candidates_above = 0.2"),
        ("components.ner", "temperature = 1.7"),
    }
    assert not any(effects.values())
    beam = load_config(tmp_path / "a beam" / "config.cfg")
    assert beam["components"]["ner"]["factory"] == "beam_ner"


def models(nlp: Language) -> list[tuple[str, Model]]:
    return [(name, pipe.model) for name, pipe in nlp.components if hasattr(pipe, "model")]


def node_names(model: Model) -> list[str]:
    return [node.name for node in model.walk()]


@settings(max_examples=6)
@given(data=st.data())
def test_any_size_predicts_the_same(data: st.DataObject) -> None:
    attrs = data.draw(
        st.lists(st.sampled_from(["NORM", "PREFIX", "SHAPE", "LOWER"]), min_size=1, unique=True)
    )
    width = data.draw(st.integers(1, 9))
    embed = {
        **HASHES,
        "width": width,
        "attrs": attrs,
        "rows": [data.draw(st.integers(1, 40)) for _ in attrs],
        "seeds": data.draw(st.sampled_from([None, [8 + i for i in range(len(attrs))]])),
        "table_dropout": data.draw(st.booleans()),
        "include_static_vectors": data.draw(st.booleans()),
    }
    encode = {**WINDOWS, "width": width}
    for name, most in (("depth", 3), ("window_size", 2), ("maxout_pieces", 4)):
        encode[name] = data.draw(st.integers(1, most))
    nlp = drawn({"ner": batch_ner({**OURS, "embed": embed, "encode": encode})})
    expected = predictions(nlp)
    vectors = nlp.get_pipe("ner").model.get_ref("tok2vec")  # type: ignore[attr-defined]
    docs = [nlp.make_doc(text) for text in TEXTS]
    before = numpy.concatenate(vectors.predict(docs))
    restore(nlp)
    assert predictions(nlp) == expected
    vectors = nlp.get_pipe("ner").model.get_ref("tok2vec")  # type: ignore[attr-defined]
    after = numpy.concatenate(vectors.predict(docs))
    numpy.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4)
    assert nlp.rehearse is not None and train(nlp)["ner"] >= 0


# What was accelerated


def parser() -> Settings:
    return {**batch_parser(CNN), "factory": "parser"}


ACCELERATED: dict[str, Settings] = {
    "all": with_listener(ner=ner(CNN), parser=parser(), ruler={"factory": "attribute_ruler"}),
    "vectors": {
        "tagger": tagger({**TOK2VEC, "embed": {**EMBED, "include_static_vectors": True}}),
        "ner": {**ner(TOK2VEC), "incorrect_spans_key": "wrong"},
    },
    "beam of 1": {"ner": {**ner(CNN), "factory": "beam_ner", "beam_width": 1}},
    "variables": {
        "tok2vec": {"factory": "tok2vec", "model": TOK2VEC},
        "ner": ner("${components.tok2vec.model}"),
    },
}


def assert_same_files(one: Path, other: Path) -> None:
    """All files but the config have the same bytes, and the config has the same values."""
    left, right = files(one), files(other)
    assert left.keys() == right.keys()
    different = [name for name in left if left[name] != right[name]]
    assert set(different) <= {"config.cfg"}
    config, expected = (load_config(path / "config.cfg") for path in (other, one))
    assert _without_cnn(config) == _without_cnn(expected)


def _without_cnn(config: Any) -> Any:
    """Leave out what restore writes as the two layers that a HashEmbedCNN builds."""
    if not isinstance(config, dict):
        return config
    return {key: _without_cnn(value) for key, value in config.items() if key != "tok2vec"}


@pytest.mark.parametrize("name", ACCELERATED)
def test_accelerated_pipeline_gets_its_files_back(name: str, tmp_path: Path) -> None:
    nlp = drawn(ACCELERATED[name])
    nlp.to_disk(tmp_path / "spacy")
    accelerate(tmp_path / "spacy", tmp_path / "fast")
    assert spacy.load(tmp_path / "fast").meta["name"] == "pipeline_fast"
    restore(tmp_path / "fast", tmp_path / "back")
    assert_same_files(tmp_path / "spacy", tmp_path / "back")
    in_memory = spacy.load(tmp_path / "spacy")
    accelerate(in_memory)
    restore(in_memory).nlp.to_disk(tmp_path / "memory")
    assert_same_files(tmp_path / "spacy", tmp_path / "memory")


@pytest.mark.parametrize(
    "meta",
    [
        {"notes": 5, "requirements": "numpy"},
        {"notes": ["a"], "requirements": ["git+https://localhost/x.git", "spacy-multihash-extra"]},
    ],
)
def test_meta_of_any_kind_comes_back(meta: Settings, tmp_path: Path) -> None:
    nlp = drawn({"ner": ner(CNN)})
    nlp.meta.update(meta)
    nlp.to_disk(tmp_path / "spacy")
    accelerate(tmp_path / "spacy", tmp_path / "fast")
    compress(tmp_path / "fast", tmp_path / "small", loads=0)
    for name in ("fast", "small"):
        assert spacy.load(tmp_path / name).meta["requirements"][-1].startswith("spacy-multihash>=")
    restore(tmp_path / "fast", tmp_path / "back")
    assert_same_files(tmp_path / "spacy", tmp_path / "back")


WRONG_META: list[tuple[str, Any]] = [
    *(("before_accelerate", value) for value in (["a"], "a", 3, {"name": 3}, {"notes": "a"})),
    *((name, value) for name in ("name", "version", "lang") for value in (["a"], 3, {})),
]


@pytest.mark.parametrize(("key", "value"), WRONG_META)
def test_meta_of_another_type_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    nlp = drawn({"ner": ner(CNN)})
    accelerate(nlp)
    factories = nlp.component_names, nlp.pipe_factories
    nlp.meta[key] = value
    path = tmp_path / "out"
    for change in (restore, accelerate, lambda nlp, path: compress(nlp, path, loads=0)):
        with pytest.raises(ValueError, match=f"meta: {key}.* must be a (str|dict)"):
            change(nlp, path)
    assert (nlp.component_names, nlp.pipe_factories) == factories and not path.exists()


def test_former_meta_sets_nothing_else() -> None:
    nlp = drawn({"ner": ner(CNN)})
    accelerate(nlp)
    nlp.meta["before_accelerate"] |= {"lang": "xx", "url": "https://localhost"}
    restore(nlp)
    assert nlp.meta["lang"] == "en" and nlp.meta["url"] == ""


@pytest.mark.filterwarnings(r"ignore:\[W095\]:UserWarning")
def test_real_pipeline_gets_its_files_back(english: Language, tmp_path: Path) -> None:
    spacy.load(english.path).to_disk(tmp_path / "spacy")  # others gave the fixture more strings
    for name in ("LICENSE", "LICENSES_SOURCES"):
        shutil.copy(english.path / name, tmp_path / "spacy")
    accelerate(str(english.path), tmp_path / "fast")
    done = restore(tmp_path / "fast", tmp_path / "back")
    assert (len(done.replaced), done.lost) == (10, [])
    assert_same_files(tmp_path / "spacy", tmp_path / "back")
    config, expected = (load_config(tmp_path / name / "config.cfg") for name in ("back", "spacy"))
    assert config == expected


def test_compressed_pipeline_is_unpacked(tmp_path: Path) -> None:
    nlp = drawn(with_listener(ner=batch_ner(embedded(VECTORS))))
    callback = {"@callbacks": "spacy-multihash.require_package.v1"}  # compress wraps it
    nlp.config["nlp"]["after_creation"] = callback
    compress(nlp, tmp_path / "small", loads=0)
    expected = predictions(spacy.load(tmp_path / "small"))
    done = restore(tmp_path / "small", tmp_path / "back")
    assert [lost.path for lost in done.lost] == ["nlp.after_creation"]
    assert done.nlp.config["nlp"]["after_creation"] is None
    assert predict_without_package(tmp_path / "back") == [json.loads(json.dumps(expected))]
    done.nlp.to_disk(tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "back")
    meta = done.nlp.meta
    assert meta["name"] == "pipeline_small" and meta["requirements"] == []


def test_settings_of_training_become_spacys(tmp_path: Path) -> None:
    scorer = {"@scorers": "spacy-multihash.seen_unseen_scorer.v1", "train": None}
    nlp = drawn({"ner": batch_ner(scorer=scorer)})
    adam = {**nlp.config["training"]["optimizer"], "L2": 0.5}
    nlp.config["training"]["optimizer"] = adam | {"@optimizers": "spacy-multihash.Adam.v1"}
    noise = {"@augmenters": "spacy-multihash.char_noise.v1", "level": 0.1}
    nlp.config["corpora"]["train"]["augmenter"] = noise
    nlp.config["initialize"]["before_init"] = {"@callbacks": "spacy-multihash.init_tables.v1"}
    path, done = restored(nlp, tmp_path, "nlp")
    config = spacy.load(path).config
    assert config["training"]["optimizer"] == {**adam, "@optimizers": "Adam.v1"}
    assert config["corpora"]["train"]["augmenter"] is config["initialize"]["before_init"] is None
    assert config["components"]["ner"]["scorer"] == {"@scorers": "spacy.ner_scorer.v1"}
    assert {lost.name for lost in done.lost} == {
        "spacy-multihash.char_noise.v1",
        "spacy-multihash.seen_unseen_scorer.v1",
    }
    assert done.nlp.evaluate(gold(nlp))["ents_f"] is not None
    assert "Lost: 2" in str(done) and json.dumps(done.to_json())


def test_pipeline_of_spacys_parts_stays() -> None:
    nlp = drawn(with_listener())
    before = nlp.to_bytes()
    done = restore(nlp)
    assert str(done).endswith("It stays as it is.") and nlp.to_bytes() == before


def test_places_names_listeners_and_disabled_components_stay(tmp_path: Path) -> None:
    other = {"factory": "tok2vec", "model": {**OURS, "embed": {**HASHES, "seeds": [1, 2, 3]}}}
    components = {
        "first": {"factory": "tok2vec", "model": OURS},
        "entities": batch_ner({**LISTENER, "upstream": "first"}),
        "own": batch_ner({**LISTENER, "upstream": "first"}),
        "second": other,
        "more": batch_ner({**LISTENER, "upstream": "second"}),
    }
    nlp = drawn(components)
    nlp.replace_listeners("first", "own", ["model.tok2vec"])
    nlp.disable_pipe("own")
    nlp.config["nlp"]["before_creation"] = {"@callbacks": "spacy-multihash.require_package.v1"}
    expected = predictions(nlp)
    path, done = restored(nlp, tmp_path, "nlp")
    for pipeline in (done.nlp, spacy.load(path)):
        assert predictions(pipeline) == expected
        assert (pipeline.component_names, pipeline.disabled) == ([*components], ["own"])
        assert set(pipeline.pipe_factories.values()) == {"ner", "tok2vec"}
        tok2vec: Any = pipeline.get_pipe("first")
        assert tok2vec.listening_components == ["entities"]
        pipeline.enable_pipe("own")
        assert any(ents for _, ents in predictions(pipeline))


# What has no counterpart


@spacy.registry.architectures("spacy_multihash_tests.Hidden.v1")
def build_hidden() -> Model:
    return spacy.registry.resolve({"tok2vec": OURS})["tok2vec"]


LOOKUP = EMBED | ours("MultiEmbed", unk_dropout=0.0)
LOOKUP.pop("rows")
DILATED = ours("IteratedDilatedEncoder", width=16)
WEIGHTED = EMBED | ours("MultiWeightedHashEmbed")
META = ours("MetaVectors", width=None, tables={"vocab": None})
REFUSED: list[tuple[Settings, str]] = [
    (
        {"ner": {"factory": "tagger_ner"}, "two": batch_ner(embedded(LOOKUP))},
        r"(?s)components.ner \(tagger_ner\): .*transitions.*components.two.model.tok2vec.embed",
    ),
    ({"ner": batch_ner(embedded(LOOKUP))}, r"ner.model.tok2vec.embed .*MultiEmbed.v1\): .*tables"),
    ({"ner": batch_ner(embedded(WEIGHTED))}, "weights of rows"),
    ({"ner": batch_ner(embedded({**HASHES, "vectors": META}))}, "single table"),
    ({"ner": batch_ner({**OURS, "encode": DILATED})}, "no dilated convolutions"),
    ({"ner": batch_ner(embedded({**HASHES, "num_hashes": 2}))}, r"num_hashes = \[2, 2, 2\]"),
    ({"ner": batch_ner(embedded({**HASHES, "attrs": ["NORM", "LOWER{3,5}", "SHAPE"]}))}, "LOWER"),
    ({"textcat": {"factory": "textcat", "model": TEXTCAT}}, "n-grams"),
    ({"tagger": tagger({"@architectures": "spacy_multihash_tests.Hidden.v1"})}, "is built"),
]


@pytest.mark.parametrize(("components", "expected"), REFUSED)
def test_part_without_a_counterpart_is_refused(
    components: Settings, expected: str, tmp_path: Path
) -> None:
    nlp = make(components)
    config, classes = nlp.config.to_str(), [type(pipe) for _, pipe in nlp.components]
    with pytest.raises(ValueError, match=expected):
        restore(nlp, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert (nlp.config.to_str(), [type(pipe) for _, pipe in nlp.components]) == (config, classes)


def test_every_registered_name_has_a_counterpart_or_a_reason() -> None:
    names: dict[str, int] = {name: 0 for name in (*parts.OTHERS, *parts.REASONS)}
    names |= {name: 0 for layer in parts.LAYERS for name in layer.names}
    names |= {part.factory: 0 for part in parts.COMPONENTS}
    kinds = {"spacy_cli", "srsly_msgpack_decoders"}  # not in configs
    points = [p for p in distribution("spacy-multihash").entry_points if p.group not in kinds]
    assert sorted(names) == sorted(point.name for point in points)
