"""Compare the annotations of two pipelines, and the gain of a faster pipeline."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from ..common.result import Table
from ..corpus.evaluation import annotate
from ..corpus.intervals import Difference as ScoreDifference
from ..corpus.intervals import compare as compare_counts
from ..corpus.read import text_labels
from ..corpus.spans import count, match
from .measure import Figure, Machine, figures_table

# The differences to name, of each kind of annotation.
_NAMED = 3
# The characters of a text that are shown.
_SHOWN = 50
# A token's annotations, as texts.
_VALUES: Mapping[str, Callable[[Token], str]] = {
    "TAG": lambda token: token.tag_,
    "POS": lambda token: token.pos_,
    "MORPH": lambda token: str(token.morph),
    "LEMMA": lambda token: token.lemma_,
    "DEP": lambda token: token.dep_,
    "HEAD": lambda token: f"{token.head.text} at {token.head.idx}",
    "SENT_START": lambda token: str(token.is_sent_start),
}
_OF_SENTENCES = ("HEAD", "SENT_START")
# Custom attributes that are compared: others may differ in each copy.
_PLAIN = (bool, float, int, str, type(None))

# Where something is annotated: the first character, and the character after the last.
Place = tuple[int, int]
# What's annotated in a doc, by kind.
Facts = dict[str, set[tuple[Place, str]]]


class Kept(NamedTuple):
    """Annotations of one kind: how many there were before and after, and how many are the same.

    share (float): same / max(before, after).
    """

    before: int
    after: int
    same: int
    share: float


class Difference(NamedTuple):
    """An annotation that changed.

    doc (int): The number of the text, from 1.
    text (str): What's annotated.
    before, after (str): The value, or "" if there's none at this place.
    """

    kind: str
    doc: int
    text: str
    before: str
    after: str


@dataclass(frozen=True)
class Agreement:
    """How many annotations of two pipelines are the same.

    Entities and spans are the same if their characters, labels and ids are, and the values of a
    token if the token's characters are, too.

    docs, tokens (int): What the first pipeline annotated.
    kinds (Mapping[str, Kept]): By the kind of annotation, such as "TAG" or "entities".
    changes (Mapping[str, float]): The largest change of scores, such as those of classes.
    differences (Sequence[Difference]): The first few of each kind.
    """

    docs: int
    tokens: int
    kinds: Mapping[str, Kept]
    changes: Mapping[str, float] = field(default_factory=dict)
    differences: Sequence[Difference] = ()

    @property
    def different(self) -> int:
        """The number of annotations that differ, of all kinds."""
        return sum(max(kept.before, kept.after) - kept.same for kept in self.kinds.values())

    @property
    def total(self) -> int:
        """The number of annotations of all kinds."""
        return sum(max(kept.before, kept.after) for kept in self.kinds.values())

    def tables(self) -> Iterator[Table]:
        """The kinds, and examples of what differs."""
        rows = [
            (kind, f"{before:,}", f"{after:,}", f"{same:,}", f"{100 * share:.2f}")
            for kind, (before, after, same, share) in self.kinds.items()
        ]
        yield Table("Predictions that stay the same", ("", "before", "after", "same", "%"), rows)
        examples = [
            (kind, f"{doc:,}", text, old or "-", new or "-")
            for kind, doc, text, old, new in self.differences
        ]
        header = ("", "text no.", "where", "before", "after")
        yield Table("What differs, for example", header, examples, "lrlll")

    def notes(self) -> Iterator[str]:
        """How much scores change."""
        for name, change in self.changes.items():
            yield f"{name} change by up to {change:.1g}."


def compare_docs(pairs: Iterable[tuple[Doc, Doc]]) -> Agreement:
    """Compare the docs of the same texts, annotated by two pipelines."""
    docs = tokens = 0
    counts: dict[str, list[int]] = {}
    changes: dict[str, float] = {}
    differences: dict[str, list[Difference]] = {}
    for one, other in pairs:
        docs, tokens = docs + 1, tokens + len(one)
        first, second = _facts(one), _facts(other)
        for kind in first | second:
            old, new = first.get(kind, set()), second.get(kind, set())
            total = counts.setdefault(kind, [0, 0, 0])
            for i, number in enumerate((len(old), len(new), len(old & new))):
                total[i] += number
            named = differences.setdefault(kind, [])
            if old != new and len(named) < _NAMED:
                named += _differences(kind, docs, one, other, old - new, new - old)
        for name, old_scores in _scores(one).items():
            new_scores = _scores(other).get(name, {})
            for place in old_scores.keys() & new_scores:
                change = abs(new_scores[place] - old_scores[place])
                changes[name] = max(change, changes.get(name, 0.0))
    kinds = {kind: Kept(b, a, same, same / max(b, a)) for kind, (b, a, same) in counts.items()}
    named = [found for of_kind in differences.values() for found in of_kind[:_NAMED]]
    return Agreement(docs, tokens, kinds, changes, named)


def _facts(doc: Doc) -> Facts:
    """Collect what a doc's pipeline has annotated."""
    facts: Facts = {"tokens": {((t.idx, t.idx + len(t)), "token") for t in doc}}
    for name, value in _VALUES.items():
        # spaCy says that any doc of one token has sentences.
        if len(doc) > (name in _OF_SENTENCES) and doc.has_annotation(name):
            facts[name] = {((t.idx, t.idx + len(t)), value(t)) for t in doc}
    ents = doc.ents
    facts["entities"] = {(_place(ent), ent.label_) for ent in ents}
    facts["knowledge base ids"] = {(_place(ent), ent.kb_id_) for ent in ents if ent.kb_id_}
    facts["entity ids"] = {(_place(ent), ent.ent_id_) for ent in ents if ent.ent_id_}
    for key, group in doc.spans.items():
        facts[f"spans of {key}"] = {
            (_place(span), " ".join(filter(None, (span.label_, span.kb_id_, span.id_))))
            for span in group
        }
    facts["classes"] = {((0, 0), label) for label in text_labels(doc.cats)}
    for key, value in doc.user_data.items():
        if isinstance(key, tuple) and key[:1] == ("._.",) and isinstance(value, _PLAIN):
            _, name, start, end = key
            at = (int(start or 0), len(doc.text) if end is None else int(end))
            facts.setdefault(f"custom {name}", set()).add((at, repr(value)))
    return {kind: found for kind, found in facts.items() if found}


