"""From a corpus to a trained pipeline and a report."""

import inspect
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import spacy
from spacy.cli.package import has_build
from spacy.language import Language

from ..common.arguments import checked
from ..common.files import read_json_map, replacing_folder, write_bytes, write_json
from ..common.load import load_pipeline, read_config
from ..common.outputs import check_apart, check_writable, folder_size, paths_in, spacy_command
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from ..common.templates import render
from ..corpus.read import model_examples
from ..inspection.errors import Errors, errors, shaded
from ..ner.calibration import (
    Bin,
    Calibration,
    calibrate,
    compare,
    find_recognizer,
    judge_entities,
    turn_on_probabilities,
)
from ..pipelines.compress import Precisions, write_compressed
from ..pipelines.config import drop_removed_settings
from ..pipelines.measure import tokens_per_second
from ..pipelines.meta import package_name
from .advice import Advice, advise
from .baseline import comparison_table, describe_difference, spacys_config
from .card import set_card
from .corpora import Corpus
from .curve import Curve, measure_curve
from .folds import cross_validate
from .loop import History
from .options import Options
from .plan import FitPlan, describe_settings, plan_fit
from .report import (
    MEGA,
    Arm,
    about_scores,
    corpus_table,
    describe_training,
    headline,
    labels_table,
    mistakes_table,
    percent,
    scores_table,
)
from .run import score_splits, train_config, write_config, write_splits
from .scores import SplitScores
from .texts import TextMistakes, text_mistakes

MISTAKES = 50  # of each kind, in the report
EXPLAINED = 20  # the most confident of them
UNTRAINED = "No step was better than the untrained model. Train longer."


@dataclass(frozen=True, eq=False)
class Fitted(Result):
    """A trained pipeline, and how good it is.

    nlp (Language): The pipeline.
    output (Optional[Path]): The folder with its files.
    plan (FitPlan): The corpus, the options and the config.
    arms (Sequence[Arm]): Our pipeline, and spaCy's own with `baseline`, with scores by split.
    remarks (Sequence[str]): How training went, and what followed it.
    mistakes (Union[Errors, TextMistakes]): The mistakes on dev.
    advice (Sequence[Advice]): What to do next.
    calibration (Optional[Calibration]): How right its probabilities are, on test or dev.
    curve (Optional[Curve]): F1 by the amount of training data, with `curve`.
    folds (Optional[Errors]): The mistakes on train and dev in cross-validation of a small corpus.
    wheel (Optional[Path]): The package, if there's one.
    """

    template = "report.html"

    nlp: Language = field(repr=False)
    output: Optional[Path]
    plan: FitPlan
    arms: Sequence[Arm]
    remarks: Sequence[str]
    mistakes: Union[Errors, TextMistakes] = field(repr=False)
    advice: Sequence[Advice] = ()
    calibration: Optional[Calibration] = None
    curve: Optional[Curve] = None
    folds: Optional[Errors] = field(default=None, repr=False)
    wheel: Optional[Path] = None

    @property
    def scores(self) -> Mapping[str, SplitScores]:
        """The scores of each split."""
        return self.arms[0].scores

    def cautions(self) -> Iterator[str]:
        """What looks wrong in the corpus. `plan` has the details."""
        for title, lines in self.plan.warnings:
            yield f"{title}{', see plan' if lines else ''}"

    def tables(self) -> Iterator[Table]:
        """The scores, and both pipelines if there are two."""
        table = scores_table(self.scores)
        yield replace(table, rows=[row for row in table.rows if not row[0].startswith("dev,")])
        if len(self.arms) > 1:
            yield comparison_table(self.arms)
        if self.curve is not None:
            yield from self.curve.tables()

    def notes(self) -> Iterator[str]:
        """How training went, and what the scores mean."""
        yield from self.remarks
        yield from about_scores(self.scores, self.plan.stats)
        if len(self.arms) > 1:
            yield describe_difference(self.arms)
        yield from (f"Next: {advice}" for advice in self.advice)

    def to_json(self) -> dict[str, Any]:
        """Return settings, scores, training, size and speed of each pipeline, by its name.

        "advice" and "curve" are about our model.
        """
        arms = [
            replace(arm, scores={name: replace(s, counts=()) for name, s in arm.scores.items()})
            for arm in self.arms
        ]
        named = {arm.name: to_json(arm) for arm in arms}
        curve = self.curve and self.curve.to_json()
        return {**named, "advice": to_json(self.advice), "curve": curve}

    def page(self, title: str = "") -> str:
        """Return the report, a complete HTML page."""
        plan, arms = self.plan, self.arms
        step, best = arms[0].history.best
        return render(
            self.template,
            title=title or f"{plan.name}: {'texts' if plan.options.textcat else 'entities'}",
            about=f"spacy-multihash {metadata.version('spacy-multihash')}, spaCy "
            f"{spacy.__version__}, {plan.settings}, language {plan.options.lang}",
            result=self,
            headline=headline(arms[0]),
            scores=scores_table(self.scores),
            about_scores=about_scores(self.scores, plan.stats),
            comparison=comparison_table(arms) if len(arms) > 1 else None,
            difference=describe_difference(arms) if len(arms) > 1 else "",
            training={a.name: [(i, 100 * f) for i, f in a.history.curve] for a in arms},
            last_step=max(arm.history.curve[-1][0] for arm in arms),
            about_training=f"F1 on dev by step of training. The best is {percent(best)}, at step "
            f"{step:,} of {arms[0].history.step:,}.",
            labels=labels_table(self.scores, plan.stats),
            corpus=corpus_table(plan.stats),
            bins=self.bins,
            limit=MISTAKES,
            wrong_texts=mistakes_table(self.mistakes, MISTAKES),
            matrix=shaded(self.mistakes.confusion),
        )

    @property
    def bins(self) -> Mapping[str, Sequence[Bin]]:
        """The share of predictions that is right, by their probability."""
        if isinstance(self.mistakes, TextMistakes):
            return {"on dev": self.mistakes.bins}
        if self.calibration is None:
            return {}
        return {
            "calibrated": self.calibration.bins_after,
            "before": self.calibration.bins_before,
        }

    def next_commands(self) -> dict[str, str]:
        """Return commands to go on with, by what they do."""
        if self.output is None:
            return {}
        options, model, corpus = self.plan.options, self.output / "model", self.output / "corpus"
        code = ("--code", options.code) if options.code is not None else ()
        commands: dict[str, tuple[Union[str, Path], ...]] = {
            "Show the entities of a text:": ("multihash", "show", model, "YOUR TEXT"),
            "Look at all mistakes:": (
                *("multihash", "errors", model, corpus / "dev.spacy"),
                *("--train", corpus / "train.spacy", "--output", "errors.html"),
            ),
        }
        if options.config != "ner":
            leave = ("multihash", "restore", model, "SPACY")
            commands["Turn it into a pipeline that needs spaCy alone:"] = leave
        if options.textcat:
            texts = ("multihash", "apply", model, "TEXTS", "CLASSIFIED")
            commands = {"Classify the texts of a folder:": texts}
        done = {what: spacy_command(*words, *code) for what, words in commands.items()}
        if not has_build():
            done["Install what builds packages:"] = "python -m pip install build"
        name = package_name(options.package or "my_model", options.lang)
        package = ("package", model, ".", "--name", name, "--build", "wheel", *code)
        return {**done, "Build a package for pip:": spacy_command(*package)}


