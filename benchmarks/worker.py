"""Measure cases in a new process, whose environment sets the number of threads."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Optional

from benchmarks.cases import CASES, Settings
from benchmarks.report import ROOT, Row, make_row

# Each library reads its variable when it's loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "SPACY_MULTIHASH_THREADS")


def measure_in_process(
    names: Sequence[str], settings: Settings, threads: int
) -> Iterator[tuple[str, Optional[Row]]]:
    """Measure cases in a new process, and yield their rows, or None for failed cases."""
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps([*names])]
    command.append(json.dumps({**settings._asdict(), "corpus": str(settings.corpus)}))
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            name, row = json.loads(line)
            yield name, row
    if process.returncode:
        raise RuntimeError(f"The process that measures ended with code {process.returncode}.")


def main(names: str, settings: str) -> None:
    """Measure cases, and write a line of JSON for each."""
    fields = json.loads(settings)
    fields["corpus"] = Path(fields["corpus"])
    output = sys.stdout
    for name in json.loads(names):
        case, row = CASES[name], None
        try:
            with redirect_stdout(sys.stderr):
                values = case.measure(Settings(**fields))
            row = make_row(case.label, case.unit, case.threads, values)
        except Exception:
            traceback.print_exc()
        output.write(json.dumps([name, row]) + "\n")
        output.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
