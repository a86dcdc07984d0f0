"""Load components: errors name the component and the file, and what files hold is checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Union

import numpy
from thinc.api import Model

from ..common.files import BYTES, reading, unpack


class SavedComponent:
    """A component of spaCy's that has settings in `cfg`, and a model.

    Its own part is in `_check_cfg`, `_make_room` and `_check_weights`.
    """

    name: str
    cfg: dict[str, Any]
    model: Model

    def _check_cfg(self) -> None:
        """Raise ValueError for settings or labels that `cfg`, or another file, can't have."""
        raise NotImplementedError

    def _make_room(self) -> None:
        """Give the model as many outputs as there are labels, before weights are loaded."""
        raise NotImplementedError

    def _check_weights(self) -> None:
        """Raise ValueError if the weights that were loaded don't fit the labels."""
        raise NotImplementedError

    def from_disk(self, path: Union[str, Path], exclude: Iterable[str] = ()) -> Any:  # noqa: ANN401
        """Load the component from a folder. If that fails, `cfg` stays as it was.

        exclude (Iterable[str]): The names of files not to load.

        Raises ValueError, with the component and the file, if a file is damaged, has settings that
        there can't be, or weights for other labels.
        """
        path = Path(path)
        load = partial(super().from_disk, path)  # type: ignore[misc]
        return self._load(load, path, (path / "model").read_bytes, exclude)

    def from_bytes(self, bytes_data: bytes, exclude: Iterable[str] = ()) -> Any:  # noqa: ANN401
        """Load the component from bytes; see `from_disk`."""
        load = partial(super().from_bytes, bytes_data)  # type: ignore[misc]
        return self._load(load, BYTES, lambda: unpack(bytes_data).get("model"), exclude)

    def _load(
        self,
        load: Callable,
        source: Union[str, Path],
        read_model: Callable[[], Any],
        exclude: Iterable[str],
    ) -> "SavedComponent":
        exclude, former = list(exclude), deepcopy(self.cfg)
        cfg, model = (_part(source, name) for name in ("cfg", "model"))
        try:
            with reading(source, component=self.name):
                load(exclude=[*exclude, "model"])
            with reading(cfg, component=self.name):
                self._check_cfg()
            with reading(model, component=self.name):
                weights = None if "model" in exclude else read_model()
                if weights is not None:
                    self._make_room()
                    load_weights(self.model, weights)
                    self._check_weights()
        except BaseException:
            self.cfg.clear()
            self.cfg.update(former)
            raise
        return self


def _part(source: Union[str, Path], name: str) -> Union[str, Path]:
    return source / name if isinstance(source, Path) else f"{name} in {source}"


def load_weights(model: Model, weights: bytes) -> None:
    """Load weights. Raises ValueError for attributes of another type than the model was built with.

    thinc replaces the attributes of a layer by what's saved, whatever that is. If loading fails,
    they're as they were.
    """
    built = [(node, dict(node.attrs)) for node in model.walk()]
    try:
        model.from_bytes(weights)
        for node, attrs in built:
            for name, value in attrs.items():
                saved = node.attrs[name]
                if value is not None and not isinstance(saved, _kinds(value)):
                    raise ValueError(
                        f"layer '{node.name}': {name} must be of type {type(value).__name__}, got "
                        f"{saved!r:.60}"
                    )
    except BaseException:
        for node, attrs in built:
            node.attrs.update(attrs)
        raise


# What is alike in a file: msgpack has no tuples, and numpy's types may become Python's.
_KINDS: Sequence[tuple[type, ...]] = (
    (bool, numpy.bool_),
    (Real,),
    (str,),
    (list, tuple),
    (Mapping,),
    (numpy.ndarray,),
)


def _kinds(value: object) -> tuple[type, ...]:
    return next((kinds for kinds in _KINDS if isinstance(value, kinds)), (type(value),))
