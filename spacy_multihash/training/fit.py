"""From a corpus to a trained pipeline and a report."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import metadata
from itertools import chain
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import spacy
from markupsafe import Markup
from spacy.cli.init_config import init_config as spacy_config
from spacy.cli.package import has_build
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from ..common.files import replacing_folder, write_bytes, write_json
from ..common.load import load_pipeline, naming_config, read_config
from ..common.outputs import check_apart, check_writable, folder_size, paths_in, spacy_command
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from ..common.templates import in_notebook, render
from ..corpus.evaluation import predict, read_known_entities
from ..corpus.read import model_examples, write_corpora
from ..corpus.statistics import CorpusStats, corpus_stats
from ..inspection.errors import errors
from ..ner.calibration import (
    calibrate,
    compare,
    find_recognizer,
    judge_entities,
    turn_on_probabilities,
)
from ..pipelines.compress import Precisions, write_compressed
from ..pipelines.config import drop_removed_settings
from ..pipelines.measure import tokens_per_second
from .corpora import Corpus, Warnings, read_given
from .loop import History
from .loop import train as train_config
from .options import Options
from .report import (
    Arm,
    about_scores,
    comparison_table,
    corpus_table,
    describe_difference,
    duration,
    headline,
    labels_table,
    mistake_rows,
    percent,
    scores_table,
)
from .scores import (
    SplitScores,
    count_docs,
    has_exclusive_labels,
    score_entities,
    score_folds,
    score_texts,
    text_mistakes,
)
from .settings import init_config
from .splits import (
    Split,
    check_docs,
    few_entities,
    rare_labels,
    split_docs,
    split_folds,
    unknown_documents,
)

SPLITS = ("train", "dev", "test")
MISTAKES = 50  # of each kind, in the report
EXPLAINED = 20  # the most confident of them
UNTRAINED = "No step was better than the untrained model. Train longer."
_MEGA = 10**6


@dataclass(frozen=True)
class FitPlan(Result):
    """What `fit` is going to do with a corpus.

    options (Options): How.
    split (Split): The docs of train, dev and test.
    config (Config): The config to train.
    stats (CorpusStats): The counts of the splits.
    warnings (Warnings): What looks wrong in the corpus, with details.
    reasons (Sequence[str]): Why the settings were chosen.
    """

    options: Options
    split: Split = field(repr=False)
    config: Config = field(repr=False)
    name: str
    stats: CorpusStats
    warnings: Warnings
    reasons: Sequence[str]

    def tables(self) -> Iterator[Table]:
        """The splits."""
        yield corpus_table(self.stats)

    def notes(self) -> Iterator[str]:
        """The warnings, and the settings."""
        for title, lines in self.warnings:
            yield "\n".join((title, *lines))
        yield f"Settings: {_summary(self.config)}"


@dataclass(frozen=True)
class Fitted(Result):
    """A trained pipeline, and how good it is.

    nlp (Language): The pipeline.
    output (Optional[Path]): The folder with its files.
    plan (FitPlan): The corpus, the options and the config.
    arms (Sequence[Arm]): Our pipeline, and spaCy's own with `baseline`, with scores by split.
    remarks (Sequence[str]): How training went, and what followed it.
    mistakes (Markup): The mistakes on dev, as HTML.
    wheel (Optional[Path]): The package, if there's one.
    """

    nlp: Language = field(repr=False)
    output: Optional[Path]
    plan: FitPlan
    arms: Sequence[Arm]
    remarks: Sequence[str]
    mistakes: Markup = field(repr=False)
    wheel: Optional[Path] = None

    @property
    def scores(self) -> Mapping[str, SplitScores]:
        """The scores of each split."""
        return self.arms[0].scores

    def tables(self) -> Iterator[Table]:
        """The scores, and both pipelines if there are two."""
        table = scores_table(self.scores)
        yield replace(table, rows=[row for row in table.rows if not row[0].startswith("dev,")])
        if len(self.arms) > 1:
            yield comparison_table(self.arms)

    def notes(self) -> Iterator[str]:
        """How training went, and what the scores mean."""
        yield from self.remarks
        yield from about_scores(self.scores, self.plan.stats)
        if len(self.arms) > 1:
            yield describe_difference(self.arms)

    def to_json(self) -> dict[str, Any]:
        """Return settings, scores, training, size and speed of each pipeline, by its name."""
        arms = [
            replace(arm, scores={name: replace(s, counts=()) for name, s in arm.scores.items()})
            for arm in self.arms
        ]
        return {arm.name: to_json(arm) for arm in arms}

    def page(self) -> str:
        """Return the report, a complete HTML page."""
        plan, arms = self.plan, self.arms
        step, best = arms[0].history.best
        return render(
            "report.html",
            title=f"{plan.name}: {'texts' if plan.options.textcat else 'entities'}",
            about=f"spacy-multihash {metadata.version('spacy-multihash')}, spaCy "
            f"{spacy.__version__}, {_summary(plan.config)}, language {plan.options.lang}",
            headline=headline(arms[0]),
            scores=scores_table(self.scores),
            about_scores=about_scores(self.scores, plan.stats),
            comparison=comparison_table(arms) if len(arms) > 1 else None,
            difference=describe_difference(arms) if len(arms) > 1 else "",
            curves={arm.name: [(i, 100 * f) for i, f in arm.history.curve] for arm in arms},
            about_curve=f"F1 on dev by step of training. The best is {percent(best)}, at step "
            f"{step:,} of {arms[0].history.step:,}.",
            notes=self.remarks,
            labels=labels_table(self.scores, plan.stats),
            corpus=corpus_table(plan.stats),
            warnings=plan.warnings,
            reasons=plan.reasons,
            commands=self.next_commands(),
            mistakes=self.mistakes,
        )

    def _repr_html_(self) -> str:
        return in_notebook(self.page())

    def next_commands(self) -> dict[str, str]:
        """Return commands to go on with, by what they do."""
        if self.output is None:
            return {}
        model, corpus = self.output / "model", self.output / "corpus"
        code = list[Union[str, Path]]()
        if self.plan.options.code is not None:
            code = ["--code", self.plan.options.code]
        found: dict[str, tuple[Union[str, Path], ...]] = {
            "Find the entities of a text:": ("multihash", "show", model, "YOUR TEXT"),
            "Look at all mistakes:": (
                *("multihash", "errors", model, corpus / "dev.spacy"),
                *("--train", corpus / "train.spacy", "--output", "errors.html"),
            ),
        }
        if self.plan.options.textcat:
            texts = ("multihash", "apply", model, "TEXTS", "CLASSIFIED")
            found = {"Classify the texts of a folder:": texts}
        commands = {what: spacy_command(*words, *code) for what, words in found.items()}
        if not has_build():
            commands["Install what builds packages:"] = "python -m pip install build"
        package = ("package", model, ".", "--name", "my_model", "--build", "wheel", *code)
        return {**commands, "Build a package for pip:": spacy_command(*package)}


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


# The corpus and the config


def plan_fit(
    train: Corpus,
    dev: Optional[Corpus] = None,
    test: Optional[Corpus] = None,
    **options: Any,  # noqa: ANN401
) -> FitPlan:
    """Read and split a corpus, look for mistakes in it, and choose settings, without training.

    The arguments are those of `fit`.
    """
    how, vocab = Options(**options), Vocab()
    if how.group is not None and dev is not None and test is not None:
        raise ValueError("--group is for splitting. Leave it out, or give no --dev or --test.")
    given = {
        name: read_given(corpus, name, how, vocab)
        for name, corpus in (("train", train), ("dev", dev), ("test", test))
        if corpus is not None
    }
    docs = {name: corpus.docs for name, corpus in given.items()}
    names = {name: corpus.name for name, corpus in given.items()}
    split = split_docs(docs, how, given["train"].groups, names["train"])
    check_docs(split.docs, names, how)
    with TemporaryDirectory() as folder:
        paths = write_splits(Path(folder), split.docs)
        stats = corpus_stats(*paths.values(), lang=how.lang)
        config, reasons = _choose_config(how, paths)
    titles = [*stats.warnings(), *rare_labels(stats)]
    if not how.textcat:
        titles += [*few_entities(stats), *unknown_documents(stats, split.by)]
    warnings = [*chain(*(corpus.warnings for corpus in given.values()))]
    warnings += [(title, ()) for title in titles]
    config = complete_config(config, how.settings, how.seed)
    return FitPlan(how, split, config, Path(names["train"]).name, stats, warnings, reasons)


def write_splits(folder: Path, docs: Mapping[str, Sequence[Doc]]) -> dict[str, Path]:
    """Write corpora as FOLDER/NAME.spacy, and return their paths."""
    write_corpora(folder, {name: DocBin(docs=of_split) for name, of_split in docs.items()})
    return {name: folder / f"{name}.spacy" for name in docs}


def _choose_config(options: Options, paths: Mapping[str, Path]) -> tuple[Config, list[str]]:
    """Choose the settings for corpora, and give the reasons."""
    if not options.textcat:
        chosen = init_config(
            "ner",
            options.lang,
            train=paths["train"],
            dev=paths["dev"],
            vectors=options.vectors,
            max_size=options.max_size,
        )
        return chosen.config, [*chosen.reasons]
    docs = DocBin().from_disk(paths["train"]).get_docs(Vocab())
    is_exclusive = has_exclusive_labels(doc.cats for doc in docs)
    kind: Any = "textcat" if is_exclusive else "textcat_multilabel"
    number = "one label" if is_exclusive else "any number of labels"
    reasons = [f"{kind}: each text of train has {number}"]
    if options.vectors is None:
        reasons.append("TextCatBOW, spaCy's: as good on AG News as our n-grams, a third the size")
    return init_config(kind, options.lang, vectors=options.vectors).config, reasons


def complete_config(config: Config, settings: Mapping[str, Any], seed: int) -> Config:
    """Set the seed and other settings. Raises ValueError for settings that there aren't."""
    config["system"]["seed"] = seed
    names = list(_names(config))
    for name in settings:
        if name not in names:
            near = [f" Did you mean --{other}?" for other in get_close_matches(name, names, 1)]
            raise ValueError(f"There's no option or setting --{name}.{''.join(near)}")
    text = config.to_str(interpolate=False)
    config = Config().from_str(text, interpolate=False, overrides=dict(settings))
    training = config.interpolate()["training"]
    if 0 < training["max_steps"] < training["eval_frequency"]:  # the last step would go unscored
        config["training"]["eval_frequency"] = training["max_steps"]
    return config


