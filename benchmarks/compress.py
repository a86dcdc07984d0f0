"""Measure rows that are computed in few bits beside rows that are widened when they are loaded."""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, Optional

import numpy
import typer
from thinc.api import Ops, get_current_ops
from wasabi import msg

from benchmarks.common.options import Quick, Repeats, choose_output, output_option
from benchmarks.common.results import machine_facts
from benchmarks.common.tables import print_table
from benchmarks.common.timing import Ratio, Times, limit_threads, ratio, time_rounds
from spacy_multihash.common.files import write_json
from spacy_multihash.compute.quantization import Codes, Precision, narrow, widen

NAME = "compress"
WIDENED = "widened"
PRECISIONS: tuple[Precision, ...] = ("float16", "int8")
SEED = 0
# Batches whose rows are new, so that no arm finds those of the round before in the cache.
BATCHES = 8


class Case(NamedTuple):
    """A table, and the rows that are asked of it.

    name (str): The table of an embedding, of which rows are summed, or static vectors.
    rows, width (int): The shape of the table.
    tokens (int): The distinct tokens of a batch.
    hashes (int): The rows of each token, which are summed.
    """

    name: str
    rows: int
    width: int
    tokens: int
    hashes: int


# 256 sentences have about 2,800 distinct tokens, and one sentence 20.
CASES = [
    Case("table, a batch", 5000, 96, 2800, 4),
    Case("table, a sentence", 5000, 96, 20, 4),
    Case("vectors, a batch", 20_000, 300, 2800, 1),
    Case("vectors, a sentence", 20_000, 300, 20, 1),
]


@dataclass(frozen=True)
class Comparison:
    """One table in one precision.

    case (str): The name of the case.
    precision (str): The precision that rows are kept in.
    time (Ratio): The time to look rows up in that precision, divided by that of widened ones.
    memory (float): The bytes of the table, divided by those of float32.
    """

    case: str
    precision: str
    time: Ratio
    memory: float


def compress_cli(
    repeats: Repeats = None,
    quick: Quick = False,
    output: Annotated[Optional[Path], output_option(NAME)] = None,
) -> None:
    """Compare both ways to keep rows in memory, in one thread.

    Widened rows are float32: thinc sums those of a table, as our layer does. Rows in few bits are
    widened whenever they are looked up.
    """
    rounds = repeats or (3 if quick else 200)
    with limit_threads(1):
        found = [each for case in CASES for each in compare(case, rounds)]
    header = ("rows", "precision", "time / widened", "memory / widened")
    rows = [(each.case, each.precision, str(each.time), f"{each.memory:.2f}") for each in found]
    print_table(header, rows, "llrr")
    path = choose_output(output, NAME, quick=quick)
    results = [asdict(each) for each in found]
    write_json(path, {**machine_facts(), "rounds": rounds, "seed": SEED, "results": results})
    msg.good(f"Wrote {path}")


def compare(case: Case, rounds: int) -> list[Comparison]:
    """Time the lookups of a case in turns."""
    rng = numpy.random.default_rng(SEED)
    E = rng.normal(size=(case.rows, case.width)).astype("float32")
    tables = {precision: narrow(E, precision) for precision in PRECISIONS}
    batches = [
        rng.integers(0, case.rows, (case.tokens, case.hashes), dtype="int32")
        for _ in range(BATCHES)
    ]
    ops = get_current_ops()
    arms: dict[str, Callable] = {WIDENED: lambda rows: look_up(ops, E, rows)}
    for precision in PRECISIONS:
        arms[precision] = _arm(tables[precision])
    steps = {
        name: lambda i, arm=arm: lambda: arm(batches[i % BATCHES]) for name, arm in arms.items()
    }
    times: Times = time_rounds(steps, rounds=rounds, rng=random.Random(SEED))
    return [
        Comparison(
            case.name,
            precision,
            ratio(times[precision], times[WIDENED]),
            sum(part.nbytes for part in found if part is not None) / E.nbytes,
        )
        for precision, found in tables.items()
    ]


def look_up(ops: Ops, E: numpy.ndarray, rows: numpy.ndarray) -> numpy.ndarray:
    """Sum rows of float32, (U, K) -> (U, W)."""
    return ops.gather_add(E, rows) if rows.shape[1] > 1 else E[rows[:, 0]]  # type: ignore[arg-type, return-value]


def look_up_codes(found: Codes, rows: numpy.ndarray) -> numpy.ndarray:
    """Sum rows of codes, (U, K) -> (U, W) float32."""
    scales = None if found.scales is None else found.scales[rows].reshape(-1)
    X = widen(found.codes[rows], scales)
    return X.sum(axis=1) if rows.shape[1] > 1 else X[:, 0]


def _arm(found: Codes) -> Callable[[numpy.ndarray], numpy.ndarray]:
    return lambda rows: look_up_codes(found, rows)


if __name__ == "__main__":
    typer.run(compress_cli)
