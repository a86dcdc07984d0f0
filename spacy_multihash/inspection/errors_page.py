"""Mistakes as HTML and as JSON lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Optional

from spacy.tokens import Doc
from spacy.training import Example

from .errors import (
    KINDS,
    Entity,
    Kind,
    Mistake,
    Mistakes,
    Neighbour,
    entities_of,
    pair_entities,
)
from .explain import Explanation
from .explain_page import completeness_text, explanation_table, signed, visible
from .page import Html, details, html_table, join, render_page, section, tag

Tool = Literal["prodigy", "doccano"]
# Groups of so few mistakes are open from the beginning.
_FEW = 20
# How many tokens and features a mistake's summary of its explanation names.
_STRONGEST = 4
_SUSPECT = "The annotation may be wrong"
_NO_ENTITY = "no entity"
_STYLE = Html("""<style>
details { margin: .5rem 0; }
details.kind > *:not(summary) { margin-left: .4rem; }
.mistake { border-top: 1px solid var(--line); content-visibility: auto;
  contain-intrinsic-size: auto 9rem; padding: .6rem 0; }
.mistake p, .pair { margin: .25rem 0; max-width: none; }
.mistake summary { color: var(--soft); font-size: .9rem; font-weight: 400; }
.mistake b { font-weight: 600; }
.pair { display: grid; gap: .15rem .7rem; grid-template-columns: 3.2rem 1fr; }
.pair > :nth-child(odd) { color: var(--soft); font-size: .9rem; }
.pair > div { min-width: 0; white-space: pre-wrap; }
.side { grid-template-columns: 1fr 1fr; border-top: 1px solid var(--line); padding: .6rem 0; }
.side > div { color: inherit !important; font-size: 1rem !important; }
mark { border-radius: .2rem; }
@media (max-width: 40rem) { .side { grid-template-columns: 1fr; } }
</style>""")


def render_mistakes(found: Mistakes, *, limit: Optional[int] = None) -> Html:
    """Render mistakes as a fragment of a page: counts, labels, and the mistakes by kind and label.

    limit (Optional[int]): Show so many mistakes of each kind, the first ones. None shows all.
    """
    suspects = [mistake for mistake in found.mistakes if mistake.is_suspect]
    by_kind: dict[Kind, list[Mistake]] = {kind: [] for kind in KINDS}
    for mistake in found.mistakes:
        if not mistake.is_suspect:
            by_kind[mistake.kind].append(mistake)
    groups = [_group(_SUSPECT, suspects, limit, _SUSPECT_INTRO)] if suspects else []
    groups += [_group(KINDS[kind], some, limit) for kind, some in by_kind.items() if some]
    return join(
        _STYLE,
        section(
            "Counts",
            f"{found.gold:,} gold entities, {found.found:,} found, {found.right:,} right.",
            counts_table(found),
        ),
        section("Which labels are confused", confusion_table(found)) if found.confusion else "",
        section("Mistakes", _intro(found), *groups),
    )


def render_errors(found: Mistakes, title: str) -> bytes:
    """Render mistakes as an HTML page."""
    return render_page(title, render_mistakes(found))


_SUSPECT_INTRO = (
    "The model is sure, and the training corpus rarely has what is gold here. Look at these first."
)


def _intro(found: Mistakes) -> str:
    if not found.mistakes:
        return "There are no mistakes."
    sentences = []
    if any(mistake.confidence is not None for mistake in found.mistakes):
        sentences += [
            "The mistakes that the model is most confident of come first.",
            "p is the probability of the entity.",
        ]
    if found.has_training:
        sentences.append("An entity is seen if its text is that of an entity of training.")
    return " ".join([*sentences, "Click on a group to open it."])


def count_rows(found: Mistakes) -> list[tuple[str, ...]]:
    """Count the mistakes by label and kind: a row for each label, and one for all of them."""
    counts = Counter((mistake.entity.label, mistake.kind) for mistake in found.mistakes)
    right: Counter[str] = Counter()
    for (wanted, given), count in found.confusion.items():
        if wanted is not None and wanted == given:
            right[wanted] += count
    for label in list(right):
        right[label] -= counts[label, "cut"]
    labels = sorted({label for pair in found.confusion for label in pair if label is not None})
    rows = [
        (label, f"{right[label]:,}", *(f"{counts[label, kind]:,}" for kind in KINDS))
        for label in labels
    ]
    kinds = Counter(mistake.kind for mistake in found.mistakes)
    return [*rows, ("all", f"{found.right:,}", *(f"{kinds[kind]:,}" for kind in KINDS))]


COUNT_HEADER = ("", "right", "label", "boundaries", "both", "spurious", "missed")


def counts_table(found: Mistakes) -> Html:
    """Make a table of the numbers of mistakes by label and kind."""
    note = "By gold label, and spurious ones by their own. boundaries: the label is right."
    return join(tag("p", note, class_="soft"), html_table(COUNT_HEADER, count_rows(found)))


def confusion_rows(found: Mistakes) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table of gold and found labels."""
    labels: list[Optional[str]] = [
        *sorted({label for pair in found.confusion for label in pair if label is not None}),
        None,
    ]
    names = [_NO_ENTITY if label is None else label for label in labels]
    rows = [
        [name, *(f"{found.confusion.get((wanted, given), 0) or '·'}" for given in labels)]
        for wanted, name in zip(labels, names, strict=True)
    ]
    return ["gold \\ found", *names], rows


