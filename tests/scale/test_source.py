"""What workers of commands load."""

import gc
import pickle
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import spacy
from spacy.language import Language

from spacy_multihash.scale.source import Source, digest_of, source_of


def read(place: str) -> str:
    return Path(place).read_text()


def blank(place: str) -> Language:
    """Make a pipeline with many strings of its own, which refers to itself, as some do."""
    nlp: Any = spacy.blank("en")
    for i in range(200):
        nlp.vocab.strings.add(f"own{i}")
    nlp.itself = nlp
    return nlp


def elsewhere(source: Source[Any]) -> Source[Any]:
    """Make the source as another process gets it."""
    return replace(source, home="elsewhere", run=uuid4().hex)


def test_pipeline_is_loaded_anew_when_its_vocab_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_multihash.scale.source.MAX_GROWTH", 100)
    (tmp_path / "model").touch()
    source = source_of(blank, tmp_path / "model", None)
    nlp = source.loaded()
    assert source.loaded_for_shard() is nlp
    nlp("few words")
    assert source.loaded_for_shard() is nlp
    nlp.vocab.strings.add("kept")
    nlp(" ".join(f"w{i}" for i in range(60)))
    former = weakref.ref(nlp)
    del nlp
    gc.disable()  # the old pipeline has to go before the new one comes
    try:
        new = source.loaded_for_shard()
        assert former() is None
    finally:
        gc.enable()
    assert "kept" not in new.vocab.strings
    assert source.loaded_for_shard() is source.loaded() is new
    former = weakref.ref(new)
    del new
    source_of(blank, tmp_path / "model", None).loaded()  # of the next command
    gc.collect()
    assert former() is None


@pytest.mark.parametrize("is_here", [True, False])
def test_pipeline_that_changed_is_not_loaded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    (tmp_path / "model").write_text("one")
    source = source_of(blank, tmp_path / "model", None)
    source = source if is_here else elsewhere(source)
    source.loaded()
    (tmp_path / "model").write_text("other")
    assert source.loaded_for_shard() is source.loaded()
    monkeypatch.setattr("spacy_multihash.scale.source.MAX_GROWTH", -1)
    with pytest.raises(ValueError, match="model has other files here than where the command was"):
        source.loaded_for_shard()


def test_a_source_is_loaded_once_for_a_command(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("one")
    source = source_of(read, path, None)
    assert source.loaded() == "one"
    path.write_text("other")
    for _ in range(2):  # as each shard gets it
        source = pickle.loads(pickle.dumps(source))
        assert source.loaded() == "one"
    assert source_of(read, path, None).loaded() == "other"


def test_other_files_or_code_than_the_command_has_are_refused(tmp_path: Path) -> None:
    for name in ("model", "code.py"):
        (tmp_path / name).write_text("one = 1")
    source = elsewhere(source_of(read, tmp_path / "model", tmp_path / "code.py"))
    (tmp_path / "code.py").write_text("one = 2")
    with pytest.raises(ValueError, match=r"code\.py differs from the file where the command"):
        source.loaded()
    (tmp_path / "model").write_text("other")
    with pytest.raises(ValueError, match="model has other files here than where the command was"):
        source.loaded()
    (tmp_path / "code.py").write_text("one = 1")
    source_of(read, tmp_path / "model", tmp_path / "code.py")
    (tmp_path / "code.py").write_text("one = 2")
    digest = digest_of(tmp_path / "code.py")
    with pytest.raises(ValueError, match=r"code\.py was changed after this process had imported"):
        replace(
            elsewhere(source_of(read, tmp_path / "model")),
            code=tmp_path / "code.py",
            code_digest=digest,
        ).loaded()


def test_code_is_imported_once_in_a_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("model", "one"), ("code.py", "print('imported')")):
        (tmp_path / name).write_text(text)
    source = source_of(read, tmp_path / "model", tmp_path / "code.py")
    for run in ("first", "second"):
        replace(elsewhere(source), run=run).loaded()
    assert capsys.readouterr().out == "imported\n"
    (tmp_path / "code.py").write_text("print('changed')")
    source_of(read, tmp_path / "model", tmp_path / "code.py")
    assert capsys.readouterr().out == "changed\n"
    (tmp_path / "code.py").write_text("1 / 0")
    for file_, message in (("code.py", "ZeroDivisionError"), ("other.py", "no Python file")):
        with pytest.raises(ValueError, match=message):
            source_of(read, tmp_path / "model", tmp_path / file_)
