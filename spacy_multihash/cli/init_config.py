"""`python -m spacy multihash init-config`: a complete config, ready to train."""

import re
from functools import partial
from pathlib import Path
from typing import Any, Literal, Optional

import spacy
import typer
from spacy.util import get_package_path, is_package, load_config, load_model_from_config
from thinc.api import Config

from ..common.files import read_json_map, standard_stream, write_bytes
from ..common.outputs import check_file_output
from ..common.registered import MULTI_HASH_EMBED
from ..corpus.read import model_examples
from ..inspection.facts import count_facts
from ..inspection.recommend import CANDIDATES, Settings, recommend
from ..pipelines.config import drop_removed_settings
from ..vectors.files import load_vectors
from ._util import failing, msg, spacy_command

TEMPLATES = Path(__file__).parent / "templates"
STDOUT = Path("-")
MAX_SIZE = "10M"
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


# The pipelines that have a config.
Pipeline = Literal["ner", "batch_ner", "textcat", "textcat_multilabel"]
# The section of each pipeline's embedding, where vectors are switched on.
_EMBED = {
    "ner": "components.tagger_ner.model.tok2vec.embed",
    "batch_ner": "components.tok2vec.model.embed",
    "textcat": "components.textcat.model.tok2vec.embed",
    "textcat_multilabel": "components.textcat.model.tok2vec.embed",
}


def init_config_cli(
    pipeline: Pipeline = typer.Argument(
        ...,
        help="ner: entities, by tagger_ner (recommended). batch_ner: entities by transitions, as "
        "spaCy's ner finds them, with a tok2vec that other components may share. textcat: one "
        "label for each text, by spaCy's TextCatBOW. textcat_multilabel: any number of labels",
    ),
    output: Path = typer.Argument(
        ..., help="Config to write, or - for standard output", allow_dash=True, dir_okay=False
    ),
    lang: str = typer.Option(..., "--lang", "-l", help="Language, such as en, or xx for any"),
    train: Optional[Path] = typer.Option(
        None, help="ner: training corpus to choose settings by, a .spacy file or a folder of them"
    ),
    dev: Optional[Path] = typer.Option(None, help="ner: development corpus, needed with --train"),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors to use: a package's name, or the path of a pipeline"
    ),
    max_size: Optional[str] = typer.Option(
        None,
        help="With --train: maximum parameters of the embedding's tables, e.g. 500K or 5M. "
        f"Default: {MAX_SIZE}",
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
) -> None:
    """Write a complete config, for entities or texts.

    With --train and --dev, features, rows, hashes, static vectors and the batch size are chosen
    to fit the corpora, and each reason is printed. With --vectors, text classifiers use another
    model, since TextCatBOW doesn't use vectors.

    DOCS: python -m pydoc spacy_multihash.cli.init_config
    """
    with failing("Cannot make the config"):
        if output != STDOUT:
            check_file_output(output, "OUTPUT", train, dev, vectors, force=force)
        reasons: list[str] = []
        if train is None or dev is None:
            if train or dev or max_size is not None:
                raise ValueError("--train, --dev and --max-size need --train and --dev.")
            config = init_config(pipeline, lang, vectors=vectors)
        elif pipeline != "ner":
            raise ValueError(f"--train and --dev are for ner only, got {pipeline}.")
        else:
            config, reasons = recommend_config(
                lang, train, dev, vectors=vectors, max_size=parse_size(max_size or MAX_SIZE)
            )
        options = {"lang": lang, "train": train, "dev": dev, "vectors": vectors}
        options["max-size"] = max_size
        given = [arg for name, value in options.items() if value for arg in (f"--{name}", value)]
        made_by = spacy_command("multihash", "init-config", pipeline, *given)
        header = "".join(f"# {line}\n" for line in (f"Made by: {made_by}", *reasons))
        text = f"{header}\n{config.to_str(interpolate=False)}\n"
        if output == STDOUT:
            with failing("Cannot write to standard output"):
                typer.echo(text, nl=False)
            return
        write_bytes(output, text.encode("utf8"))
    if standard_stream(output) is not None:
        return  # stdout is the config
    for reason in reasons:
        typer.echo(reason)
    msg.good(f"Wrote {output}")
    paths = [] if train else ["--paths.train", "train.spacy", "--paths.dev", "dev.spacy"]
    msg.command("Train with:", spacy_command("train", output, "--output", "training", *paths))


def init_config(pipeline: Pipeline, lang: str, *, vectors: Optional[str] = None) -> Config:
    """Make a complete config, for entities or texts.

    vectors (str): Static vectors to use: a package's name, or the path of a pipeline. Only their
        meta.json is read, if it exists.

    Raises ValueError for vectors of another language, and ImportError for an unknown language.
    """
    template: str = "textcat" if pipeline == "textcat_multilabel" else pipeline
    if vectors is not None and template == "textcat":
        template = "textcat_vectors"
    overrides: dict[str, Any] = {"nlp.lang": lang}
    if pipeline == "textcat_multilabel":
        overrides["components.textcat.factory"] = pipeline
        overrides["components.textcat.model.exclusive_classes"] = False
    if vectors is not None:
        check_vectors_language(lang, vectors)
        check_no_variable(vectors)
        overrides[f"{_EMBED[pipeline]}.include_static_vectors"] = True
    config = load_config(TEMPLATES / f"{template}.cfg", overrides=overrides)
    config = _filled(config)
    config["paths"]["vectors"] = vectors
    return config


def recommend_config(
    lang: str, train: Path, dev: Path, *, vectors: Optional[str], max_size: int
) -> tuple[Config, list[str]]:
    """Make a complete config for the entities of a corpus, with a reason for each choice.

    vectors (str): Static vectors to use if they help: a package's name, or the path of a pipeline.
    max_size (int): Maximum number of parameters of all tables of the embedding.

    Raises ImportError for an unknown language, ValueError or FileNotFoundError for corpora without
    entities, vectors that cannot be used, and tables that are too large.
    """
    for path in (train, dev, vectors or ""):
        check_no_variable(str(path))
    nlp = spacy.blank(lang)
    if vectors is not None:
        check_vectors_language(lang, vectors)
        nlp.vocab.vectors = load_vectors(vectors, or_vocab=False).vectors
    train_reader, dev_reader = (partial(model_examples, nlp, path) for path in (train, dev))
    facts = count_facts(train_reader, dev_reader, CANDIDATES, nlp.vocab)
    config = init_config("ner", lang)
    width = _tok2vec(config)["embed"]["width"]
    settings, reasons = recommend(facts, width=width, max_size=max_size, vectors=vectors)
    config = apply_settings(config, settings)
    config["paths"].update(train=str(train), dev=str(dev))
    config["paths"]["vectors"] = vectors if settings.vectors else None
    return config, reasons


def apply_settings(config: Config, settings: Settings) -> Config:
    """Set the settings of a config of `init-config ner`, and return the config."""
    embed, size = _tok2vec(config)["embed"], config["training"]["batcher"]["size"]
    embed["attrs"] = list(settings.attrs)
    embed["include_static_vectors"] = settings.vectors
    size.update(start=min(size["start"], settings.batch_words), stop=settings.batch_words)
    config["components"]["tagger_ner"]["model"]["learn_transitions"] = settings.learn_transitions
    if settings.patience is not None:
        config["training"]["patience"] = settings.patience
    if settings.rows is None:
        config["initialize"]["before_init"]["max_rows"] = settings.max_rows
        return config
    _tok2vec(config)["embed"] = {
        "@architectures": MULTI_HASH_EMBED,
        "width": embed["width"],
        "attrs": embed["attrs"],
        "rows": list(settings.rows),
        "num_hashes": list(settings.num_hashes or ()),
        "include_static_vectors": settings.vectors,
    }
    config["initialize"]["before_init"] = None  # it counts the symbols of tables
    return _filled(config)


def _filled(config: Config) -> Config:
    """Return a config with all settings, as spacy init fill-config does, except removed ones."""
    filled = load_model_from_config(config, auto_fill=True).config
    drop_removed_settings(filled)
    return filled


def check_vectors_language(lang: str, vectors: str) -> None:
    """Raise ValueError for vectors of another language, as spaCy does in training."""
    path = folder = Path(vectors)
    if not path.exists() and is_package(vectors):
        folder = get_package_path(vectors)
    meta = read_json_map(folder / "meta.json") if (folder / "meta.json").is_file() else {}
    if (theirs := meta.get("lang", lang)) != lang:
        raise ValueError(
            f"--lang is {lang}, but the vectors of {vectors} are of the language {theirs}, which "
            "spaCy refuses. Give other vectors, or write them again with: "
            + spacy_command("multihash", "vectors", "COMMAND", path, "OUT", "--lang", lang)
        )


def check_no_variable(path: str) -> None:
    """Raise ValueError for a path with a $, which starts a variable in configs."""
    if "$" in path:
        raise ValueError(
            f"{path} cannot be in a config, because a $ starts a variable there. Rename it."
        )


def parse_size(text: str) -> int:
    """Read a number of parameters, such as 5M. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise ValueError(f"--max-size must be like 500K, 5M or 1G, got {text!r}.")
    return size


def _tok2vec(config: Config) -> Any:  # noqa: ANN401 (a section of a config)
    return config["components"]["tagger_ner"]["model"]["tok2vec"]
