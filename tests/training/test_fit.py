"""From a corpus to a trained pipeline and a report."""

import json
import re
import shlex
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import spacy
from markupsafe import escape
from spacy.cli.package import generate_readme
from spacy.cli.train import train as train_as_spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus
from spacy.util import load_config
from spacy.vocab import Vocab

from experiments.corpora.sample import make_sentences
from spacy_multihash import Fitted, fit, restore
from spacy_multihash.common.registered import ADAM
from spacy_multihash.corpus.splits import SPLITS
from spacy_multihash.ner.calibration import compare, judge_entities
from spacy_multihash.pipelines.meta import package_name
from spacy_multihash.training import fit as module
from spacy_multihash.training.baseline import spacys_config
from spacy_multihash.training.fit import UNTRAINED
from spacy_multihash.training.loop import History
from spacy_multihash.training.plan import describe_settings, plan_fit
from spacy_multihash.training.report import PARTS
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.vectors import files, random_vectors, write_pipeline

TEXTS = ["Anna met Bob in Oslo", "Acme sold shares in May"]
FEW_STEPS = {"training.max_steps": 20, "training.eval_frequency": 5}
FILES = ["config.cfg", "corpus", "fit.json", "model", "report.html", "scores.json"]

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


def quickly(*corpora: Any, **options: Any) -> Fitted:
    """Fit in a few steps, without cross-validation."""
    settings = {**FEW_STEPS, **options.pop("settings", {})}
    return fit(*corpora, lang="en", settings=settings, **{"cross_validate": False, **options})


def test_corpus_becomes_a_pipeline_and_a_report() -> None:
    fitted = quickly(
        *("train.conll", "dev.conll", "test.conll"),
        output="out",
        baseline=True,
        compress=True,
        settings={"training.optimizer.learn_rate": 0.01},
    )
    assert sorted(path.name for path in Path("out").iterdir()) == ["baseline", *FILES]
    docs = {name: Corpus(f"out/corpus/{name}.spacy") for name in SPLITS}
    nlp = spacy.load("out/model")
    assert [len(list(corpus(nlp))) for corpus in docs.values()] == [100, 100, 100]
    scores = json.loads(Path("out/scores.json").read_text())
    assert {*scores} == {*fitted.to_json()} == {"ours", "spaCy", "advice", "curve"}
    settings = [scores[name]["settings"] for name in ("ours", "spaCy")]
    assert [s["model"].split(", ")[0] for s in settings] == ["tagger_ner", "ner"]
    assert [s["static vectors"] for s in settings] == ["none", "none"]
    assert settings[1]["patience"] == "1,600 steps"  # spaCy's
    for name, path in (("ours", "model"), ("spaCy", "baseline/model")):
        pipeline = spacy.load(Path("out", path))
        for split in ("dev", "test"):
            f1 = pipeline.evaluate(list(docs[split](pipeline)))["ents_f"]
            of_split = scores[name]["scores"][split]
            assert of_split["parts"]["all"]["f"] == pytest.approx(f1)
            low, high = of_split["interval"] or (f1, f1)
            assert low <= f1 <= high
        assert scores[name]["history"]["step"] == 20
    assert fitted.scores["test"].parts.keys() == {"all", "seen", "unseen"}
    config = load_config("out/config.cfg", interpolate=True)
    assert config["training"]["optimizer"]["@optimizers"] == ADAM
    assert config["paths"]["train"] == "out/corpus/train.spacy"
    assert nlp.config.interpolate()["training"] == config["training"]
    assert nlp.config["paths"] == config["paths"]
    assert "spacy-multihash.keep_compressed.v1" in Path("out/model/config.cfg").read_text()
    assert nlp.config["components"]["tagger_ner"]["spans_key"] == "entities"
    assert "tokens a second with them" in fitted.remarks[-1]
    for path in ("out/config.cfg", "out/model/config.cfg"):
        assert not re.search("^(ard|word_dropout|moves) =", Path(path).read_text(), re.MULTILINE)
    said, page = str(fitted), Path("out/report.html").read_text()
    assert page == fitted.page() and not re.findall(r"https?:|<script|url\(", page)
    for title in ("Scores", "Beside spaCy", "Training", "Labels", "Corpus", "Go on", "Where it"):
        assert f"<h2>{title}" in page
    for label in fitted.nlp.get_pipe("tagger_ner").labels:  # type: ignore[attr-defined]
        assert f"<th>{label}</th>" in page and f'<th scope="row">{label}</th>' in page
    assert page.count("<polyline") == 4  # both trainings, and probabilities before and after
    assert page.count('class="legend"') == 2
    assert all(str(escape(title)) in page for title, _ in fitted.plan.warnings)
    few = {"training.max_steps": 1, "training.eval_frequency": 1}
    train_as_spacy(Path("out/config.cfg"), Path("again"), overrides=few)
    assert re.search(r"F1 of ours minus spaCy's: [+-]\d+\.\d points", said)
    assert PARTS in said and PARTS in page and "If they were drawn at random" in said
    error = re.search(r"on test, probabilities are off by ([\d.]+) points", said)
    assert error is not None, said
    judged = judge_entities(nlp, "tagger_ner", list(docs["test"](nlp)))
    measured = 100 * compare(judged, judged.former).after.error
    assert float(error[1]) == pytest.approx(measured, abs=1)
    assert not re.search("<iframe(?! srcdoc)|<script", fitted._repr_html_())


