"""Corpora in shards: commands count them alike in this process, on workers, and as one file."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from spacy_multihash import read_tables
from tests.helpers.cli import invoke, ok, said
from tests.helpers.corpora import CALLBACK, HASH, LOOKUP, make_docs, small_config, write_corpus
from tests.helpers.pipelines import TEXTS, add_embedding, two_textcats

CODE = """
from spacy.util import registry

@registry.callbacks("pieces_of_tests.v1")
def make():
    return lambda language: language
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model, a config, and a corpus: in shards with gold entities, and of all kinds."""
    folder = tmp_path_factory.mktemp("pieces")
    nlp = two_textcats()
    embed: dict[str, Any] = {**HASH, "attrs": ["NORM", "LOWER{2,3}"]}
    add_embedding(nlp, "tok2vec", embed | {"width": 16})
    nlp.initialize()
    nlp.to_disk(folder / "model")
    (folder / "code.py").write_text(CODE)
    config = small_config(folder / "none.spacy", LOOKUP, **CALLBACK)
    config["nlp"]["before_creation"] = {"@callbacks": "pieces_of_tests.v1"}
    config.to_disk(folder / "config.cfg")

    docs = [*make_docs(), *(Doc(nlp.vocab, words=text.split()) for text in TEXTS)]
    write_all(folder / "gold", [docs[:2], docs[2:3], [], docs[3:7], docs[7:]])
    write_all(folder / "dev", [docs[:3], docs[4:5]])
    write_corpus(folder / "gold.spacy", docs)
    write_corpus(folder / "dev.spacy", [*docs[:3], *docs[4:5]])
    texts = write_all(folder / "texts", [])
    (texts / "1.txt").write_text("\n".join(TEXTS[:2]))
    with gzip.open(texts / "2.txt.gz", "wt") as file_:
        file_.write("\n".join(TEXTS[2:4]))
    (texts / "3.jsonl").write_text(json.dumps({"text": TEXTS[4]}) + "\n")
    return folder


def write_all(folder: Path, shards: Sequence[list[Doc]]) -> Path:
    folder.mkdir()
    for i, docs in enumerate(shards):
        write_corpus(folder / f"{i}.spacy", docs)
    return folder


def counted(command: str, *args: Any) -> str:
    return ok(command, *args).stdout


def run_init_tables(folder: Path, data: str, *options: str) -> bytes:
    output = folder / "out.tables"
    args = (folder / "config.cfg", output, "--shards", folder / data, "--code", folder / "code.py")
    counted("init-tables", *args, "--force", *options)
    return output.read_bytes()


def run_corpus_stats(folder: Path, data: str, *options: str) -> bytes:
    output, dev = folder / "out.json", folder / data.replace("gold", "dev")
    args = (folder / data, dev, "--lang", "en", "--output", output, "--force")
    attrs = ("--attrs", "NORM,LOWER[:2]", "--code", folder / "code.py")
    counted("corpus-stats", *args, *attrs, *options)
    return output.read_bytes()


RUNS = [run_init_tables, run_corpus_stats]
Run = Callable[..., bytes]


@pytest.mark.parametrize("run", RUNS)
def test_shards_are_counted_as_one_file(run: Run, folder: Path) -> None:
    assert run(folder, "gold") == run(folder, "gold.spacy")


@pytest.mark.parametrize(("run", "data"), [(run_init_tables, "texts"), (run_corpus_stats, "gold")])
def test_workers_count_what_one_process_does(
    run: Run, data: str, folder: Path, scheduler: str
) -> None:
    assert run(folder, data, "--dask", scheduler) == run(folder, data)


@pytest.mark.parametrize("run", RUNS)
def test_what_is_loaded_anew_counts_the_same(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = run(folder, "dev")
    monkeypatch.setattr("spacy_multihash.scale.source.MAX_GROWTH", -1)
    assert run(folder, "dev") == once


def test_rare_symbols_are_cut_when_all_shards_are_counted(tmp_path: Path) -> None:
    vocab = spacy.blank("en").vocab
    shards = [[Doc(vocab, words=["often", f"w{i}"])] for i in range(10)]
    small_config(tmp_path / "none.spacy", LOOKUP, **CALLBACK).to_disk(tmp_path / "config.cfg")
    folder = write_all(tmp_path / "shards", shards)
    args = (tmp_path / "config.cfg", tmp_path / "out", "--shards", folder, "--min-freq", 10)
    counted("init-tables", *args)
    tables = read_tables(tmp_path / "out").tables
    assert tables["NORM"].keys.tolist() == [vocab.strings["often"]]
    assert tables["NORM"].counts.tolist() == [10]


# Bad input


def make_others(folder: Path) -> None:
    folder.mkdir()
    (folder / "notes.pdf").write_text("Anna")


def make_damaged(folder: Path) -> None:
    write_all(folder, [make_docs()])
    (folder / "1.spacy").write_bytes(b"Anna")


def make_blank(folder: Path) -> None:
    write_all(folder, [[]])


DAMAGED = r"1\.spacy failed: UnreadableFile: Cannot read .*1\.spacy"


@pytest.mark.parametrize(
    ("run", "make", "message"),
    [
        (run_init_tables, Path.mkdir, "There is no corpus at .* or a folder of them"),
        (run_corpus_stats, make_others, "There is no corpus at"),
        (run_init_tables, make_damaged, DAMAGED),
        *((run, make_blank, "no tokens|no documents") for run in RUNS),
    ],
)
def test_a_bad_folder_is_one_clear_error(
    run: Run, make: Callable[[Path], None], message: str, folder: Path, tmp_path: Path
) -> None:
    make(tmp_path / "gold")
    for name in ("model", "config.cfg", "code.py", "dev"):
        (tmp_path / name).symlink_to(folder / name)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(AssertionError, match=message):
        run(tmp_path, "gold")
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == before  # of --code


def test_texts_are_counted_and_lack_annotations(folder: Path) -> None:
    result = ok("corpus-stats", folder / "texts", folder / "texts" / "1.txt")
    assert "No annotations in train, dev: only texts are counted." in said(result)
    assert "documents 5 2 tokens" in said(result)
    assert "entities" not in said(result)
    mixed = said(invoke("corpus-stats", folder / "gold", folder / "texts"))
    assert "No annotations in dev: only texts" in mixed
    assert "No entities in" not in mixed and "Missing annotation of entities in dev" not in mixed
    assert "Seen and unseen entities" in mixed
