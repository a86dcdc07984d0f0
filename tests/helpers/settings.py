"""Generated settings of registered parts, good and broken, and rules of which are good.

The rules are written anew here, from the docs, and share nothing with the checks of the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import spacy
from hypothesis import strategies as st
from spacy.attrs import IDS

Settings = dict[str, Any]
Offence = tuple[str, str]  # the name of a setting, and how a message shows its value
IsGood = Callable[[Any], bool]

LARGEST = 2**31 - 1
LARGEST_SEED = 2**32 - 1
PREFIX = "spacy-multihash."
CHOICES = {
    "reduce": ["sum", "mean"],
    "train_passes": ["all", "last"],
    "decoder": ["greedy", "constrained", "crf"],
    "mode": ["concat", "mme"],
}


@dataclass(frozen=True)
class Part:
    """A model or a function, by its section in a config, and its traits that decide what fits."""

    section: Settings
    traits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Part({self.section}, {self.traits})"


def whole(low: int, high: int) -> IsGood:
    return lambda value: type(value) is int and low <= value <= high


def number(is_good: IsGood) -> IsGood:
    return lambda value: type(value) in (int, float) and is_good(value)


def or_none(is_good: IsGood) -> IsGood:
    return lambda value: value is None or is_good(value)


def list_of(is_good: IsGood, fewest: int = 0, most: int = 10**9) -> IsGood:
    return lambda value: (
        type(value) is list and fewest <= len(value) <= most and all(map(is_good, value))
    )


def is_one_of(*choices: object) -> IsGood:
    return lambda value: any(type(value) is type(each) and value == each for each in choices)


def is_attr(value: Any) -> bool:
    if type(value) is int:
        return value != 0 and value in IDS.values()
    return type(value) is str and value != "" and value.upper() in IDS


def is_part(value: Any) -> bool:
    return isinstance(value, Part)


def are_orders(value: Any) -> bool:
    return list_of(whole(1, 10), 1)(value) and len(set(value)) == len(value)


def are_key_attrs(value: Any) -> bool:
    return type(value) is dict and set(value.values()) <= {"ORTH", "LOWER", "NORM", "LEMMA"}


is_flag = is_one_of(True, False)
is_share = number(lambda value: 0 <= value < 1)
is_probability = number(lambda value: 0 <= value <= 1)
is_positive = number(lambda value: 0 < value < 2.0**1023)
_WIDTH: dict[str, IsGood] = {"width": whole(1, LARGEST)}
_DOCS: dict[str, IsGood] = {
    **_WIDTH,
    "attrs": list_of(is_attr, 1),
    "include_static_vectors": is_flag,
    "table_dropout": is_flag,
}
_HASHED: dict[str, IsGood] = {
    "rows": list_of(whole(1, LARGEST)),
    "num_hashes": lambda value: whole(1, 16)(value) or list_of(whole(1, 16))(value),
    "seeds": or_none(list_of(whole(0, LARGEST_SEED))),
}
_WEIGHTED: dict[str, IsGood] = {"append_importance": is_flag, "train_importance": is_flag}
_NUMBER_OF_LABELS: dict[str, IsGood] = {"nO": or_none(whole(1, LARGEST))}
RULES: dict[str, dict[str, IsGood]] = {
    f"{PREFIX}IteratedDilatedEncoder.v1": {
        **_WIDTH,
        "dilations": list_of(whole(1, 10**6), 1, 100),
        "repeats": whole(1, 100),
        "window_size": whole(1, 100),
        "share": is_flag,
        "residual": is_flag,
        "normalize": is_flag,
    },
    f"{PREFIX}MaxoutWindowEncoder.v1": {
        **_WIDTH,
        "window_size": whole(0, 100),
        "maxout_pieces": whole(1, 256),
        "depth": whole(1, 100),
    },
    f"{PREFIX}MetaVectors.v1": {
        "width": or_none(whole(1, LARGEST)),
        "tables": lambda value: type(value) is dict and len(value) > 0,
        "mode": is_one_of(*CHOICES["mode"]),
        "key_attrs": or_none(are_key_attrs),
    },
    f"{PREFIX}MultiEmbed.v1": {**_DOCS, "unk_dropout": is_share},
    f"{PREFIX}MultiHashEmbed.v1": {**_DOCS, **_HASHED},
    f"{PREFIX}MultiWeightedHashEmbed.v1": {
        **_DOCS,
        **_HASHED,
        **_WEIGHTED,
        "importance_rows": or_none(list_of(whole(1, LARGEST))),
    },
    f"{PREFIX}TextCatHashEmbed.v1": {
        **_WIDTH,
        **_WEIGHTED,
        **_NUMBER_OF_LABELS,
        "exclusive_classes": is_flag,
        "rows": whole(1, LARGEST),
        "importance_rows": or_none(whole(1, LARGEST)),
        "num_hashes": whole(1, 16),
        "ngram_orders": are_orders,
        "attr": is_attr,
        "reduce": is_one_of(*CHOICES["reduce"]),
        "seed": or_none(whole(0, LARGEST_SEED)),
    },
    f"{PREFIX}TokenTagger.v1": {
        **_NUMBER_OF_LABELS,
        "tok2vec": is_part,
        "train_passes": is_one_of(*CHOICES["train_passes"]),
        "learn_transitions": is_flag,
    },
    # Its model and other settings are checked by spaCy's ner, which it is.
    "batch_ner": {
        "state_dropout": is_share,
        "spacy_gradient": is_flag,
        "decoder": is_one_of("greedy", "best"),
        "spans_key": lambda value: value is None or type(value) is str,
        "candidates_above": or_none(number(lambda value: 0 < value <= 1)),
        "temperature": is_positive,
    },
    "tagger_ner": {
        "model": lambda value: is_part(value) and "other" not in value.traits,
        "decoder": is_one_of(None, *CHOICES["decoder"]),
        "spans_key": lambda value: value is None or type(value) is str,
        "threshold": is_probability,
        "temperature": is_positive,
        "scorer": or_none(is_part),
    },
}


def offences(name: str, settings: Settings) -> list[Offence]:
    """List what is wrong with settings. An error has to name one of these, with its value."""
    bad = [key for key, value in settings.items() if not RULES[name][key](value)]
    found = [(key, each) for key in bad for each in _shown(settings[key])]
    found += [
        (key, repr(settings[key]))
        for key in ("rows", "num_hashes", "seeds", "importance_rows")
        if _differs_in_length(settings, key, bad)
    ]
    if "train_importance" in RULES[name] and "train_importance" not in bad:
        found += _useless(settings, bad)
    traits = getattr(settings.get("tok2vec", settings.get("model")), "traits", ())
    if name.endswith("MetaVectors.v1") and settings["width"] is None and "mode" not in bad:
        found += [("width", "None")] if settings.get("mode", "concat") != "concat" else []
    above = settings.get("candidates_above")
    if above is not None and "candidates_above" not in bad and settings.get("spans_key") is None:
        found.append(("candidates_above", repr(above)))
    if name == "tagger_ner" and settings.get("decoder") == "crf" and "crf" not in traits:
        found.append(("decoder", '"crf"'))
    return found


def _shown(value: Any) -> list[str]:
    if isinstance(value, Part):
        return [""]
    return [repr(value), *(repr(each) for each in value)] if type(value) is list else [repr(value)]


def _differs_in_length(settings: Settings, key: str, bad: list[str]) -> bool:
    if "attrs" not in settings or {key, "attrs"} & set(bad):
        return False
    return type(settings.get(key)) is list and len(settings[key]) != len(settings["attrs"])


def _useless(settings: Settings, bad: list[str]) -> list[Offence]:
    """List the rows of importance if they have no effect, or if their default is out of range."""
    given = settings.get("importance_rows")
    if not settings.get("train_importance", True):
        return [] if given is None else [("importance_rows", "train_importance")]
    if given is not None or "rows" in bad:
        return []
    rows = settings.get("rows", 1)
    numbers = [10 * number for number in (rows if type(rows) is list else [rows])]
    return [("importance_rows", repr(number)) for number in numbers if number > LARGEST]


# What may stand in a config in the place of a setting.
NUMBERS = [-1, 0, 1, 17, 101, 257, 10**6 + 1, LARGEST, 2**31, 2**32, 10**30, -0.5, 0.5, 1.5, 3.0]
NO_NUMBERS = [None, True, False, float("nan"), float("inf"), "96", "0.1", "", "x", "max", "NROM"]
LISTS = [[], [4], [[4]], ["4"], [True], [0], [None], [2.0], [3, 3], [9, 4], [2**31], [1, 2, 3, 4]]
BROKEN = [*NUMBERS, *NO_NUMBERS, *LISTS]
# spaCy writes the configs of components as JSON, without numbers beyond 64 bits: its error E961.
BROKEN_64 = [value for value in BROKEN if value != 10**30]

LISTENER_SECTION = {"@architectures": "spacy.Tok2VecListener.v1", "width": 4, "upstream": "*"}
ENCODER = {"@architectures": f"{PREFIX}IteratedDilatedEncoder.v1", "width": 4}
EMBED = {"@architectures": f"{PREFIX}MultiEmbed.v1", "width": 4, "attrs": ["NORM"]}
OWN_SECTION = {
    "@architectures": "spacy.Tok2Vec.v2",
    "embed": {**EMBED, "include_static_vectors": False},
    "encode": ENCODER,
}
LISTENER, OWN = Part(LISTENER_SECTION, ("listener",)), Part(OWN_SECTION)
SCORER = Part({"@scorers": "spacy.ner_scorer.v1"})
TAGGERS = [
    Part(
        {
            "@architectures": f"{PREFIX}TokenTagger.v1",
            "tok2vec": tok2vec.section,
            "learn_transitions": learn,
        },
        ("crf",) * learn + tok2vec.traits,
    )
    for tok2vec in (OWN, LISTENER)
    for learn in (True, False)
]
PARSER = Part(
    {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "tok2vec": OWN_SECTION,
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 4,
        "maxout_pieces": 2,
        "use_upper": True,
    }
)
OTHER_MODEL = Part({"@architectures": "spacy.Tagger.v2", "tok2vec": OWN_SECTION}, ("other",))


def resolve(value: Any) -> Any:
    """Build the parts among values, as for a call without a config."""
    if isinstance(value, Part):
        return spacy.registry.resolve({"part": value.section})["part"]
    return [resolve(each) for each in value] if isinstance(value, list) else value


def section(value: Any) -> Any:
    """Give values as a config has them."""
    if isinstance(value, Part):
        return value.section
    return [section(each) for each in value] if isinstance(value, list) else value


def _size(most: int, largest: int) -> st.SearchStrategy[int]:
    return st.integers(1, most) | st.sampled_from([largest, 1])


_FLAG = st.booleans()
_NAMES = ["NORM", "prefix", "SHAPE", "ORTH", "LOWER", 65, 66]
_GOOD: dict[str, st.SearchStrategy[Any]] = {
    "width": _size(20, LARGEST),
    "include_static_vectors": _FLAG,
    "table_dropout": _FLAG,
    "unk_dropout": st.sampled_from([0, 0.0, 0.1, 0.999]),
    "dilations": st.lists(_size(5, 10**6), min_size=1, max_size=5),
    "repeats": _size(4, 100),
    "window_size": _size(3, 100),
    "maxout_pieces": _size(4, 256),
    "depth": _size(4, 100),
    "ngram_orders": st.lists(st.integers(1, 10), min_size=1, unique=True),
    "attr": st.sampled_from(_NAMES),
    "seed": st.sampled_from([None, 0, 8, LARGEST_SEED]),
    "nO": st.none() | _size(9, LARGEST),
    "tok2vec": st.sampled_from([OWN, OWN, LISTENER]),
    "model": st.sampled_from([*TAGGERS, *TAGGERS, OTHER_MODEL]),
    "decoder": st.sampled_from([None, *CHOICES["decoder"]]),
    "spans_key": st.sampled_from([None, "found"]),
    "threshold": st.sampled_from([0, 0.0, 0.5, 1, 1.0]),
    "temperature": st.sampled_from([0.1, 1, 1.0, 30.0]),
    "scorer": st.sampled_from([None, SCORER]),
    **{name: st.sampled_from(CHOICES[name]) for name in CHOICES if name != "decoder"},
    **dict.fromkeys(["share", "residual", "normalize", "learn_transitions"], _FLAG),
    **dict.fromkeys(["exclusive_classes", "append_importance"], _FLAG),
    "train_importance": st.sampled_from([True, True, False]),
    "tables": st.sampled_from([{"vocab": None}, {"es": "es", "vocab": None}, {"nl-1": "nl"}]),
    "key_attrs": st.sampled_from([None, {}]),
}
_GOOD_OF_BATCH_NER: dict[str, st.SearchStrategy[Any]] = {
    "state_dropout": st.sampled_from([0, 0.0, 0.1, 0.999]),
    "spacy_gradient": _FLAG,
    "decoder": st.sampled_from(["greedy", "best"]),
    "candidates_above": st.sampled_from([None, 0.001, 0.5, 1, 1.0]),
}
_ONE_EACH: dict[str, st.SearchStrategy[Any]] = {
    "rows": _size(50, LARGEST // 10),
    "num_hashes": st.integers(1, 16),
    "seeds": st.integers(0, LARGEST_SEED),
    "importance_rows": _size(50, LARGEST),
}
COMPONENTS = ("batch_ner", "tagger_ner")
REQUIRED = {
    f"{PREFIX}MaxoutWindowEncoder.v1": ("width", "window_size", "maxout_pieces", "depth"),
    "batch_ner": ("decoder",),
    "tagger_ner": ("model",),
}
_ALWAYS: tuple[str, ...] = ("width", "attrs", "rows", "tables", "tok2vec")
_ALWAYS += ("include_static_vectors", "exclusive_classes")


@st.composite
def settings_of(draw: st.DrawFn, name: str) -> Settings:
    """Draw settings of a part: good ones, then up to two of them broken."""
    settings: Settings = {}
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3))
    for key in RULES[name]:
        if key in (*_ALWAYS, *REQUIRED.get(name, ())) or draw(st.booleans()):
            settings[key] = names if key == "attrs" else draw(_good(name, key, len(names)))
    for key in draw(st.lists(st.sampled_from(sorted(settings)), max_size=2)):
        settings[key] = draw(_broken(settings[key], BROKEN_64 if name in COMPONENTS else BROKEN))
    return settings


def _good(name: str, key: str, number: int) -> st.SearchStrategy[Any]:
    if name == "batch_ner" and key in _GOOD_OF_BATCH_NER:
        return _GOOD_OF_BATCH_NER[key]
    if key not in _ONE_EACH:
        return _GOOD[key]
    one = _ONE_EACH[key]
    if "attrs" not in RULES[name]:
        return one
    each: st.SearchStrategy[Any] = st.lists(one, min_size=number, max_size=number)
    return one | each if key == "num_hashes" else each


def _broken(value: Any, pool: list[Any]) -> st.SearchStrategy[Any]:
    anything: st.SearchStrategy[Any] = st.sampled_from(pool)
    if not isinstance(value, list) or not value:
        return anything
    at = st.integers(0, len(value) - 1)
    replaced = st.builds(lambda i, new: [*value[:i], new, *value[i + 1 :]], at, anything)
    return anything | replaced | st.sampled_from([value[1:], [*value, value[0]]])
