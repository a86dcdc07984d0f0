import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.ml.models.tok2vec import MultiHashEmbed
from spacy.tokens import Doc
from thinc.api import SGD, Model, NumpyOps, chain, noop

from spacy_multihash.compute.ops import KernelOps
from spacy_multihash.ner.transition.component import BatchEntityRecognizer
from spacy_multihash.pipelines.accelerate import Acceleration, accelerate
from spacy_multihash.pipelines.restore import restore
from spacy_multihash.pipelines.weights import swap_nodes
from tests.helpers.arrays import assert_all_close
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
    build,
    gold,
    make,
    ner,
    predictions,
    tagger,
    train,
    with_listener,
)
from tests.helpers.vectors import files


def v1(section: dict[str, Any], prefix: str = "spacy") -> dict[str, Any]:
    """The same section, with the legacy version of each architecture."""
    found = {k: v1(v, prefix) if isinstance(v, dict) else v for k, v in section.items()}
    name = section["@architectures"].replace("spacy.", f"{prefix}.").replace(".v2", ".v1")
    return {**found, "@architectures": name}


@pytest.fixture(scope="module")
def stored() -> bytes:
    return build(with_listener(ner=ner(CNN))).to_bytes()


@pytest.fixture
def nlp(stored: bytes) -> Language:
    return make(with_listener(ner=ner(CNN))).from_bytes(stored)


def assert_accelerates(nlp: Language, tmp_path: Path) -> Acceleration:
    """Predictions stay, in the pipeline and in what is loaded of it; return what was done."""
    vectors = {name: vectors_of(model, nlp) for name, model in models(nlp)}
    expected = predictions(nlp)
    done = accelerate(nlp)
    assert predictions(nlp) == expected
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    assert predictions(loaded) == expected
    assert loaded.disabled == nlp.disabled
    for pipeline in (nlp, loaded):
        for name, model in models(pipeline):
            assert_allclose(vectors_of(model, pipeline), vectors[name], atol=1e-4)
    return done


def models(nlp: Language) -> Iterator[tuple[str, Model]]:
    for name, pipe in nlp.components:
        yield name, pipe.model  # type: ignore[attr-defined]


def walk(nlp: Language) -> Iterator[Model]:
    for _, model in models(nlp):
        yield from model.walk()


def vectors_of(model: Model, nlp: Language) -> Any:
    """What a component's own tok2vec gives for all tokens; nothing of one that listens."""
    docs = [nlp.make_doc(text) for text in TEXTS]
    if model.has_ref("tok2vec") and "listener" not in model.get_ref("tok2vec").name:
        model = model.get_ref("tok2vec")
    elif not model.has_ref("embed"):
        return numpy.zeros(0)
    vectors = model.predict(docs)
    return numpy.concatenate(vectors) if isinstance(vectors, list) else vectors


def names(nlp: Language) -> list[str]:
    return [node.name for node in walk(nlp)]


def entries(done: Acceleration) -> list[str]:
    return [f"{e.component}.{e.path}" for e in done.replaced]


def test_all_components_are_accelerated(nlp: Language, tmp_path: Path) -> None:
    done = assert_accelerates(nlp, tmp_path)
    assert [tuple(entry) for entry in done.replaced] == [
        ("tok2vec", "model.embed", "spacy.MultiHashEmbed.v2", OUR_EMBED),
        ("tok2vec", "model.encode", "spacy.MaxoutWindowEncoder.v2", OUR_ENCODER),
        ("ner", "model.tok2vec", "spacy.HashEmbedCNN.v2", f"{OUR_EMBED} + {OUR_ENCODER}"),
        ("ner", "factory", "ner", "batch_ner"),
    ]
    assert (done.already, done.left) == ([], [])
    for loaded in (nlp, spacy.load(tmp_path / "nlp")):
        sections = raw(loaded)["tok2vec"]["model"], raw(loaded)["ner"]["model"]["tok2vec"]
        assert [section["embed"]["table_dropout"] for section in sections] == [True, True]
    assert names(nlp).count("multi_hash_embed") == names(nlp).count("maxout_window_encoder") == 2
    assert not {"hashembed", "expand_window"} & {*names(nlp)}
    model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    assert [model.get_ref("embed"), model.get_ref("encode")] == model.layers
    ids = [node.id for node in walk(nlp)]
    assert len(ids) == len(set(ids))
    for each in (nlp, spacy.load(tmp_path / "nlp")):
        assert {type(node.ops) for node in walk(each)} == {KernelOps}


