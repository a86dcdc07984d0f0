"""Symbols of extension attributes, read token by token, and what training sees of features."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Optional

import numpy

from ..common.features import EXTENSION, Feature, parse_feature
from ..common.types import DocLike
from .cuts import Strings, pack

# Before the text of a value that is no string, so that 1 is not "1".
NO_STRING = "\x1f"
# Attributes that components set. All others are those of the word.
_ANNOTATED = {"DEP", "ENT_ID", "ENT_IOB", "ENT_KB_ID", "ENT_TYPE", "HEAD", "LEMMA", "MORPH", "POS"}
_ANNOTATED |= {"SENT_START", "TAG"}
_LOGGER = logging.getLogger("spacy")  # which spacy train prints
# Tokens of training after which a feature with one value is pointed out.
_FIRST_TOKENS = 1000
_TYPES = "a string, a number, True, False or None, or a list or set of them"


class ExtensionValues(NamedTuple):
    """The values of an extension attribute in the tokens of a batch.

    bags (list[bytes]): The symbols of each distinct value, as uint64 in ascending order.
    value_of (numpy.ndarray): (N,) uint64, the number of each token's value.
    """

    bags: list[bytes]
    value_of: numpy.ndarray


def read_extension(docs: Iterable[DocLike], feature: Feature, strings: Strings) -> ExtensionValues:
    """Read an extension attribute of all tokens of docs.

    Raises ValueError for an attribute that is not registered, a getter that fails, and a value of
    another type. All errors name the attribute and the token.
    """
    numbers: dict[bytes, int] = {}
    value_of = [
        numbers.setdefault(pack(sorted(strings[text] for text in texts)), len(numbers))
        for doc in docs
        for texts in extension_texts(doc, feature)
    ]
    return ExtensionValues(list(numbers), numpy.array(value_of, dtype="uint64"))


def extension_texts(doc: Any, feature: Feature) -> Iterator[list[str]]:  # noqa: ANN401 (a Doc)
    """Yield the symbols of each token as texts; errors are those of `read_extension`.

    Two values are one symbol if they are of one type and print the same. So True, 1 and 1.0 differ,
    and NaN is a symbol like any other.
    """
    name = feature.base.removeprefix(EXTENSION)
    for i, token in enumerate(doc):
        if not token.has_extension(name):
            raise ValueError(
                f"Extension attribute {feature.name} of token {i}, {token.text!r}, is not "
                f'registered. Call Token.set_extension("{name}", ...) before the pipeline is used: '
                "in the code that --code names, or in the component that sets it."
            )
        try:
            value = token._.get(name)
        except Exception as error:
            raise ValueError(
                f"Extension attribute {feature.name} of token {i}, {token.text!r}: its getter "
                f"failed with {type(error).__name__}: {error}. Mend the getter, or leave "
                f"{feature.name} out of the config's embedding layer."
            ) from error
        is_bag = isinstance(value, (list, tuple, set, frozenset))
        texts = []
        for each in value if is_bag else [value]:
            text = _text(each)
            if text is None:
                bag = f", in a value of the type {type(value).__name__}" if is_bag else ""
                raise ValueError(
                    f"Extension attribute {feature.name} of token {i}, {token.text!r}, must be "
                    f"{_TYPES}, was: {_described(each)}{bag}. Set another value, or leave "
                    f"{feature.name} out of the config's embedding layer."
                )
            texts.append(text)
        yield texts if feature.repeats else list(dict.fromkeys(texts))


class ConstantFeatures:
    """Warns of features that have one value in the first tokens of training.

    That is TAG without a tagger, for example: spaCy trains on fresh docs, which have no values but
    those that the components in `annotating_components` set. They run in training alone, so that
    the sample that initializes a model cannot tell.

    names (Sequence[str]): The names of attributes and features. Those of the word itself are not
        looked at.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Begin with no tokens."""
        bases = {name: getattr(parse_feature(name), "base", name) for name in names}
        self._values: dict[str, set] = {
            name: set()
            for name, base in bases.items()
            if base in _ANNOTATED or base.startswith(EXTENSION)
        }
        self._tokens = 0

    def look_at(self, docs: Sequence[Any]) -> None:
        """Look at a batch of training, and warn when enough tokens were seen."""
        if self._tokens >= _FIRST_TOKENS:
            return
        self._tokens += sum(map(len, docs))
        for name, values in self._values.items():
            if len(values) < 2:
                values.update(value for doc in docs for value in _values_of(doc, name))
            if len(values) < 2 and self._tokens >= _FIRST_TOKENS:
                _LOGGER.warning(
                    f"The feature {name} has the same value in all of the first {self._tokens:,} "
                    "tokens of training, so that nothing can be learned from it. If a component "
                    "sets it, name that component in [training] annotating_components. Otherwise "
                    f"remove {name} from attrs."
                )


def _values_of(doc: Any, name: str) -> set:  # noqa: ANN401 (a Doc)
    feature = parse_feature(name)
    if feature is None:
        return {*doc.to_array([name]).ravel().tolist()}
    if feature.cut is None:
        return {tuple(texts) for texts in extension_texts(doc, feature)}
    bases = {*doc.to_array([feature.base]).ravel().tolist()}
    return {tuple(feature.pieces(doc.vocab.strings[base])) for base in bases}


def _text(value: object) -> Optional[str]:
    """Write a value as a text that no other value has.

    None for a value of another type, and for one that cannot be written.
    """
    try:
        if isinstance(value, str):
            text = str.__str__(value)
            text.encode()  # half of a character cannot be
            return text
        if isinstance(value, numpy.generic):
            value = value.item()
        if value is None or isinstance(value, bool):
            return f"{NO_STRING}{value!r}"
        if isinstance(value, Integral):
            return f"{NO_STRING}{int(value)}"
        if isinstance(value, Real):
            return f"{NO_STRING}{float(value)!r}"
    except (OverflowError, ValueError):
        pass
    return None


def _described(value: object) -> str:
    """Say what a value without a text is, and why it has none."""
    try:
        shown = f"{value!r:.50}"
    except ValueError:  # Python prints no number of more than some thousand digits
        shown = "..."
    why = ""
    if isinstance(value, str):
        why = ", which UTF-8 cannot write"
    elif isinstance(value, Real):
        why = ", which is too large to be written"
    return f"{shown} of the type {type(value).__name__}{why}"
