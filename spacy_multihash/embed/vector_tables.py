"""Tables of static vectors besides the vocab's own: read, check and keep them in the vocab.

A vocab has one table of vectors, `vocab.vectors`. Additional tables are in `vocab.lookups`. spaCy
saves the lookups once with the pipeline, in vocab/lookups.bin, in `nlp.to_bytes()`, and when a
pipeline is pickled for other processes. Layers find their tables through the docs and hold none, so
neither saved weights nor copies of layers contain tables.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.util import logger
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import get_array_module, to_numpy

from ..common.checks import setting_error
from ..common.files import reading
from ..common.load import source_path
from ..common.registered import LOAD_VECTORS
from ..common.types import Array
from ..compute.quantization import PRECISIONS, quantize_exactly
from ..vectors.compressed import find_sorted
from ..vectors.files import read_table
from ..vectors.table import ATTR_NAMES, FLORET, VectorTable, check_table

VOCAB = "vocab"  # the name of the vocab's own table
# Before the name of a table, in `vocab.lookups`.
PREFIX = "spacy-multihash.vectors."
_MAX_BYTES = 2**32 - 1  # of an array in lookups.bin, which is msgpack


class KeptVectors(NamedTuple):
    """A table of vectors as a vocab keeps it, with its words or floret settings.

    data (numpy.ndarray): (V, l) float32. The vocab's own table may have another dtype.
    keys (numpy.ndarray): (K,) uint64, the ids of words in ascending order. Empty for floret.
    rows (numpy.ndarray): (K,) int32, the row of each word.
    floret (Optional[dict[str, Any]]): The settings of a floret table. None for a table of words.
    attr (int): The attribute that finds words, if the config names none.
    """

    data: numpy.ndarray
    keys: numpy.ndarray
    rows: numpy.ndarray
    floret: Optional[dict[str, Any]]
    attr: int


def load_tables(vocab: Vocab, paths: Mapping[str, Optional[Path]]) -> None:
    """Read tables into a vocab: all tables, or none if a table can't be used.

    If the vocab already has a table, it's kept, and compared with the table at its path, ignoring
    the rounding of a compressed pipeline. If the path no longer exists, for example because the
    pipeline was saved and moved, the comparison is skipped.

    paths (Mapping[str, Optional[Path]]): The folder, file or package of each table. None for a
        table that the vocab must have already.

    Raises ValueError if a table can't be read or used, or if the vocab has another with its name.
    """
    new = {}
    for name, path in paths.items():
        if name == VOCAB:
            _check_own(_own_table(vocab))
        elif path is None:
            find_table(vocab, name)
        elif not has_table(vocab, name):
            new[name] = read_kept_table(name, Path(path))
        elif source_path(path).exists():
            _check_same(name, find_table(vocab, name), read_kept_table(name, Path(path)))
        else:
            logger.info("Nothing is at %s: kept the vocab's table of vectors '%s'", path, name)
    for name, table in new.items():
        vocab.lookups.add_table(PREFIX + name, table._asdict())


def has_table(vocab: Vocab, name: str) -> bool:
    """Check if a vocab has a table of this name. Its own always counts."""
    return name == VOCAB or PREFIX + name in vocab.lookups


def find_table(vocab: Vocab, name: str) -> KeptVectors:
    """Return a table that a vocab has, with the vocab's own arrays.

    The vocab's own table comes without `keys` and `rows`: it finds words by itself.

    Raises ValueError if the vocab doesn't have it.
    """
    if name == VOCAB:
        return _own_table(vocab)
    if not has_table(vocab, name):
        prefixed = [table for table in vocab.lookups.tables if table.startswith(PREFIX)]
        names = ", ".join(sorted(table.removeprefix(PREFIX) for table in prefixed))
        raise ValueError(
            f"{_where(name)}: the vocab of the docs does not have it; it has "
            f"{names or 'no table but its own'}. Give the table's path to MetaVectors before "
            "training. For a component from another pipeline, use the callback "
            f"{LOAD_VECTORS} with the path of that pipeline."
        )
    return _kept_table(vocab.lookups, name)


def find_rows(
    vocab: Vocab, name: str, table: KeptVectors, data: Array, ids: numpy.ndarray
) -> tuple[Array, numpy.ndarray]:
    """Find the vectors of words, ids (U,) uint64 -> (U, l) float32; which are nonzero, (U,) bool.

    Out-of-vocabulary words get zeros, as in spaCy's own tables.

    data: The table's data, on the device for the vectors.
    """
    xp = get_array_module(data)
    if table.floret is not None:  # only the empty string and unknown ids have no n-grams
        present = numpy.array([bool(id_) and id_ in vocab.strings for id_ in ids.tolist()], "bool")
        averaged = Vectors(strings=vocab.strings, data=data, mode="floret", **table.floret)
        vectors = averaged.get_batch(numpy.where(present, ids, numpy.uint64(0)).tolist())
    else:
        if name == VOCAB:
            rows = to_numpy(vocab.vectors.find(keys=ids))
            present = rows >= 0
        else:
            at, present = find_sorted(table.keys, ids)
            rows = table.rows[at]
        vectors = data[xp.asarray(numpy.where(present, rows, 0))]
    vectors = vectors.astype("float32", copy=False) * xp.asarray(present)[:, None]
    return vectors, to_numpy(vectors.any(axis=1))


def read_kept_table(name: str, path: Path) -> KeptVectors:
    """Read a table from a folder, package or file, as `vectors.files.read_table` does.

    Takes the table of this name that the pipeline there keeps, or else the vocab's own table.

    Raises ValueError if there's no table, or if it can't be used.
    """
    folder = source_path(path)
    folder = folder / "vocab" if (folder / "vocab").is_dir() else folder
    try:
        kept = _read_lookups(folder / "lookups.bin", name)
        if kept is not None:
            return kept
        read = read_table(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{_where(name)}: {error}") from error
    if read.attr not in ATTR_NAMES or read.data.nbytes > _MAX_BYTES:
        raise ValueError(
            f"{_where(name)}: a vocab keeps tables of up to {_MAX_BYTES:,} bytes that find words "
            f"by {', '.join(ATTR_NAMES.values())}. This one has {read.data.nbytes:,} bytes, and "
            f"finds words by attribute {read.attr}. Make it again, or leave it out."
        )
    order = numpy.argsort(read.keys)
    floret = None if read.floret is None else {key: read.floret[key] for key in FLORET}
    rows = read.rows[order].astype("int32")
    return KeptVectors(read.data, read.keys[order], rows, floret, read.attr)


def _read_lookups(path: Path, name: str) -> Optional[KeptVectors]:
    """Read the table of this name in the lookups of a vocab; None if they don't have it."""
    if not path.is_file():
        return None
    with reading(path):
        lookups = Lookups().from_disk(path.parent)
        if PREFIX + name not in lookups:
            return None
        table = _kept_table(lookups, name)
        if table.rows.max(initial=-1) >= len(table.data) or table.rows.min(initial=0) < 0:
            raise ValueError("it has words without a row")
        return table


