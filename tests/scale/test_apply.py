"""A pipeline applied to a folder of shards: here, on two workers, and after what went wrong."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_multihash.corpus.texts import write_json_lines
from spacy_multihash.ner.calibration import calibrate
from spacy_multihash.ner.estimate import KEY, OnGold, estimate
from spacy_multihash.scale.apply import Counts, Shard, apply, is_done
from tests.helpers import cli, recognizers
from tests.helpers.cluster import wait_until
from tests.helpers.paths import ROOT
from tests.helpers.pipelines import TEXTCAT, textcat_pipeline
from tests.helpers.recognizers import wrong_docs
from tests.helpers.spacy_pipelines import add_rules
from tests.helpers.tagger_ner import TEXTS, trained

CODE = ROOT / "tests" / "helpers" / "worker_pipes.py"
# Texts of a shard, and what the tests call shards.
LINES = [text for text in TEXTS if text.strip()]
NAMES = ["a/0.txt", "a/1.jsonl", "b.spacy", "c.txt", "d.txt", "e.jsonl", "f.txt", "g.txt"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "tagger_ner"
    nlp = trained()
    nlp.meta[KEY] = {"component": "tagger_ner", **OnGold(50, 40, 60, 40.0, 70.0)._asdict()}
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def slow(model: Path) -> Path:
    """Write a pipeline that takes a while."""
    return add_pipe(model, model.with_name("slow"), "slow_for_tests")


def add_pipe(model: Path, path: Path, name: str) -> Path:
    """Write a pipeline with one component more, which needs code of its own."""
    from tests.helpers import worker_pipes  # noqa: F401 (it registers the components)

    nlp = spacy.load(model)
    nlp.add_pipe(name)
    nlp.to_disk(path)
    return path


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Write shards of all kinds."""
    nlp = spacy.blank("en")
    for number, name in enumerate(NAMES):
        path = tmp_path / "shards" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [f"{text} {number}" for text in LINES]
        if path.suffix == ".spacy":
            DocBin(docs=map(nlp.make_doc, texts)).to_disk(path)
        elif path.suffix == ".jsonl":
            srsly.write_jsonl(path, [{"text": text} for text in texts])
        else:
            path.write_text("".join(f"{text}\n" for text in texts), "utf8")
    return tmp_path / "shards"


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder, but of what it says of itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def test_docs_have_what_the_pipeline_finds(model: Path, shards: Path, tmp_path: Path) -> None:
    done = apply(model, shards, tmp_path / "out")
    assert f"Wrote {len(NAMES)} of {len(NAMES)} shards to" in str(done)
    assert done.counts.docs == len(NAMES) * len(LINES)
    nlp = spacy.load(model)
    for number, name in enumerate(NAMES):
        path = (tmp_path / "out" / name).with_suffix(".spacy")
        docs = list(DocBin().from_disk(path).get_docs(nlp.vocab))
        assert [doc.text for doc in docs] == [f"{text} {number}" for text in LINES]
        for doc in docs:
            assert [*map(str, doc.ents)] == [*map(str, nlp(doc.text).ents)]
    assert any(doc.ents for doc in docs)


def test_lines_keep_their_keys_if_a_component_returns_other_docs(
    model: Path, tmp_path: Path
) -> None:
    stripping = add_pipe(model, tmp_path / "stripping", "strips_spaces_for_tests")
    lines = [{"text": f"  {text}", "id": number} for number, text in enumerate(LINES)]
    srsly.write_jsonl(tmp_path / "in.jsonl", lines)
    apply(stripping, tmp_path / "in.jsonl", tmp_path / "out", code=CODE, format="jsonl")
    found = lines_of(tmp_path / "out" / "in.jsonl")
    assert [(line["id"], line["text"]) for line in found] == [*enumerate(LINES)]


