"""Mistakes as HTML and as JSON lines."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Optional

from spacy.tokens import Doc
from spacy.training import Example

from .errors import KINDS, Kind, Mistake, Mistakes, Neighbour, entities_of, pair_entities
from .explain import Explanation
from .explain_page import completeness_text, explanation_table, signed, visible
from .page import Html, details, html_table, join, render_page, section, tag

Tool = Literal["prodigy", "doccano"]
# Groups with this many mistakes or fewer are open at first.
_FEW = 20
# How many tokens and features to name in the summary of an explanation.
_STRONGEST = 4
_SUSPECT = "The annotation may be wrong"
_SUSPECT_INTRO = (
    "The model is sure, and the training corpus rarely has what is gold here. Look at these first."
)
COUNT_HEADER = ("", "right", "label", "boundaries", "both", "spurious", "missed")
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

    limit (Optional[int]): How many mistakes of each kind to show. None shows all.
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
            _soft("By gold label, and spurious ones by their own. boundaries: the label is right."),
            html_table(COUNT_HEADER, count_rows(found)),
        ),
        section(
            "Which labels are confused",
            _soft("Entities that overlap, whatever their boundaries."),
            html_table(*confusion_rows(found)),
        )
        if found.confusion
        else "",
        section("Mistakes", _intro(found), *groups),
    )


def render_errors(found: Mistakes, title: str) -> bytes:
    """Render mistakes as an HTML page."""
    return render_page(title, render_mistakes(found))


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
        sentences.append("An entity is seen if training has an entity with the same text.")
    return " ".join([*sentences, "Click on a group to open it."])


def count_rows(found: Mistakes) -> list[tuple[str, ...]]:
    """Count the mistakes by label and kind: a row for each label, and a row for all labels."""
    counts = Counter((mistake.entity.label, mistake.kind) for mistake in found.mistakes)
    rows = []
    for label in _labels(found):
        right = found.confusion.get((label, label), 0) - counts[label, "cut"]
        rows.append((label, f"{right:,}", *(f"{counts[label, kind]:,}" for kind in KINDS)))
    kinds = Counter(mistake.kind for mistake in found.mistakes)
    return [*rows, ("all", f"{found.right:,}", *(f"{kinds[kind]:,}" for kind in KINDS))]


def _labels(found: Mistakes) -> list[str]:
    return sorted({label for pair in found.confusion for label in pair if label is not None})


def confusion_rows(found: Mistakes) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table of gold and found labels."""
    names: dict[Optional[str], str] = {label: label for label in _labels(found)}
    names[None] = "no entity"
    rows = [
        [name, *(f"{found.confusion.get((wanted, given), 0) or '·'}" for given in names)]
        for wanted, name in names.items()
    ]
    return ["gold \\ found", *names.values()], rows


def _group(title: str, some: Sequence[Mistake], limit: Optional[int], intro: str = "") -> Html:
    """Make the group of a kind, with a group for each label if there are many mistakes."""
    shown = some[:limit]
    parts: list[str] = [intro] if intro else []
    if len(shown) < len(some):
        parts.append(f"The first {len(shown):,} are shown.")
    labels = Counter(mistake.entity.label for mistake in shown)
    if len(some) <= _FEW or len(labels) == 1:
        parts += map(_mistake, shown)
    else:
        for label, count in labels.most_common():
            of_label = [_mistake(mistake) for mistake in shown if mistake.entity.label == label]
            parts.append(details(f"{label} ({count:,})", *of_label))
    group = details(f"{title} ({len(some):,})", *parts)
    is_open = " open" if len(some) <= _FEW else ""
    return Html(group.replace("<details>", f'<details class="kind"{is_open}>', 1))


