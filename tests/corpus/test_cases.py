"""Files and habits of people who do this job: what they hold is read right, or named."""

import json
import zipfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_multihash import Converted, Reading, convert, corpus_stats
from spacy_multihash.corpus.alignment import HIDDEN, NOT_ALIGNED, REJECTED
from spacy_multihash.corpus.conll import NO_WORDS, RANGE, UNREAD, UNSEEN
from spacy_multihash.corpus.convert import CONTRADICTS
from spacy_multihash.inspection.errors import errors
from spacy_multihash.tables.vectors import read_pairs, read_words
from spacy_multihash.training.texts import score_texts
from spacy_multihash.vectors.text import read_text
from tests.helpers.spacy_pipelines import add_rules

NLP = spacy.blank("en")


def read(folder: Path, content: str, name: str = "my.conll", **settings: Any) -> Converted:
    path = folder / name
    path.write_text(content, encoding="utf8", newline="")
    return convert(path, lang="en", reading=Reading(**settings))


def read_json(folder: Path, *records: Any, **settings: Any) -> Converted:
    content = "".join(f"{json.dumps(record)}\n" for record in records)
    return read(folder, content, "my.jsonl", **settings)


def refused(folder: Path, *content: Any, **settings: Any) -> str:
    with pytest.raises(ValueError, match="my") as error:
        (read if isinstance(content[0], str) else read_json)(folder, *content, **settings)
    return str(error.value)


def docs_of(done: Converted) -> list[Doc]:
    return done.docs["docs"]


def texts(done: Converted) -> list[str]:
    return [doc.text.strip() for doc in docs_of(done)]


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def missing(doc: Doc) -> list[str]:
    return [token.text for token in doc if not token.ent_iob]


def kinds(done: Converted) -> set[str]:
    return {problem.kind for each in done.files for problem in each.problems}


def notes(done: Converted) -> str:
    return "\n".join(note for each in done.files for note in each.notes)


def span(start: int, end: int, label: str = "X", **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, **more}


# Lines that a quote or a wrong layout swallows

