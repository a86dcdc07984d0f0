"""Make the splits of a corpus for `fit`, and check them before the work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from spacy.tokens import Doc

from ..corpus.annotation import name_other, other_annotation
from ..corpus.read import text_labels
from ..corpus.splits import MIN_GROUPS, SPLITS, make_folds, split_corpus
from ..corpus.statistics import CorpusStats
from .options import Options

SHARES = {(False, False): (0.75, 0.1, 0.15), (False, True): (0.9, 0.1)}  # by (has dev, has test)
MIN_DOCS = 10  # to split
MIN_CALIBRATED = 100  # entities of dev
MIN_FOLDED, MAX_FOLDED = 100, 50_000  # docs and tokens, to cross-validate


@dataclass(frozen=True)
class Split:
    """A corpus in splits.

    docs (Mapping[str, list[Doc]]): The docs of each split.
    regions (Mapping[str, list[int]]): The region of each doc, for splits that come from regions.
    by (Optional[str]): What kept texts apart: the "groups" that the corpus names, their "order",
        the names in them ("words"), or "chance". None: the splits were given.
    groups (Sequence[Any]): The group of each doc of the corpus, in its order: its document,
        its related docs, or itself. Empty if nothing is known of documents.
    places (Mapping[str, list[int]]): The places of each split's docs in the corpus.
    """

    docs: Mapping[str, list[Doc]]
    regions: Mapping[str, list[int]]
    by: Optional[str]
    groups: Sequence[Any] = ()
    places: Mapping[str, list[int]] = field(default_factory=dict)

    @property
    def corpus(self) -> list[Doc]:
        """The docs that were split, in the order of the corpus."""
        in_order = dict[int, Doc]()
        for name, places in self.places.items():
            in_order |= zip(places, self.docs[name], strict=True)
        return [in_order[i] for i in range(len(in_order))]

    @property
    def is_for_folds(self) -> bool:
        """Whether the corpus has regions, and the right size to cross-validate it."""
        tokens = sum(map(len, self.corpus))
        is_split = self.places.keys() == {"train", "dev", "test"} and bool(self.regions)
        return is_split and len(self.corpus) >= MIN_FOLDED and tokens <= MAX_FOLDED


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
        return Split(dict(docs), {}, None, groups, {"train": [*range(len(docs["train"]))]})
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
    groups = groups or [""] * number
    parts = split_corpus(items, groups, shares, options.seed, by_order=not options.textcat)
    if options.group is not None and parts.by != "groups":
        raise ValueError(
            f"--group {options.group} names {len(set(groups))} documents of {name} in "
            f"{number} texts. Name what at least {MIN_GROUPS} documents have, each with several "
            "texts, or leave --group out."
        )
    made = {name: [items[i] for i in places] for name, places in parts.places.items()}
    joined = {**docs, **made}
    in_order = {name: joined[name] for name in SPLITS if name in joined}
    return Split(in_order, parts.regions, parts.by, parts.groups or groups, parts.places)


class Fold(NamedTuple):
    """A fold: the docs of each split, and the places and regions of the test docs."""

    docs: Mapping[str, list[Doc]]
    places: Sequence[int]
    regions: Sequence[int]


def split_folds(split: Split, seed: int) -> list[Fold]:
    """Split a corpus five times, and leave out folds without entities in a split."""
    docs = split.corpus
    texts = [tuple(token.text for token in doc) for doc in docs]
    folds, regions = make_folds(split.groups, texts, seed, by_order=split.by != "words")
    made = []
    for fold in folds:
        of_splits = {name: [docs[i] for i in places] for name, places in fold.items()}
        if all(any(doc.ents for doc in of_split) for of_split in of_splits.values()):
            test = fold["test"]
            made.append(Fold(of_splits, test, [regions[i] for i in test]))
    return made


def check_docs(
    docs: Mapping[str, Sequence[Doc]], given: Mapping[str, str], options: Options
) -> None:
    """Raise ValueError for splits without annotations, or if all texts have the same label.

    given (Mapping[str, str]): What to call the corpora that aren't split off train.
    """
    expected, other = ("labels of texts", "entities") if options.textcat else ("entities", "labels")
    for name, of_split in docs.items():
        has = {
            "entities": any(doc.ents for doc in of_split),
            "labels of texts": any(text_labels(doc.cats) for doc in of_split),
        }
        if has[expected]:
            continue
        if name not in given:
            advice = f"Give more documents, --{name}, or another --seed."
        elif any(has.values()):
            fix = "Leave --textcat out" if options.textcat else "Give --textcat"
            advice = f"It has {other}: did you mean that? {fix}."
        else:
            others = sum(map(other_annotation, of_split), Counter())
            advice = name_other(others) or "Give a corpus that is annotated."
        raise ValueError(f"{given.get(name, f'The split {name}')} has no {expected}. {advice}")
    labels = {label for doc in docs["train"] for label in text_labels(doc.cats)}
    if options.textcat and len(labels) < 2:
        only = f"All texts of {given['train']} have the label {labels.pop()}."
        raise ValueError(f"{only} Give at least two labels.")


def shared_texts(docs: Mapping[str, Sequence[Doc]]) -> list[str]:
    """Warn if test has texts of dev, which has chosen the best step and the temperature."""
    if not {"dev", "test"} <= docs.keys():
        return []
    in_dev = {doc.text.strip() for doc in docs["dev"]}
    number = sum(doc.text.strip() in in_dev for doc in docs["test"])
    return [
        f"Texts of test that are in dev too: {number:,} of {len(docs['test']):,}. The best step is "
        "chosen on dev, so the score on test is too high. Give other texts."
    ] * bool(number)


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
