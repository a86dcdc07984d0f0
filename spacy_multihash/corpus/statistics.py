"""Statistics of a corpus, as in the appendix of the report "Multi hash embeddings in spaCy".

Table 4 of the report counts the distinct values of attributes, Table 5 documents, tokens and
entities, and Table 6 seen and unseen entities.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Optional

import numpy
from spacy.attrs import ENT_IOB, IDS, IS_SPACE, ORTH, SENT_START
from spacy.tokens import Doc
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import to_numpy

from ..common.types import Counts, DocLike
from ..embed.features import Feature, parse_feature
from .conll import DOCSTART
from .evaluation import VERBATIM, Matching
from .read import text_labels

DEFAULT_ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
# Parts of a corpus are distant if a quarter of it is between them, and near within a tenth.
DISTANT, NEAR, PARTS = 0.25, 0.1, 10
_REPEATED = 20  # entities, to tell whether the order means anything
_SHUFFLED = 0.3  # the share of near repeats; 0.19 by chance
_MAX_TOKENS = 10**6  # to read for repeats


def count_symbols(docs: Iterable[DocLike], attrs: Mapping[str, int]) -> Counts:
    """Count the symbols of docs, in one pass.

    docs (Iterable[DocLike]): The docs.
    attrs (Mapping[str, int]): Name and id of each attribute.
    RETURNS (Counts): How often each id occurs, for each attribute.
    """
    counts: Counts = {name: Counter() for name in attrs}
    columns = list(attrs.values())
    for doc in docs if columns else ():
        ids = doc.to_array(columns).reshape((-1, len(columns)))  # (N, A) uint64
        for name, column in zip(attrs, ids.T, strict=True):
            counts[name].update(column.tolist())
    return counts


def has_vectors(vectors: Vectors, keys: numpy.ndarray) -> numpy.ndarray:
    """Return which words have a vector, by their hashes: (n,) uint64 -> (n,) bool.

    Zeros count as no vector. A table of n-grams (floret) has a vector for every word.
    """
    if vectors.mode == Mode.floret:
        return numpy.ones(len(keys), dtype=bool)
    rows = to_numpy(vectors.find(keys=keys))
    return (rows >= 0) & to_numpy(vectors.data.any(axis=1))[rows]


@dataclass
class SplitCounts:
    """How often each length, label, word and entity occurs in the docs of a split.

    Counts of shards add up. Words and entities are strings, since ids mean nothing in other
    processes.

    doc_lens, ent_lens (Counter[int]): The lengths of docs and entities, in tokens.
    labels (Counter[str]): The labels of entities.
    words (Counter[str]): The words, ORTH.
    entities (Counter[tuple[str, str]]): The entities, by the key of `matching`.
    cats (Counter[str]): The docs with each label of whole texts.
    missing (int): Tokens without annotation of entities.
    docstart (int): Tokens -DOCSTART-.
    sentences (Counter[int]): The sentences, by a hash of 64 bits.
    sentence_tokens (Counter[int]): The tokens in all occurrences of a sentence.
    num_sentences (int): The number of sentences.
    """

    doc_lens: Counter[int] = field(default_factory=Counter)
    ent_lens: Counter[int] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    entities: Counter[tuple[str, str]] = field(default_factory=Counter)
    cats: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    docstart: int = 0
    sentences: Counter[int] = field(default_factory=Counter)
    sentence_tokens: Counter[int] = field(default_factory=Counter)
    num_sentences: int = 0

    def __add__(self, other: "SplitCounts") -> "SplitCounts":
        """Add the counts of other docs."""
        names = [each.name for each in fields(self)]
        return SplitCounts(*(getattr(self, name) + getattr(other, name) for name in names))

    def count_sentences(
        self,
        words: numpy.ndarray,
        spaces: numpy.ndarray,
        marks: numpy.ndarray,
        wanted: Optional[AbstractSet[int]],
    ) -> None:
        """Count the sentences of a doc, or only the wanted hashes.

        words, spaces, marks (numpy.ndarray): ORTH, IS_SPACE and SENT_START of tokens, (N,) each.
        """
        starts = numpy.flatnonzero(marks[1:] == 1) + 1
        for ids, are_spaces in zip(
            numpy.split(words, starts), numpy.split(spaces, starts), strict=True
        ):
            ids = ids[are_spaces == 0]
            if not len(ids):
                continue
            self.num_sentences += 1
            if wanted is None or wanted:
                digest = blake2b(ids.tobytes(), digest_size=8).digest()
                key = int.from_bytes(digest, "little")
                if wanted is None or key in wanted:
                    self.sentences[key] += 1
                    self.sentence_tokens[key] += len(ids)


def count_split(
    docs: Iterable[Doc],
    vocab: Vocab,
    matching: Matching,
    wanted: Optional[AbstractSet[int]] = None,
) -> SplitCounts:
    """Count the docs of a split, or of a shard, in one pass.

    wanted (Set[int]): The sentences to count, from `sentences_of`. None for all.

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
        counts.cats.update(text_labels(doc.cats))
        orths, ent_iobs, spaces, marks = doc.to_array([ORTH, ENT_IOB, IS_SPACE, SENT_START]).T
        words.update(orths.tolist())
        counts.missing += int((ent_iobs == 0).sum())
        counts.docstart += int((orths == vocab.strings[DOCSTART]).sum())
        counts.count_sentences(orths, spaces, marks, wanted)
    counts.words.update({vocab.strings[word]: count for word, count in words.items()})
    return counts


