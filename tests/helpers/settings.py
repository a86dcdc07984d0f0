"""Generated settings of all registered parts, good and broken, and rules that tell which they are.

The rules are written anew here, from the docs. They share nothing with the checks of the package.
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
    "aggregate": ["sum", "mean", "concatenate"],
    "importance_by": ["hash", "lookup"],
    "reduce": ["sum", "mean"],
    "train_passes": ["all", "last"],
    "decoder": ["greedy", "constrained", "crf"],
    "confidence": ["marginal", "product"],
}
# What may stand in a config in the place of a setting.
NUMBERS = [-1, 0, 1, 17, 101, 257, 10**6 + 1, LARGEST, 2**31, 2**32, 10**30, -0.5, 0.5, 1.5, 3.0]
NO_NUMBERS = [None, True, False, float("nan"), float("inf"), "96", "0.1", "", "x", "max", "NROM"]
LISTS = [[], [4], [[4]], ["4"], [True], [0], [None], [2.0], [3, 3], [9, 4], [2**31], [1, 2, 3, 4]]
BROKEN = [*NUMBERS, *NO_NUMBERS, *LISTS]
# spaCy writes the configs of components as JSON, without numbers beyond 64 bits: its error E961.
BROKEN_64 = [value for value in BROKEN if value != 10**30]


@dataclass(frozen=True)
class Part:
    """A model or a function, by its section in a config, and its traits that decide what fits."""

    section: Settings
    traits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Part({self.section}, {self.traits})"


LISTENER_SECTION = {"@architectures": "spacy.Tok2VecListener.v1", "width": 4, "upstream": "*"}
ENCODER = {"@architectures": f"{PREFIX}IteratedDilatedEncoder.v1", "width": 4}
EMBED = {"@architectures": f"{PREFIX}MultiEmbed.v1", "width": 4, "attrs": ["NORM"]}
OWN_SECTION = {
    "@architectures": "spacy.Tok2Vec.v2",
    "embed": {**EMBED, "include_static_vectors": False},
    "encode": ENCODER,
}
LISTENER, OWN = Part(LISTENER_SECTION, ("listener",)), Part(OWN_SECTION)
INITIALIZER = Part({"@initializers": "uniform_init.v1", "lo": -0.5, "hi": 0.5})
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


# What is good


def whole(low: int, high: int) -> IsGood:
    return lambda value: type(value) is int and low <= value <= high


def or_none(is_good: IsGood) -> IsGood:
    return lambda value: value is None or is_good(value)


def list_of(is_good: IsGood, fewest: int = 0, most: int = 10**9) -> IsGood:
    return lambda value: (
        type(value) is list and fewest <= len(value) <= most and all(map(is_good, value))
    )


def is_attr(value: Any) -> bool:
    if type(value) is int:
        return value != 0 and value in IDS.values()
    return type(value) is str and value != "" and value.upper() in IDS


def is_flag(value: Any) -> bool:
    return value is True or value is False


def is_part(value: Any) -> bool:
    return isinstance(value, Part)


def is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1


def is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def is_string(value: Any) -> bool:
    return type(value) is str


def is_penalty(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 2.0**1023


def are_orders(value: Any) -> bool:
    return list_of(whole(1, 10), 1)(value) and len(set(value)) == len(value)


def is_run(value: Any) -> bool:
    return list_of(whole(1, LARGEST), 2, 2)(value) and value[0] <= value[1]


def is_choice(name: str) -> IsGood:
    return lambda value: type(value) is str and value in CHOICES[name]


_WIDTH: dict[str, IsGood] = {"width": whole(1, LARGEST)}
_DOCS: dict[str, IsGood] = {
    **_WIDTH,
    "attrs": list_of(is_attr, 1),
    "include_static_vectors": is_flag,
}
_HASHED: dict[str, IsGood] = {
    "rows": list_of(whole(1, LARGEST)),
    "num_hashes": lambda value: whole(1, 16)(value) or list_of(whole(1, 16))(value),
    "seeds": or_none(list_of(whole(0, LARGEST_SEED))),
}
_WEIGHTED: dict[str, IsGood] = {
    "append_importance": is_flag,
    "aggregate": is_choice("aggregate"),
    "train_importance": is_flag,
    "importance_by": is_choice("importance_by"),
    "independent": is_flag,
    "embed_init": or_none(is_part),
    "importance_init": or_none(is_part),
}
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
    f"{PREFIX}MultiEmbed.v1": {**_DOCS, "unk_dropout": is_share},
    f"{PREFIX}MultiHashEmbed.v1": {**_DOCS, **_HASHED},
    f"{PREFIX}MultiWeightedHashEmbed.v1": {
        **_DOCS,
        **_HASHED,
        **_WEIGHTED,
        "importance_rows": or_none(list_of(whole(1, LARGEST))),
    },
    f"{PREFIX}TextCatEnsemble.v1": {"models": list_of(is_part, 1)},
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
        "reduce": is_choice("reduce"),
        "hidden": list_of(whole(1, LARGEST), 0, 100),
        "input_dropout": or_none(is_run),
        "seed": or_none(whole(0, LARGEST_SEED)),
    },
    f"{PREFIX}TokenTagger.v1": {
        **_NUMBER_OF_LABELS,
        "tok2vec": is_part,
        "train_passes": is_choice("train_passes"),
        "learn_transitions": is_flag,
        "word_dropout": is_share,
    },
    "tagger_ner": {
        "model": lambda value: is_part(value) and "other" not in value.traits,
        "decoder": or_none(is_choice("decoder")),
        "dropout_penalty": is_penalty,
        "spans_key": or_none(is_string),
        "threshold": is_probability,
        "incorrect_spans_key": or_none(is_string),
        "confidence": is_choice("confidence"),
        "scorer": or_none(is_part),
    },
}


def offences(name: str, settings: Settings) -> list[Offence]:
    """List what is wrong with settings. An error has to name one of these, with its value."""
    if "models" in settings:
        return _of_members(settings["models"])
    bad = [key for key, value in settings.items() if not RULES[name][key](value)]
    found = [(key, each) for key in bad for each in _shown(settings[key])]
    found += [
        (key, repr(settings[key]))
        for key in ("rows", "num_hashes", "seeds", "importance_rows")
        if _differs_in_length(settings, key, bad)
    ]
    if "train_importance" in RULES[name] and not {"train_importance", "importance_by"} & set(bad):
        found += _useless(settings, bad)
    traits = getattr(settings.get("tok2vec", settings.get("model")), "traits", ())
    if "listener" in traits:
        found += [
            (key, repr(settings[key]))
            for key in ("word_dropout", "dropout_penalty")
            if key not in bad and settings.get(key)
        ]
    if settings.get("decoder") == "crf" and "crf" not in traits:
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
    """List settings of importance that have no effect, or whose default is out of range."""
    trained = settings.get("train_importance", True)
    hashed = settings.get("importance_by", "hash") == "hash"
    useless = {"importance_rows": settings.get("importance_rows") is not None} if not hashed else {}
    if not trained:
        useless = {
            "importance_by": not hashed,
            "independent": settings.get("independent") is False,
            "importance_rows": settings.get("importance_rows") is not None,
            "importance_init": settings.get("importance_init") is not None,
        }
    found = [
        (key, "train_importance" if not trained else "lookup") for key in useless if useless[key]
    ]
    if trained and hashed and settings.get("importance_rows") is None and "rows" not in bad:
        rows = settings.get("rows", 1)
        numbers = [10 * number for number in (rows if type(rows) is list else [rows])]
        found += [("importance_rows", repr(number)) for number in numbers if number > LARGEST]
    return found


def _of_members(members: list[Any]) -> list[Offence]:
    no_models = [(i, each) for i, each in enumerate(members) if not is_part(each)]
    if no_models or not members:
        return [(f"model {i}", repr(each)) for i, each in no_models] or [("models", "[]")]
    found = [(f"model {i}", "") for i, member in enumerate(members) if "scores" in member.traits]
    if len({"exclusive" in member.traits for member in members}) > 1:
        kinds = ["exclusive" in member.traits for member in members]
        found.append(("exclusive_classes", repr(kinds)))
    return found


# What is generated


def _size(most: int, largest: int) -> st.SearchStrategy[int]:
    return st.integers(1, most) | st.sampled_from([largest, 1])


_FLAG = st.booleans()
_NAMES = ["NORM", "prefix", "SHAPE", "ORTH", "LOWER", 65, 66]
_GOOD: dict[str, st.SearchStrategy[Any]] = {
    "width": _size(20, LARGEST),
    "include_static_vectors": _FLAG,
    "unk_dropout": st.sampled_from([0, 0.0, 0.1, 0.999]),
    "word_dropout": st.sampled_from([0, 0.0, 0.1, 0.999]),
    "dropout_penalty": st.sampled_from([0, 0.0, 1, 0.5, 7.0]),
    "dilations": st.lists(_size(5, 10**6), min_size=1, max_size=5),
    "repeats": _size(4, 100),
    "window_size": _size(3, 100),
    "maxout_pieces": _size(4, 256),
    "depth": _size(4, 100),
    "importance_init": st.sampled_from([None, INITIALIZER]),
    "embed_init": st.sampled_from([None, INITIALIZER]),
    "ngram_orders": st.lists(st.integers(1, 10), min_size=1, unique=True),
    "attr": st.sampled_from(_NAMES),
    "hidden": st.lists(_size(20, LARGEST), max_size=3),
    "input_dropout": st.sampled_from([None, [1, 1], [4, 100], [1, LARGEST]]),
    "seed": st.sampled_from([None, 0, 8, LARGEST_SEED]),
    "nO": st.none() | _size(9, LARGEST),
    "tok2vec": st.sampled_from([OWN, OWN, LISTENER]),
    "model": st.sampled_from([*TAGGERS, *TAGGERS, OTHER_MODEL]),
    "decoder": st.sampled_from([None, *CHOICES["decoder"]]),
    "spans_key": st.sampled_from([None, "found"]),
    "threshold": st.sampled_from([0, 0.0, 0.5, 1, 1.0]),
    "incorrect_spans_key": st.sampled_from([None, "wrong"]),
    "scorer": st.sampled_from([None, SCORER]),
    **{name: st.sampled_from(CHOICES[name]) for name in CHOICES if name != "decoder"},
    **dict.fromkeys(["share", "residual", "normalize", "learn_transitions"], _FLAG),
    **dict.fromkeys(["exclusive_classes", "append_importance", "independent"], _FLAG),
    "train_importance": st.sampled_from([True, True, False]),
}
_ONE_EACH: dict[str, st.SearchStrategy[Any]] = {
    "rows": _size(50, LARGEST // 10),
    "num_hashes": st.integers(1, 16),
    "seeds": st.integers(0, LARGEST_SEED),
    "importance_rows": _size(50, LARGEST),
}
REQUIRED = {
    f"{PREFIX}MaxoutWindowEncoder.v1": ("width", "window_size", "maxout_pieces", "depth"),
    "tagger_ner": ("model",),
}
_ALWAYS = ("width", "attrs", "rows", "include_static_vectors", "exclusive_classes", "tok2vec")


@st.composite
def settings_of(draw: st.DrawFn, name: str) -> Settings:
    """Draw settings of a part: good ones, then up to two of them broken."""
    if "models" in RULES[name]:
        return {"models": draw(_members())}
    settings: Settings = {}
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3))
    for key in RULES[name]:
        if key in (*_ALWAYS, *REQUIRED.get(name, ())) or draw(st.booleans()):
            settings[key] = names if key == "attrs" else draw(_good(name, key, len(names)))
    for key in draw(st.lists(st.sampled_from(sorted(settings)), max_size=2)):
        settings[key] = draw(_broken(settings[key], BROKEN if name != "tagger_ner" else BROKEN_64))
    return settings


def _good(name: str, key: str, number: int) -> st.SearchStrategy[Any]:
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


def _members() -> st.SearchStrategy[Any]:
    """Draw the members of an ensemble, in most cases such as agree with each other."""
    agreeing = st.booleans().flatmap(lambda kind: st.lists(_member(kind), max_size=3))
    others = st.lists(_member(True) | _member(False), max_size=3)
    broken: st.SearchStrategy[Any] = st.sampled_from([*NUMBERS, *NO_NUMBERS])
    return (
        agreeing
        | others
        | st.builds(lambda members, one: [*members, one], agreeing, broken).map(_numbered)
    ).map(_numbered)


def _member(exclusive: bool) -> st.SearchStrategy[Part]:
    traits = ("exclusive",) * exclusive
    ours = {"@architectures": f"{PREFIX}TextCatHashEmbed.v1", "rows": 9, "width": 2}
    bag = {"@architectures": "spacy.TextCatBOW.v3", "ngram_size": 1, "length": 8}
    kind = {"exclusive_classes": exclusive, "nO": 2}
    return st.sampled_from(
        [
            Part(ours | kind, traits),
            Part(bag | kind | {"no_output_layer": False}, traits),
            Part(bag | kind | {"no_output_layer": True}, (*traits, "scores")),
        ]
    )


def _numbered(members: list[Any]) -> list[Any]:
    """Give each of our members a seed of its own, as those with the same one cause a warning."""
    return [
        Part(member.section | {"seed": i}, member.traits)
        if isinstance(member, Part) and "TextCatHashEmbed" in member.section["@architectures"]
        else member
        for i, member in enumerate(members)
    ]
