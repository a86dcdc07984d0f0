"""Features of tokens beyond spaCy's attributes, by the names that configs give them.

| name        | feature                                                     | symbols of a token |
|-------------|-------------------------------------------------------------|--------------------|
| ORTH[:2]    | a slice of ORTH, LOWER, NORM or LEMMA                       | one                |
| MORPH[Case] | one value of the morphological analysis                     | one                |
| LOWER{3,5}  | all n-grams of 3 to 5 characters of <word>                  | one or more        |
| _.gazetteer | an extension attribute: one value, or a list or set of them | any number         |
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional, Protocol, Union

from .checks import CHANGE_IT, setting_error

# The attributes that slices and n-grams are cut from.
TEXT_ATTRS = ("ORTH", "LOWER", "NORM", "LEMMA")
MORPH = "MORPH"
# An extension attribute's name begins with it.
EXTENSION = "_."
MAX_NGRAM = 20  # characters

# What was expected -> the error to raise.
_Refuse = Callable[[str], ValueError]
_SIGNS = re.compile(r"[\[\]{}.:,]")  # a name with one of them is none of spaCy's attributes
_NUMBER = "-?[0-9]{1,9}"
_SLICE = re.compile(rf"({_NUMBER})?:({_NUMBER})?")
_ORDERS = re.compile(r"([0-9]{1,9})(?:,([0-9]{1,9}))?")


class Cut(Protocol):
    """How symbols are cut from a text."""

    def pieces(self, text: str) -> list[str]:
        """Cut a text into its symbols."""


@dataclass(frozen=True)
class Slice:
    """A slice of a text, in characters as Python counts them."""

    start: Optional[int]
    stop: Optional[int]

    def pieces(self, text: str) -> list[str]:
        """Cut the slice, which is empty where the text is too short for it."""
        return [text[self.start : self.stop]]

    def __str__(self) -> str:
        """Write the slice without zeros and blanks that say nothing."""
        start, stop = ("" if end is None else end for end in (self.start, self.stop))
        return f"[{start}:{stop}]"


@dataclass(frozen=True)
class Ngrams:
    """All n-grams of `low` to `high` characters of a text between < and >.

    A text that is shorter than `low`, with its marks, is one n-gram as a whole.
    """

    low: int
    high: int

    def pieces(self, text: str) -> list[str]:
        """List the n-grams, shorter ones first, each as often as it occurs."""
        marked = f"<{text}>"
        size = len(marked)
        if size < self.low:
            return [marked]
        return [
            marked[start : start + n]
            for n in range(self.low, min(self.high, size) + 1)
            for start in range(size - n + 1)
        ]

    def __str__(self) -> str:
        """Write both lengths."""
        return f"{{{self.low},{self.high}}}"


@dataclass(frozen=True)
class MorphValue:
    """One value of a morphological analysis that is written as Case=Nom|Number=Sing.

    Several values are one symbol, as in Case=Acc,Nom.
    """

    feature: str

    def pieces(self, text: str) -> list[str]:
        """Find the value. It is empty where the analysis does not have the feature."""
        for part in text.split("|"):
            feature, _, value = part.partition("=")
            if feature == self.feature:
                return [value]
        return [""]

    def __str__(self) -> str:
        """Write the feature."""
        return f"[{self.feature}]"


@dataclass(frozen=True)
class Feature:
    """A feature of tokens beyond spaCy's attributes.

    base (str): Name of the attribute that it is cut from. For an extension attribute, its name
        with "_." before it.
    cut (Optional[Cut]): How symbols are cut from the base. None for an extension attribute, whose
        values are the symbols.
    repeats (bool): Whether a symbol counts as often as it occurs in a token, or once.
    """

    base: str
    cut: Optional[Cut]
    repeats: bool = True

    @property
    def name(self) -> str:
        """The name in its shortest form, such as ORTH[:2] for orth[0:2]."""
        return self.base if self.cut is None else f"{self.base}{self.cut}"

    @property
    def has_bags(self) -> bool:
        """Whether a token may have several symbols, or none."""
        return self.cut is None or isinstance(self.cut, Ngrams)

    def pieces(self, text: str) -> list[str]:
        """Cut a text into its symbols; not for an extension attribute."""
        found = [text] if self.cut is None else self.cut.pieces(text)
        return found if self.repeats else list(dict.fromkeys(found))


def parse_feature(
    name: object,
    *,
    repeats: bool = True,
    where: str = "Embedding layer",
    setting: str = "each of attrs",
    advice: str = CHANGE_IT,
) -> Optional[Feature]:
    """Read the name of a feature; None for what may be one of spaCy's attributes.

    where (str): The layer or the command that was given the name, for messages.
    setting (str): Name of the setting in the config, or of the command's option, for messages.
    advice (str): What to do about a name that is neither, for messages.

    Raises ValueError for a name that is neither.
    """
    if not isinstance(name, str) or not (_SIGNS.search(name) or name.strip() == "_"):
        return None

    def refuse(expected: str) -> ValueError:
        return setting_error(where, setting, expected, name, advice)

    text = name.strip()
    if text.startswith("_"):
        return _extension(text, repeats, refuse)
    base, sign, inside = re.match(r"([^\[{]*)([\[{]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    base, closing = base.strip().upper(), {"[": "]", "{": "}"}.get(sign, "")
    if not closing or not inside.endswith(closing):
        raise refuse("a name such as ORTH[:2], LOWER{3,5}, MORPH[Case] or _.gazetteer")
    inside = inside[:-1]
    cut: Union[Slice, Ngrams, MorphValue]
    if sign == "[" and base == MORPH:
        cut = _morph(inside.strip(), refuse)
    elif base not in TEXT_ATTRS:
        raise refuse(
            f"a slice or n-grams of {', '.join(TEXT_ATTRS)}, or a value of {MORPH}, as MORPH[Case]"
        )
    else:
        inside = re.sub(r"\s", "", inside)
        cut = (_slice if sign == "[" else _ngrams)(inside, refuse)
    return Feature(base, cut, repeats)


def _extension(text: str, repeats: bool, refuse: _Refuse) -> Feature:
    attr = text.removeprefix(EXTENSION)
    if not text.startswith(EXTENSION) or not attr.isidentifier():
        raise refuse("the name of an extension attribute after '_.', such as _.gazetteer")
    return Feature(text, None, repeats)


def _slice(inside: str, refuse: _Refuse) -> Slice:
    match = _SLICE.fullmatch(inside)
    if match is None:
        expected = "a slice with a colon and without a step, such as ORTH[:2], ORTH[-3:]"
        raise refuse(f"{expected} or ORTH[1:3]")
    start, stop = (None if end is None else int(end) for end in match.groups())
    begin = start or 0
    if stop is not None and stop <= begin and (stop >= 0) == (begin >= 0) or stop == 0:
        raise refuse("a slice that has characters of some words, such as ORTH[:2] or ORTH[-3:]")
    return Slice(start or None, stop)


def _ngrams(inside: str, refuse: _Refuse) -> Ngrams:
    match = _ORDERS.fullmatch(inside)
    low, high = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not 1 <= low <= high <= MAX_NGRAM:
        expected = f"the shortest and the longest n-grams, 1 to {MAX_NGRAM} characters"
        raise refuse(f"{expected}, such as LOWER{{3,5}}")
    return Ngrams(low, high)


def _morph(inside: str, refuse: _Refuse) -> MorphValue:
    if not inside or re.search(r"[\s|=:,]", inside):
        raise refuse("the name of one morphological feature, such as MORPH[Case]")
    return MorphValue(inside)
