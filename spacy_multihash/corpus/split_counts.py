"""What is counted of a split of a corpus, piece by piece: the counts of pieces add up."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Optional

from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .entities import Matching
from .suspicions import Suspect
from .symbols import count_symbols


@dataclass
class SplitCounts:
    """How often each length, label, word and entity occurs in the docs of a split.

    Its size grows with the distinct ones alone. Whatever has to be told apart by text is, since ids
    of strings mean nothing where the docs were not read.

    doc_lens, ent_lens (Counter[int]): The lengths of docs and entities, in tokens.
    labels (Counter[str]): The labels of entities.
    words (Counter[str]): The words as they are written.
    entities (Counter[tuple[str, str]]): The entities, by the key of their matching.
    missing (int): Tokens whose annotation of entities is missing.
    suspect (Suspect): What may look wrong.
    """

    doc_lens: Counter[int] = field(default_factory=Counter)
    ent_lens: Counter[int] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    entities: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: int = 0
    suspect: Suspect = field(default_factory=Suspect)

    def __add__(self, other: "SplitCounts") -> "SplitCounts":
        """Add the counts of the docs that follow these."""
        return SplitCounts(
            self.doc_lens + other.doc_lens,
            self.ent_lens + other.ent_lens,
            self.labels + other.labels,
            self.words + other.words,
            self.entities + other.entities,
            self.missing + other.missing,
            self.suspect + other.suspect,
        )


def count_split(
    docs: Iterable[Doc],
    vocab: Vocab,
    matching: Matching,
    asked: Optional[AbstractSet[int]] = None,
) -> SplitCounts:
    """Count the docs of a split, or of a piece of it, which are read once and not kept.

    docs (Iterable[Doc]): The docs, with gold entities.
    vocab (Vocab): The vocab that the docs were read with.
    matching (Matching): What makes two entities the same.
    asked (Optional[Set[int]]): The keys of the sentences to count one by one, as
        `asked_sentences` lists them. None for all.

    Raises ValueError for a doc of another vocab.
    """
    counts, words = SplitCounts(), Counter[int]()
    for doc in docs:
        if doc.vocab is not vocab:
            raise ValueError(
                "The docs of a corpus must share the vocab that computes their attributes, but "
                f"one has another vocab: {doc!r:.50}. Read them with read_docs(path, vocab)."
            )
        ents = doc.ents
        counts.doc_lens[len(doc)] += 1
        counts.ent_lens.update(map(len, ents))
        counts.labels.update(ent.label_ for ent in ents)
        counts.entities.update(map(matching.key, ents))
        words.update(count_symbols([doc], {"ORTH": ORTH})["ORTH"])
        counts.missing += int((doc.to_array(ENT_IOB) == 0).sum())
        counts.suspect.watch(doc, asked)
    counts.words.update({vocab.strings[word]: count for word, count in words.items()})
    return counts


def asked_sentences(splits: Iterable[SplitCounts]) -> frozenset[int]:
    """List the sentences of splits that are looked for in the training corpus, by their keys."""
    return frozenset(key for split in splits for key in split.suspect.sentences)