def confusion_table(found: Mistakes) -> Html:
    """Make a table of gold labels (rows) and found ones (columns)."""
    note = "Entities that overlap, whatever their boundaries."
    return join(tag("p", note, class_="soft"), html_table(*confusion_rows(found)))


def _group(title: str, some: Sequence[Mistake], limit: Optional[int], intro: str = "") -> Html:
    """Make the group of a kind, with a group for each label if there are many mistakes."""
    shown = some[:limit]
    head = f"{title} ({len(some):,})"
    more = [f"The first {len(shown):,} are shown."] if len(shown) < len(some) else []
    by_label: dict[str, list[Mistake]] = defaultdict(list)
    for mistake in shown:
        by_label[mistake.entity.label].append(mistake)
    parts = [intro] if intro else []
    if len(some) <= _FEW or len(by_label) == 1:
        inner = [*map(_mistake, shown)]
    else:
        inner = [
            details(f"{label} ({len(of_label):,})", *map(_mistake, of_label))
            for label, of_label in sorted(by_label.items(), key=lambda item: -len(item[1]))
        ]
    group = details(head, *parts, *more, *inner)
    is_open = " open" if len(some) <= _FEW else ""
    return Html(group.replace("<details>", f'<details class="kind"{is_open}>', 1))


def _mistake(mistake: Mistake) -> Html:
    sides = [
        ("gold", mistake.gold, mistake.gold_around, "missed"),
        ("found", mistake.found, mistake.found_around, "wrong"),
    ]
    cells = []
    for name, own, around, class_ in sides:
        cells += [tag("span", name), tag("div", _sentence(mistake, own, around, class_))]
    return tag(
        "article",
        _title(mistake),
        tag("div", *cells, class_="pair"),
        _training(mistake),
        "" if mistake.explanation is None else _explanation(mistake, mistake.explanation),
        class_="mistake",
    )


def _title(mistake: Mistake) -> Html:
    parts: list[str] = []
    for name, entity in (("gold", mistake.gold), ("found", mistake.found)):
        if entity is not None:
            chance = "" if entity.probability is None else f", p {_percent(entity.probability)}"
            parts.append(f"{name} {entity.label}{chance}")
    if mistake.seen is not None:
        parts.append("seen" if mistake.seen else "unseen")
    parts.append(f"doc {mistake.doc}")
    return tag(
        "p",
        tag("b", " ".join(mistake.entity.text.split())),
        " ",
        tag("span", " · ".join(parts), class_="soft"),
    )


def _percent(probability: float) -> str:
    """Write a probability with as many digits as tell it from 0 and 1."""
    percent = 100 * probability
    return "< 0.1 %" if percent < 0.1 else "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def _sentence(
    mistake: Mistake, own: Optional[Entity], around: Iterable[Entity], class_: str
) -> Html:
    """Write the words of a mistake with entities marked, its own one by a class."""
    words, first = mistake.words, mistake.first
    marks = [
        (each.start - first, each.end - first, each.label, class_ if _is(each, own) else "")
        for each in around
    ]
    return _marked(words, marks)


def _is(entity: Entity, own: Optional[Entity]) -> bool:
    return own is not None and (entity.start, entity.end, entity.label) == (
        own.start,
        own.end,
        own.label,
    )


def _marked(words: Sequence[str], marks: Iterable[tuple[int, int, str, str]]) -> Html:
    """Write words with marks: start, end, label and class of each, none of which overlap."""
    parts: list[str] = []
    done = 0
    for start, end, label, class_ in sorted(marks):
        text = "".join(words[start:end])
        bare = text.rstrip()
        parts += [
            "".join(words[done:start]),
            tag("mark", bare, tag("small", label), class_=class_),
            text[len(bare) :],
        ]
        done = end
    return join(*parts, "".join(words[done:]))


