"""Files are written whole or not at all, and folders replaced."""

import os
import sys
from pathlib import Path

import pytest

from spacy_multihash.common.files import replacing_folder, write_bytes
from tests.helpers.processes import into, linux, run_into


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


# Folders


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def make_folder(folder: Path) -> None:
    folder.mkdir()
    (folder / "file").write_text("old")


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


def test_new_folder_has_the_usual_permissions(tmp_path: Path) -> None:
    make_folder(tmp_path / "usual")
    make_folder(tmp_path / "out")
    with replacing_folder(tmp_path / "out") as new:
        new.mkdir()
        (new / "file").write_text("new")
    assert contents(tmp_path / "out") == {"file": "new"}
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode
