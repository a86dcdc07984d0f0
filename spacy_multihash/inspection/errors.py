"""The mistakes of a recognizer on a corpus: which there are, how sure it was, what training says.

A gold entity and a found one that overlap are one mistake: another label, other boundaries, or
both. Each entity is in one mistake at most, and what is left over is missed or spurious. So

    gold entities  = right + label + cut + both + missed
    found entities = right + label + cut + both + spurious

Tokens whose gold annotation is missing don't count, as in spaCy's scorer. Nothing is printed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple, Optional

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
# From which confidence on a mistake may be one of the annotation.
SURE = 0.9
# Up to which share of their occurrences in training words are annotated rarely.
RARE = 0.1
# Tokens to each side of a mistake, in docs without sentences or with long ones.
_CONTEXT = 25
# Neighbours of each kind, and the least share of words that one has in common.
_NEIGHBOURS, _SHARED_WORDS = 3, 1 / 3
_DOC_BATCH = 256
_WINDOW = 3


@dataclass(frozen=True)
class Entity:
    """An entity of a gold doc, or one that was found there, by the tokens of the gold doc."""

    start: int
    end: int
    label: str
    text: str
    probability: Optional[float] = None  # None if the recognizer gives none


@dataclass(frozen=True)
class Neighbour:
    """An entity of training that is like another one, and how many have its words or shape."""

    text: str
    label: str
    count: int


@dataclass(frozen=True)
class Mistake:
    """A mistake. One of both entities is None if it's spurious or missed.

    confidence (Optional[float]): The probability of the found entity, or for a missed one that it
        is no entity. None without probabilities.
    seen (Optional[bool]): Whether the text of the entity (gold, or spurious) is that of an entity
        of the training corpus. None without one.
    same_words (tuple[Neighbour, ...]): The entities of training that have most words in common.
    same_shape (tuple[Neighbour, ...]): A frequent one for each label of training entities whose
        words have the same shapes, and the count of all of them.
    is_suspect (bool): Whether the annotation may be wrong: the model is sure, and training rarely
        has what is gold here.
    explanation (Optional[Explanation]): What speaks for the found entity, or for the missed one.
    """

    kind: Kind
    doc: int  # the number of the gold doc
    gold: Optional[Entity]
    found: Optional[Entity]
    words: tuple[str, ...] = ()  # of its sentence, each with the blank behind it
    first: int = 0  # the number of the first of them in the doc
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
        """The gold entity, or the spurious one."""
        entity = self.gold or self.found
        assert entity is not None
        return entity


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of a corpus.

    mistakes (Sequence[Mistake]): The most confident ones first, or in the order of the docs if
        there are no probabilities.
    gold, found, right (int): The numbers of entities.
    confusion (Mapping[tuple[Optional[str], Optional[str]], int]): How often a gold label met a
        found one, right ones included. None stands for no entity.
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
    show_progress: bool = False,
) -> Mistakes:
    """Find the mistakes that a pipeline makes on gold docs.

    nlp (Language): The pipeline. A batch_ner or tagger_ner gives probabilities, spaCy's ner none.
    gold (Iterable[Doc]): Docs with gold entities, which are kept. They are cut into tokens anew, as
        in training.
    train (Optional[Iterable[Doc]]): The training corpus, which is read once. None: no mistake is
        seen, unseen or suspect.
    num_explained (int): How many mistakes are explained, the most confident ones first. The
        recognizer reads a doc some hundred times for each.
    sure (float): From which confidence on a mistake may be one of the annotation.
    show_progress (bool): Show progress on stderr, if that is a terminal.

    Raises ValueError if no component finds entities, or if no doc has gold annotation.
    """
    hidden = None if show_progress else True  # None: hidden unless stderr is a terminal
    examples = list(Corpus("").make_examples(nlp, gold))
    docs = [example.reference for example in examples]
    watched = tqdm(examples, "Predicting", unit=" docs", leave=False, disable=hidden)
    for batch in minibatch(watched, _DOC_BATCH):
        predict(nlp, batch)
    if not any(doc.has_annotation("ENT_IOB") for doc in docs):
        raise ValueError(
            f"None of the {len(docs)} gold docs has annotation of entities. Give a corpus with "
            "gold entities."
        )
    confusion: Counter[tuple[Optional[str], Optional[str]]] = Counter()
    drafts: list[Mistake] = []
    for number, example in enumerate(examples):
        gold_entities, found_entities = entities_of(example)
        for kind, wanted, given in pair_entities(gold_entities, found_entities):
            labels = (wanted.label if wanted else None, given.label if given else None)
            confusion[labels] += 1
            if kind is not None:
                draft = Mistake(kind, number, wanted, given)
                drafts.append(_in_sentence(draft, docs[number], gold_entities, found_entities))
    answers = _ask(nlp, docs, drafts)
    drafts = [_with_probabilities(draft, answers) for draft in drafts]
    drafts.sort(key=lambda draft: -1.0 if draft.confidence is None else -draft.confidence)
    if train is not None:
        training = _Training(train, (_tokens(docs[d.doc], d.entity) for d in drafts))
        drafts = [training.compare(draft, docs[draft.doc], sure) for draft in drafts]
    several = [draft for draft in drafts if draft.confidence is not None][:num_explained]
    explanations: dict[int, Explanation] = {}
    prepared = cache(partial(prepare, nlp))
    for draft in tqdm(several, "Explaining", unit=" mistakes", leave=False, disable=hidden):
        answer = answers[draft.doc, replace(draft.found or draft.entity, probability=None)]
        keys = [(answer.key, draft.found is not None)]
        asked = prepared(answer.recognizer)
        explanations[id(draft)] = next(explain(asked, answer.doc, keys, window=_WINDOW))
    return Mistakes(
        docs=docs,
        mistakes=[replace(d, explanation=explanations.get(id(d))) for d in drafts],
        gold=sum(count for (label, _), count in confusion.items() if label is not None),
        found=sum(count for (_, label), count in confusion.items() if label is not None),
        right=confusion.total() - len(drafts),
        confusion=confusion,
        has_training=train is not None,
    )


def entities_of(example: Example) -> tuple[list[Entity], list[Entity]]:
    """List the gold entities of an example, and those found, by the tokens of the gold doc.

    An entity that was found on tokens whose gold annotation is missing is left out.
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
    """Pair gold entities with found ones of the same doc: (kind, gold, found), in their order.

    The kind of a right one is None. Of several that overlap, those with the same boundaries are
    paired first, then those with the same label, then those that share most tokens.
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


def _in_sentence(
    draft: Mistake, doc: Doc, gold: Sequence[Entity], found: Sequence[Entity]
) -> Mistake:
    """Add the sentence of a mistake, or the tokens around it, and the entities there."""
    own = [entity for entity in (draft.gold, draft.found) if entity is not None]
    start, end = min(entity.start for entity in own), max(entity.end for entity in own)
    first, last = max(0, start - _CONTEXT), min(len(doc), end + _CONTEXT)
    if doc.has_annotation("SENT_START"):
        first, last = max(first, doc[start].sent.start), min(last, doc[end - 1].sent.end)

    def around(entities: Sequence[Entity]) -> tuple[Entity, ...]:
        return tuple(each for each in entities if first <= each.start and each.end <= last)

    return replace(
        draft,
        words=tuple(token.text_with_ws for token in doc[first:last]),
        first=first,
        gold_around=around(gold),
        found_around=around(found),
    )


class _Answer(NamedTuple):
    """The probability that a recognizer gives an entity of a doc that it has read."""

    probability: float
    recognizer: str
    doc: Doc
    key: Key


def _ask(
    nlp: Language, docs: Sequence[Doc], drafts: Sequence[Mistake]
) -> dict[tuple[int, Entity], _Answer]:
    """Ask all recognizers for the probabilities of entities, and keep the highest of each.

    The components before each recognizer annotate the docs anew.
    """
    entities: dict[int, list[Entity]] = defaultdict(list)
    for draft in drafts:
        entities[draft.doc] += [each for each in (draft.gold, draft.found) if each is not None]
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


def _with_probabilities(draft: Mistake, answers: Mapping[tuple[int, Entity], _Answer]) -> Mistake:
    """Add the probabilities of both entities, and how confident the model is."""
    entities: dict[str, Any] = {
        which: replace(entity, probability=answers[draft.doc, entity].probability)
        for which, entity in (("gold", draft.gold), ("found", draft.found))
        if entity is not None and (draft.doc, entity) in answers
    }
    draft = replace(draft, **entities)
    if draft.found is not None:
        return replace(draft, confidence=draft.found.probability)
    probability = draft.entity.probability
    return draft if probability is None else replace(draft, confidence=1 - probability)


def _gives_probabilities(pipe: object) -> bool:
    """Tell whether a component is a batch_ner without a beam, or a tagger_ner."""
    return hasattr(pipe, "score_spans") and getattr(pipe, "cfg", {}).get("beam_width", 1) == 1


def _aligned(example: Example, entity: Entity) -> Optional[Key]:
    """Find an entity of the gold doc in the predicted one, or return None."""
    span = example.reference[entity.start : entity.end]
    for aligned in example.get_aligned_spans_y2x([span]):
        return aligned.start, aligned.end, entity.label
    return None


def _tokens(doc: Doc, entity: Entity) -> Words:
    return tuple(token.text for token in doc[entity.start : entity.end])


class _Training:
    """What the training corpus has of entities, of some phrases, and of their shapes."""

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

    def compare(self, draft: Mistake, doc: Doc, sure: float) -> Mistake:
        """Add what training says about a mistake."""
        entity = draft.entity
        words = _tokens(doc, entity)
        others = words if draft.found is None else (*words, *_tokens(doc, draft.found))
        shape = tuple(token.shape_ for token in doc[entity.start : entity.end])
        is_sure = draft.confidence is not None and draft.confidence >= sure
        return replace(
            draft,
            seen=self.seen[words] > 0,
            same_words=tuple(self._same_words(words, _significant(others))),
            same_shape=tuple(self._same_shape(shape)),
            is_suspect=is_sure and self._is_rare(draft, words),
        )

    def _is_rare(self, draft: Mistake, words: Words) -> bool:
        """Tell whether training rarely annotates these words as they are annotated here.

        Nothing is known of a missed entity whose words never occur in training.
        """
        times = self.occurrences[words]
        if draft.gold is None:
            return times - self.seen[words] <= RARE * times
        if draft.kind == "missed" and not times:
            return False
        return self.entities[words, draft.gold.label] <= RARE * times

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
