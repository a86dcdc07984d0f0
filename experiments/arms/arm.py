"""A config of the experiments, as its difference from a base config."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Arm:
    """The difference of a config from its base.

    values (Mapping[str, Any]): The new values, by dotted path.
    sections (Mapping[str, Mapping[str, Any]]): The sections to replace as a whole, by dotted path.
    base (str): The base, a file in the folder of this module.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base: str = "base.cfg"