def test_gradients_are_those_of_spacy(nlp: Language) -> None:
    # Read anew: spaCy keeps the gradients of a Tok2Vec for the next update.
    ours, theirs = (make(with_listener(ner=ner(CNN))).from_bytes(nlp.to_bytes()) for _ in range(2))
    accelerate(ours)
    for pipeline in (ours, theirs):
        sgd = SGD(0.001, L2=0.0)
        for _ in range(3):
            pipeline.update(gold(pipeline), sgd=sgd, drop=0.0)
    assert_equal_tensors(ours, theirs, atol=1e-3)
    with pytest.raises(AssertionError, match="Not equal"):
        assert_equal_tensors(ours, nlp, atol=1e-3)


def test_accelerated_pipeline_is_left_alone(nlp: Language) -> None:
    accelerate(nlp)
    before, config = nlp.to_bytes(), nlp.config.to_str()
    done = accelerate(nlp)
    assert (done.replaced, done.left) == ([], [])
    assert [entry[:3] for entry in done.already] == [
        ("tok2vec", "model.embed", OUR_EMBED),
        ("tok2vec", "model.encode", OUR_ENCODER),
        ("ner", "model.tok2vec.embed", OUR_EMBED),
        ("ner", "model.tok2vec.encode", OUR_ENCODER),
        ("ner", "factory", "batch_ner"),
    ]
    assert nlp.to_bytes() == before
    assert nlp.config.to_str() == config


def test_layer_that_is_a_whole_model_is_replaced(tmp_path: Path) -> None:
    components = {"tok2vec": {"factory": "tok2vec", "model": EMBED}, "tagger": tagger(LISTENER)}
    nlp = build(components)
    expected = [doc.tensor for doc in nlp.pipe(TEXTS)]
    assert entries(assert_accelerates(nlp, tmp_path)) == ["tok2vec.model"]
    found = [doc.tensor for doc in spacy.load(tmp_path / "nlp").pipe(TEXTS)]
    assert_all_close(found, expected, atol=1e-5)


class Fixed:
    """A component whose model cannot be set."""

    model = property(lambda self: self.held)

    def __init__(self, held: Model) -> None:
        self.held = held

    def __call__(self, doc: Doc) -> Doc:
        return doc


@Language.factory("spacy_multihash_tests_fixed")
def make_fixed(nlp: Language, name: str, model: Model) -> Fixed:
    return Fixed(model)


@Language.factory("spacy_multihash_tests_hidden")
def make_hidden(nlp: Language, name: str, embedder: Model) -> Fixed:
    return Fixed(embedder)


@Language.factory("spacy_multihash_tests_bare")
def make_bare(nlp: Language, name: str, model: Model) -> Callable[[Doc], Doc]:
    return lambda doc: doc


