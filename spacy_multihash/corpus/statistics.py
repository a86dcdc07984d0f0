"""Statistics of a corpus, as in the appendix of the report "Multi hash embeddings in spaCy".

Table 4 of the report counts the distinct values of attributes, and Table 5 documents, tokens and
entities. Table 6 counts the entities that were seen in training, and the unseen ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from spacy.attrs import ENT_IOB, IDS, ORTH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..common.features import Feature, parse_feature
from .entities import VERBATIM, Matching, known_entities
from .suspicions import Suspect, Suspicions
from .symbols import count_symbols

DEFAULT_ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")


@dataclass(frozen=True)
class Unknown:
    """The words that have no vector.

    words (int): Distinct words.
    word_share (Optional[float]): Their share of all distinct words, 0 to 1; None without words.
    tokens (int): The tokens of these words.
    token_share (Optional[float]): Their share of all tokens, 0 to 1; None without tokens.
    """

    words: int
    word_share: Optional[float]
    tokens: int
    token_share: Optional[float]


@dataclass(frozen=True)
class SplitStats:
    """Statistics of one split. A mean or largest length is None if there is nothing to measure.

    docs, tokens, entities (int): The number of each.
    labels (Mapping[str, int]): The number of entities of each label.
    ents_per_doc (Optional[float]): Entities per document.
    mean_doc_len, max_doc_len (Optional): The lengths of documents, in tokens.
    mean_ent_len, max_ent_len (Optional): The lengths of entities, in tokens.
    vocab (int): Distinct words as they are written, ORTH.
    unknown (Optional[Unknown]): The words that have no vector. None without vectors.
    attrs (Mapping[str, int]): The number of distinct values of each attribute.
    missing (int): Tokens whose annotation of entities is missing. They are part of no entity.
    cats (Mapping[str, int]): The number of docs that have each label of whole texts.
    """

    docs: int
    tokens: int
    entities: int
    labels: Mapping[str, int]
    ents_per_doc: Optional[float]
    mean_doc_len: Optional[float]
    max_doc_len: Optional[int]
    mean_ent_len: Optional[float]
    max_ent_len: Optional[int]
    vocab: int
    unknown: Optional[Unknown]
    attrs: Mapping[str, int]
    missing: int
    cats: Mapping[str, int]


@dataclass(frozen=True)
class SeenStats:
    """The entities of a split, compared with those of the training corpus.

    seen, unseen (int): Entities that occur in the training corpus, and those that do not. Each
        mention counts.
    seen_share (Optional[float]): The share of seen entities, 0 to 1. None without entities.
    new_labels (Sequence[str]): Labels that the training corpus lacks.
    """

    seen: int
    unseen: int
    seen_share: Optional[float]
    new_labels: Sequence[str]


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of a corpus.

    splits (Mapping[str, SplitStats]): The splits by name, "train" first.
    seen (Mapping[str, SeenStats]): The other splits, compared with "train".
    matching (Matching): What makes two entities the same.
    lang (str): The language of the vocab that computed the attributes.
    suspicions (Mapping[str, Suspicions]): What looks wrong with each split.
    """

    splits: Mapping[str, SplitStats]
    seen: Mapping[str, SeenStats]
    matching: Matching
    lang: str
    suspicions: Mapping[str, Suspicions]