ROWS = ['"Where is my parcel', "It came", "Good bye", 'See you"', "How are you"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_tsv_without_quoting_keeps_its_rows(tmp_path: Path, order: tuple[int, int]) -> None:
    rows = [("text", "label"), *((row, "ab"[i % 2]) for i, row in enumerate(ROWS))]
    content = "".join("\t".join(row[i] for i in order) + "\n" for row in rows)
    done = read(tmp_path, content, "my.tsv")
    assert texts(done) == ROWS
    assert [max(doc.cats, key=doc.cats.__getitem__) for doc in docs_of(done)] == [*"ababa"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_csv_rows_in_a_quote_are_refused(tmp_path: Path, order: tuple[int, int]) -> None:
    rows = [("text", "label"), *((row, "ab"[i % 2]) for i, row in enumerate(ROWS))]
    content = "".join(",".join(row[i] for i in order) + "\n" for row in rows)
    assert "my.csv:2: a field begins with a quote" in refused(tmp_path, content, "my.csv")
    poem = 'text,label\n"Roses are red,\nviolets, they say, are blue",a\nx,b\n'
    assert texts(read(tmp_path, poem, "my.csv"))[0].count("\n") == 1


TABLE, TAGGED = "text,label\na,x\nb,y\n", "Anna B-PER\n"
JSON = '{"text": "Anna", "label": "x"}\n'
LABELLED = json.dumps([{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}])
# What can't be read without a loss or with a choice that is wrong: what it's, and what is said.
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("my.conll", "Anna B-PER met O\nBob B-PER left O\n", {}, "several tokens and tags on a line"),
    ("my.conll", "Anna met Bob\tB-PER O B-PER\n" * 3, {}, "several tags, as of a sentence"),
    ("my.csv", "text,label\nAnna met,B-PER O\nIt rains,O O\n", {}, "tags of tokens"),
    ("my.csv", 'text,label\na,"x\nb,y"\n', {}, "several lines"),
    ("my.csv", '"text,label\na,x"\n', {}, "expected a header"),
    ("my.csv", "text,label,label\na,x,y\n", {}, "two columns are called 'label'"),
    ("my.jsonl", '{"text": "a", "label": "x", "label": "y"}\n', {}, 'key "label" is there twice'),
    ("my.conll", "E\0U\0 \0O\0\n\0", {}, "UTF-16"),
    ("my.iob", "EU|B-ORG won|O\nEU|B-ORG O\n", {}, "expected word|tag"),
    ("my.conll", "Anna B-PER\u2028met O\u2028Bob B-PER\n", {}, "another line end"),
    ("my.conll", "Anna\tB-PER\u0085met\tO\n", {}, "another line end"),
    ("my.iob", "Anna|B-PER met|O\x85Bob|B-PER left|O\n", {}, "another line end"),
    ("my.iob", "met|O\u2028Bob|B-PER\n", {}, "another line end"),
    # What is given twice
    ("my.conll", "Anna B-PER|I-ORG\nmet O\n", {}, "several tags"),
    ("my.iob", "Anna|B-PER|B-ORG met|O|O\n", {}, "several tags"),
    ("my.iob", "met|O Anna|B-PER|B-ORG\n", {}, "several tags"),
    ("my.csv", "doc_id,text,label,doc_id\n1,a,x,2\n3,b,y,4\n", {}, "columns are called 'doc_id'"),
    ("my.csv", "a,text,label,a\n1,a,x,2\n3,b,y,4\n", {"group": "a"}, "columns are called 'a'"),
    *(
        ("my.jsonl", json.dumps({"text": "Anna", "spans": [row]}) + "\n", {}, "is there twice")
        for row in (
            span(0, 4, start_offset=1),
            span(0, 4, end_offset=5),
            span(0, 4, labels=["Y"]),
        )
    ),
    ("my.jsonl", '["Anna", {"text": "Bob", "cats": {"A": 1}}]\n', {}, "is there twice"),
    ("my.conll", "Anna b-PER\nmet O\nBob B-PER\n", {}, "my.conll:1: expected the tag"),
    ("my.conll", "Anna PER-B\nmet O\n", {}, "my.conll:1: expected the tag"),
    ("my.conll", "Anna PER\nmet O\nBob B-PER\n", {}, "my.conll:1: expected the tag"),
    ("my.jsonl", '{"text": "a", "labels": [0, 1, 0]}\n', {}, "a number for each label"),
    ("my.jsonl", '{"tokens": ["a"], "ner_tags": ["O"], "text": 5}\n', {}, 'a string as "text"'),
    ("my.csv", 'label,text\nno,"No, thanks\nyes,really"\nyes,"ok"\n', {}, "look like rows"),
    ("my.csv", 'text,label\n"He said \\"no\\" twice",x\n"fine",y\n', {}, "don't escape"),
    ("my.jsonl", f"{JSON[:-1]} {JSON}", {}, "Extra data"),
    # Shares of annotators
    (
        "my.jsonl",
        '{"text": "a", "cats": {"A": 1}}\n{"text": "b", "cats": {"A": 0.7}}',
        {},
        "my.jsonl:2: ",
    ),
    # A table of Label Studio
    ("my.csv", 'text,label\nAnna,"' + LABELLED.replace('"', '""') + '"\n', {}, "Export JSON"),
    ("my.csv", "text,label\nAnna,\"['A', 'B']\"\n", {}, "Export JSON"),
    # Options that don't apply
    ("my.csv", TABLE, {"labels": ["O"]}, "Leave it out"),
    ("my.csv", TABLE, {"offsets": "utf16"}, "Leave it out"),
    ("my.csv", TABLE, {"tag_column": 2}, "Leave it out"),
    ("my.conll", TAGGED, {"label_column": "x"}, "Leave it out"),
    ("my.conll", TAGGED, {"offsets": "1"}, "Leave it out"),
    ("my.conll", TAGGED, {"label_separator": "|"}, "Leave it out"),
    ("my.jsonl", JSON, {"docs": "10"}, "Leave it out"),
    ("my.jsonl", JSON, {"text_column": "text"}, "Leave it out"),
    # Columns and tags that are advised
    ("my.conll", "Anna\tB-PER\tx\nmet\tO\ty\n", {}, "--tag-column 2"),
    ("my.conll", "Anna\tB-PER\tQ1\nmet\tO\t_\n", {}, "--tag-column 2"),  # no names of columns
    ("my.conll", "1\tAnna\tB-PER\n2\tmet\tO\n", {}, "--token-column 2"),
    ("my.conll", "B-PER\tAnna\nO\tmet\n", {}, "--token-column 2 --tag-column 1"),
    ("my.conll", "Anna PER\nmet O\nBob PER\nin O\nx O\n", {}, "I-PER"),
    ("my.conll", "Anna b-per\nmet o\nRex b-per\n", {}, "lower case"),
    ("my.conll", "Anna B_PER\nmet O\nRex B_PER\n", {}, "B-PER"),
    ("my.conll", "Anna PER-B\nmet O\nRex PER-B\n", {}, "B-PER"),
]


@pytest.mark.parametrize(("name", "content", "settings", "said"), REFUSED)
def test_what_would_be_read_wrongly_is_refused_with_advice(
    tmp_path: Path, name: str, content: str, settings: dict[str, Any], said: str
) -> None:
    assert said in refused(tmp_path, content, name, **settings)


@pytest.mark.parametrize(
    "start", ["token entity_name", "Word NAME", "token tag_s", "# text = hi\u2028you", "a\x85b O"]
)
def test_lines_that_only_look_wrong_are_read(tmp_path: Path, start: str) -> None:
    (doc,) = docs_of(read(tmp_path, f"{start}\nAnna B-NAME\nmet O\n"))
    assert entities(doc) == [("Anna", "NAME")]


def test_advice_on_columns_is_true_and_given_where_it_helps(tmp_path: Path) -> None:
    for tagged, columns in (
        ("Anna\tB-PER\tx\nmet\tO\ty\n", {"tag_column": 2}),
        ("B-PER\tAnna\nO\tmet\n", {"token_column": 2, "tag_column": 1}),
    ):
        assert texts(read(tmp_path, tagged, **columns)) == ["Anna met"]
    assert "--tag-column" not in refused(tmp_path, "Anna x\nmet y\n")


TOXIC = "text,label,toxic,rude,id\na,x,0,1,1\nb,y,1,0,2\n"
RUDE = '{"text": "a", "label": "x", "rude": true}\n{"text": "b", "label": "y", "rude": false}\n'
CHUNKS = "Anna\tB-NP\tB-PER\nmet\tB-VP\tO\n"
NESTED = "1\tAG\tB-ORG\tB-LOC\n2\tBonn\tB-LOC\tO\n"
OTHER_TEXT = json.dumps({"text": "A &amp; B Anna in Rome", "spans": [span(6, 10), span(14, 18)]})
NAMED_O = json.dumps({"text": "Anna left", "spans": [span(0, 4), span(5, 9, "O")]})
JOINED = "id,text,label\n1,Red and fast,colour#speed\n2,Red,colour\n3,Slow,speed\n"
# What looks wrong, and is noted, or fine, and isn't.
NOTED: list[tuple[str, str, dict[str, Any], str]] = [
    ("my.csv", TOXIC, {}, "rude, toxic are 0 or 1"),
    ("my.jsonl", RUDE, {}, "rude are 0 or 1"),
    ("my.conll", CHUNKS, {}, "Column 2 may have tags"),
    ("my.conll", CHUNKS, {"tag_column": 3}, ""),
    ("my.conll", NESTED, {"token_column": 2}, "--tag-column 3"),
    *(
        ("my.csv", f"text,label\na,{x}\nb,x\nc,y\n", {}, f"1 texts have the label '{x}'")
        for x in ("nan", "N/A", "none", "-1", "?")
    ),
    ("my.jsonl", NAMED_O, {}, "1 entities have the label 'O'"),
    ("my.jsonl", json.dumps({"text": "Anna left", "spans": [span(0, 4)]}), {}, ""),
    ("my.jsonl", OTHER_TEXT, {}, "another text"),
    ("my.csv", JOINED, {}, "--label-separator '#'"),
    ("my.csv", JOINED, {"label_separator": "#"}, ""),
    ("my.csv", JOINED.replace("#", "-"), {"label_separator": "-"}, ""),
    ("my.csv", "text,label\na,C#\nb,C\nc,F#\n", {}, ""),
]


@pytest.mark.parametrize(("name", "content", "settings", "said"), NOTED)
def test_what_looks_wrong_is_noted(
    tmp_path: Path, name: str, content: str, settings: dict[str, Any], said: str
) -> None:
    found = notes(read(tmp_path, content, name, **settings))
    assert said in found and bool(said) is bool(found)


ANNA = {"text": "Anna", "spans": [span(0, 4)]}


@pytest.mark.parametrize(
    ("name", "one", "headers"),
    [
        ("my.csv", "text,label\nAnna,a\n", 2),
        ("my.json", f"{json.dumps([ANNA], indent=1)}\n", 0),
        ("my.jsonl", f"{json.dumps(ANNA)}\n", 0),
        ("my.conll", "Anna B-PER\n\n", 0),
    ],
)
def test_files_that_were_joined_are_read(tmp_path: Path, name: str, one: str, headers: int) -> None:
    done = read(tmp_path, f"{one}\ufeff{one}", name)
    assert texts(done) == ["Anna", "Anna"] and done.files[0].lines["header"] == headers


def test_tokens_without_words_and_ranges_are_left_out_and_named(tmp_path: Path) -> None:
    lines = "1-2\tim\t_\n1\tin\tO\n2\tdem\tO\n3\tRom\tB-LOC\n"
    done = read(tmp_path, lines, token_column=2)
    assert texts(done) == ["in dem Rom"] and kinds(done) == {RANGE}
    tokens = [{"tokens": [], "ner_tags": []}, {"tokens": ["Rom"], "ner_tags": ["B-LOC"]}]
    done = read_json(tmp_path, *tokens)
    assert done.files[0].lines["left out"] == 1 and kinds(done) == {NO_WORDS}


def test_the_format_is_that_of_most_lines(tmp_path: Path) -> None:
    done = read(tmp_path, "Word\tTag\nAnna\tB-PER\nmet\tO\n", "my.txt")
    assert texts(done) == ["Anna met"] and "names the columns" in notes(done)


# Annotation that isn't read


def test_ents_of_spacy_are_read_beside_cats(tmp_path: Path) -> None:
    doc = NLP("Anna met Bob")
    doc.ents = [Span(doc, 0, 1, label="PER"), Span(doc, 2, 3, label="PER")]
    doc.cats = {"A": 1.0, "B": 0.0}
    (found,) = docs_of(read_json(tmp_path, doc.to_json()))
    assert entities(found) == [("Anna", "PER"), ("Bob", "PER")] and found.cats == doc.cats


def test_tags_are_read_beside_a_text_and_its_label(tmp_path: Path) -> None:
    row = {"text": "Anna, Bob", "tokens": ["Anna", ",", "Bob"], "ner_tags": ["B-PER", "O", "B-PER"]}
    other = {"text": "Rome", "tokens": ["Rome"], "ner_tags": ["B-LOC"], "label": "travel"}
    found = docs_of(read_json(tmp_path, {**row, "label": "news"}, other))
    assert found[0].text == "Anna, Bob" and len(found[0].ents) == 2
    assert [doc.cats for doc in found] == [{"news": 1, "travel": 0}, {"news": 0, "travel": 1}]
    assert "don't spell the text" in refused(tmp_path, {**row, "text": "Eve, Bob"})


@pytest.mark.parametrize(
    "more",
    [
        {"intent": "travel"},
        {"found": [span(9, 12)]},
        {"found": [[9, 12, "X"]]},
        {"entities": [[9, 12, "X"]]},
        {"groups": {"sc": [span(0, 4)]}},
        {"scores": {"A": 1, "B": 0}},
        {"tokens": [{"start": 0, "end": 4}], "pieces": ["B-X"]},
        {"relations": [{"from": 1, "to": 2}]},
    ],
)
def test_what_looks_like_annotation_and_is_not_read_is_named(tmp_path: Path, more: Any) -> None:
    row = {"text": "Anna met Bob", "spans": [span(0, 4)], **more}
    done = read_json(tmp_path, row)
    details = [problem.detail for problem in done.files[0].problems if problem.kind == UNREAD]
    assert details == [repr([*more][-1])]


def test_other_keys_are_not_named(tmp_path: Path) -> None:
    row = {"text": "Anna", "spans": [span(0, 4)], "id": 1, "meta": {"x": 0.5}, "_input_hash": 7}
    assert not read_json(tmp_path, row).files[0].problems
    row |= {"tokens": ["An", "na"], "spaces": [False, False], "authors": ["A", "B", "C"]}
    assert not read_json(tmp_path, row).files[0].problems
    row |= {"tokens": ["Anna"], "authors": ["A"]}  # one of each may be chance
    assert not read_json(tmp_path, row).files[0].problems
    tagged = {"tokens": ["An", "na"], "ner_tags": ["O", "B-X"], "pos": [4, 5], "names": ["A"]}
    assert [p.detail for p in read_json(tmp_path, tagged).files[0].problems] == ["'pos'"]


def test_groups_of_spans_are_named_where_nothing_else_is(tmp_path: Path) -> None:
    row = {"text": "Anna", "ents": [], "spans": {"sc": [span(0, 4)]}}
    assert "'spans' may be annotation" in refused(tmp_path, row)
    docs = [NLP("Anna left Rome") for _ in range(3)]
    for doc in docs:
        doc.spans["sc"] = [Span(doc, 0, 1, label="PER"), Span(doc, 2, 3, label="LOC")]
    (warning,) = corpus_stats(docs).warnings()
    assert "6 in doc.spans['sc']" in warning and "filter_spans" in warning


def test_a_seed_without_a_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--seed is for --split"):
        convert([("a", "x"), ("b", "y")], seed=1)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"spans": [span(0, 4, kb_id="Q1")]}, "'spans[].kb_id'"),
        ({"label": "A", "highlights": [{"from": 0, "to": 4, "what": "PER"}]}, "'highlights'"),
        ({"label": "A", "label_2": "B"}, "'label_2'"),
        ({"label": "A", "tokens": ["An", "na"], "pos": ["NNP", "NN"]}, "'pos'"),
        ({"label": "A", "tokens": ["An", "na"], "lemmas": [7, 8]}, "'lemmas'"),
        ({"label": "A", "target": 7}, "'target'"),
        ({"spans": [span(0, 4)], "tokens": [{"text": "Anna", "tag": "NNP"}]}, "'tokens[].tag'"),
    ],
)
def test_annotation_within_or_beside_what_is_read_is_named(
    tmp_path: Path, row: dict[str, Any], named: str
) -> None:
    done = read_json(tmp_path, {"text": "Anna", **row}, {"text": "Bob", "label": "B"})
    assert (1, UNREAD, named) in done.files[0].problems


