"""Corpora of one's own: CoNLL, JSON lines and CSV as docs."""

import gzip
import json
import re
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import iob_to_biluo

from spacy_multihash.common.lines import clean
from spacy_multihash.corpus.alignment import (
    NO_TEXT,
    NOT_ALIGNED,
    OUT_OF_TEXT,
    OVERLAP,
    TRIMMED,
    WRONG_TEXT,
)
from spacy_multihash.corpus.conll import UNREAD, Record, cut_records, to_iob2
from spacy_multihash.corpus.sources import (
    GLUED,
    NO_WORDS,
    NOT_ACCEPTED,
    NOT_ANNOTATED,
    ODD_TAG,
    Reading,
    Source,
    guess_format,
    read_source,
)
from spacy_multihash.corpus.splits import split_items

NLP = spacy.blank("en")


def write(folder: Path, content: str, name: str = "my.conll") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf8", newline="")
    return path


def read(folder: Path, content: str, name: str = "my.conll", **settings: Any) -> Source:
    return read_source(write(folder, content, name), Reading(**settings))


def read_json(folder: Path, *records: Any, **settings: Any) -> Source:
    lines = "".join(f"{srsly.json_dumps(record)}\n" for record in records)
    return read(folder, lines, "my.jsonl", **settings)


def docs_of(source: Source) -> list[Doc]:
    return [source.make_doc(item, NLP) for item in source.items]


def groups(source: Source) -> list[str]:
    return [item.group for item in source.items]


def words(doc: Doc) -> list[str]:
    return [token.text for token in doc]


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def labels(doc: Doc) -> list[str]:
    return [label for label, share in doc.cats.items() if share]


# Tokens with tags


CONLL = "EU B-ORG\nrejects O\n\nAnna B-PER\nPaz I-PER\n"
DOCUMENTS = f"-DOCSTART- O\n\n{CONLL}\n-DOCSTART- O\n\nRome B-LOC\n"


@pytest.mark.parametrize(
    ("docs", "expected"), [(None, [4, 1]), ("documents", [4, 1]), ("sentences", [2, 2, 1])]
)
def test_docstart_is_no_token_and_ends_a_document(
    tmp_path: Path, docs: str | None, expected: list[int]
) -> None:
    found = docs_of(read(tmp_path, DOCUMENTS, docs=docs))
    assert [len(doc) for doc in found] == expected
    assert sum(len(list(doc.sents)) for doc in found) == 3


# A file of the tokens "EU won", and the layout that it has.
FORMS: list[tuple[str, dict[str, int]]] = [
    ("EU NNP B-NP B-ORG\nwon V O O\n", {}),
    ("EU\tNNP\tB-NP\tB-ORG\nwon\tV\tO\tO\n", {}),
    ("EU   NNP B-NP   B-ORG \nwon V  O O\r\n", {}),
    ("1\tEU\tB-ORG\t_\n2\twon\tO\t_\n", {"token_column": 2, "tag_column": 3}),
    ("1\tEU\tB-ORG\t_\n2\twon\tO\t_\n", {"token_column": -3, "tag_column": -2}),
    ("# a comment\n1\tEU\tB-ORG\n2\twon\tO\n", {"token_column": 2}),
    ("EU\tB-ORG\t\nwon\tO\t\n", {}),
    ("EU\tB-ORG \nwon\tO \n", {}),
    ("EU B-ORG\t\t\nwon O\n", {}),
    ("EU \tB-ORG\r\nwon\tO\t\r\n", {}),
    ("\ufeffEU   B-ORG \t \nwon   O", {}),
    ("EU|B-ORG won|O\n", {}),
    ("EU|NNP|S-ORG won|VB|O\r\n", {}),
]


@pytest.mark.parametrize(("content", "columns"), FORMS)
def test_columns_blanks_and_pipes_are_read(
    tmp_path: Path, content: str, columns: dict[str, int]
) -> None:
    (doc,) = docs_of(read(tmp_path, content, "my.iob", **columns))
    assert words(doc) == ["EU", "won"] and entities(doc) == [("EU", "ORG")]


@pytest.mark.parametrize("comment", ["#", "#\thttp://x [2009]", "# a b", "#\ta\tb\tc"])
def test_comments_are_a_mark_alone_or_with_a_space_or_tab(tmp_path: Path, comment: str) -> None:
    content = f"{comment}\n1\tEU\tB-ORG\tO\n2\t#\tO\tO\n"
    (doc,) = docs_of(read(tmp_path, content, "my", token_column=2, tag_column=3))
    assert words(doc) == ["EU", "#"] and entities(doc) == [("EU", "ORG")]


def test_lines_of_pipes_are_sentences(tmp_path: Path) -> None:
    content = "Alex|B-PER is|O going|O\nto|O Los|B-LOC Angeles|I-LOC\n|||O\n"
    docs = docs_of(read(tmp_path, content, "my"))
    expected = [["Alex", "is", "going"], ["to", "Los", "Angeles"], ["||"]]
    assert [words(doc) for doc in docs] == expected
    assert [entities(doc) for doc in docs] == [[("Alex", "PER")], [("Los Angeles", "LOC")], []]


@pytest.mark.parametrize(
    ("tags", "scheme", "expected"),
    [
        ("B-A I-A B-A O B-B", "IOB2", [(0, 2, "A"), (2, 3, "A"), (4, 5, "B")]),
        ("I-A I-A B-A O I-B", "IOB1", [(0, 2, "A"), (2, 3, "A"), (4, 5, "B")]),
        ("B-A L-A U-A O U-B", "BILUO", [(0, 2, "A"), (2, 3, "A"), (4, 5, "B")]),
        ("B-A I-A E-A O S-B", "BILUO", [(0, 3, "A"), (4, 5, "B")]),
        ("O O O O O", "IOB2", []),
        ("I-A I-B O O O", "IOB1", [(0, 1, "A"), (1, 2, "B")]),
        ("B-A M-A E-A O W-B", "BILUO", [(0, 3, "A"), (4, 5, "B")]),
    ],
)
def test_schemes_are_recognized(
    tmp_path: Path, tags: str, scheme: str, expected: list[tuple[int, int, str]]
) -> None:
    source = read(tmp_path, "".join(f"w {tag}\n" for tag in tags.split()))
    assert (source.scheme, source.account.problems) == (scheme, [])
    (doc,) = docs_of(source)
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == expected


def test_odd_tags_and_tokens_are_pointed_out(tmp_path: Path) -> None:
    source = read(tmp_path, "a B-A\nb O\n\nc I-A\nd I-B\n")
    assert source.account.problems == [(4, ODD_TAG, "'I-A'"), (5, ODD_TAG, "'I-B'")]
    assert [entities(doc) for doc in docs_of(source)] == [[("a", "A")], [("c", "A"), ("d", "B")]]
    source = read(tmp_path, "EU NNP\tB-ORG\nwon VB\tO\n")
    assert source.account.problems == [(1, GLUED, "'EU NNP'"), (2, GLUED, "'won VB'")]
    assert read(tmp_path, "EU\tB-ORG\nNew York\tO\n").account.problems == []
    source = read(tmp_path, "a O\n" * 1_001)
    assert "A sentence has 1,001 tokens" in source.account.notes[-1]
    assert "A sentence" not in "".join(read(tmp_path, "a O\n" * 1_001, docs="1000").account.notes)


@pytest.mark.parametrize("key", ["ner_tags", "tags", "labels"])
@pytest.mark.parametrize("is_array", [True, False])
def test_json_of_tokens_with_tags_is_read(tmp_path: Path, key: str, is_array: bool) -> None:
    named = ["O", "B-PER", "I-PER", "B-LOC"]
    tokens, numbers = (
        [["Anna", "Paz", "left", "Rome"], [], ["It", "rains"]],
        [[1, 2, 0, 3], [], [0, 0]],
    )
    for names in (named, None):
        tags = numbers if names else [[named[number] for number in of_doc] for of_doc in numbers]
        pairs = zip(tokens, tags, strict=True)
        lines = [json.dumps({"tokens": t, key: of_doc, "id": "0"}) for t, of_doc in pairs]
        content = f"[{', '.join(lines)}]" if is_array else "\n".join(lines)
        docs = docs_of(read(tmp_path, content, "my.json", labels=names))
        assert [entities(doc) for doc in docs] == [[("Anna Paz", "PER"), ("Rome", "LOC")], []]
        assert all(doc.has_unknown_spaces for doc in docs)


