"""Tables of vectors in files, read and written in chunks.

A table is read from a package, the folder of a pipeline, compressed or not, or of a vocab, vectors
as text, or a file of codes (.npz). What is written is whole or not there.
"""

import logging
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Optional, Union

import numpy
import srsly
from tqdm import tqdm

from ..common.files import replacing_file, replacing_folder
from ..common.messages import keep_collector
from ..compute.quantization import widen
from .compressed import KEYS, TABLE, is_compressed, read_keys, read_rows
from .reduce import Method, quantize
from .table import (
    ORTH,
    CheckedRows,
    Kind,
    MappedRows,
    Rows,
    VectorTable,
    check_floret,
    check_table,
    chunks,
    progress,
)
from .text import ends_in_number, is_codes, is_text, read_text, store_vectors, write_text
from .vocab import ATTR_NAMES, SYMBOLS, source_path, word_keys, write_pipeline, write_vocab

# Of a file of codes.
FORMAT, VERSION = "spacy-multihash.vectors", 1
ARRAYS: Mapping[str, set[str]] = {
    "float16": {"codes", "keys", "rows", "head"},
    "int8": {"codes", "keys", "rows", "head", "scales"},
}
# Passes chunks along, and may show progress.
Show = Callable[[list[slice]], Iterable[slice]]


@contextmanager
def open_table(
    source: Union[str, Path],
    *,
    lang: Optional[str] = None,
    words: bool = True,
    show_progress: bool = False,
) -> Iterator[VectorTable]:
    """Open a table of vectors; its numbers stay in the file, and are read when asked for.

    source (Union[str, Path]): A package's name, the folder of a pipeline or a vocab, or a file of
        vectors as text or as codes (.npz).
    lang (Optional[str]): The language of a file of text, "xx" by default.
    words (bool): Whether the texts of words are needed. A folder's strings are not read otherwise.
    show_progress (bool): Show a progress bar on stderr.

    Raises FileNotFoundError or ValueError if there is no table, or if it is damaged.
    """
    path = Path(source)
    if is_codes(path):
        yield check_table(_read_codes(path))
        return
    if path.is_file():
        with tempfile.TemporaryDirectory(prefix="spacy-multihash-") as folder:
            yield check_table(_read_text(path, Path(folder), lang or "xx", show_progress))
        return
    path = source_path(source)
    if (path / "vocab").is_dir():
        table = _read_vocab(path / "vocab", "pipeline", str(source), _meta(path), words=words)
        yield check_table(table)
    elif (path / TABLE).is_file():
        yield check_table(_read_vocab(path, "vocab", str(source), {}, words=words))
    else:
        raise FileNotFoundError(
            f"There are no vectors at {source}: expected a package's name, the folder of a pipeline"
            " or of a vocab, or vectors as text. Check the name."
        )


def write_table(output: Path, table: VectorTable, *, show_progress: bool = False) -> None:
    """Write a table: as text if the name of the output says so, otherwise as it was read.

    A table that was read from a folder of a vocab is written as one, and any other as a pipeline
    without components. Its rows are computed while they are written.

    Raises ValueError, and writes nothing, if a row cannot be computed or is not finite, and what
    `text_words` raises if the output is text.
    """
    show = partial(progress, title="Writing", show=show_progress)
    where, advice = f"The vectors computed for {output}", "Scale the vectors that were read first."
    table = replace(table, data=CheckedRows(table.data, where, table.word_of, advice=advice))
    if not is_text(output):
        with replacing_folder(output.resolve()) as new:
            _write_folder(new, table, show)
        return
    words = text_words(table)
    order = numpy.arange(len(words)) if table.floret is not None else table.rows
    with replacing_file(output) as new:
        rows = (table.data[order[chunk]] for chunk in show(chunks(len(words))))
        packed = output.suffix.lower() == ".gz"
        write_text(new, words, rows, table.width, table.floret, packed=packed)