@checked
def fit(
    train: Corpus,
    dev: Optional[Corpus] = None,
    test: Optional[Corpus] = None,
    *,
    output: Union[str, Path, None] = None,
    force: bool = False,
    progress: Progress = no_progress,
    **options: Any,  # noqa: ANN401
) -> Fitted:
    """Train a pipeline on a corpus, and tell how good it is.

    For example, `fit([("Anna met Bob", [(0, 4, "PER"), (9, 12, "PER")]), ...], lang="en")`.

    It converts and splits the corpus, points out what looks wrong in it, chooses settings, trains,
    scores on dev and test, and calibrates. Ctrl-C ends training, and keeps the best model so far.

    train (Corpus): A file that `convert` reads, a .spacy file or a folder of them, docs, a DocBin,
        or texts with their annotation: entities as (start, end, label), or labels of the text.
    dev (Optional[Corpus]): The corpus to choose the best step on. None: a part of train.
    test (Optional[Corpus]): The corpus to score at the end. None: a part of train, or none if dev
        is given.
    output (Union[str, Path, None]): The folder to write: the pipeline (model), its config.cfg, the
        corpus, scores.json and report.html. None writes nothing.
    force (bool): Whether to replace an earlier run at `output`.
    progress (Progress): Shows the progress, such as `tqdm.auto.tqdm`.
    **options (Any): See `Options`. `lang` is required.

    Raises ImportError, OSError or ValueError, and writes nothing, if a step fails.
    """
    inputs = paths_in(train, dev, test)
    if output is None and options.get("package") is not None:
        raise ValueError("--package is built in a folder. Give an output.")
    if output is not None:
        check_output(Path(output), inputs, force=force)
    plan = plan_fit(train, dev, test, **options)
    return fit_plan(plan, output=output, progress=progress)