@given(
    tags=st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=1, max_size=40),
    size=st.integers(1, 12),
)
def test_documents_are_cut_to_a_size_and_keep_their_entities(tags: list[str], size: int) -> None:
    tags = to_iob2(tags, [False] * len(tags))
    record = Record()
    for i, tag in enumerate(tags):
        record.add(f"w{i}", tag, sent_start=i == 0, line=i)
    parts = list(cut_records([record], size))
    assert [word for part in parts for word in part.words] == record.words
    assert [line for part in parts for line in part.lines] == record.lines
    assert [tag for part in parts for tag in part.tags] == tags
    assert all(part.tags[0][0] != "I" and part.sent_starts[0] for part in parts)
    for part in parts:
        pieces = sum(tag[0] != "I" for tag in part.tags)
        assert len(part.words) <= size or pieces == 1  # one entity, longer than that
    # Neighbours that would fit into one are one.
    for part, after in pairwise(parts):
        first = next((i for i, t in enumerate(after.tags) if i and t[0] != "I"), len(after.tags))
        assert len(part.words) + first > size


# Texts with entities


PRODIGY = {"text": "Anna met Bob.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}
LABELLED = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
TASK = {
    "id": 1,
    "data": {"text": "Anna met Bob."},
    "annotations": [{"was_cancelled": True}, {"result": [{"value": LABELLED, "type": "labels"}]}],
    "predictions": [{"result": [{"value": {**LABELLED, "labels": ["ORG"]}}]}],
}
PAIR = ["Anna met Bob.", {"entities": [[0, 4, "PER"]]}]
RELATED = {"id": 7, "label": "PER", "start_offset": 0, "end_offset": 4}


@pytest.mark.parametrize(
    "value",
    [
        PRODIGY,
        [PRODIGY],
        {**PRODIGY, "entities": [[0, 4, "PER"]]},
        *({"text": "Anna met Bob.", key: [[0, 4, "PER"]]} for key in ("label", "labels")),
        {"text": "Anna met Bob.", "entities": [[0, 4, "PER"]]},
        {"text": "Anna met Bob.", "entities": [[0, 4, " PER "]], "spans": []},
        {"text": "Anna met Bob.", "entities": [RELATED], "relations": []},
        {"text": "Anna met Bob.", "label": [LABELLED]},
        {"text": "Anna met Bob.", "ents": [{"start": 0, "end": 4, "label": "PER"}], "title": None},
        TASK,
        [TASK],
        PAIR,
        [PAIR],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_of_tools_is_read(tmp_path: Path, value: Any, indent: int | None) -> None:
    source = read(tmp_path, json.dumps(value, indent=indent), "my.json")
    (doc,) = docs_of(source)
    assert (doc.text, entities(doc), doc.cats) == ("Anna met Bob.", [("Anna", "PER")], {})
    assert source.account.problems == []


def test_texts_without_entities_are_known_to_have_none(tmp_path: Path) -> None:
    misspelt = {"text": "Hi Bob.", "span": [[3, 6, "PER"]]}
    rejected = {**PRODIGY, "answer": "reject"}
    source = read_json(tmp_path, PRODIGY, {"text": "No one.", "spans": []}, misspelt, rejected)
    docs = docs_of(source)
    assert [len(doc.ents) for doc in docs] == [1, 0, 0]
    assert [doc.has_annotation("ENT_IOB") for doc in docs] == [True, True, False]
    assert source.account.problems == [
        (3, UNREAD, "'span'"),
        (4, NOT_ACCEPTED, "'reject'"),
        (3, NOT_ANNOTATED, "'Hi Bob.'"),
    ]


def test_entities_that_cannot_be_are_left_out_and_shown(tmp_path: Path) -> None:
    spans = [(0, 3), (5, 5), (9, 99), (-1, 4), (0, 8), (0, 4), (12, 13), (8, 11), (14, 19)]
    record = {"text": "Anna Paz \n met Bob.", "label": [[*span, "X"] for span in spans]}
    others = [
        {"start": 0, "end": 1, "label": "VERB", "text": "am"},
        {"start": 2, "end": 5, "label": "VERB", "text": " am\n"},
    ]
    records = [{"text": "First.", "label": []}, record, {"text": "I am I", "spans": others}]
    source = read_json(tmp_path, *records)
    assert source.account.problems == []
    found = [entities(doc) for doc in docs_of(source)]
    assert found == [[], [("Anna Paz", "X"), ("Bob.", "X")], [("am", "VERB")]]
    assert sorted(source.account.problems) == sorted(
        [
            (2, NOT_ALIGNED, "X 'Ann' (0 to 3), in 'Anna'"),
            (2, TRIMMED, "X ' Bob.' (14 to 19)"),
            (2, NO_TEXT, "X ' \\n ' (8 to 11)"),
            (2, NO_TEXT, "X (5 to 5 of 19 characters)"),
            (2, OUT_OF_TEXT, "X (9 to 99 of 19 characters)"),
            (2, OUT_OF_TEXT, "X (-1 to 4 of 19 characters)"),
            (2, OVERLAP, "X 'Anna' (0 to 4)"),
            (2, NOT_ALIGNED, "X 'e' (12 to 13), in 'met'"),
            (3, TRIMMED, "VERB 'am ' (2 to 5)"),
            (3, WRONG_TEXT, "VERB 'I' (0 to 1), and not 'am'"),
        ]
    )


def span(start: int, end: int, label: str = "PER", **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, **more}


@pytest.mark.parametrize(
    ("spans", "kept", "missing"),
    [
        ([span(0, 3), span(9, 12), span(14, 17)], ["Eva"], ["Anna", "Lind"]),
        ([span(0, 3), span(9, 13, answer="ignore")], ["Eva"], ["Anna"]),
        ([span(0, 3), span(9, 13, answer="reject")], ["Eva"], ["Anna"]),
        ([span(0, 3), span(9, 12, answer="reject")], ["Eva"], ["Anna"]),
        ([span(0, 7), span(4, 13)], ["Eva met"], ["Anna"]),
        ([span(0, 3, text="Anna")], [], ["Eva", "Anna"]),
        ([span(0, 3), span(14, 99)], ["Eva"], ["Lind", "now", "."]),
    ],
)
def test_tokens_of_entities_that_are_left_out_are_missing(
    tmp_path: Path, spans: list[dict[str, Any]], kept: list[str], missing: list[str]
) -> None:
    (doc,) = docs_of(read_json(tmp_path, {"text": "Eva met Anna Lind now.", "spans": spans}))
    assert [ent.text for ent in doc.ents] == kept
    assert [token.text for token in doc if not token.ent_iob] == missing


# Texts with labels


def test_labels_of_texts_are_in_every_doc(tmp_path: Path) -> None:
    choices = {"options": [{"id": "A"}, {"id": "B"}]}
    source = read_json(
        tmp_path,
        {"text": "a", "cats": {"A": True, "B": 0}},
        {"text": "b", "label": " C\n"},
        {"text": "c", "label": ["A", "B"]},
        {"text": "d", "labels": []},
        {"text": "e", "label": 7},
        {"text": "  ", "label": "A"},
        {"text": "f", **choices, "accept": ["B"], "answer": "accept"},
        {"text": "g", **choices, "accept": []},
    )
    docs = docs_of(source)
    assert docs[0].cats == {"A": 1, "B": 0}  # others are unknown
    assert {frozenset(doc.cats) for doc in docs[1:]} == {frozenset("7ABC")}
    assert [labels(doc) for doc in docs] == [["A"], ["C"], ["A", "B"], [], ["7"], ["B"], []]
    assert source.account.problems == [(6, NO_WORDS, "'  '")]


@pytest.mark.parametrize("of_text", [{"cats": {"A": 1}}, {"label": "A"}, {"accept": ["A"]}])
def test_entities_are_read_beside_labels_of_the_text(tmp_path: Path, of_text: Any) -> None:
    named = [{"start": 0, "end": 4, "label": "PER"}]
    source = read_json(tmp_path, {"text": "Anna met Bob.", "entities": named, **of_text})
    (doc,) = docs_of(source)
    assert entities(doc) == [("Anna", "PER")] and doc.cats == {"A": 1.0}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('text,label\n"Oil, ""rises""\nagain",A\nRome,B\n', ()),
        ('label;id;text\nA;1;"Oil, ""rises""\nagain"\nB;2;Rome\n', ()),
        ('body\tkind\n"Oil, ""rises""\nagain"\tA\nRome\tB\n', ("body", "kind")),
        ('text|label\n"Oil, ""rises""\nagain"|A\n\nRome|B\n', ()),
        ('"text", "label"\n"Oil, ""rises""\nagain",A\nRome,B\n', ()),
    ],
)
def test_csv_becomes_texts_with_labels(
    tmp_path: Path, content: str, names: tuple[str, ...]
) -> None:
    columns = dict(zip(("text_column", "label_column"), names, strict=False))
    docs = docs_of(read(tmp_path, content, "my.csv", **columns))
    assert [doc.text for doc in docs] == ['Oil, "rises"\nagain', "Rome"]
    assert [doc.cats for doc in docs] == [{"A": 1.0, "B": 0.0}, {"A": 0.0, "B": 1.0}]


def test_a_separator_parts_labels(tmp_path: Path) -> None:
    docs = docs_of(read(tmp_path, "text,label\na,A|B\nb,\nc, B \n", "x.csv", label_separator="|"))
    assert [labels(doc) for doc in docs] == [["A", "B"], [], ["B"]]
    rows = [{"text": "a", "label": "A|B"}, {"text": "b", "label": "B"}]
    docs = docs_of(read_json(tmp_path, *rows, label_separator="|"))
    assert [labels(doc) for doc in docs] == [["A", "B"], ["B"]]


def test_a_text_of_csv_may_be_longer_than_a_field_by_default(tmp_path: Path) -> None:
    text = "word " * 30_000
    (doc,) = docs_of(read(tmp_path, f'text,label\n"{text}",A\n', "my.csv"))
    assert doc.text == text


def test_a_label_of_its_own_for_each_text_is_no_label(tmp_path: Path) -> None:
    rows = "".join(f"a,{i}\n" for i in range(30))
    with pytest.raises(ValueError, match="30 texts have 30 different labels, such as '0', '1'"):
        read(tmp_path, f"text,label\n{rows}", "my.csv")
    assert len(read(tmp_path, f"text,label\n{rows}a,0\n", "my.csv").items) == 31


# Formats


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.iob", "", "conll"),
        ("x.jsonl", "", "jsonl"),
        ("x.CSV", "", "csv"),
        ("x.txt", CONLL, "conll"),
        ("x.txt", DOCUMENTS, "conll"),
        ("x.txt", "\n# id 3\nEU\tB-ORG\t0\n", "conll"),
        ("x.txt", "EU|B-ORG won|O\n", "conll"),
        ("x", '{"text": "a O"}\n', "jsonl"),
        ("x", '[\n{"text": "a"}\n]', "jsonl"),
        ("x.txt", "[\t0\t1\tO\n", "conll"),
        ("x.txt", "{ O\n", "conll"),
        ("x.tsv", "text\tlabel\n", "csv"),
        ("x.tsv", "EU\tB-ORG\n", "conll"),
        ("x", "#\ttext\tlabel\n", "csv"),
        ("x", "# ,text,label\n", "csv"),
    ],
)
def test_formats_are_told_by_suffix_or_content(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    assert guess_format(write(tmp_path, content, name), Reading()) == expected
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(content.encode("utf8")))
    assert guess_format(path, Reading()) == expected


