"""Align, merge, reduce and prune tables of static vectors, from and to files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Optional, Union, cast

import spacy
from spacy.vocab import Vocab

from ..common.arguments import Count, Positive, checked
from ..common.files import check_new
from ..common.lines import Account, clean, read_lines
from ..common.load import source_path
from ..common.outputs import check_file_output, check_folder_output, paths_in
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..corpus.read import read_docs
from ..embed.features import attr_id
from ..vectors import reduce
from ..vectors.align import alike_vectors, pair_vectors, procrustes
from ..vectors.files import read_table, text_words, write_table
from ..vectors.table import VectorTable, word_keys
from ..vectors.text import SUFFIXES, is_text

Attr = Literal["ORTH", "LOWER", "NORM", "LEMMA"]
Source = Union[str, Path]
# Words, a file with a word a line, or a corpus (.spacy file or folder).
Words = Union[str, Path, Iterable[str], Mapping[str, Any]]
# Suffixes of files that can't be written, and that no folder should have.
_NOT_WRITTEN = (".tar.gz", ".tgz", ".zip", ".tar", ".bz2", ".xz", ".zst", ".7z", ".rar", ".bin")


@dataclass(frozen=True, eq=False)
class WrittenVectors(Result):
    """A table of vectors, as it was written.

    table (VectorTable): The table.
    pairs (Optional[int]): The pairs of words that tables were aligned by.
    unknown (Mapping[str, int]): How many of the "words" or "pairs" given have no vector, if any.
    """

    table: VectorTable = field(repr=False)
    output: Path
    vectors: int
    width: int
    pairs: Optional[int] = None
    unknown: Mapping[str, int] = field(default_factory=dict)

    def notes(self) -> Iterable[str]:
        """Say what has no vector."""
        for what, number in self.unknown.items():
            yield f"Left out, since the table has no vector: {number:,} of the {what} given."

    def tables(self) -> Iterable[Table]:
        """The size of the table."""
        header, row = ["vectors", "width"], [f"{self.vectors:,}", f"{self.width:,}"]
        if self.pairs is not None:
            header, row = [*header, "pairs"], [*row, f"{self.pairs:,}"]
        yield Table("Vectors", header, [row], aligns="r")


@checked
def align_vectors(
    source: Source,
    target: Source,
    output: Union[str, Path],
    *,
    dictionary: Union[str, Path, Iterable[tuple[str, str]], None] = None,
    lang: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> WrittenVectors:
    """Rotate a table into another table's space, such as another language's.

        align_vectors("nl.vec", "en_core_web_md", "nl-as-en", dictionary=[("huis", "house")])

    source (Source): Table of vectors: a package's name, the folder of a pipeline or of a vocab, or
        vectors as text (.txt, .vec, .gz, .zip, .tar.gz).
    target (Source): Table whose space `source` is mapped into.
    output (Union[str, Path]): File to write, if its name ends in .txt, .vec, .floret or .gz,
        otherwise a folder.
    dictionary (Union[str, Path, Iterable[tuple[str, str]], None]): File with a word of `source` and
        of `target` on each line. None: words spelled alike.
    lang (Optional[str]): Language of the pipeline to write, as in the config that takes the
        vectors. None: the language of `source`, and xx for text.
    force (bool): Replace `output` if it exists.

    Raises ValueError if a table or the dictionary can't be used.
    """
    inputs = paths_in(dictionary)
    table, other = _read([source, target], Path(output), lang, force, progress, inputs)
    if isinstance(dictionary, (str, Path)):
        dictionary = read_pairs(Path(dictionary))
    pairs = None if dictionary is None else [tuple(pair) for pair in dictionary]
    if pairs is not None and {len(pair) for pair in pairs} - {2}:
        raise ValueError("The dictionary must have pairs of words, as (source, target).")
    if pairs == []:
        raise ValueError("The dictionary has no pairs. Give pairs, or None for equal words.")
    if pairs is None:
        Y, X, unknown = *alike_vectors(table, other), 0
    else:
        Y, X, unknown = pair_vectors(table, other, cast(Any, pairs))
    mapped = reduce.map_table(table, procrustes(Y, X))
    return _write(Path(output), mapped, progress, len(Y), pairs=unknown)


@checked
def merge_vectors(
    sources: Sequence[Source],
    output: Union[str, Path],
    *,
    width: Positive,
    lang: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> WrittenVectors:
    """Merge tables into one, with the words of all tables: PCA of the tables side by side.

        merge_vectors(["glove.txt", "fasttext.vec"], "merged", width=300)

    sources (Sequence[Source]): Two or more tables.
    output, lang, force: As in `align_vectors`.
    width (int): Columns of the result.

    Raises ValueError if a table can't be used.
    """
    if len(sources) < 2:
        raise ValueError(f"Merging needs two or more tables, got {[*map(str, sources)]}.")
    tables = _read(sources, Path(output), lang, force, progress)
    joined = reduce.join_words(tables)
    if is_text(Path(output)):
        text_words(joined)
    return _write(Path(output), reduce.merge(joined, tables, width), progress)


@checked
def reduce_vectors(
    source: Source,
    output: Union[str, Path],
    *,
    width: Positive,
    drop_top: Count = 0,
    keep_origin: bool = False,
    words: Optional[Words] = None,
    lang: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> WrittenVectors:
    """Make vectors shorter, by their principal axes.

        reduce_vectors("en_core_web_lg", "short", width=100)

    source, output, lang, force: As in `align_vectors`.
    width (int): Axes to keep.
    drop_top (int): Axes of the largest variance to leave out. 2 D, with a width of N - D, means
        PPA, PCA to N, and PPA again.
    keep_origin (bool): Don't subtract the mean, so that words without a vector stay apart.
    words (Optional[Words]): Estimate on these words: a file with a word on each line, or a corpus
        (.spacy file or folder). None: all words of the table. A floret table needs them.

    Raises ValueError if the table or the words can't be used.
    """
    (table,) = _read([source], Path(output), lang, force, progress, paths_in(words))
    chosen = None if words is None else read_words(words)
    stats = reduce.moments(table.estimation_vectors(chosen))
    function = reduce.pca(stats, width, skip=drop_top, keep_origin=keep_origin)
    unknown = 0 if chosen is None else int((~table.look_up(chosen)[0]).sum())
    return _write(Path(output), reduce.map_table(table, function), progress, words=unknown)


@checked
def prune_vectors(
    source: Source,
    output: Union[str, Path],
    *,
    words: Words,
    first: Count = 0,
    attr: Optional[Attr] = None,
    lang: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> WrittenVectors:
    """Keep the vectors of a corpus's words.

        prune_vectors("en_core_web_lg", "small", words="corpus/train.spacy")

    source, output, lang, force: As in `align_vectors`.
    words (Words): Words to keep: a file with a word on each line, or a corpus (.spacy file or
        folder).
    first (int): Keep the first rows of the table as well, with all their words.
    attr (Optional[Attr]): Attribute of the words to keep vectors by, as in the key_attrs of
        MetaVectors. None: the attribute of the table.

    Raises ValueError if the table or the words can't be used.
    """
    inputs, by_attr = paths_in(words), attr is not None
    (table,) = _read([source], Path(output), lang, force, progress, inputs, uses_lang=by_attr)
    values = table.values(read_words(words), None if attr is None else attr_id(attr))
    pruned = reduce.prune(table, values, first=first)
    unknown = int((table.find(word_keys(values)) < 0).sum())
    return _write(Path(output), pruned, progress, words=unknown)


def _read(
    sources: Sequence[Source],
    output: Path,
    lang: Optional[str],
    force: bool,
    progress: Progress,
    inputs: Sequence[Source] = (),
    *,
    uses_lang: bool = False,
) -> list[VectorTable]:
    """Check the output, and read tables.

    inputs (Sequence[Source]): Other files that are read.
    uses_lang (bool): Whether the language decides more than what the pipeline says of itself.
    """
    met = dict[tuple[int, int], Path]()
    for path in map(source_path, sources):
        check_new(path / "vocab" if (path / "vocab").is_dir() else path, met)
    if output.name.lower().endswith(_NOT_WRITTEN):
        raise ValueError(
            f"OUTPUT must be a folder or a file that ends in {', '.join(SUFFIXES)}, got {output}. "
            "Give another name."
        )
    if is_text(output):
        check_file_output(output, "OUTPUT", *sources, *inputs, force=force)
    else:
        check_folder_output(output, *sources, *inputs, force=force)
    if lang is not None:
        spacy.blank(lang)
        if is_text(output) and not uses_lang:
            raise ValueError(
                "--lang is for the pipeline to write, and OUTPUT is text. Leave it out."
            )
    return [read_table(source, lang, progress=progress) for source in sources]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of words, a pair on each line, separated by tabs or blanks. Skips blank lines.

    Raises ValueError if a line isn't UTF-8, doesn't have two words, or repeats a pair.
    """
    pairs: dict[tuple[str, ...], int] = {}
    account = Account(path)
    for number, line in read_lines(account):
        pair = tuple(clean(word) for word in (line.split("\t") if "\t" in line else line.split()))
        with account.line(number, "written" if line.strip() else "blank"):
            if line.strip() and (len(pair) != 2 or not all(pair) or pair in pairs):
                problem = (
                    f"a pair that line {pairs[pair]} has" if pair in pairs else repr(line[:40])
                )
                raise ValueError(
                    f"expected two words with a tab between, got {problem}. Correct or remove the "
                    "line."
                )
            if line.strip():
                pairs[pair] = number
    account.check()
    if not pairs:
        raise ValueError(f"{path} has no pairs. Write two words on each line.")
    return [(word, other) for word, other in pairs]


def read_words(words: Words) -> list[str]:
    """List distinct words in their order. Raises ValueError if a file has none."""
    if isinstance(words, (str, Path)):
        path = Path(words)
        if path.is_dir() or path.suffix == ".spacy":
            words = [token.text for doc in read_docs(path, Vocab()) for token in doc]
        else:
            account = Account(path)
            words = []
            for number, line in read_lines(account):
                words.append(clean(line))
                account.mark("written" if words[-1] else "blank", number)
            account.check()
        if not any(words):
            raise ValueError(f"There are no words in {path}. Check the path.")
    chosen = list(dict.fromkeys(filter(None, words)))
    if not all(isinstance(word, str) for word in chosen):
        raise ValueError("Expected words as strings.")
    return chosen


def _write(
    output: Path,
    table: VectorTable,
    progress: Progress,
    aligned: Optional[int] = None,
    **unknown: int,
) -> WrittenVectors:
    write_table(output, table, progress=progress)
    vectors, width = table.data.shape
    left_out = {what: number for what, number in unknown.items() if number}
    return WrittenVectors(table, output, vectors, width, aligned, left_out)
