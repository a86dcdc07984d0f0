"""Tests that spaCy's parser, which calls products from C, predicts the same with our kernels."""

from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import NumpyOps

from spacy_multihash.compute.ops import KernelOps, use_kernel_ops

WORDS = [f"w{i}" for i in range(60)]


def make_parser(**model: object) -> Language:
    """Make a parser whose weights are random numbers."""
    nlp = spacy.blank("xx")
    settings: dict[str, Any] = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
    }
    settings |= {"hidden_width": 12, "maxout_pieces": 2, "use_upper": True}
    settings |= {"extra_state_tokens": False, "nO": None, **model}
    settings["tok2vec"] = {
        "@architectures": "spacy.HashEmbedCNN.v2",
        **{"width": 8, "depth": 1, "embed_size": 50, "window_size": 1, "maxout_pieces": 2},
        **{"subword_features": False, "pretrained_vectors": None},
    }
    parser: Any = nlp.add_pipe("parser", config={"model": settings})
    for i in range(9):
        parser.add_label(f"dep{i}")
    nlp.initialize()
    rng = numpy.random.default_rng(0)
    for node in parser.model.walk():
        for name in node.param_names:
            scale = 0 if name == "b" else 1
            weights = rng.normal(scale=scale, size=node.get_param(name).shape)
            node.set_param(name, weights.astype("float32"))
    return nlp


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize(
    "model", [{}, {"maxout_pieces": 1}, {"use_upper": False}, {"hidden_width": 13}]
)
def test_parser_predicts_the_same(model: dict) -> None:
    nlp = make_parser(**model)
    rng = numpy.random.default_rng(1)
    words = [rng.choice(WORDS, size=n).tolist() for n in (1, 3, 17, 40)]
    before = list(nlp.pipe(Doc(nlp.vocab, words=w) for w in words))
    parser: Any = nlp.get_pipe("parser")
    use_kernel_ops(parser.model)
    after = list(nlp.pipe(Doc(nlp.vocab, words=w) for w in words))
    attrs = ["DEP", "HEAD", "SENT_START"]
    assert len({token.dep for doc in before for token in doc}) > 2
    for one, other in zip(before, after, strict=True):
        numpy.testing.assert_array_equal(other.to_array(attrs), one.to_array(attrs))


@pytest.mark.usefixtures("each_kernels")
def test_gather_add_calls_our_sum() -> None:
    rng = numpy.random.default_rng(0)
    table = rng.normal(size=(7, 5)).astype("float32")
    rows = rng.integers(0, 7, size=(9, 3)).astype("int32")
    numpy.testing.assert_array_equal(
        KernelOps().gather_add(table, rows), NumpyOps().gather_add(table, rows)
    )