def _mistake(mistake: Mistake) -> Html:
    cells = []
    for name, own, around, class_ in (
        ("gold", mistake.gold, mistake.gold_around, "missed"),
        ("found", mistake.found, mistake.found_around, "wrong"),
    ):
        marks = [
            (
                entity.start - mistake.first,
                entity.end - mistake.first,
                entity.label,
                class_ if entity == own else "",
            )
            for entity in around
        ]
        cells += [tag("span", name), tag("div", _marked(mistake.words, marks))]
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
    for name, entity in mistake.sides.items():
        chance = "" if entity.probability is None else f", p {_percent(entity.probability)}"
        parts.append(f"{name} {entity.label}{chance}")
    if mistake.seen is not None:
        parts.append("seen" if mistake.seen else "unseen")
    parts.append(f"doc {mistake.doc}")
    text = tag("b", " ".join(mistake.entity.text.split()))
    return tag("p", text, " ", tag("span", " · ".join(parts), class_="soft"))


def _soft(text: str) -> Html:
    return tag("p", text, class_="soft")


def _percent(probability: float) -> str:
    """Format a probability with enough digits to tell it from 0 and 1."""
    percent = 100 * probability
    return "< 0.1 %" if percent < 0.1 else "> 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


def _marked(words: Sequence[str], marks: Iterable[tuple[int, int, str, str]]) -> Html:
    """Write words with marks: start, end, label and class of each.

    A word in several marks is written in the first, as where a pipeline splits a gold token.
    """
    parts: list[str] = []
    done = 0
    for start, end, label, class_ in sorted(marks):
        start = max(start, done)
        text = "".join(words[start:end])
        bare = text.rstrip()
        parts += [
            "".join(words[done:start]),
            tag("mark", bare, tag("small", label), class_=class_),
            text[len(bare) :],
        ]
        done = max(done, end)
    return join(*parts, "".join(words[done:]))


def _training(mistake: Mistake) -> Html:
    """Describe similar entities in training."""
    parts = [
        f"{title}: {'; '.join(map(_neighbour, some))}"
        for title, some in (("same words", mistake.same_words), ("same shape", mistake.same_shape))
        if some
    ]
    return _soft(f"In training, {'. '.join(parts)}") if parts else Html("")


def _neighbour(each: Neighbour) -> str:
    return f"{' '.join(each.text.split())} ({each.label}, {each.count:,})"


def _explanation(mistake: Mistake, explanation: Explanation) -> Html:
    """Name the main reasons for a found entity, or against a missed entity; show all numbers."""
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
    """Render docs as an HTML page: gold beside found entities, marked as right or wrong."""
    rows = []
    for example in examples:
        gold, found = entities_of(example)
        pairs = pair_entities(gold, found)
        right = {id(entity) for kind, *both in pairs if kind is None for entity in both}
        words = [token.text_with_ws for token in example.reference]
        cells = []
        for entities, wrong in ((gold, "missed"), (found, "wrong")):
            marks = [
                (e.start, e.end, e.label, "right" if id(e) in right else wrong) for e in entities
            ]
            cells.append(tag("div", _marked(words, marks)))
        rows.append(tag("div", *cells, class_="pair side"))
    legend = [
        tag("mark", "right", class_="right"),
        tag("mark", "gold, but not found", class_="missed"),
        tag("mark", "found, but not gold", class_="wrong"),
    ]
    return render_page(
        title,
        _STYLE,
        "Gold entities are on the left, or above, and found ones beside them.",
        tag("p", legend[0], " ", legend[1], " ", legend[2]),
        *rows,
    )


def json_records(found: Mistakes, tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield a record for each doc with mistakes, with its gold entities, to fix them.

    Docs with the most confident mistakes come first. `convert` reads the exports of both tools.

    tool (Tool): "prodigy" writes entities as "spans", and "doccano" as "label".
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
            "text": t.text,
            "start": t.idx,
            "end": t.idx + len(t),
            "id": t.i,
            "ws": bool(t.whitespace_),
        }
        for t in doc
    ]
    spans = [
        {
            **{"start": ent.start_char, "end": ent.end_char, "label": ent.label_},
            **{"token_start": ent.start, "token_end": ent.end - 1},
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
        for name, entity in mistake.sides.items()
    ]
    suspect = f"{_SUSPECT.lower()}: " if mistake.is_suspect else ""
    return f"{suspect}{mistake.kind}: {', '.join(entities)}"
