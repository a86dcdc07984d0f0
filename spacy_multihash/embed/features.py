"""The inputs of embeddings: spaCy's attributes, and features that are made from them.

| name        | feature                                                     | symbols of a token |
|-------------|-------------------------------------------------------------|--------------------|
| ORTH[:2]    | a slice of ORTH, LOWER, NORM or LEMMA                       | one                |
| MORPH[Case] | one value of the morphological analysis                     | one                |
| LOWER{3,5}  | all n-grams of 3 to 5 characters of <word>                  | one or more        |
| _.gazetteer | an extension attribute: one value, or a list or set of them | any number         |

To add a feature, write how it's cut from a text (as `Slice` is) and let `parse_feature` read its
name.
"""

import logging
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral, Real
from typing import Any, List, Optional, Union
from weakref import WeakKeyDictionary

import numpy
from spacy.attrs import IDS, intify_attr

from ..common.checks import CHANGE_IT, is_list, is_whole, setting_error
from ..common.types import TEXT_ATTRS, DocLike

# Part of registered signatures, which are written with typing's generics.
Attrs = Union[List[str], List[int], List[Union[str, int]]]

MORPH = "MORPH"
EXTENSION = "_."  # an extension attribute's name begins with it
MAX_NGRAM = 20  # characters
# Prefix of values that aren't strings, so that 1 differs from "1".
NO_STRING = "\x1f"

_WHERE = "Embedding layer"  # in messages
_EACH_OF_ATTRS = "each of attrs"
_OR_A_FEATURE = ", or a feature such as ORTH[:2], LOWER{3,5}, MORPH[Case] or _.gazetteer"
# spaCy's NAMES doesn't invert its IDS, which have gaps. The id 0 is "", which isn't an attribute.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}

_SIGNS = re.compile(r"[\[\]{}.:,]")  # spaCy's attributes don't have these characters
_NUMBER = "-?[0-9]{1,9}"
_SLICE = re.compile(rf"({_NUMBER})?:({_NUMBER})?")
_ORDERS = re.compile(r"([0-9]{1,9})(?:,([0-9]{1,9}))?")

# Attributes that components set. All others depend on the word alone.
_SET_BY_COMPONENTS = {"DEP", "ENT_ID", "ENT_IOB", "ENT_KB_ID", "ENT_TYPE", "HEAD", "LEMMA"}
_SET_BY_COMPONENTS |= {"MORPH", "POS", "SENT_START", "TAG"}
_LOGGER = logging.getLogger("spacy")  # which spacy train prints
# Number of training tokens after which we warn of features with a single value.
_TOKENS_TO_JUDGE = 1000


def attr_id(attr: Union[str, int], *, setting: str = _EACH_OF_ATTRS) -> int:
    """Find the id of a token attribute that is given by name or by id.

    setting (str): Name of the setting in the config, for messages.

    Raises ValueError if spaCy doesn't know the attribute.
    """
    number = intify_attr(attr) if isinstance(attr, str) or is_whole(attr, 1) else None
    if number is None or number not in _NAME_OF:
        expected = (
            "the name or id of an attribute of spaCy's Token, such as NORM, PREFIX, SUFFIX, SHAPE, "
            "ORTH, LOWER, POS or SPACY" + _OR_A_FEATURE * (setting == _EACH_OF_ATTRS)
        )
        raise setting_error(_WHERE, setting, expected, attr)
    return int(number)


def attr_name(attr: Union[str, int], *, setting: str = _EACH_OF_ATTRS) -> str:
    """Find the name of a token attribute; see attr_id for arguments and errors."""
    return _NAME_OF[attr_id(attr, setting=setting)]


def attr_names(attrs: Attrs) -> list[str]:
    """List the names of attributes that are given by name or by id, and of features.

    The name of a feature beyond spaCy's attributes is in its shortest form: see `Feature`.

    Raises ValueError if attrs isn't a list, is empty, or has an unknown name.
    """
    if not is_list(attrs) or not attrs:
        advice = 'Recommended: ["NORM", "PREFIX", "SUFFIX", "SHAPE"].'
        raise setting_error(
            _WHERE, "attrs", "a list of one or more token attributes", attrs, advice
        )
    features = map(parse_feature, attrs)
    return [
        attr_name(attr) if feature is None else feature.name
        for attr, feature in zip(attrs, features, strict=True)
    ]