def test_labels_that_are_null_are_unknown(tmp_path: Path) -> None:
    rows = [{"text": "a", "cats": {"A": 1, "B": None}}, {"text": "b", "cats": {"A": 0, "B": 1}}]
    found = [doc.cats for doc in docs_of(read_json(tmp_path, *rows))]
    assert found == [{"A": 1}, {"A": 0, "B": 1}]


def test_shares_that_are_no_numbers_are_unknown_labels() -> None:
    docs = [NLP("a"), NLP("a"), NLP("b")]
    shares: list[Any] = [None, float("nan"), 1.0]
    for doc, share in zip(docs, shares, strict=True):
        doc.cats = {"A": share}
    stats = corpus_stats(docs)
    assert stats.splits["train"].cats == {"A": 1} and not stats.splits["train"].denied
    assert not stats.contradictions


# What is unknown


def test_missing_tags_are_missing(tmp_path: Path) -> None:
    (doc,) = docs_of(read(tmp_path, "Anna B-PER\nmet O\nBob -\n. O\n"))
    assert missing(doc) == ["Bob"]
    rows = [
        {"tokens": ["Anna", "met", "Bob"], "ner_tags": [1, 0, 1]},
        {"tokens": ["Rome", "is", "old"], "ner_tags": [2, -100, None]},
    ]
    found = docs_of(read_json(tmp_path, *rows, labels=["O", "B-PER", "B-LOC"]))
    assert [missing(doc) for doc in found] == [[], ["is", "old"]]
    (doc,) = docs_of(read(tmp_path, "a B-X\nb -\nc L-X\nd U-X\n"))
    assert missing(doc) == ["b"]


