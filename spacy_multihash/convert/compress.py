"""A trained pipeline with smaller files: fewer bits, and no strings that nothing needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Union

import srsly
from spacy.language import Language
from spacy.strings import get_string_id
from thinc.api import Config

from ..common.checks import check_flag
from ..common.files import replacing_file
from ..common.registered import COMPRESSED_VECTORS, KEEP_COMPRESSED
from .compressed_folder import Precisions, compress_folder
from .needed_strings import needed_ids

_WHERE, _ADVICE = "compress", "Give another one."
_SPACY_VECTORS = "spacy.Vectors.v1"


class LeftOut(NamedTuple):
    """What a compressed pipeline has no more.

    rows (int): Rows of vectors that no key has.
    strings (int): Strings that no component needs.
    strings_before (int): All strings that there were.
    """

    rows: int
    strings: int
    strings_before: int


def compress(
    nlp: Language,
    folder: Union[str, Path],
    precisions: Precisions,
    *,
    keep_strings: bool = False,
) -> LeftOut:
    """Save a pipeline with small files. The pipeline itself stays as it is.

    nlp (Language): The trained pipeline.
    folder (Union[str, Path]): The folder to write. It should be empty or new.
    precisions (Precisions): What numbers become in the files.
    keep_strings (bool): Whether all strings stay.

    Raises ValueError for a pipeline without components, for an unknown precision, and for numbers
    that are not finite, or that float16 does not hold. Files are left behind then.
    """
    precisions.check(_WHERE, _ADVICE)
    check_flag(_WHERE, "keep_strings", keep_strings, advice=_ADVICE)
    check_compressible(nlp)
    folder = Path(folder)
    type(nlp).to_disk(nlp, folder)  # in spaCy's own form, if it is compressed already too
    path = folder / "vocab" / "strings.json"
    strings = srsly.read_json(path)
    kept = strings if keep_strings else _needed(nlp, folder, strings)
    with replacing_file(path) as new:
        srsly.write_json(new, kept)
    _write_config(folder / "config.cfg", precisions)
    rows = compress_folder(folder, nlp.component_names, precisions, lossy=True)
    return LeftOut(rows, len(strings) - len(kept), len(strings))


def check_compressible(nlp: Language) -> None:
    """Raise ValueError for a pipeline without components, or of odd vectors.

    A compressed pipeline can be compressed again.
    """
    if not nlp.component_names:
        raise ValueError(
            "The pipeline has no components, and so no weights to compress. Give a trained one."
        )
    found = _name(nlp.config["nlp"].get("vectors"), "@vectors")
    if found not in (_SPACY_VECTORS, COMPRESSED_VECTORS):
        raise ValueError(
            f"The pipeline has vectors of {found}, was expected to have those of spaCy, "
            f"{_SPACY_VECTORS}. Only these can be compressed."
        )


def _needed(nlp: Language, folder: Path, strings: list[str]) -> list[str]:
    labels = [label for names in nlp.pipe_labels.values() for label in names]
    ids = needed_ids(folder, labels)
    return strings if ids is None else [text for text in strings if get_string_id(text) in ids]


def _write_config(path: Path, precisions: Precisions) -> None:
    """Name our vectors, and the callback, which has the one that was there before."""
    config = Config().from_disk(path, interpolate=False)
    before = config["nlp"].get("after_creation")
    if _is_compressed(config["nlp"]):
        before = before.get("after_creation")
    callback = {"@callbacks": KEEP_COMPRESSED, **vars(precisions), "after_creation": before}
    config["nlp"]["after_creation"] = callback
    config["nlp"]["vectors"] = {"@vectors": COMPRESSED_VECTORS}
    with replacing_file(path) as new:
        config.to_disk(new, interpolate=False)


def _is_compressed(config: Mapping[str, Any]) -> bool:
    """Tell whether the section [nlp] of a config is that of a compressed pipeline."""
    return _name(config.get("after_creation"), "@callbacks") == KEEP_COMPRESSED


def _name(section: object, key: str) -> object:
    return section.get(key) if isinstance(section, dict) else section
