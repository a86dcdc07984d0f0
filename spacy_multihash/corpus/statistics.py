"""Statistics of a corpus, as in the appendix of the paper "Multi hash embeddings in spaCy".

Table 4 of the paper counts the distinct values of attributes, Table 5 documents, tokens and
entities, and Table 6 seen and unseen entities.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Optional, Protocol, Union
from unicodedata import normalize

import numpy
import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, IDS, IS_SPACE, ORTH, SENT_START
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import to_numpy

from ..common.arguments import checked
from ..common.lines import INVISIBLE, clean
from ..common.load import import_code
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..embed.features import Feature, parse_feature
from ..vectors.files import load_vectors
from .alignment import INCORRECT_SPANS
from .annotation import name_other, other_annotation
from .conll import DOCSTART
from .evaluation import VERBATIM, Matching
from .read import Docs, items_of, known_labels, text_labels
from .shards import choose_shards, not_counted, read_shard
from .symbols import attr_ids

DEFAULT_ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
# Parts of a corpus are distant if a quarter of it is between them, and near within a tenth.
DISTANT, NEAR, PARTS = 0.25, 0.1, 10
# More seen entities than distant parts of train have are worth a warning, if there are enough.
LEAK, ENOUGH = 0.1, 30
SHOWN_LABELS = 20  # in tables
_REPEATED = 20  # entities, to tell whether the order means anything
_SHUFFLED = 0.3  # the share of near repeats; 0.19 by chance
_MAX_TOKENS = 10**6  # to read for repeats and contradictions
_MAX_STRINGS = 10**6  # in a vocab, before it's made anew


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
    cats, denied (Counter[str]): The docs that each label of whole texts applies to, or doesn't.
    others (Counter[str]): Annotation that isn't read, as `other_annotation` counts it.
    sentences, sentence_tokens (Counter[int]): The sentences, by a hash of 64 bits, and the tokens
        in all their occurrences.
    missing (int): Tokens without annotation of entities.
    docstart (int): Tokens -DOCSTART-.
    several (int): The docs with labels of whole texts, but not with one that applies.
    num_sentences (int): The number of sentences.
    """

    doc_lens: Counter[int] = field(default_factory=Counter)
    ent_lens: Counter[int] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    entities: Counter[tuple[str, str]] = field(default_factory=Counter)
    cats: Counter[str] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    sentences: Counter[int] = field(default_factory=Counter)
    sentence_tokens: Counter[int] = field(default_factory=Counter)
    missing: int = 0
    docstart: int = 0
    several: int = 0
    num_sentences: int = 0

    @classmethod
    def of(cls, docs: Iterable[Doc]) -> "SplitCounts":
        """Count docs, without their words and sentences."""
        counts = cls()
        for doc in docs:
            counts.add(doc)
        return counts

    def __add__(self, other: "SplitCounts") -> "SplitCounts":
        """Add the counts of other docs."""
        names = [each.name for each in fields(self)]
        return SplitCounts(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def docs(self) -> int:
        """The number of docs."""
        return self.doc_lens.total()

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return _sum(self.doc_lens)

    def add(self, doc: Doc, matching: Matching = VERBATIM) -> None:
        """Count a doc, without its words and sentences."""
        self.doc_lens[len(doc)] += 1
        for ent in doc.ents:
            self.ent_lens[len(ent)] += 1
            self.labels[ent.label_] += 1
            self.entities[matching.key(ent)] += 1
        self.missing += int((doc.to_array(ENT_IOB) == 0).sum())
        if doc.cats:
            applying = text_labels(doc.cats)
            for label in known_labels(doc.cats):
                (self.cats if label in applying else self.denied)[label] += 1
            self.several += len(applying) != 1
        self.others.update(other_annotation(doc))

    def count_sentences(self, rows: numpy.ndarray, wanted: Optional[AbstractSet[int]]) -> None:
        """Count the sentences of a doc, or only the wanted hashes.

        rows (numpy.ndarray): ORTH, IS_SPACE and SENT_START of tokens, (N, 3).
        """
        for sentence in numpy.split(rows, numpy.flatnonzero(rows[1:, 2] == 1) + 1):
            ids = sentence[sentence[:, 1] == 0, 0]
            if not len(ids):
                continue
            self.num_sentences += 1
            if wanted is None or wanted:
                key = int.from_bytes(blake2b(ids.tobytes(), digest_size=8).digest(), "little")
                if wanted is None or key in wanted:
                    self.sentences[key] += 1
                    self.sentence_tokens[key] += len(ids)


def count_split(
    docs: Iterable[Doc],
    vocab: Vocab,
    matching: Matching = VERBATIM,
    wanted: Optional[AbstractSet[int]] = None,
) -> SplitCounts:
    """Count the docs of a split, or of a shard, in one pass.

    wanted (Set[int]): The hashes of sentences to count, those of other splits. None for all.

    Raises ValueError for a doc of another vocab.
    """
    counts, words = SplitCounts(), Counter[int]()
    for doc in docs:
        if doc.vocab is not vocab:
            raise ValueError(
                "The docs of a corpus must share the vocab that computes their attributes, but "
                f"one has another vocab: {doc!r:.50}. Read them with read_docs(path, vocab)."
            )
        counts.add(doc, matching)
        rows = doc.to_array([ORTH, IS_SPACE, SENT_START])
        words.update(rows[:, 0].tolist())
        counts.count_sentences(rows, wanted)
    counts.words.update({vocab.strings[word]: count for word, count in words.items()})
    counts.docstart = counts.words[DOCSTART]
    return counts


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
    denied (Mapping[str, int]): The number of docs that each label doesn't apply to. Labels that
        aren't in doc.cats are unknown.
    several (int): The docs with labels of whole texts, but not with one that applies.
    others (Mapping[str, int]): Annotation that isn't read, such as of doc.spans.
    invisible (Mapping[str, int]): Tokens that have characters that can't be seen.
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
    denied: Mapping[str, int]
    several: int
    others: Mapping[str, int]
    invisible: Mapping[str, int]

    @property
    def is_of_texts(self) -> bool:
        """Whether the split has no annotation of entities."""
        return bool(self.cats or self.tokens) and self.missing == self.tokens


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


class Contradiction(NamedTuple):
    """A text that occurs again with other annotation: its beginning, and both places."""

    text: str
    first: str
    again: str


class _Annotated(NamedTuple):
    """The first annotation of a text, and the entities that any copy of it accepts or rejects."""

    tags: numpy.ndarray
    cats: dict[str, float]
    place: str
    accepted: set[tuple[int, int, int]]
    rejected: set[tuple[int, int, int]]


class Contradictions:
    """Finds equal texts with different annotation, and keeps the first annotation of each."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._first: dict[bytes, _Annotated] = {}

    def add(self, doc: Doc, place: str) -> Optional[Contradiction]:
        """Return how a doc contradicts an earlier one. Missing annotation contradicts nothing.

        place (str): Names the doc.
        """
        values = doc.to_array([ORTH, ENT_IOB, ENT_TYPE, IS_SPACE])
        if values[:, 3].any():
            values = values[values[:, 3] == 0]
        if not len(values):
            return None
        key = blake2b(values[:, 0].tobytes(), digest_size=12).digest()
        tags, cats = values[:, 1:3].astype("uint32"), known_labels(doc.cats)
        accepted = {(ent.start, ent.end, ent.label) for ent in doc.ents}
        rejected = doc.spans.get(INCORRECT_SPANS, ()) if doc.spans else ()
        denied = {(span.start, span.end, span.label) for span in rejected}
        new = _Annotated(tags, cats, place, accepted, denied)
        first = self._first.setdefault(key, new)
        first.accepted.update(accepted)
        first.rejected.update(denied)
        differ = not first.rejected.isdisjoint(first.accepted)
        if first is not new:
            known = (first.tags[:, 0] != 0) & (tags[:, 0] != 0)
            differ |= bool((first.tags[known] != tags[known]).any())
            differ |= any(first.cats[x] != cats[x] for x in first.cats.keys() & cats.keys())
        return Contradiction(doc.text[:60].strip(), first.place, place) if differ else None


@dataclass(frozen=True, eq=False)
class CorpusStats(Result):
    """Statistics of a corpus.

    splits (Mapping[str, SplitStats]): The splits by name, "train" first.
    seen (Mapping[str, SeenStats]): The other splits, compared with "train".
    matching (Matching): How entities were compared.
    lang (str): The language of the vocab that computed the attributes.
    repeats (Optional[Repeats]): How far away the entities of "train" are repeated, if the docs were
        read in order.
    contradictions (Sequence[Contradiction]): Equal texts with different annotation, in the first
        million tokens of each split.
    not_counted (Sequence[str]): Files beside .spacy files.
    """

    splits: Mapping[str, SplitStats]
    seen: Mapping[str, SeenStats]
    matching: Matching
    lang: str
    repeats: Optional[Repeats] = None
    contradictions: Sequence[Contradiction] = ()
    not_counted: Sequence[str] = ()

    @property
    def has_entities(self) -> bool:
        """Whether any split has annotation of entities."""
        return not all(split.is_of_texts for split in self.splits.values())

    def tables(self) -> Iterator[Table]:
        """Yield the tables: splits, labels of texts, attributes, and seen entities."""
        splits, header = list(self.splits.values()), ("", *self.splits)
        unknown = [split.unknown for split in splits if split.unknown]
        ents = self.has_entities
        lines: list[tuple[str, Sequence[Optional[float]], str, Any]] = [
            ("documents", [s.docs for s in splits], ",", True),
            ("tokens", [s.tokens for s in splits], ",", True),
            ("labels", [len(s.labels) for s in splits], ",", ents),
            ("entities", [s.entities for s in splits], ",", ents),
            ("entities per document", [s.ents_per_doc for s in splits], ",.2f", ents),
            ("mean document length", [s.mean_doc_len for s in splits], ",.2f", True),
            ("longest document", [s.max_doc_len for s in splits], ",", True),
            ("mean entity length", [s.mean_ent_len for s in splits], ",.2f", ents),
            ("longest entity", [s.max_ent_len for s in splits], ",", ents),
            ("vocabulary", [s.vocab for s in splits], ",", True),
            ("unknown words", [u.words for u in unknown], ",", unknown),
            ("  % of vocabulary", [u.word_share for u in unknown], "%", unknown),
            ("unknown tokens", [u.tokens for u in unknown], ",", unknown),
            ("  % of tokens", [u.token_share for u in unknown], "%", unknown),
        ]
        rows = [
            (name, *(_cell(x, spec) for x in each)) for name, each, spec, shown in lines if shown
        ]
        yield Table("Corpus", header, rows)
        yield Table("Texts that have each label", header, label_rows([s.cats for s in splits]))
        names = splits[0].attrs
        rows = [(name, *(f"{split.attrs[name]:,}" for split in splits)) for name in names]
        yield Table("Distinct values of attributes", header, rows)
        rows = [
            (name, f"{s.seen + s.unseen:,}", f"{s.seen:,}", f"{s.unseen:,}", _percent(s.seen_share))
            for name, s in self.seen.items()
            if ents
        ]
        yield Table("Seen and unseen entities", ("", "entities", "seen", "unseen", "% seen"), rows)

    def notes(self) -> Iterator[str]:
        """Yield what the numbers mean, and the warnings."""
        yield (
            "Lengths are in tokens. The vocabulary is all distinct words, as they are written. A "
            f"vocab of the language '{self.lang}' computes the attributes of each word."
        )
        if any(split.unknown for split in self.splits.values()):
            yield "Unknown words and tokens have no vector."
        if self.has_entities and self.seen:
            case = "in any case" if self.matching.ignore_case else "in the same case"
            label = "with the same label" if self.matching.match_label else "whatever its label"
            yield f"Seen: an entity of the training corpus has the same text, {case}, {label}."
            if self.repeats and (distant := self.repeats.distant_share) is not None:
                yield (
                    f"Distant parts of train share {_percent(distant)} % of their entities: expect "
                    "about as many seen entities in new texts."
                )
        yield from (f"Warning: {warning}" for warning in self.warnings())

    def warnings(self) -> list[str]:
        """List likely problems of the corpus that `spacy debug data` doesn't report."""
        warnings, splits = [], self.splits.items()
        if self.not_counted:
            warnings.append(not_counted(self.not_counted))
        bare = {n: s for n, s in splits if s.is_of_texts and not (s.cats or s.denied)}
        if names := [name for name, split in bare.items() if not split.others]:
            warnings.append(
                f"No annotations in {', '.join(names)}: only texts are counted. To keep "
                "annotations of .jsonl, .csv and CoNLL files, use: python -m spacy multihash "
                "convert"
            )
        for name, split in splits:
            warnings += _warnings_of(name, split)
        names = sorted({name for _, split in splits for name in (*split.labels, *split.cats)})
        cases = Counter(map(_folded, names))
        if same := [name for name in names if cases[_folded(name)] > 1]:
            warnings.append(
                f"Labels that differ only in case, blanks, or in what can't be seen: "
                f"{', '.join(sorted(map(_shown, same), key=str.lower))}"
            )
        if self.contradictions:
            one = self.contradictions[0]
            warnings.append(
                f"Texts that occur again with other annotation: {len(self.contradictions):,}, such "
                f"as {one.text!r} ({one.first}; {one.again}). Each copy teaches that the others "
                "are wrong: merge or correct them."
            )
        distant = self.repeats.distant_share if self.repeats else None
        for name, seen in self.seen.items():
            warnings += _leaks(name, seen, distant)
            warnings += _new_labels(name, self.splits[name], self.splits["train"])
        return warnings


def _warnings_of(name: str, split: SplitStats) -> Iterator[str]:
    if split.docstart:
        yield (
            f"Tokens {DOCSTART} in {name}: {split.docstart:,}. They separate documents and are "
            "no words. Convert the file with: python -m spacy multihash convert"
        )
    if split.missing and not split.is_of_texts:
        yield (
            f"Missing annotation of entities in {name}: {split.missing:,} of {split.tokens:,} "
            "tokens. Training and scores ignore them."
        )
    is_bare = not (split.entities or split.cats or split.denied)
    if split.tokens and is_bare and not split.is_of_texts:
        yield (
            f"No entities in {name}: all tokens are annotated as outside of entities. Exports of "
            "annotation tools leave out layers of your own."
        )
    if split.others and not split.entities:
        yield f"{name}: {name_other(split.others)}"
    if split.cats and split.several and not split.denied:
        yield (
            f"No text of {name} has the value 0 for any label. Labels that aren't in doc.cats are "
            "unknown, so that training can't learn when a label doesn't apply. Set them to 0."
        )
    if len({*split.cats, *split.denied}) == 1 and not split.denied:
        yield f"All texts of {name} have the label {[*split.cats][0]}: there's nothing to learn."
    if split.invisible:
        words = ", ".join(map(_shown, [*split.invisible][:3]))
        yield (
            f"Tokens with invisible characters in {name}: {sum(split.invisible.values()):,}, such "
            f"as {words}. They are other words than without. Remove the characters."
        )


def _leaks(name: str, seen: SeenStats, distant: Optional[float]) -> Iterator[str]:
    """Yield what a split has in common with train, and new texts haven't."""
    seen_share = seen.seen_share or 0.0
    is_enough = seen.seen + seen.unseen >= ENOUGH
    if is_enough and distant is not None and seen_share > distant + LEAK:
        yield (
            f"Entities of {name} that are in train: {_percent(seen_share)} %. Distant "
            f"parts of train share {_percent(distant)} %. So {name} has texts related to those "
            "of train, such as texts of the same document, and its own F1 is too high for new "
            "texts."
        )
    if seen.sentences_in_train:
        share = _percent(seen.sentences_in_train / seen.sentences)
        yield (
            f"Sentences of {name} that are in train word for word: "
            f"{seen.sentences_in_train:,} of {seen.sentences:,} ({share} %), with "
            f"{_percent(seen.tokens_in_train)} % of the tokens. Models may memorize them."
        )


def _new_labels(name: str, split: SplitStats, train: SplitStats) -> Iterator[str]:
    """Yield the labels of a split that train lacks, if it has other labels of the kind."""
    kinds = ((split.labels, train.labels), (split.cats, train.cats))
    new = [label for here, there in kinds for label in here if there and label not in there]
    if new:
        more = f" and {len(new) - SHOWN_LABELS:,} others" if len(new) > SHOWN_LABELS else ""
        yield (
            f"Labels of {name} that train lacks: {', '.join(map(_shown, new[:SHOWN_LABELS]))}"
            f"{more}. Models that learn from train can't predict them."
        )


def _shown(word: str) -> str:
    return repr(word) if INVISIBLE.search(word) else word


def _folded(label: str) -> str:
    """Return a label in lower case, with composed letters and single blanks."""
    return " ".join(normalize("NFKC", clean(label)).casefold().split())


def label_rows(counters: Sequence[Mapping[str, int]]) -> list[tuple[str, ...]]:
    """Return a row of counts for each label, the most frequent ones if there are many."""
    totals: Counter[str] = sum(map(Counter, counters), Counter())
    labels = sorted(totals)
    if len(labels) > SHOWN_LABELS:
        labels = [label for label, _ in totals.most_common(SHOWN_LABELS)]
    rows = [(f"  {label}", *(f"{c.get(label, 0):,}" for c in counters)) for label in labels]
    if more := len(totals) - len(labels):
        rest = (sum(c.values()) - sum(c.get(label, 0) for label in labels) for c in counters)
        rows.append((f"  {more:,} other labels", *(f"{number:,}" for number in rest)))
    return rows


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
        [(repeated, of_part) for repeated, of_part in distant.tolist()],
        sum(shares) / len(shares) < _SHUFFLED if is_known else None,
    )


