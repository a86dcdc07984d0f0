"""`python -m spacy multihash fit`: from a corpus to a trained pipeline and a report."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from shlex import join as shell_join
from shutil import rmtree
from typing import Any, Optional

import spacy
import srsly
import typer
from spacy.cli.init_config import init_config as spacy_config
from spacy.cli.package import has_build, has_wheel
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import load_config
from spacy.vocab import Vocab
from thinc.api import Config
from tqdm import tqdm

from ..common.files import replacing_folder, write_bytes, write_json
from ..corpus.convert import SPLITS, split_items
from ..corpus.evaluation import read_known_entities
from ..corpus.read import model_examples, read_docs, write_corpora
from ..corpus.statistics import CorpusStats
from ..fit.report import (
    COMPARISON_HEADER,
    SCORES_HEADER,
    Arm,
    Report,
    comparison_rows,
    corpus_table,
    duration,
    labels_of,
    percent,
    render_report,
    score_rows,
)
from ..fit.scores import (
    SplitScores,
    folder_size,
    has_exclusive_labels,
    score_entities,
    score_texts,
)
from ..fit.training import History, train
from ..inspection.errors import find_mistakes
from ..inspection.errors_page import render_mistakes
from ..inspection.page import Html
from ..ner.calibration import is_at_edge
from ..pipelines.compare import tokens_per_second
from ..pipelines.compress import Precisions, compress
from ._util import load_pipeline, msg, naming_config, parse_overrides, show_table
from .calibrate import calibrate, find_recognizer, set_temperature
from .convert import convert, summarize_problems
from .corpus_stats import corpus_stats, find_warnings
from .init_config import MAX_SIZE, init_config, parse_size, recommend_config

SHARES = {(False, False): (0.8, 0.1, 0.1), (False, True): (0.9, 0.1)}  # by (has dev, has test)
MIN_DOCS = 10  # that are split
FEW = 10  # entities of a label in train
MISTAKES = 50  # of each kind, in the report
EXPLAINED = 20  # the most confident of them
EXAMPLES = 50  # texts that are tried
_MEGA = 10**6
_MISSING = object()
_BASELINE = "spaCy"
_OURS = "ours"
BAR = "{desc} {bar} {n_fmt} of {total_fmt} steps, {remaining} left{postfix}"


@dataclass(frozen=True)
class Options:
    """What decides what a pipeline is. It's the same if these are the same.

    data, dev, test (Optional[Path]): The corpora as they were given.
    lang (str): The language.
    textcat (bool): Whether texts have labels, and not entities.
    vectors (Optional[str]): Static vectors.
    max_size (Optional[str]): The most parameters of the tables.
    compress (bool): Whether files are made small.
    seed (int): Of the split and of training.
    overrides (Mapping[str, Any]): Of the config.
    """

    data: Path
    dev: Optional[Path]
    test: Optional[Path]
    lang: str
    textcat: bool = False
    vectors: Optional[str] = None
    max_size: Optional[str] = None
    compress: bool = False
    seed: int = 0
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return all options, with a digest of each corpus in place of its path."""
        names = ("data", "dev", "test")
        digests = {name: _digest(getattr(self, name)) for name in names}
        return {**asdict(self), **digests}


def fit_cli(
    ctx: typer.Context,
    data: Path = typer.Argument(
        ..., help="Corpus: a .spacy file, or a file that convert reads", exists=True
    ),
    dev: Optional[Path] = typer.Option(
        None, help="Corpus that chooses the best step. Default: a tenth of DATA", exists=True
    ),
    test: Optional[Path] = typer.Option(
        None,
        help="Corpus that is scored at the end. Default: a tenth of DATA, or none with --dev",
        exists=True,
    ),
    lang: str = typer.Option(..., "--lang", "-l", help="Language, such as en, or xx for any"),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False),
    textcat: bool = typer.Option(False, "--textcat", help="Classify texts. Default: find entities"),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors, used if they have most words: a package, or a pipeline's path"
    ),
    max_size: Optional[str] = typer.Option(
        None,
        help=f"The most parameters of the embedding's tables, e.g. 500K or 5M. Default: {MAX_SIZE}",
    ),
    small: bool = typer.Option(False, "--compress", help="Make the files of the pipeline small"),
    package: Optional[str] = typer.Option(
        None, help="Also build a wheel of this name, such as my_ner, that pip installs"
    ),
    baseline: bool = typer.Option(
        False, "--baseline", help="Also train spaCy's config for efficiency, to compare"
    ),
    seed: int = typer.Option(0, help="Decides the split and the training"),
    force: bool = typer.Option(
        False, "--force", "-f", help="Start anew if OUTPUT has a run with other options"
    ),
) -> None:
    """Train a pipeline on your own corpus, and report how good it is.

    Converts and splits DATA, points out what looks wrong in it, chooses settings, trains, scores
    on dev and test, and calibrates. OUTPUT gets the pipeline (model), its config.cfg, the corpus,
    scores.json, and report.html, which opens in any browser.

    Ctrl-C keeps the best model so far. The same command goes on. Settings of the config can be
    overridden, as in --training.max_steps 1000.

    DOCS: python -m pydoc spacy_multihash.cli.fit
    """
    run = None
    try:
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
            overrides=parse_overrides(ctx),
        )
        run = Fit(output, options, force=force)
        run.fit(package=package, baseline=baseline)
    except KeyboardInterrupt:
        msg.warn("Stopped", "" if run is None else run.state())
        raise typer.Exit(130) from None
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"Cannot fit a pipeline to {data}", str(error))