@pytest.mark.parametrize(
    ("factory", "key", "expected"),
    [
        ("fixed", "model", "does not let its attribute `model` be set"),
        ("hidden", "embedder", "does not belong to a thinc model"),
        ("bare", "model", "does not belong to a thinc model"),
    ],
)
def test_layer_out_of_reach_is_left(factory: str, key: str, expected: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(f"spacy_multihash_tests_{factory}", config={key: EMBED})
    (left,) = accelerate(nlp).left
    assert left[:3] == (f"spacy_multihash_tests_{factory}", key, "spacy.MultiHashEmbed.v2")
    assert expected in left.reason
    assert raw(nlp)[f"spacy_multihash_tests_{factory}"][key] == EMBED


@pytest.mark.parametrize("factory", ["ner", "parser", "spancat", "tagger", "textcat", "tok2vec"])
def test_default_config_is_accelerated(factory: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    done = accelerate(nlp)
    assert done.replaced
    assert done.left == []
    assert "hashembed" not in names(nlp)


def test_layer_that_components_share_is_replaced_by_one() -> None:
    nlp = build({"one": tagger(TOK2VEC), "two": tagger(TOK2VEC)})
    (_, one), (_, two) = models(nlp)
    shared, other = (model.get_ref("tok2vec").layers[0] for model in (one, two))
    swap_nodes(two, [(other, shared)])
    expected = predictions(nlp)
    assert len(accelerate(nlp).replaced) == 4
    for _ in range(2):
        assert one.get_ref("tok2vec").layers[0] is two.get_ref("tok2vec").layers[0] is not shared
        assert predictions(nlp) == expected
        restore(nlp)


@pytest.mark.parametrize("prefix", ["spacy", "spacy-legacy"])
def test_legacy_layers_of_the_same_function_are_replaced(prefix: str, tmp_path: Path) -> None:
    tok2vec, cnn = v1(TOK2VEC, prefix), v1(CNN, prefix)
    nlp = build({"tagger": tagger(tok2vec), "ner": ner(cnn)})
    done = assert_accelerates(nlp, tmp_path)
    assert [entry.before for entry in done.replaced] == [
        f"{prefix}.MultiHashEmbed.v1",
        f"{prefix}.MaxoutWindowEncoder.v1",
        f"{prefix}.HashEmbedCNN.v1",
        "ner",
    ]
    assert done.left == []
    tok2vec = nlp.config["components"]["tagger"]["model"]["tok2vec"]
    assert tok2vec["@architectures"] == "spacy.Tok2Vec.v2"


def with_vectors(components: dict[str, Any]) -> Language:
    nlp = make(components)
    for i, word in enumerate(["Anna", "Rome", "."]):
        nlp.vocab.set_vector(word, numpy.full(4, i + 1, dtype="float32"))
    nlp.initialize(lambda: gold(nlp))
    train(nlp)
    return nlp


def test_static_vectors_are_kept(tmp_path: Path) -> None:
    of_tagger = tagger({**TOK2VEC, "embed": {**EMBED, "include_static_vectors": True}})
    nlp = with_vectors({"tagger": of_tagger, "ner": ner({**CNN, "pretrained_vectors": True})})
    assert len(assert_accelerates(nlp, tmp_path).replaced) == 4
    widths = [node.get_dim("nM") for node in walk(nlp) if node.name == "static_vectors"]
    assert widths == [4, 4]


# Layers of others


@spacy.registry.architectures("spacy_multihash_tests.Embed.v1")
def build_embed(width: int) -> Model:
    return MultiHashEmbed(width, ["NORM"], [20], False)


@spacy.registry.architectures("spacy_multihash_tests.Odd.v1")
def build_odd(embed: Model, encode: Model, way: str) -> Model:
    """Build a Tok2Vec of somebody else, which does more with its embedding than spaCy's."""
    table = next((node for node in embed.walk() if node.name == "hashembed"), None)
    if way == "fails" and table is None:  # without what is inside of spaCy's embedding
        raise RuntimeError("no table")
    adds = way == "adds" and table is None  # a layer to any embedding but spaCy's
    model = chain(embed, noop(), encode) if adds else chain(embed, encode)
    if way == "looks":  # at what is inside of the embedding
        model.set_ref("table", table)
    elif way == "marks":  # any embedding but spaCy's
        model.set_ref("other", embed if table is None else None)
    elif way == "twice":  # it hides that there are two
        model.layers.append(chain(embed.copy(), encode.copy()))
    elif way == "aside":  # a reference from beside it, which thinc can neither set nor load
        model.layers.append(Model("aside", lambda model, X, is_train: (X, id), refs={"it": embed}))
    return model


def odd(way: str) -> dict[str, Any]:
    return {**TOK2VEC, "@architectures": "spacy_multihash_tests.Odd.v1", "way": way}


MISH = {"@architectures": "spacy.MishWindowEncoder.v1", "width": 16, "depth": 2, "window_size": 1}
OWN_EMBED = {"@architectures": "spacy_multihash_tests.Embed.v1", "width": 16}
VECTORS = {**EMBED, "include_static_vectors": True}
IN_V1 = {**TOK2VEC, "@architectures": "spacy.Tok2Vec.v1"}


@pytest.mark.parametrize(
    ("tok2vec", "replaced", "left", "reason"),
    [
        ({**TOK2VEC, "embed": OWN_EMBED}, ["encode"], "embed", "there is no layer of ours for it"),
        ({**v1(TOK2VEC), "encode": MISH}, ["embed"], "encode", "there is no layer of ours for it"),
        ({**TOK2VEC, "embed": v1(VECTORS)}, ["encode"], "embed", "of another token in v1"),
        # Tok2Vec.v1 wraps the encoder, which then doesn't see where docs end.
        (IN_V1, ["embed"], "encode", "it is not part of a spacy.Tok2Vec.v2"),
        (odd("looks"), [], "embed", "refers to a part of it, as 'table'"),
        (odd("fails"), [], "embed", "cannot be built with the new layer: no table"),
        *((odd(way), [], "embed", "another structure") for way in ("adds", "marks")),
    ],
)
def test_layers_are_left_with_the_reason(
    tok2vec: dict[str, Any], replaced: list[str], left: str, reason: str, tmp_path: Path
) -> None:
    nlp = with_vectors({"tagger": tagger(tok2vec), "ner": ner(CNN)})
    done = assert_accelerates(nlp, tmp_path)
    ours = [f"tagger.model.tok2vec.{name}" for name in replaced]
    assert entries(done) == [*ours, "ner.model.tok2vec", "ner.factory"]
    reasons = {entry.path: entry.reason for entry in done.left}
    assert reason in reasons[f"model.tok2vec.{left}"]
    new = nlp.config["components"]["tagger"]["model"]["tok2vec"]
    assert new["@architectures"] == tok2vec["@architectures"]


@pytest.mark.parametrize(
    ("way", "reason"), [("aside", "is not above it, refers to it as 'it'"), ("twice", "more such")]
)
def test_layers_that_cannot_be_told_apart_or_loaded_are_left(way: str, reason: str) -> None:
    done = accelerate(make({"tagger": tagger(odd(way))}))
    assert done.replaced == []
    assert any(reason in entry.reason for entry in done.left if entry.path.endswith("embed"))


def test_layer_that_the_model_lacks_is_left(nlp: Language) -> None:
    nlp.get_pipe_config("ner")["model"]["tok2vec"]["embed_size"] = 80
    done = accelerate(nlp)
    assert entries(done) == ["tok2vec.model.embed", "tok2vec.model.encode", "ner.factory"]
    assert [entry.reason for entry in done.left] == ["the model has no such layer"]


# Variables in configs


def raw(nlp: Language) -> Any:
    return nlp.config["components"]


PATH = "${components.tok2vec.model"
ENCODER = {**ENCODE, "@architectures": OUR_ENCODER}


def test_variables_that_keep_their_meaning_are_kept(tmp_path: Path) -> None:
    width = "${components.tok2vec.model.encode:width}"
    components = with_listener()
    components["tok2vec"]["model"] = {**TOK2VEC, "embed": {**EMBED, "width": width}}
    components["tagger"] = tagger({**LISTENER, "width": width})
    nlp = build(components)
    assert len(assert_accelerates(nlp, tmp_path).replaced) == 2
    assert raw(nlp)["tok2vec"]["model"]["embed"]["width"] == width
    assert raw(nlp)["tagger"]["model"]["tok2vec"]["width"] == width


def test_variable_of_a_section_that_goes_is_resolved(tmp_path: Path) -> None:
    components = {
        "tok2vec": {"factory": "tok2vec", "model": CNN},
        "tagger": tagger({**LISTENER, "width": f"{PATH}.width}}"}),
    }
    nlp = build(components)
    logger = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": f"{PATH}.subword_features}}"}
    nlp.config["training"]["logger"] = logger
    assert entries(assert_accelerates(nlp, tmp_path)) == ["tok2vec.model"]
    assert raw(nlp)["tagger"]["model"]["tok2vec"]["width"] == 12
    assert nlp.config["training"]["logger"]["progress_bar"] is True


