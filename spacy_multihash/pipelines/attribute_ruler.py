"""spaCy's attribute_ruler, with patterns looked up by the values of attributes."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from spacy.attrs import IDS
from spacy.language import Language
from spacy.matcher import Matcher
from spacy.pipeline import AttributeRuler
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.tokens._retokenize import set_token_attrs

from ..common.files import BYTES, reading
from ..common.registered import INDEXED_ATTRIBUTE_RULER

# Maximum number of cached values per attribute, and of cached kinds of tokens.
MAX_CACHED = 50_000

_FLAGS = [name for name in IDS if name.startswith(("IS_", "LIKE_")) and "SENT" not in name]
_TEXTS = ["ORTH", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LEMMA", "TAG", "POS", "DEP"]
# Attributes to look up, by their names in patterns, and attributes that a regex may match.
COMPARED = {name: IDS[name] for name in [*_FLAGS, *_TEXTS, "MORPH", "ENT_TYPE", "LENGTH", "SPACY"]}
COMPARED["TEXT"] = IDS["ORTH"]
TEXTS = {IDS[name] for name in _TEXTS}
# Attributes that rules may set. Other attributes would change lexemes, and so other tokens.
SET = {IDS[name] for name in ("TAG", "POS", "MORPH", "LEMMA", "DEP", "NORM")}

Attrs = dict[int, int]
Pattern = list[dict]
# A set of numbers: bit i says whether i is in it.
Bits = int
# The descriptions that a token fits, by attribute.
Key = tuple[Bits, ...]


class Condition(NamedTuple):
    """The condition on an attribute's value: in a set, not in a set, or matched by a regex."""

    wanted: bool = True
    ids: frozenset[int] = frozenset()
    regex: Optional[re.Pattern] = None


# A token of a pattern: the conditions by attribute.
Description = dict[int, Condition]


class Fitting(dict[int, Bits]):
    """The descriptions that fit each value of an attribute, cached by value.

    conditions (list[tuple[Bits, Condition]]): The conditions of some descriptions. All other
        descriptions, of `every`, fit any value.
    """

    def __init__(
        self, conditions: list[tuple[Bits, Condition]], every: Bits, strings: StringStore
    ) -> None:
        """Index the conditions by the values that they're about."""
        self.strings = strings
        self.regexes = [(bit, c.regex) for bit, c in conditions if c.regex is not None]
        self.otherwise = every
        for bit, condition in conditions:
            self.otherwise ^= bit if condition.wanted else 0
        self.by_value: dict[int, Bits] = {}
        for bit, condition in conditions:
            for value in condition.ids:
                self.by_value[value] = self.by_value.get(value, self.otherwise) ^ bit

    def __missing__(self, value: int) -> Bits:
        """Find and cache the descriptions that fit a value."""
        bits = self.by_value.get(value, self.otherwise)
        for bit, regex in self.regexes:
            bits ^= bit if regex.search(self.strings[value]) else 0
        if len(self) < MAX_CACHED:
            self[value] = bits
        return bits


class Sequence(NamedTuple):
    """A pattern of several tokens, and the number of its rule."""

    bits: tuple[Bits, ...]  # of each token's description
    target: int  # the position of the token whose attributes are set
    rule: int


class Kind(NamedTuple):
    """The matches of tokens that fit the same descriptions."""

    bits: Bits
    rules: list[int]  # with a pattern of only this token
    attrs: Attrs  # that these rules set
    sequences: list[Sequence]  # that begin with the token