def test_lines_have_entities_with_probabilities_and_keep_the_rest(
    model: Path, tmp_path: Path
) -> None:
    rest = '"id":123456789012345678901,"meta":{"t":1700000000.123456,"x":1e-12,"y":"cut \\ud83d"}'
    annotation = '"entities":[[0,1,"X"]],"cats":{"X":1}'
    line = f'{{"text":"Anna met Bob in New York .",{annotation},{rest}}}\n'
    (tmp_path / "one.jsonl").write_text(line)
    apply(model, tmp_path / "one.jsonl", tmp_path / "out", format="jsonl")
    assert (tmp_path / "out" / "one.jsonl").read_text().endswith(f",{rest}}}\n")
    (first,) = lines_of(tmp_path / "out" / "one.jsonl")
    assert [*first] == ["text", "entities", "id", "meta"]
    found = [(first["text"][e["start"] : e["end"]], e["label"]) for e in first["entities"]]
    assert found == [("Anna", "PER"), ("Bob", "PER"), ("New York", "GPE")]
    assert all(0.5 < entity["probability"] <= 1 for entity in first["entities"])


def test_lines_have_labels_of_texts_and_entities_without_probabilities(tmp_path: Path) -> None:
    add_rules(textcat_pipeline(TEXTCAT), {"Rome": "GPE"}).to_disk(tmp_path / "model")
    (tmp_path / "one.txt").write_text("To Rome\n\n")
    apply(tmp_path / "model", tmp_path / "one.txt", tmp_path / "out", format="jsonl")
    first, empty = lines_of(tmp_path / "out" / "one.jsonl")
    assert first["entities"] == [{"start": 3, "end": 7, "label": "GPE"}]
    assert first["cats"].keys() == {"X", "Y"}
    assert empty["text"] == "" and empty["entities"] == []


def test_annotation_of_the_corpus_is_left_out(model: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    gold = [
        Doc(nlp.vocab, ["They", "like", "rain", "."], ents=["B-GPE", "O", "O", "O"]),
        Doc(nlp.vocab, ["They", "don't", "."], ents=["B-GPE", "O", "O"]),
    ]
    gold[1].has_unknown_spaces = True
    DocBin(docs=gold).to_disk(tmp_path / "gold.spacy")
    apply(model, tmp_path / "gold.spacy", tmp_path / "out")
    first, second = DocBin().from_disk(tmp_path / "out" / "gold.spacy").get_docs(nlp.vocab)
    assert not first.ents
    assert [token.text for token in second] == ["They", "don't", "."]


@pytest.mark.parametrize("format", ["spacy", "jsonl"])
def test_two_workers_write_the_same_bytes(
    model: Path, shards: Path, tmp_path: Path, scheduler: str, format: Any
) -> None:
    one = apply(model, shards, tmp_path / "one", format=format)
    two = apply(model, shards, tmp_path / "two", format=format, dask=scheduler)
    assert one.counts == two.counts and one.expected == two.expected is not None
    assert len(contents(tmp_path / "one")) == len(NAMES)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize("format", ["spacy", "jsonl"])
def test_calibrated_pipeline_expects_scores_and_writes_nothing_else(
    format: Any, shards: Path, tmp_path: Path
) -> None:
    nlp = calibrated_later = recognizers.trained("tagger_ner")
    calibrate(nlp, wrong_docs() * 4, tmp_path / "model")
    done = apply(tmp_path / "model", shards, tmp_path / "out", format=format)
    estimated = estimate(tmp_path / "model", shards)
    whole, found = estimated.overall, done.expected
    assert len(done.warnings) == 1 and done.warnings[0] in estimated.warnings
    assert done.warnings[0] in str(done)  # dev is too small
    assert found is not None and (found.predicted, found.intervals) == (whole.predicted, {})
    assert (found.precision, found.recall) == pytest.approx((whole.precision, whole.recall))
    assert f"precision {100 * whole.precision:.1f} %" in str(done)  # type: ignore[operator]
    assert Counts.total([done.counts, Counts(), done.counts]).right == 2 * done.counts.right
    calibrated_later.meta.pop(KEY)
    calibrated_later.to_disk(tmp_path / "other")
    other = apply(tmp_path / "other", shards, tmp_path / "same", format=format)
    assert other.expected is None and contents(tmp_path / "same") == contents(tmp_path / "out")


def test_killed_command_leaves_whole_files_and_is_resumed(
    model: Path, slow: Path, shards: Path, tmp_path: Path
) -> None:
    psutil = pytest.importorskip("psutil", reason="there is no psutil: extra dev")
    apply(model, shards, tmp_path / "one")
    args = [slow, shards, tmp_path / "two"]
    options = ["--code", CODE, "--workers", 2]
    command = [sys.executable, "-m", "spacy", "multihash", "apply", *map(str, args + options)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    written = (tmp_path / "two").rglob
    wait_until(
        lambda: any(".spacy-multihash" not in str(p) for p in written("*.spacy")), every=0.02
    )
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(psutil.Process.is_running, workers)))
    whole = contents(tmp_path / "one")
    left = {name: data for name, data in contents(tmp_path / "two").items() if name in whole}
    assert 0 < len(left) < len(whole)
    assert left.items() <= whole.items()
    times = {name: (tmp_path / "two" / name).stat().st_mtime_ns for name in left}
    done = apply(*args, code=CODE)
    assert (done.before, done.shards) == (len(left), len(NAMES))
    assert contents(tmp_path / "two") == whole
    assert {name: (tmp_path / "two" / name).stat().st_mtime_ns for name in left} == times


