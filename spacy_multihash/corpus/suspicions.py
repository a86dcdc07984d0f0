"""What looks wrong with a corpus: traces of a failed conversion, and of a leaky split."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Optional

import numpy
from spacy.attrs import IS_SPACE, ORTH, SENT_START
from spacy.tokens import Doc

from .conll import DOCSTART

# From these shares on, one label is on nearly everything.
TOKEN_SHARE = 0.9
LABEL_SHARE = 0.95


@dataclass(frozen=True)
class Dominant:
    """A label that is on nearly everything.

    label (str): The label.
    of (str): "tokens" if entities of the label cover nearly all tokens, "entities" if nearly all
        entities have it although there are others, or "texts" if nearly all texts have it.
    share (float): The share of tokens, entities or texts, 0 to 1.
    """

    label: str
    of: str
    share: float


@dataclass(frozen=True)
class Suspicions:
    """What looks wrong with a split.

    docstart (int): Tokens -DOCSTART-, which no text has.
    empty_docs (int): Docs without tokens, or with nothing but whitespace.
    whitespace_entities (int): Entities that begin or end with whitespace, which spaCy cannot learn.
    dominant (Optional[Dominant]): A label that is on nearly everything.
    sentences (int): Sentences. A doc without marks of sentences is one.
    in_train (Optional[int]): Those of them that stand in the training corpus, word for word. None
        for the training corpus itself.
    tokens_in_train (Optional[float]): The share of tokens that are in such sentences, 0 to 1. None
        for the training corpus, and for a split without tokens.
    """

    docstart: int
    empty_docs: int
    whitespace_entities: int
    dominant: Optional[Dominant]
    sentences: int
    in_train: Optional[int]
    tokens_in_train: Optional[float]


@dataclass
class Suspect:
    """What is counted while the docs of a split pass by. The counts of its pieces add up.

    docstart, empty_docs, whitespace_entities (int): As in `Suspicions`.
    tokens, texts (int): Tokens, and docs with labels of whole texts.
    num_sentences (int): Sentences that are more than whitespace.
    entities, entity_tokens (Counter[str]): The entities of each label, and their tokens.
    cats (Counter[str]): The docs that have each label of whole texts.
    sentences (Counter[int]): The sentences that were asked for, by their keys of 64 bits.
    sentence_tokens (Counter[int]): The tokens of these that are no whitespace, of all times that a
        sentence occurs.
    """

    docstart: int = 0
    empty_docs: int = 0
    whitespace_entities: int = 0
    tokens: int = 0
    texts: int = 0
    num_sentences: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    entity_tokens: Counter[str] = field(default_factory=Counter)
    cats: Counter[str] = field(default_factory=Counter)
    sentences: Counter[int] = field(default_factory=Counter)
    sentence_tokens: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: "Suspect") -> "Suspect":
        """Add the counts of the docs that follow these."""
        names = [each.name for each in fields(self)]
        return Suspect(*(getattr(self, name) + getattr(other, name) for name in names))

    def watch(self, doc: Doc, asked: Optional[AbstractSet[int]] = None) -> None:
        """Count a doc, and one by one the sentences whose keys are asked for: None for all."""
        words, spaces, marks = doc.to_array([ORTH, IS_SPACE, SENT_START]).T  # (N,) each
        self.docstart += int((words == doc.vocab.strings[DOCSTART]).sum())
        self.tokens += len(words)
        for ent in doc.ents:
            self.entities[ent.label_] += 1
            self.entity_tokens[ent.label_] += len(ent)
            self.whitespace_entities += bool(spaces[ent.start] or spaces[ent.end - 1])
        if doc.cats:
            self.texts += 1
            self.cats.update(label for label, share in doc.cats.items() if share >= 0.5)
        self.empty_docs += bool(spaces.all())
        starts = numpy.flatnonzero(marks[1:] == 1) + 1
        for ids, are_spaces in zip(
            numpy.split(words, starts), numpy.split(spaces, starts), strict=True
        ):
            ids = ids[are_spaces == 0]
            if len(ids):
                self.num_sentences += 1
                if asked is not None and not asked:
                    continue
                key = _key(ids)
                if asked is None or key in asked:
                    self.sentences[key] += 1
                    self.sentence_tokens[key] += len(ids)

    def suspicions(self, train: Optional["Suspect"] = None) -> Suspicions:
        """Tell what looks wrong with the docs that were counted.

        train (Optional[Suspect]): What was counted of the training corpus. None for that itself.
        """
        in_train, tokens_in_train = (None, None) if train is None else self._in_train(train)
        return Suspicions(
            docstart=self.docstart,
            empty_docs=self.empty_docs,
            whitespace_entities=self.whitespace_entities,
            dominant=self._dominant(),
            sentences=self.num_sentences,
            in_train=in_train,
            tokens_in_train=tokens_in_train,
        )

    def _in_train(self, train: "Suspect") -> tuple[int, Optional[float]]:
        """Count the sentences that the training corpus has too, and the share of their tokens."""
        known = self.sentences.keys() & train.sentences.keys()
        tokens = self.sentence_tokens.total()
        share = sum(self.sentence_tokens[key] for key in known) / tokens if tokens else None
        return sum(self.sentences[key] for key in known), share

    def _dominant(self) -> Optional[Dominant]:
        found = _most(self.entity_tokens, self.tokens, "tokens", TOKEN_SHARE)
        if found is None and len(self.entities) > 1:
            found = _most(self.entities, self.entities.total(), "entities", LABEL_SHARE)
        return found or _most(self.cats, self.texts, "texts", LABEL_SHARE)


def _key(ids: numpy.ndarray) -> int:
    """Make one number of the words (N,) uint64 of a sentence, the same in every process."""
    return int.from_bytes(blake2b(ids.tobytes(), digest_size=8).digest(), "little")


def _most(counts: Mapping[str, int], whole: int, of: str, least: float) -> Optional[Dominant]:
    label = max(counts, key=lambda label: counts[label], default=None)
    if label is None or counts[label] < least * whole:
        return None
    return Dominant(label, of, counts[label] / whole)
