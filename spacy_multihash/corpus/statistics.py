"""Statistics of a corpus, as in the appendix of the report "Multi hash embeddings in spaCy".

Table 4 of the report counts the distinct values of attributes, and Table 5 documents, tokens and
entities. Table 6 counts the entities that were seen in training, and the unseen ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from spacy.attrs import IDS, ORTH
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..common.features import Feature, parse_feature
from .entities import VERBATIM, Matching
from .split_counts import SplitCounts, asked_sentences, count_split
from .static_vectors import has_vectors
from .suspicions import Suspicions
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
    """Count what is in a corpus, whose docs are read once and not kept. `train` is read last.

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
    attrs = list(word_attrs(attrs, vocab))  # refuses wrong names before the corpus is read
    counted = {name: count_split(docs, vocab, matching) for name, docs in others.items()}
    counts = count_split(train, vocab, matching, asked_sentences(counted.values()))
    return describe_counts(counts, counted, vocab, attrs=attrs, matching=matching)


def describe_counts(
    train: SplitCounts,
    others: Mapping[str, SplitCounts],
    vocab: Vocab,
    *,
    attrs: Sequence[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
    annotated: Optional[Mapping[str, Mapping[str, int]]] = None,
) -> CorpusStats:
    """Describe a corpus by what was counted of its splits, wherever that was.

    train, others (SplitCounts): What `count_split` counted, with the same matching. The sentences
        of `others` were asked for in `train`. The other arguments and the errors are those of
        `describe_corpus`.
    annotated (Optional[Mapping[str, Mapping[str, int]]]): For each split, the number of distinct
        values of further attributes, which do not depend on a word alone. With these, `attrs` may
        be empty.
    """
    annotated = annotated or {}
    found = word_attrs(attrs, vocab) if attrs or not annotated else {}
    if not train.doc_lens:
        raise ValueError(
            "The training corpus has no documents. Give the docs that a pipeline is trained on."
        )
    splits = {"train": _split_stats(train, vocab, found, annotated.get("train", {}))}
    suspicions = {"train": train.suspect.suspicions()}
    seen = {}
    for name, counts in others.items():
        splits[name] = _split_stats(counts, vocab, found, annotated.get(name, {}))
        suspicions[name] = counts.suspect.suspicions(train.suspect)
        num_seen = sum(n for entity, n in counts.entities.items() if entity in train.entities)
        seen[name] = SeenStats(
            seen=num_seen,
            unseen=counts.entities.total() - num_seen,
            seen_share=_ratio(num_seen, counts.entities.total()),
            new_labels=sorted(set(counts.labels) - set(train.labels)),
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
    ids = _word_ids(vocab)
    names = list(names)
    found = {}
    for name in names or [""]:
        feature = parse_feature(name)
        base = _base(name, feature)
        if base not in ids:
            raise ValueError(
                f"Expected attributes that depend on a word alone, was: {name!r}. Choose from: "
                f"{', '.join(sorted(ids))}, and slices and n-grams of them such as ORTH[:2] and "
                "LOWER{3,5}. What annotation gives, such as LEMMA, MORPH[Case] and _.gazetteer, is "
                "counted by: python -m spacy multihash corpus-stats --attrs"
            )
        found[name if feature is None else feature.name] = WordAttr(ids[base], feature)
    return found


def is_word_attr(name: str, vocab: Vocab) -> bool:
    """Tell whether an attribute, or what a feature is cut from, depends on a word alone.

    Raises ValueError for a name that is neither.
    """
    return _base(name, parse_feature(name)) in _word_ids(vocab)


def _word_ids(vocab: Vocab) -> dict[str, int]:
    computed = vocab.lex_attr_getters  # type: ignore[attr-defined]
    return {name: id_ for name, id_ in IDS.items() if id_ in (ORTH, *computed)}


def _base(name: str, feature: Optional[Feature]) -> str:
    return name if feature is None else feature.base


def _split_stats(
    counts: SplitCounts,
    vocab: Vocab,
    attrs: Mapping[str, WordAttr],
    annotated: Mapping[str, int],
) -> SplitStats:
    # A doc in which each word stands once has all values of each attribute.
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
        attrs={**_count_values(words, attrs), **annotated},
        missing=counts.missing,
        cats=dict(sorted(counts.suspect.cats.items())),
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


def _unknown(words: Doc, counts: Mapping[str, int]) -> Unknown:
    """Count the words, and their tokens, without one of the vocab's vectors."""
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
