"""Each argument of each kernel, in each wrong size, is refused before it's read."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from spacy_multihash.compute import dispatch
from spacy_multihash.compute.array_ops import Bags, ColumnTable, Docs, Layer
from spacy_multihash.compute.hashing import MAX_HASHES, Hashing
from spacy_multihash.ner.transition.rules import NO_LABEL, Actions, Rules
from spacy_multihash.ner.transition.states import Parts, Weights
from spacy_multihash.parse import actions as parse

kernels = dispatch.kernels
pytestmark = pytest.mark.skipif(kernels is None, reason="installed without a compiler")

Arguments = dict[str, Any]
LENGTHS = numpy.array([2, 0, 4])
N, D, NI, NO, NP = 6, 3, 5, 4, 3


def floats(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=shape).astype("float32")


def zeros(dtype: str, *shape: int) -> numpy.ndarray:
    return numpy.zeros(shape, dtype=dtype)


def layer(nI: int, *, window: int = 0) -> Layer:
    W = floats(NO, NP, (2 * window + 1) * nI)
    return Layer(W, floats(NO, NP), floats(NO), floats(NO), window, name="maxout_norm")


def cache() -> Arguments:
    return {"which": zeros("uint8", N, NO), "Xhat": floats(N, NO)}


def tables() -> Arguments:
    hashing = Hashing(
        numpy.array([7, 9], "uint32"), numpy.array([1, 5], "int32"), zeros("uint32", 2, 4)
    )
    return {"tables": [floats(7, 3), floats(9, 3)], "hashing": hashing}


def bags() -> Bags:
    rows = zeros("int32", N, 2)
    return Bags(rows, floats(N, 2), numpy.array([1, 1, 4, 6]), True)


def columns() -> Arguments:
    looked_up = ColumnTable(floats(7, 3), numpy.arange(3, dtype="uint64"), zeros("int32", 3))
    weighted = ColumnTable(floats(9, 2), hashing=(9, 5, 1), importance=floats(4, 5))
    weighted = weighted._replace(importance_hashing=(4, 2), is_appended=True, is_bag=True)
    hashed = ColumnTable(floats(8, 3), hashing=(8, 1, 3))
    return {
        "columns": [looked_up, weighted, hashed],
        "layer": layer(15),
        "ids": zeros("uint64", N, 2),
        "bags": [[zeros("uint64", 8), numpy.array([1, 1, 4, 6, 6, 8])]],
        "given": floats(N, 2),
    }


def tags() -> Arguments:
    nO = 9
    return {
        **{"W": floats(nO, NI), "b": floats(nO), "unseen": zeros("uint8", nO)},
        **{"transitions": floats(nO, nO), "X": floats(N, NI), "attrs": zeros("uint64", N, 3)},
        **{"lengths": LENGTHS, "batch": N},
    }


def batch() -> Arguments:
    nF, nH, nP, labels = 3, 4, 2, 2
    columns = numpy.arange(4 * labels).reshape(4, labels)
    nO = 4 * labels + 2
    upper = floats(nO, nH), floats(nO)
    lower = floats(nF, nH * nP, NI), floats(nH * nP), floats(nF, nH * nP)
    return {
        "X": floats(N, NI),
        "weights": Weights(*lower, *upper, nP, zeros("bool", nO)),
        "rules": Rules(numpy.full((6, N), labels - 1), LENGTHS.cumsum()),
        "actions": Actions("AB", zeros("uint64", 2), columns, 4 * labels, 4 * labels + 1, nO),
    }


def tokens() -> Arguments:
    arguments = batch()
    del arguments["rules"]
    return {**arguments, "attrs": zeros("uint64", N, 4), "lengths": LENGTHS, "batch": N}


def parts() -> Arguments:
    begins, ends = numpy.array([0, 3]), numpy.array([2, 6])
    return {
        "parts": Parts(begins, ends, begins, numpy.array([NO_LABEL, 1])),
        "mask": floats(5, 4),
    }


def parser() -> Arguments:
    nF, nH, nP, nO = 8, 4, 2, 7
    lower = floats(nF, nH * nP, NI), floats(nH * nP), floats(nF, nH * nP)
    flags = zeros("uint8", nO)
    kinds = numpy.array([0, 1, 2, 3, 4, 2, 3], "uint8")
    return {
        "X": floats(N, NI),
        "weights": Weights(*lower, floats(nO, nH), floats(nO), nP, zeros("bool", nO)),
        "actions": parse.Actions(kinds, zeros("uint64", nO), flags, flags.copy(), 9),
        "attrs": zeros("uint64", N, 3),
        "lengths": LENGTHS,
        "heads": zeros("int64", N),
        "deps": zeros("uint64", N),
        "is_decorated": zeros("uint8", N),
    }


def cases() -> dict[str, Arguments]:
    """Make arguments that fit, for each kernel; the kernel's name is before the colon."""
    windows, docs = layer(NI, window=1), Docs(LENGTHS)
    backward = {"d": floats(N, NO), "layer": windows, "docs": docs}
    gradients = {"dW": floats(NO, NP, 3 * NI), "db": floats(NO, NP)}
    embedded = {"rows": zeros("int32", N, 2, MAX_HASHES), "vectors": floats(N, 6)}
    hashed = {"ids": zeros("uint64", N, 2), **tables()}
    of_layer = {"layer": windows, "docs": docs, "first": 0, "last": N}
    encoder = [layer(NO, window=1)._replace(residual=True) for _ in range(2)]
    span = {"first": 0, "last": N}
    return {
        "product": {"X": floats(N, NI), "W": floats(NO, NI), **span, "Y": floats(N, NO)},
        "decode": batch(),
        "decode: parts": {**batch(), **parts()},
        "find": tokens(),
        "find: tags": tags(),
        "parse": parser(),
        "maxout": {
            **{"X": floats(N, NI), **of_layer, "Y": floats(N, NO), "mask": floats(N, NO)},
            **cache(),
            "scale": floats(N),
        },
        "back_to_sums": {
            **{"dY": floats(N, NO), "layer": windows, "nI": NI, **span, "d": floats(N, NO)},
            **cache(),
            "scale": floats(N),
        },
        "back_to_input": {
            **{**backward, **span, "dX": floats(N, NI), "which": zeros("uint8", N, NO)},
            "dY": floats(N, NO),
        },
        "back_to_weights": {
            **{**backward, "first": 0, "last": NO, "X": floats(N, NI), "dY": floats(N, NO)},
            **{**cache(), **gradients, "dG": floats(NO), "dbeta": floats(NO)},
        },
        "encode": {
            **{"X": floats(N, NO), "layers": encoder, "pad": True, "lengths": LENGTHS},
            **{"batch": N, "Y": floats(N, NO)},
        },
        "hash_embed": {**hashed, **span, **embedded},
        "mix": {**columns(), **span, "Y": floats(N, NO)},
        "hash_embed_backward": {
            **{"gradients": tables()["tables"], "hashing": tables()["hashing"]},
            **{"first": 0, "last": 2, "rows": embedded["rows"], "d_vectors": floats(N, 6)},
        },
        "gather_sum": {
            **{"table": floats(7, 3), "bags": bags(), "first": 0, "last": 4},
            "out": floats(4, 3),
        },
        "scatter_sum": {
            **{"gradient": floats(7, 3), "bags": bags(), "d_sums": floats(4, 3)},
            **{"first": 0, "last": 3},
        },
        "gather_dot": {
            **{"table": floats(7, 3), "bags": bags(), "first": 0, "last": 4},
            **{"d_sums": floats(4, 3), "d_weights": floats(N, 2)},
        },
        "hash_rows": {
            **{"ids": zeros("uint64", N), "nV": 7, "seeds": zeros("uint32", 2)},
            "rows": zeros("int32", N, 6),
        },
        "hash_ngrams": {
            **{"ids": zeros("uint64", N), "lengths": LENGTHS},
            **{"orders": numpy.array([1, 3], "int32"), "ngrams": zeros("uint64", 8)},
        },
        "look_up": {
            **{"ids": zeros("uint64", N), "keys": zeros("uint64", 3)},
            **{"row_of": zeros("int32", 3), "rows": zeros("int32", N)},
        },
        "viterbi": {
            **{"scores": floats(N, 9), "transitions": zeros("float64", 9, 9)},
            **{"known": zeros("uint8", N), "lengths": LENGTHS},
        },
        "adam": {
            **{name: floats(70) for name in ("weights", "gradient", "mom1", "mom2", "averages")},
            **dict.fromkeys(("clip", "beta1", "beta2", "eps"), 0.5),
            **dict.fromkeys(("learn_rate", "decay", "average_rest"), 0.5),
            **{"is_zero": zeros("uint8", 2), "has_moments": zeros("uint8", 2)},
            **{"first": 0, "last": 2},
        },
        "sum_squares": {"gradient": floats(70), "is_zero": zeros("uint8", 2)},
    }


