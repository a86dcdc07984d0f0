"""Generated settings of all registered parts, good and broken."""

from typing import Any

import spacy
from hypothesis import strategies as st

from tests.helpers.setting_rules import (
    CHOICES,
    LARGEST,
    LARGEST_SEED,
    PREFIX,
    RULES,
    Part,
    Settings,
)

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
    "confidence": st.just("exact"),
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