# What can't be read: name and content of a file, and what the message says.
TOOL = {"text": "Anna", "annotations": [{"label": 7, "start_offset": 0, "end_offset": 4}]}
TWO = {**TASK, "annotations": [{"result": []}, {"result": [1]}]}
CASES: list[tuple[str, str, str]] = [
    ("my.conll", "a O\nb\n", ":2: expected 2 columns as lines before, got 1 in 'b'"),
    ("my.conll", "a\n", ":1: expected a token and its tag, got one column in 'a'"),
    ("my.conll", "a\tO\n \tO\n", ":2: expected a token in the first column, got ''"),
    ("my.conll", "a PER\n", ":1: .* got 'PER' in 'a PER'"),
    ("my.conll", "a B-\n", ":1: .* got 'B-'"),
    ("my.conll", "\n\n", ": expected tagged tokens, got none"),
    ("my.jsonl", "", ": expected texts, got none"),
    ("my.conll", "a B-A\nb O\nc U-A\n", ":1: expected a tag I-, L- or E-A after 'B-A', got 'O'"),
    ("my.conll", "a U-A\nb B-A\n\nc L-A\n", ":2: .* got the end of the sentence"),
    ("my.conll", "a U-A\nb B-A\n", ":2: .* got the end of the sentence"),
    ("my.conll", "a U-A\nb B-A\nc L-B\n", ":2: .* after 'B-A', got 'L-B'"),
    ("my.conll", "a U-A\nb I-A\n", ":2: expected B-, U-, S- or O where no .* got 'I-A'"),
    ("my.conll", "a\tN\tB-P\n\n#\tN\tX\nc\tN\tO\n", ":3: expected the tag O, .* got 'X'"),
    ("my.conll", "a B-A\rb I-A\r\rx O\r", ":1: expected lines that end with a line feed"),
    ("my.conll", "1-2\tIm\tO\n1\tIn\tO\n", ":1: expected tokens .* alone, '1-2' and others"),
    ("my.conll", "1.1\tIm\tO\n1\tIn\tO\n", ":1: expected tokens .* alone, '1.1' and others"),
    ("my.txt", "A plain text.\n", "Cannot tell the format of|my.txt"),
    ("my.txt", "", "Cannot tell the format of|my.txt"),
    ("my.json", json.dumps(TOOL), ":1: .* an old export of doccano, .* as JSONL with text labels"),
    ("my.json", '[{"id": 0, "paragraphs": []}]', ":1: .* Use spacy convert instead"),
    ("my.json", json.dumps(TWO), ":1: there are 2 annotations that differ"),
    ("my.json", '{"text": "a"}\n{"text": "b", "label": []}', "got none in 2 texts"),
    ("my.json", '{"text": " ", "label": "A"}', ": expected texts, got none"),
    ("my.csv", "a,b\nc,d\n", ":1: expected a header with the columns 'text' and 'label', got"),
    ("my.csv", "", ":1: expected a header"),
    ("my.csv", "text,label\n", ": expected texts, got none"),
    ("my.csv", "text,label\na,A\nb,c,A\n", ":3: expected 2 fields as in the header, got 3"),
    ("my.csv", 'text,label\n"a\nb",A\nb, \n', ":4: expected a label in the column 'label'"),
    ("my.csv", 'text,label\na,A\n"b\n', ":3: .* quote that isn't closed"),
    ("my.csv", 'text,label\na\n"a"b,A\na,A\n', ":3: .* quote that isn't closed"),
    ("my.csv", 'text,label,"a"b\na,A\n', ":1: .* quote that isn't closed"),
    ("my.csv", "text,label\nin,O\nLondon,B-geo\n", "got tags of tokens: 'B-geo', 'O'"),
]
# Second lines, and what the message expects.
LINES = {
    '{"text": "b"}': '"cats", "label" or "labels" as',
    '{"text": "hi \\ud83d"}': r".* got '\\ud83d' at position 3, .* half of a",
    "{": r"a JSON object on each line, got '\{'",
    '[{"text": "a"}]': "a JSON object, got",
    '{"text": "a", "spans": 3}': 'as "spans" something like .*; got 3',
    '{"text": "a", "cats": ["A"]}': r'as "cats" something like .*; got',
    '{"text": "a", "cats": {"A": 2}}': "true, false, 0 or 1",
    '{"text": "a", "cats": {"A": NaN}}': "true, false, 0 or 1",
    '{"text": "a", "label": [[0, "X"]]}': r"an entity like .*got \[0, 'X'\]",
    '{"text": "a", "label": [[0, 1, 2]]}': r"an entity like .*got \[0, 1, 2\]",
    '{"text": "a", "spans": [{"start": 0}]}': r"an entity like .*\{'start': 0\}",
    '{"text": "a", "label": true}': 'as "label" something like .*got True',
    "[" * 100_000: "a JSON object on each line",
}
TOKENS = {
    '{"tokens": ["a", "b"], "ner_tags": ["O"]}': 'expected "tokens" and as many "ner_tags"',
    '{"tokens": ["a"]}': 'expected "tokens" and as many "ner_tags"',
    '{"tokens": "a", "ner_tags": "O"}': 'expected "tokens" and as many "ner_tags"',
    '{"tokens": ["a"], "ner_tags": ["PER"]}': "expected a token and a tag .*'PER'",
    '{"tokens": [" "], "ner_tags": ["O"]}': "expected a token and a tag .*' ' and 'O'",
    '{"tokens": ["a"], "ner_tags": [1.5]}': "expected a tag, got 1.5",
    '{"tokens": ["a"], "ner_tags": [true]}': "expected a tag, got True",
    '{"tokens": ["a"], "ner_tags": [1]}': "the tags are numbers.*--labels O,B-PER",
    "[1": "expected a JSON object",
}
TEXTLESS = {
    '{"words": ["a"]}': r'no "text" in the line \(it has "words"\)',
    '{"data": "a", "entities": []}': r'no "text" in the line \(it has "data" and "entities"\)',
    "{}": r'no "text" in the line \(it has nothing\)',
}
GOOD, GOOD_TOKENS = '{"text": "a", "label": "A"}', '{"tokens": ["a"], "ner_tags": ["O"]}'
CASES += [("my.json", f"{GOOD}\n{x}\n", f":2: expected {error}") for x, error in LINES.items()]
CASES += [("my.json", f"{GOOD}\n{x}\n", f":2: {error}") for x, error in TEXTLESS.items()]
CASES += [("my.json", f"{GOOD_TOKENS}\n{x}\n", f":2: {error}") for x, error in TOKENS.items()]


