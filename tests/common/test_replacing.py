"""A process that is killed at any step leaves the old file or folder, or the new one."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from spacy_multihash.common.files import FORMER, recover, replacing_file, replacing_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

STEPS = ("os.", "shutil.", "tempfile.", "open")
KILLED = 9


def new_file(path: Path) -> None:
    with replacing_file(path) as new:
        new.write_text("new")


def new_folder(path: Path) -> None:
    with replacing_folder(path) as new:
        new.mkdir()
        for name in ("a", "b"):
            (new / name).write_text("new")


def old_folder(path: Path) -> None:
    path.mkdir()
    for name in ("a", "b"):
        (path / name).write_text("old")


def contents(path: Path) -> str:
    files = [path] if path.is_file() else sorted(path.iterdir())
    assert path.is_file() or [file_.name for file_ in files] == ["a", "b"]
    (content,) = {file_.read_text() for file_ in files}
    return content


def killed_at(step: int, function: Callable[[], object]) -> bool:
    """Call a function in a child that is killed before a step on the disk, if it has so many."""
    child = os.fork()
    if child == 0:
        left = [step]

        def count(event: str, args: object) -> None:
            if event.startswith(STEPS):
                left[0] -= 1
                if left[0] < 0:
                    os._exit(KILLED)

        sys.addaudithook(count)
        function()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def test_a_folder_is_whole_after_a_kill_at_any_step(tmp_path: Path) -> None:
    found, gaps = [], 0
    for step in range(1000):
        target = tmp_path / str(step) / "out"
        target.parent.mkdir()
        old_folder(target)
        if not killed_at(step, partial(new_folder, target)):
            break
        gaps += not target.exists()
        # Another kill while the next call tidies up
        for again in range(1000):
            if not killed_at(again, partial(recover, target)):
                break
        recover(target)
        found.append(contents(target))
        assert not target.with_name(f".out{FORMER}").exists()
    assert found == sorted(found, reverse=True) and set(found) == {"old", "new"}
    assert gaps == 1  # the step that `recover` is for
    assert contents(target) == "new"


def test_a_file_is_whole_after_a_kill_at_any_step(tmp_path: Path) -> None:
    found = []
    target = tmp_path / "out"
    for step in range(1000):
        target.write_text("old")
        if not killed_at(step, partial(new_file, target)):
            break
        found.append(contents(target))
    assert found == sorted(found, reverse=True) and set(found) == {"old", "new"}
    assert contents(target) == "new"


def test_the_next_replacement_begins_with_the_folder_that_was_there(tmp_path: Path) -> None:
    old_folder(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / f".out{FORMER}")
    with pytest.raises(ValueError, match="no"), replacing_folder(tmp_path / "out"):
        raise ValueError("no")
    assert contents(tmp_path / "out") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_link_to_a_folder_stays(tmp_path: Path) -> None:
    old_folder(tmp_path / "out")
    (tmp_path / "link").symlink_to("out")
    new_folder(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and contents(tmp_path / "out") == "new"


def test_a_folder_that_another_process_puts_back_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    others = [1, 1]

    def raced(self: Path, target: Path) -> Path:
        done = rename(self, target)
        if target.name.endswith(FORMER) and others:
            others.pop()
            recover(tmp_path / "out")
        return done

    old_folder(tmp_path / "out")
    monkeypatch.setattr(Path, "rename", raced)
    new_folder(tmp_path / "out")
    assert contents(tmp_path / "out") == "new" and not others
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
