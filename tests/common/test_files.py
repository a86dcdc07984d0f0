"""Files are written whole or not at all, and folders replaced."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spacy_multihash.common.files import recover_folder, replacing_folder, staging, write_bytes
from tests.helpers.streams import into, linux, run_into


def fail(*args: object) -> None:
    raise OSError("disk full")


def test_a_file_that_cannot_be_written_leaves_the_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "file"
    write_bytes(path, b"before")
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]


# Links, devices and pipes


def test_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    write_bytes(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() == b"after"
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["file"]


@pytest.mark.parametrize("by_link", [False, True])
def test_device_is_written_to(by_link: bool, tmp_path: Path) -> None:
    # A terminal of this test's own: no file can take its place, whoever runs the test.
    reader, writer = os.openpty()
    try:
        device = path = Path(os.ttyname(writer))
        if by_link:
            path = tmp_path / "link"
            path.symlink_to(device)
        write_bytes(path, b"seen\n")
        assert os.read(reader, 100).split() == [b"seen"]
        assert device.is_char_device()
        assert path.is_symlink() == by_link
    finally:
        os.close(reader)
        os.close(writer)


@linux
@into
def test_stream_is_written_to_behind_what_was_printed(into: str, tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path\n"
    code += "from spacy_multihash.common.files import write_json\n"
    code += "print('before'); write_json(Path(sys.argv[1]), 1); print('after')"
    out = run_into([sys.executable, "-c", code], into, tmp_path)
    assert out.read_bytes() == b"before\n1\nafter\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "stdout"]


# Folders, and what killed commands leave

CALLS = ("rename", "replace", "mkdir", "rmdir", "unlink", "open")


def write_and_die(target: Path, left: int) -> None:
    """Replace a folder, and kill this process before one of the calls that change files."""

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def count(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return count

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    with replacing_folder(target) as new:
        new.mkdir()
        (new / "file").write_text("new")
        (new / "other").write_text("new")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def make_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "file").write_text("old")


def kill_after(steps: int, target: Path) -> bool:
    """Replace a folder, and kill the process before a step; tell whether it was killed."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=write_and_die, args=(target, steps))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a fork beside threads
def test_folder_survives_being_killed_at_any_step(tmp_path: Path) -> None:
    old, new = {"file": "old"}, {"file": "new", "other": "new"}
    found = []
    for steps in range(100):
        parent = tmp_path / str(steps)
        parent.mkdir()
        make_folder(parent / "out")
        killed = kill_after(steps, parent / "out")
        recover_folder(parent / "out")
        found.append(contents(parent / "out"))
        assert [path.name for path in parent.iterdir()] == ["out"]
        if not killed:
            break
    assert 10 < len(found) < 100
    assert found == [old] * found.count(old) + [new] * found.count(new)
    assert found[0] == old and found[-1] == new


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("step", [0, 1, 2])  # 0: before anything is renamed
def test_interrupted_exchange_leaves_the_old_folder(
    error: type[BaseException], step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, calls = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == step:
            raise error("interrupted")
        return rename(self, target)

    make_folder(tmp_path / "out")
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(error, match="interrupted"):
        with replacing_folder(tmp_path / "out") as new:
            new.mkdir()
            assert contents(tmp_path / "out") == {"file": "old"}
            if step == 0:
                raise error("interrupted")
    assert contents(tmp_path / "out") == {"file": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_file_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "file"
    code = "import os, signal, sys; from pathlib import Path\n"
    code += "from spacy_multihash.common import files\n"
    code += "Path.replace = lambda *args: os.kill(os.getpid(), signal.SIGKILL)"
    code += "\nfiles.write_bytes(Path(sys.argv[1]), b'lost')"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert not path.exists()
    assert len(list(tmp_path.iterdir())) == 1
    write_bytes(path, b"kept")
    assert list(tmp_path.iterdir()) == [path]


def test_folders_of_others_and_of_a_process_that_lives_are_left_alone(tmp_path: Path) -> None:
    names = {".file.partial", "file.spacy-multihash", ".other.x.spacy-multihash", ".file-x"}
    for name in names:
        (tmp_path / name).mkdir()
    with staging(tmp_path, "file") as folder:
        write_bytes(tmp_path / "file", b"here")
        assert folder.is_dir()
    assert {path.name for path in tmp_path.iterdir()} == names | {"file"}
