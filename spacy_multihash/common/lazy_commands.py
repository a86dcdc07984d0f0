"""Groups of commands that import the module of a command when it is called.

spaCy loads the commands of plugins whenever it starts, whatever it was started for.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command


@dataclass(frozen=True)
class LazyCommand:
    """A command, before it is imported.

    module (str): The module of its function, or group, whose name is the command's with _cli.
    summary (str): What the help of the group says of it: the first line of its own help.
    settings (Mapping[str, Any]): More arguments of `typer.Typer.command`.
    """

    module: str
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def load(self, name: str) -> Any:  # noqa: ANN401 (click's Command)
        """Import the command."""
        found = getattr(import_module(self.module), f"{name.replace('-', '_')}_cli")
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(name, **self.settings)(function)
        command = get_command(found)
        command.name = name
        return command


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each imported when it is asked for."""

    def __init__(self, commands: Mapping[str, LazyCommand]) -> None:
        """Keep what is known of the commands."""
        self.found: dict[str, Any] = dict(commands)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 (click's Command)
        """Import a command, at the first time."""
        if isinstance(self.found[name], LazyCommand):
            self.found[name] = self.found[name].load(name)
        return self.found[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a command, without importing it."""
        return name in self.found

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401 (click's Command)
        """Add a command."""
        self.found[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        del self.found[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self.found)

    def __len__(self) -> int:
        """Count the commands."""
        return len(self.found)


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """Make the class of a group, the `cls` of a `typer.Typer`.

    commands (Mapping[str, LazyCommand]): The commands by name, in the order of the help.
    """

    class LazyGroup(TyperGroup):
        """A group whose commands are imported when they are called."""

        def __init__(self, **settings: Any) -> None:  # noqa: ANN401 (click's settings)
            """Take the commands."""
            super().__init__(**settings)
            self.commands = LazyCommands(commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
            """List the commands with their summaries, without importing them."""
            with formatter.section("Commands"):
                formatter.write_dl([(name, command.summary) for name, command in commands.items()])

    return LazyGroup