@pytest.mark.parametrize(
    ("of_tok2vec", "tok2vec", "number", "key", "expected"),
    [
        (TOK2VEC, f"{PATH}}}", 5, "encode", ENCODER),
        (TOK2VEC, {**TOK2VEC, "encode": f"{PATH}.encode}}"}, 5, "encode", ENCODER),
        (  # replaced only there
            TOK2VEC,
            odd("looks") | {"embed": f"{PATH}.embed}}", "encode": f"{PATH}.encode}}"},
            3,
            "embed",
            EMBED,
        ),
        (  # and only here
            odd("looks"),
            {**TOK2VEC, "encode": f"{PATH}.encode}}"},
            3,
            "encode",
            ENCODER,
        ),
    ],
)
def test_variable_for_a_whole_section_has_the_new_value(
    of_tok2vec: Any, tok2vec: Any, number: int, key: str, expected: Any, tmp_path: Path
) -> None:
    nlp = build({"tok2vec": {"factory": "tok2vec", "model": of_tok2vec}, "ner": ner(tok2vec)})
    assert len(assert_accelerates(nlp, tmp_path).replaced) == number
    new = nlp.config.interpolate()["components"]["ner"]["model"]["tok2vec"]
    assert new[key] == expected
    assert isinstance(tok2vec, dict) is isinstance(raw(nlp)["ner"]["model"]["tok2vec"], dict)