def test_texts_with_their_entities_are_enough() -> None:
    names = ["Anna", "Bob", "Cleo", "Dora", "Emil"]
    texts = [
        (f"{name} met {i} people", [(0, len(name), "<PER>")]) for i in range(9) for name in names
    ]
    fitted = quickly(texts, settings={"training.max_steps": 60})
    assert [ent.text for ent in fitted.nlp("Bob met 3 people").ents] == ["Bob"]
    assert fitted.output is None and not list(Path.cwd().glob("out*"))
    page = fitted.page()
    assert "test" in fitted.scores and "<h2>Scores" in page
    assert "<PER>" not in page and page.count("&lt;PER&gt;") > 3
    assert fitted.next_commands() == {}
    docs = [doc for name in SPLITS for doc in fitted.plan.split.docs[name]]
    for given in (docs, DocBin(docs=docs, store_user_data=True)):
        again = plan_fit(given, lang="en")
        assert sum(map(len, again.split.docs.values())) == len(docs) == 45


def test_corpus_is_split_and_scored_as_new_texts() -> None:
    fitted = quickly("train.conll")
    assert [len(fitted.plan.split.docs[name]) for name in SPLITS] == [75, 10, 15]
    assert fitted.scores["test"].expected is not None
    assert "new texts" in str(fitted) and "new texts" in fitted.page()


def test_small_corpus_is_cross_validated_and_has_a_curve() -> None:
    settings = {"training.max_steps": 2, "training.eval_frequency": 1}
    fitted = quickly("train.conll", cross_validate=True, curve=True, settings=settings)
    assert fitted.scores["test"].folds == 5
    curve, json_ = fitted.curve, fitted.to_json()
    assert curve is not None and fitted.folds is not None
    assert [point.docs for point in curve.points] == pytest.approx([19, 38, 56, 75], abs=3)
    assert curve.points[-1].f == fitted.scores["test"].parts["all"].f
    assert json_["curve"]["points"][0]["docs"] == curve.points[0].docs
    advice = {advice["what"]: advice["why"] for advice in json_["advice"]}
    assert advice[curve.advice] == curve.outlook
    assert all(re.search(r"\d", why) for why in advice.values())
    page, said = fitted.page(), str(fitted)
    assert curve.outlook in page and curve.outlook in said
    assert "<h2>What to do next" in page and "<h2>Would more data help" in page
    tested = {*fitted.plan.split.places["test"]}
    assert fitted.folds.mistakes and not tested & {each.doc for each in fitted.folds.mistakes}
    for mistake in fitted.folds.mistakes:
        doc = fitted.plan.split.corpus[mistake.doc]
        assert mistake.entity.text == doc[mistake.entity.start : mistake.entity.end].text


def test_splits_given_are_kept_and_not_cross_validated() -> None:
    fitted = quickly("train.conll", "dev.conll", cross_validate=True)
    assert fitted.scores.keys() == {"dev"} and fitted.scores["dev"].folds == 0