@pytest.mark.parametrize(("name", "content", "message"), CASES)
def test_what_is_wrong_is_named_with_file_and_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"(?s){re.escape(name)}.*{message}"):
        read(tmp_path, content, name)


@pytest.mark.parametrize(
    ("name", "content", "settings", "message"),
    [
        ("my.conll", CONLL, {"docs": "documents"}, ":1: expected a line '-DOCSTART-' before"),
        ("my.conll", "a O\n", {"tag_column": 4}, "column 4, but there are only 2"),
        ("my.json", '{"tokens": ["a"], "tags": [2]}', {"labels": ["O"]}, ":1: there is no tag 2"),
        ("my.conll", "a O\n", {"docs": "0"}, "--docs must be sentences, documents or a"),
        ("my.conll", "a O\n", {"offsets": "bytes"}, "Expected as --offsets one of characters"),
    ],
)
def test_settings_refuse_what_does_not_fit(
    tmp_path: Path, name: str, content: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        docs_of(read(tmp_path, content, name, **settings))


def test_a_text_that_spacy_does_not_take_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NLP, "max_length", 10)
    with pytest.raises(ValueError, match=r"my\.jsonl:1: expected a text of at most 10 characters"):
        docs_of(read_json(tmp_path, PRODIGY))


# Splits


