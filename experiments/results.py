"""The results of runs: a table with a row per run, and a file with the counts of each sentence."""

import csv
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_multihash.common.files import replacing_file, write_bytes
from spacy_multihash.corpus.spans import match

if TYPE_CHECKING:
    import pandas

RESULTS = Path("results")  # committed
OWN = Path("training/results")  # where new runs go, unless another folder is given
RUNS, COUNTS = "runs.csv", "counts.npz"
SPLITS, PARTS = ("dev", "test"), ("all", "seen", "unseen")
KEYS = ("dataset", "arm", "vectors", "seed", "after")
# True positives, false positives and gold entities of each sentence.
TRUE, FALSE, GOLD = range(3)
Counts = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.uint8]]


def column(split: str, metric: str, part: str = "all") -> str:
    """Name the column of a score."""
    return f"{split}_{metric}" if part == "all" else f"{split}_{part}_{metric}"


COLUMNS = (
    *KEYS,
    *(column(split, m, part) for split in SPLITS for part in PARTS for m in "prf"),
    *(column(split, metric) for split in SPLITS for metric in ("accuracy", "macro_f")),
    *("steps", "best_step", "seconds", "cpu_seconds", "words_per_second", "parameters", "bytes"),
    *("cpu", "threads", "date", "commit"),
)


def read_rows(folder: Path = RESULTS) -> list[dict[str, str]]:
    """Read the rows of runs as text, or an empty list if there is no file yet."""
    path = folder / RUNS
    if not path.is_file():
        return []
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


def read_runs(folder: Path = RESULTS) -> "pandas.DataFrame":
    """Read the rows of runs as a table."""
    import pandas

    text = {name: str for name in (*KEYS[:3], "after", "cpu", "date", "commit")}
    frame = pandas.read_csv(folder / RUNS, dtype=text)
    return frame.fillna({name: "" for name in text})


def add_run(row: Mapping[str, Any], counts: Mapping[tuple[str, str], Counts], folder: Path) -> None:
    """Add a run to the results, or replace it. Several processes may do so at once.

    row (Mapping[str, Any]): The values by column.
    counts (Mapping[tuple[str, str], Counts]): The counts of sentences, by split and part.

    Raises ValueError if the gold entities differ from earlier runs on the data set.
    """
    _add_runs([(row, counts)], folder)


def merge_runs(source: Path, folder: Path = RESULTS) -> int:
    """Add the runs of another folder of results, and replace the runs that are in both.

    Returns the number of runs that are new or changed. Raises ValueError as `add_run` does.
    """
    known, arrays = {_key(row): row for row in read_rows(folder)}, read_counts(source)
    rows = [row for row in read_rows(source) if known.get(_key(row)) != row]
    _add_runs([(row, _counts_of(arrays, row)) for row in rows], folder)
    return len(rows)


def _counts_of(arrays: Mapping[str, numpy.ndarray], row: Mapping[str, Any]) -> dict[Any, Counts]:
    counts = {}
    for split, part in product(SPLITS, PARTS):
        stem = f"{row['dataset']}/{split}/{part}"
        (index,) = numpy.nonzero(arrays.get(f"{stem}/runs", numpy.array([])) == _name(row))
        if len(index) and not row["after"]:
            columns = (*arrays[f"{stem}/counts"][:, :, index[0]], arrays[f"{stem}/gold"])
            counts[split, part] = numpy.stack(columns, axis=1)
    return counts


def _add_runs(
    runs: Sequence[tuple[Mapping[str, Any], Mapping[tuple[str, str], Counts]]], folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        arrays = read_counts(folder)
        rows = {_key(row): row for row in read_rows(folder)}
        for row, counts in runs:
            for (split, part), of_part in counts.items():
                _add_counts(arrays, f"{row['dataset']}/{split}/{part}", _name(row), of_part)
            new = {column: _text(row.get(column, "")) for column in COLUMNS}
            rows[_key(new)] = new
        output = StringIO()
        writer = csv.DictWriter(output, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))
        if any(counts for _, counts in runs):
            with replacing_file(folder / COUNTS) as path, path.open("wb") as file:
                numpy.savez_compressed(file, allow_pickle=False, **dict(sorted(arrays.items())))
        write_bytes(folder / RUNS, output.getvalue().encode("utf8"))


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['arm']}/{row['vectors']}/{row['seed']}"


def _key(row: Mapping[str, str]) -> tuple[Any, ...]:
    return tuple(int(row[name]) if name == "seed" else row[name] for name in KEYS)


def _text(value: Any) -> str:  # noqa: ANN401 (of a table)
    if value is None:
        return ""
    return repr(round(value, 10)) if isinstance(value, float) else str(value)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_counts(folder: Path = RESULTS) -> dict[str, numpy.ndarray]:
    """Read the counts of sentences: names of runs, gold and counts by DATASET/SPLIT/PART."""
    path = folder / COUNTS
    if not path.is_file():
        return {}
    with numpy.load(path) as arrays:
        return dict(arrays)


def _add_counts(arrays: dict[str, numpy.ndarray], stem: str, name: str, new: Counts) -> None:
    runs, gold, counts = (f"{stem}/{key}" for key in ("runs", "gold", "counts"))
    if runs not in arrays:
        arrays[runs], arrays[gold] = numpy.array([], dtype="U1"), new[:, GOLD]
        arrays[counts] = numpy.zeros((2, len(new), 0), dtype="uint8")
    if not numpy.array_equal(arrays[gold], new[:, GOLD]):
        raise ValueError(
            f"The gold entities of {stem} aren't those of earlier runs. Give another corpus "
            "another name."
        )
    others = arrays[runs] != name
    names = numpy.append(arrays[runs][others], name)
    order = numpy.argsort(names)
    together = numpy.dstack([arrays[counts][:, :, others], new[:, [TRUE, FALSE]].T[:, :, None]])
    arrays[runs], arrays[counts] = names[order], together[:, :, order]


def entity_counts(examples: Sequence[Example]) -> Counts:
    """Count the true positives, false positives and gold entities of each gold sentence.

    Entities belong to the sentence of their first token. A doc without sentences is one sentence.
    Docs and entities without gold annotation are ignored, as in spaCy's scores.

    Returns counts of shape (sentences, 3).
    """
    counts = [_count_doc(example) for example in examples if example.y.has_annotation("ENT_IOB")]
    return numpy.concatenate([numpy.zeros((0, 3), dtype="uint8"), *counts])


def _count_doc(example: Example) -> Counts:
    gold = example.y
    starts = [token.is_sent_start is True for token in gold]
    sentence = numpy.cumsum([0, *starts[1:]]) if len(gold) else numpy.zeros(0, dtype="i")
    counts = numpy.zeros((len(gold) and int(sentence[-1]) + 1, 3), dtype="uint8")
    for kind, wanted, predicted in match(gold, example.x):
        if wanted is not None:
            counts[sentence[wanted.start], GOLD] += 1
        if predicted is not None:
            counts[sentence[predicted.start], TRUE if kind == "right" else FALSE] += 1
    return counts


def label_counts(docs: Sequence[tuple[Doc, Doc]]) -> Counts:
    """Count whether the label of each doc is right, like a sentence of `entity_counts`.

    docs (Sequence[tuple[Doc, Doc]]): Predicted and gold docs with one label each.
    """
    right = [_label(predicted) == _label(gold) for predicted, gold in docs]
    return numpy.array([(r, not r, 1) for r in right], dtype="uint8").reshape(-1, 3)


def _label(doc: Doc) -> str:
    return max(doc.cats, key=lambda label: doc.cats[label])