CODE = """
from spacy.util import registry

@registry.tokenizers("fit_for_tests.v1")
def make_tokenizer():
    return registry.tokenizers.get("spacy.Tokenizer.v1")()
"""


def test_package_is_built_with_the_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "code.py").write_text(CODE)
    exec(compile(CODE, "code.py", "exec"), {})

    def build(command: list[str], **settings: Any) -> Any:
        dist = Path(command[5], "en_my_ner-0.0.0", "dist")
        dist.mkdir(parents=True)
        (dist / "en_my_ner-0.0.0-py3-none-any.whl").touch()
        assert command[6:] == [
            *("--name", "my_ner", "--build", "wheel"),
            *("--code", str(folder / "code.py")),
        ]
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", build)
    monkeypatch.setattr("spacy_multihash.training.options.has_build", lambda: True)
    monkeypatch.setattr(module, "has_build", lambda: False)
    fitted = quickly(
        *("train.conll", "dev.conll"),
        output="-out put",
        code=Path("code.py"),
        package="my_ner",
        settings={"nlp.tokenizer.@tokenizers": "fit_for_tests.v1"},
    )
    assert spacy.load("-out put/model").config["nlp"]["tokenizer"] == {
        "@tokenizers": "fit_for_tests.v1"
    }
    assert fitted.wheel == Path("-out put/package/en_my_ner-0.0.0-py3-none-any.whl")
    assert fitted.wheel.exists() and len(list(Path("-out put/package").rglob("*"))) == 1
    commands = [shlex.split(line) for line in fitted.next_commands().values()]
    assert ["python", "-m", "pip", "install", "build"] in commands
    assert sum(line[-2:] == ["--code", "code.py"] for line in commands) == 3
    paths = [path for line in commands for path in line if "out put" in path]
    assert len(paths) >= 4 and all(path.startswith("./-out put") for path in paths)


@pytest.mark.parametrize(
    ("data", "kind", "options"),
    [("one.jsonl", "textcat", {"baseline": True}), ("many.jsonl", "textcat_multilabel", {})],
)
def test_texts_are_classified(data: str, kind: str, options: dict[str, Any]) -> None:
    fitted = quickly(data, textcat=True, output="out", **options)
    assert fitted.arms[0].settings["model"] == f"{kind}, TextCatBOW"
    assert fitted.nlp.get_pipe_meta("textcat").factory == kind
    if options:
        assert spacy.load("out/baseline/model").get_pipe_meta(kind).factory == kind
    test = list(Corpus("out/corpus/test.spacy")(fitted.nlp))
    f1 = fitted.nlp.evaluate(test)["cats_micro_f"]
    assert fitted.scores["test"].parts["all"].f == pytest.approx(f1)
    page = fitted.page()
    assert "multihash show" not in page
    assert "<h3>Mistakes" in page and ("have wrong labels" in page or "no mistakes" in page)


@pytest.mark.parametrize("textcat", [False, True])
def test_baseline_has_the_same_vectors(textcat: bool) -> None:
    words = {word for sentence, _ in sample(0)["train"][:100] for word in sentence}
    write_pipeline(Path("vectors"), random_vectors(len(words)), sorted(words), lang="en")
    data = "one.jsonl" if textcat else "train.conll"
    plan = plan_fit(data, lang="en", vectors="vectors", textcat=textcat, settings=FEW_STEPS)
    theirs = spacys_config(plan)
    assert plan.config["paths"]["vectors"] == theirs["paths"]["vectors"] == "vectors"
    assert theirs["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"]
    assert theirs["training"]["patience"] == 1600 and theirs["training"]["max_steps"] == 20
    assert describe_settings(plan.config)["static vectors"] == "vectors"


def test_plan_names_what_looks_wrong(folder: Path) -> None:
    docs = without_entities()
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(i % 2 == 0)}
        doc.set_ents([Span(doc, 0, 1, "PER")])
    write_corpus(folder / "both.spacy", docs)
    texts = str(plan_fit("both.spacy", lang="en", textcat=True))
    entities = str(plan_fit("both.spacy", lang="en"))
    assert "Settings: textcat" in texts and "Don't rely" not in texts
    assert "Don't rely on the probabilities: dev has only 2 entities." in entities
    assert "both.spacy" in plan_fit("both.spacy", lang="en").name


