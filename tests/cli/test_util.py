"""What commands check before they work."""

import os
from pathlib import Path

import pytest

from spacy_multihash.cli._util import check_file_output


def test_a_file_that_exists_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    check_file_output(path, "--output", force=False)
    path.touch()
    with pytest.raises(ValueError, match=r"out\.json exists\. Give another --output, or --force"):
        check_file_output(path, "--output", force=False)
    check_file_output(path, "--output", force=True)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected the name of a file to write as --output, was a"):
        check_file_output(tmp_path, "--output", force=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_without_force(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_file_output(tmp_path / "pipe", "--output", force=False)
