"""The sections of a pipeline's config that build layers, and the sections of our layers."""

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
from ..compute.hashing import spacy_seeds

ARCHITECTURES = "@architectures"
EMBEDS = ("spacy.MultiHashEmbed.v1", "spacy.MultiHashEmbed.v2")
ENCODERS = ("spacy.MaxoutWindowEncoder.v1", "spacy.MaxoutWindowEncoder.v2")
CNNS = ("spacy.HashEmbedCNN.v1", "spacy.HashEmbedCNN.v2")
TOK2VEC_V1, TOK2VEC_V2 = "spacy.Tok2Vec.v1", "spacy.Tok2Vec.v2"
# The Tok2Vec that each encoder is for. That of Tok2Vec.v1 gets the tokens of all docs in one array,
# and Tok2Vec.v1 pads it.
TOK2VEC_OF = {ENCODERS[0]: TOK2VEC_V1, ENCODERS[1]: TOK2VEC_V2}
# Settings whose layer embeds docs, or encodes vectors.
_VECTOR_KEYS = ("embed", "encode", "tok2vec")

_VARIABLE = re.compile(r"\$\{([\w.:]+)\}")

Keys = tuple[str, ...]


class Section(NamedTuple):
    """A section of a component's config that builds a layer.

    path: Where it is in the component's config.
    settings: The section, with the values of its variables.
    parent: Name of the architecture whose argument it is, None for the whole model's.
    name: Name of its own architecture.
    kind: The same, or spaCy's name for an architecture of spacy-legacy.
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
    """Give spaCy's own name for an architecture of spacy-legacy, and any other name as it is."""
    return re.sub(r"^spacy-legacy\.", "spacy.", name)


def is_ours(name: str) -> bool:
    """Tell whether an architecture is one of this package."""
    return name.startswith(PREFIX) or name in (REPORT_MULTI_EMBED, REPORT_MULTI_FEWER_HASH_EMBED)


def is_unknown(section: Section, listened_to: bool) -> bool:
    """Tell whether a section embeds or encodes tokens, and we have no layer for it.

    listened_to (bool): Whether others can listen to the component, as to a Tok2Vec. Then its whole
        model embeds and encodes.
    """
    return (
        (section.path[-1] in _VECTOR_KEYS or (section.path == ("model",) and listened_to))
        and section.kind not in (*EMBEDS, *ENCODERS, *CNNS, TOK2VEC_V1, TOK2VEC_V2)
        and not is_ours(section.name)
        and "Listener" not in section.name
    )


class Rewriter:
    """Writes a config anew, with our layers in place of spaCy's.

    Variables that refer to a replaced section become the values that they had.
    """

    def __init__(self, replaced: dict[Keys, Section]) -> None:
        """Keep the replaced sections, by their path from the config's root."""
        self.replaced = replaced
        self.opened = {path[:end] for path in replaced for end in range(len(path) + 1)}

    def rewrite(self, raw: Any, plain: Any, path: Keys = ()) -> Any:  # noqa: ANN401
        """Copy the value at a path of a config: raw has its variables, plain their values."""
        if isinstance(raw, str) and (self._is_stale(raw) or path in self.opened):
            raw = plain  # inside it, variables keep the values that they had
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
        """Tell whether a text has a variable whose value changes, or disappears."""
        for variable in _VARIABLE.findall(text):
            path = tuple(re.split("[.:]", variable))
            outer = [self.replaced.get(path[:end]) for end in range(len(path) + 1)]
            in_cnn = any(section is not None and section.kind in CNNS for section in outer)
            if in_cnn or path in self.opened:
                return True
        return False


def _new_section(raw: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """Write the section of our layer, or of our two layers, for a section of spaCy's.

    The raw section has the variables that stay.
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
    """Set what changed in a pipeline's config; spaCy keeps the config of each component apart."""
    config = nlp.config
    for name in nlp.component_names:
        pipe_config = nlp.get_pipe_config(name)
        for key in pipe_config:
            if pipe_config[key] != new["components"][name][key]:
                pipe_config[key] = new["components"][name][key]
    for key in config:
        if key != "components" and config[key] != new[key]:
            config[key] = new[key]
