"""Every line of a file is written, left out and named, or the file is refused."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import spacy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_multihash import Converted, Reading, convert
from spacy_multihash.common.lines import Account, clean
from spacy_multihash.corpus.alignment import ENTITIES_LEFT_OUT
from spacy_multihash.corpus.shards import read_bare_shard
from spacy_multihash.tables.vectors import read_pairs, read_words
from spacy_multihash.vectors.text import read_text

NLP = spacy.blank("xx")


@pytest.fixture(autouse=True, scope="module")
def one_vocab() -> Iterator[None]:
    """Make a blank pipeline once, and not for each example."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spacy, "blank", lambda lang: NLP)
        yield


# Rows of each format, each with its own word, w0 to w9; what comes before and after them.
LABELS = ["news", "sport", "money"]
TABLES = {
    "x.csv": ("text,label", lambda i: f'"w{i}, that"' + f",{LABELS[i % 3]}"),
    "y.csv": ("label;id;text", lambda i: f"{LABELS[i % 3]};{i};w{i} here"),
    "x.tsv": ("text\tlabel", lambda i: f"w{i} there\t{LABELS[i % 3]}"),
}
TAGS = ["B-PER", "O", "B-LOC", "I-LOC", "O"]
CONLL = {
    "x.conll": lambda i: f"w{i} {TAGS[i % 5]}" + "\n" * (i % 4 == 3),
    "y.conll": lambda i: f"{i}\tw{i}\tNN\t{TAGS[i % 5]}" + "\n" * (i % 4 == 3),
    "x.iob": lambda i: f"w{i}|{TAGS[i % 5]} and|O",
}


def of_json(i: int) -> dict[str, Any]:
    span = {"start": 0, "end": 2, "label": "X"}
    records: list[dict[str, Any]] = [
        {"text": f"w{i} left", "spans": [span]},
        {"text": f"w{i} left", "label": [[0, 2, "X"]], "meta": {"id": i}},
        {"text": f"w{i} came", "ents": [span, {**span, "end": 99}], "cats": {"A": 1, "B": 0}},
        {"text": f"w{i} went", "spans": [], "answer": "reject" if i % 2 else "accept"},
        {"text": f"w{i} sat", "spans": [{**span, "end": 1}], "tokens": [{"start": 0, "end": 2}]},
    ]
    return records[i % 5]


def contents() -> dict[str, str]:
    """Write ten rows in each format."""
    files = {name: "\n".join([head, *map(row, range(10))]) for name, (head, row) in TABLES.items()}
    files |= {name: "\n".join(map(row, range(10))) for name, row in CONLL.items()}
    rows = [of_json(i) for i in range(10)]
    files["x.jsonl"] = "\n".join(map(json.dumps, rows))
    files["x.json"] = json.dumps(rows, indent=1)
    tokens = [{"tokens": [f"w{i}", "left"], "ner_tags": ["B-X", "O"]} for i in range(10)]
    files["tokens.jsonl"] = "\n".join(map(json.dumps, tokens))
    pairs = [[f"w{i} left", {"entities": [[0, 2, "X"]]}] for i in range(10)]
    files["pairs.jsonl"] = "\n".join(map(json.dumps, pairs))
    return {name: f"{content}\n" for name, content in files.items()}


FILES = contents()
SETTINGS = {"y.conll": {"token_column": 2}}
FILLINGS = st.sampled_from(
    ['"', "'", "\\", ",", ";", "\t", "|", " ", "\n", "\n\n", "\r", "\r\n", "#", "# ", "[", "]", "{"]
    + ["}", "-", "_", "O", "B-", "-DOCSTART- O\n", "\ufeff", "\u200b", "\x00", "\x92", "\u2028"]
)
EDITS = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 12), FILLINGS), max_size=4)


def edited(content: str, edits: list[tuple[int, int, str]]) -> str:
    for place, length, filling in edits:
        start = place % (len(content) + 1)
        content = content[:start] + filling + content[start + length :]
    return content


