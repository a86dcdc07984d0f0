"""Folders of shards, and the docs of a shard."""

import gzip
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_multihash.corpus.shards import list_shards, read_bare_shard, read_shard, split_shards

TEXTS = ["Anna left .", "", "Bob met Anna ."]


@pytest.fixture(scope="module")
def nlp() -> Language:
    return spacy.blank("en")


def write(path: Path, nlp: Language) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".spacy":
        DocBin(docs=map(nlp.make_doc, TEXTS)).to_disk(path)
    elif path.suffix == ".jsonl":
        srsly.write_jsonl(path, [{"text": text, "meta": {"id": 3}} for text in TEXTS])
    else:
        lines = [
            srsly.json_dumps({"text": text}) if ".jsonl" in path.name else text for text in TEXTS
        ]
        data = "".join(f"{line}\n" for line in lines).encode("utf8")
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("ending", [".spacy", ".jsonl", ".jsonl.gz", ".txt", ".txt.gz"])
def test_docs_of_a_shard_are_streamed(tmp_path: Path, nlp: Language, ending: str) -> None:
    docs = list(read_shard(write(tmp_path / f"one{ending}", nlp), nlp))
    assert [doc.text for doc in docs] == TEXTS
    assert docs[0].vocab is nlp.vocab


def test_lines_of_json_give_what_is_no_annotation(tmp_path: Path, nlp: Language) -> None:
    line = {"id": 7, "text": "Anna", "spans": [], "answer": "accept", "meta": {"source": ["a"]}}
    srsly.write_jsonl(tmp_path / "one.jsonl", [line, {"text": ""}])
    (tmp_path / "two.txt").write_text("Anna\n")
    DocBin(docs=[nlp("Anna")]).to_disk(tmp_path / "three.spacy")
    assert [rest for _, rest in read_bare_shard(tmp_path / "one.jsonl", nlp)] == [
        {"id": 7, "meta": {"source": ["a"]}},
        {},
    ]
    for name in ("two.txt", "three.spacy"):
        assert [rest for _, rest in read_bare_shard(tmp_path / name, nlp)] == [{}]


def test_docs_of_a_spacy_file_have_their_annotation(tmp_path: Path, nlp: Language) -> None:
    doc = Doc(nlp.vocab, ["Anna", "left"], ents=["B-PER", "O"])
    DocBin(docs=[doc]).to_disk(tmp_path / "one.spacy")
    (read,) = read_shard(tmp_path / "one.spacy", nlp)
    assert [ent.label_ for ent in read.ents] == ["PER"]


@pytest.mark.parametrize("ending", [".spacy", ".jsonl", ".txt"])
def test_texts_are_cut_into_tokens_once(ending: str, tmp_path: Path, nlp: Language) -> None:
    path, cut = write(tmp_path / f"one{ending}", nlp), []

    def make_doc(text: str) -> Doc:
        cut.append(text)
        return nlp.tokenizer(text)

    counting = spacy.blank("en")
    counting.make_doc = make_doc  # type: ignore[method-assign]
    assert [doc.text for doc, _ in read_bare_shard(path, counting)] == TEXTS
    assert cut == TEXTS


@pytest.mark.parametrize("ending", [".spacy", ".txt"])
def test_doc_that_is_too_long_is_numbered(ending: str, tmp_path: Path, nlp: Language) -> None:
    path = write(tmp_path / f"one{ending}", nlp)
    narrow = spacy.blank("en")
    narrow.max_length = 12
    docs = (doc for doc, _ in read_bare_shard(path, narrow))
    assert [next(docs).text, next(docs).text] == TEXTS[:2]
    where = "one.spacy: document 3" if ending == ".spacy" else "one.txt:3"
    with pytest.raises(ValueError, match=rf"{where}: expected a text of at most 12 .* found 14"):
        next(docs)


def test_lines_are_read_one_at_a_time(tmp_path: Path, nlp: Language) -> None:
    path = tmp_path / "one.txt"
    path.write_bytes(b"Anna left\n\xff\n")
    docs = read_shard(path, nlp)
    assert next(docs).text == "Anna left"
    with pytest.raises(ValueError, match="one.txt:2: expected UTF-8, found byte 0xff"):
        next(docs)


