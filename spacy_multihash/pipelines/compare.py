"""Compare the annotations of two pipelines, and the gain of a faster pipeline."""

from collections import defaultdict
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
from .measure import FIGURES, Figure, Machine

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


class Count(NamedTuple):
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
    kinds (Mapping[str, Count]): By the kind of annotation, such as "TAG" or "entities".
    changes (Mapping[str, float]): The largest change of scores, for example of classes.
    differences (Sequence[Difference]): The first few of each kind.
    """

    docs: int
    tokens: int
    kinds: Mapping[str, Count]
    changes: Mapping[str, float] = field(default_factory=dict)
    differences: Sequence[Difference] = ()

    @property
    def different(self) -> int:
        """The number of annotations that differ, of all kinds."""
        return sum(max(count.before, count.after) - count.same for count in self.kinds.values())

    @property
    def total(self) -> int:
        """The number of annotations of all kinds."""
        return sum(max(count.before, count.after) for count in self.kinds.values())

    def tables(self) -> Iterator[Table]:
        """The kinds, and examples of what differs."""
        rows = [
            (kind, before, after, same, f"{100 * share:.2f}")
            for kind, (before, after, same, share) in self.kinds.items()
        ]
        yield Table("Predictions that stay the same", ("", "before", "after", "same", "%"), rows)
        examples = [
            (kind, doc, text, old or "-", new or "-")
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
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    changes: dict[str, float] = defaultdict(float)
    differences: dict[str, list[Difference]] = defaultdict(list)
    for one, other in pairs:
        docs, tokens = docs + 1, tokens + len(one)
        before, after = _annotations(one), _annotations(other)
        for kind in before | after:
            old, new = before.get(kind, set()), after.get(kind, set())
            sizes = zip(counts[kind], (old, new, old & new), strict=True)
            counts[kind] = [number + len(values) for number, values in sizes]
            for place in sorted({place for place, _ in old ^ new}):
                if len(differences[kind]) < _NAMED:
                    text = shorten(one.text[slice(*place)], _SHOWN)
                    values = (_values_at(place, side) for side in (old - new, new - old))
                    differences[kind].append(Difference(kind, docs, text, *values))
        for name, scores in _scores(one).items():
            new_scores = _scores(other).get(name, {})
            for at in scores.keys() & new_scores:
                changes[name] = max(changes[name], abs(new_scores[at] - scores[at]))
    kinds = {kind: Count(b, a, same, same / max(b, a)) for kind, (b, a, same) in counts.items()}
    return Agreement(
        docs, tokens, kinds, changes, [d for some in differences.values() for d in some]
    )


def _values_at(place: Place, annotations: set[tuple[Place, str]]) -> str:
    return ", ".join(sorted(value or "none" for at, value in annotations if at == place))


def _annotations(doc: Doc) -> dict[str, set[tuple[Place, str]]]:
    """Collect what a doc's pipeline has annotated, by kind."""
    places = [(t.idx, t.idx + len(t)) for t in doc]
    kinds: dict[str, set[tuple[Place, str]]] = {"tokens": {(place, "token") for place in places}}
    for name, value in _VALUES.items():
        # spaCy says that any doc of one token has sentences.
        if len(doc) > (name in _OF_SENTENCES) and doc.has_annotation(name):
            kinds[name] = {(place, value(t)) for place, t in zip(places, doc, strict=True)}
    ents = [(_place(ent), ent) for ent in doc.ents]
    kinds["entities"] = {(place, ent.label_) for place, ent in ents}
    kinds["knowledge base ids"] = {(place, ent.kb_id_) for place, ent in ents if ent.kb_id_}
    kinds["entity ids"] = {(place, ent.ent_id_) for place, ent in ents if ent.ent_id_}
    for key, group in doc.spans.items():
        kinds[f"spans of {key}"] = {
            (_place(span), " ".join(filter(None, (span.label_, span.kb_id_, span.id_))))
            for span in group
        }
    kinds["classes"] = {((0, 0), label) for label in text_labels(doc.cats)}
    for key, value in doc.user_data.items():
        if isinstance(key, tuple) and key[:1] == ("._.",) and isinstance(value, _PLAIN):
            _, name, start, end = key
            at = (int(start or 0), len(doc.text) if end is None else int(end))
            kinds.setdefault(f"custom {name}", set()).add((at, repr(value)))
    return {kind: values for kind, values in kinds.items() if values}


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
    arms: list[list[Example]] = []
    for nlp in (before, after):
        docs = (
            Doc(nlp.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc])
            for doc in (example.x for example in examples)
        )
        arms.append([Example(d, eg.reference) for d, eg in zip(docs, examples, strict=True)])
        annotate(nlp, arms[-1])
    old, new = ([example.predicted for example in arm] for arm in arms)
    gold = {ent.label_ for example in examples for ent in example.reference.ents}
    labels = _entity_labels(before) | {ent.label_ for doc in old for ent in doc.ents}
    unscored = ""
    if gold and not gold & labels:
        unscored = (
            f"F1 isn't shown: the corpus has entities of {', '.join(sorted(gold))}, and the "
            f"pipeline predicts {', '.join(sorted(labels)) or 'none'}."
        )
    counts = ([count(match(eg.reference, eg.predicted)) for eg in arm] for arm in arms)
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
        rows = [figure.cells() for figure in self.figures]
        yield Table(f"On {docs:,} texts, {tokens:,} tokens", FIGURES, rows)
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