def _names(section: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the names of all sections and settings, such as training.seed."""
    for name, value in section.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{name}.")


def _summary(config: Config) -> str:
    """Say in a line what was chosen."""
    if "textcat" in config["components"]:
        return describe_settings(config)["model"]
    embed = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    return f"{embed['@architectures'].split('.')[1]} of {', '.join(embed['attrs'])}"


def describe_settings(config: Config) -> dict[str, str]:
    """Name the settings of a config that matter in a comparison."""
    config = config.interpolate()
    names = [name for name in config["nlp"]["pipeline"] if name != "tok2vec"]
    components = [config["components"][name] for name in names]
    architectures = dict.fromkeys(
        section["@architectures"].split(".")[1]
        for section in _sections(config["components"])
        if "attrs" in section or ".TextCat" in section.get("@architectures", "")
    )
    patience = config["training"]["patience"]
    return {
        "model": ", ".join([*(component["factory"] for component in components), *architectures]),
        "static vectors": config["paths"]["vectors"] or "none",
        "patience": f"{patience:,} steps" if patience else "none",
    }


def _sections(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a section and all that are in it, the outer ones first."""
    yield config
    for section in config.values():
        if isinstance(section, dict):
            yield from _sections(section)


# Training


def fit_plan(
    plan: FitPlan, *, output: Union[str, Path, None] = None, progress: Progress = no_progress
) -> Fitted:
    """Train, score and calibrate what `plan_fit` has planned. See `fit` for the arguments."""
    options, target = plan.options, None if output is None else Path(output)
    with ExitStack() as stack:
        if target is None:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        else:
            folder = stack.enter_context(replacing_folder(target))
            folder.mkdir()
        paths = write_splits(folder / "corpus", plan.split.docs)
        final = (target or folder) / "corpus"
        _write_config(folder / "config.cfg", plan.config, final, plan.reasons)
        history = _train(folder / "config.cfg", folder / "model", paths, progress)
        remarks = [_describe_training("Trained", history)]
        if history.best[0] == 0:
            remarks.append(UNTRAINED)
        remarks += _finish(plan, folder, paths, final)
        trained = {"ours": (folder, plan.config, history)}
        if options.baseline:
            config = spacys_config(plan)
            where = folder / "baseline"
            _write_config(where / "config.cfg", config, final, ["spacy init config"])
            of_spacy = _train(where / "config.cfg", where / "model", paths, progress)
            remarks.append(_describe_training("Trained spaCy's", of_spacy))
            trained["spaCy"] = (where, config, of_spacy)
        pipelines = [load_pipeline(where / "model") for where, _, _ in trained.values()]
        texts = [doc.text for doc in plan.split.docs["dev"]]
        if options.textcat:
            speeds = tokens_per_second(pipelines, texts)
        else:
            *speeds, without = tokens_per_second(
                [*pipelines, _without_probabilities(folder / "model")], texts
            )
            remarks.append(_describe_probabilities(pipelines[0], speeds[0], without))
        arms = [
            Arm(
                name,
                describe_settings(config),
                _score(plan, nlp, paths),
                of_arm,
                folder_size(where / "model"),
                speed,
            )
            for (name, (where, config, of_arm)), nlp, speed in zip(
                trained.items(), pipelines, speeds, strict=True
            )
        ]
        arms[0] = _cross_validated(plan, arms[0], progress)
        mistakes = _mistakes(plan, pipelines[0], paths)
        fitted = Fitted(pipelines[0], target, plan, arms, remarks, mistakes)
        if options.package is not None:
            wheel = _make_package(folder, options.package, options.code)
            fitted = replace(fitted, wheel=None if target is None else target / wheel)
        write_json(folder / "scores.json", fitted.to_json())
        write_json(folder / "fit.json", to_json(options))
        write_bytes(folder / "report.html", fitted.page().encode())
    return fitted


def _write_config(path: Path, config: Config, corpus: Path, reasons: Sequence[str]) -> None:
    """Write a config for the corpora in a folder, with reasons as comments."""
    config["paths"].update({name: str(corpus / f"{name}.spacy") for name in ("train", "dev")})
    header = "".join(f"# {line}\n" for line in reasons)
    write_bytes(path, f"{header}\n{config.to_str(interpolate=False)}\n".encode())


def _train(path: Path, model: Path, corpora: Mapping[str, Path], progress: Progress) -> History:
    paths = {f"paths.{name}": str(corpora[name]) for name in ("train", "dev")}
    with naming_config(path):
        return train_config(read_config(path, paths), model, progress)


def _describe_training(what: str, history: History) -> str:
    step, score = history.best
    stopped = ", and was interrupted" if history.interrupted else ""
    return (
        f"{what} {history.step:,} steps in {duration(history.seconds)}{stopped}: F1 "
        f"{percent(score)} on dev at step {step:,}"
    )


def spacys_config(plan: FitPlan) -> Config:
    """Return spaCy's own config, with the same static vectors, tokenizer and limits of training."""
    options, ours = plan.options, plan.config
    vectors = ours["paths"]["vectors"]
    kind = ours["components"]["textcat"]["factory"] if options.textcat else "ner"
    # spaCy's classifier for efficiency has no place for vectors.
    optimize = "accuracy" if vectors and options.textcat else "efficiency"
    config = spacy_config(
        lang=options.lang, pipeline=[kind], optimize=optimize, gpu=False, silent=True
    )
    if vectors:
        config["paths"]["vectors"] = vectors
        config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    config["training"]["score_weights"] = ours["training"]["score_weights"]
    kept = ("nlp.tokenizer.", "training.max_", "training.eval_")
    settings = {name: value for name, value in options.settings.items() if name.startswith(kept)}
    return complete_config(config, settings, options.seed)


def _finish(plan: FitPlan, folder: Path, paths: Mapping[str, Path], corpus: Path) -> list[str]:
    """Calibrate the pipeline, compress it if that's wanted, and describe both."""
    model, notes = folder / "model", list[str]()
    nlp = load_pipeline(model)
    if not plan.options.textcat:
        notes.append(_calibrate(nlp, paths))
    size = folder_size(model)
    with replacing_folder(model) as new:
        if plan.options.compress:
            write_compressed(nlp, new, Precisions())
        else:
            nlp.to_disk(new)
        config = read_config(new / "config.cfg")
        drop_removed_settings(config)
        config["paths"].update({name: str(corpus / f"{name}.spacy") for name in ("train", "dev")})
        config.to_disk(new / "config.cfg", interpolate=False)
    if plan.options.compress:
        small = folder_size(model)
        notes.append(f"Compressed from {size / _MEGA:,.1f} to {small / _MEGA:,.1f} MB")
    return notes


def _calibrate(nlp: Language, paths: Mapping[str, Path]) -> str:
    """Calibrate a pipeline on dev, and tell how far off its probabilities are.

    Probabilities are on in any case, so that the pipeline serves them.
    """
    turn_on_probabilities(nlp, find_recognizer(nlp))
    try:
        calibration = calibrate(nlp, paths["dev"])
    except ValueError as error:  # such as if all entities are right
        return str(error)
    name = calibration.component
    where, measured = "dev", calibration
    if "test" in paths:  # dev chose the temperature, so its error is too low
        with suppress(ValueError):  # no entities are found on test
            judged = judge_entities(nlp, name, list(model_examples(nlp, paths["test"])))
            where, measured = "test", compare(judged, calibration.temperature)
    return (
        f"Calibrated on dev (temperature {calibration.temperature:.2f}): on {where}, probabilities "
        f"are off by {percent(measured.after.error)} points on average, "
        f"{percent(measured.before.error)} before"
    )


def _without_probabilities(model: Path) -> Language:
    """Load a pipeline that gives no probabilities."""
    nlp = load_pipeline(model)
    recognizer: Any = nlp.get_pipe(find_recognizer(nlp))
    recognizer.spans_key = None
    return nlp


def _describe_probabilities(nlp: Language, speed: float, without: float) -> str:
    """Say where probabilities are, and what they cost."""
    name = find_recognizer(nlp)
    recognizer: Any = nlp.get_pipe(name)
    return (
        f'Probabilities are on: doc.spans["{recognizer.spans_key}"] has the entities, and their '
        f"scores. The pipeline annotates {speed:,.0f} tokens a second with them, {without:,.0f} "
        f"without: spacy.load(MODEL, config={{'components.{name}.spans_key': None}})"
    )


# The scores


def _score(plan: FitPlan, nlp: Language, paths: Mapping[str, Path]) -> dict[str, SplitScores]:
    """Score a pipeline on dev, and on test if it exists."""
    splits = [name for name in SPLITS[1:] if name in paths]
    examples = {name: list(model_examples(nlp, paths[name])) for name in splits}
    if plan.options.textcat:
        return {name: score_texts(nlp, of_split) for name, of_split in examples.items()}
    in_train = read_known_entities(paths["train"], nlp.vocab)
    split = plan.split
    return {
        name: score_entities(
            nlp,
            of_split,
            in_train,
            regions=split.regions.get(name, ()),
            by=split.by,
            repeats=plan.stats.repeats if name in split.regions else None,
        )
        for name, of_split in examples.items()
    }


def _cross_validated(plan: FitPlan, ours: Arm, progress: Progress) -> Arm:
    """Replace the scores to expect on new texts by those of cross-validation, for small corpora."""
    split = plan.split
    if not (split.groups and plan.options.cross_validate):
        return ours
    in_order = dict[int, Doc]()
    for name, places in split.places.items():
        in_order |= zip(places, split.docs[name], strict=True)
    docs = [in_order[i] for i in range(len(in_order))]
    folds = split_folds(docs, split.groups, split.by, plan.options.seed)
    counts, of_docs = list[list[list[int]]](), list[int]()
    for of_fold, regions in progress(folds, desc="Cross-validation", unit=" folds"):
        counts += _count_fold(plan, of_fold)
        of_docs += regions
    scores = {**ours.scores, "test": score_folds(ours.scores["test"], counts, of_docs)}
    return replace(ours, scores=scores) if counts else ours


def _count_fold(plan: FitPlan, docs: Mapping[str, list[Doc]]) -> list[list[list[int]]]:
    """Train on a fold with the plan's settings, and count the entities of its test docs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_splits(folder, docs)
        config = plan.config.copy()
        config["paths"].update({name: str(paths[name]) for name in ("train", "dev")})
        train_config(config, folder / "model")
        nlp = load_pipeline(folder / "model")
        examples = list(model_examples(nlp, paths["test"]))
        predict(nlp, examples)
        return count_docs(examples, read_known_entities(paths["train"], nlp.vocab))


def _mistakes(plan: FitPlan, nlp: Language, paths: Mapping[str, Path]) -> Markup:
    """Show the mistakes on dev: test is for the score alone."""
    if not plan.options.textcat:
        dev, in_train = (plan.split.docs[name] for name in ("dev", "train"))
        return errors(nlp, dev, train=in_train, explained=EXPLAINED).fragment(MISTAKES)
    wrong = text_mistakes(nlp, list(model_examples(nlp, paths["dev"])))
    table = Table("", ("sure", "predicted", "gold", "text"), mistake_rows(wrong[:MISTAKES]), "rlll")
    return render("text_mistakes.html", table=table, number=len(wrong))


def _make_package(folder: Path, name: str, code: Optional[Path]) -> Path:
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
