"""spaCy's attribute_ruler, with patterns that are looked up by the values they compare."""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_
from typing import Any, NamedTuple, Optional

from spacy.attrs import IDS
from spacy.language import Language
from spacy.matcher import Matcher
from spacy.pipeline.attributeruler import AttributeRuler, MatcherPatternType
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.tokens._retokenize import set_token_attrs

INDEXED_ATTRIBUTE_RULER = "indexed_attribute_ruler"
# How many values of an attribute, and how many kinds of tokens, are kept.
MAX_CACHED = 50_000

_FLAGS = [name for name in IDS if name.startswith(("IS_", "LIKE_")) and "SENT" not in name]
_TEXTS = ["ORTH", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LEMMA", "TAG", "POS", "DEP"]
# The attributes that are looked up, by their names in patterns, and those that a regex may match.
COMPARED = {name: IDS[name] for name in [*_FLAGS, *_TEXTS, "MORPH", "ENT_TYPE", "LENGTH", "SPACY"]}
COMPARED["TEXT"] = IDS["ORTH"]
TEXTS = {IDS[name] for name in _TEXTS}
# Attributes that rules may set. Others would change lexemes, and so other tokens.
SET = {IDS[name] for name in ("TAG", "POS", "MORPH", "LEMMA", "DEP", "NORM")}

Attrs = dict[int, int]
Pattern = list[dict]
# A set of numbers: bit i says whether i is in it.
Bits = int
# The descriptions that a token fits by each attribute.
Key = tuple[Bits, ...]


class Condition(NamedTuple):
    """What the value of an attribute must be: one of some, none of some, or matched by a regex."""

    wanted: bool = True
    ids: frozenset[int] = frozenset()
    regex: Optional[re.Pattern] = None


# A token of a pattern: the conditions by attribute.
Description = dict[int, Condition]


class Fitting(dict[int, Bits]):
    """The descriptions that a token fits by the value of an attribute, for values that occurred."""

    def __init__(
        self, conditions: list[tuple[Bits, Condition]], every: Bits, strings: StringStore
    ) -> None:
        """Take the conditions of some descriptions. Every other description fits any value."""
        self.strings = strings
        self.regexes = [(bit, c.regex) for bit, c in conditions if c.regex is not None]
        self.otherwise = every
        for bit, condition in conditions:
            if condition.wanted:
                self.otherwise ^= bit
        self.by_value: dict[int, Bits] = {}
        for bit, condition in conditions:
            for value in condition.ids:
                self.by_value[value] = self.by_value.get(value, self.otherwise) ^ bit

    def __missing__(self, value: int) -> Bits:
        """Find the descriptions that a value fits, and keep them."""
        bits = self.by_value.get(value, self.otherwise)
        for bit, regex in self.regexes:
            if regex.search(self.strings[value]):
                bits ^= bit
        if len(self) < MAX_CACHED:
            self[value] = bits
        return bits


class Sequence(NamedTuple):
    """A pattern of several tokens, and the number of its rule."""

    bits: tuple[Bits, ...]  # of each token's description
    target: int  # the position of the token whose attributes are set
    rule: int


class Kind(NamedTuple):
    """What tokens match that fit the same descriptions."""

    bits: Bits
    rules: list[int]  # with a pattern of this token alone
    attrs: Attrs  # that these rules set
    sequences: list[Sequence]  # that begin with the token


class IndexedAttributeRuler(AttributeRuler):
    """An AttributeRuler that looks its patterns up, where spaCy's tries each at every token.

    Patterns, what they set, files and methods are spaCy's, and so are the results. Patterns with
    operators, fuzzy comparisons, extension attributes and the like still go through spaCy's
    Matcher. If a rule sets anything else than TAG, POS, MORPH, LEMMA, DEP and NORM, all do.
    """

    _index: Optional["PatternIndex"] = None
    _is_indexed = False

    def clear(self) -> None:
        """Reset all patterns."""
        super().clear()
        self._is_indexed = False

    def add(self, patterns: Iterable[MatcherPatternType], attrs: dict, index: int = 0) -> None:
        """Add patterns for tokens that are to have some attributes, as spaCy's `add` does."""
        super().add(patterns, attrs, index)
        self._is_indexed = False

    def __call__(self, doc: Doc) -> Doc:
        """Set the attributes of the tokens that match patterns."""
        if not self._is_indexed:
            self._index, self._is_indexed = _make_index(self), True
        if self._index is None:
            return super().__call__(doc)
        try:
            self._index.set_attrs(doc)
            return doc
        except Exception as error:
            return self.get_error_handler()(self.name, self, [doc], error)


class PatternIndex:
    """The patterns of a ruler, by the values that they compare."""

    def __init__(self, ruler: AttributeRuler, patterns: list[list[Pattern]]) -> None:
        """Index the patterns of each rule."""
        self.strings = ruler.vocab.strings
        self.attrs: list[Attrs] = ruler.attrs
        self.indices: list[int] = ruler.indices
        # Of the patterns that cannot be looked up.
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
        """Read a token of a pattern; nothing if it says more than such conditions can."""
        read: Description = {}
        for name, value in description.items():
            attr = COMPARED.get(name.upper()) if isinstance(name, str) else None
            if attr is None or attr in read:
                return {}
            condition = self._read_condition(attr, value)
            if condition is None:
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
        if predicate not in ("IN", "NOT_IN"):
            return None
        if not all(isinstance(option, (str, int)) for option in options):
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
        """Look up the values of each token: the descriptions that it fits by each attribute."""
        values = doc.to_array(list(self.fitting)).reshape(len(doc), len(self.fitting))
        columns = [
            [fitting[value] for value in column]
            for fitting, column in zip(self.fitting.values(), values.T.tolist(), strict=True)
        ]
        return list(zip(*columns, strict=True))

    def _add_kind(self, key: Key) -> Kind:
        """Find what tokens match that fit some descriptions, and keep it."""
        bits = reduce(and_, key)
        rules = [rule for bit, rule in self.alone if bits & bit]
        sequences = [sequence for sequence in self.sequences if bits & sequence.bits[0]]
        kind = Kind(bits, rules, self._merge(rules), sequences)
        if len(self.by_key) < MAX_CACHED:
            self.by_key[key] = kind
        return kind

    def _merge(self, rules: Iterable[int]) -> Attrs:
        """Merge what rules set. Later rules have precedence."""
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


def _make_index(ruler: AttributeRuler) -> Optional[PatternIndex]:
    """Index the patterns, unless spaCy has to go through them all."""
    patterns = [ruler.matcher.get(str(rule))[1] for rule in range(len(ruler.attrs))]
    for of_rule, attrs, index in zip(patterns, ruler.attrs, ruler.indices, strict=True):
        # spaCy says what is wrong with an index that lies outside of a pattern.
        is_inside = all(-len(pattern) <= index < len(pattern) for pattern in of_rule)
        if not is_inside or not set(attrs) <= SET:
            return None
    made = PatternIndex(ruler, patterns)
    return made if made.fitting else None
