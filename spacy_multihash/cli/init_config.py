"""`python -m spacy multihash init-config`: a complete config, ready to train."""

from enum import Enum
from pathlib import Path
from shlex import quote
from typing import Any, Optional

import srsly
import typer
from spacy.util import get_package_path, is_package, load_config, load_model_from_config
from thinc.api import Config

from ..common.files import standard_stream, write_bytes
from ._messages import msg
from ._util import check_file_output

TEMPLATES = Path(__file__).parent / "templates"
STDOUT = Path("-")


class Pipeline(str, Enum):
    """The pipelines that there are configs for."""

    ner = "ner"
    batch_ner = "batch_ner"
    textcat = "textcat"
    textcat_multilabel = "textcat_multilabel"


# The section of each pipeline's embedding, where vectors are switched on.
_EMBED = {
    Pipeline.ner: "components.tagger_ner.model.tok2vec.embed",
    Pipeline.batch_ner: "components.tok2vec.model.embed",
    Pipeline.textcat: "components.textcat.model.tok2vec.embed",
    Pipeline.textcat_multilabel: "components.textcat.model.tok2vec.embed",
}


def init_config_cli(
    pipeline: Pipeline = typer.Argument(
        ...,
        help="ner: entities, by tagger_ner (recommended). batch_ner: entities by transitions, as "
        "spaCy's ner finds them, with a tok2vec that other components may share. textcat: one "
        "label for each text. textcat_multilabel: any number of labels",
    ),
    output: Path = typer.Argument(
        ..., help="Config to write, or - for standard output", allow_dash=True, dir_okay=False
    ),
    lang: str = typer.Option(..., "--lang", "-l", help="Language, such as en, or xx for any"),
    vectors: Optional[str] = typer.Option(
        None, help="Static vectors to use: a package's name, or the path of a pipeline"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it is there"),
) -> None:
    """Write a complete config with our layers, for entities or texts.

    Train with it as it is: the paths of the corpora are given to spacy train. With --vectors, the
    classifiers of texts are another model, since hash embeddings of n-grams use no vectors.

    DOCS: python -m pydoc spacy_multihash.cli.init_config
    """
    try:
        config = init_config(pipeline.value, lang, vectors=vectors)
        text = f"{_header(pipeline.value, lang, vectors)}{config.to_str(interpolate=False)}\n"
        if output == STDOUT:
            typer.echo(text, nl=False)
            return
        check_file_output(output, "OUTPUT", force=force, model=vectors)
        write_bytes(output, text.encode("utf8"))
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot make the config", str(error), exits=1)
    if standard_stream(output) is not None:
        return  # which holds the config
    msg.good(f"Wrote {output}")
    msg.command(
        "Train with:",
        f"python -m spacy train {quote(str(output))} --output training --paths.train train.spacy "
        "--paths.dev dev.spacy",
    )


def init_config(pipeline: str, lang: str, *, vectors: Optional[str] = None) -> Config:
    """Make a complete config with our layers, for entities or texts.

    pipeline (str): "ner", "batch_ner", "textcat" or "textcat_multilabel".
    lang (str): The language.
    vectors (Optional[str]): Static vectors to use: a package's name, or the path of a pipeline.
        They are not loaded, and only their meta.json is read, if it is there.

    Raises ValueError for another pipeline, or for vectors of another language, and ImportError for
    an unknown language.
    """
    names = [kind.value for kind in Pipeline]
    if pipeline not in names:
        raise ValueError(f"Expected a pipeline of {', '.join(names)}, was: {pipeline!r}.")
    kind = Pipeline(pipeline)
    template = "textcat" if kind == Pipeline.textcat_multilabel else kind.value
    if vectors is not None and template == "textcat":
        template = "textcat_vectors"
    config = load_config(TEMPLATES / f"{template}.cfg", interpolate=False)
    config["nlp"]["lang"] = lang
    if kind == Pipeline.textcat_multilabel:
        config["components"]["textcat"]["factory"] = kind.value
        config["components"]["textcat"]["model"]["exclusive_classes"] = False
    # As spacy init fill-config does.
    config = load_model_from_config(config, auto_fill=True).config
    if vectors is not None:
        check_vectors_language(lang, vectors)
        check_no_variable(vectors)
        config["paths"]["vectors"] = vectors
        section: Any = config
        for name in _EMBED[kind].split("."):
            section = section[name]
        section["include_static_vectors"] = True
    return config


def check_vectors_language(lang: str, vectors: str) -> None:
    """Refuse vectors of another language, as spaCy does in training. Their meta.json is read.

    Raises ValueError.
    """
    path = Path(vectors)
    if not path.exists() and is_package(vectors):
        path = get_package_path(vectors)
    meta = srsly.read_json(path / "meta.json") if (path / "meta.json").is_file() else {}
    if (found := meta.get("lang", lang)) != lang:
        raise ValueError(
            f"--lang is {lang}, but the vectors of {vectors} are of the language {found}, and "
            "spaCy takes those of the same one alone. Give other vectors, or write these again "
            f"with: python -m spacy multihash vectors COMMAND {vectors} OUT --lang {lang}"
        )


def check_no_variable(path: str) -> None:
    """Refuse a path with a $, which configs take for a variable. Raises ValueError."""
    if "$" in path:
        raise ValueError(
            f"A config cannot name {path}, since a $ in it stands for a variable. Give the file "
            "or folder a name without a $."
        )


def _header(pipeline: str, lang: str, vectors: Optional[str]) -> str:
    option = "" if vectors is None else f" --vectors {quote(vectors)}"
    return f"# Made by: python -m spacy multihash init-config {pipeline} --lang {lang}{option}\n\n"
