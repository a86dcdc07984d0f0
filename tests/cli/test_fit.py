"""The command that goes from a corpus to a trained pipeline and a report."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus
from spacy.util import load_config
from spacy.vocab import Vocab
from typer.testing import Result

from experiments.corpora.sample import make_sentences
from spacy_multihash.cli import fit as module
from spacy_multihash.common.files import FORMER
from spacy_multihash.common.registered import ADAM
from spacy_multihash.corpus.splits import SPLITS
from spacy_multihash.fit.report import PARTS
from spacy_multihash.fit.run import Options, Run
from spacy_multihash.fit.splits import split_docs
from spacy_multihash.fit.training import History, train
from spacy_multihash.ner.calibration import compare, judge_entities
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.vectors import files, random_vectors, write_pipeline

FEW_STEPS = ("--training.max_steps", "20", "--training.eval_frequency", "5")
CONFIGS = ("config.cfg", "baseline/config.cfg")
FILES = ["config.cfg", "corpus", "fit.json", "model", "report.html", "scores.json"]


def invoke(*args: Any) -> Result:
    steps = () if "--training.max_steps" in args else FEW_STEPS
    folds = () if "--cross-validate" in args else ("--no-cross-validate",)
    return cli.invoke("fit", "--lang", "en", "--output", "out", *args, *steps, *folds)


def done(*args: Any) -> dict[str, Any]:
    """Run the command, and return the scores."""
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return json.loads(Path("out/scores.json").read_text())


sample = cache(make_sentences)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write corpora, and go there: CoNLL files, and texts with labels."""
    for name, sentences in sample(0).items():
        lines = (
            "".join(f"{word}\t{tag}\n" for word, tag in zip(*sentence, strict=True))
            for sentence in sentences[:100]
        )
        (tmp_path / f"{name}.conll").write_text("\n".join(lines))
    texts = ["The match ended two to one", "Shares of the bank fell", "They ran a marathon"]
    for kind, labels in (("one", "ABA"), ("many", ["A", "", "AB"])):
        rows = [
            json.dumps({"text": f"{text} {i}", "cats": {x: float(x in label) for x in "AB"}})
            for i in range(10)
            for text, label in zip(texts, labels, strict=True)
        ]
        (tmp_path / f"{kind}.jsonl").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "EXPLAINED", 1)
    return tmp_path