def test_variable_without_a_value_changes_nothing(nlp: Language) -> None:
    nlp.config["training"]["logger"]["progress_bar"] = "${no.such}"
    before = nlp.to_bytes()
    with pytest.raises(ValueError, match="no.such"):
        accelerate(nlp)
    assert nlp.to_bytes() == before


def test_settings_that_our_layer_refuses_are_left(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**settings: int) -> Model:
        raise ValueError("window_size must be 0 or more")

    monkeypatch.setattr("spacy_multihash.pipelines.weights.build_maxout_window_encoder_v1", refuse)
    before = nlp.to_bytes()
    done = accelerate(nlp, keep_ner=True)
    assert done.replaced == []
    assert {entry.reason for entry in done.left} == {"window_size must be 0 or more"}
    assert nlp.to_bytes() == before


def test_new_layers_have_the_ops_of_the_old(nlp: Language) -> None:
    class OwnOps(NumpyOps):
        pass

    own = OwnOps()
    for node in walk(nlp):
        node.ops = own
    accelerate(nlp)
    assert all(node.ops is own for node in walk(nlp))


def test_callback_of_the_user_is_kept(nlp: Language) -> None:
    callback = {"@callbacks": "spacy-multihash.init_tables.v1"}
    nlp.config["nlp"]["after_pipeline_creation"] = callback
    accelerate(nlp)
    assert nlp.config["nlp"]["after_pipeline_creation"] == callback