class Pool(Protocol):
    """Calls a function on many items, maybe in other processes, as `scale.workers.Workers`."""

    def imap(
        self, function: Callable[[Path], Any], items: Sequence[Path], *, names: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the index of each item and its result, as they finish."""


@checked
def corpus_stats(
    train: Docs,
    dev: Optional[Docs] = None,
    test: Optional[Docs] = None,
    *,
    lang: Optional[str] = None,
    vectors: Union[str, Path, Language, Vocab, None] = None,
    attrs: Iterable[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
    workers: Optional[Pool] = None,
    code: Union[str, Path, None] = None,
    progress: Progress = no_progress,
) -> CorpusStats:
    """Count docs, entities, words and attributes of a corpus.

    train, dev, test (Docs): Docs with gold annotation; or a .spacy, .jsonl or .txt file, or a
        folder of them. Docs of all splits share a vocab.
    lang (Optional[str]): The language of the vocab that computes the attributes. None: the language
        of the docs or the vectors, or xx.
    vectors (Optional): A vocab with vectors, or a pipeline, its name or its path, to count words
        without a vector.
    attrs (Iterable[str]): The names of attributes that depend on a word alone, and of their slices
        and character n-grams, such as ORTH[:2] and LOWER{3,5}.
    matching (Matching): How to compare entities.
    workers (Optional[Pool]): Count files in other processes. None: in this one.
    code (Union[str, Path, None]): Python file that other processes import for `lang`.
    RETURNS (CorpusStats): Statistics of all splits.

    Raises ImportError, OSError or ValueError if something can't be read, for other attributes, or
    for docs of another vocab.
    """
    import_code(code)
    source = load_vectors(vectors) if isinstance(vectors, (str, Path)) else vectors
    source = source.vocab if isinstance(source, Language) else source
    blank = lang or (source.lang if source is not None else "") or "xx"
    given = {"train": train, "dev": dev, "test": test}
    given = {name: one for name, one in given.items() if one is not None or name == "train"}
    shards = {n: choose_shards(Path(x)) for n, x in given.items() if isinstance(x, (str, Path))}
    docs = _docs_in_memory({n: x for n, x in given.items() if n not in shards}, blank)
    own = next((of_split[0].vocab for of_split in docs.values()), None)
    if own is not None and lang not in (None, own.lang):
        raise ValueError(f"lang is for files, and these docs have the language {own.lang}.")
    named = own if source is None else source
    lang = lang or (named.lang if named is not None else "") or "xx"
    vocab = spacy.blank(lang).vocab if own is None else own
    values = word_attrs(attrs, vocab)  # raises before a corpus is read

    def count(name: str, wanted: Optional[AbstractSet[int]] = None) -> SplitCounts:
        if name in docs:
            return count_split(docs[name], vocab, matching, wanted)
        function = partial(_count_file, lang, code, matching, wanted)
        counts = _count_files(shards[name][0], function, workers, progress)
        if not counts.doc_lens:
            raise ValueError(f"The corpus at {given[name]} has no documents. Check the path.")
        return counts

    counts = {name: count(name) for name in given if name != "train"}
    wanted = {key for split in counts.values() for key in split.sentences}
    counts = {"train": count("train", wanted), **counts}
    known = vocab if source is None else source
    stats = describe_counts(counts, vocab, known.vectors, values, matching)
    seen, contradictions = Contradictions(), list[Contradiction]()

    def watched(name: str) -> Iterator[Doc]:
        nlp, length = spacy.blank(lang), 0
        files, _ = shards.get(name, ((), ()))
        in_order = chain(docs.get(name, ()), *(read_shard(path, nlp) for path in files))
        for number, doc in enumerate(in_order, start=1):
            if contradiction := seen.add(doc, f"{name}, document {number}"):
                contradictions.append(contradiction)
            yield doc
            length += len(doc)
            if length >= _MAX_TOKENS:
                break

    repeats = find_repeats(watched("train"), matching)
    for name in stats.seen:
        deque(watched(name), maxlen=0)
    beside = [name for _, others in shards.values() for name in others]
    return replace(stats, repeats=repeats, contradictions=contradictions, not_counted=beside)


def _docs_in_memory(given: Mapping[str, Any], lang: str) -> dict[str, list[Doc]]:
    """List the docs of corpora that aren't files. Those of a DocBin get the vocab of the others.

    lang (str): The language of a DocBin's vocab if there are no others.
    """
    docs, vocab = dict[str, list[Doc]](), spacy.blank(lang).vocab
    for name in sorted(given, key=lambda name: isinstance(given[name], DocBin)):
        docs[name] = list(items_of(given[name], vocab, Doc))
        vocab = docs[name][0].vocab
    return docs


def _count_files(
    paths: Sequence[Path],
    function: Callable[[Path], SplitCounts],
    workers: Optional[Pool],
    progress: Progress,
) -> SplitCounts:
    counted: Iterable[SplitCounts] = map(function, paths)
    if workers is not None:  # which may run in other folders
        absolute = [path.absolute() for path in paths]
        results = workers.imap(function, absolute, names=[*map(str, paths)])
        counted = (counts for _, counts in results)
    watched = progress(counted, desc="Counting", total=len(paths), unit=" shards")
    return sum(watched, SplitCounts())


def _count_file(
    lang: str,
    code: Union[str, Path, None],
    matching: Matching,
    wanted: Optional[AbstractSet[int]],
    path: Path,
) -> SplitCounts:
    nlp = _blank(lang, code)
    if len(nlp.vocab.strings) > _MAX_STRINGS:
        _blank.cache_clear()
        nlp = _blank(lang, code)
    return count_split(read_shard(path, nlp), nlp.vocab, matching, wanted)


@lru_cache(maxsize=1)
def _blank(lang: str, code: Union[str, Path, None]) -> Language:
    try:
        return spacy.blank(lang)
    except ImportError:
        if code is None:
            raise
        import_code(code)
        return spacy.blank(lang)


def describe_counts(
    counts: Mapping[str, SplitCounts],
    vocab: Vocab,
    vectors: Vectors,
    attrs: "Mapping[str, WordAttr]",
    matching: Matching,
) -> CorpusStats:
    """Describe a corpus by the counts of its splits.

    counts (Mapping[str, SplitCounts]): Counts from `count_split`, with the same matching. "train"
        needs the counts of all sentences in the other splits.
    vectors (Vectors): Vectors that may know the words.
    attrs (Mapping[str, WordAttr]): From `word_attrs`.

    Raises ValueError for a matching without entities.
    """
    splits = {name: _split_stats(split, vocab, vectors, attrs) for name, split in counts.items()}
    seen = {
        name: _seen_stats(split, counts["train"])
        for name, split in counts.items()
        if name != "train"
    }
    stats = CorpusStats(splits, seen, matching, vocab.lang)
    if matching != VERBATIM and not stats.has_entities:
        raise ValueError(
            "ignore_case and match_label have no effect: the corpus has no entities. Leave them "
            "out."
        )
    return stats


def _seen_stats(counts: SplitCounts, train: SplitCounts) -> SeenStats:
    num_seen = sum(n for entity, n in counts.entities.items() if entity in train.entities)
    shared = counts.sentences.keys() & train.sentences.keys()
    tokens = sum(counts.sentence_tokens[key] for key in shared)
    return SeenStats(
        seen=num_seen,
        unseen=counts.entities.total() - num_seen,
        seen_share=_ratio(num_seen, counts.entities.total()),
        sentences=counts.num_sentences,
        sentences_in_train=sum(counts.sentences[key] for key in shared),
        tokens_in_train=_ratio(tokens, counts.sentence_tokens.total()),
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
    attrs = {}
    for name in names:
        feature = parse_feature(name, where="Statistics of a corpus", advice="Correct the name.")
        base = feature.base if feature else name
        if base not in ids:
            raise ValueError(
                f"Expected attributes that depend on a word alone, got {name!r}. Choose from: "
                f"{', '.join(sorted(ids))}, and slices and n-grams of them such as ORTH[:2] and "
                "LOWER{3,5}."
            )
        attrs[name if feature is None else feature.name] = ids[base], feature
    return attrs


def _split_stats(
    counts: SplitCounts, vocab: Vocab, vectors: Vectors, attrs: Mapping[str, WordAttr]
) -> SplitStats:
    # A doc with each word once has all values of each attribute.
    words = Doc(vocab, words=list(counts.words))
    docs, tokens, entities = counts.docs, counts.tokens, counts.ent_lens.total()
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
        unknown=_unknown(words, counts.words, vectors) if len(vectors) else None,
        attrs={name: _count_values(words, *attr) for name, attr in attrs.items()},
        missing=counts.missing,
        cats=dict(sorted(counts.cats.items())),
        docstart=counts.docstart,
        denied=dict(sorted(counts.denied.items())),
        several=counts.several,
        others=dict(sorted(counts.others.items())),
        invisible=dict(sorted((w, n) for w, n in counts.words.items() if INVISIBLE.search(w))),
    )


def _count_values(words: Doc, attr: int, feature: Optional[Feature]) -> int:
    values = numpy.unique(attr_ids(attr, [words])).tolist()
    if feature is None:
        return len(values)
    texts = (words.vocab.strings[id_] for id_ in values)
    return len({piece for text in texts for piece in feature.pieces(text)})


def _unknown(words: Doc, counts: Mapping[str, int], vectors: Vectors) -> Unknown:
    keys = words.to_array(vectors.attr)  # ORTH, unless the vectors have another key
    have = has_vectors(vectors, keys)
    lacking = [n for has, n in zip(have, counts.values(), strict=True) if not has]
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


def _cell(value: Optional[float], spec: str) -> str:
    return _percent(value) if spec == "%" else "-" if value is None else format(value, spec)


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