def _place(span: Span) -> Place:
    return span.start_char, span.end_char


def _scores(doc: Doc) -> dict[str, dict[Any, float]]:
    """Collect the scores of classes, and of spans."""
    scores: dict[str, dict[Any, float]] = {"Scores of classes": dict(doc.cats)}
    for key, group in doc.spans.items():
        of_spans = zip(group, group.attrs.get("scores", ()), strict=False)
        scores[f"Scores of spans of {key}"] = {
            (_place(span), span.label): float(score)
            for span, score in of_spans
            if not numpy.isnan(score)
        }
    return scores


def _differences(
    kind: str,
    number: int,
    one: Doc,
    other: Doc,
    lost: set[tuple[Place, str]],
    new: set[tuple[Place, str]],
) -> Iterator[Difference]:
    """Yield the differences of a doc by place: what's there before, and after."""
    for place in sorted({place for place, _ in lost | new}):
        values = (
            ", ".join(sorted(value or "none" for at, value in side if at == place))
            for side in (lost, new)
        )
        yield Difference(kind, number, shorten(one.text[slice(*place)], _SHOWN), *values)


@dataclass(frozen=True)
class Comparison:
    """The predictions of two pipelines on a corpus.

    f1 (Optional[ScoreDifference]): The F1 of entities of both. None if the corpus has no entities
        with labels of the first pipeline.
    agreement (Agreement): How many annotations are the same.
    unscored (str): Why entities aren't scored, or "".
    """

    f1: Optional[ScoreDifference]
    agreement: Agreement
    unscored: str = ""

    def notes(self) -> Iterator[str]:
        """Why there's no F1, and how scores change."""
        if self.unscored:
            yield self.unscored
        if self.f1 is not None:
            yield f"F1 changes by {self.f1}."
        yield from self.agreement.notes()


def compare(before: Language, after: Language, examples: Sequence[Example]) -> Comparison:
    """Compare the predictions of two pipelines on examples that aren't annotated yet.

    Raises ValueError if there are none.
    """
    if not examples:
        raise ValueError("The corpus to compare predictions on has no documents. Check the path.")
    arms = []
    for nlp in (before, after):
        arm = []
        for example in examples:
            words = [token.text for token in example.x]
            spaces = [bool(token.whitespace_) for token in example.x]
            arm.append(Example(Doc(nlp.vocab, words, spaces), example.reference))
        annotate(nlp, arm)
        arms.append(arm)
    old, new = ([example.predicted for example in arm] for arm in arms)
    gold = {ent.label_ for example in examples for ent in example.reference.ents}
    labels = _entity_labels(before) | {ent.label_ for doc in old for ent in doc.ents}
    unscored = ""
    if gold and not gold & labels:
        unscored = (
            f"F1 isn't shown: the corpus has entities of {', '.join(sorted(gold))}, and the "
            f"pipeline predicts {', '.join(sorted(labels)) or 'none'}."
        )
    counts = ([count(match(each.reference, each.predicted)) for each in arm] for arm in arms)
    f1 = compare_counts(*counts) if gold & labels else None
    return Comparison(f1, compare_docs(zip(old, new, strict=True)), unscored)


def _entity_labels(nlp: Language) -> set[str]:
    """Return the labels of the components that find entities."""
    finders = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    return {label for name in finders for label in nlp.pipe_labels.get(name, [])}


@dataclass(frozen=True)
class Gain:
    """What a faster pipeline gains on some texts.

    machine (Machine): Where it was measured.
    figures (Sequence[Figure]): Speed, load time and memory.
    agreement (Agreement): How many annotations are the same.
    text_tokens (float): The tokens of a text, in the median.
    not_loaded (str): Why load time and memory weren't measured, or "".
    """

    machine: Machine
    figures: Sequence[Figure]
    agreement: Agreement
    text_tokens: float
    not_loaded: str = ""

    def tables(self) -> Iterator[Table]:
        """The figures, and the annotations."""
        docs, tokens = self.agreement.docs, self.agreement.tokens
        yield figures_table(f"On {docs:,} texts, {tokens:,} tokens", self.figures)
        yield from self.agreement.tables()

    def notes(self) -> Iterator[str]:
        """How it was measured, and where."""
        rounds = ", ".join(f"{figure.name} {figure.rounds}" for figure in self.figures)
        yield (
            "Before and after took turns. The gain is the median of the rounds' ratios, beside "
            f"the range of the middle 80 % of the rounds ({rounds}). A text has "
            f"{self.text_tokens:g} tokens in the median."
        )
        yield f"Machine: {self.machine}"
        if self.not_loaded:
            yield self.not_loaded
        yield from self.agreement.notes()
