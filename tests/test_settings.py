"""Settings of all registered parts: good ones build, and others are refused by name and value."""

import importlib.metadata
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Optional

import pytest
import spacy
from spacy.vocab import Vocab

from spacy_multihash.ner.tagger.component import EntityTagger
from spacy_multihash.ner.transition.component import BatchEntityRecognizer
from tests.helpers import sections
from tests.helpers.sections import ours, spacys

NLP = spacy.blank("en")
PREFIX = "spacy-multihash."
LARGEST, LARGEST_SEED = 2**31 - 1, 2**32 - 1
NAN, INF = float("nan"), float("inf")


class Values(NamedTuple):
    """Some good and some bad values of a setting."""

    good: list[Any]
    bad: list[Any]

    def or_none(self) -> "Values":
        return Values([*self.good, None], [value for value in self.bad if value is not None])

    def of_each(self) -> "Values":
        """Make lists, for two attributes."""
        lists = [[4, value] for value in self.bad] + [[], [4], [4, 4, 4]]
        return Values([[value] * 2 for value in self.good], [*lists, "44", None])


def whole(low: int, high: int) -> Values:
    return Values([low, high], [low - 1, high + 1, 3.0, "4", True, None, [4]])


def number(good: list[Any], *bad: float) -> Values:
    return Values(good, [*bad, NAN, INF, "0.1", True, None])


def choice(*names: Any) -> Values:
    return Values([*names], ["max", "", 1, True, [names[-1]]])


FLAG = Values([True, False], [0, 1, None, "x", [True]])
SHARE = number([0, 0.0, 0.999], -0.5, 1, 1.5)
POSITIVE = number([1, 0.1, 30.0], 0, -0.5)
SIZE, SEED, HASHES = whole(1, LARGEST), whole(0, LARGEST_SEED), whole(1, 16)
ATTR = Values(["prefix", 65], [0, 2**31, "", "NROM", None, True])
NAME = Values(["found", None], [1, True, ["x"]])
PART = Values([], [4, "x", None])
DOCS = {
    "width": SIZE,
    "attrs": Values([["NORM", "prefix"], [65, 66]], [[], "NORM", None, *([a] for a in ATTR.bad)]),
    "include_static_vectors": FLAG,
    "table_dropout": FLAG,
}
HASHED = {
    "rows": SIZE.of_each(),
    "num_hashes": Values([*HASHES.good, [1, 16]], [*HASHES.bad, *HASHES.of_each().bad[:-1]]),
    "seeds": SEED.of_each().or_none(),
}
WEIGHTED = {"append_importance": FLAG, "train_importance": Values([True], FLAG.bad)}
SETTINGS: dict[str, dict[str, Values]] = {
    "IteratedDilatedEncoder": {
        "width": SIZE,
        "dilations": Values(
            [[1], [10**6] * 100],
            [[], [1] * 101, "44", None, *([value] for value in whole(1, 10**6).bad)],
        ),
        "repeats": whole(1, 100),
        "window_size": whole(1, 100),
        **dict.fromkeys(["share", "residual", "normalize"], FLAG),
    },
    "MaxoutWindowEncoder": {
        "width": SIZE,
        "window_size": whole(0, 100),
        "maxout_pieces": whole(1, 256),
        "depth": whole(1, 100),
    },
    "MetaVectors": {
        "width": SIZE.or_none(),
        "tables": Values([{"nl": "nl", "vocab": None}], [{}, 4, "x", None, ["nl"]]),
        "mode": choice("concat", "mme"),
        "key_attrs": Values([None, {}, {"nl": "LOWER"}], [{"nl": "SHAPE"}, 4, "x", ["nl"]]),
    },
    "MultiEmbed": {**DOCS, "unk_dropout": SHARE},
    "MultiHashEmbed": {**DOCS, **HASHED},
    "MultiWeightedHashEmbed": {
        **DOCS,
        **HASHED,
        **WEIGHTED,
        "importance_rows": SIZE.of_each().or_none(),
    },
    "TextCatHashEmbed": {
        "width": SIZE,
        **WEIGHTED,
        "nO": SIZE.or_none(),
        "exclusive_classes": FLAG,
        "rows": SIZE,
        "importance_rows": SIZE.or_none(),
        "num_hashes": HASHES,
        "ngram_orders": Values(
            [[1], [9, 4, 10]], [[], [3, 3], "44", None, *([n] for n in whole(1, 10).bad)]
        ),
        "attr": ATTR,
        "reduce": choice("sum", "mean"),
        "seed": SEED.or_none(),
    },
    "TokenTagger": {
        "nO": SIZE.or_none(),
        "train_passes": choice("all", "last"),
        "learn_transitions": FLAG,
    },
    # Its model and other settings are checked by spaCy's ner, which it is.
    "batch_ner": {
        "state_dropout": SHARE,
        "spacy_gradient": FLAG,
        "spans_key": NAME,
        "candidates_above": number([0.001, 1, 1.0], 0, 1.5).or_none(),
        "temperature": POSITIVE,
    },
    "tagger_ner": {
        "model": PART,
        "decoder": choice(None, "greedy", "constrained", "crf"),
        "spans_key": NAME,
        "candidates_above": number([0.001, 1, 1.0], 0, 1.5).or_none(),
        "threshold": number([0, 0.5, 1], -0.5, 1.5),
        "temperature": POSITIVE,
        "scorer": Values([None], [4, "x"]),
    },
}
COMPONENTS = ("batch_ner", "tagger_ner")


