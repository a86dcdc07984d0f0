"""What the scripts that make corpora share: a document as read, and tagged words to a Doc."""

from collections.abc import Sequence
from typing import NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab


class Record(NamedTuple):
    """A document as read: for each token its word, its tag and whether it opens a sentence."""

    words: list[str]
    tags: list[str]
    sent_starts: list[bool]


def tagged_doc(
    vocab: Vocab,
    words: Sequence[str],
    tags: Sequence[str],
    sent_starts: Sequence[bool] | None = None,
) -> Doc:
    """Make a Doc of words and their entity tags.

    vocab (Vocab): The vocab of the Doc.
    words (Sequence[str]): One string a token.
    tags (Sequence[str]): One IOB2 tag a token: O, B-LABEL or I-LABEL.
    sent_starts (Sequence[bool] | None): Whether each token opens a sentence; None: unknown.
    """
    starts: list[bool | int | None] | None = None if sent_starts is None else [*sent_starts]
    # No `spaces`: only of a Doc with unknown spaces does spaCy's Corpus keep the tokens as they
    # are. It tokenizes the text of any other anew, and the gold tokens would be lost.
    return Doc(vocab, words=list(words), ents=list(tags), sent_starts=starts)
