"""Measure the memory of the commands that change large tables of vectors."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Optional

import numpy
import psutil
import typer
from numpy.lib.format import open_memmap
from wasabi import msg

from benchmarks.common.options import (
    Fresh,
    Quick,
    check_only,
    choose_output,
    only_option,
    output_option,
)
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table
from spacy_multihash.vectors.files import beside_path, write_table
from spacy_multihash.vectors.table import VectorTable, chunks
from spacy_multihash.vectors.vocab import word_keys

NAME = "vectors"
SEED = 0
GB = 1e9
PAUSE = 0.02  # seconds between two looks at the memory
PAIRED = 1000  # words that are paired to compare similarities
FULL, QUICK = (2_000_000, 300), (2000, 20)
TABLE, OTHER, TEXT, WORDS, PAIRS = "table", "other", "table.vec", "words.txt", "pairs.txt"
CENTRED, OUT = "centred", "out"
MAP = str(beside_path(Path(CENTRED), "map", "vocab"))

HALF = "HALF"
Record = dict[str, float]

# The arguments of each case, in a folder with the files above. Each writes what is named OUT.
CASES: dict[str, Sequence[str]] = {
    "centre": ("centre", TABLE, OUT),
    "centre, from text": ("centre", TEXT, OUT),
    "centre, to text": ("centre", TABLE, f"{OUT}.vec"),
    "apply": ("apply", TABLE, OUT, "--map", MAP),
    "drop-top": ("drop-top", TABLE, OUT),
    "pca": ("pca", TABLE, OUT, "--width", HALF),
    "z-norm": ("z-norm", TABLE, OUT),
    "unit": ("unit", TABLE, OUT),
    "quantize, float16": ("quantize", TABLE, OUT, "--method", "float16"),
    "quantize, int8": ("quantize", TABLE, OUT, "--method", "int8"),
    "quantize, pq": ("quantize", TABLE, OUT, "--method", "pq", "--parts", "10"),
    "prune": ("prune", TABLE, OUT, "--words", WORDS),
    "align, procrustes": ("align", TABLE, OTHER, OUT),
    "align, cca": ("align", TABLE, OTHER, OUT, "--method", "cca"),
    "align, refined": ("align", TABLE, OTHER, OUT, "--refine", "1"),
    "merge, pca": ("merge", TABLE, OTHER, OUT, "--width", HALF),
    "merge, gcca": ("merge", TABLE, OTHER, OUT, "--width", HALF, "--method", "gcca"),
    "morty": ("morty", TABLE, OUT),
    "evaluate": ("evaluate", TABLE, OTHER, "--pairs", PAIRS, "--words", WORDS),
}


def vectors_cli(
    only: Annotated[Optional[list[str]], only_option(list(CASES))] = None,
    quick: Quick = False,
    fresh: Fresh = False,
    folder: Annotated[
        Optional[Path],
        typer.Option(
            help="Folder for the tables, 20 GB. Default: a temporary one",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    output: Annotated[Optional[Path], output_option(NAME)] = None,
) -> None:
    """Measure the memory of each command of `multihash vectors`, on tables of 2,000,000 words.

    It needs Linux, where psutil tells memory of its own from that of mapped files.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    rows, width = QUICK if quick else FULL
    path = choose_output(output, NAME, quick=quick)
    try:
        check_only(only or [], list(CASES))
        if sys.platform != "linux":
            raise ValueError(f"Memory can be measured on Linux alone, not on {sys.platform}.")
        facts = {**machine_facts(), "rows": rows, "width": width, "seed": SEED}
        results: Results[Record] = Results(path, facts, fresh=fresh)
        with tempfile.TemporaryDirectory(prefix="spacy-multihash-", dir=folder) as name:
            measure_cases(results, only or list(CASES), Path(name), rows, width)
    except (OSError, ValueError) as error:
        msg.fail("Cannot measure", str(error), exits=1)
    print_table(("command", "GB", "GB with files"), table_rows(results.records), "lrr")
    msg.good(f"Wrote {path}")


def measure_cases(
    results: Results[Record], names: Sequence[str], folder: Path, rows: int, width: int
) -> None:
    """Measure the cases that the results lack, in an empty folder."""
    if set(names) - set(results.records):
        write_inputs(folder, rows, width)
    cases = {
        name: [str(width // 2) if part == HALF else part for part in CASES[name]] for name in names
    }
    measure_missing(results, cases, lambda arguments: measure(arguments, folder))


def write_inputs(folder: Path, rows: int, width: int) -> None:
    """Write the files that the commands take.

    The second table shares half of the words with the first. The text has the first table's words,
    and few different rows, so that it is made in short time.
    """
    for name, first in ((TABLE, 0), (OTHER, rows // 2)):
        data = open_memmap(folder / f"{name}.npy", "w+", "float32", (rows, width))
        rng = numpy.random.default_rng([SEED, first])
        for part in chunks(rows):
            data[part] = rng.standard_normal(data[part].shape, dtype="float32") + 1
        words = make_words(first, rows)
        table = VectorTable(name, data, word_keys(words), numpy.arange(rows), words, kind="vocab")
        write_table(folder / name, table)
        del data, table
        (folder / f"{name}.npy").unlink()
    few = numpy.random.default_rng(SEED).standard_normal((100, width), dtype="float32")
    lines = [" ".join(f"{number:.5f}" for number in row) for row in few]
    with (folder / TEXT).open("w", encoding="utf8") as file_:
        file_.write(f"{rows} {width}\n")
        file_.writelines(
            f"{word} {lines[i % len(lines)]}\n" for i, word in enumerate(make_words(0, rows))
        )
    shared = make_words(rows // 2, rows - rows // 2)
    (folder / WORDS).write_text("".join(f"{word}\n" for word in shared), "utf8")
    some = shared[:PAIRED]
    pairs = zip(some, reversed(some), strict=True)
    scored = (f"{a} {b} {i % 7}\n" for i, (a, b) in enumerate(pairs))
    (folder / PAIRS).write_text("".join(scored), "utf8")
    measure(("centre", TABLE, CENTRED), folder)


def make_words(first: int, number: int) -> list[str]:
    """Make up words."""
    return [f"word{i}" for i in range(first, first + number)]


def measure(arguments: Sequence[str], folder: Path) -> Record:
    """Run a command in a process of its own, and return its peaks of memory, in bytes.

    Its output is removed. "own" is what the process has for itself, and "resident" also has the
    pages of files that it maps, which the system takes back when others need the memory.

    Raises ValueError if the command fails.
    """
    program = [sys.executable, "-m", "spacy", "multihash", "vectors", *arguments]
    with (folder / "log").open("w+", encoding="utf8") as log:
        process = psutil.Popen(program, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        peaks = {"own": 0, "resident": 0}
        while process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                found = process.memory_info()
                peaks["own"] = max(peaks["own"], found.rss - found.shared)
                peaks["resident"] = max(peaks["resident"], found.rss)
            time.sleep(PAUSE)
        if process.returncode:
            log.seek(0)
            raise ValueError(f"multihash vectors {' '.join(arguments)} failed: {log.read()}")
    for path in folder.glob(f"{OUT}*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return {name: float(peak) for name, peak in peaks.items()}


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    return [
        (name, *(f"{records[name][key] / GB:.1f}" for key in ("own", "resident")))
        for name in CASES
        if name in records
    ]


if __name__ == "__main__":
    typer.run(vectors_cli)
