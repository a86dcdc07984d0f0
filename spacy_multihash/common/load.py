"""Load what users name: packages, pipelines and configs. Errors name the file, and what to do."""

import errno
import math
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from configparser import InterpolationError
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Union

import spacy
from spacy.language import Language
from spacy.util import (
    get_model_meta,
    get_package_path,
    import_file,
    is_package,
    load_config,
    load_model_from_config,
)
from thinc.api import Config, ConfigValidationError, Model

from .files import UnreadableFile, reading, recover


def source_path(source: Union[str, Path]) -> Path:
    """Return the path of a source, or the folder of an installed pipeline with that name."""
    path, name = Path(source), str(source)
    recover(path)
    if path.exists() or not is_package(name):
        return path
    try:
        package = get_package_path(name)
    except ImportError:  # a package with another import name
        return path
    if not (package / "meta.json").is_file():
        return path
    with reading(package / "meta.json", "install the package again"):
        meta = get_model_meta(package)
    return package / f"{meta['lang']}_{meta['name']}-{meta['version']}"


def load_pipeline(
    model: Union[str, Path], *, expected: str = "a package's name, or a pipeline's folder"
) -> Language:
    """Load a trained pipeline. Raises ValueError, with `expected` in the message."""
    recover(model)
    for best in (Path(model) / "model-best", Path(model) / "model"):  # of spaCy's train, and of fit
        if not (Path(model) / "meta.json").exists() and (best / "meta.json").exists():
            raise ValueError(
                f"{model} is the folder of a training. Give the pipeline in it, {best}."
            )
    if Path(model).is_file():
        raise ValueError(
            f"{model} is a file, and no trained pipeline. Expected {expected}. Train a pipeline "
            "with: python -m spacy train CONFIG --output FOLDER"
        )
    missing = f"There is no pipeline '{model}'. Expected {expected}. spaCy says:"
    with loading(f"the pipeline '{model}'", model, missing):
        nlp = spacy.load(model)
    warn_if_broken(nlp)
    return nlp


def warn_if_broken(nlp: Language) -> None:
    """Warn of components that can't work: without their tok2vec, or with NaN or inf as weights."""
    heard = set[str]()
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        nodes = list(model.walk()) if isinstance(model, Model) else []
        listening = [node for node in nodes if node.name in _LISTENERS]
        upstreams = [getattr(node, "upstream_name", None) for node in listening]
        for upstream in [x for x in upstreams if x is not None and x not in heard][:1]:
            warnings.warn(
                f'Component "{name}" listens to {_named(upstream)}, which isn\'t before it in '
                f"the pipeline, or is disabled ({', '.join(nlp.pipe_names)}). So all tokens "
                "look the same to it. Enable or add that component.",
                stacklevel=3,
            )
        params = ((node, param) for node in nodes for param in node.param_names)
        for node, param in [x for x in params if not _is_sound(*x)][:1]:
            warnings.warn(
                f'Component "{name}": the weights {param} of its layer "{node.name}" are NaN or '
                "infinite, so it predicts nothing of use. Train it again with a lower learn_rate.",
                stacklevel=3,
            )
        if isinstance(getattr(pipe, "listeners", None), list):
            heard |= {name, "*"}


def _is_sound(node: Model, param: str) -> bool:
    """Return whether weights have no NaN or inf. A layer may forbid something with -inf."""
    values = node.get_param(param) if node.has_param(param) else None
    return values is None or not values.size or bool(values.max() < math.inf)


_LISTENERS = ("tok2vec-listener", "transformer-listener")


def _named(upstream: str) -> str:
    return "a tok2vec" if upstream == "*" else f'"{upstream}"'


# The digests of the Python files that this process has imported.
_imported: dict[Path, str] = {}


def import_code(path: Union[str, Path, None], *, again: bool = True) -> None:
    """Import a Python file with registered functions, unless this process has it already.

    again (bool): Whether to import it again if it was changed since, and not to refuse it.

    Raises ValueError if there's no such file, or if it fails.
    """
    if path is None:
        return
    path = Path(path).absolute()
    if not path.is_file():
        raise ValueError(f"There is no Python file at {path}. Check the path of the code.")
    digest = sha256(path.read_bytes()).hexdigest()
    if _imported.get(path) == digest:
        return
    if _imported.get(path) and not again:
        raise ValueError(
            f"{path} was changed after this process had imported it. Start the worker again."
        )
    files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    is_there = path not in _imported and str(path) in files  # by an import, or it's the script
    former, _imported[path] = _imported.get(path, ""), digest  # now, as the code may call us
    if is_there:
        return
    try:
        import_file("python_code", path)
    except Exception as error:
        _imported[path] = former
        kind = type(error).__name__
        raise ValueError(f"Cannot import the code at {path}: {kind}: {error}") from error


def loaded(nlp: Union[Language, str, Path]) -> Language:
    """Return a pipeline, loaded if it's a name or a path. Both warn as `warn_if_broken` does."""
    if not isinstance(nlp, Language):
        return load_pipeline(nlp)
    warn_if_broken(nlp)
    return nlp


@contextmanager
def loading(what: str, name: Union[str, Path], missing: str) -> Iterator[None]:
    """Raise the errors of `reading`, and ValueErrors for a missing file or registered function.

    missing (str): What to say of a missing file, before spaCy's own message.
    """
    try:
        with reading(name):
            yield
    except (OSError, UnreadableFile) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and cause.errno in (None, errno.ENOENT):
            is_spacys = re.fullmatch("[a-z]{2,3}_(core|dep|ent)_[a-z]+_(sm|md|lg|trf)", str(name))
            offer = f"\nspaCy offers it:\n    python -m spacy download {name}" if is_spacys else ""
            raise ValueError(f"{missing} {cause}{offer}") from error
        unknown = re.search(r"\[E893\] Could not find function '(.+?)'", str(error))
        if unknown:
            raise ValueError(
                f"{what[0].upper()}{what[1:]} needs {unknown[1]}, which isn't registered. If it's "
                "in a Python file of yours, give --code FILE; otherwise install its package."
            ) from error
        raise


@contextmanager
def naming_config(path: Path) -> Iterator[None]:
    """Raise errors in a config as ValueErrors that name its path."""
    try:
        yield
    except ConfigValidationError as error:
        shown = ConfigValidationError.from_error(error, title="", show_config=False)
        raise UnreadableFile(f"{path}: {shown.text.strip()}") from error
    except InterpolationError as error:
        raise UnreadableFile(f"{path}: {error}") from error


def read_config(
    path: Path,
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    interpolate: bool = False,
) -> Config:
    """Read a config. Raises ValueError, with the path, if it's damaged or can't be filled in."""
    with reading(path, "correct it"), naming_config(path):
        return load_config(path, overrides=dict(overrides), interpolate=interpolate)


def pipeline_of_config(path: Path, overrides: Mapping[str, Any] = MappingProxyType({})) -> Language:
    """Build the pipeline of a config, without weights. Raises ValueError, with the path."""
    config = read_config(path, overrides)
    with reading(path, "correct it"), naming_config(path):
        return load_model_from_config(config, auto_fill=True)