def write_codes(
    output: Path, table: VectorTable, method: Method, *, show_progress: bool = False
) -> None:
    """Write the codes of a table, which are read as a table; the same table makes the same bytes.

    Raises ValueError, and writes nothing, if float16 cannot hold the vectors.
    """
    head = {
        "words": list(table.words),
        "floret": table.floret,
        "lang": table.lang,
        "title": table.title,
        "attr": table.attr,
    }
    codes, scales = quantize(table, method)
    arrays: dict[str, Any] = {
        "format": numpy.array(FORMAT),
        "version": numpy.array(VERSION),
        "kind": numpy.array(method),
        "codes": codes,
        "scales": scales,
        "keys": table.keys,
        "rows": table.rows,
        "head": numpy.frombuffer(srsly.json_dumps(head).encode("utf8"), dtype="uint8"),
    }
    show = partial(progress, title="Writing", show=show_progress)
    with replacing_file(output) as new, zipfile.ZipFile(new, "w") as archive:
        for name, array in arrays.items():
            if array is None:
                continue
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file_:
                if isinstance(array, numpy.ndarray):
                    numpy.lib.format.write_array(file_, array, allow_pickle=False)
                else:
                    _write_rows(file_, array, show)


def text_words(table: VectorTable) -> list[str]:
    """Return the words of a table, or the numbers of floret's rows, to write one a line.

    Raises ValueError if the table is not one by ORTH, which is all that text can say. It raises
    ValueError if the text of a word is not known, or if it has a line feed, or a blank and a number
    at its end. It raises ValueError if a sign of floret is empty, or has a blank.
    """
    attr = table.attr if table.floret is None else table.floret["attr"]
    if attr != ORTH:
        raise ValueError(
            f"{table.name} finds words by {ATTR_NAMES.get(attr, attr)}, and text has no place for "
            "that: it would be read as a table by ORTH. Write a folder instead of text."
        )
    if table.floret is not None:
        for name in ("bow", "eow"):
            if table.floret[name].split() != [table.floret[name]]:
                raise ValueError(
                    f"{table.name} has {name} = {table.floret[name]!r}, which the first line of a "
                    "text cannot have: blanks part its fields. Write a folder instead of text."
                )
        return [str(row) for row in range(table.data.shape[0])]
    known = [word for word in table.words if word]
    if len(known) < len(table.words):
        raise ValueError(
            f"The text of {len(table.words) - len(known):,} words of {table.name} is not known: "
            "its strings lack them. Write a folder instead of text."
        )
    if cut := [word for word in known if "\n" in word]:
        raise ValueError(
            f"{table.name} has {len(cut):,} words with a line feed, such as {cut[0]!r}, but text "
            "has a line for each word. Write a folder instead of text, or prune these words."
        )
    if wide := [word for word in known if ends_in_number(word)]:
        raise ValueError(
            f"{table.name} has {len(wide):,} words with a blank or number at their end, such as "
            f"{wide[0]!r}, which text cannot tell from the numbers of the vector. Write a folder "
            "instead of text, or prune these words."
        )
    return known


def _meta(path: Path) -> Mapping[str, Any]:
    found = _parsed(path / "meta.json", srsly.read_json) if (path / "meta.json").is_file() else {}
    return found if isinstance(found, dict) else {}


def _parsed(path: Path, read: Any) -> Any:  # noqa: ANN401 (whatever a file holds)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}, which a vocab has. Copy or make it again."
        )
    try:
        with keep_collector():
            return read(path)
    except Exception as error:  # whatever a damaged file makes numpy or srsly raise
        raise ValueError(
            f"{path} is damaged ({type(error).__name__}: {error}). Copy or make it again."
        ) from error


