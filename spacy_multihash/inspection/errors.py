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
from typing import Any, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..common.arguments import Count, Share, checked
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from ..corpus.evaluation import check_annotated, predict
from ..corpus.export import Tool, gold_record
from ..corpus.read import Data, examples_of
from ..corpus.spans import Entity, Kind, Match, match
from ..ner.entities import annotate_before, score_spans
from ..ner.probabilities import gives_probabilities
from .explain import Key, explain_entity, prepare
from .mistakes import SUSPECT, Cell, Confusion, Group, Mistake, shaded
from .similar import TrainingEntities, Words

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


@dataclass(frozen=True, eq=False)
class Errors(Result):
    """The mistakes of a pipeline on a corpus.

    mistakes (Sequence[Mistake]): The most confident mistakes first, or in the order of the docs
        without probabilities.
    gold, predicted, right (int): The numbers of entities.
    confusion (Confusion): The counts of gold and predicted labels together, with right entities.
        None stands for no entity.

    Its page has each mistake in its sentence, gold beside predicted.
    """

    template, heading = "errors_page.html", "Mistakes"

    docs: Sequence[Doc] = field(repr=False)
    mistakes: Sequence[Mistake]
    gold: int
    predicted: int
    right: int
    confusion: Confusion
    has_training: bool

    @property
    def suspects(self) -> list[Mistake]:
        """The mistakes whose annotation may be wrong."""
        return [mistake for mistake in self.mistakes if mistake.is_suspect]

    def tables(self) -> Iterable[Table]:
        """The counts of mistakes by label and kind, and the labels that are confused."""
        labels = sorted({label for pair in self.confusion for label in pair if label is not None})
        counts = Counter((mistake.entity.label, mistake.kind) for mistake in self.mistakes)
        rows = []
        for label in labels:
            right = self.confusion.get((label, label), 0) - counts[label, "cut"]
            rows.append((label, right, *(counts[label, kind] for kind in KINDS)))
        kinds = Counter(mistake.kind for mistake in self.mistakes)
        rows.append(("all", self.right, *(kinds[kind] for kind in KINDS)))
        header = ("", "right", "other label", "other boundaries", "both", "spurious", "missed")
        yield Table("Counts", header, rows)
        if self.confusion:
            rows = [
                (name, *(f"{c or '·'}" for c, *_ in cells)) for name, cells in self.matrix.items()
            ]
            yield Table("Which labels are confused", ("gold \\ predicted", *self.matrix), rows)

    def notes(self) -> Iterable[str]:
        """How many mistakes may be mistakes of the annotation."""
        if suspects := len(self.suspects):
            yield f"In {suspects:,} of the mistakes, the annotation may be wrong."

    @property
    def matrix(self) -> dict[str, list[Cell]]:
        """The confusion matrix, by gold label: a cell for each predicted label."""
        return shaded(self.confusion)

    @property
    def about(self) -> str:
        """What the first table counts."""
        return (
            f"{self.gold:,} gold entities, {self.predicted:,} predicted, {self.right:,} right. By "
            "gold label, and spurious ones by their own."
        )

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

    def groups(self, limit: Optional[int] = None) -> Iterator[Group]:
        """Yield the mistakes whose annotation may be wrong, and the others by kind.

        limit (Optional[int]): How many mistakes of each group to show. None shows all.
        """
        if suspects := self.suspects:
            intro = (
                "The model is sure, and training doesn't annotate these words otherwise. "
                "Look at these first."
            )
            yield Group(SUSPECT, intro, len(suspects), suspects[:limit])
        for kind, title in KINDS.items():
            some = [m for m in self.mistakes if m.kind == kind and not m.is_suspect]
            if some:
                yield Group(title, "", len(some), some[:limit])

    def records(self, tool: Tool) -> Iterator[dict[str, Any]]:
        """Yield a record for each doc with mistakes, with its gold entities, to fix them.

        Docs with the most confident mistakes come first. `convert` reads the exports of the tools.

        tool (Tool): "prodigy", "doccano" or "labelstudio".
        """
        by_doc: dict[int, list[str]] = defaultdict(list)
        for mistake in self.mistakes:
            by_doc[mistake.doc].append(str(mistake))
        for number, mistakes in by_doc.items():
            yield gold_record(self.docs[number], tool, {"doc": number, "mistakes": mistakes})

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the mistakes."""
        confusion = [
            {"gold": gold, "predicted": predicted, "count": count}
            for (gold, predicted), count in self.confusion.items()
        ]
        return {**to_json(replace(self, confusion={})), "confusion": confusion}


@checked
def errors(
    nlp: Union[Language, str, Path],
    data: Data,
    *,
    train: Optional[Data] = None,
    explained: Count = 0,
    sure: Share = SURE,
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
    _add_probabilities(mistakes, answers)
    mistakes.sort(key=_doubt)
    if train is not None:
        phrases = (_words(docs[mistake.doc], mistake.entity) for mistake in mistakes)
        training = TrainingEntities((eg.reference for eg in examples_of(nlp, train)), phrases)
        for mistake in mistakes:
            _compare(training, mistake, docs[mistake.doc], sure)
    several = [mistake for mistake in mistakes if mistake.confidence is not None][:explained]
    prepared = cache(partial(prepare, nlp))
    for mistake in progress(several, desc="Explaining", unit=" mistakes"):
        _, name, doc, key = answers[mistake.doc, mistake.predicted or mistake.entity]
        is_predicted = mistake.predicted is not None
        mistake.explanation = explain_entity(
            prepared(name), doc, key, predicted=is_predicted, window=_WINDOW
        )
    return _collected(docs, mistakes, confusion, train is not None)


def joined(docs: Sequence[Doc], parts: Sequence[Errors]) -> Errors:
    """Join the mistakes of several pipelines on parts of a corpus.

    docs (Sequence[Doc]): The corpus. The mistakes have the numbers of its docs.
    """
    mistakes = sorted((mistake for part in parts for mistake in part.mistakes), key=_doubt)
    confusion = sum((Counter(part.confusion) for part in parts), Counter())
    return _collected(docs, mistakes, confusion, all(part.has_training for part in parts))


def _collected(
    docs: Sequence[Doc],
    mistakes: Sequence[Mistake],
    confusion: Counter[tuple[Optional[str], Optional[str]]],
    has_training: bool,
) -> Errors:
    gold = sum(count for (label, _), count in confusion.items() if label is not None)
    predicted = sum(count for (_, label), count in confusion.items() if label is not None)
    right = confusion.total() - len(mistakes)
    return Errors(docs, mistakes, gold, predicted, right, confusion, has_training)


def _doubt(mistake: Mistake) -> float:
    return 1.0 if mistake.confidence is None else -mistake.confidence


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
    mistake.gold_around = around(gold for _, gold, _ in matches)
    mistake.predicted_around = around(predicted for _, _, predicted in matches)


# The probability of an entity, the recognizer that gives it, the doc, and the entity there.
_Answer = tuple[float, str, Doc, Key]


def _ask(
    nlp: Language, docs: Sequence[Doc], mistakes: Sequence[Mistake]
) -> dict[tuple[int, Entity], _Answer]:
    """Ask all recognizers for the probabilities of the mistakes' entities; keep the highest.

    The components before each recognizer annotate the docs again.
    """
    entities: dict[int, list[Entity]] = defaultdict(list)
    for mistake in mistakes:
        entities[mistake.doc] += mistake.sides.values()
    answers: dict[tuple[int, Entity], _Answer] = {}
    for name in (name for name, pipe in nlp.pipeline if gives_probabilities(pipe)):
        labels = set(nlp.get_pipe(name).labels)  # type: ignore[attr-defined]
        for numbers in minibatch(sorted(entities), _DOC_BATCH):
            examples = list(examples_of(nlp, [docs[number] for number in numbers]))
            annotate_before(nlp, name, examples)
            keys = [
                _aligned(example, [e for e in entities[number] if e.label in labels])
                for number, example in zip(numbers, examples, strict=True)
            ]
            predicted = [example.predicted for example in examples]
            values = score_spans(nlp, name, predicted, [list(of_doc.values()) for of_doc in keys])
            places = [
                ((number, entity), doc, key)
                for number, doc, of_doc in zip(numbers, predicted, keys, strict=True)
                for entity, key in of_doc.items()
            ]
            for probability, (place, doc, key) in zip(values.tolist(), places, strict=True):
                if place not in answers or probability > answers[place][0]:
                    answers[place] = (probability, name, doc, key)
    return answers


def _add_probabilities(
    mistakes: Sequence[Mistake], answers: Mapping[tuple[int, Entity], _Answer]
) -> None:
    """Add the probabilities of both entities, and the model's confidence."""
    for mistake in mistakes:
        for side, entity in mistake.sides.items():
            if (mistake.doc, entity) in answers:
                probability, *_ = answers[mistake.doc, entity]
                setattr(mistake, side, replace(entity, probability=probability))
        if mistake.predicted is not None:
            mistake.confidence = mistake.predicted.probability
        elif mistake.entity.probability is not None:
            mistake.confidence = 1 - mistake.entity.probability


