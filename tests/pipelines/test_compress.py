"""Compressed pipelines: what they predict, what they leave out, and how they go on."""

import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from numpy.testing import assert_array_equal, assert_equal
from spacy.language import Language
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc, Span
from thinc.api import Config

from spacy_multihash.pipelines import compress as compress_module
from spacy_multihash.pipelines.compare import compare_docs
from spacy_multihash.pipelines.compress import (
    MODEL_PARTS,
    Precisions,
    compress,
    compress_folder,
    needed_ids,
)
from tests.data.make_pipelines import PREDICTIONS
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.sections import tok2vec
from tests.helpers.several_vectors import (
    floret_of,
    meta_embed,
    meta_pipeline,
    save_floret,
    save_words,
    tensor_of,
    trained,
    vectors_of,
)
from tests.helpers.spacy_pipelines import (
    EMBED,
    ENCODE,
    gold,
    ner,
    predictions,
    train,
    with_listener,
)
from tests.helpers.weights import all_weights

SAVED = Path(__file__).resolve().parents[1] / "data" / "1.0.0"
WHOLE = Precisions("float32", "float32", "float32")
WORDS = ["Anna", "met", "Rome", "fell", "Bob"]
KEEP = "spacy-multihash.keep_compressed.v1"

pytestmark = pytest.mark.filterwarnings(r"ignore:\[W095\]:UserWarning")


def small(nlp: Language, folder: Path, precisions: Precisions = Precisions()) -> Language:  # noqa: B008
    compress(nlp, folder, **vars(precisions), loads=0)
    return spacy.load(folder)