# Another size that fits: other rows of a table than those that are read, docs that are joined, more
# seeds or labels, another number of hash functions, and what a call doesn't read.
FITS = re.compile(
    r"(gather_sum|gather_dot) table axis 0 (less|more|thrice)"
    r"|mix columns\.0\.table axis 0 (less|more|thrice)"
    r"|scatter_sum gradient axis 0 (less|more|thrice)"
    r"|sum_squares gradient axis 0 (less|more)"
    r"|hash_rows seeds axis 0 (more|thrice)"
    r"|hash_rows rows axis 1 (less|more|empty)"
    r"|decode(: parts)? actions\.columns axis 1 (more|thrice)"
    r"|find actions\.columns axis 1 .*"
    r"|decode rules\.doc_ends axis 0 less"
    r"|decode: parts rules\.doc_ends .*"
)


def wrong_sizes(array: numpy.ndarray) -> Iterator[tuple[str, Any]]:
    for axis, size in enumerate(array.shape):
        take = numpy.arange(size)
        for what, rows in (
            ("less", take[1:]),
            ("empty", take[:0]),
            ("more", numpy.append(take, 0)),
            ("thrice", numpy.tile(take, 3)),
        ):
            yield f"axis {axis} {what}", array.take(rows, axis=axis)
    yield "of another type", array.astype("float16" if array.dtype.kind == "f" else "int16")
    if array.dtype.itemsize > 1:
        yield "of swapped bytes", array.astype(array.dtype.newbyteorder())
    yield "with another dimension", array[None]
    yield "with gaps", numpy.repeat(array, 2, axis=-1)[..., ::2]
    yield "as a list", array.tolist()