def registered(architecture: str) -> str:
    return f"{PREFIX}{architecture}.v1"


# The other settings, while one is tried


class Part(NamedTuple):
    """A section of a config that is built for calls."""

    section: dict[str, Any]


TOK2VEC = sections.tok2vec(
    ours("MultiEmbed", width=4, attrs=["NORM"], include_static_vectors=False),
    ours("IteratedDilatedEncoder", width=4),
)
PARSER = Part(sections.transitions(TOK2VEC, hidden_width=4))
OTHER_MODEL = Part(spacys("Tagger.v2", tok2vec=TOK2VEC))


def tagger(tok2vec: dict[str, Any] = TOK2VEC, *, learn_transitions: bool = True) -> Part:
    return Part(ours("TokenTagger", tok2vec=tok2vec, learn_transitions=learn_transitions))


LISTENER = sections.listener(4, "*")
OTHERS: dict[str, dict[str, Any]] = {
    "MaxoutWindowEncoder": {"width": 4, "window_size": 1, "maxout_pieces": 2, "depth": 1},
    "IteratedDilatedEncoder": {"width": 4},
    "MetaVectors": {"width": None, "tables": {"nl": "nl", "vocab": None}},
    "MultiEmbed": {"width": 4, "attrs": ["NORM", "SHAPE"], "include_static_vectors": False},
    "TextCatHashEmbed": {"exclusive_classes": True, "width": 4, "importance_rows": 9},
    "TokenTagger": {"tok2vec": Part(TOK2VEC)},
    "batch_ner": {"spans_key": "found"},
    "tagger_ner": {"model": tagger(), "spans_key": "found"},
}
OTHERS["MultiHashEmbed"] = {**OTHERS["MultiEmbed"], "rows": [4, 4]}
OTHERS["MultiWeightedHashEmbed"] = {**OTHERS["MultiHashEmbed"], "importance_rows": [9, 9]}


def test_there_are_settings_for_all_registered_parts() -> None:
    entry_points = importlib.metadata.distribution("spacy-multihash").entry_points
    architectures = {each.name for each in entry_points if each.group == "spacy_architectures"}
    factories = {each.name for each in entry_points if each.group == "spacy_factories"}
    ours = {name for name in architectures if name.startswith(PREFIX)}
    factories -= {"batch_parser", "indexed_attribute_ruler"}  # with the settings of spaCy's own
    assert {name if name in COMPONENTS else registered(name) for name in SETTINGS} == (
        ours | factories
    )


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, values in SETTINGS.items() for key in values]
)
def test_good_settings_build_and_others_are_refused(name: str, key: str) -> None:
    values = SETTINGS[name][key]
    for value in values.good:
        width = {"width": 4} if value == "mme" else {}
        try_out(name, {**OTHERS[name], **width, key: value}, None)
        set_later(name, OTHERS[name], key, value, None)
    for value in values.bad:
        entries = [*value, *value.values()] if isinstance(value, dict) else value
        entries = entries if isinstance(value, (list, dict)) else []
        shown = [repr(each) for each in (value, *entries)]
        try_out(name, {**OTHERS[name], key: value}, key, *shown)
        set_later(name, OTHERS[name], key, value, key, repr(value))