def test_corpus_becomes_a_pipeline_and_a_report() -> None:
    options = ("--baseline", "--compress", "--training.optimizer.learn_rate", 0.01)
    result = invoke("train.conll", "--dev", "dev.conll", "--test", "test.conll", *options)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in Path("out").iterdir()) == ["baseline", *FILES]
    docs = {name: Corpus(f"out/corpus/{name}.spacy") for name in ("train", "dev", "test")}
    nlp = spacy.load("out/model")
    sizes = {name: len(list(corpus(nlp))) for name, corpus in docs.items()}
    assert sizes == {"train": 100, "dev": 100, "test": 100}
    scores = json.loads(Path("out/scores.json").read_text())
    assert {*scores} == {"ours", "spaCy"}
    settings = [scores[name]["settings"] for name in ("ours", "spaCy")]
    assert [s["model"].split(", ")[0] for s in settings] == ["tagger_ner", "ner"]
    assert [s["static vectors"] for s in settings] == ["none", "none"]
    assert settings[1]["patience"] == "1,600 steps"  # spaCy's
    assert re.search(r"F1 of ours minus spaCy's: [+-]\d+\.\d points", said(result))
    for name, path in (("ours", "model"), ("spaCy", "baseline/model")):
        pipeline = spacy.load(Path("out", path))
        for split in ("dev", "test"):
            f1 = pipeline.evaluate(list(docs[split](pipeline)))["ents_f"]
            of_split = scores[name]["scores"][split]
            assert of_split["parts"]["all"]["f"] == pytest.approx(f1)
            low, high = of_split["interval"] or (f1, f1)
            assert low <= f1 <= high
        assert scores[name]["history"]["step"] == 20
    assert scores["ours"]["scores"]["test"]["parts"].keys() == {"all", "seen", "unseen"}
    config = load_config("out/config.cfg", interpolate=True)
    assert config["training"]["optimizer"]["@optimizers"] == ADAM
    assert config["training"]["max_steps"] == 20
    assert nlp.config.interpolate()["training"] == config["training"]
    assert nlp.get_pipe_config("tagger_ner")["temperature"] != 1.0, result.output
    assert "spacy-multihash.keep_compressed.v1" in Path("out/model/config.cfg").read_text()
    page = Path("out/report.html").read_text()
    assert not re.findall(r"https?:|<script|url\(", page)
    titles = ["Scores", "Beside spaCy", "Training", "Labels", "Corpus", "Go on", "Where it"]
    for title in (*titles, "Mistakes"):
        assert f"<h2>{title}" in page
    assert PARTS in said(result) and PARTS in page
    assert "If they were drawn at random" in said(result) and "is for new texts" not in page
    for path in ("out/config.cfg", "out/model/config.cfg"):
        assert not re.search("^(ard|word_dropout|moves) =", Path(path).read_text(), re.MULTILINE)
    error = re.search(r"on test, probabilities are off by ([\d.]+) points", said(result))
    judged = judge_entities(nlp, "tagger_ner", list(docs["test"](nlp)))
    assert error and float(error[1]) == pytest.approx(
        100 * compare(judged, judged.former).after.error, abs=1
    )
    assert "Calibrated on dev" in said(result) and "Don't rely" not in said(result)
    assert "multihash show out/model 'YOUR TEXT'" in said(result)


def results() -> tuple[Any, bytes]:
    """All that must not depend on interruptions."""
    scores = json.loads(Path("out/scores.json").read_text())["ours"]
    curve = [scores["history"][name] for name in ("step", "curve")]
    weights = Path("out/model/tagger_ner/model").read_bytes()
    return (scores["scores"], curve), weights


def interrupted(real: Callable[..., Any]) -> Callable[..., Any]:
    """Raise KeyboardInterrupt when a function has done its work, before that's on record."""

    def then_interrupted(*args: Any, **kwargs: Any) -> Any:
        real(*args, **kwargs)
        raise KeyboardInterrupt

    return then_interrupted


def interrupted_training(config: Any, model: Path, checkpoint: Path, show: Any) -> Any:

    def show_and_stop(history: Any, last: Any) -> None:
        show(history, last)
        if history.step == 13:
            raise KeyboardInterrupt

    return train(config, model, checkpoint, show_and_stop)


def test_interrupted_run_goes_on_and_gets_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    done("train.conll", "--cross-validate")
    sizes = [len(list(Corpus(f"out/corpus/{name}.spacy")(spacy.blank("en")))) for name in SPLITS]
    assert sizes == [75, 10, 15]
    scores = json.loads(Path("out/scores.json").read_text())["ours"]["scores"]["test"]
    assert scores["unit"] == "regions"
    assert (
        scores["folds"] == 5 and scores["expected"]["entities"] > scores["parts"]["all"]["entities"]
    )
    assert "is for texts from other documents" in Path("out/report.html").read_text()
    expected = results()
    Path("out").rename("whole")
    for name in ("prepare", "train", "finish", "train_fold", "make_report"):
        with monkeypatch.context() as patch:
            function = interrupted(getattr(module, name))
            patch.setattr(module, name, interrupted_training if name == "train" else function)
            result = invoke("train.conll", "--cross-validate")
        assert result.exit_code == 130, name
        assert "To go on, run the same command." in said(result)
        if name == "train":
            assert re.search(r"so far is in out/model: F1 [\d.]+ at step \d+\.", said(result))
            assert spacy.load("out/model").pipe_names == ["tagger_ner"]
    done("train.conll", "--cross-validate")
    assert results() == expected
    assert sorted(path.name for path in Path("out").iterdir()) == FILES