def edits(value: Any, edit: Callable) -> Iterator[tuple[str, Any]]:
    """Edit each array within a value, one at a time."""
    if isinstance(value, numpy.ndarray):
        yield from ((f" {what}", edited) for what, edited in edit(value))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for what, edited in edits(item, edit):
                yield f".{i}{what}", [*value[:i], edited, *value[i + 1 :]]
    elif hasattr(value, "_replace"):
        for name, item in value._asdict().items():
            for what, edited in edits(item, edit):
                yield f".{name}{what}", value._replace(**{name: edited})
    elif isinstance(value, Actions):
        for what, edited in edits(value.columns, edit):
            arguments = (value.labels, value.ids, edited, value.O, value.blocked, value.nO)
            yield f".columns{what}", Actions(*arguments)


# Classes that check what a plan keeps, and what they're made from.
KEPT = {
    "decode": ("Recognizer", ("weights", "actions")),
    "find": ("Recognizer", ("weights", "actions")),
    "find: tags": ("Tagger", ("W", "b", "unseen", "transitions")),
    "encode": ("Encoder", ("layers", "pad")),
    "mix": ("Mixer", ("columns", "layer")),
    "parse": ("Parser", ("weights", "actions")),
}


def call(case: str, arguments: Arguments) -> Any:
    name = case.split(":")[0]
    if name not in KEPT:
        return getattr(kernels, name)(**arguments)
    kept, made_from = KEPT.get(case, KEPT[name])
    others = {name: value for name, value in arguments.items() if name not in made_from}
    made = getattr(kernels, kept)(*(arguments[name] for name in made_from))
    return getattr(made, name)(**others)


