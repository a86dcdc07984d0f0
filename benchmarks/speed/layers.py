"""Layers that are timed, and the limit of the machine."""

from collections.abc import Sequence
from functools import partial

import numpy

from benchmarks.common.layers import (
    ATTRS,
    OURS,
    SPACY,
    check_same_vectors,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
)
from benchmarks.common.text import Text, count_tokens, count_types
from benchmarks.common.timing import Step
from benchmarks.speed.cases import LIMIT, Case, Settings
from benchmarks.speed.work import Work, make_batches


def make_layer_work(case: Case, text: Text, settings: Settings) -> Work:
    """Set up an embedding, an encoder or both. Our layers have the weights of spaCy's."""
    layer, train = case.what.split("-")[0], case.what.endswith("train")
    batches = make_batches(text.docs, long=case.text == "long", train=train, settings=settings)
    theirs = spacy_layers(case.width, depth=settings.depth, sample=text.docs[:10])
    arms = {SPACY: theirs[layer], OURS: our_layers(theirs)[layer]}
    inputs: list[list] = [*batches]
    if layer == "encoder":
        inputs = [theirs["embed"].predict(batch) for batch in batches]
    check_same_vectors(arms.values(), inputs[0])
    tokens = [count_tokens(batch) for batch in batches]
    if train:
        gradients = [random_gradients(batch, case.width) for batch in batches]
        return Work({a: training_step(m, inputs, gradients) for a, m in arms.items()}, tokens)
    steps = {arm: predict_step(model, inputs) for arm, model in arms.items()}
    if layer != "embed":
        types = [count_types(batch) for batch in batches] if layer == "tok2vec" else []
        steps[LIMIT] = bare_products(case.width, settings.depth, tokens, types)
    return Work(steps, tokens)


def bare_products(width: int, depth: int, tokens: Sequence[int], types: Sequence[int]) -> Step:
    """Make a step that multiplies matrices as large as those of the layers, and nothing else.

    width (int): The width of the vectors.
    depth (int): The depth of the encoder.
    tokens (Sequence[int]): The number of tokens of each batch, the rows of the encoder's products.
    types (Sequence[int]): The number of distinct tokens of each batch, the rows of the
        embedding's products. Empty for an encoder alone.
    """
    rows = max(*tokens, *types, 0)
    nI = max(3, len(ATTRS)) * width
    X, out = numpy.random.rand(2, rows * nI).astype("float32")
    W = numpy.random.rand(nI * 3 * width).astype("float32")

    def product(rows: int, nI: int) -> None:
        A, B = X[: rows * nI].reshape(rows, nI), W[: nI * 3 * width].reshape(nI, 3 * width)
        numpy.matmul(A, B, out=out[: rows * 3 * width].reshape(rows, 3 * width))

    def run(batch: int) -> None:
        if types:
            product(types[batch], len(ATTRS) * width)
        for _ in range(depth):
            product(tokens[batch], 3 * width)

    return lambda i: partial(run, i % len(tokens))
