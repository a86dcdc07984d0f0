"""The mistakes of a recognizer on a corpus, its confidence, and what the training corpus says.

A gold entity and a found entity that overlap are one mistake: another label, other boundaries, or
both. Each entity is in one mistake at most, and all other entities are missed or spurious. So

    gold entities  = right + label + cut + both + missed
    found entities = right + label + cut + both + spurious

Tokens without gold annotation are ignored, as in spaCy's scorer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Literal, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.util import minibatch
from tqdm import tqdm

from ..corpus.evaluation import predict
from ..ner.spans import annotate_before, score_spans
from .explain import Explanation, Key, explain, prepare

Kind = Literal["label", "cut", "both", "spurious", "missed"]
Words = tuple[str, ...]
KINDS: Mapping[Kind, str] = {
    "label": "Another label",
    "cut": "Other boundaries",
    "both": "Another label and other boundaries",
    "spurious": "Spurious: no gold entity",
    "missed": "Missed: nothing found",
}
# Minimum confidence of a mistake to suspect the annotation.
SURE = 0.9
# Words are rarely annotated if at most this share of their occurrences in training is.
RARE = 0.1
# Tokens to each side of a mistake, in docs without sentences or with long sentences.
_CONTEXT = 25
# Neighbours of each kind, and the minimum share of words in common.
_NEIGHBOURS, _SHARED_WORDS = 3, 1 / 3
_DOC_BATCH = 256
_WINDOW = 3


@dataclass(frozen=True)
class Entity:
    """An entity in a gold doc, or found there, by the tokens of the gold doc."""

    start: int
    end: int
    label: str
    text: str
    # None if the recognizer gives none
    probability: Optional[float] = field(default=None, compare=False)


@dataclass(frozen=True)
class Neighbour:
    """A similar entity of training, and how many have its words or shape."""

    text: str
    label: str
    count: int


@dataclass
class Mistake:
    """A mistake. `gold` is None if it's spurious, and `found` if it's missed.

    confidence (Optional[float]): The probability of the found entity, or that a missed entity is no
        entity. None without probabilities.
    seen (Optional[bool]): Whether the training corpus has an entity with the same text as the gold
        or spurious entity. None without a training corpus.
    same_words (tuple[Neighbour, ...]): The training entities with most words in common.
    same_shape (tuple[Neighbour, ...]): For the training entities whose words have the same
        shapes, a frequent entity of each label, and their count.
    is_suspect (bool): Whether the annotation may be wrong: the model is confident, and the gold
        annotation is rare in training.
    explanation (Optional[Explanation]): The reasons for the found or the missed entity.
    """

    kind: Kind
    doc: int  # the number of the gold doc
    gold: Optional[Entity]
    found: Optional[Entity]
    words: tuple[str, ...] = ()  # of its sentence, each with trailing whitespace
    first: int = 0  # the number of the first word in the doc
    gold_around: tuple[Entity, ...] = ()  # all entities of the sentence
    found_around: tuple[Entity, ...] = ()
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
    def sides(self) -> dict[str, Entity]:
        """The entities by side, "gold" and "found". One of them may be missing."""
        sides = {"gold": self.gold, "found": self.found}
        return {name: entity for name, entity in sides.items() if entity is not None}


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of a corpus.

    mistakes (Sequence[Mistake]): The most confident mistakes first, or in the order of the docs
        without probabilities.
    gold, found, right (int): The numbers of entities.
    confusion (Mapping[tuple[Optional[str], Optional[str]], int]): The counts of gold and found
        labels together, with right entities. None stands for no entity.
    """

    docs: Sequence[Doc]
    mistakes: Sequence[Mistake]
    gold: int
    found: int
    right: int
    confusion: Mapping[tuple[Optional[str], Optional[str]], int]
    has_training: bool


