"""Compare the annotations and the speed of two pipelines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..common.result import Table
from ..corpus.evaluation import annotate, score

# How often each pipeline annotates texts to measure its speed, and the maximum of their tokens.
ROUNDS, SPEED_TOKENS = 3, 10_000
_VALUES: Mapping[str, Callable[[Token], Any]] = {
    "TAG": lambda token: token.tag,
    "POS": lambda token: token.pos,
    "MORPH": lambda token: token.morph.key,  # type: ignore[attr-defined]
    "LEMMA": lambda token: token.lemma,
    "DEP": lambda token: token.dep,
    "HEAD": lambda token: token.head.idx,
    "SENT_START": lambda token: token.is_sent_start,
}


class Gain(NamedTuple):
    """The gain of a faster pipeline on some texts."""

    docs: int
    tokens: int
    before: float  # tokens per second
    after: float
    kept: dict[str, float]  # the share of annotations that stay the same, by kind


def shares_kept(before: Sequence[Doc], after: Sequence[Doc]) -> dict[str, float]:
    """Return the share of annotations that stay the same, by kind.

    Entities and spans are the same if their characters and label are, and token values if the
    token's characters are, too. Kinds without annotations before are left out.

    before, after (Sequence[Doc]): The same texts, annotated by two pipelines.
    """
    first, second = _annotations(before), _annotations(after)
    return {
        kind: len(facts & second.get(kind, set())) / len(facts) for kind, facts in first.items()
    }


def _annotations(docs: Sequence[Doc]) -> dict[str, set[Any]]:
    """Collect entities, spans and the values of tokens, by kind."""
    # spaCy says that any doc of one token has sentences.
    has = {name: any(doc.has_annotation(name) for doc in docs if len(doc) > 1) for name in _VALUES}
    kinds: dict[str, set[Any]] = {name: set() for name in _VALUES if has[name]}
    for number, doc in enumerate(docs):
        for name in kinds.keys() & _VALUES:
            kinds[name].update((number, t.idx, len(t), _VALUES[name](t)) for t in doc)
        groups = {"entities": doc.ents} | {f"spans of {key}": doc.spans[key] for key in doc.spans}
        for group, spans in groups.items():
            for span in spans:
                place = (number, span.start_char, span.end_char, span.label)
                kinds.setdefault(group, set()).add(place)
    return kinds


def largest_change(before: Sequence[Doc], after: Sequence[Doc]) -> Optional[float]:
    """Return the largest change of a text class's score; None without classes."""
    changes = [
        abs(second.cats[label] - score)
        for first, second in zip(before, after, strict=True)
        for label, score in first.cats.items()
    ]
    return max(changes, default=None)


@dataclass(frozen=True)
class Comparison:
    """The predictions of two pipelines on a corpus.

    f_before, f_after (Optional[float]): F1 of entities, 0 to 1. None if the corpus has no entities
        with labels of the first pipeline.
    kept (Mapping[str, float]): The share of annotations that stay the same, by kind.
    largest_change (Optional[float]): The largest change of a class's score. None without classes.
    unscored (str): Why entities aren't scored, or "".
    """

    f_before: Optional[float]
    f_after: Optional[float]
    kept: Mapping[str, float]
    largest_change: Optional[float]
    unscored: str = ""

    def notes(self) -> Iterator[str]:
        """Why there's no F1, and how scores of classes change."""
        if self.unscored:
            yield self.unscored
        if self.largest_change is not None:
            yield f"Scores of classes change by up to {self.largest_change:.4f}."


def compare(before: Language, after: Language, examples: Sequence[Example]) -> Comparison:
    """Compare the predictions of two pipelines on examples that aren't annotated yet."""
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
    f_before, f_after = (score(arm).f if gold & labels else None for arm in arms)
    kept = shares_kept(old, new)
    return Comparison(f_before, f_after, kept, largest_change(old, new), unscored)


def _entity_labels(nlp: Language) -> set[str]:
    """Return the labels of the components that find entities."""
    finders = [name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    return {label for name in finders for label in nlp.pipe_labels.get(name, [])}


def kept_table(kept: Mapping[str, float]) -> Table:
    """Return the table of the shares that stay the same."""
    rows = [(kind, f"{100 * share:.2f}") for kind, share in kept.items()]
    return Table("Predictions that stay the same", ("", "%"), rows)


def tokens_per_second(pipelines: Sequence[Language], texts: Sequence[str]) -> list[float]:
    """Annotate the first texts with pipelines in turns, and return the median speed of each.

    Raises ValueError if there are no tokens.
    """
    sample, num_tokens = [], 0
    for text in texts:
        if num_tokens < SPEED_TOKENS:
            sample.append(text)
            num_tokens += len(pipelines[0].make_doc(text))
    if not num_tokens:
        raise ValueError("The texts have no tokens. Give texts with words.")
    seconds: list[list[float]] = [[] for _ in pipelines]
    for _ in range(ROUNDS):
        for nlp, measured in zip(pipelines, seconds, strict=True):
            start = perf_counter()
            for _ in nlp.pipe(sample):
                pass
            measured.append(perf_counter() - start)
    return [num_tokens / median(measured) for measured in seconds]