def test_cross_validation_is_trained_once_and_can_be_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = invoke("train.conll")
    assert "new texts" in said(result) and "weighted" in said(result)
    result = invoke("train.conll", "--cross-validate")
    assert result.exit_code == 0, result.output
    assert "5 more trainings" in said(result) and "weighted" not in said(result)
    monkeypatch.delattr(module, "train")
    assert invoke("train.conll", "--cross-validate").exit_code == 0
    record = json.loads(Path("out/fit.json").read_text())
    record["done"]["fold 2"]["regions"].pop()
    Path("out/fit.json").write_text(json.dumps(record))
    assert "fit.json" in said(invoke("train.conll", "--cross-validate"))


def test_shuffled_corpus_is_split_by_names_and_says_so() -> None:
    docs = []
    for i in range(60):
        for j in range(3):
            words = ["on", f"day{j}{i % 7}", f"Anna{i}", "met", f"Bob{i}"]
            docs.append(Doc(Vocab(), words=words, ents=["O", "O", "B-PER", "O", "B-PER"]))
    Random(0).shuffle(docs)
    DocBin(docs=docs).to_disk("shuffled.spacy")
    result = invoke("shuffled.spacy")
    assert result.exit_code == 0, result.output
    assert "texts that share names" in said(result) and "too high for new texts" in said(result)
    scores = json.loads(Path("out/scores.json").read_text())["ours"]["scores"]["test"]
    assert scores["unit"] == "groups" and scores["expected"] is None
    result = invoke("shuffled.spacy", "--cross-validate")
    assert "5 more trainings" in said(result) and "too high for new texts" in said(result)


def test_interrupted_baseline_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    done("train.conll")
    monkeypatch.setattr(module, "train", interrupted_training)
    assert invoke("train.conll", "--baseline").exit_code == 130
    steps = []

    def train_and_note(config: Any, model: Path, checkpoint: Path, show: Any) -> Any:
        def note(history: History, last: int | None) -> None:
            show(history, last)
            steps.append(history.step)

        return train(config, model, checkpoint, note)

    monkeypatch.setattr(module, "train", train_and_note)
    done("train.conll", "--baseline")
    assert steps == [*range(11, 21)]
    assert not [*Path("out").rglob("*.npz")]


CODE = """
from spacy.util import registry

@registry.tokenizers("fit_for_tests.v1")
def make_tokenizer():
    return registry.tokenizers.get("spacy.Tokenizer.v1")()
"""


def test_finished_run_does_nothing_again_but_what_is_new(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "code.py").write_text(CODE)
    args = ["train.conll", "--dev", "dev.conll", "--code", "code.py"]
    args += ["--nlp.tokenizer.@tokenizers", "fit_for_tests.v1"]
    first = invoke(*args)
    assert first.exit_code == 0, first.output
    assert first.output.count(" --code code.py") == 3  # in the commands to go on with
    assert spacy.load("out/model").config["nlp"]["tokenizer"] == {"@tokenizers": "fit_for_tests.v1"}
    report = Path("out/report.html").stat().st_mtime_ns
    monkeypatch.setattr(module, "train", None)
    again = invoke(*args)
    assert again.stdout.endswith(first.stdout) and again.stderr == ""
    assert "Done before, and read from out/fit.json: corpus and config, train" in said(again)
    monkeypatch.setattr(module, "has_build", lambda: False)
    install = "    python -m pip install build\n    python -m spacy package"
    assert install in invoke(*args).stdout
    assert Path("out/report.html").stat().st_mtime_ns == report
    assert not Path("out/corpus/test.spacy").exists()

    def build(command: list[str], **settings: Any) -> Any:
        dist = Path(command[5], "en_my_ner-0.0.0", "dist")
        dist.mkdir(parents=True)
        (dist / "en_my_ner-0.0.0-py3-none-any.whl").touch()
        assert command[6:] == ["--name", "my_ner", "--build", "wheel", "--code", "code.py"]
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", build)
    monkeypatch.setattr(module, "has_build", lambda: True)
    result = invoke(*args, "--package", "my_ner")
    assert "Built out/package/en_my_ner-0.0.0-py3-none-any.whl" in said(result)
    assert len(list(Path("out/package").rglob("*"))) == 1
    (folder / "code.py").write_text(f"{CODE}# changed")
    assert "other options: --code. Give" in said(invoke(*args))


