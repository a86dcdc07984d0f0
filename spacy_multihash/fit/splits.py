"""Make the splits of a corpus for `fit`, and check them before the work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from spacy.tokens import Doc

from ..corpus.conll import DOCSTART
from ..corpus.convert import split_items
from ..corpus.statistics import CorpusStats
from ..corpus.texts import read_lines
from .report import labels_of
from .run import Options

SHARES = {(False, False): (0.8, 0.1, 0.1), (False, True): (0.9, 0.1)}  # by (has dev, has test)
MIN_DOCS = 10  # to split
FEW = 10  # entities of a label in train
MIN_CALIBRATED = 100  # entities of dev


def split_docs(docs: Mapping[str, list[Doc]], options: Options) -> dict[str, list[Doc]]:
    """Split missing dev and test sets off train. Raises ValueError if there are too few docs."""
    shares = SHARES.get(("dev" in docs, "test" in docs))
    if shares is None:
        return dict(docs)
    number = len(docs["train"])
    if number < MIN_DOCS:
        raise ValueError(
            f"{options.data} has {number} {'document' if number == 1 else 'documents'}, and fit "
            f"needs at least {MIN_DOCS} to split off a tenth. Give more, or --dev and --test."
            f"{_by_sentence(options.data)}"
        )
    parts = split_items(docs["train"], shares, options.seed, _words)
    return {**docs, **parts}


def _by_sentence(path: Path) -> str:
    """Say how to make more documents, if -DOCSTART- lines separate them."""
    if path.suffix == ".spacy" or not path.is_file():
        return ""
    has_marks = any(line.startswith(DOCSTART) for _, line in read_lines(path))
    advice = " To make a document of each sentence of CoNLL: convert --docs sentences"
    return advice if has_marks else ""


def _words(doc: Doc) -> tuple[str, ...]:
    return tuple(token.text for token in doc)


def check_docs(docs: Mapping[str, Sequence[Doc]], options: Options) -> None:
    """Raise ValueError for splits without annotations, or if all texts have the same label."""
    given = {"train": options.data, "dev": options.dev, "test": options.test}
    what, other = ("labels of texts", "entities") if options.textcat else ("entities", "labels")
    for name, of_split in docs.items():
        has_labels = any(_labels(doc) for doc in of_split)
        has_entities = any(doc.ents for doc in of_split)
        if has_labels if options.textcat else has_entities:
            continue
        if given[name] is None:
            advice = f"Give more documents, --{name}, or another --seed."
        elif has_labels or has_entities:
            fix = "Leave --textcat out" if options.textcat else "Give --textcat"
            advice = f"It has {other}: did you mean that? {fix}."
        else:
            advice = "Give a corpus that is annotated."
        raise ValueError(f"{given[name] or f'The split {name}'} has no {what}. {advice}")
    labels = {label for doc in docs["train"] for label in _labels(doc)}
    if options.textcat and len(labels) < 2:
        raise ValueError(
            f"All texts of {options.data} have the label {labels.pop()}. Give at least two labels."
        )


def _labels(doc: Doc) -> list[str]:
    return [label for label, score in doc.cats.items() if score >= 0.5]


def rare_labels(stats: CorpusStats) -> list[str]:
    """Warn of labels that are rare in train."""
    in_train = Counter(labels_of(stats.splits["train"]))
    labels = {label for split in stats.splits.values() for label in labels_of(split)}
    rare = [f"{label} {in_train[label]}" for label in sorted(labels) if in_train[label] < FEW]
    return [f"Labels with fewer than {FEW} examples in train: {', '.join(rare)}"] if rare else []


def few_entities(stats: CorpusStats) -> list[str]:
    """Warn of few entities in dev, which calibrates probabilities."""
    number = stats.splits["dev"].entities
    few = f"Don't rely on the probabilities: dev has only {number} entities."
    return [few] if number < MIN_CALIBRATED else []
