"""Load a pipeline once, in a process of its own, and write the seconds and the memory as JSON.

    python -m spacy_multihash.pipelines.load_once MODEL [PACKAGE or FILE.py with registered code]

It imports nothing of this package itself, so that spaCy's pipelines are measured without it.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Optional

STATUS = Path("/proc/self/status")


def load_once(model: str, *code: str) -> tuple[float, Optional[int]]:
    """Load a pipeline. Returns the seconds, and the bytes of memory of this process, if known."""
    import spacy
    from spacy.util import import_file

    for name in code:
        if name.endswith(".py"):
            import_file("python_code", name)
        else:
            import_module(name)
    start = time.perf_counter()
    nlp = spacy.load(model)
    seconds = time.perf_counter() - start
    nlp("A text.")  # what's made at the first text belongs to the memory
    return seconds, status_bytes("VmRSS") if STATUS.is_file() else None


def status_bytes(name: str) -> int:
    """Read a line of the status of this process, as Linux has it."""
    lines = (line.split() for line in STATUS.read_text().splitlines())
    return next(int(line[1]) * 1024 for line in lines if line[0] == f"{name}:")


if __name__ == "__main__":
    sys.stdout.write(f"\n{json.dumps(load_once(*sys.argv[1:]))}\n")
