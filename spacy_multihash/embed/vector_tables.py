"""Tables of static vectors beside the vocab's own: read, checked, and kept by the vocab.

A vocab has one table of vectors, `vocab.vectors`. Others are in `vocab.lookups`, a table of lookups
each. spaCy saves the lookups once with the pipeline, in vocab/lookups.bin; in `nlp.to_bytes()`; and
where a pipeline is pickled for other processes. Layers find their tables through the docs, and
hold none of them: so they are in no bytes of weights and in no copy of a layer.
"""

import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional, cast

import numpy
from spacy.attrs import IDS
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.util import logger
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import Ops, get_array_module, to_numpy
from thinc.types import Floats2d

from ..common.messages import keep_collector
from ..common.registered import LOAD_VECTORS
from ..common.types import TEXT_ATTRS, Array
from ..compute.ops import on_cpu
from ..compute.quantization import PRECISIONS, is_rounded
from ..vectors.compressed import find_sorted
from ..vectors.files import open_table
from ..vectors.table import FLORET, CheckedRows, MappedRows, VectorTable, check_table, chunks
from ..vectors.vocab import source_path

VOCAB = "vocab"  # the name of the vocab's own table
# Before the name of a table, in `vocab.lookups`.
PREFIX = "spacy-multihash.vectors."
_ENTRIES = ("data", "keys", "rows", "floret", "attr")
# The data of tables on GPUs, by the identity of the data and the number of the GPU.
_COPIES: dict[tuple[int, int], Array] = {}
_MOST_BYTES = 2**32 - 1  # of an array in lookups.bin, which is msgpack


class KeptVectors(NamedTuple):
    """A table of vectors as a vocab keeps it, with its words or the settings of floret.

    data (numpy.ndarray): (V, l) float32. The vocab's own table may have other floats.
    keys (numpy.ndarray): (K,) uint64, the ids of words in ascending order. Empty for floret.
    rows (numpy.ndarray): (K,) int32, the row of each word.
    floret (Optional[dict[str, Any]]): The settings of a floret table. None for a table of words.
    attr (int): The attribute whose values are the words, if the config names none.
    """

    data: numpy.ndarray
    keys: numpy.ndarray
    rows: numpy.ndarray
    floret: Optional[dict[str, Any]]
    attr: int


def load_tables(vocab: Vocab, paths: Mapping[str, Optional[Path]]) -> None:
    """Read tables and keep them in a vocab: all of them, or none if one cannot be used.

    A table that the vocab has already is kept, and its path is read to compare them. They may
    differ by the rounding of a compressed pipeline. If there is nothing at the path any more, as
    with a pipeline that was saved and moved, nothing is compared.

    paths (Mapping[str, Optional[Path]]): The folder, file or package of each table. None for a
        table that the vocab has to have already.

    Raises ValueError if a table cannot be read or used, or if the vocab has another of its name.
    """
    read = {}
    for name, path in paths.items():
        if name == VOCAB or path is None:
            check_vectors(name, find_table(vocab, name))
        elif has_table(vocab, name) and _is_gone(Path(path)):
            check_vectors(name, find_table(vocab, name))
            logger.info(
                "There is nothing at %s: kept the vocab's table of vectors '%s'", path, name
            )
        else:
            read[name] = read_table(name, Path(path))
            _check_same(vocab, name, read[name])
    for name, table in read.items():
        if not has_table(vocab, name):
            vocab.lookups.add_table(PREFIX + name, table._asdict())


def has_table(vocab: Vocab, name: str) -> bool:
    """Tell whether a vocab has a table, or whether it is the name of its own."""
    return name == VOCAB or PREFIX + name in vocab.lookups


def table_names(vocab: Vocab) -> list[str]:
    """List the names of the tables that a vocab has in its lookups, in alphabetical order."""
    kept = vocab.lookups.tables
    return sorted(each.removeprefix(PREFIX) for each in kept if each.startswith(PREFIX))


def find_table(vocab: Vocab, name: str) -> KeptVectors:
    """Give a table that a vocab has. Its arrays are those of the vocab, and the same in each call.

    The vocab's own table comes without `keys` and `rows`: it finds words by itself.

    Raises ValueError if the vocab does not have it.
    """
    if name == VOCAB:
        return _own_table(vocab)
    if not has_table(vocab, name):
        raise ValueError(
            f"{_where(name)}: the vocab of the docs does not have it; it has "
            f"{', '.join(table_names(vocab)) or 'no table but its own'}. Give the table's path to "
            f"MetaVectors before training. For a component from another pipeline, use the callback "
            f"{LOAD_VECTORS} with the path of that pipeline."
        )
    return _kept_table(vocab.lookups, name)