def sentences_of(splits: Iterable[SplitCounts]) -> frozenset[int]:
    """List the hashes of the sentences of splits, to look for them in the training corpus."""
    return frozenset(key for split in splits for key in split.sentences)


@dataclass(frozen=True)
class Unknown:
    """The words without a vector.

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
    """Statistics of a split, with lengths in tokens, and None where there's nothing to measure.

    labels (Mapping[str, int]): The number of entities of each label.
    vocab (int): Distinct words, ORTH.
    unknown (Optional[Unknown]): The words without a vector. None without vectors.
    attrs (Mapping[str, int]): The number of distinct values of each attribute.
    missing (int): Tokens without annotation of entities. They aren't part of any entity.
    cats (Mapping[str, int]): The number of docs with each label of whole texts.
    docstart (int): Tokens -DOCSTART-, which separate documents and aren't words.
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
    docstart: int


@dataclass(frozen=True)
class SeenStats:
    """The entities and sentences of a split, compared with the training corpus.

    seen, unseen (int): Entities that are in the training corpus, and other entities. Each mention
        counts.
    seen_share (Optional[float]): The share of seen entities, 0 to 1. None without entities.
    sentences (int): Sentences. A doc without sentence boundaries counts as one sentence.
    sentences_in_train (int): Sentences that are in the training corpus, word for word.
    tokens_in_train (Optional[float]): The share of tokens in these sentences, 0 to 1. None without
        tokens.
    """

    seen: int
    unseen: int
    seen_share: Optional[float]
    sentences: int
    sentences_in_train: int
    tokens_in_train: Optional[float]


