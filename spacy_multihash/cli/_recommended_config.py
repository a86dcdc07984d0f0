"""The config of recommended settings, with the reasons as comments."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from spacy.util import load_model_from_config
from thinc.api import Config

from ..common.registered import MULTI_HASH_EMBED
from ..inspection.recommend import CANDIDATES, Choice
from ..inspection.settings import Settings
from .init_config import init_config

_EMBED = "components.tok2vec.model.embed"
# Where each choice stands in a config: the first place that the config has.
_PLACES = {
    **dict.fromkeys(CANDIDATES, (f"{_EMBED}.attrs",)),
    "language": ("nlp.lang",),
    "embedding": (f"{_EMBED}.@architectures",),
    "rows": (f"{_EMBED}.rows", "initialize.before_init.min_freq"),
    "hashes": (f"{_EMBED}.num_hashes",),
    "unk_dropout": (f"{_EMBED}.unk_dropout",),
    "vectors": (f"{_EMBED}.include_static_vectors",),
    "width": ("components.tok2vec.model.encode.width",),
    "dropout": ("training.dropout",),
    "batch size": ("training.batcher.size.stop",),
}
_SECTION = re.compile(r"\[(.+)\]")


def base_width() -> int:
    """Read the width of the recommended settings."""
    model = init_config("ner", "xx")["components"]["tok2vec"]["model"]
    return int(model["encode"]["width"])


def recommended_config(
    settings: Settings, lang: str, *, train: Path, dev: Path, vectors: Optional[str]
) -> Config:
    """Make a complete config of settings: that of `init-config ner`, with other values.

    train, dev (Path): The corpora, as the config is going to name them.
    vectors (Optional[str]): The static vectors, if the settings have them.
    """
    config = init_config("ner", lang, vectors=vectors if settings.vectors else None)
    config["paths"].update(train=str(train), dev=str(dev))
    tok2vec = config["components"]["tok2vec"]["model"]
    tok2vec["encode"]["width"] = settings.width
    tok2vec["embed"]["attrs"] = list(settings.attrs)
    training = config["training"]
    training["dropout"] = settings.dropout
    size = training["batcher"]["size"]
    size.update(start=min(size["start"], settings.batch_words), stop=settings.batch_words)
    if settings.rows is None:
        tok2vec["embed"]["unk_dropout"] = settings.unk_dropout
        return config
    tok2vec["embed"] = {
        "@architectures": MULTI_HASH_EMBED,
        "width": tok2vec["embed"]["width"],
        "attrs": list(settings.attrs),
        "rows": list(settings.rows),
        "include_static_vectors": settings.vectors,
        "num_hashes": list(settings.num_hashes or ()),
    }
    config["initialize"]["before_init"] = None  # which counts the symbols of tables
    return load_model_from_config(config, auto_fill=True).config


def commented(config: Config, choices: Sequence[Choice], header: Sequence[str]) -> str:
    """Write a config with comments: a header, and each choice above the line that it explains."""
    comments: dict[int, list[str]] = {}
    written = config.to_str(interpolate=False).splitlines()
    places = _lines_of(written)
    for choice in choices:
        line = next(places[place] for place in _PLACES[choice.name] if place in places)
        comments.setdefault(line, []).append(f"# {choice.name}: {choice.value} ({choice.reason})")
    lines = [*(f"# {line}" for line in header), ""]
    for number, text in enumerate(written):
        lines += [*comments.get(number, ()), text]
    return "\n".join(lines) + "\n"


def _lines_of(lines: Sequence[str]) -> Mapping[str, int]:
    """Number the lines of a config by the settings that they hold, as training.dropout."""
    found, section = {}, ""
    for number, line in enumerate(lines):
        heading = _SECTION.fullmatch(line)
        section = heading[1] if heading else section
        found[f"{section}.{line.partition(' = ')[0]}"] = number
    return found