def _check_own(table: KeptVectors) -> None:
    """Raise ValueError if the vocab's own table can't be used; see `check_table`."""
    # It comes without its words, so check it like a table of n-grams.
    floret = {"mode": "floret", **(table.floret or {})}
    data = to_numpy(table.data)
    check_table(VectorTable(_where(VOCAB), data, table.keys, table.rows, [], floret))


def _own_table(vocab: Vocab) -> KeptVectors:
    vectors, problem = vocab.vectors, None
    if not isinstance(vectors, Vectors):
        problem = f"vectors of {type(vectors).__name__}, neither default nor floret"
    elif 0 in vectors.shape:
        problem = "no vectors of its own"
    elif not vectors.n_keys:  # -1 for floret
        problem = "vectors, but no words"
    if problem is not None:
        raise ValueError(
            f"{_where(VOCAB)}: the vocab has {problem}. Name a pipeline or folder with vectors in "
            f"[initialize] vectors, or leave {VOCAB} out of the tables."
        )
    keys = numpy.zeros(0, dtype="uint64")
    is_floret = vectors.mode == Mode.floret
    floret = {name: getattr(vectors, name) for name in FLORET} if is_floret else None
    return KeptVectors(vectors.data, keys, keys.astype("int32"), floret, vectors.attr)


def _kept_table(lookups: Lookups, name: str) -> KeptVectors:
    entries = lookups.get_table(PREFIX + name)
    missing = [field for field in KeptVectors._fields if field not in entries]
    if not missing:
        table = KeptVectors(*(entries[field] for field in KeptVectors._fields))
        shapes = [getattr(array, "shape", ()) for array in table[:3]]
        if [len(shape) for shape in shapes] == [2, 1, 1] and shapes[1] == shapes[2]:
            return table
    raise ValueError(
        f"{_where(name)}: in the vocab's lookups, this table is damaged: it lacks "
        f"{', '.join(missing) or 'arrays that fit together'}. Copy or make the pipeline again."
    )


def _check_same(name: str, stored: KeptVectors, table: KeptVectors) -> None:
    """Raise ValueError if a table and its kept copy differ beyond rounding."""
    same = stored[3:] == table[3:] and stored.data.shape == table.data.shape
    same = same and all(map(numpy.array_equal, stored[1:3], table[1:3]))
    same = same and (
        numpy.array_equal(stored.data, table.data)
        or any(quantize_exactly(stored.data, p, of=table.data) for p in PRECISIONS)
    )
    if not same:
        raise ValueError(
            f"{_where(name)}: there are two tables of this name, one in the vocab and another at "
            f"the path in the config. Give one of them another name. To replace the vocab's: "
            f"nlp.vocab.lookups.remove_table({PREFIX + name!r})"
        )


def _where(name: str) -> str:
    return f"Vectors '{name}'"


def make_load_vectors_v1(tables: Dict[str, Path]) -> Callable[[Language], Language]:
    """Make a callback that reads tables of vectors into the vocab.

    Use it if you source a component with MetaVectors from another pipeline. Sourced components
    aren't initialized, so they don't read their tables.

    Put the callback into [initialize.before_init]. If your config has [initialize.lookups], put it
    into [initialize.after_init], because spaCy replaces the vocab's lookups after before_init. In
    the wrong place, the callback raises ValueError.

    tables (Dict[str, Path]): For each table's name in MetaVectors, the folder of a pipeline that
        has a table of this name, or has vectors.
    """
    if VOCAB in tables:
        advice = "The vocab's own table is read from [initialize] vectors. Use another name."
        raise setting_error(LOAD_VECTORS, "names of tables", f"others than {VOCAB}", VOCAB, advice)

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
    """Return whether the callback is before_init, and the config replaces the vocab's lookups."""
    settings = nlp.config.interpolate()["initialize"]
    before, lookups = settings["before_init"], settings["lookups"]
    if not isinstance(before, dict) or before.get("@callbacks") != LOAD_VECTORS:
        return False
    # spaCy keeps the vocab's lookups if the config's lookups have no table.
    has_none = isinstance(lookups, dict) and lookups.get("tables") == []
    return bool(lookups) and not has_none