def find_rows(
    vocab: Vocab, name: str, table: KeptVectors, data: Array, ids: numpy.ndarray
) -> tuple[Array, numpy.ndarray]:
    """Find the vectors of words: ids (U,) uint64 -> (U, l) float32, and which there are, (U,) bool.

    A vector of zeros stands for a word without one, as in spaCy's own tables.

    data: The table's data, on the device on which the vectors are wanted.
    """
    if table.floret is not None:
        return _floret_rows(vocab, table, data, ids)
    if name == VOCAB:
        rows = to_numpy(vocab.vectors.find(keys=ids))
        present = rows >= 0
    else:
        at, present = find_sorted(table.keys, ids)
        rows = table.rows[at]
    xp = get_array_module(data)
    vectors = data[xp.asarray(numpy.where(present, rows, 0))].astype("float32", copy=False)
    vectors *= xp.asarray(present)[:, None]
    return vectors, to_numpy(vectors.any(axis=1))


def on_device(ops: Ops, data: Array) -> Array:
    """Give the data of a table on a device. It is copied there once, for all layers."""
    if on_cpu(ops) or not isinstance(data, numpy.ndarray):
        return data
    key = (id(data), ops.device_id)
    if key not in _COPIES:
        _COPIES[key] = ops.asarray(cast(Floats2d, data))
        weakref.finalize(data, _COPIES.pop, key, None).atexit = False
    return _COPIES[key]


def read_table(name: str, path: Path) -> KeptVectors:
    """Read a table from a folder, package or file, as `vectors.files.open_table` does.

    Of a pipeline that keeps a table of this name, it is this one. Otherwise it is the table of the
    pipeline's vocab.

    Raises ValueError if there is none, or if it is not as `check_vectors` says.
    """
    pipeline = source_path(path)
    folder = pipeline / "vocab" if (pipeline / "vocab").is_dir() else pipeline
    if (folder / "lookups.bin").is_file() and (kept := _in_lookups(name, folder)) is not None:
        check_vectors(name, kept)
        return kept
    try:
        with open_table(path, words=False) as found:  # which checks words and numbers
            data = numpy.empty(found.data.shape, dtype="float32")
            for chunk in chunks(len(data)):
                data[chunk] = found.data[chunk]
            order = numpy.argsort(found.keys)
            keys, rows = found.keys[order], found.rows[order].astype("int32")
            table = KeptVectors(data, keys, rows, _settings(found.floret), found.attr)
    except (OSError, ValueError) as error:
        raise ValueError(f"{_where(name)}: {error}") from error
    _check_kind(name, table)
    return table


def check_vectors(name: str, table: KeptVectors) -> None:
    """Refuse a table without rows, words or width, with NaN, with rows that it lacks, or too large.

    Raises ValueError.
    """
    _check_kind(name, table)
    data = table.data
    checked = CheckedRows(MappedRows(data, to_numpy, data.shape[1]), _where(name))
    words = [None] * len(table.keys)
    # The vocab's own table comes without its words, as one of n-grams.
    floret = {} if name == VOCAB else table.floret
    check_table(VectorTable(_where(name), checked, table.keys, table.rows, words, floret))
    for chunk in chunks(len(data)):
        checked[chunk]


def _check_kind(name: str, table: KeptVectors) -> None:
    """Refuse what is no table of floats, cannot be kept, or finds words by an unknown attribute."""
    data, found = table.data, None
    if data.ndim != 2 or data.dtype.kind != "f":
        found = f"is an array of shape {data.shape} and of {data.dtype}, and no table of floats"
    elif table.floret is not None and data.dtype == numpy.float16:
        found = "has n-grams (floret) of float16, which spaCy reads as float32 alone"
    elif name != VOCAB and table.attr not in map(IDS.get, TEXT_ATTRS):
        found = f"finds words by another attribute than {', '.join(TEXT_ATTRS)}"
    elif name != VOCAB and data.nbytes > _MOST_BYTES:
        found = f"has {data.nbytes:,} bytes, and can be kept up to {_MOST_BYTES:,}"
    if found is not None:
        raise ValueError(f"{_where(name)}: the table {found}. Make it again, or leave it out.")


def _own_table(vocab: Vocab) -> KeptVectors:
    vectors = vocab.vectors
    if not isinstance(vectors, Vectors):
        raise ValueError(
            f"{_where(VOCAB)}: the vocab has vectors of {type(vectors).__name__}. Expected the "
            "default or floret vectors of spaCy."
        )
    if 0 in vectors.shape:
        raise ValueError(
            f"{_where(VOCAB)}: the vocab has no vectors of its own. Name a pipeline or folder with "
            f"vectors in [initialize] vectors, or leave {VOCAB} out of the tables."
        )
    if not vectors.n_keys:  # -1 for floret
        raise ValueError(
            f"{_where(VOCAB)}: the vocab has vectors, but no words. Give it others in [initialize] "
            f"vectors, or leave {VOCAB} out of the tables."
        )
    none = numpy.zeros(0, dtype="uint64")
    floret = {name: getattr(vectors, name) for name in FLORET}
    is_floret = vectors.mode == Mode.floret
    return KeptVectors(vectors.data, none, none, floret if is_floret else None, vectors.attr)


