"""Word dropout: tokens whose features are taken as unknown in training."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy

from ...common.registered import MULTI_HASH_EMBED
from ...common.types import DocLike


@dataclass(frozen=True)
class MaskedDoc:
    """A doc with unknown tokens: each of their attributes is 0, the id of no string.

    It has what embedding layers ask of a doc, and no more. Tables of symbols take the id 0 to row
    0, "unknown"; hash embeddings hash it like any other; and it has no static vector.

    doc (DocLike): The doc.
    unknown (numpy.ndarray): (len(doc),) bool.
    """

    doc: DocLike
    unknown: numpy.ndarray

    @property
    def vocab(self) -> Any:  # noqa: ANN401 (spaCy's Vocab, which the layers do not import)
        """The vocab of the doc."""
        return self.doc.vocab

    def __len__(self) -> int:
        """Count the tokens."""
        return len(self.doc)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (never returns)
        """Raise AttributeError for all else that an embedding may ask of a doc."""
        raise AttributeError(_refusal(name))

    def __iter__(self) -> Any:  # noqa: ANN401 (never returns)
        """Raise TypeError: there are no tokens to walk through."""
        raise TypeError(_refusal("its tokens"))

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 (never returns)
        """Raise TypeError: there are no tokens and no spans."""
        raise TypeError(_refusal(f"[{key}]"))

    def to_array(self, attrs: Any, /) -> numpy.ndarray:  # noqa: ANN401 (an id, or a list of ids)
        """(len(doc), len(attrs)) uint64; (len(doc),) for a single attribute."""
        ids = self.doc.to_array(attrs)
        ids[self.unknown] = 0
        return ids

    def known_tokens(self) -> list[Any]:
        """List the tokens of the doc for their extension attributes, None for unknown ones."""
        tokens = iter(cast(Iterable[Any], self.doc))
        return [
            None if unknown else token for token, unknown in zip(tokens, self.unknown, strict=True)
        ]


def _refusal(asked: str) -> str:
    return (
        "With word dropout, the embedding is given docs that have vocab, len() and to_array(), "
        f"but it asked for '{asked}'. Set word_dropout = 0.0 in the model, or take an embedding "
        f"that reads attributes, such as {MULTI_HASH_EMBED}."
    )


def drop_words(docs: list[DocLike], rate: float) -> list[DocLike]:
    """Take each token as unknown with a probability (Dai and Le 2015).

    The seed of numpy.random decides the draws.

    rate (float): The probability, 0 for none.
    """
    if rate <= 0:
        return docs
    return [MaskedDoc(doc, numpy.random.random(len(doc)) < rate) for doc in docs]
