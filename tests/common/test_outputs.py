"""What commands check before they work."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Optional

import pytest
import spacy

from spacy_multihash.common.outputs import check_file_output, check_folder_output
from tests.helpers.cli import refused
from tests.helpers.packages import installed


@pytest.fixture
def folder(here: Path) -> Path:
    """Make a pipeline, a corpus, and a folder and a file of other kinds, and work there."""
    spacy.blank("xx").to_disk("model")
    for name in ("corpus/train.spacy", "corpus/scores.json", "other/file", "file"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("mine")
    return here


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("path", "force", "message"),
    [
        ("file", False, r"file exists\. Give another --output, or set force"),
        ("other", True, "must be a file, got the folder other"),
        ("corpus/train.spacy", True, "another use for"),
        ("corpus/test.spacy", True, "another use for"),
        ("file/new", True, "file isn't a writable folder"),
        ("file", True, None),
        ("new/file", False, None),
        ("corpus/scores.json", True, None),
        ("model/scores.json", False, None),
    ],
)
def test_a_file_is_written_where_nothing_is_lost(
    path: str, force: bool, message: Optional[str]
) -> None:
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        check_file_output(Path(path), "--output", "model", Path("corpus"), None, force=force)


@pytest.mark.parametrize(
    ("path", "force", "message"),
    [
        ("copy", False, r"copy exists\. Give another OUTPUT, or set force"),
        ("file", True, "file is neither a pipeline nor a vocab"),
        ("other", True, "other is neither a pipeline nor a vocab"),
        ("model", True, "may not contain each other"),
        ("model/new", True, "may not contain each other"),
        (".", True, "may not contain each other"),
        ("file/new", True, "file isn't a writable folder"),
        ("copy", True, None),
        ("copy/vocab", True, None),
        ("new", False, None),
        ("empty", False, None),
    ],
)
def test_a_folder_is_written_where_nothing_is_lost(
    path: str, force: bool, message: Optional[str], folder: Path
) -> None:
    spacy.load("model").to_disk("copy")
    (folder / "copy" / "vocab" / "strings.json").touch()
    (folder / "empty").mkdir()
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        check_folder_output(Path(path), "model", Path("corpus"), None, force=force)


def test_an_installed_pipeline_is_not_replaced(folder: Path) -> None:
    with installed(folder / "model", "xx_read", folder / "site") as data:
        for output in (data, data / "vocab", folder / "site" / "xx_read"):
            with pytest.raises(ValueError, match="may not contain each other"):
                check_folder_output(output, "xx_read", force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_without_force(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_file_output(tmp_path / "pipe", "--output", force=False)


def test_mount_points_and_disks_that_take_nothing_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**settings: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", f"{tmp_path}/.out.x")

    monkeypatch.setattr("spacy_multihash.common.files.TemporaryDirectory", fail)
    with pytest.raises(OSError, match="Read-only file system: '.*/out'"):
        check_file_output(tmp_path / "out", "--output", force=False)
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(OSError, match="a mount point can't be replaced"):
        check_folder_output(tmp_path / "out", force=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["calibrate", "x", "in.spacy", "out", "--plot", "in.spacy"],
        ["corpus-stats", "in.spacy", "--output", "in.spacy"],
        ["evaluate", "x", "in.spacy", "--train", "y", "--output", "in.spacy"],
        ["init-tables", "in.spacy", "in.spacy"],
        ["inspect-tables", "x", "--data", "in.spacy", "--output", "in.spacy"],
        ["init-config", "ner", "in.spacy", "-l", "xx", "--train", "in.spacy", "--dev", "in.spacy"],
        ["show", "x", "--file", "in.spacy", "--output", "in.spacy"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_read_is_not_replaced(arguments: list[str], here: Path) -> None:
    Path("in.spacy").write_text("mine")
    error = refused(*arguments, "--force")
    assert "in.spacy: the command has another use for" in error
    assert Path("in.spacy").read_text() == "mine"
