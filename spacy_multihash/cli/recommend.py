"""`python -m spacy multihash recommend`: a config for a corpus, with the reasons."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Optional

import spacy
import typer
from spacy.language import Language
from thinc.api import Config

from ..common.files import write_bytes
from ..corpus.read import model_examples
from ..inspection.facts import CorpusFacts, count_facts
from ..inspection.recommend import CANDIDATES, Choice, Recommendation, recommend
from ..inspection.settings import Settings
from ..inspection.trials import digest_inputs
from ..inspection.variations import conclude, make_candidates
from ._messages import msg
from ._recommended_config import base_width, commented, recommended_config
from ._show import show_table
from ._trials import check_trials, show_trials, train_candidates, trials_folder
from ._util import check_file_output, load_vectors, print_json
from .init_config import STDOUT, check_no_variable, check_vectors_language

_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Request:
    """What settings are recommended for.

    train, dev (Path): The corpora.
    lang (str): The language of the config.
    nlp (Language): A pipeline of that language without components, which has the vectors.
    vectors (Optional[str]): The name or the path of the vectors.
    max_size (int): The most parameters of the embedding's tables.
    """

    train: Path
    dev: Path
    lang: str
    nlp: Language
    vectors: Optional[str]
    max_size: int


def recommend_cli(
    train: Path = typer.Argument(
        ..., help="Training corpus: a .spacy file, or a folder of them", exists=True
    ),
    dev: Path = typer.Argument(..., help="Development corpus, a file or a folder", exists=True),
    output: Path = typer.Option(
        Path("recommended.cfg"),
        help="Config to write, or - for standard output",
        allow_dash=True,
    ),
    lang: Optional[str] = typer.Option(
        None,
        "--lang",
        "-l",
        help="Language, such as en. Default: that of --vectors, or without them xx, which has no "
        "rules of any language",
    ),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors to use if they help: a package's name, or a pipeline's path"
    ),
    max_size: str = typer.Option(
        "10M", help="The most parameters that the embedding's tables may have, as 500K or 5M"
    ),
    trials: int = typer.Option(
        0, help="Train so many candidates on parts of TRAIN: the recommendation and variations"
    ),
    budget: Optional[float] = typer.Option(None, help="Minutes for --trials. Default: 30"),
    trials_dir: Optional[Path] = typer.Option(
        None, help="Folder of finished trials. Default: OUTPUT-trials, without its .cfg"
    ),
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace the file of --output if it exists"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
) -> None:
    """Write a config for a corpus with entities, and a reason for each choice.

    Features, tables or hashing, rows, hashes, static vectors and the size of batches are chosen by
    what TRAIN holds and what it lacks of DEV. The config is ready to train. With --trials,
    candidates are trained by successive halving, and the best one is written. After an
    interruption, the same command goes on where it was.

    DOCS: python -m pydoc spacy_multihash.inspection.recommend
    """
    done = None
    try:
        seconds = check_trials(trials, budget, trials_dir)
        needs_folder = bool(seconds) and not trials_dir
        _check_output(
            output,
            [train, dev],
            vectors,
            force=force,
            as_json=as_json,
            needs_folder=needs_folder,
        )
        folder = trials_folder(trials_dir, output) if seconds else None
        request = make_request(
            train, dev, lang=lang, vectors=vectors, max_size=parse_size(max_size)
        )
        facts, recommendation = recommend_settings(request)
        if seconds and folder:
            candidates = make_candidates(
                recommendation.settings, facts, max_size=request.max_size, most=trials
            )
            done = train_candidates(
                {name: make_config(request, each) for name, each in candidates.items()},
                train,
                folder,
                num_docs=facts.train_docs,
                digest=digest_inputs(train, dev, request.nlp.vocab.vectors if vectors else None),
                seconds=seconds,
            )
            recommendation = conclude(
                recommendation, candidates, done, facts, max_size=request.max_size
            )
        choices = [language_choice(request, lang), *recommendation.choices]
        config = make_config(request, recommendation.settings)
        text = commented(config, choices, _header(request))
        if output == STDOUT:
            typer.echo(text, nl=False)
            return
        write_bytes(output, text.encode("utf8"))
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot recommend a config", str(error))
    if as_json:
        report = {
            "config": str(output),
            "settings": asdict(recommendation.settings),
            "choices": [asdict(choice) for choice in choices],
            "facts": asdict(facts),
            "trials": None if done is None else asdict(done),
        }
        print_json(report)
        return
    if done is not None:
        show_trials(done)
    show_choices(choices)
    msg.good(f"Wrote {output}")
    command = f"python -m spacy train {quote(str(output))} --output training"
    msg.command("Train with:", command)


def make_request(
    train: Path, dev: Path, *, lang: Optional[str], vectors: Optional[str], max_size: int
) -> Request:
    """Load what a recommendation needs beside the corpora.

    The arguments are those of `Request`. Without a language, it is that of the vectors, or "xx".

    Raises ImportError for an unknown language, and FileNotFoundError or ValueError for vectors that
    cannot be used, and for paths that a config cannot name.
    """
    for path in (train, dev, *([] if vectors is None else [vectors])):
        check_no_variable(str(path))
    source = None if vectors is None else load_vectors(vectors, or_vocab=False)
    lang = lang or (source.lang if source else "xx")
    nlp = spacy.blank(lang)
    if source is not None and vectors is not None:
        check_vectors_language(lang, vectors)
        nlp.vocab.vectors = source.vectors
    return Request(train, dev, lang, nlp, vectors, max_size)


def recommend_settings(request: Request) -> tuple[CorpusFacts, Recommendation]:
    """Count the corpora, and decide.

    Raises FileNotFoundError or ValueError if a corpus cannot be read or has no entities, and
    ValueError if there is no room for the smallest tables.
    """
    facts = count_facts(
        partial(model_examples, request.nlp, request.train),
        partial(model_examples, request.nlp, request.dev),
        CANDIDATES,
        request.nlp.vocab,
    )
    return facts, recommend(
        facts, width=base_width(), max_size=request.max_size, vectors=request.vectors
    )


def make_config(request: Request, settings: Settings) -> Config:
    """Make the config of settings."""
    return recommended_config(
        settings, request.lang, train=request.train, dev=request.dev, vectors=request.vectors
    )


def language_choice(request: Request, lang: Optional[str]) -> Choice:
    """Say where the language is from."""
    if lang is not None:
        reason = "given with --lang"
    elif request.vectors is not None:
        reason = f"that of {request.vectors}"
    else:
        reason = "no --lang: rules of no language cut texts into tokens"
    return Choice("language", request.lang, reason)


def parse_size(text: str) -> int:
    """Read a number of parameters, such as 5M. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise ValueError(
            f"Expected a number of parameters as --max-size, such as 500K, 5M or 1G, was: {text!r}."
        )
    return size


