"""Make the splits of a corpus for `fit`, and check them before the work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

from spacy.tokens import Doc

from ..corpus.annotation import name_other, other_annotation
from ..corpus.read import text_labels
from ..corpus.splits import MIN_GROUPS, make_folds, split_related
from ..corpus.statistics import CorpusStats
from .options import Options
from .report import labels_of

SHARES = {(False, False): (0.75, 0.1, 0.15), (False, True): (0.9, 0.1)}  # by (has dev, has test)
MIN_DOCS = 10  # to split
FEW = 10  # entities of a label in train
MIN_CALIBRATED = 100  # entities of dev
MIN_FOLDED, MAX_FOLDED = 100, 50_000  # docs and tokens, to cross-validate


@dataclass(frozen=True)
class Split:
    """A corpus in splits.

    docs (Mapping[str, list[Doc]]): The docs of each split.
    regions (Mapping[str, list[int]]): The region of each doc, for splits that come from regions.
    by (Optional[str]): What kept texts apart: the "groups" that the corpus names, their "order",
        the names in them ("words"), or "chance". None: the splits were given.
    groups (Sequence[int]): The group of each doc of the corpus, in its order, to cross-validate.
        Empty if it's too small or too large for that, or has no regions.
    places (Mapping[str, list[int]]): The places of each split's docs in the corpus.
    """

    docs: Mapping[str, list[Doc]]
    regions: Mapping[str, list[int]]
    by: Optional[str]
    groups: Sequence[int] = ()
    places: Mapping[str, list[int]] = field(default_factory=dict)


def split_docs(
    docs: Mapping[str, list[Doc]],
    options: Options,
    groups: Sequence[str] = (),
    name: str = "The corpus",
) -> Split:
    """Split missing dev and test sets off train, and keep apart what belongs together.

    Docs of a group stay in one split. Otherwise, docs with the same words do. Entities are split by
    regions, and labels of texts at random.

    groups (Sequence[str]): The group of each doc of train, such as its article. They count if there
        are 10 or more.
    name (str): What to call train in messages.

    Raises ValueError if there are too few docs, or too few groups for --group.
    """
    shares = SHARES.get(("dev" in docs, "test" in docs))
    if shares is None:
        return Split(dict(docs), {}, None)
    items = docs["train"]
    number = len(items)
    if number < MIN_DOCS:
        has_sentences = any(token.is_sent_start for doc in items for token in doc[1:])
        advice = " To make a document of each sentence of CoNLL: convert --docs sentences"
        raise ValueError(
            f"{name} has {number} {'document' if number == 1 else 'documents'}, and fit "
            f"needs at least {MIN_DOCS} to split off a tenth. Give more, or --dev and --test."
            f"{advice if has_sentences else ''}"
        )
    parts = split_related(
        groups or [""] * number,
        [tuple(token.text for token in doc) for doc in items],
        shares,
        options.seed,
        by_order=not options.textcat,
        names=[names_in(doc) for doc in items],
    )
    if options.group is not None and parts.by != "groups":
        raise ValueError(
            f"--group {options.group} names {len(set(groups))} documents of {name} in "
            f"{number} texts. Name what at least {MIN_GROUPS} documents have, each with several "
            "texts, or leave --group out."
        )
    made = {name: [items[i] for i in places] for name, places in parts.places.items()}
    is_small = number >= MIN_FOLDED and sum(map(len, items)) <= MAX_FOLDED
    groups_of_docs = parts.groups if is_small and "test" in made and "dev" in made else ()
    return Split({**docs, **made}, parts.regions, parts.by, groups_of_docs, parts.places)


def names_in(doc: Doc) -> list[str]:
    """Return the entities of a doc, and their words."""
    return [text for ent in doc.ents for text in (f"{ent.text} ", *(token.text for token in ent))]


def split_folds(
    docs: Sequence[Doc], groups: Sequence[int], by: Optional[str], seed: int
) -> list[tuple[dict[str, list[Doc]], list[int]]]:
    """Split a corpus five times, to cross-validate.

    docs (Sequence[Doc]): The docs, in the order of the corpus.
    groups, by: As `Split` has them.
    RETURNS (list[tuple[dict[str, list[Doc]], list[int]]]): The docs of each split, and the regions
        of the test docs, for each fold. Folds without entities in a split are left out.
    """
    texts = [tuple(token.text for token in doc) for doc in docs]
    folds, regions = make_folds(groups, texts, seed, by_order=by != "words")
    made = []
    for fold in folds:
        split = {name: [docs[i] for i in places] for name, places in fold.items()}
        if all(any(doc.ents for doc in of_split) for of_split in split.values()):
            made.append((split, [regions[i] for i in fold["test"]]))
    return made


def check_docs(
    docs: Mapping[str, Sequence[Doc]], given: Mapping[str, str], options: Options
) -> None:
    """Raise ValueError for splits without annotations, or if all texts have the same label.

    given (Mapping[str, str]): What to call the corpora that aren't split off train.
    """
    expected, other = ("labels of texts", "entities") if options.textcat else ("entities", "labels")
    for name, of_split in docs.items():
        has_labels = any(text_labels(doc.cats) for doc in of_split)
        has_entities = any(doc.ents for doc in of_split)
        if has_labels if options.textcat else has_entities:
            continue
        if name not in given:
            advice = f"Give more documents, --{name}, or another --seed."
        elif has_labels or has_entities:
            fix = "Leave --textcat out" if options.textcat else "Give --textcat"
            advice = f"It has {other}: did you mean that? {fix}."
        else:
            others = sum(map(other_annotation, of_split), Counter())
            advice = name_other(others) or "Give a corpus that is annotated."
        raise ValueError(f"{given.get(name, f'The split {name}')} has no {expected}. {advice}")
    labels = {label for doc in docs["train"] for label in text_labels(doc.cats)}
    if options.textcat and len(labels) < 2:
        raise ValueError(
            f"All texts of {given['train']} have the label {labels.pop()}. Give at least two "
            "labels."
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


def unknown_documents(stats: CorpusStats, by: Optional[str]) -> list[str]:
    """Warn if neither groups nor the order of a corpus show what belongs together."""
    if by == "words":
        return [
            "The order of the corpus doesn't show which texts are from one document: it may be "
            "shuffled. So texts that share rare names are kept together. Texts of one document "
            "that share none can still be in both train and test, and then the score is too high "
            "for new texts. Name what their documents are called with --group, or give --dev and "
            "--test."
        ]
    is_shuffled = by == "chance" or (stats.repeats and stats.repeats.is_shuffled)
    if by in ("groups", None) or not is_shuffled:
        return []
    return [
        "The corpus doesn't show which texts are from one document: it may be shuffled. If they "
        "are in both train and test, the score is too high: expect an F1 on new texts between "
        "that of unseen entities and that of all. Name what their documents are called with "
        "--group, or give --dev and --test."
    ]