@given(st.integers(4, 60), st.integers(0, 5))
def test_splits_hold_each_item_once_and_depend_on_the_seed_alone(n: int, seed: int) -> None:
    splits = split_items(range(n), [0.4, 0.3, 0.3], seed)
    assert list(splits) == ["train", "dev", "test"]
    assert sorted(i for part in splits.values() for i in part) == list(range(n))
    assert abs(len(splits["train"]) - 0.4 * n) <= 1
    assert splits == split_items(range(n), [0.4, 0.3, 0.3], seed)


def test_splits_are_as_large_as_they_say_and_keep_equal_items_together() -> None:
    for shares, sizes in (([0.8, 0.1, 0.1], [8, 1, 1]), ([0.7, 0.2, 0.1], [7, 2, 1])):
        assert [len(part) for part in split_items(range(10), shares, 0).values()] == sizes
    assert list(split_items(range(10), [0.8, 0.2], 0)) == ["train", "dev"]
    assert split_items(range(99), [0.5, 0.5], 0) != split_items(range(99), [0.5, 0.5], 1)
    parts = split_items(range(60), [0.5, 0.25, 0.25], 0, lambda i: i % 20)
    assert sum(len({i % 20 for i in part}) for part in parts.values()) == 20
    frequent = split_items(range(60), [0.8, 0.1, 0.1], 0, lambda i: max(i, 30))
    assert [*map(len, frequent.values())] == [48, 6, 6] and {*range(31)} <= {*frequent["train"]}
    with pytest.raises(ValueError, match="are 60 documents, 1 of them different"):
        split_items(range(60), [0.5, 0.5], 0, lambda i: 1)


