"""What passes for a setting, and how another is refused."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from thinc.api import noop

from spacy_multihash import Tables, find_tables, find_weighted, set_tables
from spacy_multihash.common.checks import (
    are_whole,
    check_choice,
    check_flag,
    check_function,
    check_length,
    check_number,
    check_share,
    check_string,
    check_type,
    check_whole,
    is_whole,
)
from spacy_multihash.corpus.read import read_docs

NO_NUMBERS = ["2", True, False, None, [2], "", numpy.bool_(True)]


@pytest.mark.parametrize("value", [1, 5, numpy.int64(5), numpy.uint32(1)])
def test_whole_numbers_of_the_range_pass(value: Any) -> None:
    assert is_whole(value, 1) and is_whole(value, 1, 5)
    check_whole("Layer", "width", value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, -1, 2.0, numpy.float32(2), *NO_NUMBERS])
def test_nothing_else_passes(value: Any) -> None:
    assert not is_whole(value, 1, 5)


def test_there_need_not_be_an_end() -> None:
    assert is_whole(10**30, 0)


@pytest.mark.parametrize("values", [[], [1, 5], (2,), [numpy.int64(3)]])
def test_lists_of_whole_numbers_pass(values: Any) -> None:
    assert are_whole(values, 1, 5)


@pytest.mark.parametrize(
    "values", [[0], [1, 6], ["1"], [True], [1.0], "12", b"12", 2, None, {1: 2}]
)
def test_no_other_lists_pass(values: Any) -> None:
    assert not are_whole(values, 1, 5)


@pytest.mark.parametrize("value", [0, "96", True, 3.0, None])
def test_other_values_than_whole_numbers_are_refused_alike(value: Any) -> None:
    with pytest.raises(ValueError) as error:
        check_whole("Layer 'x' of NORM", "width", value, 1)
    assert str(error.value) == (
        f"Layer 'x' of NORM: width must be a whole number from 1 on, was: {value!r}. "
        "Change it in the config."
    )


def test_range_and_advice_are_in_the_message() -> None:
    with pytest.raises(ValueError, match="from 1 to 16, was: 17. Take fewer.$"):
        check_whole("Layer", "num_hashes", 17, 1, 16, advice="Take fewer.")


@pytest.mark.parametrize("value", [0, 0.5, 7, numpy.float32(0.5), 10**300])
def test_numbers_of_the_range_pass(value: Any) -> None:
    check_number("Layer", "penalty", value, 0)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), 10**400, *NO_NUMBERS])
def test_other_values_than_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: penalty must be a number from 0 on, was: "):
        check_number("Layer", "penalty", value, 0)


@pytest.mark.parametrize("value", [0, 0.0, 0.999, numpy.float32(0.5)])
def test_shares_pass(value: Any) -> None:
    check_share("Layer", "rate", value)


@pytest.mark.parametrize("value", [-0.1, 1, 1.0, 7, float("nan"), *NO_NUMBERS])
def test_other_values_than_shares_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: rate must be a share, 0 <= rate < 1, was: "):
        check_share("Layer", "rate", value)


@pytest.mark.parametrize("value", [True, False])
def test_flags_pass(value: bool) -> None:
    check_flag("Layer", "share", value)


@pytest.mark.parametrize("value", ["true", 1, 0, None, [True], "yes"])
def test_other_values_than_flags_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: share must be true or false, was: "):
        check_flag("Layer", "share", value)


def test_choices_pass() -> None:
    check_choice("Layer", "aggregate", "sum", ["sum", "mean"])


@pytest.mark.parametrize("value", ["max", "", "Sum", None, 1, ["sum"], b"sum"])
def test_other_values_than_choices_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: aggregate must be one of sum, mean, was: "):
        check_choice("Layer", "aggregate", value, ["sum", "mean"])


@pytest.mark.parametrize("value", [None, "", "found"])
def test_strings_and_none_pass(value: Any) -> None:
    check_string("Layer", "spans_key", value)


@pytest.mark.parametrize("value", [0, True, b"found", ["found"]])
def test_other_values_than_strings_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: spans_key must be a string, or null, was: "):
        check_string("Layer", "spans_key", value)


@pytest.mark.parametrize("value", [None, len, numpy.zeros])
def test_functions_and_none_pass(value: Any) -> None:
    check_function("Layer", "embed_init", value)


@pytest.mark.parametrize("value", ["zero_init.v1", 0, {}])
def test_other_values_than_functions_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Layer: embed_init must be a function, or null, was: "):
        check_function("Layer", "embed_init", value)


@pytest.mark.parametrize("values", [[1, 2], (1, 2), numpy.array([1, 2])])
def test_lists_of_the_length_pass(values: Any) -> None:
    check_length("Layer", "rows", values, ["NORM", "SHAPE"])


@pytest.mark.parametrize(
    "values", [[5], [], [1, 2, 3], "12", b"12", 2, None, {1: 2, 3: 4}, {1, 2}, numpy.array(2)]
)
def test_lists_of_other_lengths_are_refused(values: Any) -> None:
    with pytest.raises(ValueError) as error:
        check_length("Layer", "rows", values, ["NORM", "SHAPE"])
    assert str(error.value) == (
        "Layer: rows must be a list of length 2, an entry for each of NORM, SHAPE, "
        f"was: {values!r}. Change it in the config."
    )


@pytest.mark.parametrize("value", [3, True])
def test_values_of_a_type_pass(value: Any) -> None:
    check_type("function", "number", value, int, advice="Give one.")


@pytest.mark.parametrize(("expected", "noun"), [(int, "an int"), (list, "a list")])
def test_values_of_other_types_are_refused(expected: type, noun: str) -> None:
    message = f"^function: number must be {noun}, was: str. Give one.$"
    with pytest.raises(TypeError, match=message):
        check_type("function", "number", "3", expected, advice="Give one.")


NLP: Any = spacy.blank("en")
NO_TABLES: Any = {}
NAME: Any = "model"
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: set_tables(NLP, Tables({})), "model must be a Model, was: English. .*get_pipe"),
    (lambda: set_tables(noop(), NO_TABLES), "tables must be a Tables, was: dict. .*read_tables"),
    (lambda: find_tables(NAME), "nlp must be a Language, was: str. .*spacy.load"),
    (lambda: find_weighted(NAME), "nlp must be a Language, was: str. .*spacy.load"),
    (lambda: read_docs("x.spacy", NLP), "vocab must be a Vocab, was: English. .*nlp.vocab"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_functions_refuse_other_types(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()