def _aligned(example: Example, entities: Sequence[Entity]) -> dict[Entity, Key]:
    """Find entities of the gold doc in the predicted doc, but for those that are set there."""
    present = {(ent.start, ent.end, ent.label_) for ent in example.predicted.ents}
    keys = {}
    for entity in entities:
        span = example.reference[entity.start : entity.end]
        for aligned in example.get_aligned_spans_y2x([span]):
            keys[entity] = (aligned.start, aligned.end, entity.label)
    return {entity: key for entity, key in keys.items() if key not in present}


def _compare(training: TrainingEntities, mistake: Mistake, doc: Doc, sure: float) -> None:
    """Add what training says about a mistake."""
    entity = mistake.entity
    words = _words(doc, entity)
    mistake.seen = training.seen[words] > 0
    more = _words(doc, mistake.predicted) if mistake.predicted else ()
    mistake.same_words = tuple(training.same_words(words, more))
    mistake.same_shape = tuple(training.same_shape(doc[entity.start : entity.end]))
    if mistake.confidence is not None and mistake.confidence >= sure:
        mistake.is_suspect = _contradicts(training, mistake, doc)


def _contradicts(training: TrainingEntities, mistake: Mistake, doc: Doc) -> bool:
    """Return whether training annotates words as the model does, and rarely as the gold doc does.

    Words that training lacks say nothing, except of a spurious entity.
    """
    words, gold, predicted = _words(doc, mistake.entity), mistake.gold, mistake.predicted
    if gold is None:
        return training.rarely_leaves_out(words)
    if predicted is None:
        return training.mostly_leaves_out(words, gold.label)
    has_predicted = training.entities[_words(doc, predicted), predicted.label] > 0
    return has_predicted and training.rarely_annotates(words, gold.label)


def _words(doc: Doc, entity: Entity) -> Words:
    return tuple(token.text for token in doc[entity.start : entity.end])
