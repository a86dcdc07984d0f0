"""A setting of a recognizer as its attribute."""

from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

ValueT = TypeVar("ValueT")


class Setting(Generic[ValueT]):
    """A setting as an attribute of its component, which can be set on a trained one.

    It is kept in `component.settings`, a frozen dataclass, which the component checks. to_disk
    saves the settings of the config: for others, load with them, and save.

    Setting it raises ValueError for a value out of range.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep the name of the attribute."""
        self.name = name

    def __get__(self, component: Any, owner: type) -> ValueT:  # noqa: ANN401 (any component)
        """Return the setting; of the class itself, the descriptor."""
        value: Any = self if component is None else getattr(component.settings, self.name)
        return cast(ValueT, value)

    def __set__(self, component: Any, value: ValueT) -> None:  # noqa: ANN401 (any component)
        """Set it, after a check of all settings."""
        component.settings = replace(component.settings, **{self.name: value})
