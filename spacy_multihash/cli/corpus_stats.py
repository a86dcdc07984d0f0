"""`python -m spacy multihash corpus-stats`: statistics of a corpus."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, replace
from functools import partial
from operator import add
from pathlib import Path
from typing import Optional, Union

import spacy
import typer
from spacy.language import Language

from ..common.files import write_json
from ..common.outputs import check_file_output
from ..corpus.evaluation import VERBATIM, Matching
from ..corpus.shards import read_shard
from ..corpus.statistics import (
    DEFAULT_ATTRS,
    CorpusStats,
    SplitCounts,
    count_split,
    describe_counts,
    find_repeats,
    find_warnings,
    is_of_texts,
    sentences_of,
    word_attrs,
)
from ..scale.source import Source, source_without_files
from ..scale.workers import Workers
from ..vectors.files import load_vectors
from ._shards import Shards
from ._util import (
    AS_JSON,
    CODE,
    DASK,
    WORKERS,
    failing,
    import_code,
    msg,
    open_workers,
    print_json,
    show_table,
)


def corpus_stats_cli(
    train: Path = typer.Argument(
        ...,
        help="Training corpus: a .spacy, .jsonl or .txt file, or a folder of such shards",
        exists=True,
    ),
    dev: Optional[Path] = typer.Argument(
        None, help="Development corpus, a file or a folder", exists=True
    ),
    test: Optional[Path] = typer.Argument(
        None, help="Test corpus, a file or a folder", exists=True
    ),
    lang: Optional[str] = typer.Option(
        None,
        help="Language of the vocab that computes the attributes, without tables of "
        "spacy-lookups-data. Default: the language of --vectors, or xx, which has no rules of its "
        "own",
    ),
    vectors: Optional[str] = typer.Option(
        None, help="Pipeline with vectors (a package's name, or a path), or folder of a vocab"
    ),
    attrs: str = typer.Option(
        ",".join(DEFAULT_ATTRS),
        help="Attributes of words, slices and n-grams to count, such as NORM, ORTH[:2] or "
        "LOWER{3,5}, separated by commas",
    ),
    ignore_case: bool = typer.Option(False, "--ignore-case", help="Compare texts in lower case"),
    match_label: bool = typer.Option(
        False, "--match-label", help="An entity with another label than in TRAIN is unseen"
    ),
    workers: Optional[int] = WORKERS,
    dask: Optional[str] = DASK,
    output: Optional[Path] = typer.Option(None, help="JSON file to write the statistics to"),
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace the file of --output if it exists"
    ),
    as_json: bool = AS_JSON,
    code: Optional[Path] = CODE,
) -> None:
    """Count documents, entities and attributes of a corpus.

    Warns about -DOCSTART- tokens, missing annotation, labels that differ only in case, sentences of
    DEV and TEST that are also in TRAIN, and more entities of TRAIN than distant parts of it share.

    Entities of DEV and TEST are counted as seen or unseen. An entity is seen if TRAIN has an entity
    with the same text. With --vectors, words without a vector are counted too. Attributes come from
    the vocab, so NORM may differ from a tokenizer's exceptions. .txt and .jsonl files have no
    annotations.

    DOCS: python -m pydoc spacy_multihash.corpus.statistics
    """
    import_code(code)
    with failing("Cannot count the corpus"):
        check_file_output(output, "--output", vectors, train, dev, test, code, force=force)
        stats = corpus_stats(
            train,
            dev,
            test,
            lang=lang,
            vectors=vectors,
            attrs=[name.strip() for name in re.split(r",(?![^{,]*})", attrs)],  # not in LOWER{3,5}
            matching=Matching(ignore_case, match_label),
            workers=workers,
            dask=dask,
            code=code,
        )
        if output is not None:
            write_json(output, asdict(stats))
    if as_json:
        print_json(asdict(stats))
        return
    _show(stats, vectors)
    for warning in find_warnings(stats):
        msg.warn(warning)
    if output is not None:
        msg.good(f"Wrote {output}")


def corpus_stats(
    train: Path,
    dev: Optional[Path] = None,
    test: Optional[Path] = None,
    *,
    lang: Optional[str] = None,
    vectors: Union[str, Path, None] = None,
    attrs: Sequence[str] = DEFAULT_ATTRS,
    matching: Matching = VERBATIM,
    workers: Optional[int] = None,
    dask: Optional[str] = None,
    code: Optional[Path] = None,
) -> CorpusStats:
    """Count entities, words and attributes of a corpus on disk.

    attrs (Sequence[str]): The names of attributes that depend on a word alone, and of their slices
        and character n-grams.
    code (Optional[Path]): Python file, already imported here, that other processes import.

    Raises ImportError, OSError or ValueError if something cannot be read.
    """
    with_vectors = None if vectors is None else load_vectors(vectors)
    if lang is None and with_vectors is not None:
        lang = with_vectors.lang  # "" for a vocab by itself
    lang = lang or "xx"
    source = source_without_files(partial(spacy.blank, lang), code)
    vocab = source.loaded().vocab
    if with_vectors is not None:
        vocab.vectors = with_vectors.vectors
    attrs = list(word_attrs(attrs, vocab))  # raises before a corpus is read
    paths = {"train": train, "dev": dev, "test": test}
    shards = {name: Shards.of(path) for name, path in paths.items() if path is not None}
    with open_workers(workers, dask) as pool:
        count = partial(count_split_shards, pool, source, matching)
        counted = {name: count(shards[name]) for name in shards if name != "train"}
        counts = count(shards["train"], sentences_of(counted.values()))
    stats = describe_counts(counts, counted, vocab, attrs=attrs, matching=matching)
    train_docs = (
        doc for path in shards["train"].paths for doc in read_shard(path, source.loaded())
    )
    return replace(stats, repeats=find_repeats(train_docs, matching))


def count_split_shards(
    workers: Workers,
    source: Source[Language],
    matching: Matching,
    shards: Shards,
    wanted: Optional[AbstractSet[int]] = None,
) -> SplitCounts:
    """Count the docs of a split's shards. Raises ValueError if there are none."""
    counts = shards.merged(workers, partial(_count_split, source, matching, wanted), add)
    if not counts.doc_lens:
        raise ValueError(f"The corpus at {shards.path} has no documents. Check the path.")
    return counts


