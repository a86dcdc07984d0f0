"""Read and write the configs of pipelines: the sections of layers, variables, and our names."""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, Optional

from spacy.language import Language

from ..common.registered import (
    BATCH_NER,
    BATCH_PARSER,
    INDEXED_ATTRIBUTE_RULER,
    PREFIX,
    REPORT_MULTI_EMBED,
    REPORT_MULTI_FEWER_HASH_EMBED,
    REQUIRE_PACKAGE,
    SET_ATTR,
    TAGGER_NER,
)
from ..common.removed import REMOVED

ARCHITECTURES = "@architectures"
# Where the config of a component names its factory.
FACTORY_PATH = "factory"
EMBEDS = ("spacy.MultiHashEmbed.v1", "spacy.MultiHashEmbed.v2")
ENCODERS = ("spacy.MaxoutWindowEncoder.v1", "spacy.MaxoutWindowEncoder.v2")
CNNS = ("spacy.HashEmbedCNN.v1", "spacy.HashEmbedCNN.v2")
TOK2VEC_V1, TOK2VEC_V2 = "spacy.Tok2Vec.v1", "spacy.Tok2Vec.v2"
# The Tok2Vec of each encoder. Tok2Vec.v1 passes the tokens of all docs to the encoder in one array,
# and pads it.
TOK2VEC_OF = {ENCODERS[0]: TOK2VEC_V1, ENCODERS[1]: TOK2VEC_V2}
# Settings whose layer embeds docs, or encodes vectors.
_VECTOR_KEYS = ("embed", "encode", "tok2vec")
# Our names that don't begin with our prefix.
_BARE_NAMES = {
    *(BATCH_NER, BATCH_PARSER, INDEXED_ATTRIBUTE_RULER, TAGGER_NER),
    *(REPORT_MULTI_EMBED, REPORT_MULTI_FEWER_HASH_EMBED, SET_ATTR),
}
# spaCy resolves them together, before it builds components.
_NLP_CALLBACKS = ("before_creation", "after_creation", "after_pipeline_creation")

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


def list_sections(
    config: object, path: Keys = (), parent: Optional[str] = None
) -> Iterator[Section]:
    """List the sections that build layers, each before those inside it."""
    if isinstance(config, dict):
        name = config.get(ARCHITECTURES)
        if isinstance(name, str):
            yield Section(path, config, parent, name, kind_of(name))
        for key, value in config.items():
            yield from list_sections(value, (*path, key), name)


def kind_of(name: str) -> str:
    """Return spaCy's name for an architecture of spacy-legacy, and any other name unchanged."""
    return re.sub(r"^spacy-legacy\.", "spacy.", name)


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


# Our names


def is_ours(name: object) -> bool:
    """Return whether a registered name is ours."""
    return isinstance(name, str) and (name.startswith(PREFIX) or name in _BARE_NAMES)


def our_name(section: Mapping[str, Any]) -> Optional[str]:
    """Return the name of ours that a section registers something by; None if it has none."""
    names = (v for k, v in section.items() if k == FACTORY_PATH or k.startswith("@"))
    return next(filter(is_ours, names), None)


def our_names(config: object) -> Iterator[str]:
    """Yield our names in a config."""
    if isinstance(config, dict):
        yield from filter(None, [our_name(config)])
        for value in config.values():
            yield from our_names(value)


def require_package(config: dict[str, Any]) -> None:
    """Let an error of spaCy name this package where it's missing, in place.

    spaCy resolves callbacks before it builds components. For a missing function, its error names
    the function and advises to install its package. For a missing factory, such as tagger_ner, it
    doesn't. Configs without our parts, or with another callback of ours, stay as they are.
    """
    nlp = config["nlp"]
    free = next((key for key in _NLP_CALLBACKS if not nlp.get(key)), None)
    if free and not any(our_names(nlp)) and any(our_names(config.get("components", {}))):
        nlp[free] = {"@callbacks": REQUIRE_PACKAGE}


def make_require_package_v1() -> Callable[[Any], Any]:
    """Make the callback for [nlp.before_creation] that does nothing.

    Its name in the config says which package is missing, where it is.
    """
    return lambda given: given  # a pipeline, or its class


# Changes


def replace_sections(config: dict[str, Any], new: Mapping[Keys, Any]) -> dict[str, Any]:
    """Copy a config without variables, with new sections at some paths."""
    config = deepcopy(config)
    for path, section in new.items():
        place = config
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = section
    return config


def keep_variables(raw: Any, plain: Any, new: dict[str, Any]) -> Any:  # noqa: ANN401
    """Write a changed config with the former variables, wherever they have the new value.

    raw, plain (dict[str, Any]): The former config, with variables and with their values.
    new (dict[str, Any]): The changed config, without variables.
    """

    def look_up(variable: re.Match) -> Any:  # noqa: ANN401
        value: Any = new
        for key in re.split("[.:]", variable[1]):
            value = value[key]
        return value

    def value_of(text: str) -> Any:  # noqa: ANN401
        whole = _VARIABLE.fullmatch(text)
        try:
            return look_up(whole) if whole else _VARIABLE.sub(lambda m: str(look_up(m)), text)
        except (KeyError, TypeError):  # the section of the variable is gone
            return None

    def keep(raw: Any, plain: Any, value: Any) -> Any:  # noqa: ANN401
        if isinstance(raw, str) and _VARIABLE.search(raw):
            return raw if value_of(raw) == value else deepcopy(value)
        if isinstance(value, dict):
            raws, plains = (v if isinstance(v, dict) else {} for v in (raw, plain))
            return {key: keep(raws.get(key), plains.get(key), value[key]) for key in value}
        if isinstance(value, list) and isinstance(raw, list) and len(raw) == len(value):
            return [keep(*values) for values in zip(raw, plain, value, strict=True)]
        return deepcopy(raw if plain == value else value)

    return keep(raw, plain, new)


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
        elif name == FACTORY_PATH or name.startswith("@"):
            for key in REMOVED.get(value, ()):
                section.pop(key, None)