def test_rejected_labels_do_not_apply(tmp_path: Path) -> None:
    rows = [
        {"text": f"text {i}", "label": "SPORT", "answer": ["reject", "accept", "ignore"][i % 3]}
        for i in range(6)
    ]
    done = read_json(tmp_path, *rows)
    assert [doc.cats["SPORT"] for doc in docs_of(done)] == [0, 1, 0, 1]
    assert corpus_stats(docs_of(done)).warnings() == []
    rows[0]["label"] = "MONEY"  # a decision says nothing of other labels
    found = docs_of(read_json(tmp_path, *rows))
    assert [doc.cats for doc in found[:2]] == [{"MONEY": 0}, {"SPORT": 1}]


@pytest.mark.parametrize("answer", ["reject", "ignore", None])
def test_answers_count_for_all_kinds_of_texts(tmp_path: Path, answer: str | None) -> None:
    tagged = {"tokens": ["Anna"], "ner_tags": ["B-PER"]}
    for row in (tagged, {"text": "Anna", "spans": [span(0, 4)]}):
        done = read_json(tmp_path, {**row, "answer": answer}, row)
        assert texts(done) == ["Anna"] * (2 - bool(answer))
        assert done.files[0].lines["left out"] == bool(answer)
    row = {"text": "Anna", "spans": [span(0, 4, answer=None)]}
    assert entities(docs_of(read_json(tmp_path, row))[0]) == [("Anna", "X")]
    with pytest.raises(ValueError, match="No line is accepted"):
        read_json(tmp_path, {**tagged, "answer": "Paris"})


