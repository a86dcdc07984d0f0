"""`python -m spacy multihash fit`: from a corpus to a trained pipeline and a report."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from difflib import get_close_matches
from importlib import metadata
from itertools import chain
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Optional, Union

import spacy
import typer
from spacy.cli.init_config import init_config as spacy_config
from spacy.cli.package import has_build, has_wheel
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config
from tqdm import tqdm

from ..common.files import replacing_folder, write_bytes, write_json
from ..common.load import load_pipeline, naming_config, read_config
from ..common.outputs import folder_size
from ..corpus.convert import Reading, convert
from ..corpus.evaluation import predict, read_known_entities
from ..corpus.read import model_examples, read_docs, write_corpora
from ..corpus.splits import FOLDS, SPLITS
from ..corpus.statistics import CorpusStats, Repeats, corpus_stats
from ..fit.report import (
    SCORES_HEADER,
    Arm,
    Warnings,
    about_scores,
    comparison_table,
    corpus_table,
    describe_difference,
    duration,
    percent,
    render_report,
    render_text_mistakes,
    score_rows,
)
from ..fit.run import Options, Run
from ..fit.scores import (
    SplitScores,
    count_docs,
    has_exclusive_labels,
    score_entities,
    score_folds,
    score_texts,
    text_mistakes,
)
from ..fit.splits import (
    MAX_FOLDED,
    check_docs,
    few_entities,
    groups_of,
    rare_labels,
    split_docs,
    split_folds,
    unknown_documents,
)
from ..fit.training import History, train
from ..inspection.errors import errors
from ..inspection.page import Html
from ..ner.calibration import calibrate, compare, judge_entities
from ..pipelines.compare import tokens_per_second
from ..pipelines.compress import Precisions, write_compressed
from ..pipelines.config import drop_removed_settings
from ._util import (
    CODE,
    GPU_ID,
    failing,
    import_code,
    msg,
    parse_overrides,
    path_argument,
    show_table,
    spacy_command,
)
from .init_config import MAX_SIZE, init_config, parse_size, recommend_config

MISTAKES = 50  # of each kind, in the report
EXPLAINED = 20  # the most confident of them
UNTRAINED = "No step was better than the untrained model. Train longer."
_MEGA = 10**6
_Fold = tuple[dict[str, list[Doc]], list[int]]
_CONVERT = "use python -m spacy multihash convert, and fit the file that it writes."
BAR = "{desc} {bar} {n_fmt} of {total_fmt} steps, {remaining} left{postfix}"


def fit_cli(
    ctx: typer.Context,
    data: Path = typer.Argument(
        ..., help="Corpus: a .spacy file, or a file that convert reads", exists=True
    ),
    dev: Optional[Path] = typer.Option(
        None, help="Corpus to choose the best step on. Default: a part of DATA", exists=True
    ),
    test: Optional[Path] = typer.Option(
        None,
        help="Corpus to score at the end. Default: a part of DATA, or none with --dev",
        exists=True,
    ),
    group: Optional[str] = typer.Option(
        None,
        help="What names the document of a text, so that its texts stay together: a key of JSON, a "
        "column of CSV, the number of a column or the key of comments of CoNLL, or a key of "
        "doc.user_data. Default: keys such as doc_id, and comments such as newdoc",
    ),
    lang: str = typer.Option(..., "--lang", "-l", help="Language, such as en, or xx for any"),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False),
    textcat: bool = typer.Option(False, "--textcat", help="Classify texts. Default: find entities"),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors, used if they have most words: a package, or a pipeline's path"
    ),
    max_size: Optional[str] = typer.Option(
        None,
        help=f"Maximum parameters of the embedding's tables, e.g. 500K or 5M. Default: {MAX_SIZE}",
    ),
    small: bool = typer.Option(False, "--compress", help="Make the files of the pipeline small"),
    package: Optional[str] = typer.Option(
        None, help="Also build a wheel of this name, such as my_ner, that pip installs"
    ),
    baseline: bool = typer.Option(
        False, "--baseline", help="Also train spaCy's own config with the same vectors, to compare"
    ),
    cross_validate: bool = typer.Option(
        True,
        help="Without --dev and --test, score a corpus of at most "
        f"{MAX_FOLDED:,} tokens by cross-validation, with {FOLDS} more trainings",
    ),
    seed: int = typer.Option(0, help="Seed of the split and the training"),
    force: bool = typer.Option(
        False, "--force", "-f", help="Start over if OUTPUT has a run with other options"
    ),
    gpu_id: int = GPU_ID,
    code: Optional[Path] = CODE,
) -> None:
    """Train a pipeline on your own corpus, and report how good it is.

    Converts and splits DATA, points out what looks wrong in it, chooses settings, trains, scores
    on dev and test, and calibrates. OUTPUT gets the pipeline (model), its config.cfg, the corpus,
    scores.json, and report.html, which opens in any browser.

    Ctrl-C keeps the best model so far. To go on, run the same command. To override settings of the
    config, add them, as in --training.max_steps 1000.

    DOCS: python -m pydoc spacy_multihash.cli.fit
    """
    import_code(code)
    options = Options(
        data=data,
        dev=dev,
        test=test,
        lang=lang,
        textcat=textcat,
        vectors=vectors,
        max_size=max_size,
        compress=small,
        seed=seed,
        code=code,
        overrides=parse_overrides(ctx),
        group=group,
    )
    with failing(f"Cannot fit a pipeline to {data}"):
        if gpu_id >= 0:
            spacy.require_gpu(gpu_id)
        run = Run(output, options, force=force)
        try:
            fit(run, package=package, baseline=baseline, cross_validate=cross_validate)
        except KeyboardInterrupt:
            _show_interrupted(run)
            raise typer.Exit(130) from None


def fit(
    run: Run,
    *,
    package: Optional[str] = None,
    baseline: bool = False,
    cross_validate: bool = True,
) -> None:
    """Take all steps that aren't done, and print their results.

    Raises ImportError, OSError or ValueError if a step fails. Steps before it stay done.
    """
    check_options(run.options, package)
    _show_done(run)
    problems, reasons = run.step("corpus and config", prepare)
    paths = {name: run.corpus(name) for name in SPLITS}
    existing = [path if path.is_file() else None for path in paths.values()]
    stats = corpus_stats(paths["train"], *existing[1:], lang=run.options.lang)
    warnings = [*problems, *((title, []) for title in _warnings(run, stats))]
    show_table("Corpus", *corpus_table(stats))
    for title, lines in warnings:
        msg.warn(title)
        for line in lines:
            typer.echo(line)

    msg.info(f"Settings: {summarize_config(run)} (why: {run.config})")

    trained = run.step("training", train_pipeline, run.config, run.model)
    _show_training(run.model, "Trained", trained)
    notes = run.step("finish", finish)
    for note in notes:
        msg.info(note)

    if baseline:
        trained = run.step("baseline", train_baseline)
        _show_training(run.baseline / "model", "Trained spaCy's", trained)

    if cross_validate:
        train_folds(run)
    rows = run.step(_report_name(run), make_report, stats, warnings, reasons, notes)
    show_table("Scores", SCORES_HEADER, rows["scores"])
    for line in rows.get("about", ()):  # not in runs of version 1.0
        msg.text(line)
    if "difference" in rows:
        show_table("Beside spaCy's own", *rows["comparison"])
        msg.text(rows["difference"])

    if package is not None:
        wheel = run.step(f"package {package}", make_package, package)
        msg.good(f"Built {wheel}")
    msg.good(f"Wrote {run.folder / 'report.html'}, and the pipeline to {run.model}")
    msg.text("Go on with:")
    for shown in next_commands(run).values():
        typer.echo(f"    {shown}")


def _warnings(run: Run, stats: CorpusStats) -> list[str]:
    titles = [*stats.warnings(), *rare_labels(stats)]
    if not run.options.textcat:
        by = run.record["done"].get("split", {}).get("by")
        titles += [*few_entities(stats), *unknown_documents(stats, by)]
    return titles


def check_options(options: Options, package: Optional[str]) -> None:
    """Raise ValueError early for options that would fail at the end."""
    try:
        spacy.blank(options.lang)
    except ImportError as error:
        raise ValueError(
            f"--lang must be a language of spaCy, such as en, or xx for any, got {options.lang!r}."
        ) from error
    if options.textcat and options.max_size is not None:
        raise ValueError("--max-size is for entities. Leave it out with --textcat.")
    parse_size(options.max_size or MAX_SIZE)
    if package is None:
        return
    if not (package.isidentifier() and package.isascii()):
        raise ValueError(f"--package must be a name of letters, digits and _, got {package!r}.")
    if not (has_build() or has_wheel()):
        raise ValueError("--package needs the package build: python -m pip install build")


# The corpus and the config


def prepare(run: Run) -> tuple[Warnings, list[str]]:
    """Write the corpora and the config.

    Returns the problems of lines of corpora, and the reasons for the settings of the config.
    """
    options, vocab = run.options, Vocab()
    given = {"train": options.data, "dev": options.dev, "test": options.test}
    problems: list[tuple[str, Sequence[str]]] = []
    docs, groups = {}, list[str]()
    with replacing_folder(run.folder / "corpus") as new:
        new.mkdir()
        for name, path in given.items():
            if path is not None:
                group = options.group if name == "train" else None
                source, of_file, of_docs = _converted(
                    path, new / f"{name}.spacy", options.lang, group
                )
                problems += of_file
                docs[name] = list(read_docs(source, vocab))
                if name == "train":
                    groups = of_docs or groups_of(docs[name], path, group)
        split = split_docs(docs, options, groups)
        docs = dict(split.docs)
        run.record["done"]["split"] = {
            "regions": split.regions,
            "by": split.by,
            "groups": split.groups,
            "places": split.places,
        }
        check_docs(docs, options)
        write_corpora(new, {name: DocBin(docs=of_split) for name, of_split in docs.items()})
        config, reasons = choose_config(options, new / "train.spacy", new / "dev.spacy")
        text = complete_config(run, config, options.overrides, reasons)
        run.clear()
    write_bytes(run.config, text)
    return problems, reasons


def _converted(
    path: Path, target: Path, lang: str, group: Optional[str]
) -> tuple[Path, Warnings, list[str]]:
    """Return a corpus as a .spacy file, converted if needed, problems of its lines, and groups."""
    if path.suffix == ".spacy" or (path.is_dir() and any(path.glob("**/*.spacy"))):
        return path, [], []
    try:
        done = convert(path, target, reading=Reading(group=group), lang=lang)
    except ValueError as error:
        raise ValueError(f"{error}\nTo name a format or other options, {_CONVERT}") from error
    return target, done.problems(), list(done.groups)


def choose_config(options: Options, train: Path, dev: Path) -> tuple[Config, list[str]]:
    """Choose the settings for corpora, and give the reasons."""
    if options.textcat:
        is_exclusive = has_exclusive_labels(doc.cats for doc in read_docs(train, Vocab()))
        number = "one label" if is_exclusive else "any number of labels"
        config = init_config(
            "textcat" if is_exclusive else "textcat_multilabel",
            options.lang,
            vectors=options.vectors,
        )
        kind = config["components"]["textcat"]["factory"]
        reasons = [f"{kind}: each text of train has {number}"]
        if options.vectors is None:
            reasons.append(
                "TextCatBOW, spaCy's: as good on AG News as our n-grams, a third the size"
            )
        return config, reasons
    max_size = parse_size(options.max_size or MAX_SIZE)
    return recommend_config(options.lang, train, dev, vectors=options.vectors, max_size=max_size)


def complete_config(
    run: Run, config: Config, overrides: Mapping[str, Any], reasons: Sequence[str]
) -> bytes:
    """Complete a config for the run's corpora, with reasons as comments."""
    config["paths"].update({name: str(run.corpus(name)) for name in ("train", "dev")})
    config["system"]["seed"] = run.options.seed
    check_overrides(overrides, config)
    text = config.to_str(interpolate=False)
    config = Config().from_str(text, interpolate=False, overrides=dict(overrides))
    training = config.interpolate()["training"]
    if 0 < training["max_steps"] < training["eval_frequency"]:  # the last step would go unscored
        config["training"]["eval_frequency"] = training["max_steps"]
    header = "".join(f"# {line}\n" for line in reasons)
    return f"{header}\n{config.to_str(interpolate=False)}\n".encode()


