"""Symbols of features in plain Python, their rows by mmh3, and sums of these rows."""

from collections.abc import Sequence

import mmh3
import numpy
from spacy.strings import get_string_id
from spacy.tokens import Doc
from thinc.api import Model, to_numpy

from spacy_multihash import default_seeds
from spacy_multihash.compute.hashing import group_seeds

KEYS = numpy.random.default_rng(20221218).integers(0, 2**64, 3000, dtype="uint64")


def reference_rows(ids: list[int], nV: int, num_hashes: int, seeds: list[int]) -> list[list[int]]:
    """Hash with mmh3, one id and one word at a time."""
    rows = []
    for key in ids:
        words: list[int] = []
        for seed in seeds:
            digest = mmh3.hash_bytes(key.to_bytes(8, "little"), seed, x64arch=True)
            words += [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
        rows.append([word % nV for word in words[:num_hashes]])
    return rows


def ngrams(word: str, low: int, high: int) -> list[str]:
    """List the n-grams of a word, by the definition of fastText."""
    marked = f"<{word}>"
    found = [
        marked[i : i + n]
        for i in range(len(marked))
        for n in range(low, high + 1)
        if i + n <= len(marked)
    ]
    return found or [marked]


def ids_of(texts: Sequence[str]) -> list[int]:
    return [get_string_id(text) for text in texts]


def sum_of_rows(table: numpy.ndarray, ids: list[int], num_hashes: int, seed: int) -> numpy.ndarray:
    """Sum the rows of symbols that mmh3 finds."""
    seeds = group_seeds(seed, num_hashes)
    rows = reference_rows(ids, len(table), num_hashes, seeds)
    total = numpy.zeros(table.shape[1])
    for row in (row for each in rows for row in each):
        total += table[row]
    return total


def reference_vectors(
    model: Model,
    doc: Doc,
    symbols: Sequence[Sequence[list[int]]],
    num_hashes: int,
    mean: bool = False,
) -> numpy.ndarray:
    """Embed a doc by its tokens' symbols, one list for each feature, then mix as the model does."""
    nodes = {node.name: node for node in model.walk()}
    tables = [
        to_numpy(node.get_param("E"))
        for layer in nodes["multi_embed"].layers  # in the order of features, not of walk()
        for node in layer.walk()
        if "E" in node.param_names
    ]
    seeds = default_seeds(len(tables))
    vectors = [
        numpy.concatenate(
            [
                sum_of_rows(table, ids, num_hashes, seed) / (max(len(ids), 1) if mean else 1)
                for table, ids, seed in zip(tables, of_token, seeds, strict=True)
            ]
        )
        for of_token in symbols
    ]
    mix = nodes["maxout_norm"]
    return to_numpy(mix.predict(mix.ops.asarray(vectors, dtype="float32")))
