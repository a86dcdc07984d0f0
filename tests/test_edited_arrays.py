"""Each array of each saved pipeline, edited so that sizes disagree: nothing beyond it is read.

Under the address sanitizer (see CONTRIBUTING.md), reading beyond an array ends the process.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
import srsly
from spacy.language import Language
from thinc.api import Model
from thinc.types import FloatsXd

from spacy_multihash.layers import Symbols
from tests.helpers.weights import params
from tests.test_saved_pipelines import FOLDERS

TEXTS = ["Anna Berg lives in Oslo .", "Tom met Anna in New York .", "Tom met Anna in Rome . " * 30]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def edits(array: numpy.ndarray) -> Iterator[tuple[str, numpy.ndarray]]:
    for axis, size in enumerate(array.shape):
        if size > 1:
            yield f"axis {axis} less one", array.take(range(size - 1), axis=axis)
        yield f"axis {axis} empty", array.take([], axis=axis)
        yield f"axis {axis} thrice", numpy.concatenate([array] * 3, axis=axis)


def our_params(nlp: Language) -> list[tuple[Model, str]]:
    """List the parameters of all components, without those that spaCy's own `ner` reads in C."""
    found = []
    for name, component in nlp.pipeline:
        if hasattr(component, "model"):
            theirs = nlp.get_pipe_meta(name).factory == "ner"
            of_scores = ("precomputable_affine", "linear") if theirs else ()
            found += [each for each in params(component.model) if each[0].name not in of_scores]
    return found


def values(nlp: Language) -> list[numpy.ndarray]:
    docs = list(nlp.pipe(TEXTS))
    return [doc.tensor for doc in docs] + [numpy.array([len(doc.ents) for doc in docs])]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_disagreeing_arrays_are_refused(folder: Path) -> None:
    nlp = spacy.load(folder)
    tried = 0
    for node, name in our_params(nlp):
        array: FloatsXd = node.get_param(name)
        for what, edited in edits(array):
            tried += 1
            node.set_param(name, edited)
            try:
                values(nlp)
            except (ValueError, IndexError):
                continue
            except RuntimeError:  # of BLIS
                assert node.name == "static_vectors"
            else:  # rows of a table that no token has; more rows than are used
                assert node.name.endswith("table_embed") and "axis 0" in what, (node.name, what)
        node.set_param(name, array)
    assert tried > 20


@pytest.mark.parametrize(
    "name", ["accelerated", "batch_ner", "batch_parser", "lookup", "tagger_ner"]
)
def test_arrays_of_other_dimensions_name_their_layer(name: str) -> None:
    nlp = spacy.load(*(folder for folder in FOLDERS if folder.name == name))
    for node, param in our_params(nlp):
        if param in ("E", "W", "pad"):
            array: Any = node.get_param(param)
            for edited in (array.ravel()[:0], array.ravel()[:1].reshape(()), array[..., None]):
                node.set_param(param, edited)
                with pytest.raises(ValueError, match=f"expected {param}|dimensional"):
                    values(nlp)
            node.set_param(param, array)


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        ([1, 2, 3], [1, 2]),
        ([1, 2, 3], [1, 2, 4]),
        ([1, 2, 3], [0, 1, 2]),
        ([1, 2, 3], [1, 2, -1]),
        ([1, 2, 3], [1, 1, 2]),
        ([1, 3, 2], [1, 2, 3]),
        ([1, 1, 2], [1, 2, 3]),
        ([[1, 2, 3]], [1, 2, 3]),
    ],
)
def test_damaged_symbols_are_refused_when_loaded(
    keys: list[int], rows: list[int], tmp_path: Path
) -> None:
    table = {"keys": numpy.array(keys, "uint64"), "rows": numpy.array(rows, "int32")}
    load_with("symbols", table, "lookup_rows", tmp_path)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rows", numpy.array([2**32 + 1, 2**32 + 2, 2**32 + 3])),
        ("rows", numpy.array([1, 2, 3 + 2**32], "uint64")),
        ("rows", numpy.array([1.5, 2.5, 3.5])),
        ("keys", numpy.array([-3, -2, -1])),
        ("keys", numpy.array([1.5, 2.5, 3.5])),
        ("keys", [1, 2, 3]),
        ("rows", None),
    ],
)
def test_symbols_that_would_wrap_are_refused(name: str, values: Any, tmp_path: Path) -> None:
    table = {"keys": numpy.array([1, 2, 3], "uint64"), "rows": numpy.array([1, 2, 3], "int32")}
    load_with("symbols", {**table, name: values}, f"lookup_rows.*{name}", tmp_path)


@pytest.mark.parametrize("value", [None, "x", [1], numpy.arange(3), numpy.array(5)])
@pytest.mark.parametrize(
    ("name", "layer"), [("symbols", "lookup_rows"), ("window_size", "maxout_window_encoder")]
)
def test_settings_of_another_type_name_their_layer(
    value: Any, name: str, layer: str, tmp_path: Path
) -> None:
    load_with(name, value, layer, tmp_path)


def load_with(name: str, value: Any, layer: str, path: Path) -> None:
    (folder,) = (folder for folder in FOLDERS if folder.name == "lookup")
    spacy.load(folder).to_disk(path)
    model = path / "tok2vec" / "model"
    message = srsly.msgpack_loads(model.read_bytes())
    (first, *_) = (attrs for attrs in message["attrs"] if name in attrs)
    first[name] = srsly.msgpack_dumps(value)
    model.write_bytes(srsly.msgpack_dumps(message))
    with pytest.raises(ValueError, match=layer):
        spacy.load(path)


def test_symbols_that_fit_are_loaded() -> None:
    Symbols.from_ordered(numpy.array([7, 3, 5])).check("'lookup_rows'")
    Symbols().check("'lookup_rows'")