@pytest.mark.parametrize(
    ("number", "shares", "message"),
    [
        (10, [1.0], "two or three shares above 0"),
        (10, [0.8, 0.3], "two or three shares above 0"),
        (10, [0.5, 0.5, 0.0], "two or three shares above 0"),
        (10, [0.25] * 4, "two or three shares above 0"),
        (5, [0.8, 0.1, 0.1], "dev would be empty: there are 5"),
        (1, [0.5, 0.5], "would be empty: there is 1 document"),
    ],
)
def test_splits_that_cannot_be_are_refused(number: int, shares: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_items(range(number), shares, 0)


# A contract: what docs hold, written in any scheme or as offsets, is what is read back.


VISIBLE = st.characters(categories=["L", "N", "P", "S"]).filter(clean)  # fillers are letters, too
WORDS = st.text(VISIBLE, min_size=1, max_size=6)
CHUNKS = st.tuples(st.lists(WORDS, min_size=1, max_size=3), st.sampled_from(["", "PER", "a-b"]))
SENTENCES = st.lists(CHUNKS, min_size=1, max_size=5)


def make_doc(sentence: list[tuple[list[str], str]]) -> Doc:
    rows = [
        (word, f"{'I' if i else 'B'}-{label}" if label else "O")
        for chunk, label in sentence
        for i, word in enumerate(chunk)
    ]
    return Doc(NLP.vocab, words=[word for word, _ in rows], ents=[tag for _, tag in rows])


def tags_of(doc: Doc, scheme: str) -> list[str]:
    tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
    if scheme == "BILUO":
        return iob_to_biluo(tags)
    if scheme == "IOB1":
        befores = ["O", *tags]
        return [
            tag if tag[0] != "B" or before[2:] == tag[2:] else f"I{tag[1:]}"
            for before, tag in zip(befores, tags, strict=False)
        ]
    return tags


@given(
    corpus=st.lists(SENTENCES, min_size=1, max_size=4),
    scheme=st.sampled_from(["IOB1", "IOB2", "BILUO"]),
)
def test_docs_come_back_from_conll(corpus: list[Any], scheme: str) -> None:
    docs = [make_doc(sentence) for sentence in corpus]
    content = "\n".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(words(d), tags_of(d, scheme), strict=True))
        for d in docs
    )
    with TemporaryDirectory() as folder:
        source = read(Path(folder), content)
    found = docs_of(source)
    assert source.account.problems == [] and all(doc.has_unknown_spaces for doc in found)
    assert [words(doc) for doc in found] == [words(doc) for doc in docs]
    spans = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in docs]
    assert [[(e.start, e.end, e.label_) for e in doc.ents] for doc in found] == spans


