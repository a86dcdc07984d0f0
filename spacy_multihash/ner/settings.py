"""The settings of a recognizer: one frozen dataclass, whose fields are attributes of the component.

A new setting is a field of the dataclass, with its check, and an argument of the factory.
"""

import math
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar

from ..common.checks import is_number, setting_error


class WithSettings:
    """A component whose settings are its attributes, which can be set on a trained one.

    `settings_type` is the dataclass. Its method `check` gets the component, and raises ValueError
    for settings out of range. to_disk saves the settings of the config: for others, load with them,
    and save.
    """

    settings_type: ClassVar[Any]
    _settings: Any

    @property
    def settings(self) -> Any:  # noqa: ANN401 (the dataclass)
        """All settings."""
        return self._settings

    @settings.setter
    def settings(self, settings: Any) -> None:  # noqa: ANN401
        settings.check(self)
        object.__setattr__(self, "_settings", settings)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return a setting."""
        if name not in _names(self.settings_type):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._settings, name)

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Set a setting, after a check of all settings, or another attribute."""
        if name in _names(self.settings_type):
            self.settings = replace(self._settings, **{name: value})
        else:
            super().__setattr__(name, value)


@cache
def _names(settings_type: Any) -> frozenset[str]:  # noqa: ANN401
    return frozenset(field.name for field in fields(settings_type))


def check_temperature(where: str, temperature: object) -> None:
    """Raise ValueError for a setting that is no temperature.

    where (str): The component, for the message.
    """
    if not (is_number(temperature) and 0 < temperature < math.inf):
        raise setting_error(where, "temperature", "a number above 0", temperature)