def size(folder: Path) -> int:
    """The bytes of all files, but of the strings, which grow with the texts that were read."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "strings.json"]
    return sum(path.stat().st_size for path in files)


@cache
def saved(kind: str, recognizer: str) -> tuple[Config, bytes]:
    """A trained pipeline with listeners, and a recognizer with an embedding of its own."""
    embed = {**EMBED, "include_static_vectors": kind != "none"}
    components = with_listener(ner={**ner(tok2vec(embed, ENCODE)), "factory": recognizer})
    nlp = spacy.blank("en")
    if kind != "none":
        nlp.vocab.vectors = vectors_of(nlp, WORDS, 6) if kind == "words" else floret_of(nlp, 6)
    for name, config in components.items():
        config = dict(config)
        nlp.add_pipe(config.pop("factory"), name, config=config)
    nlp.initialize(lambda: gold(nlp))
    train(nlp)
    return nlp.config, nlp.to_bytes()


def built(kind: str = "none", recognizer: str = "ner") -> Language:
    config, data = saved(kind, recognizer)
    return spacy.blank("en").from_config(config).from_bytes(data)


@pytest.mark.parametrize("kind", ["hash", "lookup", "weighted", "textcat"])
def test_pipelines_of_all_embeddings_predict_nearly_the_same(kind: str, tmp_path: Path) -> None:
    nlp = spacy.load(SAVED / kind)
    docs = srsly.read_json(SAVED / kind / PREDICTIONS)["docs"]
    texts = [doc["text"] for doc in docs if doc["text"]]
    same = small(nlp, tmp_path / "whole", WHOLE)
    assert_equal(all_weights(same), all_weights(nlp))
    found = small(nlp, tmp_path / "small")
    for one, other in zip(all_weights(nlp), all_weights(found), strict=True):
        assert other.dtype == "float32"
        numpy.testing.assert_allclose(other, one, atol=numpy.abs(one).max(initial=0) / 200)
    for one, two, three in zip(*(n.pipe(texts) for n in (nlp, same, found)), strict=True):
        of_one, of_two = ([(e.text, e.label_) for e in doc.ents] for doc in (one, two))
        assert (of_two, two.cats) == (of_one, one.cats)
        assert [e.text for e in three.ents] == [e.text for e in one.ents]
        assert three.cats == pytest.approx(one.cats, abs=0.05)
    assert size(tmp_path / "small") < size(tmp_path / "whole")


@pytest.mark.parametrize(
    ("vectors", "recognizer"), [("none", "batch_ner"), ("words", "ner"), ("floret", "batch_ner")]
)
def test_pipeline_with_vectors_and_listeners_predicts_the_same_after_each_way(
    vectors: str, recognizer: str, tmp_path: Path
) -> None:
    nlp = built(vectors, recognizer)
    assert predictions(small(nlp, tmp_path / "whole", WHOLE)) == predictions(nlp)
    found = small(nlp, tmp_path / "small")
    before, files = predictions(found), size(tmp_path / "small")
    for path in ("once", "twice"):  # saved again, it is the same and as small
        found.to_disk(tmp_path / path)
        found = spacy.load(tmp_path / path)
        assert predictions(found) == before
        assert size(tmp_path / path) == files
    assert predictions(pickle.loads(pickle.dumps(found))) == before
    blank = spacy.blank("en").from_config(found.config)
    assert predictions(blank.from_bytes(found.to_bytes())) == before


def test_tables_of_meta_vectors_are_small_too(tmp_path: Path) -> None:
    tables = {
        "a": save_words(tmp_path / "a", WORDS, 64),
        "b": save_floret(tmp_path / "b", 64),
        "vocab": None,
    }
    own = save_words(tmp_path / "own", WORDS, 64, seed=1)
    nlp = trained(meta_pipeline(meta_embed(tables), own))
    others = numpy.linspace(0, 1, 9, dtype="float32") / 3  # not exact in float16
    nlp.vocab.lookups.add_table("of somebody else", {"a": others})
    assert_array_equal(tensor_of(small(nlp, tmp_path / "whole", WHOLE)), tensor_of(nlp))
    found = small(nlp, tmp_path / "small")
    numpy.testing.assert_allclose(tensor_of(found), tensor_of(nlp), atol=0.1)
    assert_array_equal(found.vocab.lookups.get_table("of somebody else")["a"], others)
    lookups = [tmp_path / name / "vocab" / "lookups.bin" for name in ("whole", "small")]
    assert lookups[1].stat().st_size < 0.5 * lookups[0].stat().st_size
    found.to_disk(tmp_path / "again")
    assert_array_equal(tensor_of(spacy.load(tmp_path / "again")), tensor_of(found))


def test_components_are_trained_on_and_saved(tmp_path: Path) -> None:
    found = small(built("words"), tmp_path / "small")
    train(found)
    found.to_disk(tmp_path / "trained")
    found.to_disk(tmp_path / "trained", exclude=["vocab"])  # beside vectors that are small
    again = spacy.load(tmp_path / "trained")
    assert predictions(again) == predictions(found)
    assert_equal(all_weights(again), all_weights(found))
    files = size(tmp_path / "small")
    assert size(tmp_path / "trained") > 1.2 * files
    small(again, tmp_path / "smaller", Precisions("int8", "int8", "int8"))
    assert size(tmp_path / "smaller") < files
    assert (tmp_path / "smaller" / "config.cfg").read_text().count(KEEP) == 1


def test_saving_leaves_other_pipelines_in_the_folder_alone(tmp_path: Path) -> None:
    found = small(built("words"), tmp_path / "small")
    other = spacy.blank("en")
    other.add_pipe("ner").add_label("PER")  # type: ignore[attr-defined]
    other.initialize()
    (tmp_path / "folder").mkdir()
    other.to_disk(tmp_path / "folder" / "other")
    model = tmp_path / "folder" / "other" / "ner" / "model"
    before = model.read_bytes()
    found.to_disk(tmp_path / "folder")
    found.to_disk(tmp_path / "part", exclude=["tagger"])
    assert (tmp_path / "part" / "ner").exists() and not (tmp_path / "part" / "tagger").exists()
    assert model.read_bytes() == before
    own = size(tmp_path / "folder") - size(tmp_path / "folder" / "other")
    assert own == size(tmp_path / "small")


@pytest.mark.parametrize("first", [WHOLE, Precisions("float16", "float16", "float16")])
def test_compressed_pipeline_is_compressed_again(first: Precisions, tmp_path: Path) -> None:
    nlp = built("words")
    small(nlp, tmp_path / "small", Precisions("int8", "int8", "int8"))
    found = small(nlp, tmp_path / "first", first)
    again = small(found, tmp_path / "again", Precisions("int8", "int8", "int8"))
    assert size(tmp_path / "again") == pytest.approx(size(tmp_path / "small"), abs=99)
    expected = numpy.abs(nlp.vocab.vectors.data).max() / 120
    numpy.testing.assert_allclose(
        again.vocab["Rome"].vector, nlp.vocab["Rome"].vector, atol=expected
    )
    again.vocab.set_vector("Rome", numpy.ones(6, "float32"))
    again.remove_pipe("tagger")
    last = small(again, tmp_path / "last", Precisions("int8", "int8", "int8"))
    assert last.pipe_names == again.pipe_names
    assert_array_equal(last.vocab["Rome"].vector, again.vocab["Rome"].vector)
    assert_equal(all_weights(last), all_weights(again))


def test_components_are_sourced_in_code_and_in_configs(tmp_path: Path) -> None:
    found = small(built(), tmp_path / "small")
    nlp = spacy.blank("en")
    for name in found.pipe_names:
        nlp.add_pipe(name, source=found)
    assert predictions(nlp) == predictions(found)
    nlp.to_disk(tmp_path / "sourced")  # a pipeline of spaCy's own form
    assert KEEP not in (tmp_path / "sourced" / "config.cfg").read_text()
    assert predictions(spacy.load(tmp_path / "sourced")) == predictions(found)


def test_vocab_of_another_pipeline_gets_vectors_that_are_numbers(tmp_path: Path) -> None:
    vocab = spacy.blank("en").vocab
    ours = small(built("words"), tmp_path / "words")
    expected = predictions(ours)
    found = spacy.load(tmp_path / "words", vocab=vocab)
    assert_array_equal(vocab["Rome"].vector, ours.vocab["Rome"].vector)
    assert predictions(found) == expected
    assert predictions(spacy.load(tmp_path / "words", vocab=ours.vocab)) == expected
    own = spacy.blank("en").vocab
    own.set_vector("Rome", numpy.ones(3, "float32"))
    spacy.load(tmp_path / "words", vocab=own, exclude=["vocab"])
    assert own["Rome"].vector.tolist() == [1, 1, 1]


def test_callback_that_was_there_is_called_and_overrides_are_taken(tmp_path: Path) -> None:
    nlp = built()
    nlp.config["nlp"]["after_creation"] = {"@callbacks": "test_mark.v1"}

    @spacy.registry.callbacks("test_mark.v1")
    def make() -> Any:
        def mark(nlp: Language) -> Language:
            nlp.meta["marked"] = True
            return nlp

        return mark

    found = small(nlp, tmp_path / "small")
    assert found.meta["marked"]
    found.to_disk(tmp_path / "again")
    again = spacy.load(tmp_path / "again", config={"training.seed": 7})
    assert again.meta["marked"]
    assert again.config["training"]["seed"] == 7


def test_strings_that_no_component_needs_are_left_out(tmp_path: Path) -> None:
    nlp = built("words")
    ruler: Any = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PLACE", "pattern": [{"LOWER": "oslo"}], "id": "no-1"}])
    nlp.add_pipe("attribute_ruler").add([[{"ORTH": "fell"}]], {"LEMMA": "fall"})  # type: ignore[attr-defined]
    nlp.vocab.strings.add("nobody needs it")
    done = compress(nlp, tmp_path / "small", loads=0)
    found = spacy.load(tmp_path / "small")
    strings = srsly.read_json(tmp_path / "small" / "vocab" / "strings.json")
    assert done.rows_left_out == 0
    assert done.strings_left_out == done.strings_before - len(strings)
    assert not {"nobody needs it", "Anna"} & set(strings)
    assert {"oslo", "fall", "T0"} <= set(strings)
    assert predictions(found, ["Anna fell in Oslo"]) == predictions(nlp, ["Anna fell in Oslo"])
    kept = compress(nlp, str(tmp_path / "kept"), keep_strings=True, loads=0)
    assert kept.strings_left_out == 0
    assert spacy.load(tmp_path / "kept").vocab.strings["nobody needs it"]


def test_hashes_are_found_with_and_without_a_sign(tmp_path: Path) -> None:
    strings = StringStore()
    ids = [strings.add(text) for text in ("Anna", "Rome", "Bob", "rain")]
    signed = numpy.array(ids, dtype="uint64").view("int64")
    assert (signed < 0).any()
    srsly.write_msgpack(tmp_path / "list", signed.tolist())
    assert {*ids, get_string_id("PER")} <= needed_ids(tmp_path, ["PER"])  # type: ignore[operator]
    srsly.write_json(tmp_path / "file_in_a_file", ['{"pattern": "snow"}'])
    assert get_string_id("snow") in needed_ids(tmp_path, [])  # type: ignore[operator]
    for dtype in ("<i8", ">i8", "<u8", ">u8"):
        array = signed.astype("uint64").astype(dtype)
        within: Any = {"ids": [array.tobytes()], "none": b""}  # bytes within a message
        packed_twice = srsly.msgpack_dumps(srsly.msgpack_dumps(within))
        for message in ({"ids": array}, within, {"packed": packed_twice}):
            srsly.write_msgpack(tmp_path / "list", message)
            assert {*ids} <= needed_ids(tmp_path, [])  # type: ignore[operator]


def test_strings_stay_if_a_file_is_unknown_but_for_weights_of_other_frameworks(
    tmp_path: Path,
) -> None:
    (tmp_path / "one").mkdir()
    message: Any = dict.fromkeys(MODEL_PARTS, [])
    srsly.write_msgpack(tmp_path / "one" / "model", {**message, "shims": [b"\xc1\xff\x00"]})
    assert needed_ids(tmp_path, ["PER"]) is not None
    compress_folder(tmp_path, ["one"], Precisions(), lossy=True)
    srsly.write_msgpack(tmp_path / "one" / "model", [b"\xc1\xff\x00"])
    assert needed_ids(tmp_path, ["PER"]) is None
    compress_folder(tmp_path, ["one"], Precisions(), lossy=True)  # no model of thinc's
    assert srsly.read_msgpack(tmp_path / "one" / "model") == [b"\xc1\xff\x00"]


def with_number(component: str, value: float) -> Language:
    nlp = built()
    model = nlp.get_pipe(component).model  # type: ignore[attr-defined]
    node = [n for n in model.walk() if "W" in n.param_names or "E" in n.param_names][-1]
    node.get_param(node.param_names[0]).reshape(-1)[3] = value
    return nlp


def with_nan_vector() -> Language:
    nlp = built("words")
    nlp.vocab.vectors.data = nlp.vocab.vectors.data.copy()  # read from bytes, it is read-only
    nlp.vocab.vectors.data[2, 2] = numpy.nan
    return nlp


def with_other_vectors() -> Language:
    nlp = built()
    nlp.config["nlp"]["vectors"] = {"@vectors": "others.v1"}
    return nlp


REFUSED: list[tuple[Callable[[], Language], str]] = [
    (lambda: with_number("ner", numpy.nan), "ner: the weights .* be .*: .* NaN or infinite. T"),
    (lambda: with_number("tok2vec", numpy.inf), "tok2vec: the weights .* be .*: .* NaN or inf"),
    (lambda: with_number("tagger", 1e5), "weights . of the layer 'softmax' cannot be float16"),
    (with_nan_vector, "the static vectors cannot be int8: 1 of 30 numbers are"),
    (lambda: spacy.blank("en"), "has no components, and so no weights"),
    (with_other_vectors, "Only spaCy.s own vectors, .* got others.v1"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
@pytest.mark.filterwarnings("ignore:.*NaN or infinite, so it predicts")
def test_refusals(make: Callable[[], Language], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        compress(make(), tmp_path / "small", loads=0)
    assert not list(tmp_path.iterdir())


def test_config_without_vectors_is_compressed(tmp_path: Path) -> None:
    nlp = built()
    nlp.to_disk(tmp_path / "old")
    path = tmp_path / "old" / "config.cfg"
    config = Config().from_disk(path, interpolate=False)
    del config["nlp"]["vectors"]  # as spaCy 3.0 wrote it
    config.to_disk(path)
    compress(tmp_path / "old", tmp_path / "small", loads=0)
    assert type(spacy.load(tmp_path / "small").vocab.vectors).__name__ == "CompressedVectors"


def test_precision_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weights must be one of"):
        compress(built(), tmp_path / "small", weights="int4", loads=0)


# Predictions before and after


@pytest.fixture(scope="module")
def model(recognizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "model").symlink_to(recognizer("tagger_ner"))
    write_corpus(folder / "dev.spacy", make_docs())
    return folder / "model"


def test_sizes_and_predictions_are_compared(model: Path, tmp_path: Path) -> None:
    found = [
        compress(model, tmp_path / "path", data=model.parent / "dev.spacy", loads=0),
        compress(spacy.load(model), tmp_path / "docs", data=make_docs(), loads=0),
    ]
    for done in found:
        files = sum(path.stat().st_size for path in done.output.rglob("*") if path.is_file())
        assert done.bytes_after == files < done.bytes_before
        assert done.strings_left_out > 0
        scores = done.predictions
        assert scores is not None and scores.agreement.kinds["entities"].share == 1
        assert scores.f1 and (scores.f1.before, scores.f1.after) == (1, 1)
        assert "F1 of entities   100.00   100.00" in str(done)
    assert len({done.strings_left_out for done in found}) == 1


def test_corpus_with_other_labels_has_no_f1(model: Path, tmp_path: Path) -> None:
    docs = make_docs()
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, label="DATE")])
    done = compress(model, tmp_path / "out", data=docs, loads=0)
    assert done.predictions is not None and done.predictions.f1 is None
    assert "entities of DATE, and the pipeline predicts GPE, PER" in str(done)


def test_nothing_is_written_if_the_pipeline_cannot_be_loaded_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compress_folder(folder: Path, *args: Any, **settings: Any) -> int:
        (folder / "tagger_ner" / "model").write_bytes(b"broken")
        return 0

    monkeypatch.setattr(compress_module, "compress_folder", compress_folder)
    with pytest.raises(ValueError, match="Cannot read .*tagger_ner/model"):
        compress(model, tmp_path / "out", loads=0)
    assert not list(tmp_path.iterdir())


def test_english_pipeline_is_a_third_as_large_and_keeps_its_entities(
    english: Language, shared: Path, tmp_path: Path
) -> None:
    file_ = shared / "datasets" / "wnut17" / "emerging.dev.conll"
    blocks = re.split(r"\n\s*\n", file_.read_text("utf8").strip())
    words = [re.findall(r"^\S+", block, re.M) for block in blocks]
    annotated = []
    done = compress(english, tmp_path / "small", loads=0)
    for nlp in (english, spacy.load(done.output)):
        with nlp.select_pipes(enable="ner"):
            annotated.append(list(nlp.pipe([Doc(nlp.vocab, of_doc) for of_doc in words])))
    assert done.bytes_after < 0.35 * done.bytes_before
    assert sum(len(doc.ents) for doc in annotated[0]) > 1000
    assert compare_docs(zip(*annotated, strict=True)).kinds["entities"].share >= 0.995