class IndexedAttributeRuler(AttributeRuler):
    """An AttributeRuler that looks patterns up, while spaCy's tries each pattern at every token.

    Patterns, attributes, files, methods and results are the same as spaCy's. Patterns with
    operators, fuzzy comparisons, extension attributes and the like still use spaCy's Matcher. All
    patterns do if a rule sets anything other than TAG, POS, MORPH, LEMMA, DEP and NORM.
    """

    # The rules as they were, and their index, if they have one.
    _indexed: Any = None

    def from_disk(
        self, path: Union[str, Path], exclude: Iterable[str] = ()
    ) -> "IndexedAttributeRuler":
        """Load patterns. Raises ValueError, with the component and the file, if it's damaged."""
        with reading(path, component=self.name):
            super().from_disk(path, exclude)
        return self

    def from_bytes(self, bytes_data: bytes, exclude: Iterable[str] = ()) -> "IndexedAttributeRuler":
        """Load patterns from bytes; see `from_disk`."""
        with reading(BYTES, component=self.name):
            super().from_bytes(bytes_data, exclude)
        return self

    def __call__(self, doc: Doc) -> Doc:
        """Set the attributes of the tokens that match patterns."""
        return self._set_attrs(doc, self._current_index())

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Set the attributes of docs. Patterns that change meanwhile count from the next batch."""
        index = None
        for number, doc in enumerate(stream):
            if number % batch_size == 0:
                index = self._current_index()
            yield self._set_attrs(doc, index)

    def _set_attrs(self, doc: Doc, index: Optional["PatternIndex"]) -> Doc:
        if index is None:
            return super().__call__(doc)
        try:
            index.set_attrs(doc)
        except Exception as error:
            return self.get_error_handler()(self.name, self, [doc], error)
        return doc

    def _current_index(self) -> Optional["PatternIndex"]:
        """Return the patterns, indexed, unless spaCy has to match them all.

        What they're made of can change in place, so it's compared with what it was.
        """
        matcher: Any = self.matcher
        content = (self.attrs, self.indices, matcher._patterns)
        if self._indexed is None or self._indexed[0] != content:
            patterns = {rule: list(of_rule) for rule, of_rule in matcher._patterns.items()}
            former = (list(map(dict, self.attrs)), list(self.indices), patterns)
            self._indexed = (former, self._make_index(matcher))
        return self._indexed[1]

    def _make_index(self, matcher: Any) -> Optional["PatternIndex"]:  # noqa: ANN401
        found = [matcher.get(str(rule)) for rule in range(len(self.attrs))]
        hooks = (matcher._callbacks, matcher._filter)
        if None in found or any(any(hook.values()) for hook in hooks):
            return None
        patterns = [of_rule for _, of_rule in found]
        for of_rule, attrs, index in zip(patterns, self.attrs, self.indices, strict=True):
            # spaCy reports an index outside of a match.
            is_inside = all(-shortest <= index < shortest for shortest in map(_min_length, of_rule))
            if not is_inside or not set(attrs) <= SET:
                return None
        made = PatternIndex(self, patterns) if len(found) == len(matcher) else None
        return made if made and made.fitting else None


class PatternIndex:
    """The patterns of a ruler, indexed by attribute values."""

    def __init__(self, ruler: AttributeRuler, patterns: list[list[Pattern]]) -> None:
        """Index the patterns of each rule."""
        self.strings = ruler.vocab.strings
        self.attrs: list[Attrs] = ruler.attrs
        self.indices: list[int] = ruler.indices
        # For patterns that can't be looked up.
        self.matcher = Matcher(ruler.vocab, validate=False)
        self.alone: list[tuple[Bits, int]] = []  # the patterns of one token, and their rules
        self.sequences: list[Sequence] = []
        self.by_key: dict[Key, Kind] = {}
        descriptions: list[Description] = []
        for rule, of_rule in enumerate(patterns):
            for pattern in of_rule:
                read = [self._read(description) for description in pattern]
                if not all(read):
                    self.matcher.add(str(rule), [pattern])
                    continue
                bits = tuple(1 << len(descriptions) + i for i in range(len(read)))
                descriptions += read
                if len(read) == 1:
                    self.alone.append((bits[0], rule))
                else:
                    target = self.indices[rule] % len(read)
                    self.sequences.append(Sequence(bits, target, rule))
        every = (1 << len(descriptions)) - 1
        conditions: dict[int, list[tuple[Bits, Condition]]] = {}
        for number, description in enumerate(descriptions):
            for attr, condition in description.items():
                conditions.setdefault(attr, []).append((1 << number, condition))
        self.fitting = {a: Fitting(c, every, self.strings) for a, c in conditions.items()}

    def _read(self, description: dict) -> Description:
        """Read a token of a pattern; an empty dict if it isn't just conditions."""
        read: Description = {}
        for name, value in description.items():
            attr = COMPARED.get(name.upper()) if isinstance(name, str) else None
            condition = None if attr is None else self._read_condition(attr, value)
            if attr is None or condition is None or attr in read:
                return {}
            read[attr] = condition
        return read

    def _read_condition(self, attr: int, value: Any) -> Optional[Condition]:  # noqa: ANN401
        choices = value if isinstance(value, dict) else {"IN": [value]}
        if len(choices) != 1 or (attr == IDS["MORPH"] and isinstance(value, dict)):
            return None
        [(predicate, options)] = choices.items()
        if predicate == "REGEX" and attr in TEXTS:
            return Condition(regex=re.compile(options))
        is_looked_up = predicate in ("IN", "NOT_IN")
        if not is_looked_up or not all(isinstance(option, (str, int)) for option in options):
            return None
        add = self.strings.add
        ids = frozenset(add(v) if isinstance(v, str) else int(v) for v in options)
        return Condition(predicate == "IN", ids)

    def set_attrs(self, doc: Doc) -> None:
        """Set the attributes of all tokens of a doc."""
        keys = self._look_up(doc)
        kinds = [self.by_key.get(key) or self._add_kind(key) for key in keys]
        of_others = self._match_others(doc, kinds)
        for i, kind in enumerate(kinds):
            attrs = kind.attrs
            if i in of_others:
                attrs = self._merge({*kind.rules, *of_others[i]})
            if attrs:
                set_token_attrs(doc[i], attrs)

    def _look_up(self, doc: Doc) -> list[Key]:
        """Look up the descriptions that each token fits, by attribute."""
        values = doc.to_array(list(self.fitting)).reshape(len(doc), len(self.fitting))
        columns = [
            [fitting[value] for value in column]
            for fitting, column in zip(self.fitting.values(), values.T.tolist(), strict=True)
        ]
        return list(zip(*columns, strict=True))

    def _add_kind(self, key: Key) -> Kind:
        """Find and cache the matches of tokens that fit some descriptions."""
        bits = reduce(and_, key)
        rules = [rule for bit, rule in self.alone if bits & bit]
        sequences = [sequence for sequence in self.sequences if bits & sequence.bits[0]]
        kind = Kind(bits, rules, self._merge(rules), sequences)
        if len(self.by_key) < MAX_CACHED:
            self.by_key[key] = kind
        return kind

    def _merge(self, rules: Iterable[int]) -> Attrs:
        """Merge the attributes of rules. Later rules have precedence."""
        return {attr: value for rule in sorted(rules) for attr, value in self.attrs[rule].items()}

    def _match_others(self, doc: Doc, kinds: list[Kind]) -> dict[int, list[int]]:
        """List the rules of all other patterns, by the token whose attributes they set."""
        rules: dict[int, list[int]] = {}
        for i, kind in enumerate(kinds):
            for sequence in kind.sequences:
                following = [kind.bits for kind in kinds[i : i + len(sequence.bits)]]
                if len(following) == len(sequence.bits) and all(
                    map(and_, following, sequence.bits)
                ):
                    rules.setdefault(i + sequence.target, []).append(sequence.rule)
        if len(self.matcher):
            for name, start, end in self.matcher(doc, allow_missing=True):
                rule = int(self.strings[name])
                rules.setdefault(doc[start:end][self.indices[rule]].i, []).append(rule)
        return rules


@Language.factory(
    INDEXED_ATTRIBUTE_RULER,
    default_config={
        "validate": False,
        "scorer": {"@scorers": "spacy.attribute_ruler_scorer.v1"},
    },
)
def make_indexed_attribute_ruler(
    nlp: Language, name: str, validate: bool, scorer: Optional[Callable]
) -> IndexedAttributeRuler:
    """Make the component, with the settings of spaCy's attribute_ruler."""
    return IndexedAttributeRuler(nlp.vocab, name, validate=validate, scorer=scorer)


def _min_length(pattern: Pattern) -> int:
    """Count the tokens of a pattern that every match has."""
    upper = [{str(key).upper(): value for key, value in token.items()} for token in pattern]
    return sum(token.get("OP", "1") in ("1", "+") for token in upper)