def test_a_single_label_is_named(tmp_path: Path) -> None:
    done = read(tmp_path, "text,label\na,x\nb,x\n", "my.csv")
    assert "nothing to learn" in notes(done)
    assert "nothing to learn" in "".join(corpus_stats(docs_of(done)).warnings())


def test_texts_without_a_kind_of_annotation_are_missing(tmp_path: Path) -> None:
    rows = [{"text": "Anna", "spans": [span(0, 4)], "label": "a"}, {"text": "Bob", "label": "b"}]
    rows.append({"text": "Eve", "spans": []})
    found = docs_of(read_json(tmp_path, *rows))
    assert [missing(doc) for doc in found] == [[], ["Bob"], []]
    assert [bool(doc.cats) for doc in found] == [True, True, False]


@pytest.mark.parametrize("more", [{"spans": []}, {"tokens": ["a"], "tags": ["B-X"]}])
def test_cats_say_nothing_of_other_labels(tmp_path: Path, more: dict[str, Any]) -> None:
    done = read_json(tmp_path, *({"text": "a", "cats": {x: 1}, **more} for x in "AB"))
    assert [doc.cats for doc in docs_of(done)] == [{"A": 1}, {"B": 1}]
    done = read_json(tmp_path, *({"text": "a", "labels": [x], **more} for x in "AB"))
    assert [doc.cats for doc in docs_of(done)] == [{"A": 1, "B": 0}, {"A": 0, "B": 1}]


def test_labels_that_are_never_denied_are_named() -> None:
    docs = [NLP("a"), NLP("b"), NLP("c")]
    for doc, cats in zip(docs, ("A", "AB", "B"), strict=True):
        doc.cats = dict.fromkeys(cats, 1.0)
    (warning,) = corpus_stats(docs).warnings()
    assert "value 0" in warning
    docs[1].cats = {"A": 1.0}  # each text has one label: the others don't apply
    assert corpus_stats(docs).warnings() == []


def test_a_file_of_outside_tags_is_refused_or_named(tmp_path: Path) -> None:
    assert "All 3 tags" in refused(tmp_path, "Anna O\nmet O\nBob O\n")
    (tmp_path / "other.conll").write_text("Anna B-PER\n")
    done = convert([tmp_path / "my.conll", tmp_path / "other.conll"])
    assert "All 3 tags" in notes(done)
    doc = Doc(NLP.vocab, words=["Anna"], ents=["O"])
    assert "No entities in train" in corpus_stats([doc]).warnings()[0]


# Advice


def test_offsets_are_advised_that_fit_exactly(tmp_path: Path) -> None:
    stripped = {"text": "\nMet (Bob Stone, Oslo).", "spans": [span(5, 14), span(16, 20)]}
    assert "--offsets 1)" in refused(tmp_path, stripped)
    found = docs_of(read_json(tmp_path, stripped, offsets="1"))
    assert entities(found[0]) == [("Bob Stone", "X"), ("Oslo", "X")]
    lines = {"text": "Of:\r\nAnna Lopez\r\nIn: Rome\r\n", "spans": [span(4, 14), span(19, 23)]}
    assert "--offsets newlines" in refused(tmp_path, lines)
    assert len(docs_of(read_json(tmp_path, lines, offsets="newlines"))[0].ents) == 2
    # what fits less than most isn't advised
    wrong = {"text": "Anna met Bob in Rome", "spans": [span(0, 3), span(10, 13), span(14, 17)]}
    assert "--offsets" not in refused(tmp_path, wrong)
    assert NOT_ALIGNED in kinds(read_json(tmp_path, wrong, PRODIGY))


