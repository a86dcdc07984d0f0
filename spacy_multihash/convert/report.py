"""What `accelerate` reports of each layer."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Replaced(NamedTuple):
    """A layer that was replaced: the path of its section of the config, and both names."""

    component: str
    path: str
    before: str
    after: str


class Already(NamedTuple):
    """A layer that was ours already."""

    component: str
    path: str
    name: str


class Left(NamedTuple):
    """A layer that stays as it is, and why."""

    component: str
    path: str
    name: str
    reason: str


@dataclass(frozen=True)
class Acceleration:
    """What `accelerate` did: the layers that it replaced, that were ours, and that it left."""

    replaced: list[Replaced] = field(default_factory=list)
    already: list[Already] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    def __str__(self) -> str:
        """Write a line for each layer."""
        lines = [f"replaced {e.component}.{e.path}: {e.before} by {e.after}" for e in self.replaced]
        lines += [f"already {e.component}.{e.path}: {e.name}" for e in self.already]
        lines += [f"left {e.component}.{e.path}: {e.name}: {e.reason}" for e in self.left]
        return "\n".join(lines) or "The pipeline has no layer that embeds or encodes tokens."