# Groups


@pytest.mark.parametrize(
    ("comments", "settings", "expected"),
    [
        (("# newdoc id = a", "", "# newdoc"), {}, ["a", "a", "document 2"]),
        (("# doc_id = a", "# doc_id = b", ""), {}, ["a", "b", "b"]),
        (("# sent_id = a-1", "# sent_id = a-2", "# sent_id = b-s1"), {}, ["a", "a", "b"]),
        (("# sent_id = 1", "# sent_id = 2", "# text = x"), {}, ["", "", ""]),
        (("# page = 1", "# page = 2", "# doc_id = c"), {"group": "page"}, ["1", "2", "2"]),
        (("", "", ""), {"group": "2"}, ["X0", "X1", "X2"]),
    ],
)
def test_sentences_have_the_groups_of_comments_or_columns(
    tmp_path: Path, comments: tuple[str, ...], settings: dict[str, str], expected: list[str]
) -> None:
    parts = [f"{comment}\nAnna X{i} B-PER\n" for i, comment in enumerate(comments)]
    source = read(tmp_path, "\n".join(part.lstrip("\n") for part in parts), **settings)
    assert groups(source) == expected


def test_texts_have_the_groups_of_keys(tmp_path: Path) -> None:
    rows = [
        {"text": "Anna left", "spans": [], "label": "A", "doc_id": 7},
        {"text": "Bob left", "label": "B", "meta": {"source": "news", "page": "x"}},
        {"text": "Rome", "label": "B", "page": "y"},
    ]
    assert groups(read_json(tmp_path, *rows)) == ["7", "news", ""]
    assert groups(read_json(tmp_path, *rows, group="page")) == ["", "x", "y"]
    tagged = {"tokens": ["Anna"], "ner_tags": ["B-PER"], "doc_id": "a"}
    assert groups(read_json(tmp_path, tagged)) == ["a"]
    table = "text,label,source\nAnna left,A,web\nBob left,B,news\n"
    assert groups(read(tmp_path, table, "my.csv")) == ["web", "news"]
    assert groups(read(tmp_path, table, "my.csv", group="label")) == ["A", "B"]


@pytest.mark.parametrize(("content", "name"), [(CONLL, "a.conll"), ("text,label\nx,A", "a.csv")])
def test_group_that_is_nowhere_is_refused(tmp_path: Path, content: str, name: str) -> None:
    with pytest.raises(ValueError, match="--group"):
        read(tmp_path, content, name, group="article")