def converted(name: str, content: str) -> Converted | None:
    """Convert a file, or return None if it's refused, with its name."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode())
        try:
            return convert(path, reading=Reading(**SETTINGS.get(name, {})), verbose=True)
        except ValueError as error:
            assert name in str(error) or "No entity is left" in str(error)
            return None


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_written(name: str) -> None:
    done = converted(name, FILES[name])
    assert done is not None
    words = {word for doc in done.docs["docs"] for word in doc.text.replace(",", " ").split()}
    left_out = {i for i in range(10) if of_json(i).get("answer") == "reject"}
    if not name.startswith("x.json"):
        left_out = set()
    assert {f"w{i}" for i in range(10)} - words == {f"w{i}" for i in left_out}


@settings(max_examples=60)
@pytest.mark.parametrize("name", FILES)
@example(edits=[(0, 2, "\u200b")])
@given(edits=EDITS)
def test_lines_of_a_broken_file_add_up(name: str, edits: list[tuple[int, int, str]]) -> None:
    content = edited(FILES[name], edits)
    done = converted(name, content)
    if done is None:
        return
    (report,) = done.files
    lines = content.split("\n")[: content.count("\n") + (not content.endswith("\n"))]
    assert report.lines["lines"] == len(lines)
    assert sum(report.lines[fate] for fate in Account.FATES) == len(lines)
    # Entities, too.
    assert report.entities["given"] == report.entities["written"] + report.entities["left out"]
    if report.kind == "jsonl":
        left_out = sum(problem.kind in ENTITIES_LEFT_OUT for problem in report.problems)
        assert report.entities["left out"] == left_out
    out = [p for p in report.problems if re.match("Left out: (text|token|line)", p.kind)]
    without = {problem.line for problem in out}
    if name == "x.iob":  # a line has several tokens, and some of them may be left out
        assert report.lines["left out"] <= len(without)
    elif name != "x.json":
        assert report.lines["left out"] == len(without)
    # What isn't in the docs is on a line that's named, or is a comment or a header.
    held = [" ".join((doc.text, *doc.cats)) for doc in done.docs["docs"]]
    found = Counter(re.findall(r"w\d", " ".join(held)))
    named = {problem.line for problem in report.problems}
    if name == "x.json":  # a problem has the first line of its text
        named = {line + i for line in named for i in range(12)}
    for word in {f"w{i}" for i in range(10)} - set(found):
        for number, line in enumerate(lines, start=1):
            if re.search(rf"{word}\b", clean(line)):
                is_bare = number == 1 or line.startswith("#") or "-DOCSTART-" in line
                assert number in named or is_bare, (word, content)


VECTORS = "10 2\n" + "".join(f"w{i} {i}.5 1.25\n" for i in range(10))
# Other files that are read line by line: their content, and what reads them.
READERS: dict[str, tuple[str, Callable[[Path, Account], list[Any]]]] = {
    "vectors.txt": (VECTORS, lambda path, _: read_text(path)[0]),
    "bare.vec": (VECTORS[5:], lambda path, _: read_text(path)[0]),
    "words.txt": ("".join(f"w{i}\n" for i in range(10)), lambda path, _: read_words(path)),
    "pairs.txt": ("".join(f"w{i}\tv{i}\n" for i in range(10)), lambda path, _: read_pairs(path)),
    "shard.txt": (
        "".join(f"w{i} left\n" for i in range(10)),
        lambda path, account: list(read_bare_shard(account, NLP)),
    ),
    "shard.jsonl": (
        "".join(f'{{"text": "w{i} left", "id": {i}}}\n' for i in range(10)),
        lambda path, account: list(read_bare_shard(account, NLP)),
    ),
}


@settings(max_examples=60)
@pytest.mark.parametrize("name", READERS)
@given(edits=EDITS)
def test_lines_of_other_files_add_up(name: str, edits: list[tuple[int, int, str]]) -> None:
    content, read = READERS[name]
    content = edited(content, edits)
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode())
        account = Account(path, keeps_errors=name.startswith("shard"))
        try:
            found = read(path, account)
        except ValueError as error:
            assert name in str(error)
            return
    lines = content.split("\n")[: content.count("\n") + (not content.endswith("\n"))]
    if name.startswith("shard"):
        account.check()
        counts = account.counts()
        assert counts["lines"] == len(lines) and counts["written"] == len(found)
        return
    # Each line that isn't blank is a word or a pair, the header, or a word again.
    full = [line for line in lines if clean(line)]
    again = len(full) - len({clean(line) for line in full}) if name == "words.txt" else 0
    has_header = bool(full) and re.fullmatch(r"\d+\s+\d+", clean(full[0])) is not None
    assert len(found) == len(full) - again - (has_header and name in ("vectors.txt", "bare.vec"))


@settings(max_examples=40)
@pytest.mark.parametrize("name", ["x.csv", "y.csv", "x.tsv"])
@given(first=st.integers(0, 8), last=st.integers(1, 9))
def test_rows_are_never_merged(name: str, first: int, last: int) -> None:
    """A quote at the beginning of a text, and another one some lines later."""
    head, row = TABLES[name]
    rows = [row(i).replace('"', "") if i in (first, last) else row(i) for i in range(10)]
    rows[first] = rows[first].replace(f"w{first}", f'"w{first}')
    rows[last] = rows[last].replace(f"w{last}", f'w{last}"')
    done = converted(name, "\n".join([head, *rows]) + "\n")
    for doc in done.docs["docs"] if done else ():
        assert len(re.findall(r"w\d", doc.text)) == 1, doc.text
