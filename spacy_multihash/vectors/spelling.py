"""How alike words are spelled: the Dice similarity of their character n-grams."""

from collections.abc import Iterator, Sequence

import numpy

# What stands for the begin and the end of a word in its n-grams.
_BEGIN, _END = "\x02", "\x03"
# Words that are compared with all anchors at a time.
_CHUNK = 256


def char_ngrams(word: str, orders: Sequence[int]) -> set[str]:
    """Cut a word, with a sign for its begin and one for its end, into its distinct n-grams.

    The whole word counts as one of them. So no word is without, and no two words have the same.

    orders (Sequence[int]): Lengths of the n-grams, in characters.
    """
    padded = f"{_BEGIN}{word}{_END}"
    found = {padded[i : i + n] for n in orders for i in range(len(padded) - n + 1)}
    return found | {padded}


class SpellingIndex:
    """Words, found by their n-grams.

    words (Sequence[str]): The anchors, A words to compare others with.
    orders (Sequence[int]): Lengths of the n-grams, in characters.
    """

    def __init__(self, words: Sequence[str], orders: Sequence[int]) -> None:
        """List the anchors that have each n-gram."""
        self.words = list(words)
        self.orders = tuple(orders)
        self._number_of: dict[str, int] = {}
        cut = [self._numbers(word, new=True) for word in self.words]
        self._sizes = numpy.array([len(numbers) for numbers in cut], dtype="float32")  # (A,)
        numbers = numpy.concatenate([numpy.zeros(0, dtype="int64"), *cut])
        anchors = numpy.repeat(numpy.arange(len(cut)), self._sizes.astype("int64"))
        self._anchors = anchors[numpy.argsort(numbers, kind="stable")]
        self._counts = numpy.bincount(numbers, minlength=len(self._number_of))
        self._starts = numpy.cumsum(self._counts) - self._counts

    def __len__(self) -> int:
        """Count the anchors, A."""
        return len(self.words)

    def dice(self, words: Sequence[str]) -> Iterator[numpy.ndarray]:
        """Yield the similarities of words and anchors, (C, A) float32, C words at a time.

        The Dice similarity is 2 * common / (of one + of other), with numbers of n-grams: 1 for a
        word and itself, and 0 for words without a common n-gram.
        """
        for start in range(0, len(words), _CHUNK):
            yield self._dice(words[start : start + _CHUNK])

    def _dice(self, words: Sequence[str]) -> numpy.ndarray:
        sizes = numpy.array([len(char_ngrams(word, self.orders)) for word in words], "float32")
        cut = [self._numbers(word) for word in words]
        rows = numpy.repeat(numpy.arange(len(cut)), [len(numbers) for numbers in cut])
        numbers = numpy.concatenate(cut)
        counts, starts = self._counts[numbers], self._starts[numbers]
        # The places of all anchors of all n-grams: runs of counts[i] from starts[i] on.
        skipped = numpy.cumsum(counts) - counts
        places = numpy.repeat(starts - skipped, counts) + numpy.arange(counts.sum())
        pairs = numpy.repeat(rows * len(self), counts) + self._anchors[places]
        common = numpy.bincount(pairs, minlength=len(words) * len(self))
        common = common.reshape(len(words), len(self)).astype("float32")
        return 2 * common / (sizes[:, None] + self._sizes)

    def _numbers(self, word: str, *, new: bool = False) -> numpy.ndarray:
        """Number the known n-grams of a word, and if asked for the new ones too."""
        ngrams = sorted(char_ngrams(word, self.orders))
        if new:
            found = [self._number_of.setdefault(one, len(self._number_of)) for one in ngrams]
        else:
            found = [self._number_of[one] for one in ngrams if one in self._number_of]
        return numpy.array(found, dtype="int64")
