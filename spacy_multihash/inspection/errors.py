"""The mistakes of a recognizer on a corpus, its confidence, and what the training corpus says.

A gold entity and a predicted entity that overlap are one mistake: another label, other boundaries,
or both. Each entity is in one mistake at most, and all other entities are missed or spurious. So

    gold entities      = right + label + cut + both + missed
    predicted entities = right + label + cut + both + spurious

Tokens without gold annotation are ignored, as in spaCy's scorer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Optional, Union

from markupsafe import Markup
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..common.checks import check_whole
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from ..common.templates import in_notebook, render
from ..corpus.annotation import ANSWER
from ..corpus.evaluation import check_annotated, predict
from ..corpus.read import Data, examples_of
from ..corpus.spans import Entity, Kind, Mark, Match, Piece, match, pieces
from ..ner.entities import annotate_before, score_spans
from .explain import Explanation, Key, explain_entity, prepare, signed, visible
from .similar import Neighbour, TrainingEntities, Words

Tool = Literal["prodigy", "doccano"]
Side = Literal["gold", "predicted"]
KINDS: Mapping[Kind, str] = {
    "label": "Another label",
    "cut": "Other boundaries",
    "both": "Another label and other boundaries",
    "spurious": "Spurious: no gold entity",
    "missed": "Missed: nothing predicted",
}
# Minimum confidence of a mistake to suspect the annotation.
SURE = 0.9
# Tokens to each side of a mistake, in docs without sentences or with long sentences.
_CONTEXT = 25
_DOC_BATCH = 256
_WINDOW = 3
# Groups with this many mistakes or fewer are open at first.
_FEW = 20
# How many tokens and features to name in the summary of an explanation.
_STRONGEST = 4
_SUSPECT = "The annotation may be wrong"
_COUNTS, _CONFUSION = "Counts", "Which labels are confused"


@dataclass
class Mistake:
    """A mistake. `gold` is None if it's spurious, and `predicted` if it's missed.

    confidence (Optional[float]): The probability of the predicted entity, or that a missed entity
        is no entity. None without probabilities.
    seen (Optional[bool]): Whether the training corpus has an entity with the same text as the gold
        or spurious entity. None without a training corpus.
    same_words (tuple[Neighbour, ...]): The training entities with most words in common.
    same_shape (tuple[Neighbour, ...]): For the training entities whose words have the same
        shapes, a frequent entity of each label, and their count.
    is_suspect (bool): Whether the annotation may be wrong: the model is confident, and the gold
        annotation is rare in training.
    explanation (Optional[Explanation]): The reasons for the predicted or the missed entity.
    """

    kind: Kind
    doc: int  # the number of the gold doc
    gold: Optional[Entity]
    predicted: Optional[Entity]
    words: tuple[str, ...] = ()  # of its sentence, each with trailing whitespace
    first: int = 0  # the number of the first word in the doc
    gold_around: tuple[Entity, ...] = ()  # all entities of the sentence
    predicted_around: tuple[Entity, ...] = ()
    confidence: Optional[float] = None
    seen: Optional[bool] = None
    same_words: tuple[Neighbour, ...] = ()
    same_shape: tuple[Neighbour, ...] = ()
    is_suspect: bool = False
    explanation: Optional[Explanation] = None

    @property
    def entity(self) -> Entity:
        """The gold or the spurious entity."""
        return next(iter(self.sides.values()))

    @property
    def sides(self) -> dict[Side, Entity]:
        """The entities by side. One of them may be missing."""
        sides: dict[Side, Optional[Entity]] = {"gold": self.gold, "predicted": self.predicted}
        return {name: entity for name, entity in sides.items() if entity is not None}

    @property
    def text(self) -> str:
        """The text of the gold or the spurious entity, on a line."""
        return _one_line(self.entity.text)

    @property
    def about(self) -> str:
        """The labels, the probabilities, whether it's seen, and the doc."""
        parts = []
        for side, entity in self.sides.items():
            chance = "" if entity.probability is None else f", p {_percent(entity.probability)}"
            parts.append(f"{side} {entity.label}{chance}")
        if self.seen is not None:
            parts.append("seen" if self.seen else "unseen")
        return " · ".join([*parts, f"doc {self.doc}"])

    @property
    def in_training(self) -> str:
        """The similar entities in training."""
        kinds = (("same words", self.same_words), ("same shape", self.same_shape))
        return ". ".join(f"{kind}: {'; '.join(map(str, some))}" for kind, some in kinds if some)

    @property
    def why(self) -> str:
        """The main reasons for a predicted entity, or against a missed one."""
        assert self.explanation is not None
        why, sign = ("Why not", -1) if self.predicted is None else ("Why", 1)
        columns = zip(self.explanation.words, self.explanation.by_feature, strict=True)
        cells = [
            (sign * value, f"{visible(word)} {feature} {signed(value, 1)}")
            for word, values in columns
            for feature, value in zip(self.explanation.features, values, strict=True)
        ]
        strongest = [text for value, text in sorted(cells, reverse=True) if value > 0][:_STRONGEST]
        reasons = " · ".join(strongest) or "Nothing around it counts."
        return f"{why} {self.explanation.label}? {reasons}"

    def marks(self, side: Side) -> list[Piece]:
        """Mark the entities of a side in the sentence."""
        own, around, kind = {
            "gold": (self.gold, self.gold_around, "missed"),
            "predicted": (self.predicted, self.predicted_around, "wrong"),
        }[side]
        marks = [
            Mark(e.start - self.first, e.end - self.first, e.label, kind if e == own else "")
            for e in around
        ]
        return pieces(self.words, marks)

    def __str__(self) -> str:
        """Describe the mistake in a line."""
        entities = [
            f"{side} {entity.label} {_one_line(entity.text)!r}"
            + ("" if entity.probability is None else f" (p {_percent(entity.probability)})")
            for side, entity in self.sides.items()
        ]
        suspect = f"{_SUSPECT.lower()}: " if self.is_suspect else ""
        return f"{suspect}{self.kind}: {', '.join(entities)}"


