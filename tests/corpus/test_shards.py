"""Folders of shards, and the docs of a shard."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from spacy_multihash.common.lines import Account
from spacy_multihash.corpus.shards import (
    choose_shards,
    list_shards,
    not_counted,
    read_bare_shard,
    read_shard,
)

NLP = spacy.blank("en")
TEXTS = ["Anna left .", "", "Bob met Anna ."]


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".spacy":
        DocBin(docs=map(NLP.make_doc, TEXTS)).to_disk(path)
        return path
    lines = [srsly.json_dumps({"text": text}) if ".jsonl" in path.name else text for text in TEXTS]
    data = "".join(f"{line}\n" for line in lines).encode("utf8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("ending", [".spacy", ".jsonl", ".jsonl.gz", ".txt", ".txt.gz"])
def test_docs_of_a_shard_are_streamed(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"one{ending}")
    docs = list(read_shard(path, NLP))
    assert [doc.text for doc in docs] == TEXTS
    assert docs[0].vocab is NLP.vocab
    made: list[str] = []

    def make_doc(text: str) -> Doc:
        made.append(text)
        return NLP.tokenizer(text)

    counting = spacy.blank("en")
    counting.make_doc = make_doc  # type: ignore[method-assign]
    assert [doc.text for doc, _ in read_bare_shard(Account(path), counting)] == TEXTS
    assert made == TEXTS  # cut into tokens once


def test_lines_of_json_give_what_is_no_annotation(tmp_path: Path) -> None:
    line = {"id": 7, "text": "Anna", "spans": [], "answer": "accept", "meta": {"source": ["a"]}}
    srsly.write_jsonl(tmp_path / "one.jsonl", [line, {"text": ""}])
    (tmp_path / "two.txt").write_text("Anna\n")
    DocBin(docs=[NLP("Anna")]).to_disk(tmp_path / "three.spacy")
    for name, rests in {
        "one.jsonl": [{"id": 7, "meta": {"source": ["a"]}}, {}],
        "two.txt": [{}],
        "three.spacy": [{}],
    }.items():
        assert [rest for _, rest in read_bare_shard(Account(tmp_path / name), NLP)] == rests


def test_shards_are_listed_by_name_and_hidden_ones_left_out(tmp_path: Path) -> None:
    names = ["b.txt", "a/2.jsonl", "a/10.txt.gz", "a.spacy", ".hidden.txt", ".folder/x.txt"]
    for name in names:
        write(tmp_path / name)
    for name in ("UP.TXT", "a.md", "b.md", "none", "text.gz", ".hidden.md"):
        (tmp_path / name).touch()
    found, others = list_shards(tmp_path)
    listed = [path.relative_to(tmp_path).as_posix() for path in found]
    assert listed == ["a/10.txt.gz", "a/2.jsonl", "a.spacy", "b.txt"]
    assert others == {".TXT": 1, ".md": 2, "": 1, ".gz": 1}
    assert list_shards(tmp_path / "b.txt") == ([tmp_path / "b.txt"], {})
    chosen, left = choose_shards(tmp_path)
    assert chosen == [tmp_path / "a.spacy"] and len(left) == 3
    assert "a/10.txt.gz" in not_counted(left) and "more" not in not_counted(left)
    assert not_counted([*left, "x"]).endswith("b.txt, and 1 more")
    (tmp_path / "a.spacy").unlink()
    assert [path.name for path in choose_shards(tmp_path)[0]] == ["10.txt.gz", "2.jsonl", "b.txt"]


def test_link_is_followed_unless_it_leads_to_the_corpus(tmp_path: Path) -> None:
    write(tmp_path / "disk" / "one.txt")
    corpus = tmp_path / "corpus"
    (corpus / "b").mkdir(parents=True)
    (corpus / "a").symlink_to(tmp_path / "disk")
    assert list_shards(corpus) == ([corpus / "a" / "one.txt"], {})
    for target in (".", "b"):
        (corpus / "c").symlink_to(corpus / target)
        with pytest.raises(ValueError, match="is the same folder as .* would count more than once"):
            list_shards(corpus)
        (corpus / "c").unlink()


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_file_that_is_linked_counts_once(tmp_path: Path, link: Callable[..., None]) -> None:
    link(tmp_path / "two.txt", write(tmp_path / "one.txt"))
    with pytest.raises(ValueError, match="is the same file as .* would count more than once"):
        list_shards(tmp_path)
    (tmp_path / "two.txt").rename(tmp_path / "two.md")  # not a shard
    assert list_shards(tmp_path) == ([tmp_path / "one.txt"], {".md": 1})


def test_folder_without_shards_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(FileNotFoundError, match=r"no corpus at .*: expected a \.spacy or"):
            list_shards(path)
    with pytest.raises(FileNotFoundError, match=r"test_shards\.py isn't a \.spacy or .* file"):
        list_shards(Path(__file__))

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        list_shards(tmp_path)


DAMAGED = DocBin(docs=map(NLP.make_doc, TEXTS))
DAMAGED.spaces[2] = DAMAGED.spaces[2][:1]


@pytest.mark.parametrize(
    ("name", "data", "number", "expected"),
    [
        ("one.jsonl", b'{"text": "a"}\n\n{"tex', 1, "jsonl:3: expected a JSON object"),
        ("one.jsonl", b'{"text": "a"}\n{"body": "b"}', 1, 'jsonl:2: no "text" in the line'),
        ("one.txt", b"Anna left\n\xff\n", 1, "txt:2: expected UTF-8, got byte 0xff"),
        ("one.txt", b"a\n" + b"b" * 1_000_001, 1, "txt:2: expected a text of at most"),
        ("one.txt.gz", gzip.compress(b"a\n" * 9)[:-6], 9, "txt.gz is .* damaged after line 9"),
        ("one.txt.gz", b"", 0, "txt.gz is .* damaged after line 0 .it has no bytes"),
        ("one.spacy", b"\x00\x01", 0, "spacy .*E1014"),
        ("one.spacy", DAMAGED.to_bytes(), 2, "spacy, document 3 "),
    ],
)
def test_damage_is_told_with_file_and_line_when_it_is_reached(
    tmp_path: Path, name: str, data: bytes, number: int, expected: str
) -> None:
    (tmp_path / name).write_bytes(data)
    docs = read_shard(tmp_path / name, NLP)
    for _ in range(number):
        next(docs)
    with pytest.raises(ValueError, match=f"one.{expected}"):
        next(docs)


def test_doc_that_is_too_long_is_numbered(tmp_path: Path) -> None:
    narrow = spacy.blank("en")
    narrow.max_length = 12
    docs = read_bare_shard(Account(write(tmp_path / "one.spacy")), narrow)
    assert [next(docs)[0].text for _ in range(2)] == TEXTS[:2]
    with pytest.raises(ValueError, match="one.spacy: document 3: expected a .* at most 12 .* 14"):
        next(docs)