# help, notebooks and editors show the options, too.
_OWN = [p for p in inspect.signature(fit).parameters.values() if p.name != "options"]
_OTHERS = [p.replace(kind=p.KEYWORD_ONLY) for p in inspect.signature(Options).parameters.values()]
fit.__signature__ = inspect.Signature([*_OWN, *_OTHERS])  # type: ignore[attr-defined]


def check_output(output: Path, inputs: Sequence[Union[str, Path]], *, force: bool) -> None:
    """Raise ValueError early if a run can't be written."""
    check_apart(output, *inputs)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        if not (output / "fit.json").is_file():
            raise ValueError(
                f"{output} is not empty, and has no run of fit. Give another --output."
            )
        if not force:
            raise ValueError(
                f"{output} has a run. Give another --output, or --force to replace it."
            )
    check_writable(output.resolve().parent, "--output")


def fit_plan(
    plan: FitPlan, *, output: Union[str, Path, None] = None, progress: Progress = no_progress
) -> Fitted:
    """Train, calibrate and score what `plan_fit` has planned. See `fit` for the arguments."""
    options, target = plan.options, None if output is None else Path(output)
    with ExitStack() as stack:
        if target is None:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        else:
            folder = stack.enter_context(replacing_folder(target))
            folder.mkdir()
        corpus = (target or folder) / "corpus"  # where it'll be at the end
        paths = write_splits(folder / "corpus", plan.split.docs)
        # Train
        write_config(folder / "config.cfg", plan.config, corpus, plan.reasons)
        history = train_config(folder / "config.cfg", folder / "model", paths, progress)
        remarks = [describe_training("Trained", history)]
        if history.best[0] == 0:
            remarks.append(UNTRAINED)
        # Calibrate
        nlp, calibration = load_pipeline(folder / "model"), None
        if not options.textcat:
            calibration, said = _calibrate(nlp, paths)
            remarks.append(said)
        remarks += _write_final(nlp, folder / "model", corpus, compress=options.compress)
        # Score, beside spaCy's own
        trained = {"ours": (folder, plan.config, history)}
        if options.baseline:
            config, where = spacys_config(plan), folder / "baseline"
            write_config(where / "config.cfg", config, corpus, ["spacy init config"])
            of_spacy = train_config(where / "config.cfg", where / "model", paths, progress)
            remarks.append(describe_training("Trained spaCy's", of_spacy))
            trained["spaCy"] = (where, config, of_spacy)
        arms, nlp = _score(plan, trained, paths)
        nlp._path = target and target / "model"  # type: ignore[assignment]  # where it'll be
        if target is None:
            nlp.config["paths"].update(train=None, dev=None)
        if not options.textcat:
            remarks.append(_describe_probabilities(nlp, plan, folder / "model"))
        # Page
        mistakes = _mistakes(plan, nlp, paths)
        fitted = Fitted(nlp, target, plan, arms, remarks, mistakes, calibration=calibration)
        fitted = _look_closer(fitted, progress)
        _write_card(folder / "model" / "meta.json", fitted)
        if options.package is not None:
            name = package_name(options.package, options.lang)
            wheel = _make_package(folder, name, options.code)
            fitted = replace(fitted, wheel=None if target is None else target / wheel)
        write_json(folder / "scores.json", fitted.to_json())
        write_json(folder / "fit.json", to_json(options))
        write_bytes(folder / "report.html", fitted.page().encode())
    return fitted


def _calibrate(nlp: Language, paths: Mapping[str, Path]) -> tuple[Optional[Calibration], str]:
    """Turn probabilities on, calibrate them on dev, and tell how far off they are."""
    turn_on_probabilities(nlp, find_recognizer(nlp))
    try:
        calibration = calibrate(nlp, paths["dev"])
    except ValueError as error:  # such as if all entities are right
        return None, str(error)
    where, measured = "dev", calibration
    if "test" in paths:  # dev chose the temperature, so its error is too low
        with suppress(ValueError):  # no entities are found on test
            examples = list(model_examples(nlp, paths["test"]))
            judged = judge_entities(nlp, calibration.component, examples)
            judged = judged._replace(former=calibration.former)
            where, measured = "test", compare(judged, calibration.temperature)
    return measured, (
        f"Calibrated on dev (temperature {calibration.temperature:.2f}): on {where}, probabilities "
        f"are off by {percent(measured.after.error)} points on average, "
        f"{percent(measured.before.error)} before"
    )