class Group(NamedTuple):
    """Mistakes of a kind on a page, by label if they're many."""

    title: str
    intro: str
    total: int
    mistakes: Sequence[Mistake]

    @property
    def is_open(self) -> bool:
        """Whether the page shows the mistakes at first."""
        return self.total <= _FEW

    @property
    def by_label(self) -> list[tuple[str, Sequence[Mistake]]]:
        """The mistakes by label, the most frequent label first."""
        labels = Counter(mistake.entity.label for mistake in self.mistakes)
        if self.is_open or len(labels) == 1:
            return [("", self.mistakes)]
        return [
            (label, [mistake for mistake in self.mistakes if mistake.entity.label == label])
            for label, _ in labels.most_common()
        ]


@dataclass(frozen=True)
class Errors(Result):
    """The mistakes of a pipeline on a corpus.

    mistakes (Sequence[Mistake]): The most confident mistakes first, or in the order of the docs
        without probabilities.
    gold, predicted, right (int): The numbers of entities.
    confusion (Mapping[tuple[Optional[str], Optional[str]], int]): The counts of gold and predicted
        labels together, with right entities. None stands for no entity.
    """

    docs: Sequence[Doc] = field(repr=False)
    mistakes: Sequence[Mistake]
    gold: int
    predicted: int
    right: int
    confusion: Mapping[tuple[Optional[str], Optional[str]], int]
    has_training: bool

    def tables(self) -> Iterable[Table]:
        """The counts of mistakes by label and kind, and the labels that are confused."""
        counts = Counter((mistake.entity.label, mistake.kind) for mistake in self.mistakes)
        rows = []
        for label in self._labels:
            right = self.confusion.get((label, label), 0) - counts[label, "cut"]
            rows.append((label, f"{right:,}", *(f"{counts[label, kind]:,}" for kind in KINDS)))
        kinds = Counter(mistake.kind for mistake in self.mistakes)
        rows.append(("all", f"{self.right:,}", *(f"{kinds[kind]:,}" for kind in KINDS)))
        header = ("", "right", "label", "boundaries", "both", "spurious", "missed")
        yield Table(_COUNTS, header, rows)
        names: dict[Optional[str], str] = {label: label for label in self._labels}
        names[None] = "no entity"
        if self.confusion:
            rows = [
                (name, *(f"{self.confusion.get((wanted, given), 0) or '·'}" for given in names))
                for wanted, name in names.items()
            ]
            yield Table(_CONFUSION, ("gold \\ predicted", *names.values()), rows)

    def notes(self) -> Iterable[str]:
        """How many mistakes may be mistakes of the annotation."""
        suspects = sum(mistake.is_suspect for mistake in self.mistakes)
        if suspects:
            yield f"In {suspects:,} of the mistakes, the annotation may be wrong."

    @property
    def about(self) -> Mapping[str, str]:
        """What the tables count, by their titles."""
        return {
            _COUNTS: f"{self.gold:,} gold entities, {self.predicted:,} predicted, {self.right:,} "
            "right. By gold label, and spurious ones by their own. boundaries: the label is right.",
            _CONFUSION: "Entities that overlap, whatever their boundaries.",
        }

    @property
    def intro(self) -> str:
        """How to read the mistakes on the page."""
        if not self.mistakes:
            return "There are no mistakes."
        sentences = []
        if any(mistake.confidence is not None for mistake in self.mistakes):
            sentences += [
                "The mistakes that the model is most confident of come first.",
                "p is the probability of the entity.",
            ]
        if self.has_training:
            sentences.append("An entity is seen if training has an entity with the same text.")
        return " ".join([*sentences, "Click on a group to open it."])

    @property
    def _labels(self) -> list[str]:
        return sorted({label for pair in self.confusion for label in pair if label is not None})

    def groups(self, limit: Optional[int] = None) -> Iterator[Group]:
        """Yield the mistakes whose annotation may be wrong, and the others by kind.

        limit (Optional[int]): How many mistakes of each group to show. None shows all.
        """
        suspects = [mistake for mistake in self.mistakes if mistake.is_suspect]
        if suspects:
            intro = (
                "The model is sure, and the training corpus rarely has what is gold here. Look at "
                "these first."
            )
            yield Group(_SUSPECT, intro, len(suspects), suspects[:limit])
        for kind, title in KINDS.items():
            some = [each for each in self.mistakes if each.kind == kind and not each.is_suspect]
            if some:
                yield Group(title, "", len(some), some[:limit])

    def records(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield a record for each doc with mistakes, with its gold entities, to fix them.

        Docs with the most confident mistakes come first. `convert` reads the exports of both tools.

        tool (Tool): "prodigy" writes entities as "spans", and "doccano" as "label".
        """
        by_doc: dict[int, list[str]] = defaultdict(list)
        for mistake in self.mistakes:
            by_doc[mistake.doc].append(str(mistake))
        for number, mistakes in by_doc.items():
            yield _record(self.docs[number], number, mistakes, tool)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the mistakes."""
        confusion = [
            {"gold": gold, "predicted": predicted, "count": count}
            for (gold, predicted), count in self.confusion.items()
        ]
        return {**to_json(replace(self, confusion={})), "confusion": confusion}

    def fragment(self, limit: Optional[int] = None) -> Markup:
        """Return a part of a page: counts, labels, and the first mistakes of each kind."""
        return render("errors.html", result=self, limit=limit)

    def page(self, title: str = "Mistakes") -> str:
        """Return a page with each mistake in its sentence, gold beside predicted."""
        return render("errors_page.html", title=title, result=self, limit=None)

    def _repr_html_(self) -> str:
        return in_notebook(self.page())


def errors(
    nlp: Union[Language, str, Path],
    data: Data,
    *,
    train: Optional[Data] = None,
    explained: int = 0,
    sure: float = SURE,
    progress: Progress = no_progress,
) -> Errors:
    """Find the mistakes that a pipeline makes on gold docs.

        print(errors("training/model-best", "corpus/dev.spacy", train="corpus/train.spacy"))

    nlp (Union[Language, str, Path]): The pipeline. batch_ner and tagger_ner give probabilities,
        spaCy's ner doesn't.
    data (Data): The corpus: a .spacy file, a folder of them, or docs with gold entities, which are
        kept. They're tokenized again, as in training.
    train (Optional[Data]): The training corpus, which is read once. None: no mistake is seen,
        unseen or suspect.
    explained (int): How many mistakes to explain, the most confident mistakes first. The
        recognizer reads a doc some hundred times for each.
    sure (float): The minimum confidence to suspect the annotation.

    Raises ValueError if no component predicts entities, or if no doc has gold annotation.
    """
    check_whole("errors", "explained", explained, 0)
    nlp = loaded(nlp)
    examples = list(examples_of(nlp, data))
    docs = [example.reference for example in examples]
    for batch in minibatch(progress(examples, desc="Predicting", unit=" docs"), _DOC_BATCH):
        predict(nlp, batch)
    check_annotated(docs)
    confusion: Counter[tuple[Optional[str], Optional[str]]] = Counter()
    mistakes: list[Mistake] = []
    for number, example in enumerate(examples):
        matches = match(example.reference, example.predicted)
        for kind, gold, predicted in matches:
            confusion[gold.label if gold else None, predicted.label if predicted else None] += 1
            if kind != "right":
                mistake = Mistake(kind, number, gold, predicted)
                _add_sentence(mistake, docs[number], matches)
                mistakes.append(mistake)
    answers = _ask(nlp, docs, mistakes)
    for mistake in mistakes:
        _add_probabilities(mistake, answers)
    mistakes.sort(key=lambda mistake: -1.0 if mistake.confidence is None else -mistake.confidence)
    if train is not None:
        phrases = (_words(docs[mistake.doc], mistake.entity) for mistake in mistakes)
        training = TrainingEntities((eg.reference for eg in examples_of(nlp, train)), phrases)
        for mistake in mistakes:
            _compare(training, mistake, docs[mistake.doc], sure)
    several = [mistake for mistake in mistakes if mistake.confidence is not None][:explained]
    prepared = cache(partial(prepare, nlp))
    for mistake in progress(several, desc="Explaining", unit=" mistakes"):
        answer = answers[mistake.doc, mistake.predicted or mistake.entity]
        mistake.explanation = explain_entity(
            prepared(answer.recognizer),
            answer.doc,
            answer.key,
            predicted=mistake.predicted is not None,
            window=_WINDOW,
        )
    return Errors(
        docs=docs,
        mistakes=mistakes,
        gold=sum(count for (label, _), count in confusion.items() if label is not None),
        predicted=sum(count for (_, label), count in confusion.items() if label is not None),
        right=confusion.total() - len(mistakes),
        confusion=confusion,
        has_training=train is not None,
    )


def _add_sentence(mistake: Mistake, doc: Doc, matches: Sequence[Match]) -> None:
    """Add the sentence of a mistake, or the tokens around it, and the entities there."""
    own = mistake.sides.values()
    start, end = min(entity.start for entity in own), max(entity.end for entity in own)
    first, last = max(0, start - _CONTEXT), min(len(doc), end + _CONTEXT)
    if doc.has_annotation("SENT_START"):
        first, last = max(first, doc[start].sent.start), min(last, doc[end - 1].sent.end)

    def around(entities: Iterable[Optional[Entity]]) -> tuple[Entity, ...]:
        return tuple(e for e in entities if e and first <= e.start and e.end <= last)

    mistake.words = tuple(token.text_with_ws for token in doc[first:last])
    mistake.first = first
    mistake.gold_around = around(each.gold for each in matches)
    mistake.predicted_around = around(each.predicted for each in matches)


class _Answer(NamedTuple):
    """The probability that a recognizer gives an entity in a doc."""

    probability: float
    recognizer: str
    doc: Doc
    key: Key


def _ask(
    nlp: Language, docs: Sequence[Doc], mistakes: Sequence[Mistake]
) -> dict[tuple[int, Entity], _Answer]:
    """Ask all recognizers for the probabilities of entities, and keep the highest of each.

    The components before each recognizer annotate the docs again.
    """
    entities: dict[int, list[Entity]] = defaultdict(list)
    for mistake in mistakes:
        entities[mistake.doc] += mistake.sides.values()
    answers: dict[tuple[int, Entity], _Answer] = {}
    for name in (name for name, pipe in nlp.pipeline if _gives_probabilities(pipe)):
        labels = set(nlp.get_pipe(name).labels)  # type: ignore[attr-defined]
        for numbers in minibatch(sorted(entities), _DOC_BATCH):
            examples = list(examples_of(nlp, [docs[number] for number in numbers]))
            annotate_before(nlp, name, examples)
            keys: list[dict[Entity, Key]] = []
            for number, example in zip(numbers, examples, strict=True):
                present = {(ent.start, ent.end, ent.label_) for ent in example.predicted.ents}
                aligned = {entity: _aligned(example, entity) for entity in entities[number]}
                keys.append(
                    {
                        entity: key
                        for entity, key in aligned.items()
                        if key is not None and entity.label in labels and key not in present
                    }
                )
            predicted = [example.predicted for example in examples]
            of_docs = [list(of_doc.values()) for of_doc in keys]
            values = iter(score_spans(nlp, name, predicted, of_docs).tolist())
            for number, doc, of_doc in zip(numbers, predicted, keys, strict=True):
                for entity, key in of_doc.items():
                    answer = _Answer(next(values), name, doc, key)
                    former = answers.get((number, entity))
                    if former is None or answer.probability > former.probability:
                        answers[number, entity] = answer
    return answers


def _add_probabilities(mistake: Mistake, answers: Mapping[tuple[int, Entity], _Answer]) -> None:
    """Add the probabilities of both entities, and the model's confidence."""
    for side, entity in mistake.sides.items():
        if (mistake.doc, entity) in answers:
            probability = answers[mistake.doc, entity].probability
            setattr(mistake, side, replace(entity, probability=probability))
    if mistake.predicted is not None:
        mistake.confidence = mistake.predicted.probability
    elif mistake.entity.probability is not None:
        mistake.confidence = 1 - mistake.entity.probability


def _gives_probabilities(pipe: object) -> bool:
    """Return whether a component is a batch_ner without a beam, or a tagger_ner."""
    return hasattr(pipe, "score_spans") and getattr(pipe, "cfg", {}).get("beam_width", 1) == 1


def _aligned(example: Example, entity: Entity) -> Optional[Key]:
    """Find an entity of the gold doc in the predicted doc, or return None."""
    span = example.reference[entity.start : entity.end]
    for aligned in example.get_aligned_spans_y2x([span]):
        return aligned.start, aligned.end, entity.label
    return None


def _compare(training: TrainingEntities, mistake: Mistake, doc: Doc, sure: float) -> None:
    """Add what training says about a mistake.

    Its annotation is suspect if the model is sure, and training rarely annotates these words as the
    gold doc does. Words of a missed entity that never occur in training say nothing.
    """
    entity = mistake.entity
    words = _words(doc, entity)
    mistake.seen = training.seen[words] > 0
    more = _words(doc, mistake.predicted) if mistake.predicted else ()
    mistake.same_words = tuple(training.same_words(words, more))
    mistake.same_shape = tuple(training.same_shape(doc[entity.start : entity.end]))
    if mistake.confidence is None or mistake.confidence < sure:
        return
    if mistake.gold is None:
        mistake.is_suspect = training.rarely_leaves_out(words)
    elif mistake.kind != "missed" or training.occurrences[words]:
        mistake.is_suspect = training.rarely_annotates(words, mistake.gold.label)


def _words(doc: Doc, entity: Entity) -> Words:
    return tuple(token.text for token in doc[entity.start : entity.end])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _percent(probability: float) -> str:
    """Format a probability with enough digits to tell it from 0 and 1."""
    percent = 100 * probability
    return "< 0.1 %" if percent < 0.1 else "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def _record(doc: Doc, number: int, mistakes: list[str], tool: Tool) -> dict[str, Any]:
    if tool == "doccano":
        label = [[ent.start_char, ent.end_char, ent.label_] for ent in doc.ents]
        return {"text": doc.text, "label": label, "doc": number, "mistakes": mistakes}
    tokens = [
        {
            "text": t.text,
            "start": t.idx,
            "end": t.idx + len(t),
            "id": t.i,
            "ws": bool(t.whitespace_),
        }
        for t in doc
    ]
    spans = [
        {
            **{"start": ent.start_char, "end": ent.end_char, "label": ent.label_},
            **{"token_start": ent.start, "token_end": ent.end - 1},
        }
        for ent in doc.ents
    ]
    # Prodigy's own way to say that something is unknown, which convert reads as missing.
    spans += [
        {"start": t.idx, "end": t.idx + len(t), "label": "missing", ANSWER: "ignore"}
        | {"token_start": t.i, "token_end": t.i}
        for t in doc
        if not t.ent_iob
    ]
    meta = {"doc": number, "mistakes": "; ".join(mistakes)}
    return {"text": doc.text, "tokens": tokens, "spans": spans, "meta": meta}
