"""Reading a corpus: what is wrong with it shows where it is asked for."""

import gc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_multihash.corpus.read import model_docs, read_docs
from tests.helpers.corpora import make_docs, write_corpus

Read = Callable[[Path], Iterator[Doc]]
READERS: dict[str, Read] = {
    "read_docs": lambda path: read_docs(path, spacy.blank("en").vocab),
    "model_docs": lambda path: model_docs(spacy.blank("en"), path),
}
every_reader = pytest.mark.parametrize("read", list(READERS.values()), ids=list(READERS))


@every_reader
def test_corpus_that_is_missing_is_refused_at_the_call(read: Read, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no corpus at .*none.spacy"):
        read(tmp_path / "none.spacy")


@every_reader
def test_file_of_another_format_is_to_be_converted(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "my.conll"
    path.write_text("Anna B-PER\n")
    for where in (path, tmp_path):
        with pytest.raises(FileNotFoundError, match="expected a .spacy file.* multihash convert"):
            read(where)


@every_reader
def test_corpus_without_docs_is_refused_at_the_call(read: Read, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_corpus(tmp_path / f"{name}.spacy", [])
    for path in (tmp_path, tmp_path / "one.spacy"):
        with pytest.raises(ValueError, match="has no documents"):
            read(path)


@every_reader
@pytest.mark.parametrize("data", [b"", b"{}", zlib.compress(b"\xc1")], ids=["empty", "JSON", "map"])
def test_file_that_is_no_corpus_is_refused_at_the_call(
    read: Read, data: bytes, tmp_path: Path
) -> None:
    (tmp_path / "x.spacy").write_bytes(data)
    with pytest.raises(ValueError, match="x.spacy is cut off, or no .spacy file at all"):
        read(tmp_path / "x.spacy")
    assert gc.isenabled()


@every_reader
def test_files_are_opened_as_they_are_read(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_disk, opened = DocBin.from_disk, []

    def counted(self: DocBin, path: Any) -> DocBin:
        opened.append(path.name)
        return from_disk(self, path)

    monkeypatch.setattr(DocBin, "from_disk", counted)
    docs = make_docs()
    for name, part in {"a": [], "b": docs[:1], "c": docs[1:]}.items():
        write_corpus(tmp_path / f"{name}.spacy", part)
    found = read(tmp_path)
    assert {"b.spacy", "c.spacy"} - set(opened)  # in whatever order
    assert {doc.text for doc in found} == {doc.text for doc in docs}
    assert sorted(opened) == ["a.spacy", "b.spacy", "c.spacy"]


@every_reader
def test_damage_of_a_later_file_is_named(read: Read, tmp_path: Path) -> None:
    write_corpus(tmp_path / "whole.spacy", make_docs())
    (tmp_path / "x.spacy").write_bytes(b"{}")
    with pytest.raises(ValueError, match="x.spacy is cut off"):
        list(read(tmp_path))
