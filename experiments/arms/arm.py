"""A config of the experiments, as its difference from a base config."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinc.api import Config

HERE = Path(__file__).resolve().parent


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


def load_base(arm: Arm) -> Config:
    """Read the base config of an arm, as it is written."""
    return Config().from_disk(HERE / arm.base, interpolate=False)