def test_shard_that_cannot_be_read_is_named_and_the_others_are_done(
    model: Path, shards: Path, tmp_path: Path
) -> None:
    damaged = shards / "a" / "1.jsonl"
    whole = damaged.read_bytes()
    damaged.write_bytes(b'{"te')
    done = apply(model, shards, tmp_path / "out")
    assert [*done.failed] == [str(damaged)]
    assert f"1 of {len(NAMES)} shards failed" in str(done)
    assert f"{damaged}:1: expected a JSON object on each line" in str(done)
    assert len(contents(tmp_path / "out")) == len(NAMES) - 1
    result = cli.invoke("apply", model, shards, tmp_path / "out")
    assert result.exit_code == 1 and f"{damaged} failed: ValueError: " in cli.said(result)
    damaged.write_bytes(whole)
    assert "Wrote 1 of" in cli.said(cli.ok("apply", model, shards, tmp_path / "out"))


BAD = {
    "long.jsonl": json.dumps({"text": "x " * 600}).encode(),
    "null.jsonl": b'{"text": null}',
    "half.jsonl": b'{"text": "a \\ud83d b"}',
    "list.jsonl": b"[1]",
    "cut.jsonl": b'{"te',
    "words.txt": b"x " * 600,
    "latin.txt": b"M\xfcller",
}