def _kept_table(lookups: Lookups, name: str) -> KeptVectors:
    entries = lookups.get_table(PREFIX + name)
    if any(entry not in entries for entry in _ENTRIES):
        raise ValueError(
            f"{_where(name)}: what is kept as {PREFIX + name} is no table of vectors. Copy the "
            "pipeline again."
        )
    return KeptVectors(*(entries.get(entry) for entry in _ENTRIES))


def _in_lookups(name: str, folder: Path) -> Optional[KeptVectors]:
    """Read the table that a pipeline keeps in its lookups, None if it keeps none of this name."""
    try:
        with keep_collector():
            lookups = Lookups().from_disk(folder)
            return _kept_table(lookups, name) if PREFIX + name in lookups else None
    except Exception as error:  # whatever a damaged file makes spaCy or srsly raise
        raise ValueError(
            f"{_where(name)}: {folder / 'lookups.bin'} cannot be read, it is damaged "
            f"({type(error).__name__}: {error}). Copy or make it again."
        ) from error


def _is_gone(path: Path) -> bool:
    """Tell whether there is neither a file or folder nor a package of a name."""
    return not source_path(path).exists()


def _settings(cfg: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    """Take the settings of floret out of a vectors.cfg."""
    return None if cfg is None else {name: cfg[name] for name in FLORET if name in cfg}


def _floret_rows(
    vocab: Vocab, table: KeptVectors, data: Array, ids: numpy.ndarray
) -> tuple[Array, numpy.ndarray]:
    """Average the n-grams of words. A word is missing if it is empty, or its letters unknown."""
    strings = vocab.strings
    present = numpy.array([bool(id_) and id_ in strings for id_ in ids.tolist()], dtype=bool)
    vectors = Vectors(strings=strings, data=data, mode="floret", **(table.floret or {}))
    keys = numpy.where(present, ids, numpy.uint64(0)).tolist()
    found = vectors.get_batch(keys).astype("float32", copy=False)
    return found, present & to_numpy(found.any(axis=1))


def _check_same(vocab: Vocab, name: str, table: KeptVectors) -> None:
    """Refuse a table if the vocab has another one of its name. Raises ValueError."""
    if not has_table(vocab, name):
        return
    kept = find_table(vocab, name)
    same = kept[3:] == table[3:] and kept.data.shape == table.data.shape
    same = same and all(map(numpy.array_equal, kept[1:3], table[1:3]))
    if not same or not _is_same(kept.data, table.data):
        raise ValueError(
            f"{_where(name)}: there are two tables of this name, one in the vocab and another at "
            f"the path in the config. Give one of them another name. To replace the vocab's: "
            f"nlp.vocab.lookups.remove_table({PREFIX + name!r})"
        )


def _is_same(kept: numpy.ndarray, data: numpy.ndarray) -> bool:
    """Tell whether what is kept is the data, or what a compressed pipeline rounded it to."""
    return any(all(is_rounded(kept[c], data[c], p) for c in chunks(len(data))) for p in PRECISIONS)


def _where(name: str) -> str:
    return f"Vectors '{name}'"


def make_load_vectors_v1(tables: Dict[str, Path]) -> Callable[[Language], Language]:
    """Make a callback that reads tables of vectors into the vocab.

    MetaVectors reads the tables to which its config gives a path. The callback is for components
    that are not initialized: those from another pipeline, whose vocab has their tables.

    It is for [initialize.before_init], or for [initialize.after_init] in a config with
    [initialize.lookups]: after before_init, spaCy puts these in the place of the vocab's lookups.
    The callback raises ValueError as before_init of such a config.

    tables (Dict[str, Path]): The tables by their names in MetaVectors, each with a folder: that of
        a pipeline that keeps a table of this name, or of one with vectors.
    """

    def load_vectors(nlp: Language) -> Language:
        if _would_lose_tables(nlp):
            raise ValueError(
                f"{LOAD_VECTORS} must not be [initialize.before_init] of a config with "
                "[initialize.lookups]: these would replace the vocab's lookups, with the tables of "
                f"vectors {', '.join(sorted(tables))}. Make it [initialize.after_init], or give "
                "MetaVectors the path of each table."
            )
        load_tables(nlp.vocab, tables)
        logger.info("Read the tables of vectors %s", sorted(tables))
        return nlp

    return load_vectors


def _would_lose_tables(nlp: Language) -> bool:
    """Tell whether the callback is before_init of a config that replaces the vocab's lookups."""
    settings = nlp.config.interpolate()["initialize"]
    before, lookups = settings["before_init"], settings["lookups"]
    if not isinstance(before, dict) or before.get("@callbacks") != LOAD_VECTORS:
        return False
    # spaCy keeps the vocab's lookups if the others have no table.
    has_none = isinstance(lookups, dict) and lookups.get("tables") == []
    return bool(lookups) and not has_none