def _read_codes(path: Path) -> VectorTable:
    """Read what `write_codes` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: expected codes that quantize wrote.")
    try:
        # numpy leaves a file open that it opened itself, where it is damaged.
        with path.open("rb") as file_, numpy.load(file_, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # whatever a damaged file makes numpy or zipfile raise
        raise ValueError(
            f"{path} is damaged, or no .npz file at all ({type(error).__name__}: {error}). Copy or "
            "make it again."
        ) from error
    kind = str(arrays.get("kind"))
    if (
        (str(arrays.get("format")), str(arrays.get("version"))) != (FORMAT, str(VERSION))
        or kind not in ARRAYS
        or not ARRAYS[kind] <= arrays.keys()
    ):
        raise ValueError(
            f"{path} must have the codes of float16 or int8 that quantize writes (format {FORMAT}, "
            f"version {VERSION}), was: {kind}. Give another file."
        )
    codes, scales = arrays["codes"], arrays.get("scales")

    def widened(rows: numpy.ndarray) -> numpy.ndarray:
        return widen(codes[rows], None if scales is None else scales[rows])

    try:
        head: Any = srsly.json_loads(arrays["head"].tobytes().decode("utf8"))
        mapped = MappedRows(numpy.arange(len(codes)), widened, codes.shape[1])
        data, lang, title = CheckedRows(mapped, str(path)), head["lang"], head["title"]
        keys, rows, words, attr = arrays["keys"], arrays["rows"], head["words"], head.get("attr")
        data[slice(0, 1)]
        table = VectorTable(str(path), data, keys, rows, words, head["floret"], lang=lang)
        if not len(keys) == len(rows) == len(words):
            raise ValueError(f"{len(keys)} keys, {len(rows)} rows and {len(words)} words")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is damaged ({error}). Make it again.") from error
    return replace(table, title=title, attr=ORTH if attr is None else attr)


def _read_vocab(
    path: Path, kind: Kind, name: str, meta: Mapping[str, Any], *, words: bool
) -> VectorTable:
    compressed = is_compressed(path)
    read: Any = read_rows if compressed else partial(numpy.load, mmap_mode="r", allow_pickle=False)
    data = _parsed(path / TABLE, read)
    cfg = _parsed(path / "vectors.cfg", srsly.read_json) if (path / "vectors.cfg").exists() else {}
    if not isinstance(data, numpy.ndarray) or data.dtype.kind != "f" or not isinstance(cfg, dict):
        raise ValueError(f"{path} is damaged: expected a table of floats. Copy or make it again.")
    if not isinstance(attr := cfg.get("attr", ORTH), int):
        raise ValueError(
            f"{path / 'vectors.cfg'} is damaged: expected the number of an attribute as attr, was: "
            f"{attr!r}. Copy or make it again."
        )
    lang = meta.get("lang", "xx")
    title = (meta.get("vectors") or {}).get("name") or f"{lang}.vectors"
    none, checked = numpy.zeros(0, dtype="uint64"), CheckedRows(data, name)
    empty = VectorTable(name, checked, none, none, [], None, kind, lang, title, attr)
    if cfg.get("mode") == "floret":
        settings = check_floret(str(path / "vectors.cfg"), cfg)
        return replace(empty, floret={"mode": "floret", **settings, "attr": attr})
    keys, rows = _read_keys(path, compressed)
    texts: list[Optional[str]] = [None] * len(keys)
    if words:
        texts = _words(keys, _parsed(path / "strings.json", srsly.read_json))
    table = replace(empty, keys=keys, rows=rows, words=texts)
    return replace(table, data=CheckedRows(data, name, table.word_of))


def _read_keys(path: Path, compressed: bool) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Read the keys of words, and their rows. Words of row -1 have none, and are left out."""
    if compressed:
        found = _parsed(path / KEYS, read_keys)
        order = numpy.lexsort((found.last, found.rows))
        keys, rows = found.ids[order], found.rows[order].astype("int64")
    elif (path / "keys").is_file():  # of the first versions of spaCy, one a row
        keys = _parsed(path / "keys", partial(numpy.load, allow_pickle=False))
        rows = numpy.arange(len(keys))
    else:
        key2row = _parsed(path / "key2row", srsly.read_msgpack)
        try:
            keys = numpy.fromiter(key2row.keys(), dtype="uint64", count=len(key2row))
            rows = numpy.fromiter(key2row.values(), dtype="int64", count=len(key2row))
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{path / 'key2row'} is damaged: expected rows by keys.") from error
    return keys[rows != -1], rows[rows != -1]