def test_splits_that_are_given_keep_their_names() -> None:
    docs = [Doc(Vocab(), words=[f"Anna{i}", "left"], ents=["B-PER", "O"]) for i in range(40)]
    plan = plan_fit(docs, test=docs[:12], lang="xx")
    counts = {name: len(part) for name, part in plan.split.docs.items()}
    assert [*counts] == [*SPLITS] and counts["test"] == 12
    assert {name: split.docs for name, split in plan.stats.splits.items()} == counts
    assert plan.stats.seen["test"].seen + plan.stats.seen["test"].unseen == 12


def test_texts_of_test_that_chose_the_step_are_named() -> None:
    docs = [Doc(Vocab(), words=[f"Anna{i}", "left"], ents=["B-PER", "O"]) for i in range(40)]
    plan = plan_fit(docs[:20], docs[20:30], docs[28:], lang="xx")
    assert "Texts of test that are in dev too: 2 of 12" in str(plan)


def test_texts_of_a_document_stay_together() -> None:
    docs = [Doc(Vocab(), words=[f"Anna{i}", "left"], ents=["B-PER", "O"]) for i in range(60)]
    for i, doc in enumerate(docs):
        doc.user_data["page"] = i % 20
    split = plan_fit(docs, lang="xx", group="page").split
    pages = [{doc.user_data["page"] for doc in part} for part in split.docs.values()]
    assert split.by == "groups" and len(set.union(*pages)) == sum(map(len, pages)) == 20
    with pytest.raises(ValueError, match="expected 'chapter' as --group"):
        plan_fit(docs, lang="xx", group="chapter")


def test_last_step_is_scored_and_step_0_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = ("train.conll", "dev.conll")
    fitted = quickly(*corpora, settings={"training.max_steps": 4, "training.eval_frequency": 200})
    assert [step for step, _ in fitted.arms[0].history.curve] == [0, 4]
    real = module.train_config

    def untrained(*args: Any) -> History:
        real(*args)
        return History(step=15, curve=[(0, 0.2), (15, 0.1)])

    monkeypatch.setattr(module, "train_config", untrained)
    assert UNTRAINED in str(quickly(*corpora))


def test_earlier_run_stays_until_another_is_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quickly("train.conll", "dev.conll", output="out")
    before = files(Path("out"))
    with pytest.raises(ValueError, match="has a run.*--force"):
        quickly("train.conll", "dev.conll", output="out")
    write_corpus(folder / "bare.spacy", without_entities())
    with pytest.raises(ValueError, match="bare.spacy has no entities"):
        quickly("bare.spacy", output="out", force=True)

    def interrupt(*args: Any) -> None:
        assert (folder / "out/model").exists()  # the former one
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "train_config", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quickly("train.conll", "dev.conll", output="out", force=True)
    assert files(Path("out")) == before
    quickly("dev.conll", "train.conll", output="out", force=True)
    assert files(Path("out"))["corpus/dev.spacy"] != before["corpus/dev.spacy"]


def without_entities() -> list[Doc]:
    docs = [Doc(Vocab(), words=["bare", str(i)]) for i in range(20)]
    for doc in docs:
        doc.set_ents([], default="outside")
    return docs