def check_overrides(overrides: Mapping[str, Any], config: Config) -> None:
    """Raise ValueError for settings that a complete config doesn't have."""
    settings = list(_settings(config))
    for name in overrides:
        if name not in settings:
            near = [f" Did you mean --{other}?" for other in get_close_matches(name, settings, 1)]
            raise ValueError(f"There's no option or setting --{name}.{''.join(near)}")


def _settings(section: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the names of all sections and settings, such as training.seed."""
    for name, value in section.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.")


def summarize_config(run: Run) -> str:
    """Say in a line what was chosen."""
    if run.options.textcat:
        return describe_settings(run.config)["model"]
    embed = read_config(run.config)["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    name = embed["@architectures"].split(".")[1]
    return f"{name} of {', '.join(embed['attrs'])}"


# Training


def train_pipeline(run: Run, config_path: Path, model: Path) -> dict[str, Any]:
    """Train a pipeline, or go on with it, with a progress bar."""
    paths = {f"paths.{name}": str(run.corpus(name)) for name in ("train", "dev")}
    config = read_config(config_path, paths)
    bar = tqdm(desc="Training", bar_format=BAR, leave=False, disable=None, smoothing=0.1)

    def show(history: History, last: Optional[int]) -> None:
        if run.in_training is None:
            bar.initial = history.step
        run.in_training = model, history
        bar.total, bar.n = last, history.step
        step, score = history.best
        bar.set_postfix_str(f"best F1 {percent(score)} at step {step:,}", refresh=False)
        bar.update(0)
        if bar.disable and history.curve[-1][0] == history.step:  # as in the log of a server
            step, score = history.curve[-1]
            spent = duration(history.seconds)
            typer.echo(f"step {step:,}: F1 {percent(score)} on dev, {spent}", err=True)

    with bar, naming_config(config_path):
        history = train(config, model, _checkpoint(model), show)
    run.in_training = None
    return vars(history)


def folds_of(run: Run) -> list[_Fold]:
    """Split a small corpus for cross-validation: the docs of each fold, and the regions of test."""
    split = run.record["done"].get("split", {})
    if not split.get("groups"):
        return []
    vocab, docs = Vocab(), dict[int, Doc]()
    for name, places in split["places"].items():
        docs |= zip(places, read_docs(run.corpus(name), vocab), strict=True)
    in_order = [docs[i] for i in range(len(docs))]
    return split_folds(in_order, split["groups"], split["by"], run.options.seed)


def train_folds(run: Run) -> None:
    """Train on each fold that isn't done, with a progress bar."""
    folds = folds_of(run)
    missing = sum(f"fold {i + 1}" not in run.record["done"] for i in range(len(folds)))
    if missing:
        msg.info(f"Cross-validation: {missing} more trainings (to skip them: --no-cross-validate)")
    folds = tqdm(folds, "Cross-validation", leave=False, disable=None)
    for i, (docs, regions) in enumerate(folds):
        run.step(f"fold {i + 1}", train_fold, docs, regions)


def _report_name(run: Run) -> str:
    additions = {"baseline": ", with baseline", "fold 1": ", cross-validated"}
    done = run.record["done"]
    return "report" + "".join(text for step, text in additions.items() if step in done)


def train_fold(run: Run, docs: Mapping[str, list[Doc]], regions: list[int]) -> dict[str, Any]:
    """Train on a fold with the run's settings, and count the entities of its test docs."""
    with TemporaryDirectory() as name, naming_config(run.config):
        folder = Path(name)
        write_corpora(folder, {split: DocBin(docs=of_split) for split, of_split in docs.items()})
        paths = {f"paths.{split}": str(folder / f"{split}.spacy") for split in ("train", "dev")}
        train(read_config(run.config, paths), folder / "model", folder / "training.npz")
        nlp = load_pipeline(folder / "model")
        examples = list(model_examples(nlp, folder / "test.spacy"))
        predict(nlp, examples)
        known = read_known_entities(folder / "train.spacy", nlp.vocab)
    return {"counts": count_docs(examples, known), "regions": regions}


def train_baseline(run: Run) -> dict[str, Any]:
    """Train spaCy's own config, with the same static vectors, tokenizer and limits of training."""
    ours = read_config(run.config)
    vectors = ours.interpolate()["paths"]["vectors"]
    kind = ours["components"]["textcat"]["factory"] if run.options.textcat else "ner"
    # spaCy's classifier for efficiency has no place for vectors.
    optimize = "accuracy" if vectors and run.options.textcat else "efficiency"
    config = spacy_config(
        lang=run.options.lang, pipeline=[kind], optimize=optimize, gpu=False, silent=True
    )
    if vectors:
        config["paths"]["vectors"] = vectors
        config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] = True
    config["training"]["score_weights"] = ours["training"]["score_weights"]
    path = run.baseline / "config.cfg"
    overrides = {
        name: value
        for name, value in run.options.overrides.items()
        if name.startswith(("nlp.tokenizer.", "training.max_", "training.eval_"))
    }
    reasons = [f"spacy init config --pipeline {kind} --optimize {optimize}"]
    write_bytes(path, complete_config(run, config, overrides, reasons))
    return train_pipeline(run, path, run.baseline / "model")


