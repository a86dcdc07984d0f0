"""Files that are damaged, or that the disk has no room for: one error, which names the file."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_multihash import Table, Tables, read_tables, write_tables
from spacy_multihash.common.files import STAGING, UnreadableFile, write_bytes, write_json
from spacy_multihash.common.load import load_pipeline, pipeline_of_config
from spacy_multihash.common.outputs import write_pipeline
from spacy_multihash.corpus.read import read_docs, write_corpora
from spacy_multihash.embed.vector_tables import read_kept_table
from spacy_multihash.pipelines.compress import compress
from spacy_multihash.vectors.compressed import SortedKeys, pack_keys, unpack_keys
from spacy_multihash.vectors.files import load_vectors, read_table, write_table
from tests.helpers.corpora import make_docs
from tests.helpers.damage import check_damage, full_disk
from tests.helpers.paths import ROOT

SAVED = ROOT / "tests" / "data" / "1.0.0"
FILES = [
    pytest.param(path.relative_to(SAVED), id=path.relative_to(SAVED).as_posix())
    for name in ("batch_ner", "compressed", "meta_vectors", "recommended")
    for path in sorted((SAVED / name).rglob("*"))
    if path.is_file() and path.stat().st_size and path.name != "predictions.json"
]


@pytest.mark.filterwarnings("ignore")  # spaCy's, about what a damaged config says
@pytest.mark.parametrize("name", FILES)
def test_damaged_pipelines_are_refused_by_path(name: Path, tmp_path: Path) -> None:
    folder = tmp_path / name.parts[0]
    shutil.copytree(SAVED / name.parts[0], folder)
    check_damage(tmp_path / name, lambda: load_pipeline(folder), folder)


# Components of ours, and the files of each
COMPONENTS = [
    ("batch_ner", "batch_ner"),
    ("batch_parser", "batch_parser"),
    ("recommended", "tagger_ner"),
    ("ruler", "ruler"),
]


def saved_component(name: str, path: Path) -> Any:
    """Load a pipeline, and write it to a path."""
    if name == "ruler":
        nlp = spacy.blank("en")
        pipe: Any = nlp.add_pipe("indexed_attribute_ruler", name="ruler")
        pipe.add([[{"LOWER": "anna"}]], {"POS": "PROPN"})
    else:
        nlp = spacy.load(SAVED / name)
    nlp.to_disk(path)
    return nlp


@pytest.mark.parametrize(("pipeline", "component"), COMPONENTS)
def test_damaged_file_of_a_component_is_named(
    pipeline: str, component: str, tmp_path: Path
) -> None:
    nlp = saved_component(pipeline, tmp_path)
    files = [path for path in (tmp_path / component).iterdir() if path.is_file()]
    assert {path.name for path in files} & {"cfg", "model", "moves", "patterns"}
    for path in files:
        data = path.read_bytes()
        for damage in (data[:-5], b"", b"[1]", b"3"):
            path.write_bytes(damage)
            named = rf"{component}/{path.name} of component \"{component}\".*damaged, copy or make"
            with pytest.raises(UnreadableFile, match=f"(?s){named}"):
                nlp.get_pipe(component).from_disk(tmp_path / component, exclude=["vocab"])
        for load in (load_pipeline, spacy.load):
            with pytest.raises(UnreadableFile, match=f"(?s){named}"):
                load(tmp_path)
        path.write_bytes(data)
    spacy.load(tmp_path)


@pytest.mark.parametrize(("pipeline", "component"), COMPONENTS)
def test_damaged_bytes_of_a_component_are_named(
    pipeline: str, component: str, tmp_path: Path
) -> None:
    pipe = saved_component(pipeline, tmp_path).get_pipe(component)
    exclude = ["vocab"]
    message = srsly.msgpack_loads(pipe.to_bytes(exclude=exclude))
    for key in message:
        for damage in (message[key][:-5], b"", b"[1]", b"3"):
            data = srsly.msgpack_dumps({**message, key: damage})
            with pytest.raises(UnreadableFile, match=rf"{key} .*of component \"{component}\""):
                pipe.from_bytes(data, exclude=exclude)
    with pytest.raises(UnreadableFile, match=rf"of component \"{component}\""):
        pipe.from_bytes(b"3", exclude=exclude)
    pipe.from_bytes(srsly.msgpack_dumps(message), exclude=exclude)


# The settings in the file `cfg` of each component, and values that they can't have.
OF_PARSERS: dict[str, list[Any]] = {
    "beam_width": [0, -1, 1.5, "1", None, [1], True],
    "beam_density": [-0.5, "0", None, []],
    "beam_update_prob": [-1, 2, "0", None],
    "update_with_oracle_cut_size": [-1, "100", None, 1.5],
    "min_action_freq": [-1, "1", None],
    "learn_tokens": [0, "false", None],
    "incorrect_spans_key": [0, ["a"]],
    "multitasks": ["tag", None, {}],
    "moves": ["x", 3],
}
OF_TAGGERS: dict[str, list[Any]] = {
    "labels": ["PER", None, [1], ["PER", "PER", "LOC"], {"PER": 1}],
    "unseen_labels": ["PER", None, [1], ["UNKNOWN"]],
}


@pytest.mark.parametrize(("pipeline", "component"), COMPONENTS[:3])
def test_settings_in_cfg_are_checked_when_loaded(
    pipeline: str, component: str, tmp_path: Path
) -> None:
    nlp = saved_component(pipeline, tmp_path)
    pipe, path = nlp.get_pipe(component), tmp_path / component / "cfg"
    former = srsly.read_json(path)
    values = OF_TAGGERS if component == "tagger_ner" else OF_PARSERS
    assert values.keys() >= former.keys()
    for key, wrong in values.items():
        for value in wrong:
            srsly.write_json(path, {**former, key: value})
            with pytest.raises(UnreadableFile, match=rf"{component}/cfg .*{key}"):
                pipe.from_disk(path.parent, exclude=["vocab"])
            with pytest.raises(UnreadableFile, match=rf"cfg .*{key}"):
                pipe.from_bytes(
                    srsly.msgpack_dumps({"cfg": path.read_bytes()}), exclude=["vocab", "model"]
                )
            assert pipe.cfg == former
        if key != "labels":  # what's missing is as in the config
            srsly.write_json(path, {name: former[name] for name in former if name != key})
            pipe.from_disk(path.parent, exclude=["vocab"])
    srsly.write_json(path, {**former, "of_another_version": 5})  # spaCy's own had other settings
    spacy.load(tmp_path)


@pytest.mark.parametrize(("pipeline", "component"), COMPONENTS[:3])
def test_attrs_of_another_type_in_a_model_are_refused(
    pipeline: str, component: str, tmp_path: Path
) -> None:
    pipe = saved_component(pipeline, tmp_path).get_pipe(component)
    path = tmp_path / component / "model"
    message = srsly.msgpack_loads(path.read_bytes())
    tried = 0
    for attrs, node in zip(message["attrs"], pipe.model.walk(), strict=True):
        own = dict(attrs)
        for name in node.attrs:
            for value in (numpy.ones(2), numpy.array(7), "x", [1]):
                tried += 1
                attrs[name] = srsly.msgpack_dumps(value)
                path.write_bytes(srsly.msgpack_dumps(message))
                named = f"{component}/model .*'{re.escape(node.name)}'"
                with pytest.raises(UnreadableFile, match=named):
                    pipe.from_disk(path.parent, exclude=["vocab"])
            attrs.clear()
            attrs.update(own)
    assert tried >= 4


@pytest.mark.filterwarnings("ignore")
def test_damaged_vectors_are_refused_by_path(tmp_path: Path) -> None:
    for name in ("compressed", "meta_vectors"):
        shutil.copytree(SAVED / name, tmp_path / name)
        vocab = tmp_path / name / "vocab"
        for path in sorted(vocab.iterdir()):
            if path.stat().st_size:
                check_damage(path, lambda vocab=vocab: read_table(vocab), vocab)
                check_damage(path, lambda vocab=vocab: load_vectors(vocab), vocab)
    lookups = vocab / "lookups.bin"
    check_damage(lookups, lambda: read_kept_table("second", vocab), vocab, 40)


@pytest.mark.filterwarnings("ignore")
def test_damaged_corpora_configs_and_tables_are_refused_by_path(tmp_path: Path) -> None:
    corpus, tables, config = (tmp_path / name for name in ("a.spacy", "tables", "config.cfg"))
    write_corpora(tmp_path, {"a": DocBin(docs=make_docs())})
    check_damage(corpus, lambda: list(read_docs(corpus, Vocab())), corpus, 40)
    keys = numpy.arange(5, dtype="uint64")
    write_tables(tables, Tables({"NORM": Table(keys, keys)}))
    check_damage(tables, lambda: read_tables(tables), tables, 40)
    shutil.copyfile(SAVED / "recommended" / "config.cfg", config)
    check_damage(config, lambda: pipeline_of_config(config), config, 40)


# Counts that decide how much is allocated


def test_counts_of_keys_are_checked_before_they_are_repeated() -> None:
    good = pack_keys(SortedKeys.of({key * 2**40: key for key in range(1, 2000)}))
    assert list(unpack_keys(good)) == [key * 2**40 for key in range(1, 2000)]
    counts, ends, rows, last = (good[name] for name in ("counts", "ends", "rows", "last"))
    huge, negative = counts.astype("int64"), counts.astype("int64")
    huge[0] = 2**62
    negative[:2] = -1, counts[0] + counts[1] + 1
    for change in (
        {"counts": huge},
        {"counts": negative},
        {"counts": counts[1:]},
        {"counts": numpy.array([3 * 10**8]), "ends": numpy.zeros((2, 7), "uint8")},
        {"counts": numpy.array([2**63, 2**63] + [0] * 254, "uint64")},
        {"counts": counts.astype("float32")},
        {"ends": ends[1:]},
        {"ends": ends[::-1]},
        {"ends": numpy.zeros((len(ends), 9), "uint8")},
        {"ends": numpy.zeros((len(ends), 0), "uint8")},
        {"rows": rows[1:]},
        {"rows": rows.astype("int64") - 5},
        {"rows": rows.astype("int64") + 2**31},
        {"last": last[1:]},
        {"last": "last"},
    ):
        with pytest.raises(ValueError, match=r"keys|counts|rows|arrays"):
            unpack_keys({**good, **change})


def test_header_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    for name in ("compressed", "meta_vectors"):
        shutil.copytree(SAVED / name, tmp_path / name)
        path = tmp_path / name / "vocab" / "vectors"
        data = path.read_bytes()
        start = data.index(b"'shape': (") + len("'shape': (")
        end = data.index(b",", start)
        huge = data[:start] + b"9" * (end - start + 8) + data[end:]
        path.write_bytes(huge.replace(b" " * 8 + b"\n", b"\n", 1))
        with pytest.raises(ValueError, match=r"vocab/vectors \(.*promises"):
            read_table(tmp_path / name)


# The disk


@pytest.fixture(scope="module")
def writers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[Path], object]]:
    nlp = spacy.load(SAVED / "compressed")
    path = tmp_path_factory.mktemp("vectors") / "in.txt"
    path.write_text("".join(f"word{number}a {number} 0.{number}\n" for number in range(200)))
    table = read_table(path)
    keys = numpy.arange(50, dtype="uint64")
    bins = DocBin(docs=make_docs(5))
    return {
        "pipeline": lambda path: write_pipeline(nlp, path),
        "table": lambda path: write_table(path, table),
        "text.txt": lambda path: write_table(path, table),
        "text.txt.gz": lambda path: write_table(path, table),
        "tables": lambda path: write_tables(path, Tables({"NORM": Table(keys, keys)})),
        "bytes": lambda path: write_bytes(path, bytes(1000)),
        "x.json": lambda path: write_json(path, list(range(100))),
        "x.spacy": lambda path: write_corpora(path.parent, {"x": bins}),
    }


@pytest.mark.parametrize(
    "name", "pipeline table text.txt text.txt.gz tables bytes x.json x.spacy".split()
)
def test_errors_of_the_disk_name_the_target(
    name: str, writers: dict[str, Callable[[Path], object]], tmp_path: Path
) -> None:
    target = tmp_path / "deep" / name
    with full_disk(), pytest.raises(OSError) as full:  # noqa: PT011
        writers[name](target)
    assert str(target.parent) in str(full.value) and STAGING not in str(full.value)
    assert list(target.parent.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=f"{tmp_path}/file"):
        writers[name](tmp_path / "file" / "deep" / name)
    if name not in ("pipeline", "table"):
        target.mkdir()
        with pytest.raises(OSError, match=f"{target}'") as is_folder:
            writers[name](target)
        assert STAGING not in str(is_folder.value)


def test_compressing_to_a_full_disk_names_the_folder(tmp_path: Path) -> None:
    nlp = spacy.load(SAVED / "compressed")
    write_pipeline(nlp, tmp_path / "out")
    with full_disk(2000), pytest.raises(OSError, match=f"{tmp_path}"):
        compress(nlp, tmp_path / "new")


def test_errors_of_reading_keep_the_path(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    with pytest.raises(FileNotFoundError, match="tables"):
        read_tables(tmp_path / "tables")
    write_json(tmp_path / "x.json", srsly.read_json(SAVED / "recommended" / "meta.json"))
    assert (tmp_path / "x.json").is_file()