def test_bad_texts_are_skipped_named_and_counted(model: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "shards", tmp_path / "out"
    folder.mkdir()
    goods = {".jsonl": b'{"text": "In Paris", "id": 7}', ".txt": b"In Paris"}
    for name, bad in BAD.items():
        good = goods[Path(name).suffix]
        (folder / name).write_bytes(b"\n".join([good, bad, good, b""]))
    done = apply(model, folder, out, format="jsonl", max_length=1000)
    assert done.counts.skipped == len(BAD) and f"{len(BAD)} texts were skipped" in str(done)
    for name in BAD:
        output = (out / name).with_suffix(".jsonl")
        assert [line["text"] for line in lines_of(output)] == ["In Paris"] * 2
        (error,) = output.with_name(f"{output.name}.errors").read_text("utf8").splitlines()
        assert error.startswith(f"{folder / name}:2: expected ")
    (folder / "null.jsonl").write_bytes(goods[".jsonl"])
    apply(model, folder, out, format="jsonl", max_length=1000)
    assert len(lines_of(out / "null.jsonl")) == 1 and not (out / "null.jsonl.errors").exists()


def test_docs_that_are_too_long_are_skipped_and_all_skipped_is_no_success(
    model: Path, tmp_path: Path
) -> None:
    nlp = spacy.blank("en")
    (tmp_path / "shards").mkdir()
    docs = [nlp("x " * 600), nlp("In Paris")]
    DocBin(docs=docs).to_disk(tmp_path / "shards" / "a.spacy")
    DocBin(docs=docs[:1]).to_disk(tmp_path / "shards" / "b.spacy")
    (error,) = apply(model, tmp_path / "shards", tmp_path / "out", max_length=1000).failed.values()
    assert "All 1 texts are wrong" in error and "b.spacy: document 1" in error
    found = DocBin().from_disk(tmp_path / "out" / "a.spacy").get_docs(nlp.vocab)
    assert [doc.text for doc in found] == ["In Paris"]
    assert not apply(model, tmp_path / "shards", tmp_path / "out").failed


@Language.component("set_user_data_for_tests")
def set_user_data(doc: Doc) -> Doc:
    doc.user_data["words"] = {token.text for token in doc}
    return doc


def test_doc_whose_user_data_cannot_be_stored_is_named(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("set_user_data_for_tests")
    nlp.to_disk(tmp_path / "model")
    (tmp_path / "one.txt").write_text("Anna left\n")
    args = (tmp_path / "model", tmp_path / "one.txt")
    (error,) = apply(*args, tmp_path / "out").failed.values()
    assert f"{args[1]}: document 1 cannot be stored" in error and "'set' object" in error
    assert not apply(*args, tmp_path / "o", format="jsonl").failed


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_ends_the_command_and_leaves_nothing_half_written(
    model: Path, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    write = write_json_lines
    written: list[Path] = []
    failed: list[Path] = []

    def fill(path: Path, records: Any) -> None:
        if len(written) == 3:
            failed.append(path)
            path.write_text('{"text": "half of')
            raise OSError(code, "No space left on device", str(path))
        write(path, records)
        written.append(path)

    monkeypatch.setattr("spacy_multihash.scale.apply.write_json_lines", fill)
    message = rf"c\.txt failed: \[Errno {code}\] No space left.* 3 shards were written. Make room"
    with pytest.raises(OSError, match=message):
        apply(model, shards, tmp_path / "out", format="jsonl")
    assert len(failed) == 1  # it is not tried again
    assert len(contents(tmp_path / "out")) == 3
    monkeypatch.undo()
    assert apply(model, shards, tmp_path / "out", format="jsonl").before == 3
    assert len(contents(tmp_path / "out")) == len(NAMES)


def test_shard_that_changed_later_is_done_again(model: Path, shards: Path, tmp_path: Path) -> None:
    apply(model, shards, tmp_path / "out")
    for seconds in (-9, 9):
        changed = (shards / "c.txt").stat().st_mtime + seconds
        os.utime(shards / "c.txt", (changed, changed))
        assert apply(model, shards, tmp_path / "out").before == len(NAMES) - 1


def test_shard_that_changes_while_it_is_read_is_done_again(
    model: Path, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shards / "c.txt"
    os.utime(path, (1, 1))

    def change(new: Path, records: Any) -> None:
        texts = [record["text"] for record in records]
        path.write_text("Bob\n")
        new.write_text("\n".join(texts))

    monkeypatch.setattr("spacy_multihash.scale.apply.write_json_lines", change)
    apply(model, path, tmp_path / "out", format="jsonl")
    monkeypatch.undo()
    assert apply(model, path, tmp_path / "out", format="jsonl").before == 0
    assert [line["text"] for line in lines_of(tmp_path / "out" / "c.jsonl")] == ["Bob"]


@pytest.mark.parametrize("tick", [100, 1_000, 1_000_000_000])
def test_file_system_with_coarse_times_is_fine(tmp_path: Path, tick: int) -> None:
    shard = Shard(tmp_path / "source", tmp_path / "target")
    for path, time_ns in zip(shard, (1_123_456_789, 1_123_456_789 // tick * tick), strict=True):
        path.touch()
        os.utime(path, ns=(time_ns, time_ns))
    assert is_done(shard)
    os.utime(shard.source, ns=(3_000_000_000, 3_000_000_000))
    assert not is_done(shard)
    shard.source.unlink()
    assert not is_done(shard)


def test_other_work_is_refused_unless_forced(
    model: Path, slow: Path, shards: Path, tmp_path: Path
) -> None:
    output, code = tmp_path / "out", tmp_path / "code.py"
    code.write_text("one = 1")
    apply(model, shards, output)
    others: list[tuple[Any, Any, dict[str, Any], str]] = [
        (model, shards, {"format": "jsonl"}, "'format': 'spacy'"),
        (slow, shards, {}, "'model': .*tagger_ner"),
        (model, shards / "a", {}, "'shards': "),
        (model, shards, {"code": code}, "'code_digest': ''"),
    ]
    for nlp, data, settings, name in others:
        with pytest.raises(ValueError, match=f"out was started with .*{name}.*force"):
            apply(nlp, data, output, **settings)
    manifest = srsly.read_json(output / "manifest.json")
    srsly.write_json(output / "manifest.json", manifest | {"spacy": "3.0.0"})
    with pytest.raises(ValueError, match="was started with {'spacy': '3.0.0'}"):
        apply(model, shards, output)
    (shards / "c.txt").unlink()
    (output / "c.spacy.errors").touch()  # of an earlier run, with texts that were skipped
    hidden = output / ".snapshot" / "c.spacy"
    hidden.parent.mkdir()
    hidden.touch()
    done = apply(model, shards, output, format="jsonl", force=True)
    hidden.unlink()  # which isn't a file of apply
    assert (done.before, done.shards) == (0, len(NAMES) - 1)
    assert {Path(name).suffix for name in contents(output)} == {".jsonl"}


class Keys(dict):
    """The keys of a line, which a set of weak references may hold."""

    __hash__ = object.__hash__  # type: ignore[assignment]


@pytest.mark.parametrize("format", ["spacy", "jsonl"])
def test_keys_of_lines_are_only_kept_for_a_few_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any
) -> None:
    kept: WeakSet[Keys] = WeakSet()
    most = 0

    def read(path: Path, nlp: Language, on_error: Any) -> Iterator[tuple[Doc, Keys]]:
        nonlocal most
        for number in range(100):
            keys = Keys(id=number)
            kept.add(keys)
            most = max(most, len(kept))
            yield nlp.make_doc("Anna"), keys

    monkeypatch.setattr("spacy_multihash.scale.apply.read_bare_shard", read)
    spacy.blank("en").to_disk(tmp_path / "model")
    (tmp_path / "one.txt").touch()
    args = (tmp_path / "model", tmp_path / "one.txt", tmp_path / "out")
    apply(*args, batch_size=10, format=format)
    assert most < 50


@pytest.mark.parametrize("format", ["spacy", "jsonl"])
def test_docs_that_a_component_fails_at_are_left_out(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any
) -> None:
    def load(path: str) -> Language:
        nlp = spacy.load(path)
        nlp.set_error_handler(lambda *error: None)
        return nlp

    monkeypatch.setattr("spacy_multihash.scale.apply.load_pipeline", load)
    failing = add_pipe(model, tmp_path / "failing", "fails_at_bob_for_tests")
    shard = tmp_path / "one.jsonl"
    srsly.write_jsonl(shard, [{"text": text, "id": text} for text in LINES])
    done = apply(failing, shard, tmp_path / "out", code=CODE, format=format)
    assert done.counts.docs + done.counts.skipped == len(LINES) and done.counts.skipped
    expected = [text for text in LINES if "Bob" not in text]
    if format == "jsonl":
        records = list(srsly.read_jsonl(tmp_path / "out" / "one.jsonl"))
        assert [record["id"] for record in records] == expected
        assert [record["text"] for record in records] == expected
    else:
        docs = DocBin().from_disk(tmp_path / "out" / "one.spacy").get_docs(spacy.blank("en").vocab)
        assert [doc.text for doc in docs] == expected


@pytest.mark.parametrize("manifest", [None, '{"format": "jsonl"}', "{", "[1]", "null"])
def test_folder_of_something_else_is_never_replaced(
    model: Path, shards: Path, tmp_path: Path, manifest: str | None
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "c.jsonl").write_text("mine")
    if manifest is not None:
        (tmp_path / "out" / "manifest.json").write_text(manifest)
    for force in (False, True):
        with pytest.raises(ValueError, match="[Gg]ive another OUTPUT"):
            apply(model, shards, tmp_path / "out", force=force)
    assert (tmp_path / "out" / "c.jsonl").read_text() == "mine"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nowhere", "shards", "out"), "There is no pipeline 'nowhere'"),
        (("model", "none", "out"), "There is no corpus at"),
        (("model", "shards", "shards/out"), "may not contain each other"),
        (("model", "shards", "shards/c.txt"), "may not contain each other"),
        (("model", "shards", "file"), "file isn.t a writable folder"),
        (("model", "shards", "out", {"format": "csv"}), "format must be one of spacy, jsonl"),
        (("model", "shards", "out", {"workers": 2, "dask": "tcp://x"}), "either a number of work"),
        (("model", "twins", "out"), "c.jsonl and .*c.txt would both be written to .*c.spacy"),
    ],
)
def test_what_is_wrong_is_refused(
    model: Path, shards: Path, tmp_path: Path, args: tuple[Any, ...], message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "twins").mkdir()
    for name in ("c.txt", "c.jsonl"):
        (tmp_path / "twins" / name).touch()
    places = (model if args[0] == "model" else args[0], *(tmp_path / name for name in args[1:3]))
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        apply(*places, **(args[3] if args[3:] else {}))
    assert not (tmp_path / "out").exists()
