"""What the benchmarks share: two arms in turns, ratios with intervals, text, layers, results."""

import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Generic, NamedTuple, Optional, TypeVar, Union

import numpy
import spacy
import typer
from spacy.ml.models.tok2vec import MaxoutWindowEncoder, MultiHashEmbed, build_Tok2Vec_model
from spacy.tokens import Doc, DocBin
from thinc.api import Model
from threadpoolctl import threadpool_info, threadpool_limits

import spacy_multihash
from spacy_multihash.compute.blas import num_threads, set_products

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
# Real data and a real pipeline beside a checkout; users have neither.
SHARED = ROOT.parent / "shared"

ATTRS: list[Union[str, int]] = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
ROWS = [5000, 2500, 2500, 2500]
SPACY, OURS = "spaCy", "ours"
NO_PLOTS = "No plot without matplotlib: pip install 'spacy-multihash[plots]'"

# Milliseconds of each round, by the name of what was timed.
Times = Mapping[str, numpy.ndarray]
# Gets the number of the round, prepares, and returns what is timed.
Step = Callable[[int], Callable[[], object]]
# "embed", "encoder" and "tok2vec".
Layers = dict[str, Model]

RecordT = TypeVar("RecordT")


# Options that the scripts share.
Quick = Annotated[bool, typer.Option(help="Try everything in small; no numbers to go by")]
Repeats = Annotated[Optional[int], typer.Option(help="How often each is timed", min=2)]
Plot = Annotated[Optional[Path], typer.Option(help="PNG file, beside the JSON if not given")]
Fresh = Annotated[bool, typer.Option(help="Measure anew what is in the JSON file")]


@dataclass(frozen=True)
class Ratio:
    """The median quotient of two times that were taken in the same rounds.

    low, high: Its 95 % interval, by bootstrap over the rounds.
    """

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        """Show the median, and the interval behind it."""
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def ratio(times: numpy.ndarray, others: numpy.ndarray, *, resamples: int = 2000) -> Ratio:
    """Divide the times (rounds,) of the same rounds, and estimate the median."""
    quotients = times / others
    rng = numpy.random.default_rng(0)
    medians = numpy.median(rng.choice(quotients, (resamples, len(quotients))), axis=1)
    low, high = numpy.percentile(medians, [2.5, 97.5])
    return Ratio(float(low), float(numpy.median(quotients)), float(high))


def time_rounds(
    steps: Mapping[str, Step], *, rounds: int, rng: random.Random, warm_up: int = 2
) -> Times:
    """Time each step once a round, in another order each round, after some rounds to warm up."""
    times = {name: numpy.zeros(rounds) for name in steps}
    for i in range(-warm_up, rounds):
        for name in rng.sample(list(steps), len(steps)):
            run = steps[name](i)
            start = time.perf_counter()
            run()
            if i >= 0:
                times[name][i] = (time.perf_counter() - start) * 1000
    return times


@contextmanager
def limit_threads(threads: Optional[int]) -> Iterator[int]:
    """Limit the threads of our products and of every BLAS, or do not; give their number."""
    former = set_products("auto" if threads is None else f"auto:{threads}")
    try:
        with threadpool_limits(limits=threads, user_api="blas"):
            yield num_threads()
    finally:
        set_products(former)


class Text(NamedTuple):
    """What the layers run on: short docs of the language, with entities."""

    name: str
    lang: str
    docs: list[Doc]


def run_experiments(*arguments: str) -> None:
    """Run a command of the experiments, in a process of its own."""
    command = [sys.executable, "-m", "experiments", *arguments]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def load_text(seed: int = 0) -> Text:
    """Load the first of these that is there, shuffled.

    CoNLL-2002 Spanish dev in corpus/, the same in ../shared/datasets, the project's own sample.
    """
    path, published = ROOT / "corpus" / "conll-es" / "dev.spacy", SHARED / "datasets"
    with TemporaryDirectory() as folder:
        name, lang = "CoNLL-2002 Spanish dev", "es"
        if not path.is_file():
            if (published / "conll2002").is_dir():
                command, split = ["convert", "conll-es", str(published), folder], "dev"
            else:
                command, split = ["make-sample", folder], "train"
                name, lang = "the project's sample (python -m experiments make-sample)", "en"
            run_experiments(*command)
            path = Path(folder) / f"{split}.spacy"
        docs = list(DocBin().from_disk(path).get_docs(spacy.blank(lang).vocab))
    return Text(name, lang, random.Random(seed).sample(docs, len(docs)))


def describe_text(text: Text) -> dict[str, object]:
    """Say what the text is, for the results."""
    counts = {"docs": len(text.docs), "tokens": count_tokens(text.docs)}
    return {"name": text.name, "lang": text.lang, **counts, "types": count_types(text.docs)}


def count_tokens(docs: Sequence[Doc]) -> int:
    """Count tokens, N."""
    return sum(len(doc) for doc in docs)


def count_types(docs: Sequence[Doc]) -> int:
    """Count the tokens that are distinct in the embedded attributes, U."""
    return len(numpy.unique(numpy.concatenate([doc.to_array(ATTRS) for doc in docs]), axis=0))