PRODIGY = {
    "text": "Replace AHU1_ZoneB_Fan",
    "tokens": [
        {"text": text, "start": start, "end": start + len(text), "ws": text == "Replace"}
        for text, start in [("Replace", 0), ("AHU1", 8), ("_", 12), ("ZoneB", 13), ("_", 18)]
    ]
    + [{"text": "Fan", "start": 19, "end": 22}],
    "spans": [span(8, 12), span(13, 18), span(19, 22)],
}


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip archive"),
        (b"PAR1", "Parquet"),
        (b"text,label\ra,b\rc,d\r", "carriage returns"),
        (b"text,label\na\x00,b\n", "remove it"),
        ("text,label\na,b\n".encode("utf-16"), "Convert the file to UTF-8"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path: Path, start: bytes, said: str) -> None:
    (tmp_path / "my.csv").write_bytes(start)
    with pytest.raises(ValueError, match=rf"my\.csv.*{said}"):
        convert(tmp_path / "my.csv")


def test_archives_of_one_file_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "my.csv.zip", "w") as archive:
        archive.writestr("inner", "text,label\na,x\nb,y\n")
        archive.writestr("__MACOSX/inner", "\0")
    assert texts(convert(tmp_path / "my.csv.zip")) == ["a", "b"]
    with zipfile.ZipFile(tmp_path / "my.csv.zip", "a") as archive:
        archive.writestr("other", "")
    with pytest.raises(ValueError, match=r"my\.csv\.zip: expected an archive with one file"):
        convert(tmp_path / "my.csv.zip")


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    read(tmp_path, "Anna B-PER\n")
    (tmp_path / "link.conll").symlink_to("my.conll")
    for again in ("my.conll", "link.conll", f"../{tmp_path.name}/my.conll"):
        with pytest.raises(ValueError, match="is the same file as"):
            convert([tmp_path / "my.conll", tmp_path / again])


def test_what_is_said_twice_alike_is_read(tmp_path: Path) -> None:
    row = span(0, 4, start_offset=0, end_offset=4, labels=["X"])
    assert entities(docs_of(read_json(tmp_path, {"text": "Anna", "spans": [row]}))[0])
    (doc,) = docs_of(read(tmp_path, "Anna|NNP|B-PER met|VBD|O\n", "my.iob"))
    assert entities(doc) == [("Anna", "PER")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cells_keep_their_line_ends(tmp_path: Path, end: str) -> None:
    cell = "Anna\r\nleft\nat\rnoon"
    content = end.join(["text,label", f'"{cell}",x', "b,y", ""])
    done = read(tmp_path, content, "my.csv")
    assert [doc.text for doc in docs_of(done)] == [cell, "b"]
    assert docs_of(done)[1].cats == {"x": 0, "y": 1}


def test_labels_that_are_tags_of_tokens_are_named(tmp_path: Path) -> None:
    row = {"text": "Anna Paz left", "spans": [span(0, 4, "B-PER"), span(5, 8, "I-PER")]}
    assert "tags of tokens, such as B-PER" in notes(read_json(tmp_path, row))


def label_studio(*annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"data": {"text": "Anna left"}, "annotations": [{"result": x} for x in annotations]}


def test_annotations_of_label_studio_are_compared_by_value(tmp_path: Path) -> None:
    value = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
    one, other = ({"id": name, "type": "labels", "value": value} for name in "ab")
    (doc,) = docs_of(read_json(tmp_path, label_studio([one], [other])))
    assert entities(doc) == [("Anna", "PER")]
    assert "differ" in refused(tmp_path, label_studio([one], []))
    sure = {"id": "a", "type": "choices", "value": {"start": 0, "end": 4, "choices": ["sure"]}}
    done = read_json(tmp_path, label_studio([one, sure]))
    assert len(docs_of(done)[0].ents) == 1 and (1, UNREAD, "'choices'") in done.files[0].problems


# Calls from Python


def test_texts_may_be_in_any_iterable_and_have_shares_or_numbers_of_numpy() -> None:
    pairs: list[Any] = [("Anna", [numpy.array([0, 4]).tolist() + ["PER"]]), ("Eve", [])]
    assert len(docs_of(convert(pair for pair in pairs))) == 2
    done = convert([("a", {"A": 1.0, "B": 0.0}), ("b", {"A": numpy.int64(0)}), ("c", {"B"})])
    assert [doc.cats for doc in docs_of(done)] == [{"A": 1, "B": 0}, {"A": 0}, {"A": 0, "B": 1}]
    assert set(convert(pairs * 2, split=numpy.array([0.5, 0.5])).splits) == {"train", "dev"}
    spans = [(numpy.int64(0), numpy.int64(4), "PER")]
    assert entities(docs_of(convert([("Anna", spans)]))[0]) == [("Anna", "PER")]


@pytest.mark.parametrize(
    "given", [5, b"my.conll", {"text": "a"}, DocBin(), NLP("a"), [NLP("a")], [NLP("a"), ("b", "x")]]
)
def test_what_cannot_be_converted_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="Expected files|must be"):
        convert(given)


