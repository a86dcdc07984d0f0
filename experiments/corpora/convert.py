"""Convert a published data set to spaCy's binary format, with a file for each split."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Annotated

import spacy
import typer
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from wasabi import msg

from spacy_multihash.common.lines import Account
from spacy_multihash.corpus.conll import Layout, Record, read_conll, tagged_doc, to_iob2
from spacy_multihash.corpus.read import write_corpora


@dataclass(frozen=True)
class DatasetSpec:
    """A data set. Its files have tokens in the first column, and tags in the last.

    lang (str): The language's code in spaCy.
    files (Mapping[str, str]): The file of each split, relative to the folder of assets.
    documents (bool): Whether -DOCSTART- lines separate documents. Otherwise each sentence is a
        document.
    cuts (Mapping[str, float]): For data sets published without some split: the splits to cut from
        the file of "train", and the share of the file where each split ends.
    block (int): How many neighbouring documents cuts keep together.
    """

    lang: str
    files: Mapping[str, str]
    documents: bool = False
    cuts: Mapping[str, float] = field(default_factory=dict)
    block: int = 1


def _files(train: str, dev: str, test: str) -> dict[str, str]:
    return {"train": train, "dev": dev, "test": test}


ES_FILES = _files("conll2002/esp.train", "conll2002/esp.testa", "conll2002/esp.testb")
NL_FILES = _files("conll2002/ned.train", "conll2002/ned.testa", "conll2002/ned.testb")
WNUT_FILES = _files(
    "wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "wnut17/emerging.test.annotated"
)
TURKU_FILES = _files("turku-one/train.tsv", "turku-one/dev.tsv", "turku-one/test.tsv")
ANEM_FILES = {"train": "anem/AnEM.train", "test": "anem/AnEM.test"}
ARCHAEO_FILES = {"train": "archaeo/complete-bio-gs.bio"}
GUM_FILES = {"train": "gum/train.conll", "test": "gum/test.conll"}

DATASETS = {
    "conll-es": DatasetSpec("es", ES_FILES),
    "conll-nl": DatasetSpec("nl", NL_FILES, documents=True),
    "conll-nl-sentences": DatasetSpec("nl", NL_FILES),
    "wnut17": DatasetSpec("en", WNUT_FILES),
    "anem": DatasetSpec("en", ANEM_FILES, cuts={"train": 0.8, "dev": 1.0}),
    "archaeo": DatasetSpec("nl", ARCHAEO_FILES, cuts={"train": 0.8, "dev": 0.9, "test": 1.0}),
    "turku-one": DatasetSpec("fi", TURKU_FILES),
    "gum": DatasetSpec("en", GUM_FILES, cuts={"train": 0.9, "dev": 1.0}, block=10),
    # spaCy has neither language.
    **{
        f"masakhaner-{lang}": DatasetSpec(
            "xx", _files(*(f"masakhaner/{lang}/{split}.txt" for split in ("train", "dev", "test")))
        )
        for lang in ("swa", "hau")
    },
}
ALL = "all"  # free data sets, each to its own folder
# This seed gives the paper's random splits: the counts are those of its Tables 5 and 6.
SPLIT_SEED = 42


@dataclass
class SplitSummary:
    """The counts of one split.

    `opened_by_i` counts the entities whose first tag is I-, and `unprintable` the tokens with a
    control or private-use character. Both are kept.
    """

    split: str
    docs: int = 0
    tokens: int = 0
    entities: int = 0
    opened_by_i: int = 0
    unprintable: int = 0


def read_records(path: Path, spec: DatasetSpec) -> list[Record]:
    """List the documents of a file of a data set, with their tags as published."""
    return read_conll(
        Account(path, keeps_errors=True), Layout(), documents=spec.documents, exact=True
    )


def is_unprintable(word: str) -> bool:
    """Return whether a word has a control or private-use character (Unicode's Cc and Co)."""
    return any(unicodedata.category(char) in ("Cc", "Co") for char in word)


def read_split(
    path: Path, records: Iterable[Record], vocab: Vocab, split: str
) -> tuple[DocBin, SplitSummary]:
    """Return the documents of a split, and their counts.

    path (Path): The file of the records, for the error message.
    records (Iterable[Record]): The documents as read.
    vocab (Vocab): The vocab of the documents.
    split (str): The split's name, for the summary.

    Raises ValueError if there are no documents.
    """
    doc_bin = DocBin()
    summary = SplitSummary(split)
    for record in records:
        tags = to_iob2(record.tags, record.sent_starts)
        doc_bin.add(tagged_doc(vocab, record.words, tags, record.sent_starts))
        summary.docs += 1
        summary.tokens += len(tags)
        summary.entities += sum(tag[0] == "B" for tag in tags)
        summary.opened_by_i += sum(a != b for a, b in zip(record.tags, tags, strict=True))
        summary.unprintable += sum(map(is_unprintable, record.words))
    if not summary.docs:
        raise ValueError(f"{path}: expected tagged tokens, found none. Use the published file.")
    return doc_bin, summary


def cut(
    records: Sequence[Record], cuts: Mapping[str, float], block: int = 1
) -> Iterator[tuple[str, list[Record]]]:
    """Yield random splits of documents published without splits: the paper's for its data sets.

    records (Sequence[Record]): The documents, in the order of the file.
    cuts (Mapping[str, float]): The share of the blocks where each split ends.
    block (int): The number of neighbouring documents that stay together.
    """
    blocks = [records[start : start + block] for start in range(0, len(records), block)]
    Random(SPLIT_SEED).shuffle(blocks)
    bounds = pairwise([0, *(int(end * len(blocks)) for end in cuts.values())])
    for split, (start, end) in zip(cuts, bounds, strict=True):
        yield split, list(chain.from_iterable(blocks[start:end]))


def read_splits(dataset: str, assets: Path) -> Iterator[tuple[str, Path, Iterable[Record]]]:
    """Yield the name, the source and the documents of each split of a data set.

    Raises FileNotFoundError for a missing file.
    """
    spec = DATASETS[dataset]
    for name in spec.files.values():
        if not (assets / name).is_file():
            raise FileNotFoundError(
                f"{assets / name} is missing. Run `python -m spacy project assets`, or copy the "
                "published files into assets/."
            )
    for split, name in spec.files.items():
        records = read_records(assets / name, spec)
        if split == "train" and spec.cuts:
            for part, cut_records in cut(list(records), spec.cuts, spec.block):
                yield part, assets / name, cut_records
        else:
            yield split, assets / name, records


def convert(dataset: str, assets: Path, output: Path) -> list[SplitSummary]:
    """Convert a data set. Nothing is written unless every split can be read.

    dataset (str): A name in `DATASETS`.
    assets (Path): The folder of the published files.
    output (Path): The folder to write train.spacy, dev.spacy and test.spacy to.
    """
    if dataset not in DATASETS:
        raise ValueError(f"Unknown data set {dataset!r}. Choose one of: {', '.join(DATASETS)}.")
    vocab = spacy.blank(DATASETS[dataset].lang).vocab
    results = {
        split: read_split(path, records, vocab, split)
        for split, path, records in read_splits(dataset, assets)
    }
    write_corpora(output, {split: doc_bin for split, (doc_bin, _) in results.items()})
    return [summary for _, summary in results.values()]


def convert_cli(
    dataset: Annotated[
        str, typer.Argument(help=f"The data set: {', '.join(DATASETS)}, or {ALL} free ones")
    ],
    assets: Annotated[Path, typer.Argument(help="Folder of the published files")],
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy")],
) -> None:
    """Convert a published data set to spaCy's binary format.

    An I- tag that doesn't continue an entity opens a new entity and is counted. Tokens with control
    or private-use characters are kept and counted.

    DOCS: https://spacy.io/api/docbin
    """
    folders = {name: output / name for name in DATASETS} if dataset == ALL else {dataset: output}
    for name, folder in folders.items():
        try:
            summaries = convert(name, assets, folder)
        except (OSError, ValueError) as error:
            msg.fail(f"Could not convert {name}", error, exits=1)
        msg.good(f"Converted {name}", folder)
        header = ("split", "docs", "tokens", "entities", "opened by I-", "unprintable tokens")
        rows = [(row[0], *(f"{n:,}" for n in row[1:])) for row in map(astuple, summaries)]
        msg.table(rows, header=header, divider=True, aligns=("l", *"rrrrr"))