@pytest.mark.parametrize("case", cases())
def test_arguments_that_fit_are_taken(case: str) -> None:
    call(case, cases()[case])


def test_every_function_that_takes_arrays_is_here() -> None:
    public = {name for name in dir(kernels) if callable(getattr(kernels, name)) and name[0] != "_"}
    others = {"use", "available", "best", "make_cblas", "OutOfRange", "group_seeds"}
    others |= {"distinct_rows"}  # any array of ids is fine
    others |= {"Reading", "num_blocks"}  # take none
    called = {KEPT.get(case, KEPT.get(case.split(":")[0], (case,)))[0] for case in cases()}
    assert public - others == called


@pytest.mark.parametrize("case", cases())
def test_wrong_sizes_are_refused(case: str) -> None:
    tried = 0
    for name in cases()[case]:
        for what, edited in edits(cases()[case][name], wrong_sizes):
            if FITS.fullmatch(f"{case} {name}{what}"):
                call(case, {**cases()[case], name: edited})
                continue
            tried += 1
            with pytest.raises((ValueError, IndexError, AttributeError)):
                call(case, {**cases()[case], name: edited})
                pytest.fail(f"{case}: {name}{what} was taken")
    assert tried > 10


@pytest.mark.parametrize("case", [case for case, given in cases().items() if "first" in given])
def test_parts_outside_are_refused(case: str) -> None:
    arguments = cases()[case]
    last = arguments["last"]
    for first, end in ((-1, last), (0, last + 1), (last, 0), (-2, -1), (2**62, 2**62)):
        with pytest.raises(ValueError):
            call(case, {**arguments, "first": first, "last": end})


@pytest.mark.parametrize(
    ("case", "name", "change"),
    [
        ("maxout", "docs", {"before": -1}),
        ("maxout", "docs", {"after": 2**31 - 1}),
        ("maxout", "docs", {"pad": True}),
        ("maxout", "docs", {"lengths": numpy.array([2**63 - 1, -(2**63) + 1, 6])}),
        ("maxout", "docs", {"lengths": numpy.array([7, -1, 0])}),
        ("maxout", "layer", {"window": 2}),
        ("maxout", "layer", {"window": -1}),
        ("maxout", "layer", {"window": 2**31 - 1}),
        ("maxout", "layer", {"residual": True}),
        ("mix", "layer", {"window": 1}),
        ("hash_embed", "hashing", {"nV": numpy.array([7, 0], "uint32")}),
        ("hash_embed", "hashing", {"num_hashes": numpy.array([17, 1], "int32")}),
        ("hash_embed", "hashing", {"num_hashes": numpy.array([0, 1], "int32")}),
        ("decode", "weights", {"nP": 0}),
        ("decode", "weights", {"nP": 3}),
        ("parse", "weights", {"nP": 0}),
        ("parse", "weights", {"nP": 3}),
        ("parse", "weights", {"nP": 2**40}),
        ("parse", "weights", {"upper": None}),
        ("parse", "weights", {"W": floats(3, 8, NI), "pad": floats(3, 8)}),
        ("decode: parts", "parts", {"starts": numpy.array([0, 4])}),
        ("decode: parts", "parts", {"ends": numpy.array([2, 7])}),
        ("decode: parts", "parts", {"begins": numpy.array([0, -1])}),
    ],
)
def test_wrong_settings_are_refused(case: str, name: str, change: Arguments) -> None:
    arguments = cases()[case]
    with pytest.raises(ValueError, match="Layer"):
        call(case, {**arguments, name: arguments[name]._replace(**change)})


@pytest.mark.parametrize("number", [-1, 7, 2**31 - 1, -(2**31)])
def test_rows_outside_a_table_are_refused(number: int) -> None:
    rows = zeros("int32", N, 2)
    rows[-1, -1] = number
    for case in ("gather_sum", "scatter_sum", "gather_dot"):
        arguments = cases()[case]
        with pytest.raises(IndexError, match="7 rows"):
            call(case, {**arguments, "bags": arguments["bags"]._replace(rows=rows)})
    of_columns = zeros("int32", N, 2, MAX_HASHES)
    of_columns[-1, 0, 0] = number
    with pytest.raises(IndexError):
        call("hash_embed_backward", {**cases()["hash_embed_backward"], "rows": of_columns})