@pytest.mark.parametrize("split", [3, ["0.5", "0.5"], [float("nan"), 0.5], [1.0], []])
def test_what_are_no_shares_is_refused(split: Any) -> None:
    with pytest.raises(ValueError, match="two or three shares|must be"):
        convert([("a", "x"), ("b", "y")], split=split)


@pytest.mark.parametrize(
    "settings",
    [
        {"docs": 10},
        {"token_column": "2"},
        {"tag_column": True},
        {"labels": "O,B-PER"},
        {"label_separator": ""},
        {"group": 1},
        {"offsets": 1},
        {"format": "xml"},
        {"text_column": "label"},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"can't be|must be|another|empty"):
        Reading(**settings)


def test_names_of_columns_are_no_token(tmp_path: Path) -> None:
    hipe = "TOKEN\tNE-COARSE\tMISC\n# a = b1\n# hipe:date = 1890\nFrom\tO\t_\nAnna\tB-pers\t_\n"
    done = read(tmp_path, hipe, "my.tsv", tag_column=2)
    assert texts(done) == ["From Anna"] and done.files[0].lines["comment"] == 2


def test_a_single_docstart_line_makes_no_document(tmp_path: Path) -> None:
    content = "-DOCSTART- O\n\nAnna B-PER\n\nBob B-PER\n"
    done = read(tmp_path, content)
    assert texts(done) == ["Anna", "Bob"] and "--docs documents" in notes(done)
    assert texts(read(tmp_path, content, docs="documents")) == ["Anna Bob"]


# Costs


def test_many_entities_of_a_text_cost_no_more_than_tokens(tmp_path: Path) -> None:
    """20,000 entities of a text took five minutes when each of them read the whole text."""
    spans = [span(3 * i, 3 * i + 2, answer="reject" if i % 3 else "accept") for i in range(6000)]
    spans += [span(3 * i, 3 * i + 5, text="zz") for i in range(2000)]
    began = process_time()
    done = read_json(tmp_path, {"text": "ab " * 6000, "spans": spans}, offsets="utf16")
    assert len(docs_of(done)[0].ents) == 2000 and process_time() - began < 5


def test_many_labels_cost_no_more_than_texts(tmp_path: Path) -> None:
    rows = "".join(f"text {i},topic{i % 1500}\n" for i in range(3000))
    done = read(tmp_path, f"text,label\n{rows}", "my.csv")
    assert {len(doc.cats) for doc in docs_of(done)} == {1}
    assert "Only the label of each text" in notes(done)
    assert len(str(done).splitlines()) < 50  # of 1,500 labels
    assert len(str(corpus_stats(docs_of(done))).splitlines()) < 60
    rows = "".join(f"text {i},t{i % 5000}/t{(i + 1) % 5000}\n" for i in range(6000))
    assert "GB" in refused(tmp_path, f"text,label\n{rows}", "my.csv", label_separator="/")


# What can't be seen


def test_halves_of_characters_are_removed(tmp_path: Path) -> None:
    tokens = {"tokens": ["EU\ud83d"], "ner_tags": ["B-ORG\ud83d"], "text": "E\u200bU"}
    assert entities(docs_of(read_json(tmp_path, tokens))[0]) == [("EU", "ORG")]
    rows = [{"text": "a", "label": "x\ud83d"}, {"text": "b", "cats": {"y\ud83d": 1}}]
    done = read_json(tmp_path, *rows, {"text": "c", "spans": [span(0, 1, "z\ud83d")]})
    assert [doc.cats for doc in docs_of(done)] == [{"x": 1, "y": 0}, {"y": 1}, {}]


@pytest.mark.parametrize("hidden", ["\ufeff", "\u200b", "\u00ad", "\x92", "\u2060"])
def test_invisible_characters_are_removed_and_named(tmp_path: Path, hidden: str) -> None:
    done = read(tmp_path, f"1 x O\n2 EU{hidden} B-ORG{hidden}\n3 {hidden} O\n", token_column=2)
    assert texts(done) == ["x EU"] and UNSEEN in kinds(done)
    done = read_json(tmp_path, {"tokens": [f"EU{hidden}"], "ner_tags": ["B-ORG"]})
    assert texts(done) == ["EU"] and UNSEEN in kinds(done)
    row = {"text": f"x {hidden}Anna met Bo{hidden}b", "spans": [span(3, 7), span(12, 16)]}
    done = read_json(tmp_path, row)
    assert entities(docs_of(done)[0]) == [("Anna", "X"), ("Bob", "X")] and HIDDEN in kinds(done)
    done = read(tmp_path, f"text,label\na,x{hidden}\nb,x\nc,y\n", "my.csv")
    assert {label for doc in docs_of(done) for label in doc.cats} == {"x", "y"}
    doc = Doc(NLP.vocab, words=[f"EU{hidden}"], ents=["B-ORG"])
    assert "invisible characters in train: 1" in corpus_stats([doc]).warnings()[0]


def test_words_of_lists_and_pairs_are_cleaned(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the \n to\n\ufeffcat\u200b\n\u200b\n", encoding="utf8")
    assert read_words(tmp_path / "words.txt") == ["the", "to", "cat"]
    (tmp_path / "pairs.txt").write_text("the\tto\n\ufeffa\tb\u00ad\n", encoding="utf8")
    assert read_pairs(tmp_path / "pairs.txt") == [("the", "to"), ("a", "b")]
    (tmp_path / "cat.txt").write_text("cat 1.5 2.5\n\ufeffdog 3.5 4.5\n", encoding="utf8")
    assert read_text(tmp_path / "cat.txt")[0] == ["cat", "dog"]


# Contradictions


def test_equal_texts_with_other_annotation_are_named(tmp_path: Path) -> None:
    text = "Anna met Bob in Oslo."
    rows = [{"text": text, "spans": spans} for spans in ([span(0, 4)], [span(16, 20)], [])]
    done = read_json(tmp_path, *rows, {"text": "Anna", "spans": [span(0, 4)]}, rows[0])
    lines = [each.line for each in done.files[0].problems if each.kind == CONTRADICTS]
    assert lines == [2, 3]
    (warning,) = corpus_stats(docs_of(done)).warnings()
    assert "2, such as 'Anna met Bob" in warning
    content = "Anna B-PER\n\nAnna O\n\nAnna -\n"
    assert CONTRADICTS in kinds(read(tmp_path, content))
    content = "text,label\nbuy,spam\nsell,ham\nbuy,ham\n"
    assert CONTRADICTS in kinds(read(tmp_path, content, "my.csv"))


def test_an_entity_that_is_accepted_and_rejected_is_a_contradiction(tmp_path: Path) -> None:
    rows = [{"text": "Anna left", "spans": [span(0, 4)]}]
    rows.append({"text": "Anna left", "spans": [span(0, 4, answer="reject")]})
    for given in (rows, rows[::-1]):
        assert CONTRADICTS in kinds(read_json(tmp_path, *given))


def test_contradictions_between_splits_are_named(tmp_path: Path) -> None:
    train, dev = Doc(NLP.vocab, ["Anna"], ents=["O"]), Doc(NLP.vocab, ["Anna"], ents=["B-PER"])
    (found,) = corpus_stats([train], [dev]).contradictions
    assert (found.first, found.again) == ("train, document 1", "dev, document 1")
    for name, doc in (("train", train), ("dev", dev)):
        DocBin(docs=[doc]).to_disk(tmp_path / f"{name}.spacy")
    stats = corpus_stats(tmp_path / "train.spacy", tmp_path / "dev.spacy")
    assert [*stats.contradictions] == [found]


def test_rejected_entities_are_kept_apart(tmp_path: Path) -> None:
    spans = [(0, 4, "accept"), (16, 20, "reject"), (9, 12, "ignore"), (0, 4, "reject")]
    row = {
        "text": "Anna met Bob in Oslo.",
        "spans": [span(start, end, "PER", answer=answer) for start, end, answer in spans],
    }
    done = read_json(tmp_path, row)
    (doc,) = docs_of(done)
    assert entities(doc) == [("Anna", "PER")] and missing(doc) == ["Bob", "Oslo"]
    assert [span.text for span in doc.spans["incorrect_spans"]] == ["Oslo"]
    assert REJECTED in kinds(done)


def test_exported_mistakes_come_back_with_tokens_and_gaps() -> None:
    nlp = add_rules(spacy.blank("en"), {"in": "PER"})
    words = ["AHU1", "_", "Fan", "in", "Rome"]
    gold = Doc(nlp.vocab, words=words, spaces=[False, False, True, True, False])
    gold.set_ents([Span(gold, 0, 1, label="X")], missing=[gold[4:5]])
    records = list(errors(nlp, [gold]).records("prodigy"))
    (doc,) = docs_of(convert(records, lang="en"))
    assert [token.text for token in doc] == words and doc.text == gold.text
    assert entities(doc) == [("AHU1", "X")] and missing(doc) == ["Rome"]


def test_labels_without_gold_annotation_are_not_scored() -> None:
    nlp = spacy.blank("en")

    @Language.component("all_labels")
    def all_labels(doc: Doc) -> Doc:
        doc.cats = {"A": 0.9, "B": 0.9, "C": 0.1}
        return doc

    nlp.add_pipe("all_labels")
    examples = []
    for cats in ({"A": 1.0}, {"A": 0.0}):
        gold = nlp.make_doc("text")
        gold.cats = cats
        examples.append(Example(nlp.make_doc("text"), gold))
    scores = score_texts(nlp, examples).parts["all"]
    assert (scores.p, scores.r) == (0.5, 1.0) and [*scores.per_label] == ["A"]


def test_labels_that_only_dev_has_or_that_look_alike_are_named() -> None:
    def doc(text: str, label: str) -> Doc:
        return Doc(NLP.vocab, [text], ents=[f"B-{label}"])

    train = [doc("a", "caf\u00e9"), doc("b", "cafe\u0301"), doc("c", "full name")]
    warnings = corpus_stats(train, [doc("d", "Full  Name"), doc("e", "LOC")]).warnings()
    assert "Labels of dev that train lacks: Full  Name, LOC" in "".join(warnings)
    assert "cafe\u0301, caf\u00e9, Full  Name, full name" in "".join(warnings)