def test_shards_are_listed_by_name_and_hidden_ones_left_out(tmp_path: Path, nlp: Language) -> None:
    names = ["b.txt", "a/2.jsonl", "a/10.txt.gz", "a.spacy", ".hidden.txt", ".folder/x.txt"]
    for name in names:
        write(tmp_path / name, nlp)
    (tmp_path / "notes.md").write_text("no shard")
    (tmp_path / "text.gz").write_text("no shard")
    found = [path.relative_to(tmp_path).as_posix() for path in list_shards(tmp_path)]
    assert found == ["a/10.txt.gz", "a/2.jsonl", "a.spacy", "b.txt"]


def test_files_that_are_no_shards_are_counted_by_ending(tmp_path: Path, nlp: Language) -> None:
    shard = write(tmp_path / "one.txt", nlp)
    for name in ("UP.TXT", "a.md", "b.md", "none", ".hidden.md"):
        (tmp_path / name).touch()
    assert split_shards(tmp_path) == ([shard], {".TXT": 1, ".md": 2, "": 1})


@pytest.mark.parametrize("target", [".", "a"])
def test_link_to_a_folder_of_the_corpus_is_refused(
    tmp_path: Path, nlp: Language, target: str
) -> None:
    write(tmp_path / "corpus" / "a" / "one.txt", nlp)
    (tmp_path / "corpus" / "b").symlink_to(tmp_path / "corpus" / target)
    with pytest.raises(ValueError, match="is the same folder as .* would count more than once"):
        list_shards(tmp_path / "corpus")


def test_link_to_another_folder_is_followed(tmp_path: Path, nlp: Language) -> None:
    write(tmp_path / "disk" / "one.txt", nlp)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a").symlink_to(tmp_path / "disk")
    assert list_shards(tmp_path / "corpus") == [tmp_path / "corpus" / "a" / "one.txt"]


def test_one_file_is_one_shard(tmp_path: Path, nlp: Language) -> None:
    path = write(tmp_path / "one.txt", nlp)
    assert list_shards(path) == [path]


def test_folder_without_shards_is_refused(tmp_path: Path) -> None:
    expected = r"There are no shards at .*: expected a folder with files that end in \.spacy"
    for path in (tmp_path, tmp_path / "missing", Path(__file__)):
        with pytest.raises(FileNotFoundError, match=expected):
            list_shards(path)


def test_folder_that_cannot_be_listed_is_told(
    tmp_path: Path, nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "one.txt", nlp)

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(PermissionError, match="Permission denied"):
        list_shards(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("one.jsonl", b'{"text": "a"}\n\n{"tex', r"one\.jsonl:3: expected a JSON object"),
        ("one.jsonl", b'{"text": "a"}\n{"body": "b"}\n', r'one\.jsonl:2: expected a string as "t'),
        (
            "one.txt.gz",
            gzip.compress(b"a\n" * 9, mtime=0)[:-6],
            r"one\.txt\.gz is cut off or damaged",
        ),
        ("one.txt.gz", b"", r"one\.txt\.gz is cut off or damaged after line 0 \(it has no bytes"),
        ("one.spacy", b"\x00\x01", r"one\.spacy is cut off, or no \.spacy file"),
        ("one.txt", b"a\n" + b"b" * 1_000_001, r"one\.txt:2: expected a text of at most"),
        ("one.csv", b"a,b\n", r"one\.csv is no shard: expected a file that ends in \.spacy"),
    ],
)
def test_damage_is_told_with_file_and_line(
    tmp_path: Path, nlp: Language, name: str, data: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=expected):
        list(read_shard(tmp_path / name, nlp))


def test_damaged_document_is_told_with_its_number(tmp_path: Path, nlp: Language) -> None:
    doc_bin = DocBin(docs=map(nlp.make_doc, TEXTS))
    doc_bin.spaces[2] = doc_bin.spaces[2][:1]
    doc_bin.to_disk(tmp_path / "one.spacy")
    docs = read_shard(tmp_path / "one.spacy", nlp)
    assert [next(docs).text, next(docs).text] == TEXTS[:2]
    with pytest.raises(ValueError, match=r"one\.spacy: document 3 is damaged"):
        next(docs)
