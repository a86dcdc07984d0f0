"""Entities of a text, given by offsets, on the tokens of a doc."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans, get_words_and_spaces

from ..common.lines import INVISIBLE, Problem
from .annotation import ACCEPT, REJECT
from .texts import AnnotatedText, TextSpan

# Problems of texts and entities. Those of ENTITIES_LEFT_OUT have an entity each.
NO_TEXT = "Left out: entity that has no words"
OUT_OF_TEXT = "Left out: entity that reaches beyond the text"
NOT_ALIGNED = "Left out: entity that does not align with tokens"
TRIMMED = "Trimmed: entity that begins or ends with whitespace"
OVERLAP = "Left out: entity that overlaps a longer or an earlier one"
WRONG_TEXT = "Left out: entity whose own text is another than that at its offsets"
INCORRECT_SPANS = "incorrect_spans"  # for incorrect_spans_key of batch_ner
REJECTED = f"Put into doc.spans[{INCORRECT_SPANS!r}], not doc.ents: entity that was rejected"
UNSURE = f'Left out: entity whose "answer" is neither "{ACCEPT}" nor "{REJECT}"'
ENTITIES_LEFT_OUT = (NO_TEXT, OUT_OF_TEXT, NOT_ALIGNED, OVERLAP, WRONG_TEXT, UNSURE, REJECTED)
OTHER_TOKENS = "Cut anew: tokens that don't spell the text"
HIDDEN = "Invisible characters in a text, removed"


@dataclass(frozen=True)
class Offsets:
    r"""How offsets count.

    unit (str): "characters", "utf16" or "utf8" for code units, or "newlines", where the line end
        \r\n counts as one character.
    start, end (int): What to add to starts and ends.
    """

    unit: str = "characters"
    start: int = 0
    end: int = 0

    @classmethod
    def parse(cls, text: str) -> "Offsets":
        """Return one of OFFSETS, or add a number. Raises ValueError for other values."""
        if text in OFFSETS:
            return OFFSETS[text][0]
        if re.fullmatch("[-+]?[0-9]{1,9}", text):
            return cls(start=int(text), end=int(text))
        names = ", ".join(name for name in OFFSETS if not name.lstrip("-").isdecimal())
        raise ValueError(
            f"Expected as --offsets one of {names}, or a number to add to offsets, got {text!r}."
        )


# What offsets may be, and how a hint describes it.
OFFSETS = {
    "characters": (Offsets(), "count characters"),
    "utf16": (Offsets("utf16"), "count UTF-16 units, as JavaScript does"),
    "utf8": (Offsets("utf8"), "count bytes of UTF-8"),
    "inclusive": (Offsets(end=1), "end at the last character"),
    "from-1": (Offsets(start=-1), "count from 1, and end at the last character"),
    "newlines": (Offsets("newlines"), "count a line end \\r\\n as one character"),
    "-1": (Offsets(start=-1, end=-1), "count from 1"),
    "1": (Offsets(start=1, end=1), "are 1 too small"),
    "2": (Offsets(start=2, end=2), "are 2 too small"),
}


def _characters(text: str, unit: str) -> numpy.ndarray:
    """Return the character at each offset, (offsets,) int64, or -1 within a character."""
    codes = numpy.frombuffer(text.encode("utf-32-le"), "<u4")
    widths = numpy.ones(len(codes), dtype="int64")
    if unit == "utf16":
        widths += codes > 0xFFFF
    elif unit == "utf8":
        widths += (codes > 0x7F).astype("int64") + (codes > 0x7FF) + (codes > 0xFFFF)
    elif unit == "newlines":
        widths[:-1] -= (codes[:-1] == ord("\r")) & (codes[1:] == ord("\n"))
    starts = numpy.concatenate([[0], widths.cumsum()])
    characters = numpy.full(starts[-1] + 1, -1, dtype="int64")
    characters[starts[::-1]] = numpy.arange(len(codes), -1, -1)  # \r, not \n
    return characters


class Place(NamedTuple):
    """The tokens of an entity or None, the problem or "", details, and where it is in the text."""

    span: Optional[Span]
    kind: str
    detail: str
    places: Sequence[tuple[int, int]]


class PlacedText:
    """A text as a doc, where its entities are found.

    doc (Doc): The doc, without annotation and invisible characters, with the tokens of the file if
        it has some.
    problems (list[Problem]): What was changed, and the problems of entities.
    """

    def __init__(self, item: AnnotatedText, nlp: Language) -> None:
        """Make the doc."""
        self.item = item
        self.problems: list[Problem] = []
        self.text = INVISIBLE.sub("", item.text)
        if len(self.text) < len(item.text):
            self._note(HIDDEN, repr(item.text[:40]))
        self.doc = self._doc_of_tokens(nlp) or nlp.make_doc(self.text)
        self._starts = [token.idx for token in self.doc]
        self._ends = [token.idx + len(token) for token in self.doc]
        self._places: dict[str, numpy.ndarray] = {}

    def _note(self, kind: str, detail: str) -> None:
        self.problems.append(Problem(self.item.line, kind, detail))

    def _doc_of_tokens(self, nlp: Language) -> Optional[Doc]:
        if self.item.tokens is None:
            return None
        try:
            tokens = [INVISIBLE.sub("", token) for token in self.item.tokens]
            words, spaces = get_words_and_spaces([*filter(None, tokens)], self.text)
        except ValueError:
            self._note(OTHER_TOKENS, repr(self.text[:40]))
            return None
        return Doc(nlp.vocab, words=words, spaces=spaces)

    @cached_property
    def _visible(self) -> numpy.ndarray:
        """The number of visible characters before each character, and in all: (len + 1,)."""
        hidden = numpy.zeros(len(self.item.text) + 1, dtype="int64")
        for match in INVISIBLE.finditer(self.item.text):
            hidden[match.start() + 1 : match.end() + 1] = 1
        return numpy.arange(len(hidden)) - hidden.cumsum()

    def _in_characters(self, given: TextSpan, offsets: Offsets) -> tuple[int, int]:
        """Return the characters of an entity, or -1 outside the text or within a character."""
        start, end = given.start + offsets.start, given.end + offsets.end
        if offsets.unit == "characters":
            return start, end
        if offsets.unit not in self._places:
            self._places[offsets.unit] = _characters(self.item.text, offsets.unit)
        places = self._places[offsets.unit]
        start, end = (int(places[at]) if 0 <= at < len(places) else -1 for at in (start, end))
        return start, end

    def tokens(self, start: int, end: int) -> range:
        """Return the tokens that have characters from start to end."""
        return range(bisect_right(self._ends, start), bisect_left(self._starts, end))

    def find(self, given: TextSpan, offsets: Offsets) -> Place:
        """Find the tokens of an entity."""
        start, end = self._in_characters(given, offsets)
        size, label = len(self.item.text), given.label
        if not 0 <= start < end <= size:
            detail = f"{label} ({given.start} to {given.end} of {size} characters)"
            inside = (max(0, start), min(end, size))
            kind = OUT_OF_TEXT if given.start < given.end else NO_TEXT
            return Place(None, kind, detail, [inside] if inside[0] < inside[1] else [])
        if len(self.text) < size:
            start, end = int(self._visible[start]), int(self._visible[end])
        there = self.text[start:end]
        words = there.strip()
        detail = f"{label} {there!r} ({given.start} to {given.end})"
        if given.text is not None and INVISIBLE.sub("", given.text).split() != there.split():
            own = re.escape(given.text.strip())
            others = [other.span() for other in re.finditer(own, self.text)] if own else []
            detail += f", and not {given.text!r}"
            return Place(None, WRONG_TEXT, detail, [(start, end), *others])
        if not words:
            return Place(None, NO_TEXT, detail, [])
        start += len(there) - len(there.lstrip())
        end = start + len(words)
        tokens = self.tokens(start, end)
        if (self._starts[tokens.start], self._ends[tokens.stop - 1]) != (start, end):
            near = self.doc[tokens.start : tokens.stop].text
            return Place(None, NOT_ALIGNED, f"{detail}, in {near!r}", [(start, end)])
        span = Span(self.doc, tokens.start, tokens.stop, label=label)
        return Place(span, "" if words == there else TRIMMED, detail, [(start, end)])

    def _judged(self, given: TextSpan, offsets: Offsets) -> Place:
        place = self.find(given, offsets)
        if given.answer not in (ACCEPT, REJECT):
            return place._replace(kind=UNSURE)
        is_rejected = given.answer == REJECT and place.span is not None
        return place._replace(kind=REJECTED) if is_rejected else place

    def set_entities(self, offsets: Offsets) -> None:
        """Set the entities that fall on tokens. Tokens of the others are missing."""
        accepted, rejected, missing = list[Span](), list[Span](), set[int]()
        for given in self.item.spans or ():
            span, kind, detail, places = self._judged(given, offsets)
            if kind:
                self._note(kind, detail)
            if span is not None and given.answer == ACCEPT:
                accepted.append(span)
                continue
            if span is not None and given.answer == REJECT:
                rejected.append(span)
            for start, end in places:
                missing.update(self.tokens(start, end))
        ents = filter_spans(accepted)
        ids, keys = {*map(id, ents)}, {(ent.start, ent.end, ent.label) for ent in ents}
        for span in accepted:
            if id(span) not in ids:
                extent = f"{span.start_char} to {span.end_char}"
                self._note(OVERLAP, f"{span.label_} {span.text!r} ({extent})")
                missing.update(range(span.start, span.end))
        if rejected := [s for s in rejected if (s.start, s.end, s.label) not in keys]:
            self.doc.spans[INCORRECT_SPANS] = rejected
        for ent in ents:
            missing.difference_update(range(ent.start, ent.end))
        self.doc.set_ents(ents, missing=[self.doc[i : i + 1] for i in sorted(missing)])