def describe_settings(path: Path) -> dict[str, str]:
    """Name the settings of a config that matter in a comparison."""
    config = read_config(path, interpolate=True)
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


def _checkpoint(model: Path) -> Path:
    """Return the file for the state of a model's training."""
    return model.with_name("training.npz")


def _show_training(model: Path, what: str, trained: Mapping[str, Any]) -> None:
    """Print the result of training, and delete its checkpoint."""
    _checkpoint(model).unlink(missing_ok=True)
    history = History(**trained)
    step, score = history.best
    msg.good(
        f"{what} {history.step:,} steps in {duration(history.seconds)}: F1 {percent(score)} on "
        f"dev at step {step:,}"
    )
    if step == 0:
        msg.warn(UNTRAINED)


def _show_done(run: Run) -> None:
    """Name the steps whose results are read."""
    if done := [name for name in run.record["done"] if name != "split"]:
        msg.info(f"Done before, and read from {run.record_path}: {', '.join(done)}")


def _show_interrupted(run: Run) -> None:
    """Describe the state of an interrupted run."""
    state = ""
    if run.in_training is not None:
        model, history = run.in_training
        step, score = history.best
        state = f"The best model so far is in {model}: F1 {percent(score)} at step {step:,}. "
        state += "" if step else f"{UNTRAINED} "
    msg.warn("Stopped", f"{state}To go on, run the same command.")