@pytest.mark.parametrize(
    ("data", "kind", "options"),
    [("one.jsonl", "textcat", ("--baseline",)), ("many.jsonl", "textcat_multilabel", ())],
)
def test_texts_are_classified(data: str, kind: str, options: tuple[str, ...]) -> None:
    scores = done(data, "--textcat", *options)
    nlp = spacy.load("out/model")
    assert scores["ours"]["settings"]["model"] == f"{kind}, TextCatBOW"
    assert nlp.get_pipe_meta("textcat").factory == kind
    if options:
        assert spacy.load("out/baseline/model").get_pipe_meta(kind).factory == kind
    test = list(Corpus("out/corpus/test.spacy")(nlp))
    f1 = nlp.evaluate(test)["cats_micro_f"]
    assert scores["ours"]["scores"]["test"]["parts"]["all"]["f"] == pytest.approx(f1)
    page = Path("out/report.html").read_text()
    assert "multihash show" not in page
    assert "<h2>Mistakes" in page and ("have wrong labels" in page or "no mistakes" in page)


@pytest.mark.parametrize("data", ["train.conll", "one.jsonl"])
def test_baseline_has_the_same_vectors(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {word for sentence, _ in sample(0)["train"][:100] for word in sentence}
    write_pipeline(Path("vectors"), random_vectors(len(words)), sorted(words), lang="en")
    options = ["--vectors", "vectors", *(["--textcat"] if data == "one.jsonl" else [])]
    done(data, *options)
    report = Path("out/report.html").read_text()
    monkeypatch.setattr(module, "train_pipeline", interrupted(lambda *args: None))
    assert invoke(data, *options, "--baseline").exit_code == 130
    ours, theirs = (load_config(Path("out", name), interpolate=True) for name in CONFIGS)
    assert ours["paths"]["vectors"] == theirs["paths"]["vectors"] == "vectors"
    assert theirs["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"]
    assert theirs["training"]["patience"] == 1600 and theirs["training"]["max_steps"] == 20
    assert module.describe_settings(Path("out/config.cfg"))["static vectors"] == "vectors"
    assert Path("out/report.html").read_text() == report


def test_texts_with_entities_get_no_warning_of_few_entities(folder: Path) -> None:
    docs = without_entities()
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(i % 2 == 0)}
        doc.set_ents([Span(doc, 0, 1, "PER")])
    write_corpus(folder / "both.spacy", docs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "train_pipeline", interrupted(lambda *args: None))
        texts = invoke("both.spacy", "--textcat")
        entities = invoke("both.spacy", "--output", "other")
    assert "Settings: textcat" in said(texts) and "Don't rely" not in said(texts), texts.output
    assert "Don't rely on the probabilities: dev has only 2 entities." in said(entities)


def test_last_step_is_scored_and_step_0_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("train.conll", "--dev", "dev.conll", "--training.max_steps", 15)
    result = invoke(*args)
    assert "at step 15" in said(result) and module.UNTRAINED not in said(result), result.output
    untrained = History(step=15, curve=[(0, 0.2), (15, 0.1)])
    monkeypatch.setattr(module, "train", lambda *args: untrained)
    assert module.UNTRAINED in said(invoke(*args, "--output", "other"))


def test_same_texts_stay_in_one_split() -> None:
    docs = [Doc(Vocab(), words=["text", str(i % 20)]) for i in range(60)]
    split = split_docs({"train": docs}, Options(Path(), None, None, "en"))
    texts = [{doc.text for doc in part} for part in split.docs.values()]
    assert len(set.union(*texts)) == sum(map(len, texts)) == 20


