"""Arguments of public functions: what their type hints accept, and that all of them are checked."""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Optional, Union, get_type_hints

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from thinc.api import Linear, Model

import spacy_multihash
from spacy_multihash.common.arguments import Positive, Share, checked, describe, fits
from spacy_multihash.common.progress import Progress, no_progress
from spacy_multihash.corpus.sources import Reading
from spacy_multihash.training.options import Options

NLP = spacy.blank("en")
TABLES = spacy_multihash.make_tables({"NORM": Counter({5: 9})}, min_freq=1)


class ByNumber:
    """A list as Python's oldest protocol has it, as some data sets do."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, i: int) -> str:
        return ["Anna"][i]


HINTS: list[tuple[Any, list[Any], list[Any]]] = [
    (str, ["a", ""], [None, b"a", 5, Path("a")]),
    (bool, [True, numpy.bool_(True)], [1, None, "true"]),
    (int, [5, numpy.int64(5)], [True, 5.0, "5", None]),
    (float, [5, 0.5, numpy.float32(0.5)], [True, "0.5", None]),
    (Optional[int], [5, None], ["5", False]),
    (int | None, [5, None], ["5", False]),
    (Union[str, Path], ["a", Path("a")], [b"a", None, ["a"]]),
    (Literal["a", "b"], ["a", numpy.str_("a")], ["c", 5, ["a"], None]),
    (Sequence[str], [["a"], ("a",), [], numpy.array(["a"]), ByNumber()], ["a", [5], {"a": 1}, 5]),
    (Sequence[tuple[str, str]], [[("a", "b")], [["a", "b"]]], [["ab"], [("a",)], [("a", 5)]]),
    (Iterable[Doc], [[], iter([]), ByNumber(), {5}], ["a", b"a", {"a": 1}, 5, None]),
    (Mapping[str, int], [{}, {"a": 1}], [[], "a", None, {"a": "b"}, {1: 1}]),
    (dict[str, Counter[int]], [{}, {"a": Counter([5])}], [[], None, {"a": [5]}]),
    (Model[int, int], [Linear()], [NLP, None]),
    (Progress, [no_progress, Counter], [None, 5]),
    (Callable[[str], str], [str.upper], ["upper", None]),
    (Language, [NLP], ["en", None]),
    (Positive, [1, numpy.int64(9)], [0, -1, 1.0, True]),
    (Optional[Share], [0, 0.5, 1, None], [-0.1, 1.1, math.nan, "0.5"]),
    (Any, [None, 5], []),
]


@pytest.mark.parametrize(("hint", "right", "wrong"), HINTS, ids=lambda value: f"{value!s:.30}")
def test_a_hint_says_what_fits(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    assert [value for value in right if not fits(value, hint)] == []
    assert [value for value in wrong if fits(value, hint)] == []


def test_errors_say_what_is_accepted() -> None:
    assert describe(Union[str, Path, DocBin, Iterable[Doc], None]) == (
        "a path, a DocBin or a list of Docs"
    )
    assert describe(Optional[Sequence[Union[str, int]]]) == "a list of strings or integers"
    assert describe(Union[bool, Progress]) == "a bool or a function"
    assert describe(Optional[Positive]) == "an integer of at least 1"
    assert describe(Share) == "a number from 0 to 1"
    assert describe(Optional[Literal["int8", "float16"]]) == "one of int8, float16"


def test_a_dataclass_and_several_arguments_are_checked() -> None:
    @checked
    @dataclass(frozen=True)
    class Settings:
        width: int
        names: Sequence[str] = ()

        def __post_init__(self) -> None:
            assert self.width + 1

    @checked
    def total(*numbers: int, **others: Any) -> int:
        return sum(numbers)

    assert Settings(5, names=["a"]).width == 5 and total(1, 2, name="any") == 3
    function: Callable[..., Any]
    for function, given in ((Settings, ["5"]), (Settings, [5, [5]]), (total, [1, "2"])):
        with pytest.raises(ValueError, match="must be"):
            function(*given)
    with pytest.raises(TypeError, match="Settings.*widht"):
        Settings(widht=5)  # type: ignore[call-arg]


# Some value for each hint.
POOL: list[Any] = [
    *(
        None,
        True,
        5,
        0.5,
        "text",
        "ner",
        b"text",
        Path("path"),
        [],
        [5],
        ["text"],
        {},
        {"a": 1},
        {5},
    ),
    *(print, object(), NLP, NLP("Anna"), DocBin(), Linear(), TABLES, numpy.zeros(3)),
    *(spacy_multihash.Matching(), spacy_multihash.known_entities([]), Reading()),
]
PUBLIC = [getattr(spacy_multihash, name) for name in vars(spacy_multihash)["__all__"]]
# Architectures are functions of configs, whose settings the layers check.
VERBS = [
    *(x for x in PUBLIC if inspect.isfunction(x) and not x.__name__.startswith("build_")),
    *(Options, Reading, spacy_multihash.Matching),
]


@pytest.mark.parametrize("function", VERBS, ids=lambda function: function.__name__)
def test_a_public_function_refuses_all_of_another_type(function: Callable[..., Any]) -> None:
    hints, tried = get_type_hints(function, include_extras=True), 0
    signature = inspect.signature(function).parameters.values()
    parameters = [one for one in signature if one.name in hints]  # fit has those of Options, too
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and not parameter.kind.name.startswith("VAR")
    ]
    for parameter in (one for one in parameters if one.kind.name != "VAR_KEYWORD"):
        fitting = {
            name: next(value for value in POOL if fits(value, hints[name])) for name in required
        }
        for value in (value for value in POOL if not fits(value, hints[parameter.name])):
            several = [value] if parameter.kind.name == "VAR_POSITIONAL" else []
            named = {} if several else {parameter.name: value}
            with pytest.raises(ValueError, match=rf"^{parameter.name} must be"):
                function(*several, **{**fitting, **named})
            tried += 1
    assert tried
