"""Rules of which settings of registered parts are good.

They are written anew here, from the docs, and share nothing with the checks of the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def are_orders(value: Any) -> bool:
    return list_of(whole(1, 10), 1)(value) and len(set(value)) == len(value)


def is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 2.0**1023


def is_positive_probability(value: Any) -> bool:
    return is_positive(value) and value <= 1


def are_tables(value: Any) -> bool:
    return type(value) is dict and len(value) > 0


def are_key_attrs(value: Any) -> bool:
    return type(value) is dict and set(value.values()) <= {"ORTH", "LOWER", "NORM", "LEMMA"}


def is_one_of(*choices: str) -> IsGood:
    return lambda value: type(value) is str and value in choices


def is_choice(name: str) -> IsGood:
    return is_one_of(*CHOICES[name])


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
_WEIGHTED: dict[str, IsGood] = {
    "append_importance": is_flag,
    "train_importance": is_flag,
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
    f"{PREFIX}MetaVectors.v1": {
        "width": or_none(whole(1, LARGEST)),
        "tables": are_tables,
        "mode": is_choice("mode"),
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
        "reduce": is_choice("reduce"),
        "seed": or_none(whole(0, LARGEST_SEED)),
    },
    f"{PREFIX}TokenTagger.v1": {
        **_NUMBER_OF_LABELS,
        "tok2vec": is_part,
        "train_passes": is_choice("train_passes"),
        "learn_transitions": is_flag,
    },
    # Its model and other settings are checked by spaCy's ner, which it is.
    "batch_ner": {
        "state_dropout": is_share,
        "spacy_gradient": is_flag,
        "decoder": is_one_of("greedy", "best"),
        "spans_key": or_none(is_string),
        "confidence": is_one_of("exact"),
        "candidates_above": or_none(is_positive_probability),
        "temperature": is_positive,
    },
    "tagger_ner": {
        "model": lambda value: is_part(value) and "other" not in value.traits,
        "decoder": or_none(is_choice("decoder")),
        "spans_key": or_none(is_string),
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