@pytest.mark.filterwarnings(r"ignore:\[W095\]:UserWarning")
def test_real_pipeline_predicts_the_same(english: Language, shared: Path, tmp_path: Path) -> None:
    tweets = (shared / "datasets" / "wnut17" / "wnut17train.conll").read_text("utf8")
    blocks = tweets.split("\n\t\n")[:300]  # with their own ideas of spelling
    texts = [" ".join(line.split("\t")[0] for line in block.splitlines()) for block in blocks]
    expected = predictions(english, texts)
    assert sum(len(ents) for _, ents in expected) > 100
    assert sum(len(tokens) for tokens, _ in expected) > 4000
    ours = spacy.load(english.path)
    done = accelerate(ours)
    assert (len(done.replaced), done.already, done.left) == (9, [], [])
    # Near-ties might be decided otherwise by rounding. There are none among these.
    pairs = zip(texts, predictions(ours, texts), expected, strict=True)
    assert [text for text, found, before in pairs if found != before] == []
    ours.to_disk(tmp_path / "ours")
    loaded = spacy.load(tmp_path / "ours")
    assert type(ours.get_pipe("ner")) is type(loaded.get_pipe("ner")) is BatchEntityRecognizer
    assert predictions(loaded, texts[:50]) == expected[:50]
    assert_equal_tensors(loaded, english, texts[:50])


# What is given, and what is shown


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (spacy.blank("en"), {"keep_ner": "no"}, "keep_ner must be"),
        (spacy.blank("en"), {"loads": -1}, "loads must be"),
        (spacy.blank("en"), {"seconds": -1}, "seconds must be"),
        (spacy.blank("en"), {"texts": 1}, "texts must be a list of strings or a path"),
        (spacy.blank("en"), {"texts": "Anna"}, "There is no corpus at Anna"),
        ("no_such_model", {}, "There is no pipeline 'no_such_model'"),
        (spacy.blank("en"), {"output": "/dev/null/out"}, "can.t be written"),
    ],
)
def test_refusals(given: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        accelerate(given, **settings)


def test_gain_on_texts_is_part_of_the_result(nlp: Language) -> None:
    expected = predictions(nlp)
    done = accelerate(nlp, texts=TEXTS, seconds=0, loads=0)
    assert done.gain is not None
    agreement = done.gain.agreement
    assert agreement.docs == len(list(filter(None, TEXTS)))  # without the empty one
    assert agreement.tokens == sum(len(t) for t, _ in expected)
    assert agreement.different == 0 and agreement.differences == []
    assert {"tokens", "TAG", "entities"} == {*agreement.kinds}
    assert all(figure.before > 0 and figure.after > 0 for figure in done.gain.figures)
    assert predictions(nlp) == expected
    text = str(done)
    assert re.search(r"tokens a second\) +[0-9.,]+ +[0-9.,]+ +[0-9.]+ +[0-9.]+ to [0-9.]+\n", text)
    assert done.gain.machine.python in text
    json.dumps(done.to_json())
    nlp.meta["name"] = "<script>"
    page = done.page()
    assert "default-src 'none'" in page and page.count('class="bar"') == 6
    assert "<script>" not in page and done._repr_html_().startswith("<iframe")


def test_pipeline_at_a_path_is_written_to_another(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "in")
    before = files(tmp_path / "in")
    done = accelerate(tmp_path / "in", tmp_path / "out")
    assert files(tmp_path / "in") == before
    assert predictions(spacy.load(tmp_path / "out")) == predictions(done.nlp) == predictions(nlp)
    again = accelerate(str(tmp_path / "out"))
    assert again.replaced == [] and "Ours already: 5" in str(again)
    assert "Nothing was replaced." in str(again)
    assert "ner.factory" in again._repr_html_()


@pytest.mark.parametrize(
    ("texts", "message"),
    [([""], "The texts have no tokens"), (["word " * 20_000, "x" * 1_000_001], "E088")],
)
def test_texts_that_cannot_be_measured_change_nothing(
    texts: list[str], message: str, nlp: Language
) -> None:
    before = nlp.to_bytes(exclude=["vocab"])
    with pytest.raises(ValueError, match=message):
        accelerate(nlp, texts=texts, loads=0)
    assert nlp.to_bytes(exclude=["vocab"]) == before
    assert "batch_ner" not in nlp.pipe_factories.values()