def finish(run: Run) -> list[str]:
    """Calibrate the pipeline, compress it if --compress is set, and describe both."""
    nlp = load_pipeline(run.model)
    notes = [] if run.options.textcat else _calibrate(run, nlp)
    size = folder_size(run.model)
    with replacing_folder(run.model) as new:
        if run.options.compress:
            write_compressed(nlp, new, Precisions())
        else:
            nlp.to_disk(new)
        config = read_config(new / "config.cfg")
        drop_removed_settings(config)
        config.to_disk(new / "config.cfg", interpolate=False)
    if run.options.compress:
        small = folder_size(run.model)
        notes.append(f"Compressed from {size / _MEGA:,.1f} to {small / _MEGA:,.1f} MB")
    return notes


def _calibrate(run: Run, nlp: Language) -> list[str]:
    try:
        calibration = calibrate(nlp, run.corpus("dev"))
    except ValueError as error:  # such as if all entities are right
        return [str(error)]
    where, measured = "dev", calibration
    if run.corpus("test").is_file():  # dev chose the temperature, so its error is too low
        with suppress(ValueError):  # no entities are found on test
            examples = list(model_examples(nlp, run.corpus("test")))
            judged = judge_entities(nlp, calibration.component, examples)
            judged = judged._replace(former=calibration.former)
            where, measured = "test", compare(judged, calibration.temperature)
    return [
        f"Calibrated on dev (temperature {calibration.temperature:.2f}): on {where}, probabilities "
        f"are off by {percent(measured.after.error)} points on average, "
        f"{percent(measured.before.error)} before"
    ]


