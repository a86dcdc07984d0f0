"""Count a corpus to recommend settings for it. Nothing is decided here."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..corpus.statistics import has_vectors
from ..corpus.symbols import DOC_BATCH, count_symbols
from ..embed.features import attr_id, parse_feature
from ..embed.unique_tokens import find_unique
from ..tables.set_tables import count_corpus
from ..tables.tables import Table

# Reads the examples of a corpus from the start, each time it's called.
ExampleReader = Callable[[], Iterable[Example]]


@dataclass(frozen=True)
class FeatureFacts:
    """A feature in a corpus."""

    symbols: int  # distinct symbols in TRAIN
    unknown_tokens: float  # the share of tokens of DEV whose symbols TRAIN lacks
    unknown_entities: float  # the share of entities of DEV that have such a token
    top_share: float  # the share of the most frequent symbol in TRAIN


@dataclass(frozen=True)
class VectorFacts:
    """The shares of distinct words and of tokens of DEV that have a static vector."""

    words: float
    tokens: float


@dataclass(frozen=True)
class CorpusFacts:
    """The facts that settings are recommended by."""

    train_tokens: int
    shaped: float  # tokens of TRAIN with a capital or a digit; SHAPE of others is their length
    features: dict[str, FeatureFacts]
    vectors: Optional[VectorFacts] = None  # if there are vectors


def count_facts(
    train: ExampleReader, dev: ExampleReader, attrs: Sequence[str], vocab: Vocab
) -> CorpusFacts:
    """Count the facts that settings are recommended by.

    Attributes are read from the tokens that a pipeline is trained on. Entities are gold entities
    that align with these tokens.

    attrs (Sequence[str]): The features to count, including SHAPE.
    vocab (Vocab): The vocab of the docs. If it has vectors, words with a vector are counted.

    Raises ValueError if a corpus has no tokens or no entities.
    """
    extractors = {name: parse_feature(name) for name in attrs}
    has_entities = False

    def train_docs() -> Iterator[Doc]:
        nonlocal has_entities
        for example in train():
            has_entities = has_entities or bool(_aligned_entities(example))
            yield example.x

    tables = count_corpus(train_docs(), extractors)
    train_tokens = int(tables["SHAPE"].counts.sum())
    _check("TRAIN", tokens=train_tokens > 0, entities=has_entities)
    in_dev = _tally(dev, tables)
    _check("DEV", tokens=in_dev.tokens > 0, entities=in_dev.entities > 0)
    features = {
        name: FeatureFacts(
            symbols=len(table),
            unknown_tokens=in_dev.unknown_tokens[name] / in_dev.tokens,
            unknown_entities=in_dev.unknown_entities[name] / in_dev.entities,
            top_share=float(table.counts[0] / table.counts.sum()),
        )
        for name, table in tables.items()
    }
    return CorpusFacts(
        train_tokens=train_tokens,
        shaped=_shaped_share(tables["SHAPE"], vocab),
        features=features,
        vectors=_vector_facts(dev, vocab) if len(vocab.vectors) else None,
    )


@dataclass
class _Tally:
    """The counts of DEV: sizes, and unknown symbols of each feature."""

    tokens: int = 0
    entities: int = 0
    unknown_tokens: Counter[str] = field(default_factory=Counter)
    unknown_entities: Counter[str] = field(default_factory=Counter)


def _tally(dev: ExampleReader, tables: Mapping[str, Table]) -> _Tally:
    """Count DEV, and its symbols of each feature that TRAIN's tables lack."""
    tally = _Tally()
    for examples in minibatch(dev(), DOC_BATCH):
        docs = [example.x for example in examples]
        starts = numpy.cumsum([0, *map(len, docs)])
        spans = [
            (start + span.start, start + span.end)
            for start, each in zip(starts.tolist(), examples, strict=False)
            for span in _aligned_entities(each)
        ]
        tally.tokens += int(starts[-1])
        tally.entities += len(spans)
        for name, table in tables.items() if starts[-1] else ():
            unknown = ~_known(docs, name, table)
            tally.unknown_tokens[name] += int(unknown.sum())
            tally.unknown_entities[name] += sum(bool(unknown[a:b].any()) for a, b in spans)
    return tally


def _aligned_entities(example: Example) -> list[Span]:
    """Return the gold entities that align with the tokens of the pipeline."""
    return example.get_aligned_spans_y2x(example.y.ents)


def _check(corpus: str, **has: bool) -> None:
    """Raise ValueError if a corpus has no tokens or no entities."""
    for kind, has_some in has.items():
        if not has_some:
            raise ValueError(
                f"Expected a corpus with {kind} as {corpus}, but it has none that align with the "
                "tokens of the pipeline. Check its path, its annotation and --lang, with: python "
                "-m spacy multihash corpus-stats"
            )


def _known(docs: Sequence[Doc], name: str, table: Table) -> numpy.ndarray:
    """Return which tokens have a symbol in a table, (N,) bool."""
    feature = parse_feature(name)
    if feature is None:
        ids = numpy.concatenate([doc.to_array([attr_id(name)]).ravel() for doc in docs])
        return numpy.isin(ids, table.keys, kind="sort")
    types, type_of = find_unique(docs, [], {name: feature})
    ids, lengths = types.bags(name)
    starts = numpy.cumsum(lengths) - lengths
    return numpy.logical_or.reduceat(numpy.isin(ids, table.keys, kind="sort"), starts)[type_of]


def _shaped_share(shapes: Table, vocab: Vocab) -> float:
    """Find the share of tokens whose shape has a capital or a digit."""
    told = [any(sign in vocab.strings[key] for sign in "Xd") for key in shapes.keys.tolist()]
    return float(shapes.counts[numpy.array(told)].sum() / shapes.counts.sum())


def _vector_facts(dev: ExampleReader, vocab: Vocab) -> VectorFacts:
    vectors = vocab.vectors
    counts = count_symbols((each.x for each in dev()), {"key": vectors.attr})["key"]
    keys = numpy.fromiter(counts, dtype="uint64", count=len(counts))
    known = has_vectors(vectors, keys)
    tokens = numpy.fromiter(counts.values(), dtype="int64", count=len(counts))
    return VectorFacts(float(known.mean()), float(tokens[known].sum() / tokens.sum()))