def _training(mistake: Mistake) -> Html:
    """Say what training has that is like the entity."""
    parts = [
        f"{title}: {'; '.join(map(_neighbour, some))}"
        for title, some in (("same words", mistake.same_words), ("same shape", mistake.same_shape))
        if some
    ]
    if not parts:
        return Html("")
    return tag("p", f"In training, {'. '.join(parts)}", class_="soft")


def _neighbour(each: Neighbour) -> str:
    return f"{' '.join(each.text.split())} ({each.label}, {each.count:,})"


def _explanation(mistake: Mistake, explanation: Explanation) -> Html:
    """Name what speaks most for a found entity, or against a missed one, and show all numbers."""
    is_found = mistake.found is not None
    sign = 1 if is_found else -1
    cells = [
        (sign * value, f"{visible(word)} {feature} {signed(value, 1)}")
        for word, values in zip(explanation.words, explanation.by_feature, strict=True)
        for feature, value in zip(explanation.features, values, strict=True)
    ]
    strongest = [text for value, text in sorted(cells, reverse=True) if value > 0][:_STRONGEST]
    why = f"Why {explanation.label}?" if is_found else f"Why not {explanation.label}?"
    summary = f"{why} {' · '.join(strongest) or 'Nothing around it counts.'}"
    return details(summary, explanation_table(explanation), completeness_text(explanation))


def render_side_by_side(examples: Sequence[Example], title: str) -> bytes:
    """Render docs as an HTML page: gold entities beside found ones, right and wrong ones marked."""
    rows = []
    for example in examples:
        gold, found = entities_of(example)
        pairs = pair_entities(gold, found)
        right = {id(one) for kind, *both in pairs if kind is None for one in both}
        words = [token.text_with_ws for token in example.reference]
        rows += [
            tag("div", _marked(words, _marks(entities, right, wrong)))
            for entities, wrong in ((gold, "missed"), (found, "wrong"))
        ]
    legend = join(
        tag("mark", "right", class_="right"),
        " ",
        tag("mark", "gold, but not found", class_="missed"),
        " ",
        tag("mark", "found, but not gold", class_="wrong"),
    )
    pairs_of_rows = [
        tag("div", *rows[i : i + 2], class_="pair side") for i in range(0, len(rows), 2)
    ]
    return render_page(
        title,
        _STYLE,
        "Gold entities are on the left, or above, and found ones beside them.",
        tag("p", legend),
        *pairs_of_rows,
    )


def _marks(
    entities: Iterable[Entity], right: set[int], wrong: str
) -> list[tuple[int, int, str, str]]:
    return [
        (each.start, each.end, each.label, "right" if id(each) in right else wrong)
        for each in entities
    ]


def json_records(found: Mistakes, tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield a record for each doc with mistakes, with its gold entities, to mend them.

    Docs with the most confident mistakes come first. `convert` reads what the tools export.

    tool (Tool): "prodigy" has entities as "spans", and "doccano" as "label".
    """
    by_doc: dict[int, list[Mistake]] = defaultdict(list)
    for mistake in found.mistakes:
        by_doc[mistake.doc].append(mistake)
    for number, mistakes in by_doc.items():
        yield _record(found.docs[number], number, [*map(_in_words, mistakes)], tool)


def _record(doc: Doc, number: int, mistakes: list[str], tool: Tool) -> dict[str, Any]:
    if tool == "doccano":
        label = [[ent.start_char, ent.end_char, ent.label_] for ent in doc.ents]
        return {"text": doc.text, "label": label, "doc": number, "mistakes": mistakes}
    tokens = [
        {
            "text": token.text,
            "start": token.idx,
            "end": token.idx + len(token),
            "id": token.i,
            "ws": bool(token.whitespace_),
        }
        for token in doc
    ]
    spans = [
        {
            "start": ent.start_char,
            "end": ent.end_char,
            "token_start": ent.start,
            "token_end": ent.end - 1,
            "label": ent.label_,
        }
        for ent in doc.ents
    ]
    meta = {"doc": number, "mistakes": "; ".join(mistakes)}
    return {"text": doc.text, "tokens": tokens, "spans": spans, "meta": meta}


def _in_words(mistake: Mistake) -> str:
    """Describe a mistake in a line."""
    entities = [
        f"{name} {entity.label} {' '.join(entity.text.split())!r}"
        + ("" if entity.probability is None else f" (p {_percent(entity.probability)})")
        for name, entity in (("gold", mistake.gold), ("found", mistake.found))
        if entity is not None
    ]
    suspect = f"{_SUSPECT.lower()}: " if mistake.is_suspect else ""
    return f"{suspect}{mistake.kind}: {', '.join(entities)}"