# The report


def make_report(
    run: Run, stats: CorpusStats, warnings: Warnings, reasons: Sequence[str], notes: Sequence[str]
) -> dict[str, Any]:
    """Score, write scores.json and report.html, and return the rows to print."""
    done, models = run.record["done"], {"ours": ("training", run.model)}
    configs = {"ours": run.config, "spaCy": run.baseline / "config.cfg"}
    if "baseline" in done:
        models["spaCy"] = ("baseline", run.baseline / "model")
    pipelines = [load_pipeline(path) for _, path in models.values()]
    texts = [doc.text for doc in read_docs(run.corpus("dev"), Vocab())]
    speeds = tokens_per_second(pipelines, texts)
    arms = [
        Arm(
            name,
            describe_settings(configs[name]),
            score(run, nlp, stats.repeats, is_ours=name == "ours"),
            History(**done[step]),
            folder_size(path),
            speed,
        )
        for (name, (step, path)), nlp, speed in zip(models.items(), pipelines, speeds, strict=True)
    ]
    task = "texts" if run.options.textcat else "entities"
    page = render_report(
        f"{run.options.data.name}: {task}",
        f"spacy-multihash {metadata.version('spacy-multihash')}, spaCy {spacy.__version__}, "
        f"{summarize_config(run)}, language {run.options.lang}",
        arms,
        stats=stats,
        warnings=warnings,
        reasons=reasons,
        notes=notes,
        mistakes=show_mistakes(run, pipelines[0]),
        commands=next_commands(run),
    )
    write_bytes(run.folder / "report.html", page)
    rows = [row for row in score_rows(arms[0].scores) if not row[0].startswith("dev,")]
    printed: dict[str, Any] = {"scores": rows, "about": about_scores(arms[0].scores, stats)}
    if len(arms) > 1:
        printed["comparison"] = comparison_table(arms)
        printed["difference"] = describe_difference(arms)
    without_counts = [
        replace(arm, scores={name: replace(s, counts=()) for name, s in arm.scores.items()})
        for arm in arms
    ]
    write_json(run.folder / "scores.json", {arm.name: asdict(arm) for arm in without_counts})
    return printed