def take_docs(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Take the first docs.

    Raises ValueError if there are too few.
    """
    if len(docs) < size:
        raise ValueError(f"A batch needs {size} docs, the text has {len(docs)}.")
    return list(docs[:size])


def take_tokens(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Take the first docs until there are enough tokens; the last doc may have some more.

    Raises ValueError if there are too few.
    """
    if count_tokens(docs) < size:
        raise ValueError(f"A batch needs {size} tokens, the text has {count_tokens(docs)}.")
    ends = numpy.cumsum([len(doc) for doc in docs])
    return list(docs[: int(numpy.searchsorted(ends, size)) + 1])


def take_batches(
    docs: Sequence[Doc], take: Callable[[Sequence[Doc]], list[Doc]], number: int
) -> list[list[Doc]]:
    """Take batches one after the other, from the start again when the text is at its end."""
    batches = []
    for _ in range(number):
        batch = take(docs)
        batches.append(batch)
        docs = [*docs[len(batch) :], *batch]
    return batches


def merge_docs(docs: Sequence[Doc], size: int) -> list[Doc]:
    """Put docs together to docs of at least this many tokens each; a rest is left out."""
    merged = []
    while count_tokens(docs) >= size:
        part = take_tokens(docs, size)
        docs = docs[len(part) :]
        merged.append(join_docs(part))
    return merged


def join_docs(docs: Sequence[Doc]) -> Doc:
    """Make one doc of the tokens of many."""
    joined = Doc.from_docs(list(docs))
    if joined is None:
        raise ValueError("A doc is made of one doc or more, was given none.")
    return joined


def spacy_layers(
    width: int, *, depth: int, sample: Sequence[Doc], rows: Sequence[int] = ROWS
) -> Layers:
    """Build spaCy's layers, with random weights."""
    embed = MultiHashEmbed(width, ATTRS, list(rows), include_static_vectors=False)
    embed.initialize(X=list(sample))
    encoder = MaxoutWindowEncoder(width, window_size=1, maxout_pieces=3, depth=depth)
    encoder.initialize()
    return with_tok2vec(embed, encoder)


def our_layers(layers: Layers) -> Layers:
    """Build our layers with a copy of the weights of spaCy's."""
    embed = spacy_multihash.embed_from_spacy(layers["embed"])
    return with_tok2vec(embed, spacy_multihash.encoder_from_spacy(layers["encoder"]))


def with_tok2vec(embed: Model, encoder: Model) -> Layers:
    """Put an embedding and an encoder together."""
    tok2vec = build_Tok2Vec_model(embed, encoder)
    return {"embed": embed, "encoder": encoder, "tok2vec": tok2vec}


def predict_step(model: Model, batches: Sequence[object]) -> Step:
    """Predict the batches in turn."""
    return lambda i: partial(model.predict, batches[i % len(batches)])


def training_step(
    model: Model, batches: Sequence[object], gradients: Sequence[Sequence[numpy.ndarray]]
) -> Step:
    """Go forward and backward through the batches in turn; no optimizer, weights stay equal."""

    def forward_backward(batch: object, gradient: Sequence[numpy.ndarray]) -> tuple[object, object]:
        Y, backprop = model.begin_update(batch)
        return Y, backprop(gradient)

    def prepare(i: int) -> Callable[[], object]:
        n = i % len(batches)
        return partial(forward_backward, batches[n], gradients[n])

    return prepare


def random_gradients(docs: Sequence[Doc], width: int) -> list[numpy.ndarray]:
    """Draw a gradient [(len(doc), width) float32] for the vectors of a batch."""
    return [numpy.random.uniform(-1, 1, (len(doc), width)).astype("float32") for doc in docs]


def machine_facts() -> dict[str, object]:
    """Say where the times were taken."""
    packages = ("numpy", "spacy", "thinc", "blis", "spacy-multihash")
    keys = ("internal_api", "version", "architecture", "num_threads")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
        "numpy_blas": [{key: info.get(key) for key in keys} for info in blas],
    }


def _cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf8").splitlines() if path.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


class Results(Generic[RecordT]):
    """Records in a JSON file, written after each, so that a run that was stopped goes on."""

    def __init__(self, path: Path, facts: Mapping[str, object], *, fresh: bool = False) -> None:
        """Read the records that are there.

        path (Path): The file, made with the first record.
        facts (Mapping[str, object]): Machine, text and settings, which all records share.
        fresh (bool): Leave what is there, and replace it.

        Raises ValueError if what is there has other facts.
        """
        self.path = path
        self.facts: dict[str, object] = json.loads(json.dumps(facts))
        self.records: dict[str, RecordT] = {}
        if path.is_file() and not fresh:
            data = json.loads(path.read_text("utf8"))
            self.records = data.pop("results")
            other = [key for key in self.facts if data.get(key) != self.facts[key]]
            if other:
                raise ValueError(
                    f"{path} was made with another {' and '.join(other)}. Choose another --output, "
                    "or --fresh to replace it."
                )

    def add(self, name: str, record: RecordT) -> None:
        """Add a record, and write the file."""
        self.records[name] = record
        self.write()

    def write(self, **summary: object) -> None:
        """Write the file, with what follows from the records."""
        write_json(self.path, {**self.facts, **summary, "results": self.records})


def write_json(path: Path, data: object) -> None:
    """Write JSON to a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)


def can_plot() -> bool:
    """Say whether matplotlib, an extra, is installed."""
    return find_spec("matplotlib") is not None