def _write_final(nlp: Language, model: Path, corpus: Path, *, compress: bool) -> list[str]:
    """Write the pipeline over what training has written, and tell if it's smaller."""
    size = folder_size(model)
    with replacing_folder(model) as new:
        if compress:
            write_compressed(nlp, new, Precisions())
        else:
            nlp.to_disk(new)
        config = read_config(new / "config.cfg")
        drop_removed_settings(config)
        config["paths"].update({name: str(corpus / f"{name}.spacy") for name in ("train", "dev")})
        config.to_disk(new / "config.cfg", interpolate=False)
    small = folder_size(model)
    return [f"Compressed from {size / MEGA:,.1f} to {small / MEGA:,.1f} MB"] if compress else []


def _score(
    plan: FitPlan, trained: Mapping[str, tuple[Path, Any, History]], paths: Mapping[str, Path]
) -> tuple[list[Arm], Language]:
    """Score all pipelines, and measure their speed in turns. Also return the first one."""
    pipelines = [load_pipeline(folder / "model") for folder, _, _ in trained.values()]
    speeds = tokens_per_second(pipelines, [doc.text for doc in plan.split.docs["dev"]])
    arms = []
    for (name, (folder, config, history)), nlp, speed in zip(
        trained.items(), pipelines, speeds, strict=True
    ):
        settings, size = describe_settings(config), folder_size(folder / "model")
        scores = score_splits(plan, nlp, paths, ("dev", "test"))
        arms.append(Arm(name, settings, scores, history, size, speed))
    return arms, pipelines[0]


def _describe_probabilities(nlp: Language, plan: FitPlan, model: Path) -> str:
    """Say where probabilities are, and what they cost."""
    name, other = find_recognizer(nlp), load_pipeline(model)
    recognizer: Any = nlp.get_pipe(name)
    without: Any = other.get_pipe(name)
    without.spans_key = None
    speeds = tokens_per_second([nlp, other], [doc.text for doc in plan.split.docs["dev"]])
    return (
        f'Probabilities are on: doc.spans["{recognizer.spans_key}"] has the entities, and their '
        f"scores. The pipeline annotates {speeds[0]:,.0f} tokens a second with them, "
        f"{speeds[1]:,.0f} without: spacy.load(MODEL, config={{'components.{name}.spans_key': "
        "None})"
    )


def _mistakes(
    plan: FitPlan, nlp: Language, paths: Mapping[str, Path]
) -> Union[Errors, TextMistakes]:
    """Find the mistakes on dev: test is for the score alone."""
    if plan.options.textcat:
        return text_mistakes(nlp, list(model_examples(nlp, paths["dev"])))
    dev, in_train = (plan.split.docs[name] for name in ("dev", "train"))
    return errors(nlp, dev, train=in_train, explained=EXPLAINED)


def _look_closer(fitted: Fitted, progress: Progress) -> Fitted:
    """Add what more trainings show, cross-validation and the curve, and what to do next."""
    plan, (arm, *others), folds, curve = fitted.plan, fitted.arms, None, None
    if plan.options.curve:
        curve = measure_curve(plan, arm.scores, progress)
    if plan.options.cross_validate and plan.split.is_for_folds:
        recognizer: Any = fitted.nlp.get_pipe(find_recognizer(fitted.nlp))
        done = cross_validate(plan, arm.scores["test"], recognizer.temperature, progress)
        if done is not None:
            scores, folds = done
            arm = replace(arm, scores={**arm.scores, "test": scores})
    where = "train and dev, in cross-validation" if folds else "dev"
    advice = advise(plan, arm.scores, folds or fitted.mistakes, where=where, curve=curve)
    return replace(fitted, arms=[arm, *others], folds=folds, curve=curve, advice=advice)


def _write_card(path: Path, fitted: Fitted) -> None:
    """Write the model card into the meta, from which `spacy package` makes a README."""
    meta = read_json_map(path)
    set_card(meta, fitted.arms[0], fitted.plan, fitted.remarks)
    write_json(path, meta)
    fitted.nlp.meta.update(meta)


def _make_package(folder: Path, name: str, code: Union[str, Path, None]) -> Path:
    """Build a wheel of the pipeline, and return its path in the folder."""
    target = folder / "package"
    build = target / "build"
    build.mkdir(parents=True)
    call = [sys.executable, "-m", "spacy", "package", str(folder.resolve() / "model"), str(build)]
    call += ["--name", name, "--build", "wheel"]
    call += [] if code is None else ["--code", str(Path(code).resolve())]
    done = subprocess.run(call, capture_output=True, text=True)
    wheels = list(build.glob("*/dist/*.whl"))
    if done.returncode or not wheels:
        raise ValueError(f"spacy package failed: {(done.stderr or done.stdout).strip()}")
    wheels[0].rename(target / wheels[0].name)
    rmtree(build)
    return Path("package", wheels[0].name)
