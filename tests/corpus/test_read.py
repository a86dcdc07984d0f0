import gc
import zlib
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_multihash.corpus.contexts import pipe_with_contexts
from spacy_multihash.corpus.read import read_docs
from tests.helpers.corpora import make_docs, write_corpus

VOCAB = spacy.blank("en").vocab


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("none.spacy", None, FileNotFoundError, "There is no corpus at .*none.spacy"),
        ("my.conll", b"Anna B-PER\n", FileNotFoundError, "(?s)a .spacy file.* convert .*my.conll"),
        (".", None, FileNotFoundError, "expected a .spacy file, or a folder of them"),
        ("x.spacy", b"", ValueError, "Cannot read .*x.spacy"),
        ("x.spacy", b"{}", ValueError, "Cannot read .*x.spacy"),
        ("x.spacy", zlib.compress(b"\xc1"), ValueError, "Cannot read .*x.spacy"),
        ("x.spacy", DocBin().to_bytes(), ValueError, "x.spacy has no documents"),
    ],
)
def test_what_is_no_corpus_is_refused_at_the_call(
    name: str, data: bytes | None, error: type[Exception], message: str, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    gc.enable()  # another test's damaged file may have left it off
    with pytest.raises(error, match=message):
        read_docs(tmp_path / name, VOCAB)
    assert gc.isenabled()


def test_files_are_opened_as_they_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    from_disk, opened = DocBin.from_disk, []

    def counted(self: DocBin, path: Any) -> DocBin:
        opened.append(path.name)
        return from_disk(self, path)

    monkeypatch.setattr(DocBin, "from_disk", counted)
    docs = make_docs()
    for name, part in {"a": [], "b": docs[:1], "c": docs[1:]}.items():
        write_corpus(tmp_path / f"{name}.spacy", part)
    found = read_docs(tmp_path, VOCAB)
    assert {"b.spacy", "c.spacy"} - set(opened)  # in whatever order
    assert {doc.text for doc in found} == {doc.text for doc in docs}
    assert sorted(opened) == ["a.spacy", "b.spacy", "c.spacy"]


def test_damage_of_a_later_file_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "whole.spacy", make_docs())
    (tmp_path / "x.spacy").write_bytes(b"{}")
    with pytest.raises(ValueError, match="Cannot read .*x.spacy"):
        list(read_docs(tmp_path, VOCAB))


@Language.component("replaces_docs_and_fails_at_bob_for_tests")
def replace_docs(doc: Doc) -> Doc:
    if doc.text == "Bob":
        raise ValueError("no")
    return Doc(doc.vocab, words=[doc.text.lower()])


def test_replaced_docs_keep_their_contexts_unless_others_are_dropped() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("replaces_docs_and_fails_at_bob_for_tests")
    nlp.set_error_handler(lambda *error: None)
    pairs = [(nlp.make_doc(text), text) for text in ("Anna", "Rome", "Bob")]
    found = [(doc.text.strip(), text) for doc, text in pipe_with_contexts(nlp, pairs[:2], "Here")]
    assert found == [("anna", "Anna"), ("rome", "Rome")]
    with pytest.raises(ValueError, match="Here: a component .* left out 1"):
        list(pipe_with_contexts(nlp, pairs, "Here"))