def find_mistakes(
    nlp: Language,
    gold: Iterable[Doc],
    train: Optional[Iterable[Doc]] = None,
    *,
    num_explained: int = 0,
    sure: float = SURE,
) -> Mistakes:
    """Find the mistakes that a pipeline makes on gold docs.

    nlp (Language): The pipeline. batch_ner and tagger_ner give probabilities, spaCy's ner doesn't.
    gold (Iterable[Doc]): Docs with gold entities, which are kept. They're tokenized again, as in
        training.
    train (Optional[Iterable[Doc]]): The training corpus, which is read once. None: no mistake is
        seen, unseen or suspect.
    num_explained (int): How many mistakes to explain, the most confident mistakes first. The
        recognizer reads a doc some hundred times for each.
    sure (float): The minimum confidence to suspect the annotation.

    Raises ValueError if no component finds entities, or if no doc has gold annotation.
    """
    examples = list(Corpus("").make_examples(nlp, gold))
    docs = [example.reference for example in examples]
    watched = tqdm(examples, "Predicting", unit=" docs", leave=False, disable=None)
    for batch in minibatch(watched, _DOC_BATCH):
        predict(nlp, batch)
    if not any(doc.has_annotation("ENT_IOB") for doc in docs):
        raise ValueError(
            f"None of the {len(docs)} gold docs has annotation of entities. Give a corpus with "
            "gold entities."
        )
    confusion: Counter[tuple[Optional[str], Optional[str]]] = Counter()
    mistakes: list[Mistake] = []
    for number, example in enumerate(examples):
        gold_entities, found_entities = entities_of(example)
        for kind, wanted, given in pair_entities(gold_entities, found_entities):
            labels = (wanted.label if wanted else None, given.label if given else None)
            confusion[labels] += 1
            if kind is not None:
                mistake = Mistake(kind, number, wanted, given)
                _add_sentence(mistake, docs[number], gold_entities, found_entities)
                mistakes.append(mistake)
    answers = _ask(nlp, docs, mistakes)
    for mistake in mistakes:
        _add_probabilities(mistake, answers)
    mistakes.sort(key=lambda mistake: -1.0 if mistake.confidence is None else -mistake.confidence)
    if train is not None:
        phrases = (_tokens(docs[mistake.doc], mistake.entity) for mistake in mistakes)
        training = _Training(train, phrases)
        for mistake in mistakes:
            training.compare(mistake, docs[mistake.doc], sure)
    several = [mistake for mistake in mistakes if mistake.confidence is not None][:num_explained]
    prepared = cache(partial(prepare, nlp))
    for mistake in tqdm(several, "Explaining", unit=" mistakes", leave=False, disable=None):
        answer = answers[mistake.doc, mistake.found or mistake.entity]
        mistake.explanation = explain(
            prepared(answer.recognizer),
            answer.doc,
            answer.key,
            found=mistake.found is not None,
            window=_WINDOW,
        )
    return Mistakes(
        docs=docs,
        mistakes=mistakes,
        gold=sum(count for (label, _), count in confusion.items() if label is not None),
        found=sum(count for (_, label), count in confusion.items() if label is not None),
        right=confusion.total() - len(mistakes),
        confusion=confusion,
        has_training=train is not None,
    )


def entities_of(example: Example) -> tuple[list[Entity], list[Entity]]:
    """List the gold and the found entities of an example, by the tokens of the gold doc.

    Entities that were found on tokens without gold annotation are left out.
    """
    doc = example.reference
    gold = [Entity(ent.start, ent.end, ent.label_, ent.text) for ent in doc.ents]
    found = {}
    for ent in example.predicted.ents:
        covered = example.alignment.x2y[ent.start : ent.end]
        if len(covered):
            start, end = int(covered[0]), int(covered[-1]) + 1
            if all(token.ent_iob for token in doc[start:end]):
                entity = Entity(start, end, ent.label_, doc[start:end].text)
                found[start, end, ent.label_] = entity
    return gold, list(found.values())


def pair_entities(
    gold: Sequence[Entity], found: Sequence[Entity]
) -> list[tuple[Optional[Kind], Optional[Entity], Optional[Entity]]]:
    """Pair gold and found entities of the same doc: (kind, gold, found), in order.

    The kind of a right entity is None. Among overlapping entities, those with the same boundaries
    are paired first, then the same label, then the most tokens in common.
    """
    owners: dict[int, int] = {}
    for number, wanted in enumerate(gold):
        owners.update(dict.fromkeys(range(wanted.start, wanted.end), number))
    overlaps = []
    for j, given in enumerate(found):
        shared = Counter(owners[i] for i in range(given.start, given.end) if i in owners)
        for i, tokens in shared.items():
            same = (gold[i].start, gold[i].end) == (given.start, given.end)
            is_label = gold[i].label == given.label
            overlaps.append((not (same and is_label), not same, not is_label, -tokens, i, j))
    gold_left, found_left = set(range(len(gold))), set(range(len(found)))
    pairs: list[tuple[int, Optional[Kind], Optional[Entity], Optional[Entity]]] = []
    for is_wrong, is_cut, is_other, _, i, j in sorted(overlaps):
        if i in gold_left and j in found_left:
            gold_left.remove(i)
            found_left.remove(j)
            kind: Kind = "both" if is_cut and is_other else "cut" if is_cut else "label"
            pairs.append((gold[i].start, kind if is_wrong else None, gold[i], found[j]))
    pairs += [(gold[i].start, "missed", gold[i], None) for i in gold_left]
    pairs += [(found[j].start, "spurious", None, found[j]) for j in found_left]
    return [tuple_[1:] for tuple_ in sorted(pairs, key=lambda pair: pair[0])]


