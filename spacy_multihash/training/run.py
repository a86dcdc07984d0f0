"""The folder of a run of `fit`: its files, and the steps that are done."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any, Optional

import numpy

from ..common.files import is_leftover, read_json_map, reading, recover, write_json
from ..scale.source import digest_of
from .training import History

_REPAIR = "delete it and the model beside it to start anew"
_FILES = ("data", "dev", "test", "code")


@dataclass(frozen=True)
class Options:
    """The options of the command, which decide the pipeline.

    overrides (Mapping[str, Any]): Overrides of the config.
    group (Optional[str]): What names the document that a text is from.
    """

    data: Path
    dev: Optional[Path]
    test: Optional[Path]
    lang: str
    textcat: bool = False
    vectors: Optional[str] = None
    max_size: Optional[str] = None
    compress: bool = False
    seed: int = 0
    code: Optional[Path] = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    group: Optional[str] = None

    def as_json(self) -> dict[str, Any]:
        """Return all options, with a digest of each file in place of its path."""
        paths = {name: getattr(self, name) for name in _FILES}
        return {**asdict(self), **{name: path and digest_of(path) for name, path in paths.items()}}


class Run:
    """A folder to fit a pipeline in, step by step.

    fit.json has the options, and the results of the steps that are done. An interrupted step starts
    over, and training goes on from its last evaluation.
    """

    def __init__(self, folder: Path, options: Options, *, force: bool = False) -> None:
        """Open a folder, or plan a new folder. `clear` removes a run with other options.

        Raises ValueError if the folder has a model with other options, or isn't a run.
        """
        self.folder, self.options = folder, options
        self.config, self.model = folder / "config.cfg", folder / "model"
        self.baseline = folder / "baseline"
        self.record_path = folder / "fit.json"
        self.record: dict[str, Any] = {"options": options.as_json(), "done": {}}
        self.in_training: Optional[tuple[Path, History]] = None
        for replaced in (
            folder / "corpus",
            self.model,
            self.baseline / "model",
            folder / "package",
        ):
            recover(replaced)
        for path in filter(None, (options.data, options.dev, options.test)):
            if folder.resolve() in path.resolve().parents:
                raise ValueError(f"{path} is in {folder}, which is written. Give another --output.")
        if self.record_path.is_file():
            earlier = read_json_map(self.record_path, _REPAIR)
            if earlier.keys() != self.record.keys():
                raise ValueError(
                    f"{self.record_path} wasn't written by this command. Give another --output."
                )
            with reading(self.record_path, _REPAIR):
                check_results(earlier["done"])
                changed = _changes(earlier["options"], self.record["options"])
            if not changed:
                self.record = earlier
            elif not force and self.model.exists():
                raise ValueError(
                    f"{folder} has a run with other options: {', '.join(changed)}. Give another "
                    "--output, or --force to start anew."
                )
        elif folder.exists() and not all(map(is_leftover, folder.iterdir())):
            raise ValueError(
                f"{folder} is not empty, and has no run of this command. Give another --output."
            )

    def corpus(self, name: str) -> Path:
        """Return the path of a split."""
        return self.folder / "corpus" / f"{name}.spacy"

    def step(self, name: str, function: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
        """Take a step, a function of this run and more, unless it's done. Return its result.

        If the first step fails, it leaves nothing behind.
        """
        done = self.record["done"]
        if name in done:
            return done[name]
        was_there, is_new = self.folder.exists(), not self.record_path.exists()
        if is_new:
            write_json(self.record_path, self.record)
        try:
            done[name] = function(self, *args)
        except Exception:
            if is_new:
                self.record_path.unlink()
            if not was_there:
                self.folder.rmdir()
            raise
        write_json(self.record_path, self.record)
        return done[name]

    def clear(self) -> None:
        """Remove the files of an earlier run with other options, except its model.

        The model stays until the first evaluation of the new one replaces it.
        """
        if read_json_map(self.record_path, _REPAIR).get("options") == self.record["options"]:
            return
        write_json(self.record_path, self.record)  # first, so that no other step counts as done
        for name in ("baseline", "package"):
            rmtree(self.folder / name, ignore_errors=True)
        for name in ("config.cfg", "training.npz", "report.html", "scores.json"):
            (self.folder / name).unlink(missing_ok=True)


def check_results(done: Mapping[str, Any]) -> None:
    """Check the results of steps, as fit.json has them. Raises TypeError or ValueError."""
    for name, result in done.items():
        if name in ("training", "baseline"):
            history = History(**result)
            if not history.curve or history.best[0] > history.step:
                raise ValueError(f"the result of {name} has no scores")
        elif name == "corpus and config":
            problems, reasons = result
            for title, lines in problems:
                ", ".join([title, *lines])
            ", ".join(reasons)
        elif name.startswith("fold "):
            numpy.array(result["counts"], dtype="int64").reshape(len(result["regions"]), 2, 3)
        elif name == "finish":
            ", ".join(result)
        elif name.startswith("report"):
            _check_report(result)


def _check_report(result: Mapping[str, Any]) -> None:
    rows = list(result["scores"])
    if "difference" in result:
        header, body = result["comparison"]
        rows += [header, *body]
    for row in [*rows, result.get("about", ()), [result.get("difference", "")]]:
        ", ".join(row)


def _changes(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the options and settings that differ."""
    earlier, now = ({**options, **options["overrides"]} for options in (earlier, now))
    changed = [
        name
        for name in {**now, **earlier}
        if earlier.get(name) != now.get(name) and name != "overrides"
    ]
    names = {"data": "DATA", "max_size": "--max-size"}
    return [names.get(name, f"--{name}") for name in changed]
