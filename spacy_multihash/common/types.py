"""Names for the generics that the layers pass along, each written once."""

from collections import Counter
from typing import Any, Literal, Protocol, Union, runtime_checkable

import numpy
from thinc.api import Model
from thinc.types import Floats2d, Floats3d, Ints1d, Ints2d, Ragged


@runtime_checkable  # thinc's data validation calls isinstance
class DocLike(Protocol):
    """A Doc, a Span, or the unique tokens of a batch, as embedding layers use them."""

    @property
    def vocab(self) -> Any:  # noqa: ANN401 (spaCy's Vocab, which the layers do not import)
        """The vocab, whose vectors StaticVectors reads."""

    def __len__(self) -> int:
        """The number of tokens."""

    def to_array(self, attrs: Any, /) -> numpy.ndarray:  # noqa: ANN401 (an id, or a list of ids)
        """(len(self), len(attrs)) uint64 attribute ids; (len(self),) for a single attribute."""


# Text attributes: features are cut from them, and tables find vectors by them.
TEXT_ATTRS = ("ORTH", "LOWER", "NORM", "LEMMA")

# Attribute name -> symbol id -> how often it was seen.
Counts = dict[str, Counter[int]]

# Inside the kernels: an array of numpy or CuPy. mypy can't check it: thinc's array types lack
# methods and arguments of numpy, numpy's arrays aren't thinc types, and CuPy has no types.
Array = Any

# Attribute ids (U,) uint64 -> row numbers (U, K) int32.
RowLayer = Model[Ints1d, Ints2d]
# Row numbers (U, K) int32 -> vectors (U, W) float32.
TableLayer = Model[Ints2d, Floats2d]
# One attribute: ids (U,) uint64 -> vectors (U, W) float32.
AttrLayer = Model[Ints1d, Floats2d]
# The symbols of U tokens: one each, (U,) uint64; or any number, (M,) uint64 with lengths (U,).
SymbolColumn = Union[Ints1d, Ragged]
# All attributes: ids (U, A) uint64, or a list of A columns -> vectors (U, A * W) float32.
AttrsLayer = Model[Union[Ints2d, list[SymbolColumn]], Floats2d]
# Docs -> ids of their n-grams (M,) uint64, with the number of n-grams of each doc.
NgramLayer = Model[list[DocLike], Ragged]
# Docs with N tokens in all -> vectors (N, W) float32 with the docs' lengths.
DocsLayer = Model[list[DocLike], Ragged]
# Docs -> a vector for each token, (len(doc), W) float32: tok2vec, in spaCy's words.
DocsEncoder = Model[list[DocLike], list[Floats2d]]
# The vectors of docs, (len(doc), nI) float32 -> vectors in context, (len(doc), nO) float32.
EncoderModel = Model[list[Floats2d], list[Floats2d]]
# Docs with N tokens in all -> scores of tags (P, N, nO) float32, after each of P passes.
TokenTagger = Model[list[DocLike], Floats3d]
# Settings of tagger_ner: from scores to tags.
Decoder = Literal["greedy", "constrained", "crf"]