PAIR = ("Anna met Bob", [(0, 4, "PER")])
REFUSALS: list[tuple[Any, dict[str, Any], str]] = [
    ("empty.conll", {}, "empty.conll: expected tagged tokens"),
    ("unnamed", {}, "multihash convert, and fit the file"),
    ("nowhere.conll", {}, "no corpus at nowhere.conll"),
    ("single.spacy", {}, "single.spacy has 1 document, and fit needs at least 10"),
    ("bare.spacy", {}, "bare.spacy has no entities. Give a corpus that is annotated."),
    ("one.jsonl", {}, "one.jsonl has no entities. It has labels.*--textcat"),
    ("train.conll", {"dev": "bare.spacy"}, "bare.spacy has no entities"),
    ("rare.spacy", {}, "The split dev has no entities"),
    ("spans.spacy", {}, r"doc\.spans\['sc'\]"),
    ("train.conll", {"textcat": True}, "train.conll has no labels of texts. It has entities"),
    ("same.jsonl", {"textcat": True}, "All texts of same.jsonl have the label A"),
    ("train.conll", {"lang": "zz"}, "--lang must be a language of spaCy"),
    ("train.conll", {"package": "a-b"}, "--package must be a name"),
    ("train.conll", {"package": "a", "output": None}, "Give an output"),
    ("train.conll", {"dev": "dev.conll", "test": "dev.conll", "group": "1"}, "--group is for"),
    ("train.conll", {"vectors": "nowhere"}, "nowhere"),
    ("train.conll", {"settings": {"training.max_step": 5}}, "Did you mean --training.max_steps"),
    ("full/dev.conll", {"output": "full"}, "may not contain each other"),
    ("train.conll", {"output": "full"}, "full is not empty, and has no run"),
    ([], {}, "train as a path, .* got none"),
    ([PAIR, "Anna"], {}, "texts:2: expected"),
]


@pytest.mark.parametrize(("data", "options", "said"), REFUSALS)
def test_refusal_says_what_to_do_and_leaves_nothing(
    data: Any, options: dict[str, Any], said: str, folder: Path
) -> None:
    (folder / "empty.conll").touch()
    (folder / "unnamed").write_text("Anna")
    write_corpus(folder / "single.spacy", make_docs()[:1])
    write_corpus(folder / "bare.spacy", without_entities())
    write_corpus(folder / "rare.spacy", [*make_docs()[:1], *without_entities()])
    for doc in (docs := without_entities()):
        doc.spans["sc"] = [doc[:1]]
    write_corpus(folder / "spans.spacy", docs)
    rows = [json.dumps({"text": f"text {i}", "cats": {"A": 1.0}}) for i in range(20)]
    (folder / "same.jsonl").write_text("\n".join(rows))
    (folder / "full").mkdir()
    (folder / "full/dev.conll").write_bytes((folder / "dev.conll").read_bytes())
    before = sorted(folder.rglob("*"))
    with pytest.raises((ValueError, OSError), match=said):
        fit(data, **{"lang": "en", "output": "out", **options})
    assert sorted(folder.rglob("*")) == before


def test_model_card_has_data_scores_speed_and_how_it_was_made() -> None:
    fitted = quickly("train.conll", "dev.conll", "test.conll", output="out")
    meta = spacy.load("out/model").meta
    assert fitted.nlp.meta["notes"] == meta["notes"]
    readme = generate_readme(meta)
    f1 = fitted.scores["test"].best.f
    for text in (
        *(f"{100 * (f1 or 0):.1f}", "95 % interval", "tokens/s", "train.conll", "seed 0"),
        *("Trained 20 steps", "needs the package spacy-multihash", "MultiEmbed of NORM"),
    ):
        assert text in readme
    assert meta["requirements"] == [f"spacy-multihash>={version('spacy-multihash')},<2"]
    assert meta["performance"]["ents_f"] == pytest.approx(f1)
    with pytest.raises(ValueError, match=r"tagger_ner.*\n.*fit --config batch_ner"):
        restore("out/model")


def test_batch_ner_leaves_as_spacys_ner() -> None:
    fitted = quickly("train.conll", "dev.conll", output="out", config="batch_ner")
    assert any("multihash restore out/model" in line for line in fitted.next_commands().values())
    assert "multihash restore" in fitted.page()
    expected = [[ent.text for ent in doc.ents] for doc in fitted.nlp.pipe(TEXTS)]
    done = restore("out/model", "spacys")
    assert "spacy-multihash" not in Path("spacys/config.cfg").read_text()
    assert done.nlp.meta["requirements"] == [] and "multihash restore" not in done.nlp.meta["notes"]
    assert [[ent.text for ent in doc.ents] for doc in done.nlp.pipe(TEXTS)] == expected


@pytest.mark.parametrize("name", ["en_my_ner", "my_ner"])
def test_language_is_put_in_front_of_a_package_once(name: str) -> None:
    assert package_name(name, "en") == "my_ner"
    for wrong in ("_x", "x_", "a-b", "é", "1x", "en_", ""):
        with pytest.raises(ValueError, match="must be a name of letters"):
            package_name(wrong, "en")
