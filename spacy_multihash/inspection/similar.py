"""The entities of a training corpus that are similar to others."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spacy.tokens import Doc, Span

Words = tuple[str, ...]
# Words are rarely annotated if at most this share of their occurrences in training is.
RARE = 0.1
_SEVERAL = 2
# Neighbours of each kind, and the minimum share of words in common.
_NEIGHBOURS, _SHARED_WORDS = 3, 1 / 3


@dataclass(frozen=True)
class Neighbour:
    """A similar entity of training, and how many have its words or shape."""

    text: str
    label: str
    count: int

    def __str__(self) -> str:
        """Return it in words."""
        return f"{' '.join(self.text.split())} ({self.label}, {self.count:,})"


class TrainingEntities:
    """The entities of a training corpus, by words and shapes, and the counts of some phrases."""

    def __init__(self, docs: Iterable[Doc], phrases: Iterable[Words]) -> None:
        """Count the entities of docs, and the occurrences of phrases."""
        self.entities: Counter[tuple[Words, str]] = Counter()  # by words and label
        self.texts: dict[tuple[Words, str], str] = {}
        self.seen: Counter[Words] = Counter()
        self.occurrences: Counter[Words] = Counter()
        self.outside: Counter[Words] = Counter()  # of all entities
        self.shapes: dict[Words, Counter[tuple[Words, str]]] = defaultdict(Counter)
        self.by_word: dict[str, set[tuple[Words, str]]] = defaultdict(set)
        beginning: dict[str, set[Words]] = defaultdict(set)
        for phrase in phrases:
            beginning[phrase[0]].add(phrase)
        for doc in docs:
            words = tuple(token.text for token in doc)
            free = [not token.ent_type for token in doc]
            for i, word in enumerate(words):
                for phrase in beginning.get(word, ()):
                    if words[i : i + len(phrase)] == phrase:
                        self.occurrences[phrase] += 1
                        self.outside[phrase] += all(free[i : i + len(phrase)])
            for ent in doc.ents:
                key = words[ent.start : ent.end], ent.label_
                self.entities[key] += 1
                self.seen[key[0]] += 1
                self.texts[key] = ent.text
                self.shapes[_shape(ent)][key] += 1
                for word in _significant(key[0]):
                    self.by_word[word].add(key)

    def rarely_annotates(self, words: Words, label: str) -> bool:
        """Return whether few occurrences of words are an entity of the label."""
        return self.entities[words, label] <= RARE * self.occurrences[words]

    def mostly_leaves_out(self, words: Words, label: str) -> bool:
        """Return whether words are outside of entities several times, and rarely of the label."""
        outside = self.outside[words]
        return outside >= _SEVERAL and self.entities[words, label] <= RARE * outside

    def rarely_leaves_out(self, words: Words) -> bool:
        """Return whether few occurrences of words are no entity."""
        return self.occurrences[words] - self.seen[words] <= RARE * self.occurrences[words]

    def same_words(self, words: Words, more: Words = ()) -> Iterator[Neighbour]:
        """Yield the entities with the same words, then those with most words in common.

        more (Words): Further words to compare.
        """
        others = _significant((*words, *more))
        shares: dict[tuple[Words, str], float] = {}
        for word in others:
            for key in self.by_word.get(word, ()):
                theirs = _significant(key[0])
                shares[key] = len(theirs & others) / len(theirs | others) + (key[0] == words)
        shares = {key: share for key, share in shares.items() if share >= _SHARED_WORDS}
        ranked = sorted(shares, key=lambda key: (-shares[key], -self.entities[key], key))
        for key in ranked[:_NEIGHBOURS]:
            yield Neighbour(self.texts[key], key[1], self.entities[key])

    def same_shape(self, span: Span) -> Iterator[Neighbour]:
        """Yield the most frequent entity of each of the most frequent labels of a shape."""
        counts = self.shapes.get(_shape(span), Counter())
        labels: Counter[str] = Counter()
        for (_, label), count in counts.items():
            labels[label] += count
        for label, count in labels.most_common(_NEIGHBOURS):
            key = max((key for key in counts if key[1] == label), key=lambda key: counts[key])
            yield Neighbour(self.texts[key], label, count)


def _shape(span: Span) -> Words:
    return tuple(token.shape_ for token in span)


def _significant(words: Iterable[str]) -> set[str]:
    """Return words in lower case, without punctuation."""
    return {word.lower() for word in words if any(map(str.isalnum, word))}
