"""One config of the experiments, as its difference from a base."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Arm:
    """The difference of one config to the base.

    values (Mapping[str, Any]): New values by dotted path.
    sections (Mapping[str, Mapping[str, Any]]): Whole sections to replace by dotted path.
    base (str): The base, a file beside this one.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base: str = "base.cfg"
