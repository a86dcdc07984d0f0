"""Make the splits of a corpus for `fit`, and check them before the work."""

from collections import Counter
from collections.abc import Mapping, Sequence

from spacy.tokens import Doc

from ..corpus.convert import split_items
from ..corpus.read import text_labels
from ..corpus.statistics import CorpusStats
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
        has_sentences = any(token.is_sent_start for doc in docs["train"] for token in doc[1:])
        advice = " To make a document of each sentence of CoNLL: convert --docs sentences"
        raise ValueError(
            f"{options.data} has {number} {'document' if number == 1 else 'documents'}, and fit "
            f"needs at least {MIN_DOCS} to split off a tenth. Give more, or --dev and --test."
            f"{advice if has_sentences else ''}"
        )
    parts = split_items(
        docs["train"], shares, options.seed, lambda doc: tuple(token.text for token in doc)
    )
    return {**docs, **parts}


def check_docs(docs: Mapping[str, Sequence[Doc]], options: Options) -> None:
    """Raise ValueError for splits without annotations, or if all texts have the same label."""
    given = {"train": options.data, "dev": options.dev, "test": options.test}
    expected, other = ("labels of texts", "entities") if options.textcat else ("entities", "labels")
    for name, of_split in docs.items():
        has_labels = any(text_labels(doc.cats) for doc in of_split)
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
        raise ValueError(f"{given[name] or f'The split {name}'} has no {expected}. {advice}")
    labels = {label for doc in docs["train"] for label in text_labels(doc.cats)}
    if options.textcat and len(labels) < 2:
        raise ValueError(
            f"All texts of {options.data} have the label {labels.pop()}. Give at least two labels."
        )


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
