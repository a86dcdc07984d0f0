"""The config of recommended settings, with the reasons as comments."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from ..common.registered import MULTI_HASH_EMBED
from ..inspection.recommend import CANDIDATES, Choice
from ..inspection.settings import Settings
from .init_config import TEMPLATES, init_config

_TOK2VEC = "components.tagger_ner.model.tok2vec"
_EMBED = f"{_TOK2VEC}.embed"
# Where each choice stands in a config: the first place that the config has.
_PLACES = {
    **dict.fromkeys(CANDIDATES, (f"{_EMBED}.attrs",)),
    "language": ("nlp.lang",),
    "embedding": (f"{_EMBED}.@architectures",),
    "reduce": (f"{_EMBED}.reduce",),
    "rows": (f"{_EMBED}.rows", "initialize.before_init.min_freq"),
    "max_rows": ("initialize.before_init.max_rows",),
    "hashes": (f"{_EMBED}.num_hashes",),
    "unk_dropout": (f"{_EMBED}.unk_dropout",),
    "vectors": (f"{_EMBED}.include_static_vectors",),
    "width": (f"{_TOK2VEC}.encode.width",),
    "dropout": ("training.dropout",),
    "batch size": ("training.batcher.size.stop",),
}
_SECTION = re.compile(r"\[(.+)\]")


def base_width() -> int:
    """Read the width of the recommended settings."""
    config = load_config(TEMPLATES / "ner.cfg")
    return int(_tok2vec(config)["encode"]["width"])


def recommended_config(
    settings: Settings, lang: str, *, train: Path, dev: Path, vectors: Optional[str]
) -> Config:
    """Make a complete config of settings: that of `init-config ner`, with other values.

    train, dev (Path): The corpora, as the config is going to name them.
    vectors (Optional[str]): The static vectors, which the settings may have or leave out.
    """
    config = _base_config(lang, settings.rows is not None).copy()
    tok2vec, training = _tok2vec(config), config["training"]
    config["paths"].update(train=str(train), dev=str(dev))
    config["paths"]["vectors"] = vectors if settings.vectors else None
    tok2vec["encode"]["width"] = settings.width
    embed = tok2vec["embed"]
    embed.update(
        width=settings.width,
        attrs=list(settings.attrs),
        include_static_vectors=settings.vectors,
    )
    if settings.rows is None:
        embed["unk_dropout"] = settings.unk_dropout
        config["initialize"]["before_init"]["max_rows"] = settings.max_rows
    else:
        embed.update(rows=list(settings.rows), num_hashes=list(settings.num_hashes or ()))
    if settings.reduce is not None:
        embed["reduce"] = settings.reduce
    training["dropout"] = settings.dropout
    size = training["batcher"]["size"]
    size.update(start=min(size["start"], settings.batch_words), stop=settings.batch_words)
    return config


@lru_cache(maxsize=2)
def _base_config(lang: str, is_hashed: bool) -> Config:
    """Make the complete config of a language, with symbols in tables or hashed."""
    config = init_config("ner", lang)
    if not is_hashed:
        return config
    tok2vec = _tok2vec(config)
    attrs = tok2vec["embed"]["attrs"]
    tok2vec["embed"] = {
        "@architectures": MULTI_HASH_EMBED,
        "width": tok2vec["embed"]["width"],
        "attrs": attrs,
        "rows": [1 for _ in attrs],
        "include_static_vectors": False,
    }
    config["initialize"]["before_init"] = None  # which counts symbols for tables
    return load_model_from_config(config, auto_fill=True).config


def _tok2vec(config: Config) -> Any:  # noqa: ANN401 (a section of a config)
    return config["components"]["tagger_ner"]["model"]["tok2vec"]


def commented(config: Config, choices: Sequence[Choice], header: Sequence[str]) -> str:
    """Write a config with comments: each choice above the line that it explains.

    header (Sequence[str]): What stands on top, ahead of the choices that no line is for.
    """
    written = config.to_str(interpolate=False).splitlines()
    lines_of = _number_lines(written)
    above: dict[Optional[int], list[str]] = {None: list(header)}
    for choice in choices:
        places = [lines_of[place] for place in _PLACES.get(choice.name, ()) if place in lines_of]
        comment = f"{choice.name}: {choice.value} ({choice.reason})"
        above.setdefault(places[0] if places else None, []).append(comment)
    lines = [*(f"# {comment}" for comment in above[None]), ""]
    for number, text in enumerate(written):
        lines += [*(f"# {comment}" for comment in above.get(number, ())), text]
    return "\n".join(lines) + "\n"


def _number_lines(lines: Sequence[str]) -> Mapping[str, int]:
    """Number the lines of a config by the settings that they hold, as training.dropout."""
    found, section = {}, ""
    for number, line in enumerate(lines):
        heading = _SECTION.fullmatch(line)
        section = heading[1] if heading else section
        found[f"{section}.{line.partition(' = ')[0]}"] = number
    return found
