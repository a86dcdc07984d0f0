"""What workers of commands load."""

from dataclasses import replace
from pathlib import Path

import pytest

from spacy_multihash.cli._workers import Source, source_of


def read(place: str) -> str:
    return Path(place).read_text()


def elsewhere(source: Source[str]) -> Source[str]:
    """Make the source as another process gets it."""
    return replace(source, home="elsewhere", run="of another process")


def test_a_source_is_loaded_once_for_a_command(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("one")
    source = source_of(read, path, None)
    assert source.loaded() == "one"
    path.write_text("other")
    assert source.loaded() == "one"
    assert source_of(read, path, None).loaded() == "other"


def test_other_files_than_the_command_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("one")
    source = elsewhere(source_of(read, path, None))
    path.write_text("other")
    with pytest.raises(ValueError, match="model has other files here than where the command was"):
        source.loaded()


def test_code_is_imported_once_in_other_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("model", "one"), ("code.py", "print('imported')")):
        (tmp_path / name).write_text(text)
    source = source_of(read, tmp_path / "model", tmp_path / "code.py")
    source.loaded()
    assert capsys.readouterr().out == ""
    for run in ("first", "second"):
        replace(elsewhere(source), run=run).loaded()
    assert capsys.readouterr().out == "imported\n"