# Features beyond spaCy's attributes, and their names


@dataclass(frozen=True)
class Slice:
    """A slice of a text, in characters as Python counts them."""

    start: Optional[int]
    stop: Optional[int]

    def pieces(self, text: str) -> list[str]:
        """Cut the slice. It's empty if the text is too short."""
        return [text[self.start : self.stop]]

    def __str__(self) -> str:
        """Write the slice in its shortest form."""
        start, stop = ("" if end is None else end for end in (self.start, self.stop))
        return f"[{start}:{stop}]"


@dataclass(frozen=True)
class Ngrams:
    """All n-grams of `low` to `high` characters of a text between < and >.

    If the text and its marks are shorter than `low`, they're a single n-gram.
    """

    low: int
    high: int

    def pieces(self, text: str) -> list[str]:
        """List the n-grams, shortest first, each as often as it occurs."""
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
        """Find the value. It's empty if the analysis lacks the feature."""
        for feature, _, value in (pair.partition("=") for pair in text.split("|")):
            if feature == self.feature:
                return [value]
        return [""]

    def __str__(self) -> str:
        """Write the feature."""
        return f"[{self.feature}]"


Cut = Union[Slice, Ngrams, MorphValue]


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

    @cached_property
    def column(self) -> Union[int, str]:
        """The id of the attribute that it is cut from, or the name of the extension attribute."""
        return self.base if self.cut is None else attr_id(self.base)

    def pieces(self, text: str) -> list[str]:
        """Cut a text into its symbols; not for an extension attribute."""
        pieces = [text] if self.cut is None else self.cut.pieces(text)
        return pieces if self.repeats else list(dict.fromkeys(pieces))