def score(
    run: Run, nlp: Language, repeats: Optional[Repeats], *, is_ours: bool = True
) -> dict[str, SplitScores]:
    """Score a pipeline on dev, and on test if it exists.

    repeats (Optional[Repeats]): The repeats in train.
    is_ours (bool): Whether the folds of cross-validation are of such pipelines.
    """
    splits = [name for name in ("dev", "test") if run.corpus(name).is_file()]
    examples = {name: list(model_examples(nlp, run.corpus(name))) for name in splits}
    if run.options.textcat:
        return {name: score_texts(nlp, of_split) for name, of_split in examples.items()}
    in_train = read_known_entities(run.corpus("train"), nlp.vocab)
    done = run.record["done"]
    split = done.get("split", {})
    regions = split.get("regions", {})
    scores = {
        name: score_entities(
            nlp,
            of_split,
            in_train,
            regions=regions.get(name, ()),
            by=split.get("by"),
            repeats=repeats if name in regions else None,
        )
        for name, of_split in examples.items()
    }
    folds = [done[f"fold {i}"] for i in range(1, FOLDS + 1) if f"fold {i}" in done]
    if folds and is_ours:
        counts = [*chain(*(fold["counts"] for fold in folds))]
        of_docs = [*chain(*(fold["regions"] for fold in folds))]
        scores["test"] = score_folds(scores["test"], counts, of_docs)
    return scores


def show_mistakes(run: Run, nlp: Language) -> Html:
    """Show the mistakes on dev: test is for the score alone."""
    if run.options.textcat:
        wrong = text_mistakes(nlp, list(model_examples(nlp, run.corpus("dev"))))
        return render_text_mistakes(wrong, limit=MISTAKES)
    done = errors(nlp, run.corpus("dev"), train=run.corpus("train"), explained=EXPLAINED)
    return Html(done.fragment(MISTAKES))


def next_commands(run: Run) -> dict[str, str]:
    """Return commands to go on with, by what they do."""
    model, code = run.model, list[Union[str, Path]]()
    if run.options.code is not None:
        code = ["--code", run.options.code]
    if run.options.textcat:
        first = {
            "Classify the texts of a folder:": spacy_command(
                "multihash", "apply", model, "TEXTS", "CLASSIFIED", *code
            )
        }
    else:
        paths = (run.corpus("dev"), "--train", run.corpus("train"), "--output", "errors.html")
        first = {
            "Find the entities of a text:": spacy_command(
                "multihash", "show", model, "YOUR TEXT", *code
            ),
            "Look at all mistakes:": spacy_command("multihash", "errors", model, *paths, *code),
        }
    package = spacy_command("package", model, ".", "--name", "my_model", "--build", "wheel", *code)
    if not has_build():
        first["Install what builds packages:"] = "python -m pip install build"
    return {**first, "Build a package for pip:": package}


# The package


def make_package(run: Run, name: str) -> str:
    """Build a wheel of the pipeline, and return its path."""
    with replacing_folder(run.folder / "package") as new:
        build = new / "build"
        build.mkdir(parents=True)
        call = [sys.executable, "-m", "spacy", "package", path_argument(run.model), str(build)]
        call += ["--name", name, "--build", "wheel"]
        call += [] if run.options.code is None else ["--code", path_argument(run.options.code)]
        done = subprocess.run(call, capture_output=True, text=True)
        wheels = list(build.glob("*/dist/*.whl"))
        if done.returncode or not wheels:
            raise ValueError(f"spacy package failed: {(done.stderr or done.stdout).strip()}")
        wheels[0].rename(new / wheels[0].name)
        rmtree(build)
    return str(run.folder / "package" / wheels[0].name)
