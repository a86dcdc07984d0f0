"""What compressing a pipeline brought, and what it cost: measured on both, in turns."""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Optional

import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..convert.compress import LeftOut
from ..corpus.agreement import attributes_kept, entities_kept, largest_change, spans_kept
from ..corpus.evaluation import annotate, score
from ._messages import msg
from ._show import show_table

# How often each pipeline is loaded, and annotates texts of so many tokens.
ROUNDS, SPEED_TOKENS = 3, 10_000
_MEGA = 10**6


@dataclass(frozen=True)
class Change:
    """A measure before and after. None where it cannot be measured."""

    before: Optional[float]
    after: Optional[float]

    @property
    def ratio(self) -> Optional[float]:
        """After divided by before."""
        return self.after / self.before if self.before and self.after is not None else None


@dataclass(frozen=True)
class Predictions:
    """What the compressed pipeline finds, beside what the other one found.

    entities (int): Entities found before.
    entities_kept (Optional[float]): The share of them that are found again, with extent and label.
    f (Change): F1 of entities, 0 to 1. None without gold entities.
    spans_kept (Mapping[str, float]): The share of spans that are found again, by span group.
    attributes_kept (Mapping[str, float]): The share of tokens with the same value, by attribute.
    largest_change (Optional[float]): Of the score of a text's class. None without classes.
    """

    entities: int
    entities_kept: Optional[float]
    f: Change
    spans_kept: Mapping[str, float]
    attributes_kept: Mapping[str, float]
    largest_change: Optional[float]


@dataclass(frozen=True)
class Report:
    """What compressing brought and cost.

    bytes (Change): Of all files.
    memory (Change): Bytes by which a process grows as it loads the pipeline.
    load_seconds (Change): Time to load it, in a process of its own.
    tokens_per_second (Change): The speed on texts of the corpus.
    left_out (LeftOut): Rows of vectors, and strings.
    predictions (Optional[Predictions]): None without a corpus.
    kept_bytes (Mapping[str, int]): Bytes of weights of other frameworks, by component.
    """

    bytes: Change
    memory: Change
    load_seconds: Change
    tokens_per_second: Change
    left_out: LeftOut
    predictions: Optional[Predictions]
    kept_bytes: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return all figures, with ratios."""
        changes = {name: value for name, value in vars(self).items() if isinstance(value, Change)}
        found = {name: _json(change) for name, change in changes.items()}
        predictions = self.predictions and {
            **vars(self.predictions),
            "f": _json(self.predictions.f),
        }
        left_out, kept = self.left_out._asdict(), dict(self.kept_bytes)
        return {**found, "left_out": left_out, "predictions": predictions, "kept_bytes": kept}


def measure_files(
    before: Path, after: Path, code: Optional[Path], package: Optional[str]
) -> dict[str, Change]:
    """Measure the size of two pipelines, and what it takes to load them.

    before, after (Path): Their folders.
    code (Optional[Path]): The Python file that they need.
    package (Optional[str]): The package that they need, since the first one is of it.

    Raises ValueError if one cannot be loaded in a process of its own.
    """
    paths = (before, after)
    loads: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(ROUNDS):
        for path, found in zip(paths, loads, strict=True):
            found.append(_load(path, code, package))
    memory, seconds = (
        Change(*(_median(each[key] for each in found) for found in loads))
        for key in ("memory", "seconds")
    )
    sizes = Change(
        *(sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) for path in paths)
    )
    return {"bytes": sizes, "memory": memory, "load_seconds": seconds}


def measure_speed(before: Language, after: Language, texts: Sequence[str]) -> Change:
    """Let two pipelines annotate some texts in turns, and return the tokens a second of each."""
    some, num_tokens = [], 0
    for text in texts:
        if num_tokens < SPEED_TOKENS:
            some.append(text)
            num_tokens += len(before.make_doc(text))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for nlp, found in zip((before, after), seconds, strict=True):
            start = perf_counter()
            for _ in nlp.pipe(some):
                pass
            found.append(perf_counter() - start)
    return Change(*(num_tokens / median(found) if num_tokens else None for found in seconds))


def compare(before: Language, after: Language, examples: Sequence[Example]) -> Predictions:
    """Compare what two pipelines find in the docs of a corpus, which are not annotated yet."""
    arms = []
    for nlp in (before, after):
        words = [([t.text for t in e.x], [bool(t.whitespace_) for t in e.x]) for e in examples]
        docs = [Doc(nlp.vocab, *each) for each in words]
        arms.append([Example(doc, e.reference) for doc, e in zip(docs, examples, strict=True)])
        annotate(nlp, arms[-1])
    has_gold = any(example.reference.ents for example in examples)
    f = Change(*(score(arm).f if has_gold else None for arm in arms))
    one, two = ([example.predicted for example in arm] for arm in arms)
    return Predictions(
        sum(len(doc.ents) for doc in one),
        entities_kept(one, two),
        f,
        spans_kept(one, two),
        attributes_kept(one, two),
        largest_change(one, two),
    )


def show_report(report: Report) -> None:
    """Print the figures in two tables."""
    changes = {
        "MB on disk": _scaled(report.bytes, 1 / _MEGA),
        "MB of memory": _scaled(report.memory, 1 / _MEGA),
        "seconds to load": report.load_seconds,
        "tokens a second": report.tokens_per_second,
    }
    predictions = report.predictions
    if predictions is not None:
        changes["F1 of entities"] = _scaled(predictions.f, 100)
    rows = [
        (
            name,
            *(f"{value:,.2f}" for value in (change.before, change.after)),
            "-" if change.ratio is None else f"{change.ratio:.3f}",
        )
        for name, change in changes.items()
        if change.before is not None and change.after is not None
    ]
    show_table("Before and after", ("", "before", "after", "after / before"), rows)
    if predictions is not None:
        spans = {f"spans of {key}": share for key, share in predictions.spans_kept.items()}
        kept = {
            "entities": predictions.entities_kept,
            **spans,
            **predictions.attributes_kept,
        }
        rows = [(name, f"{100 * share:.2f}") for name, share in kept.items() if share is not None]
        show_table("Predictions that stay the same", ("", "%"), rows)
        if predictions.largest_change is not None:
            msg.text(f"Scores of classes change by up to {predictions.largest_change:.4f}.")
    for component, size in report.kept_bytes.items():
        msg.warn(
            f"{component}: {size / _MEGA:,.1f} MB of weights are of another framework, such as "
            "PyTorch, and stay as they are."
        )
    left = report.left_out
    msg.text(
        f"Left out: {left.strings:,} of {left.strings_before:,} strings, which no component needs, "
        f"and {left.rows:,} rows of vectors, which no word has."
    )


def _load(path: Path, code: Optional[Path], package: Optional[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "spacy_multihash.cli._loaded", str(path)]
    for option, value in (("--code", code), ("--package", package)):
        command += [option, str(value)] if value else []
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf8")
    if done.returncode:
        errors = re.findall(r"^[\w.]+: .*", done.stderr, re.MULTILINE)
        error = (errors or done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]
        raise ValueError(
            f"The pipeline at {path} cannot be loaded: {error.rstrip('.')}. Pipelines that need "
            "code of their own need --code."
        )
    return srsly.json_loads(done.stdout.splitlines()[-1])


def _median(values: Iterable[Optional[float]]) -> Optional[float]:
    found = [value for value in values if value is not None]
    return median(found) if found else None


def _scaled(change: Change, factor: float) -> Change:
    return Change(*(value and value * factor for value in (change.before, change.after)))


def _json(change: Change) -> dict[str, Optional[float]]:
    return {**vars(change), "ratio": change.ratio}