WITH_IMPORTANCE = ["MultiWeightedHashEmbed", "TextCatHashEmbed"]
UNTRAINED, BY_ROWS = {"train_importance": False}, {"importance_rows": None}
# Settings of a part that do or don't go together, the one that is refused, and what shows it
TOGETHER: list[tuple[str, dict[str, Any], Optional[str], str]] = [
    ("MetaVectors", {"mode": "mme"}, "width", "None"),
    *((name, UNTRAINED, "importance_rows", "train_importance") for name in WITH_IMPORTANCE),
    *((name, {**UNTRAINED, **BY_ROWS}, None, "") for name in WITH_IMPORTANCE),
    *(
        (name, {"rows": rows, **BY_ROWS}, "importance_rows", repr(10 * LARGEST))
        for name, rows in zip(WITH_IMPORTANCE, ([4, LARGEST], LARGEST), strict=True)
    ),
    ("TokenTagger", {"tok2vec": Part(LISTENER)}, None, ""),
    ("batch_ner", {"candidates_above": 0.5, "spans_key": None}, "candidates_above", "0.5"),
    ("tagger_ner", {"candidates_above": 0.5, "spans_key": None}, "candidates_above", "0.5"),
    ("tagger_ner", {"model": tagger(LISTENER), "decoder": "crf"}, None, ""),
    ("tagger_ner", {"model": tagger(learn_transitions=False), "decoder": "crf"}, "decoder", "crf"),
    ("tagger_ner", {"model": OTHER_MODEL}, "model", ""),
    ("tagger_ner", {"scorer": Part({"@scorers": "spacy.ner_scorer.v1"})}, None, ""),
]


@pytest.mark.parametrize(("name", "settings", "key", "shown"), TOGETHER)
def test_settings_that_do_not_go_together_are_refused(
    name: str, settings: dict[str, Any], key: Optional[str], shown: str
) -> None:
    settings = {**OTHERS[name], **settings}
    try_out(name, settings, key, shown)
    if key is not None:
        value = settings.pop(key)
        set_later(name, settings, key, value, key, shown)


def try_out(name: str, settings: dict[str, Any], key: Optional[str], *shown: str) -> None:
    """Build a part by a call and from a config; a key is to be refused, with its value."""
    for build in (call, build_from_config):
        check(refusal_of(partial(build, name, settings)), key, *shown)


def set_later(
    name: str, others: dict[str, Any], key: str, value: Any, refused: Optional[str], *shown: str
) -> None:
    """Set what a component is built with on a trained one: a refusal changes nothing."""
    if name not in COMPONENTS or key in ("model", "scorer", "candidates_above"):
        return
    pipe = call(name, others)
    before = getattr(pipe, key)
    check(refusal_of(partial(setattr, pipe, key, value)), refused, *shown)
    assert refused is None or getattr(pipe, key) == before


def check(message: Optional[str], key: Optional[str], *shown: str) -> None:
    if key is None:
        assert message is None, f"refused although nothing is wrong: {message}"
        return
    assert message is not None, f"taken although wrong: {key} = {shown}"
    assert key in message and any(value in message for value in shown), message


def refusal_of(build: Callable[[], Any]) -> Optional[str]:
    """Return the message of a refusal, None if there is none. No other error may come."""
    try:
        build()
    except ValueError as error:  # confection's ConfigValidationError is one
        return str(error)
    return None


def call(name: str, settings: dict[str, Any]) -> Any:
    """Call the function without a config."""

    def resolve(value: Any) -> Any:
        is_part = isinstance(value, Part)
        return spacy.registry.resolve({"part": value.section})["part"] if is_part else value

    arguments = {key: resolve(value) for key, value in settings.items()}
    if name == "tagger_ner":
        return EntityTagger(Vocab(), arguments.pop("model"), **arguments)
    if name == "batch_ner":
        return BatchEntityRecognizer(Vocab(), resolve(PARSER), **arguments)
    return spacy.registry.architectures.get(registered(name))(**arguments)


def build_from_config(name: str, settings: dict[str, Any]) -> None:
    """Let spaCy read a config, check it, and call the function."""
    config = {k: v.section if isinstance(v, Part) else v for k, v in settings.items()}
    if name == "batch_ner":
        config["model"] = PARSER.section
    if name in COMPONENTS:
        NLP.create_pipe(name, config=config)
    else:
        spacy.registry.resolve({"model": {"@architectures": registered(name), **config}})
