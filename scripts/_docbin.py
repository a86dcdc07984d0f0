"""What the scripts that make corpora share: tagged words to a Doc, and whole corpora to disk."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab


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


def write_splits(output: Path, splits: Mapping[str, DocBin]) -> None:
    """Write a corpus as OUTPUT/SPLIT.spacy: all files at once, or none.

    output (Path): The folder, made if missing. Files of the same name are replaced.
    splits (Mapping[str, DocBin]): The documents of each split, by the name of the split.
    """
    output.mkdir(parents=True, exist_ok=True)
    # Within the output folder, so that the move stays on one file system and is atomic.
    with TemporaryDirectory(prefix=".staging-", dir=output) as staging:
        for split, doc_bin in splits.items():
            doc_bin.to_disk(Path(staging) / f"{split}.spacy")
        for split in splits:
            os.replace(Path(staging) / f"{split}.spacy", output / f"{split}.spacy")
