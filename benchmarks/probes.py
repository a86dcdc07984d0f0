"""Measurements that need a new process: peak memory, and the time of imports."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from spacy_multihash.pipelines.load_once import STATUS, status_bytes

# Hides a package's entry points, and times spaCy up to its first pipeline, which loads them.
IMPORT = """
import importlib.metadata as metadata, sys, time
every = metadata.distributions
metadata.distributions = lambda **context: (
    found for found in every(**context) if found.metadata["Name"] != sys.argv[1]
)
start = time.perf_counter()
import spacy
spacy.blank("en")
print(time.perf_counter() - start, any(name.startswith("spacy_multihash") for name in sys.modules))
"""
CLEAR_PEAK = Path("/proc/self/clear_refs")


def can_measure_memory() -> bool:
    """Return whether the system reports the peak memory of a process, as Linux does."""
    return STATUS.is_file() and CLEAR_PEAK.is_file()


def import_seconds(*, plugin: bool) -> float:
    """Time `import spacy` and a blank pipeline in a new process, with the plugin or without it."""
    hidden = "none" if plugin else "spacy-multihash"
    command = [sys.executable, "-c", IMPORT, hidden]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, loaded = done.stdout.split()
    if loaded != str(plugin):
        raise RuntimeError(f"The plugin is loaded: {loaded}, expected {plugin}.")
    return float(seconds)


def peak_megabytes(folder: Path, arm: str, corpus: Path, tokens: int, docs: int) -> float:
    """Measure the peak memory of predicting docs in a new process, beyond pipeline and docs.

    folder (Path): A spaCy pipeline.
    tokens (int): The number of tokens of each doc.
    docs (int): The number of docs, which are one batch.
    """
    arguments = [str(folder), arm, str(corpus), str(tokens), str(docs)]
    command = [sys.executable, "-m", "benchmarks.probes", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout))


def predict_peak(folder: str, arm: str, corpus: str, tokens: str, docs: str) -> float:
    """Load a pipeline, predict a batch, and return the peak in between, in MB."""
    import spacy
    from spacy.tokens import Doc

    from benchmarks.pipelines import make_arm, take_words

    nlp = make_arm(spacy.load(folder), arm)
    size = int(tokens)
    words = take_words(Path(corpus), size * int(docs))
    batch = [Doc(nlp.vocab, words=words[i : i + size]) for i in range(0, len(words), size)]
    for _ in nlp.pipe([Doc(nlp.vocab, words=words[:100])]):
        pass

    def run() -> None:
        for _ in nlp.pipe(batch, batch_size=len(batch)):
            pass

    return peak_of(run) / 1e6


def peak_of(run: Callable[[], None]) -> int:
    """Return by how many bytes the memory of this process rises at most during a call."""
    CLEAR_PEAK.write_text("5")
    before = status_bytes("VmRSS")
    run()
    return status_bytes("VmHWM") - before


if __name__ == "__main__":
    sys.stdout.write(json.dumps(predict_peak(*sys.argv[1:])))