def show_choices(choices: Sequence[Choice]) -> None:
    """Print a table of choices."""
    rows = [(choice.name, choice.value, choice.reason) for choice in choices]
    show_table("Recommended", ("choice", "value", "reason"), rows, aligns="lll")


def _check_output(
    output: Path,
    inputs: list[Path],
    vectors: Optional[str],
    *,
    force: bool,
    as_json: bool,
    needs_folder: bool,
) -> None:
    """Refuse an output before the work. Raises ValueError."""
    if output != STDOUT:
        check_file_output(output, "--output", force=force, inputs=inputs, model=vectors)
    elif as_json:
        raise ValueError(
            "Expected one thing for standard output, were two: the config, by --output -, and "
            "--json. Name a file as --output."
        )
    elif needs_folder:
        raise ValueError(
            "Expected a folder for the trials, which stands beside the config, but that goes to "
            "standard output. Name one with --trials-dir."
        )


def _header(request: Request) -> list[str]:
    options = [quote(str(request.train)), quote(str(request.dev)), f"--lang {request.lang}"]
    if request.vectors is not None:
        options.append(f"--vectors {quote(request.vectors)}")
    options.append(f"--max-size {request.max_size}")
    return [f"Made by: python -m spacy multihash recommend {' '.join(options)}"]