def _add_sentence(
    mistake: Mistake, doc: Doc, gold: Sequence[Entity], found: Sequence[Entity]
) -> None:
    """Add the sentence of a mistake, or the tokens around it, and the entities there."""
    own = mistake.sides.values()
    start, end = min(entity.start for entity in own), max(entity.end for entity in own)
    first, last = max(0, start - _CONTEXT), min(len(doc), end + _CONTEXT)
    if doc.has_annotation("SENT_START"):
        first, last = max(first, doc[start].sent.start), min(last, doc[end - 1].sent.end)

    def around(entities: Sequence[Entity]) -> tuple[Entity, ...]:
        return tuple(each for each in entities if first <= each.start and each.end <= last)

    mistake.words = tuple(token.text_with_ws for token in doc[first:last])
    mistake.first = first
    mistake.gold_around, mistake.found_around = around(gold), around(found)


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
            examples = list(Corpus("").make_examples(nlp, [docs[number] for number in numbers]))
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
    if mistake.found is not None:
        mistake.confidence = mistake.found.probability
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


def _tokens(doc: Doc, entity: Entity) -> Words:
    return tuple(token.text for token in doc[entity.start : entity.end])


class _Training:
    """The entities of the training corpus, and the counts of some phrases and shapes."""

    def __init__(self, docs: Iterable[Doc], phrases: Iterable[Words]) -> None:
        """Count the entities of docs, and the occurrences of phrases."""
        self.entities: Counter[tuple[Words, str]] = Counter()  # by words and label
        self.texts: dict[tuple[Words, str], str] = {}
        self.seen: Counter[Words] = Counter()
        self.occurrences: Counter[Words] = Counter()
        self.shapes: dict[Words, Counter[tuple[Words, str]]] = defaultdict(Counter)
        self.by_word: dict[str, set[tuple[Words, str]]] = defaultdict(set)
        beginning: dict[str, set[Words]] = defaultdict(set)
        for phrase in phrases:
            beginning[phrase[0]].add(phrase)
        for doc in docs:
            words = tuple(token.text for token in doc)
            for i, word in enumerate(words):
                for phrase in beginning.get(word, ()):
                    self.occurrences[phrase] += words[i : i + len(phrase)] == phrase
            for ent in doc.ents:
                key = words[ent.start : ent.end], ent.label_
                self.entities[key] += 1
                self.seen[key[0]] += 1
                self.texts[key] = ent.text
                self.shapes[tuple(token.shape_ for token in ent)][key] += 1
                for word in _significant(key[0]):
                    self.by_word[word].add(key)

    def compare(self, mistake: Mistake, doc: Doc, sure: float) -> None:
        """Add what training says about a mistake."""
        entity = mistake.entity
        words = _tokens(doc, entity)
        others = words if mistake.found is None else (*words, *_tokens(doc, mistake.found))
        shape = tuple(token.shape_ for token in doc[entity.start : entity.end])
        is_sure = mistake.confidence is not None and mistake.confidence >= sure
        mistake.seen = self.seen[words] > 0
        mistake.same_words = tuple(self._same_words(words, _significant(others)))
        mistake.same_shape = tuple(self._same_shape(shape))
        mistake.is_suspect = is_sure and self._is_rare(mistake, words)

    def _is_rare(self, mistake: Mistake, words: Words) -> bool:
        """Return whether training rarely annotates these words as the gold doc does.

        If the words of a missed entity never occur in training, it isn't rare.
        """
        times = self.occurrences[words]
        if mistake.gold is None:
            return times - self.seen[words] <= RARE * times
        if mistake.kind == "missed" and not times:
            return False
        return self.entities[words, mistake.gold.label] <= RARE * times

    def _same_words(self, words: Words, others: set[str]) -> Iterator[Neighbour]:
        """Yield the entities with the same words, then those with most words in common."""
        shares: dict[tuple[Words, str], float] = {}
        for word in others:
            for key in self.by_word.get(word, ()):
                theirs = _significant(key[0])
                shares[key] = len(theirs & others) / len(theirs | others) + (key[0] == words)
        shares = {key: share for key, share in shares.items() if share >= _SHARED_WORDS}
        ranked = sorted(shares, key=lambda key: (-shares[key], -self.entities[key], key))
        for key in ranked[:_NEIGHBOURS]:
            yield Neighbour(self.texts[key], key[1], self.entities[key])

    def _same_shape(self, shape: Words) -> Iterator[Neighbour]:
        """Yield the most frequent entity of each of the most frequent labels of a shape."""
        counts = self.shapes.get(shape, Counter())
        labels: Counter[str] = Counter()
        for (_, label), count in counts.items():
            labels[label] += count
        for label, count in labels.most_common(_NEIGHBOURS):
            key = max((key for key in counts if key[1] == label), key=lambda key: counts[key])
            yield Neighbour(self.texts[key], label, count)


def _significant(words: Iterable[str]) -> set[str]:
    """Return words in lower case, without punctuation."""
    return {word.lower() for word in words if any(map(str.isalnum, word))}