@dataclass(frozen=True)
class Repeats:
    """How far away the entities of a corpus are repeated.

    distant (Sequence[tuple[int, int]]): For each of ten parts of the corpus, of equal length: the
        mentions of entities that distant parts have as well, and all mentions.
    is_shuffled (Optional[bool]): Whether mentions of an entity are no nearer to each other than by
        chance, so that the order doesn't show what belongs together. None: too few to tell.
    """

    distant: Sequence[tuple[int, int]]
    is_shuffled: Optional[bool]

    @property
    def distant_share(self) -> Optional[float]:
        """The share of mentions of entities that distant parts have as well, 0 to 1.

        About as many entities of new texts are in the corpus. None without entities.
        """
        distant, mentions = map(sum, zip(*self.distant, strict=True))
        return _ratio(distant, mentions)


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of a corpus.

    splits (Mapping[str, SplitStats]): The splits by name, "train" first.
    seen (Mapping[str, SeenStats]): The other splits, compared with "train".
    matching (Matching): How entities were compared.
    lang (str): The language of the vocab that computed the attributes.
    repeats (Optional[Repeats]): How far away the entities of "train" are repeated, if the docs were
        read in order.
    """

    splits: Mapping[str, SplitStats]
    seen: Mapping[str, SeenStats]
    matching: Matching
    lang: str
    repeats: Optional[Repeats] = None


def find_repeats(docs: Iterable[Doc], matching: Matching = VERBATIM) -> Repeats:
    """Find out how far away the entities of a corpus are repeated, in its first million tokens.

    docs (Iterable[Doc]): The docs, in the order of the corpus.
    """
    mentions: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    length = 0
    for doc in docs:
        for ent in doc.ents:
            mentions[matching.key(ent)].append(length + ent.start)
        length += len(doc)
        if length >= _MAX_TOKENS:
            break
    distant, shares = numpy.zeros((PARTS, 2), dtype="int64"), []
    for of_entity in mentions.values():
        places = numpy.array(of_entity)
        reach = numpy.maximum(places - places[0], places[-1] - places)
        counts = numpy.stack([reach > DISTANT * length, numpy.ones_like(places)], axis=1)
        numpy.add.at(distant, places * PARTS // length, counts)
        if len(places) > 1:
            ends = numpy.searchsorted(places, places + NEAR * length, side="right")
            pairs = len(places) * (len(places) - 1) / 2
            shares.append(float((ends - numpy.arange(1, len(places) + 1)).sum()) / pairs)
    is_known = len(shares) >= _REPEATED
    return Repeats(
        [(found, of_part) for found, of_part in distant.tolist()],
        sum(shares) / len(shares) < _SHUFFLED if is_known else None,
    )


def describe_corpus(
    train: Iterable[Doc],
    others: Mapping[str, Iterable[Doc]],
    vocab: Vocab,
    *,
    attrs: Sequence[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
) -> CorpusStats:
    """Count docs, entities, words and attributes of a corpus.

    Reads the docs once, and `train` last. Attributes of words come from `vocab`, even if a doc has
    another value.

    train (Iterable[Doc]): The docs of the training corpus, with gold entities.
    others (Mapping[str, Iterable[Doc]]): The docs of other splits, by name.
    vocab (Vocab): The vocab of the docs. If it has vectors, words without a vector are
        counted.
    attrs (Sequence[str]): The names of attributes that depend on a word alone, and of their slices
        and character n-grams, such as ORTH[:2] and LOWER{3,5}.
    matching (Matching): How to compare entities.
    RETURNS (CorpusStats): Statistics of all splits.

    Raises ValueError for other attributes, for a doc of another vocab, or if the training corpus
    has no docs.
    """
    attrs = list(word_attrs(attrs, vocab))  # raises before the corpus is read
    counted = {name: count_split(docs, vocab, matching) for name, docs in others.items()}
    counts = count_split(train, vocab, matching, sentences_of(counted.values()))
    return describe_counts(counts, counted, vocab, attrs=attrs, matching=matching)


def describe_counts(
    train: SplitCounts,
    others: Mapping[str, SplitCounts],
    vocab: Vocab,
    *,
    attrs: Sequence[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
) -> CorpusStats:
    """Describe a corpus by the counts of its splits.

    train, others (SplitCounts): Counts from `count_split`, with the same matching. `train` needs
        the counts of all sentences in `others`.

    Raises the errors of `describe_corpus`.
    """
    found = word_attrs(attrs, vocab)
    if not train.doc_lens:
        raise ValueError(
            "The training corpus has no documents. Give the docs that a pipeline is trained on."
        )
    splits = {
        name: _split_stats(counts, vocab, found)
        for name, counts in {"train": train, **others}.items()
    }
    seen = {name: _seen_stats(counts, train) for name, counts in others.items()}
    return CorpusStats(splits, seen, matching, vocab.lang)


def _seen_stats(counts: SplitCounts, train: SplitCounts) -> SeenStats:
    num_seen = sum(n for entity, n in counts.entities.items() if entity in train.entities)
    known = counts.sentences.keys() & train.sentences.keys()
    known_tokens = sum(counts.sentence_tokens[key] for key in known)
    return SeenStats(
        seen=num_seen,
        unseen=counts.entities.total() - num_seen,
        seen_share=_ratio(num_seen, counts.entities.total()),
        sentences=counts.num_sentences,
        sentences_in_train=sum(counts.sentences[key] for key in known),
        tokens_in_train=_ratio(known_tokens, counts.sentence_tokens.total()),
    )


# The id of an attribute that depends on a word alone, and the feature to cut from it, or None.
WordAttr = tuple[int, Optional[Feature]]


def word_attrs(names: Iterable[str], vocab: Vocab) -> dict[str, WordAttr]:
    """Map names to attributes that depend on a word alone, and features cut from them.

    names (Iterable[str]): Names as in spacy.attrs, or features such as ORTH[:2] and LOWER{3,5}.

    Raises ValueError for other names.
    """
    computed = vocab.lex_attr_getters  # type: ignore[attr-defined]
    ids = {name: id_ for name, id_ in IDS.items() if id_ in (ORTH, *computed)}
    found = {}
    for name in names:
        feature = parse_feature(name, where="Statistics of a corpus", advice="Correct the name.")
        base = feature.base if feature else name
        if base not in ids:
            raise ValueError(
                f"Expected attributes that depend on a word alone, was: {name!r}. Choose from: "
                f"{', '.join(sorted(ids))}, and slices and n-grams of them such as ORTH[:2] and "
                "LOWER{3,5}."
            )
        found[name if feature is None else feature.name] = ids[base], feature
    return found


def _split_stats(counts: SplitCounts, vocab: Vocab, attrs: Mapping[str, WordAttr]) -> SplitStats:
    # A doc with each word once has all values of each attribute.
    words = Doc(vocab, words=list(counts.words))
    docs, entities = counts.doc_lens.total(), counts.ent_lens.total()
    tokens = _sum(counts.doc_lens)
    return SplitStats(
        docs=docs,
        tokens=tokens,
        entities=entities,
        labels=dict(sorted(counts.labels.items())),
        ents_per_doc=_ratio(entities, docs),
        mean_doc_len=_ratio(tokens, docs),
        max_doc_len=max(counts.doc_lens, default=None),
        mean_ent_len=_ratio(_sum(counts.ent_lens), entities),
        max_ent_len=max(counts.ent_lens, default=None),
        vocab=len(words),
        unknown=_unknown(words, counts.words) if len(vocab.vectors) else None,
        attrs=_count_values(words, attrs),
        missing=counts.missing,
        cats=dict(sorted(counts.cats.items())),
        docstart=counts.docstart,
    )


def _count_values(words: Doc, attrs: Mapping[str, WordAttr]) -> dict[str, int]:
    """Count the distinct values of each attribute or feature."""
    counts = {}
    values = count_symbols([words], {name: id_ for name, (id_, _) in attrs.items()})
    for name, (_, feature) in attrs.items():
        if feature is None:
            counts[name] = len(values[name])
        else:
            texts = [words.vocab.strings[id_] for id_ in values[name]]
            counts[name] = len({piece for text in texts for piece in feature.pieces(text)})
    return counts


def _unknown(words: Doc, counts: Mapping[str, int]) -> Unknown:
    """Count the words without a vector in the vocab, and their tokens."""
    vectors = words.vocab.vectors
    keys = words.to_array(vectors.attr)  # ORTH, unless the vectors have another key
    known = has_vectors(vectors, keys)
    lacking = [n for has, n in zip(known, counts.values(), strict=True) if not has]
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


# Warnings


# More seen entities than distant parts of train have are worth a warning, if there are enough.
LEAK, ENOUGH = 0.1, 30


def is_of_texts(split: SplitStats) -> bool:
    """Return whether a split has no annotation of entities."""
    return bool(split.cats or split.tokens) and split.missing == split.tokens


def find_warnings(stats: CorpusStats) -> list[str]:
    """List likely problems of a corpus that `spacy debug data` doesn't report."""
    warnings, splits = [], stats.splits.items()
    if bare := [name for name, split in splits if is_of_texts(split) and not split.cats]:
        warnings.append(
            f"No annotations in {', '.join(bare)}: only texts are counted. To keep annotations of "
            ".jsonl, .csv and CoNLL files, use: python -m spacy multihash convert"
        )
    for name, split in splits:
        if split.docstart:
            warnings.append(
                f"Tokens {DOCSTART} in {name}: {split.docstart:,}. They separate documents and are "
                "no words. Convert the file with: python -m spacy multihash convert"
            )
        if split.missing and not is_of_texts(split):
            warnings.append(
                f"Missing annotation of entities in {name}: {split.missing:,} of {split.tokens:,} "
                "tokens. Training and scores ignore them."
            )
    names = sorted({name for _, split in splits for name in (*split.labels, *split.cats)})
    cases = Counter(map(str.lower, names))
    if same := [name for name in names if cases[name.lower()] > 1]:
        warnings.append(
            f"Labels that differ only in case: {', '.join(sorted(same, key=str.lower))}"
        )
    distant = stats.repeats.distant_share if stats.repeats else None
    for name, seen in stats.seen.items():
        seen_share = seen.seen_share or 0.0
        is_enough = seen.seen + seen.unseen >= ENOUGH
        if is_enough and distant is not None and seen_share > distant + LEAK:
            warnings.append(
                f"Entities of {name} that are in train: {_in_percent(seen_share)} %. Distant "
                f"parts of train share {_in_percent(distant)} %. So {name} has texts related to "
                "those of train, such as texts of the same document, and its own F1 is too high "
                "for new texts."
            )
        if seen.sentences_in_train:
            share = _in_percent(seen.sentences_in_train / seen.sentences)
            warnings.append(
                f"Sentences of {name} that are in train word for word: "
                f"{seen.sentences_in_train:,} of {seen.sentences:,} ({share} %), with "
                f"{_in_percent(seen.tokens_in_train)} % of the tokens. Models may memorize them."
            )
    return warnings


def _in_percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
