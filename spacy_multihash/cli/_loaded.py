"""Load a pipeline in a process of its own, and print how much time and memory that takes.

python -m spacy_multihash.cli._loaded PIPELINE [--code FILE] [--package NAME]
"""

import importlib
import sys
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

import spacy
import srsly

from ..common.memory import resident_memory
from ._util import import_code

if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("pipeline")
    parser.add_argument("--code", type=Path)
    parser.add_argument("--package")
    given = parser.parse_args()
    import_code(given.code)
    if given.package:
        importlib.import_module(given.package)
    before, start = resident_memory(), perf_counter()
    nlp = spacy.load(given.pipeline)
    seconds, after = perf_counter() - start, resident_memory()
    growth = None if before is None or after is None else after - before
    sys.stdout.write(srsly.json_dumps({"seconds": seconds, "memory": growth}))
