"""Files are written whole or not at all."""

from pathlib import Path

import pytest
from spacy.tokens import DocBin

from spacy_multihash.common.files import write_bytes, write_json
from spacy_multihash.corpus.read import read_docs, write_corpora
from tests.helpers.corpora import make_docs


def fail(*args: object) -> None:
    raise OSError("disk full")


def test_a_file_that_cannot_be_written_leaves_the_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "file"
    write_bytes(path, b"before")
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


def test_a_value_that_is_no_json_leaves_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"before": 1})
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(path, {"after": object})
    assert path.read_text("utf8") == '{\n  "before":1\n}\n'


def test_corpora_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = make_docs()
    write_corpora(tmp_path, {"one": DocBin(docs=docs[:1])})
    monkeypatch.setattr(DocBin, "to_disk", fail)
    with pytest.raises(OSError, match="disk full"):
        write_corpora(tmp_path, {"one": DocBin(docs=docs), "two": DocBin(docs=docs)})
    assert [path.name for path in tmp_path.iterdir()] == ["one.spacy"]
    assert len(list(read_docs(tmp_path, docs[0].vocab))) == 1


def test_a_folder_of_files_is_one_corpus(tmp_path: Path) -> None:
    docs = make_docs()
    bins = {name: DocBin(docs=docs[i : i + 1]) for i, name in enumerate(("a", "b/c"))}
    (tmp_path / "b").mkdir()
    for name, doc_bin in bins.items():
        doc_bin.to_disk(tmp_path / f"{name}.spacy")
    texts = {doc.text for doc in read_docs(tmp_path, docs[0].vocab)}
    assert texts == {doc.text for doc in docs[:2]}