def _words(keys: numpy.ndarray, strings: Sequence[str]) -> list[Optional[str]]:
    """Return the text of each key, None where the strings lack it.

    spaCy does not save the names of its symbols.
    """
    words: list[Optional[str]] = [None] * len(keys)
    place = {key: i for i, key in enumerate(keys.tolist())}
    strings = [*SYMBOLS, *strings]
    for string, key in zip(strings, word_keys(strings).tolist(), strict=True):
        if key in place:
            words[place[key]] = string
    return words


def _read_text(path: Path, folder: Path, lang: str, show_progress: bool) -> VectorTable:
    """Read vectors as text to a file of numbers, which is mapped to memory."""
    with read_text(path) as (header, vectors):
        shown = tqdm(vectors, desc="Reading", unit=" lines", disable=not show_progress, leave=False)
        words = store_vectors(folder / "rows", shown)
    data = numpy.memmap(folder / "rows", dtype="<f4", mode="r", shape=(len(words), header.width))
    none, checked = numpy.zeros(0, dtype="uint64"), CheckedRows(data, str(path))
    title = f"{lang}.vectors"
    empty = VectorTable(str(path), checked, none, none, [], None, "text", lang, title)
    if header.floret is not None:
        if words != [str(i) for i in range(len(words))]:
            raise ValueError(f"{path} must number the rows of floret from 0 on, line by line.")
        settings = check_floret(f"{path}, line 1", header.floret)
        return replace(empty, floret={"mode": "floret", **settings, "attr": ORTH})
    keys = word_keys(words)
    rows = numpy.sort(numpy.unique(keys, return_index=True)[1])
    if len(rows) < len(words):
        (others,) = numpy.isin(numpy.arange(len(words)), rows, invert=True).nonzero()
        logging.getLogger("spacy").warning(  # which spaCy's commands print
            f"{path} has {len(others):,} words more than once, such as {words[others[0]]!r}: the "
            "first vector of each was kept."
        )
    words = [words[row] for row in rows.tolist()]
    return replace(empty, keys=keys[rows], rows=rows, words=words)


def _write_folder(path: Path, table: VectorTable, show: Show) -> None:
    """Write a pipeline without components, or a vocab: the rows first, then what maps them."""
    vocab_path = path if table.kind == "vocab" else path / "vocab"
    vocab_path.mkdir(parents=True)
    with (vocab_path / "vectors").open("wb") as file_:
        _write_rows(file_, table.data, show)
    attr = {} if table.attr == ORTH else {"attr": table.attr}
    srsly.write_json(vocab_path / "vectors.cfg", dict(table.floret or {"mode": "default", **attr}))
    key2row = dict(zip(table.keys.tolist(), table.rows.tolist(), strict=True))
    srsly.write_msgpack(vocab_path / "key2row", key2row)
    words = [word for word in table.words if word]
    if table.kind == "vocab":
        write_vocab(path, words)
    else:
        # The rows are not loaded: spaCy only wants to know how many there are.
        data = numpy.load(vocab_path / "vectors", mmap_mode="r")
        write_pipeline(path, words, data, key2row, table.floret, lang=table.lang, name=table.title)


def _write_rows(file_: IO[bytes], rows: Rows, show: Show) -> None:
    """Write rows as an .npy file, chunk by chunk: of their dtype, or of float32 without one."""
    dtype = getattr(rows, "dtype", "<f4")
    header = {"descr": dtype, "fortran_order": False, "shape": rows.shape}
    numpy.lib.format.write_array_header_1_0(file_, header)
    for chunk in show(chunks(rows.shape[0])):
        file_.write(numpy.ascontiguousarray(rows[chunk], dtype=dtype).tobytes())