def parse_feature(
    name: object,
    *,
    repeats: bool = True,
    where: str = _WHERE,
    setting: str = _EACH_OF_ATTRS,
    advice: str = CHANGE_IT,
) -> Optional[Feature]:
    """Parse the name of a feature; None if it may be an attribute of spaCy.

    where (str): The layer or the command that was given the name, for messages.
    setting (str): Name of the setting in the config, or of the command's option, for messages.
    advice (str): What to do about an invalid name, for messages.

    Raises ValueError if the name is invalid.
    """
    if not isinstance(name, str) or not (_SIGNS.search(name) or name.strip() == "_"):
        return None

    def error(expected: str) -> ValueError:
        return setting_error(where, setting, expected, name, advice)

    text = name.strip()
    if text.startswith("_"):
        if not text.startswith(EXTENSION) or not text.removeprefix(EXTENSION).isidentifier():
            raise error("the name of an extension attribute after '_.', such as _.gazetteer")
        return Feature(text, None, repeats)
    base, sign, inside = re.match(r"([^\[{]*)([\[{]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    base, closing = base.strip().upper(), {"[": "]", "{": "}"}.get(sign, "")
    if not closing or not inside.endswith(closing):
        raise error("a name such as ORTH[:2], LOWER{3,5}, MORPH[Case] or _.gazetteer")
    inside = inside[:-1].strip()
    if sign == "[" and base == MORPH:
        if not inside or re.search(r"[\s|=:,]", inside):
            raise error("the name of one morphological feature, such as MORPH[Case]")
        return Feature(base, MorphValue(inside), repeats)
    if base not in TEXT_ATTRS:
        raise error(
            f"a slice or n-grams of {', '.join(TEXT_ATTRS)}, or a value of {MORPH}, as MORPH[Case]"
        )
    inside = re.sub(r"\s", "", inside)
    return Feature(base, (_slice if sign == "[" else _ngrams)(inside, error), repeats)


def _slice(inside: str, error: Callable[[str], ValueError]) -> Slice:
    match = _SLICE.fullmatch(inside)
    if match is None:
        expected = "a slice with a colon and without a step, such as ORTH[:2], ORTH[-3:]"
        raise error(f"{expected} or ORTH[1:3]")
    start, stop = (None if end is None else int(end) for end in match.groups())
    begin = start or 0
    if stop is not None and stop <= begin and (stop >= 0) == (begin >= 0) or stop == 0:
        raise error("a slice that has characters of some words, such as ORTH[:2] or ORTH[-3:]")
    return Slice(start or None, stop)


def _ngrams(inside: str, error: Callable[[str], ValueError]) -> Ngrams:
    match = _ORDERS.fullmatch(inside)
    low, high = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not 1 <= low <= high <= MAX_NGRAM:
        expected = f"the shortest and the longest n-grams, 1 to {MAX_NGRAM} characters"
        raise error(f"{expected}, such as LOWER{{3,5}}")
    return Ngrams(low, high)


# Symbols that are cut from the strings of a vocab


Strings = Any  # spaCy's StringStore


class Substrings:
    """A cache of the symbols that are cut from strings, as bytes of uint64, by the strings' ids.

    When it's full, it's emptied. Symbols that it returned stay valid.

    features (Sequence[Feature]): Features with the same base. A string's symbols are in the order
        of the features.
    """

    MAX_BYTES = 2**26  # the symbols of 200,000 to 400,000 strings
    ENTRY = 160  # bytes of a string's entry in the dict, besides its symbols

    def __init__(self, features: Sequence[Feature]) -> None:
        """Start without symbols."""
        self.features = tuple(features)
        self.cache: dict[int, bytes] = {}
        self.size = 0  # bytes

    def of(self, strings: Strings, ids: numpy.ndarray) -> list[bytes]:
        """Return the symbols of strings with ids (N,) uint64, and cut new strings."""
        keys = ids.tolist()
        symbols = list(map(self.cache.get, keys))
        if None in symbols:
            new = {key: b"" for key, bag in zip(keys, symbols, strict=True) if bag is None}
            for key in new:
                new[key] = self._cut(strings, key)
            self.size += sum(map(len, new.values())) + self.ENTRY * len(new)
            if self.size > self.MAX_BYTES:
                self.cache, self.size = {}, 0
            else:
                self.cache.update(new)
            symbols = [
                new[key] if bag is None else bag for key, bag in zip(keys, symbols, strict=True)
            ]
        return symbols  # type: ignore[return-value]

    def _cut(self, strings: Strings, key: int) -> bytes:
        try:
            text = strings[key]
        except KeyError as error:
            raise ValueError(
                f"The vocab of a batch has no string for the id {key}, from which "
                f"{', '.join(feature.name for feature in self.features)} should be cut. Make all "
                "docs of one vocab, the pipeline's: nlp.make_doc(...) or Doc(nlp.vocab, ...)."
            ) from error
        # The store's own ids: it gives names of attributes, such as X or DET, small numbers.
        pieces = chain.from_iterable(feature.pieces(text) for feature in self.features)
        return pack([strings[piece] for piece in pieces])


# A Vocab can't be weakly referenced, but its lookups can.
_caches: WeakKeyDictionary[Any, dict[tuple[Feature, ...], Substrings]] = WeakKeyDictionary()


def substrings_of(vocab: Any, features: tuple[Feature, ...]) -> Substrings:  # noqa: ANN401 (a Vocab)
    """Find the cache of a vocab for features of one base. It lives as long as the vocab does."""
    caches = _caches.setdefault(vocab.lookups, {})
    return caches.get(features) or caches.setdefault(features, Substrings(features))


def pack(symbols: Sequence[int]) -> bytes:
    """Write ids as bytes of uint64."""
    return array("Q", symbols).tobytes()


def unpack_bags(bags: Sequence[bytes]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Read U tokens' symbols, ids (M,) uint64, and counts per token, (U,) int32."""
    lengths = numpy.fromiter(map(len, bags), dtype="int32", count=len(bags)) // 8
    return numpy.frombuffer(b"".join(bags), dtype="uint64"), lengths


# Extension attributes, read token by token


def read_extension(
    docs: Iterable[DocLike], feature: Feature, strings: Strings
) -> tuple[list[bytes], numpy.ndarray]:
    """Read an extension attribute of all tokens of docs.

    Returns the symbols of each distinct value, as uint64 in ascending order, and the number of each
    token's value, (N,) uint64.

    Raises ValueError if the attribute isn't registered, or a value has the wrong type. Errors name
    the attribute and the token.
    """
    numbers: dict[bytes, int] = {}
    value_of = [
        numbers.setdefault(pack(sorted(strings[text] for text in texts)), len(numbers))
        for doc in docs
        for texts in extension_texts(doc, feature)
    ]
    return list(numbers), numpy.array(value_of, dtype="uint64")


def extension_texts(doc: Any, feature: Feature) -> Iterator[list[str]]:  # noqa: ANN401 (a Doc)
    """Yield each token's symbols as texts; raises the errors of `read_extension`.

    Values of the same type that print the same are the same symbol. So True, 1 and 1.0 differ, and
    NaN is a symbol like any other.
    """
    name = feature.base.removeprefix(EXTENSION)
    for i, token in enumerate(doc):
        where = f"Extension attribute {feature.name} of token {i}, {token.text!r}"
        if not token.has_extension(name):
            raise ValueError(
                f'{where}, is not registered. Call Token.set_extension("{name}", ...) before the '
                "pipeline is used: in the code that --code names, or in the component that sets it."
            )
        value = token._.get(name)
        is_bag = isinstance(value, (list, tuple, set, frozenset))
        texts = [_text(item, where) for item in (value if is_bag else [value])]
        yield texts if feature.repeats else list(dict.fromkeys(texts))


def _text(value: object, where: str) -> str:
    """Write a value as a unique text. Raises ValueError for values of other types."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numpy.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return f"{NO_STRING}{value!r}"
    if isinstance(value, Integral):
        return f"{NO_STRING}{int(value)}"
    if isinstance(value, Real):
        return f"{NO_STRING}{float(value)!r}"
    raise ValueError(
        f"{where}, must be a string, a number, True, False or None, or a list or set of them; it "
        f"has a value of the type {type(value).__name__}. Set another value, or leave the "
        "attribute out of the config's embedding layer."
    )


class ConstantFeatures:
    """Warns of features with a single value in the first tokens of training.

    TAG without a tagger is an example: spaCy trains on fresh docs, which only have values that the
    components in `annotating_components` set. These run only in training, so the sample that
    initializes a model doesn't show it.

    names (Sequence[str]): The names of attributes and features. Attributes of the word itself are
        ignored.

    values (dict[str, set]): The values seen of each feature, until enough tokens were.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Begin with no tokens."""
        bases = {name: getattr(parse_feature(name), "base", name) for name in names}
        self.values: dict[str, set] = {
            name: set()
            for name, base in bases.items()
            if base in _SET_BY_COMPONENTS or base.startswith(EXTENSION)
        }
        self._tokens = 0

    def look_at(self, docs: Sequence[Any]) -> None:
        """Look at a training batch, and warn once enough tokens were seen."""
        self._tokens += sum(map(len, docs))
        for name, values in self.values.items():
            if len(values) < 2:
                values.update(value for doc in docs for value in _values_of(doc, name))
        if self._tokens < _TOKENS_TO_JUDGE:
            return
        for name, values in self.values.items():
            if len(values) < 2:
                _LOGGER.warning(
                    f"The feature {name} has the same value in all of the first {self._tokens:,} "
                    "tokens of training, so that nothing can be learned from it. If a component "
                    "sets it, name that component in [training] annotating_components. Otherwise "
                    f"remove {name} from attrs."
                )
        self.values = {}


def _values_of(doc: Any, name: str) -> set:  # noqa: ANN401 (a Doc)
    feature = parse_feature(name)
    if feature is not None and feature.cut is None:
        return {tuple(texts) for texts in extension_texts(doc, feature)}
    values = {*doc.to_array([feature.base if feature else name]).ravel().tolist()}
    return {tuple(feature.pieces(doc.vocab.strings[v])) for v in values} if feature else values