@pytest.mark.parametrize("row", [-1, 7, 2**31 - 1])
def test_symbols_without_a_row_are_refused(row: int) -> None:
    arguments = columns()
    arguments["columns"][0].row_of[0] = row  # the row of all ids
    with pytest.raises(IndexError, match="row"):
        call("mix", {**arguments, "first": 0, "last": N, "Y": floats(N, NO)})


@pytest.mark.parametrize(
    ("number", "change"),
    [
        *((1, {"hashing": hashing}) for hashing in ((8, 5, 1), (9, 0, 1), (9, 17, 1))),
        (1, {"importance_hashing": (0, 2)}),
        (1, {"importance": None}),
        (0, {"is_bag": True}),
        (1, {"is_bag": False}),
    ],
)
def test_wrong_columns_are_refused(number: int, change: Arguments) -> None:
    arguments = columns()
    arguments["columns"][number] = arguments["columns"][number]._replace(**change)
    with pytest.raises(ValueError, match="Layer"):
        call("mix", {**arguments, "first": 0, "last": N, "Y": floats(N, NO)})


def test_labels_and_columns_outside_a_model_are_refused() -> None:
    arguments = batch()
    for number in (2, -3, 2**40):
        table = arguments["rules"].table.copy()
        table[3, -1] = number
        with pytest.raises(IndexError, match="labels"):
            call("decode", {**arguments, "rules": Rules(table, LENGTHS.cumsum())})
        label = numpy.array([NO_LABEL, number])
        with pytest.raises(IndexError, match="labels"):
            call("decode", {**arguments, "parts": parts()["parts"]._replace(labels=label)})
    for number in (10, -2, 2**40):
        columns = arguments["actions"].columns.copy()
        columns[-1, -1] = number
        with pytest.raises(IndexError, match="columns"):
            call("decode", {**arguments, "actions": Actions("AB", columns[0], columns, 8, 9, 10)})
        with pytest.raises(IndexError, match="column of O"):
            call(
                "decode",
                {**arguments, "actions": Actions("AB", columns[0], columns * 0, number, 9, 10)},
            )


def test_unknown_kinds_of_actions_and_lengths_of_docs_are_refused() -> None:
    arguments = parser()
    arguments["actions"].kinds[-1] = 5
    with pytest.raises(IndexError, match="kinds"):
        call("parse", arguments)
    for lengths in ([7, -1, 0], [2**62, 2**62, 2**63 - 1], [2, 0, 5]):
        with pytest.raises(ValueError, match="lengths"):
            call("parse", {**parser(), "lengths": numpy.array(lengths)})


@pytest.mark.parametrize("name", ["back_to_input", "back_to_weights"])
def test_largest_pieces_that_are_none_are_refused(name: str) -> None:
    arguments = cases()[name]
    with pytest.raises(IndexError, match="which"):
        call(name, {**arguments, "which": arguments["which"] + numpy.uint8(3)})


def test_read_only_arrays_are_read_and_never_written() -> None:
    arguments = cases()["gather_sum"]
    for name in ("table", "out"):
        arguments[name].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call("gather_sum", arguments)
    call("gather_sum", {**arguments, "out": floats(4, 3)})


def test_pointers_are_made_in_one_place() -> None:
    source = (Path(dispatch.__file__).parent / "kernels.pyx").read_text("utf8")
    border, rest = source.split("# The border", 1)[1].split("# Products", 1)
    assert "PyArray_DATA" in border
    for address in ("PyArray_DATA", "[:]", "::1]", "&X[", ".data"):
        assert address not in rest, address


def test_sizes_that_overflow_are_refused() -> None:
    wide = numpy.zeros((1, 1, 0), "float32")
    with pytest.raises(ValueError, match="window"):
        call("maxout", {**cases()["maxout"], "layer": layer(NI)._replace(W=wide, window=2**25)})
    empty = numpy.zeros((2**40, 0), "float32")
    with pytest.raises(ValueError):
        call("product", {**cases()["product"], "W": empty, "X": floats(N, 0)})
