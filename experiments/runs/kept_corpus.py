"""A dev corpus that is kept in memory, since a training evaluates on it dozens of times."""

from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.util import registry

SPACY_CORPUS = "spacy.Corpus.v1"
KEPT_CORPUS = "spacy-multihash-experiments.KeptCorpus.v1"


class KeptCorpus:
    """The examples of a `spacy.Corpus.v1` without an augmenter, the same ones in each pass.

    `nlp.evaluate` copies what it predicts on, so that no pass changes the next.
    """

    def __init__(self, corpus: Corpus) -> None:
        """Keep nothing until the first pass.

        corpus (Corpus): The corpus on disk.
        """
        self._corpus = corpus
        self._nlp: Optional[Language] = None
        self._examples: list[Example] = []

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples. A pipeline other than that of the last pass reads them anew."""
        if nlp is not self._nlp:
            self._nlp, self._examples = nlp, list(self._corpus(nlp))
        yield from self._examples


@registry.readers(KEPT_CORPUS)
def make_kept_corpus(
    path: Optional[Path],
    gold_preproc: bool,
    max_length: int = 0,
    limit: int = 0,
    augmenter: None = None,
) -> KeptCorpus:
    """Make a corpus that is kept. The arguments are those of `spacy.Corpus.v1`."""
    make_corpus = registry.readers.get(SPACY_CORPUS)
    return KeptCorpus(make_corpus(path, gold_preproc, max_length, limit, augmenter))
