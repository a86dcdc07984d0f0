"""Noise in texts, as OCR and misspelling make it: characters masked or replaced."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Callable, Optional, Union

import numpy
from spacy.attrs import LENGTH, NORM, SPACY
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..common.checks import CHANGE_IT, check_flag, check_unit, check_whole, setting_error
from ..common.registered import CHAR_NOISE
from .read import read_docs

MASK = "¶"
MASK_SHARE = 0.2


@dataclass(frozen=True)
class CharNoise:
    """The masked noise of Schweter and Baiter (2019), which keeps whitespace.

    Each visible character changes with the probability `level`: into the mask with the probability
    `mask_share`, and otherwise into a random character of the alphabet, which is the same character
    once in len(alphabet) cases.

    level (float): The probability that a character is changed, 0 to 1.
    alphabet (str): The characters to draw from: distinct, visible, and without the mask.
    mask_share (float): The share of the changed characters that become the mask, 0 to 1.
    mask (str): One visible character.
    """

    level: float
    alphabet: str
    mask_share: float = MASK_SHARE
    mask: str = MASK

    def change(self, text: str, generator: numpy.random.Generator) -> str:
        """Change characters of a text. The result has the same length."""
        codes = _codes(text)
        visible = numpy.flatnonzero(~numpy.strings.isspace(codes.view("<U1")))
        at = visible[generator.random(len(visible)) < self.level]
        into = _codes(self.alphabet)[generator.integers(len(self.alphabet), size=len(at))]
        into[generator.random(len(at)) < self.mask_share] = ord(self.mask)
        codes[at] = into
        return codes.tobytes().decode("utf-32-le", "surrogatepass")


def read_alphabet(path: Union[str, Path], mask: str = MASK) -> str:
    """Read the alphabet of a corpus: its distinct visible characters, sorted, without the mask.

    Raises the errors of `read_docs`, and ValueError if there are no such characters.
    """
    texts = (doc.text for doc in read_docs(path, Vocab()))
    characters = sorted(c for c in set[str]().union(*texts) - {mask} if not c.isspace())
    if not characters:
        raise ValueError(
            f"The corpus at {path} has no visible characters besides the mask {mask!r}, so that "
            "noise has none to draw from. Check the path, or choose another mask."
        )
    return "".join(characters)


def with_text(doc: Doc, text: str) -> Doc:
    """Copy a doc with another text of the same length, and the same token boundaries.

    All annotation is kept. Tokens whose text changes get the NORM of their new text.
    """
    before = doc.text
    content = doc.to_dict(exclude=("text", "user_data", "user_hooks", "strings"))
    attrs, body = list(content["array_head"]), content["array_body"]
    lengths, spaces = (body[:, attrs.index(name)].astype("int64") for name in (LENGTH, SPACY))
    ends = (lengths + spaces).cumsum() - spaces
    differ = numpy.concatenate([[0], (_codes(text) != _codes(before)).cumsum()])
    body[differ[ends] > differ[ends - lengths], attrs.index(NORM)] = 0
    copied = Doc(doc.vocab).from_dict({**content, "text": text})
    copied.user_data = dict(doc.user_data)
    return copied


def noisy_example(example: Example, noise: CharNoise, seed: int) -> Example:
    """Copy an example with the same noise in the predicted and the gold doc.

    Tokens and annotation stay the same. Raises ValueError if the two texts differ in more than
    whitespace.
    """
    texts = [doc.text for doc in (example.x, example.y)]
    sizes = [sum(map(len, text.split())) for text in texts]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"{CHAR_NOISE}: expected the same characters in the predicted and the gold doc of an "
            f"example, got {sizes[0]} and {sizes[1]} visible ones, in {texts[1][:80]!r}. "
            "Correct the example, or put the augmenter ahead of what changes its text."
        )
    predicted, gold = (noise.change(text, numpy.random.default_rng(seed)) for text in texts)
    return Example(with_text(example.x, predicted), with_text(example.y, gold))


def make_char_noise_v1(
    alphabet: Optional[str] = None,
    corpus: Optional[Path] = None,
    level: float = 0.1,
    mask_share: float = MASK_SHARE,
    mask: str = MASK,
    share_of_docs: float = 1.0,
    copies: int = 1,
    keep_original: bool = False,
) -> Callable[[Language, Example], Iterator[Example]]:
    """Make the augmenter that adds masked noise to training texts.

    It changes characters, but no whitespace, tokens, offsets or gold annotation.
    The noise depends on [training.seed], which sets the state of Python's `random`.

    alphabet (Optional[str]): The characters to draw from. Set either this or `corpus`.
    corpus (Optional[Path]): A .spacy file, or a folder of them, whose characters to draw from, such
        as texts of your target domain. It's read when the first text is changed.
    level (float): Probability that a character is changed. Recommended values are 0.05 to 0.2.
    mask_share (float): Share of the changed characters that become the mask.
    mask (str): A character outside the alphabet.
    share_of_docs (float): Share of the documents that get noise.
    copies (int): How many copies to make of each noisy document, each with different noise.
    keep_original (bool): Whether to train on the original document, too.

    Raises ValueError for wrong settings, and the errors of `read_docs` for the corpus.
    """
    check_unit(CHAR_NOISE, "level", level)
    check_unit(CHAR_NOISE, "mask_share", mask_share)
    if not (isinstance(mask, str) and len(mask) == 1 and not mask.isspace()):
        raise setting_error(CHAR_NOISE, "mask", "one visible character", mask)
    check_unit(CHAR_NOISE, "share_of_docs", share_of_docs)
    check_whole(CHAR_NOISE, "copies", copies, 1)
    check_flag(CHAR_NOISE, "keep_original", keep_original)
    if (alphabet is None) == (corpus is None):
        given = "neither" if corpus is None else "both"
        raise ValueError(f"{CHAR_NOISE}: expected alphabet or corpus, got {given}. {CHANGE_IT}")
    if alphabet is not None:
        _check_alphabet(alphabet, mask)

    @cache
    def noise() -> CharNoise:
        characters = alphabet if corpus is None else read_alphabet(corpus, mask)
        return CharNoise(level, characters or "", mask_share, mask)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        is_noisy = random.random() < share_of_docs
        if keep_original or not is_noisy:
            yield example
        if is_noisy:
            seed = random.getrandbits(64)
            for copy in range(copies):
                yield noisy_example(example, noise(), seed + copy)

    return augment


def _check_alphabet(alphabet: object, mask: str) -> None:
    expected = f"a string of distinct visible characters without the mask {mask!r}"
    is_good = isinstance(alphabet, str) and 0 < len(alphabet) == len({*alphabet} - {mask})
    if not is_good or any(map(str.isspace, str(alphabet))):
        raise setting_error(CHAR_NOISE, "alphabet", expected, alphabet)


def _codes(text: str) -> numpy.ndarray:
    """Return the code points of a text, (len(text),) uint32, as a new array."""
    return numpy.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").copy()