def test_run_that_failed_before_training_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("train.conll", "--vectors", "nowhere").exit_code == 1
    monkeypatch.setattr(module, "train_pipeline", interrupted(lambda *args: None))
    result = invoke("train.conll")
    few = r"⚠ Don't rely on the probabilities: dev has only \d\d? entities\."
    assert re.search(few, said(result)), result.output


def test_what_is_left_out_is_shown(folder: Path) -> None:
    spans = [[0, 4, "PER"], [9, 11, "PER"], [13, 17, "LOC"]]
    rows = [{"text": f"Anna met Bob Rome {i}", "label": spans} for i in range(20)]
    (folder / "bad.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "train_pipeline", interrupted(lambda *args: None))
        result = invoke("bad.jsonl")
    for line in (
        "Left out: entity that does not align with tokens (20 of 60)",
        "bad.jsonl:2: PER 'Bo' (9 to 11), in 'Bob'",
    ):
        assert line in said(result), result.output


def test_other_options_are_no_other_run_of_the_same_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(folder / "bare.spacy", without_entities())
    done("train.conll")
    before = files(Path("out"))
    for change, said_of_it in (
        (("dev.conll",), "DATA"),
        (("train.conll", "--seed", 3), "--seed"),
        (("train.conll", "--max-size", "5M"), "--max-size"),
        (("train.conll", "--training.dropout", 0.3), "--training.dropout"),
    ):
        result = invoke(*change)
        assert result.exit_code == 1
        assert f"out has a run with other options: {said_of_it}. Give" in said(result)
    result = invoke("bare.spacy", "--force")
    assert "bare.spacy has no entities" in said(result)
    assert files(Path("out")) == before  # what is there goes when the new corpus is checked
    for wrong in (("--training.dropuot", 0.2), ("--vectors", "nowhere")):
        assert invoke("train.conll", *wrong, "--force").exit_code == 1
        assert files(Path("out")) == before
    Path("out/training.npz").write_bytes(b"of other options")
    with monkeypatch.context() as patch:
        patch.setattr(module, "prepare", interrupted(module.prepare))
        assert invoke("train.conll", "--seed", 3, "--force").exit_code == 130
    assert done("train.conll", "--seed", 3)
    assert "other options: --seed. Give" in said(invoke("train.conll"))
    assert files(Path("out"))["corpus/dev.spacy"] != before["corpus/dev.spacy"]
    assert sorted(path.name for path in Path("out").iterdir()) == FILES


def test_killed_run_gets_its_folders_back(folder: Path) -> None:
    done("train.conll")
    before = files(Path("out/model"))
    for name in ("corpus", "model"):
        (folder / "out" / name).rename(folder / "out" / f".{name}{FORMER}")
    Path("out/report.html").unlink()
    record = json.loads(Path("out/fit.json").read_text())
    del record["done"]["report"]
    Path("out/fit.json").write_text(json.dumps(record))
    assert done("train.conll") and files(Path("out/model")) == before
    assert sorted(path.name for path in Path("out").iterdir()) == FILES


def test_damaged_record_is_refused_by_path() -> None:
    done("train.conll")
    path = Path("out/fit.json")
    record = json.loads(path.read_text())
    for change in (
        {"training": {}},
        {"training": {"step": 1, "curve": [], "seconds": 0.0}},
        {"finish": 3},
        {"corpus and config": []},
        {"report": {}},
    ):
        path.write_text(json.dumps({**record, "done": {**record["done"], **change}}))
        result = invoke("train.conll")
        assert result.exit_code == 1 and "Cannot read out/fit.json" in said(result)
    path.write_text("{")
    assert "Cannot read out/fit.json" in said(invoke("train.conll"))


def test_commands_to_go_on_work_in_a_folder_that_begins_with_a_dash(folder: Path) -> None:
    run = Run(
        Path("-out put"), Options(data=folder / "train.conll", dev=None, test=None, lang="en")
    )
    shown = [shlex.split(line) for line in module.next_commands(run).values()]
    paths = [path for line in shown for path in line if "out put" in path]
    assert len(paths) >= 4 and all(path.startswith("./-out put") for path in paths)


def test_gpu_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(gpu_id: int) -> None:
        raise ValueError(f"there is no GPU {gpu_id}")

    monkeypatch.setattr(spacy, "require_gpu", refuse)
    assert "there is no GPU 7" in said(invoke("train.conll", "--gpu-id", 7))
    assert not Path("out").exists()


def without_entities() -> list[Doc]:
    docs = [Doc(Vocab(), words=["bare", str(i)]) for i in range(20)]
    for doc in docs:
        doc.set_ents([], default="outside")
    return docs


REFUSALS = {
    "empty.conll": "empty.conll: expected tagged tokens, found none",
    "unnamed": "Name the format with --format. To name a format or other options, use python -m "
    "spacy multihash convert, and fit the file that it writes.",
    "single.spacy": "single.spacy has 1 document, and fit needs at least 10 to split off a tenth. "
    "Give more, or --dev and --test.",
    "bare.spacy": "bare.spacy has no entities. Give a corpus that is annotated.",
    "one.jsonl": "one.jsonl has no entities. It has labels: did you mean that? Give --textcat.",
    "train.conll --dev bare.spacy": "bare.spacy has no entities",
    "train.conll --test bare.spacy": "bare.spacy has no entities",
    "rare.spacy": "The split dev has no entities. Give more documents, --dev, or another --seed.",
    "train.conll --textcat": "train.conll has no labels of texts. It has entities",
    "same.jsonl --textcat": "All texts of same.jsonl have the label A. Give at least two labels.",
    "train.conll --lang zz": "--lang must be a language of spaCy, such as en, or xx for any",
    "train.conll --max-size small": "--max-size must be like 500K, 5M or 1G, got 'small'",
    "one.jsonl --textcat --max-size 1M": "--max-size is for entities",
    "train.conll --package a-b": "--package must be a name of letters, digits and _",
    "train.conll --vectors nowhere": "nowhere",
    "train.conll --training.max_step 5": "There's no option or setting --training.max_step. Did "
    "you mean --training.max_steps?",
    "marked.conll": "or --dev and --test. To make a document of each sentence",
    "full/dev.conll --output full": "full/dev.conll is in full, which is written.",
    "train.conll --dev full/dev.conll --output full --force": "full/dev.conll is in full",
    "train.conll --output full": "full is not empty, and has no run of this command",
    "train.conll --output foreign": "foreign/fit.json wasn't written by this command.",
}


@pytest.mark.parametrize("args", REFUSALS)
def test_refusal_says_what_to_do_and_leaves_nothing(args: str, folder: Path) -> None:
    (folder / "empty.conll").touch()
    (folder / "marked.conll").write_text(
        "-DOCSTART- O\n\nAnna B-PER\n\nBob B-PER\n\n-DOCSTART- O\n\nEve B-PER\n"
    )
    (folder / "unnamed").write_text("Anna")
    write_corpus(folder / "single.spacy", make_docs()[:1])
    write_corpus(folder / "bare.spacy", without_entities())
    write_corpus(folder / "rare.spacy", [*make_docs()[:1], *without_entities()])
    rows = [json.dumps({"text": f"text {i}", "cats": {"A": 1.0}}) for i in range(20)]
    (folder / "same.jsonl").write_text("\n".join(rows))
    for name in ("full", "foreign"):
        (folder / name).mkdir()
    (folder / "foreign/fit.json").write_text('{"method": "L-BFGS"}')
    shutil.copy("dev.conll", "full")
    before = sorted(folder.rglob("*"))
    result = invoke(*args.split())
    assert result.exit_code == 1, result.output
    assert REFUSALS[args] in said(result)
    if "--vectors" not in args and "max_step " not in args:  # which the second step refuses
        assert sorted(folder.rglob("*")) == before