def describe_corpus(
    train: Iterable[Doc],
    others: Mapping[str, Iterable[Doc]],
    vocab: Vocab,
    *,
    attrs: Sequence[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
) -> CorpusStats:
    """Count what is in a corpus, whose docs are read once and not kept.

    The attributes are those that `vocab` gives to each word, whatever a doc says of its token.

    train (Iterable[Doc]): The docs of the training corpus, with gold entities.
    others (Mapping[str, Iterable[Doc]]): The docs of other splits, by name.
    vocab (Vocab): The vocab that the docs were read with. If it has vectors, words without one are
        counted.
    attrs (Sequence[str]): The names of attributes that depend on a word alone, and of their slices
        and character n-grams, such as ORTH[:2] and LOWER{3,5}.
    matching (Matching): What makes an entity the same as one of the training corpus.
    RETURNS (CorpusStats): Statistics of all splits.

    Raises ValueError for another attribute, for a doc of another vocab, or if the training corpus
    has no docs.
    """
    found = word_attrs(attrs, vocab)
    tally = _Tally(vocab)
    train_suspect = tally.suspect
    known = known_entities(tally.watch(train), matching)
    if not tally.doc_lens:
        raise ValueError(
            "The training corpus has no documents. Give the docs that a pipeline is trained on."
        )
    splits = {"train": _split_stats(tally, found)}
    suspicions = {"train": train_suspect.suspicions()}
    seen = {}
    for name, docs in others.items():
        tally = _Tally(vocab, Suspect(train_suspect))
        is_seen = Counter(known.has_seen(ent) for doc in tally.watch(docs) for ent in doc.ents)
        splits[name] = _split_stats(tally, found)
        suspicions[name] = tally.suspect.suspicions()
        seen[name] = SeenStats(
            seen=is_seen[True],
            unseen=is_seen[False],
            seen_share=_ratio(is_seen[True], is_seen.total()),
            new_labels=sorted(set(splits[name].labels) - set(splits["train"].labels)),
        )
    return CorpusStats(splits, seen, matching, vocab.lang, suspicions)


class WordAttr(NamedTuple):
    """An attribute that depends on a word alone, and what is cut from it: None for itself."""

    id_: int
    feature: Optional[Feature]


def word_attrs(names: Iterable[str], vocab: Vocab) -> dict[str, WordAttr]:
    """Map the names of attributes that depend on a word alone, and of what is cut from them.

    names (Iterable[str]): Their names, as in spacy.attrs, or such as ORTH[:2] and LOWER{3,5}.
    vocab (Vocab): The vocab that computes them.

    Raises ValueError for another name, or if there are none.
    """
    computed = vocab.lex_attr_getters  # type: ignore[attr-defined]
    ids = {name: id_ for name, id_ in IDS.items() if id_ in (ORTH, *computed)}
    names = list(names)
    found = {}
    for name in names or [""]:
        feature = parse_feature(name)
        base = name if feature is None else feature.base
        if base not in ids:
            raise ValueError(
                f"Expected attributes that depend on a word alone, was: {name!r}. Choose from: "
                f"{', '.join(sorted(ids))}, and slices and n-grams of them such as ORTH[:2] and "
                "LOWER{3,5}."
            )
        found[name if feature is None else feature.name] = WordAttr(ids[base], feature)
    return found


@dataclass
class _Tally:
    """How often each length, label and word occurs in the docs of a split, as they pass by."""

    vocab: Vocab
    suspect: Suspect = field(default_factory=Suspect)
    doc_lens: Counter[int] = field(default_factory=Counter)
    ent_lens: Counter[int] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    words: Counter[int] = field(default_factory=Counter)
    missing: int = 0

    def watch(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """Yield the docs, and count them."""
        for doc in docs:
            if doc.vocab is not self.vocab:
                raise ValueError(
                    "The docs of a corpus must share the vocab that computes their attributes, but "
                    f"one has another vocab: {doc!r:.50}. Read them with read_docs(path, vocab)."
                )
            ents = doc.ents
            self.doc_lens[len(doc)] += 1
            self.ent_lens.update(map(len, ents))
            self.labels.update(ent.label_ for ent in ents)
            self.words.update(count_symbols([doc], {"ORTH": ORTH})["ORTH"])
            self.missing += int((doc.to_array(ENT_IOB) == 0).sum())
            self.suspect.watch(doc)
            yield doc


def _split_stats(tally: _Tally, attrs: Mapping[str, WordAttr]) -> SplitStats:
    vocab = tally.vocab
    # A doc in which each word stands once has all values of each attribute.
    words = Doc(vocab, words=[vocab.strings[word] for word in tally.words])
    docs, entities = tally.doc_lens.total(), tally.ent_lens.total()
    tokens = _sum(tally.doc_lens)
    return SplitStats(
        docs=docs,
        tokens=tokens,
        entities=entities,
        labels=dict(sorted(tally.labels.items())),
        ents_per_doc=_ratio(entities, docs),
        mean_doc_len=_ratio(tokens, docs),
        max_doc_len=max(tally.doc_lens, default=None),
        mean_ent_len=_ratio(_sum(tally.ent_lens), entities),
        max_ent_len=max(tally.ent_lens, default=None),
        vocab=len(words),
        unknown=_unknown(words, tally.words) if len(vocab.vectors) else None,
        attrs=_count_values(words, attrs),
        missing=tally.missing,
        cats=dict(sorted(tally.suspect.cats.items())),
    )


def _count_values(words: Doc, attrs: Mapping[str, WordAttr]) -> dict[str, int]:
    """Count the distinct values of each attribute, and the distinct pieces that are cut from it."""
    counts = {}
    values = count_symbols([words], {name: attr.id_ for name, attr in attrs.items()})
    for name, (_, feature) in attrs.items():
        if feature is None:
            counts[name] = len(values[name])
        else:
            texts = [words.vocab.strings[id_] for id_ in values[name]]
            counts[name] = len({piece for text in texts for piece in feature.pieces(text)})
    return counts


def _unknown(words: Doc, counts: Mapping[int, int]) -> Unknown:
    """Count the words, and their tokens, without a row in the vocab's vectors."""
    vectors = words.vocab.vectors
    keys = words.to_array(vectors.attr).tolist()  # ORTH, unless the vectors have another key
    lacking = [n for key, n in zip(keys, counts.values(), strict=True) if key not in vectors]
    return Unknown(
        words=len(lacking),
        word_share=_ratio(len(lacking), len(words)),
        tokens=sum(lacking),
        token_share=_ratio(sum(lacking), sum(counts.values())),
    )


def _sum(lengths: Counter[int]) -> int:
    return sum(length * count for length, count in lengths.items())


def _ratio(part: int, whole: int) -> Optional[float]:
    return part / whole if whole else None