def _count_split(
    source: Source[Language], matching: Matching, wanted: Optional[AbstractSet[int]], path: Path
) -> SplitCounts:
    nlp = source.loaded_for_shard()
    return count_split(read_shard(path, nlp), nlp.vocab, matching, wanted)


def _show(stats: CorpusStats, vectors: Optional[str]) -> None:
    """Print the tables: splits, labels of texts, attributes, and seen entities."""
    splits = list(stats.splits.values())
    has_entities = not all(map(is_of_texts, splits))

    def show(title: str, rows: Sequence[tuple[str, Iterable[str]]]) -> None:
        show_table(title, ("", *stats.splits), [(name, *cells) for name, cells in rows])

    def row(name: str, key: str, spec: str = ",") -> tuple[str, list[str]]:
        values = [getattr(split, key) for split in splits]
        return name, ["-" if value is None else format(value, spec) for value in values]

    rows = [row("documents", "docs"), row("tokens", "tokens")]
    if has_entities:
        rows += [
            ("labels", [f"{len(split.labels):,}" for split in splits]),
            row("entities", "entities"),
            row("entities per document", "ents_per_doc", ",.2f"),
        ]
    rows += [
        row("mean document length", "mean_doc_len", ",.2f"),
        row("longest document", "max_doc_len"),
    ]
    if has_entities:
        rows += [
            row("mean entity length", "mean_ent_len", ",.2f"),
            row("longest entity", "max_ent_len"),
        ]
    rows.append(row("vocabulary", "vocab"))
    if unknown := [split.unknown for split in splits if split.unknown]:
        rows += [
            ("unknown words", [f"{u.words:,}" for u in unknown]),
            ("  % of vocabulary", [_percent(u.word_share) for u in unknown]),
            ("unknown tokens", [f"{u.tokens:,}" for u in unknown]),
            ("  % of tokens", [_percent(u.token_share) for u in unknown]),
        ]
    show("Corpus", rows)
    msg.text("Lengths are in tokens. The vocabulary is all distinct words, as they are written.")
    if unknown:
        msg.text(f"Unknown words and tokens have no vector in {vectors}.")
    cats = sorted({label for split in splits for label in split.cats})
    show(
        "Texts that have each label",
        [(label, [f"{split.cats.get(label, 0):,}" for split in splits]) for label in cats],
    )
    show(
        "Distinct values of attributes",
        [(name, [f"{split.attrs[name]:,}" for split in splits]) for name in splits[0].attrs],
    )
    msg.text(f"A vocab of the language '{stats.lang}' computes the attributes of each word.")
    if has_entities and stats.seen:
        _show_seen(stats)


def _show_seen(stats: CorpusStats) -> None:
    rows = [
        (name, *(f"{n:,}" for n in (s.seen + s.unseen, s.seen, s.unseen)), _percent(s.seen_share))
        for name, s in stats.seen.items()
    ]
    show_table("Seen and unseen entities", ("", "entities", "seen", "unseen", "% seen"), rows)
    if stats.repeats and (distant := stats.repeats.distant_share) is not None:
        msg.text(
            f"Distant parts of train share {_percent(distant)} % of their entities: expect about "
            "as many seen entities in new texts."
        )
    case = "in any case" if stats.matching.ignore_case else "in the same case"
    label = "with the same label" if stats.matching.match_label else "whatever its label"
    msg.text(f"Seen: an entity of the training corpus has the same text, {case}, {label}.")


def _percent(share: Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
