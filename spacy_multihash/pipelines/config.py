"""Find the sections of a config that build layers, and write the sections of our layers."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple, Optional

from spacy.language import Language

from ..common.registered import (
    MAXOUT_WINDOW_ENCODER,
    MULTI_HASH_EMBED,
    PREFIX,
    REPORT_MULTI_EMBED,
    REPORT_MULTI_FEWER_HASH_EMBED,
)
from ..common.removed import REMOVED
from ..compute.hashing import spacy_seeds

ARCHITECTURES = "@architectures"
EMBEDS = ("spacy.MultiHashEmbed.v1", "spacy.MultiHashEmbed.v2")
ENCODERS = ("spacy.MaxoutWindowEncoder.v1", "spacy.MaxoutWindowEncoder.v2")
CNNS = ("spacy.HashEmbedCNN.v1", "spacy.HashEmbedCNN.v2")
TOK2VEC_V1, TOK2VEC_V2 = "spacy.Tok2Vec.v1", "spacy.Tok2Vec.v2"
# The Tok2Vec of each encoder. Tok2Vec.v1 passes the tokens of all docs to the encoder in one array,
# and pads it.
TOK2VEC_OF = {ENCODERS[0]: TOK2VEC_V1, ENCODERS[1]: TOK2VEC_V2}
# Settings whose layer embeds docs, or encodes vectors.
_VECTOR_KEYS = ("embed", "encode", "tok2vec")

_VARIABLE = re.compile(r"\$\{([\w.:]+)\}")

Keys = tuple[str, ...]


class Section(NamedTuple):
    """A section of a component's config that builds a layer.

    path: Its place in the component's config.
    settings: Its settings, with the values of its variables.
    parent: The architecture that it's an argument of, None for the whole model's section.
    name: Its own architecture.
    kind: The same, or spaCy's name if it's from spacy-legacy.
    """

    path: Keys
    settings: dict[str, Any]
    parent: Optional[str]
    name: str
    kind: str


def list_sections(config: object, path: Keys, parent: Optional[str]) -> Iterator[Section]:
    """List the sections that build layers, each before those inside it."""
    if not isinstance(config, dict):
        return
    name = config.get(ARCHITECTURES)
    if name is not None:
        yield Section(path, config, parent, name, kind_of(name))
    for key, value in config.items():
        yield from list_sections(value, (*path, key), name)


def kind_of(name: str) -> str:
    """Return spaCy's name for an architecture of spacy-legacy, and any other name unchanged."""
    return re.sub(r"^spacy-legacy\.", "spacy.", name)


def is_ours(name: str) -> bool:
    """Return whether an architecture is ours."""
    return name.startswith(PREFIX) or name in (REPORT_MULTI_EMBED, REPORT_MULTI_FEWER_HASH_EMBED)


def is_unknown(section: Section, listened_to: bool) -> bool:
    """Return whether a section embeds or encodes tokens in a way that our layers don't.

    listened_to (bool): Whether the component can have listeners, as a Tok2Vec can. Then its whole
        model embeds and encodes.
    """
    return (
        (section.path[-1] in _VECTOR_KEYS or (section.path == ("model",) and listened_to))
        and section.kind not in (*EMBEDS, *ENCODERS, *CNNS, TOK2VEC_V1, TOK2VEC_V2)
        and not is_ours(section.name)
        and "Listener" not in section.name
    )


class Rewriter:
    """Rewrites a config, with our layers instead of spaCy's.

    Variables that refer to a replaced section become their former values.
    """

    def __init__(self, replaced: dict[Keys, Section]) -> None:
        """Keep the replaced sections, by path from the config's root."""
        self.replaced = replaced
        self.opened = {path[:end] for path in replaced for end in range(len(path) + 1)}

    def rewrite(self, raw: Any, plain: Any, path: Keys = ()) -> Any:  # noqa: ANN401
        """Copy the value at a path of a config. raw has variables, plain has their values."""
        if isinstance(raw, str) and (self._is_stale(raw) or path in self.opened):
            raw = plain  # variables inside keep their former values
        if isinstance(raw, list):
            return [self.rewrite(*values, path) for values in zip(raw, plain, strict=True)]
        if not isinstance(raw, dict):
            return deepcopy(raw)
        new = {key: self.rewrite(raw[key], plain[key], (*path, key)) for key in raw}
        if path in self.replaced:
            return _new_section(new, self.replaced[path].settings)
        outer = kind_of(new.get(ARCHITECTURES, ""))
        if outer == TOK2VEC_V1 and (*path, "encode") in self.replaced:
            new[ARCHITECTURES] = TOK2VEC_V2
        return new

    def _is_stale(self, text: str) -> bool:
        """Return whether a text has a variable whose value changes, or disappears."""
        for variable in _VARIABLE.findall(text):
            path = tuple(re.split("[.:]", variable))
            outer = [self.replaced.get(path[:end]) for end in range(len(path) + 1)]
            in_cnn = any(section is not None and section.kind in CNNS for section in outer)
            if in_cnn or path in self.opened:
                return True
        return False


def _new_section(raw: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """Write the section of our layer, or our two layers, that replaces spaCy's section.

    Variables in the raw section are kept.
    """
    kind = kind_of(plain[ARCHITECTURES])
    if kind in EMBEDS:
        seeds = spacy_seeds(len(plain["attrs"]))
        ours = {"num_hashes": 4, "seeds": seeds, "table_dropout": True}
        return {**raw, ARCHITECTURES: MULTI_HASH_EMBED, **ours}
    if kind in ENCODERS:
        return {**raw, ARCHITECTURES: MAXOUT_WINDOW_ENCODER}
    # A HashEmbedCNN: the layers that spaCy's build_hash_embed_cnn_tok2vec builds.
    attrs, size = ["NORM"], plain["embed_size"]
    if plain["subword_features"]:
        attrs += ["PREFIX", "SUFFIX", "SHAPE"]
    embed = {
        ARCHITECTURES: EMBEDS[1],
        "width": plain["width"],
        "attrs": attrs,
        "rows": [size] + [size // 2] * (len(attrs) - 1),
        "include_static_vectors": bool(plain["pretrained_vectors"]),
    }
    encode = {key: plain[key] for key in ("width", "window_size", "maxout_pieces", "depth")}
    return {
        ARCHITECTURES: TOK2VEC_V2,
        "embed": _new_section(embed, embed),
        "encode": {ARCHITECTURES: MAXOUT_WINDOW_ENCODER, **encode},
    }


def set_config(nlp: Language, new: dict[str, Any]) -> None:
    """Set the changes in a pipeline's config, and in spaCy's separate component configs."""
    config = nlp.config
    for name in nlp.component_names:
        pipe_config = nlp.get_pipe_config(name)
        for key in pipe_config:
            if pipe_config[key] != new["components"][name][key]:
                pipe_config[key] = new["components"][name][key]
    for key in config:
        if key != "components" and config[key] != new[key]:
            config[key] = new[key]


def drop_removed_settings(section: dict[str, Any]) -> None:
    """Delete removed settings from a config, or from a section of it, in place.

    spaCy fills them in, as it does all settings of a registered function.
    """
    for name, value in [*section.items()]:
        if isinstance(value, dict):
            drop_removed_settings(value)
        elif name == "factory" or name.startswith("@"):
            for key in REMOVED.get(value, ()):
                section.pop(key, None)
