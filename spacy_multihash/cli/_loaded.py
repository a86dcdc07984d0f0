"""Load a pipeline in a process of its own, and print how much time and memory that takes.

python -m spacy_multihash.cli._loaded PIPELINE [CODE]
"""

import sys
from pathlib import Path
from time import perf_counter

import spacy
import srsly

from ..common.memory import resident_memory
from ._util import import_code

if __name__ == "__main__":
    import_code(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    before, start = resident_memory(), perf_counter()
    nlp = spacy.load(sys.argv[1])
    seconds, after = perf_counter() - start, resident_memory()
    growth = None if before is None or after is None else after - before
    sys.stdout.write(srsly.json_dumps({"seconds": seconds, "memory": growth}))