class Fit:
    """A folder in which a pipeline is fitted, step by step.

    fit.json in it has the options, and what came of each step that is done. A step that was
    interrupted begins anew, and training at its last evaluation.
    """

    def __init__(self, folder: Path, options: Options, *, force: bool = False) -> None:
        """Open a folder, or plan a new one.

        Raises ValueError if the folder has something else than a run with the same options.
        """
        self.folder, self.options = folder, options
        self.record_path, self.model = folder / "fit.json", folder / "model"
        self.corpus, self.config_path = folder / "corpus", folder / "config.cfg"
        for path in filter(None, (options.data, options.dev, options.test)):
            if folder.resolve() in path.resolve().parents:
                raise ValueError(f"{path} is in {folder}, which is written. Give another --output.")
        self.record: dict[str, Any] = {"options": options.as_json(), "done": {}}
        self.in_training: Optional[tuple[Path, History]] = None
        if self.record_path.is_file():
            earlier = srsly.read_json(self.record_path)
            if changed := _changes(earlier["options"], self.record["options"]):
                if not force:
                    raise ValueError(
                        f"{folder} has a run with other options: {', '.join(changed)}. Give "
                        "another --output, or --force to start anew."
                    )
                self._clear()
            else:
                self.record = earlier
        elif folder.exists() and any(folder.iterdir()):
            raise ValueError(
                f"{folder} is not empty, and has no run of this command. Give another --output."
            )

    def _clear(self) -> None:
        self.record_path.unlink()  # first, so that nothing of the rest counts as done
        for name in ("corpus", "model", "baseline", "package"):
            rmtree(self.folder / name, ignore_errors=True)
        for name in ("config.cfg", "training.npz", "report.html", "scores.json"):
            (self.folder / name).unlink(missing_ok=True)

    def step(self, name: str, run: Callable[[], Any]) -> Any:  # noqa: ANN401 (any JSON)
        """Take a step, unless it's done, and return what came of it."""
        done = self.record["done"]
        if name not in done:
            done[name] = run()
            write_json(self.record_path, self.record)
        return done[name]

    def fit(self, *, package: Optional[str] = None, baseline: bool = False) -> None:
        """Take all steps that aren't done, and print what comes of them.

        package (Optional[str]): The name of a wheel to build too.
        baseline (bool): Whether to train spaCy's own config too.

        Raises ImportError, OSError or ValueError for a step that fails. Steps before it stay.
        """
        check_options(self.options, package)
        corpus = self.begin()
        self.show_corpus(corpus["warnings"])
        reasons = self.step("config", self.make_config)
        msg.info(f"Settings: {self.summarize_config()} (why: {self.config_path})")
        trained = self.step("training", partial(self.train, self.config_path, self.model))
        self.show_training("Trained", trained)
        notes = self.step("finish", self.finish)
        for note in notes:
            msg.info(note)
        if baseline:
            self.show_training("Trained spaCy's", self.step("baseline", self.train_baseline))
        has_baseline = "baseline" in self.record["done"]
        report = partial(self.report, reasons, notes, corpus["warnings"])
        rows = self.step("report, with baseline" if has_baseline else "report", report)
        show_table("Scores", SCORES_HEADER, rows["scores"])
        show_table("Beside spaCy's own", COMPARISON_HEADER, rows["comparison"])
        if package is not None:
            wheel = self.step(f"package {package}", partial(self.make_package, package))
            msg.good(f"Built {wheel}")
        msg.good(f"Wrote {self.folder / 'report.html'}, and the pipeline to {self.model}")
        msg.text("Go on with:")
        for command in self.commands().values():
            typer.echo(f"    {command}")

    def begin(self) -> dict[str, Any]:
        """Take the first step. If it fails, nothing is left of it."""
        was_there = self.folder.exists()
        write_json(self.record_path, self.record)
        try:
            return self.step("corpus", self.make_corpora)
        except Exception:
            if not self.record["done"]:
                self.record_path.unlink()
            if not was_there:
                self.folder.rmdir()
            raise

    @cached_property
    def stats(self) -> CorpusStats:
        """What is in the corpus."""
        paths = [self.corpus / f"{name}.spacy" for name in SPLITS]
        existing = [path if path.is_file() else None for path in paths]
        return corpus_stats(paths[0], *existing[1:], lang=self.options.lang)

    def make_corpora(self) -> dict[str, Any]:
        """Convert and split the corpora, and say what looks wrong in them."""
        options, vocab = self.options, Vocab()
        given = {"train": options.data, "dev": options.dev, "test": options.test}
        warnings: list[tuple[str, list[str]]] = []
        docs: dict[str, list[Doc]] = {}
        with replacing_folder(self.corpus) as new:
            new.mkdir()
            for name, path in given.items():
                if path is not None:
                    source, problems = _converted(path, new / f"{name}.spacy", options.lang)
                    warnings += problems
                    docs[name] = list(read_docs(source, vocab))
            docs = split_docs(docs, options)
            check_docs(docs, options)
            write_corpora(new, {name: DocBin(docs=of_split) for name, of_split in docs.items()})
        warnings += [(warning, []) for warning in find_warnings(self.stats)]
        warnings += [(warning, []) for warning in _rare_labels(self.stats)]
        return {"warnings": warnings}

    def show_corpus(self, warnings: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Print what is in the corpus."""
        show_table("Corpus", *corpus_table(self.stats))
        for title, _ in warnings:
            msg.warn(title)

    def make_config(self) -> list[str]:
        """Choose the settings, write the config, and give the reasons."""
        options = self.options
        paths = {name: self.corpus / f"{name}.spacy" for name in ("train", "dev")}
        if options.textcat:
            cats = (doc.cats for doc in read_docs(paths["train"], Vocab()))
            is_exclusive = has_exclusive_labels(cats)
            kind = "textcat" if is_exclusive else "textcat_multilabel"
            number = "one label" if is_exclusive else "any number of labels"
            config = init_config(kind, options.lang, vectors=options.vectors)
            reasons = [f"{kind}: each text of train has {number}"]
        else:
            config, reasons = recommend_config(
                options.lang,
                *paths.values(),
                vectors=options.vectors,
                max_size=parse_size(options.max_size or MAX_SIZE),
            )
        self._write_config(config, self.config_path, options.overrides, reasons)
        return reasons

    def _write_config(
        self, config: Config, path: Path, overrides: Mapping[str, Any], reasons: Sequence[str]
    ) -> None:
        paths = {name: str(self.corpus / f"{name}.spacy") for name in ("train", "dev")}
        config["paths"].update(paths)
        config["system"]["seed"] = self.options.seed
        check_overrides(overrides, config)
        text = config.to_str(interpolate=False)
        config = Config().from_str(text, interpolate=False, overrides=dict(overrides))
        text = config.to_str(interpolate=False)
        header = "".join(f"# {line}\n" for line in reasons)
        write_bytes(path, f"{header}\n{text}\n".encode())

    def summarize_config(self) -> str:
        """Say in a line what was chosen."""
        components = load_config(self.config_path)["components"]
        if self.options.textcat:
            return components["textcat"]["factory"]
        embed = components["tagger_ner"]["model"]["tok2vec"]["embed"]
        name = embed["@architectures"].split(".")[1]
        return f"{name} of {', '.join(embed['attrs'])}"

    def train(self, config_path: Path, model: Path) -> dict[str, Any]:
        """Train a pipeline, or go on with it, with a progress bar."""
        paths = {f"paths.{name}": str(self.corpus / f"{name}.spacy") for name in ("train", "dev")}
        config = load_config(config_path, overrides=paths, interpolate=False)
        checkpoint = self.folder / "training.npz"
        bar = tqdm(desc="Training", bar_format=BAR, leave=False, disable=None, smoothing=0.1)

        def show(history: History, last: Optional[int]) -> None:
            if self.in_training is None:
                bar.initial = history.step
            self.in_training = model, history
            bar.total, bar.n = last, history.step
            step, score = history.best
            bar.set_postfix_str(f"best F1 {percent(score)} at step {step:,}", refresh=False)
            bar.update(0)
            if bar.disable and history.curve[-1][0] == history.step:  # as in the log of a server
                step, score = history.curve[-1]
                spent = duration(history.seconds)
                typer.echo(f"step {step:,}: F1 {percent(score)} on dev, {spent}", err=True)

        with bar, naming_config(config_path):
            history = train(config, model, checkpoint, show)
        self.in_training = None
        return vars(history)

    def show_training(self, what: str, trained: Mapping[str, Any]) -> None:
        """Print what came of training, and delete its checkpoint."""
        (self.folder / "training.npz").unlink(missing_ok=True)
        history = History(**trained)
        step, score = history.best
        msg.good(
            f"{what} {history.step:,} steps in {duration(history.seconds)}: F1 {percent(score)} on "
            f"dev at step {step:,}"
        )

    def finish(self) -> list[str]:
        """Calibrate the pipeline, make it small if that was asked for, and say so."""
        nlp = load_pipeline(self.model)
        notes = [] if self.options.textcat else [self._calibrate(nlp)]
        size = folder_size(self.model)
        with replacing_folder(self.model.resolve()) as new:
            if self.options.compress:
                compress(nlp, new, Precisions())
            else:
                nlp.to_disk(new)
        if self.options.compress:
            small = folder_size(self.model)
            notes.append(f"Compressed from {size / _MEGA:,.1f} to {small / _MEGA:,.1f} MB")
        return notes

    def _calibrate(self, nlp: Language) -> str:
        examples = list(model_examples(nlp, self.corpus / "dev.spacy"))
        try:
            name = find_recognizer(nlp, None)
            found = calibrate(nlp, name, examples)
        except ValueError as error:  # such as if all entities are right
            return f"Not calibrated: {error}"
        if is_at_edge(found.temperature):
            return "Not calibrated: dev has too few entities to tell the best temperature"
        set_temperature(nlp, name, found.temperature)
        return (
            f"Calibrated on dev (temperature {found.temperature:.2f}): probabilities are off by "
            f"{percent(found.after.error)} points on average, {percent(found.before.error)} before"
        )

    def train_baseline(self) -> dict[str, Any]:
        """Train spaCy's config for efficiency, for as many steps."""
        ours = load_config(self.config_path)
        kind = ours["components"]["textcat"]["factory"] if self.options.textcat else "ner"
        config = spacy_config(
            lang=self.options.lang, pipeline=[kind], optimize="efficiency", gpu=False, silent=True
        )
        steps = max(History(**self.record["done"]["training"]).step, 1)
        config["training"].update(
            max_steps=steps,
            patience=0,
            eval_frequency=ours["training"]["eval_frequency"],
            score_weights=ours["training"]["score_weights"],
        )
        folder = self.folder / "baseline"
        self._write_config(config, folder / "config.cfg", {}, ["spaCy's config for efficiency"])
        return self.train(folder / "config.cfg", folder / "model")

    def report(
        self,
        reasons: Sequence[str],
        notes: Sequence[str],
        warnings: Sequence[tuple[str, Sequence[str]]],
    ) -> dict[str, Any]:
        """Score, write scores.json and report.html, and return the rows to print."""
        done, names = self.record["done"], {_OURS: ("training", self.model)}
        if "baseline" in done:
            names[_BASELINE] = ("baseline", self.folder / "baseline" / "model")
        pipelines = {name: load_pipeline(path) for name, (_, path) in names.items()}
        texts = [doc.text for doc in read_docs(self.corpus / "dev.spacy", Vocab())]
        speeds = tokens_per_second([*pipelines.values()], texts)
        arms = [
            Arm(name, self.score(nlp), History(**done[step]), folder_size(path), speed)
            for (name, (step, path)), nlp, speed in zip(
                names.items(), pipelines.values(), speeds, strict=True
            )
        ]
        what = "texts" if self.options.textcat else "entities"
        page = render_report(
            Report(
                title=f"{self.options.data.name}: {what}",
                about=f"spacy-multihash {metadata.version('spacy-multihash')}, spaCy "
                f"{spacy.__version__}, {self.summarize_config()}, language {self.options.lang}",
                ours=arms[0],
                baseline=arms[1] if len(arms) > 1 else None,
                stats=self.stats,
                warnings=warnings,
                reasons=reasons,
                notes=notes,
                mistakes=self.mistakes(next(iter(pipelines.values()))),
                commands=self.commands(),
            )
        )
        write_json(self.folder / "scores.json", {arm.name: asdict(arm) for arm in arms})
        write_bytes(self.folder / "report.html", page)
        comparison = comparison_rows(arms) if len(arms) > 1 else []
        rows = [row for row in score_rows(arms[0].scores) if not row[0].startswith("dev,")]
        return {"scores": rows, "comparison": comparison}

    def score(self, nlp: Language) -> dict[str, SplitScores]:
        """Score a pipeline on dev, and on test if there's one."""
        known = None
        if not self.options.textcat:
            known = read_known_entities(self.corpus / "train.spacy", nlp.vocab)
        scores = {}
        for split in ("dev", "test"):
            path = self.corpus / f"{split}.spacy"
            if path.is_file():
                examples = list(model_examples(nlp, path))
                scores[split] = (
                    score_texts(nlp, examples)
                    if known is None
                    else score_entities(nlp, examples, known)
                )
        return scores

    def mistakes(self, nlp: Language) -> Html:
        """Show the mistakes on dev: test is for the score alone."""
        if self.options.textcat:
            return Html("")
        dev, in_train = (
            read_docs(self.corpus / f"{name}.spacy", nlp.vocab) for name in ("dev", "train")
        )
        mistakes = find_mistakes(nlp, dev, in_train, num_explained=EXPLAINED, show_progress=True)
        return render_mistakes(mistakes, limit=MISTAKES)

    def find_example(self) -> str:
        """Return a short text of dev with an entity that the pipeline finds."""
        nlp = load_pipeline(self.model)
        docs = read_docs(self.corpus / "dev.spacy", nlp.vocab)
        texts = [doc.text.strip() for doc in docs if doc.ents]
        with_entities = (text for text in sorted(texts, key=len)[:EXAMPLES] if nlp(text).ents)
        return next(with_entities, "YOUR TEXT")

    def make_package(self, name: str) -> str:
        """Build a wheel of the pipeline, and return its path."""
        with replacing_folder((self.folder / "package").resolve()) as new:
            build = new / "build"
            build.mkdir(parents=True)
            command = [sys.executable, "-m", "spacy", "package", str(self.model), str(build)]
            command += ["--name", name, "--build", "wheel"]
            done = subprocess.run(command, capture_output=True, text=True)
            wheels = list(build.glob("*/dist/*.whl"))
            if done.returncode or not wheels:
                raise ValueError(f"spacy package failed: {(done.stderr or done.stdout).strip()}")
            wheels[0].rename(new / wheels[0].name)
            rmtree(build)
        return str(self.folder / "package" / wheels[0].name)

    def commands(self) -> dict[str, str]:
        """Return commands to go on with, by what they do."""
        model, python = str(self.model), "python -m spacy"
        package = shell_join(["package", model, ".", "--name", "my_model", "--build", "wheel"])
        if self.options.textcat:
            first = {
                "Classify the texts of a folder:": f"{python} multihash apply "
                + shell_join([model, "TEXTS", "CLASSIFIED"])
            }
        else:
            dev_path, train_path = (str(self.corpus / f"{name}.spacy") for name in ("dev", "train"))
            first = {
                "Find the entities of a text:": f"{python} multihash show "
                + shell_join([model, self.step("example", self.find_example)]),
                "Look at all mistakes:": f"{python} multihash errors "
                + shell_join([model, dev_path, "--train", train_path, "--output", "errors.html"]),
            }
        return {**first, "Build a package for pip:": f"{python} {package}"}

    def state(self) -> str:
        """Say what is there after an interruption."""
        again = "To go on, run the same command."
        if self.in_training is None:
            return again
        model, history = self.in_training
        step, score = history.best
        best = f"The best model so far is in {model}: F1 {percent(score)} at step {step:,}."
        return f"{best} {again}"


def check_options(options: Options, package: Optional[str]) -> None:
    """Refuse options before the work. Raises ValueError."""
    try:
        spacy.blank(options.lang)
    except ImportError as error:
        raise ValueError(
            f"--lang must be a language of spaCy, such as en, or xx for any, got {options.lang!r}."
        ) from error
    if options.textcat and options.max_size is not None:
        raise ValueError("--max-size is for entities. Leave it out with --textcat.")
    if options.max_size is not None:
        parse_size(options.max_size)
    if package is None:
        return
    if not (package.isidentifier() and package.isascii()):
        raise ValueError(f"--package must be a name of letters, digits and _, got {package!r}.")
    if not (has_build() or has_wheel()):
        raise ValueError("--package needs the package build: python -m pip install build")


def check_overrides(overrides: Mapping[str, Any], config: Config) -> None:
    """Raise ValueError for settings that a complete config doesn't have."""
    for name in overrides:
        section: Any = config
        for key in name.split("."):
            section = section.get(key, _MISSING) if isinstance(section, dict) else _MISSING
        if section is _MISSING:
            raise ValueError(f"--{name} is no option, and no setting of the config. Correct it.")


def _converted(path: Path, target: Path, lang: str) -> tuple[Path, list[tuple[str, list[str]]]]:
    """Return the .spacy file of a corpus, converted if it's none, and what is wrong with it."""
    if path.suffix == ".spacy" or (path.is_dir() and any(path.glob("**/*.spacy"))):
        return path, []
    try:
        done = convert(path, target, lang=lang, show_progress=True)
    except ValueError as error:
        raise ValueError(
            f"{error}\nconvert has options for other forms of files. Give fit the .spacy file that "
            "it writes."
        ) from error
    problems = summarize_problems(path, done.problems)
    problems += [(done.hint, [])] if done.hint else []
    return target, [(f"{path.name}: {title}", lines) for title, lines in problems]


def split_docs(docs: Mapping[str, list[Doc]], options: Options) -> dict[str, list[Doc]]:
    """Split dev and test off train where they aren't given. Raises ValueError for too few docs."""
    shares = SHARES.get(("dev" in docs, "test" in docs))
    if shares is None:
        return dict(docs)
    number = len(docs["train"])
    if number < MIN_DOCS:
        raise ValueError(
            f"{options.data} has {number} {'document' if number == 1 else 'documents'}, and fit "
            f"needs at least {MIN_DOCS} to split off a tenth. Give more, or --dev and --test. To "
            "make a document of each sentence of CoNLL: convert --docs sentences"
        )
    parts = split_items(docs["train"], shares, options.seed)
    return {**docs, **parts}


def check_docs(docs: Mapping[str, Sequence[Doc]], options: Options) -> None:
    """Refuse splits without annotations. Raises ValueError."""
    given = {"train": options.data, "dev": options.dev, "test": options.test}
    what, other = ("labels of texts", "entities") if options.textcat else ("entities", "labels")
    for name, of_split in docs.items():
        counts = [
            sum(score >= 0.5 for doc in of_split for score in doc.cats.values()),
            sum(len(doc.ents) for doc in of_split),
        ]
        number, others = counts if options.textcat else counts[::-1]
        if number:
            continue
        if given[name] is None:
            advice = f"Give more documents, --{name}, or another --seed."
        elif others:
            fix = "Give --textcat" if other == "labels" else "Leave --textcat out"
            advice = f"It has {other}: did you mean that? {fix}."
        else:
            advice = "Give a corpus that is annotated."
        raise ValueError(f"{given[name] or f'The split {name}'} has no {what}. {advice}")
    labels = {label for doc in docs["train"] for label, score in doc.cats.items() if score >= 0.5}
    if options.textcat and len(labels) < 2:
        raise ValueError(
            f"All texts of {options.data} have the label {labels.pop()}. Give at least two labels."
        )


def _rare_labels(stats: CorpusStats) -> list[str]:
    """Warn of labels that train has rarely."""
    train_labels = Counter(labels_of(stats.splits["train"]))
    labels = {label for split in stats.splits.values() for label in labels_of(split)}
    rare = [
        f"{label} {train_labels[label]}" for label in sorted(labels) if train_labels[label] < FEW
    ]
    return [f"Labels with less than {FEW} examples in train: {', '.join(rare)}"] if rare else []


def _digest(path: Optional[Path]) -> Optional[str]:
    """Return a hash of the content of a file, or of the files of a folder."""
    if path is None:
        return None
    digest = blake2b(digest_size=16)
    for file_ in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file_.is_file():
            with file_.open("rb") as opened:
                for block in iter(partial(opened.read, 2**20), b""):
                    digest.update(block)
    return digest.hexdigest()


def _changes(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the options that differ."""
    changes = []
    for name in now:
        old, new = earlier.get(name), now[name]
        if old == new:
            continue
        if name in ("data", "dev", "test"):
            option = "DATA" if name == "data" else f"--{name}"
            changes.append(f"{option} is another corpus")
        else:
            changes.append(f"--{name.replace('_', '-')} was {old}, is {new}")
    return changes
