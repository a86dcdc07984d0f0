"""The tables of docs/ner.md on what batch_ner finds: that of ner, and more on request."""

from collections.abc import Mapping
from typing import Any

from experiments.tables.markdown import markdown

KINDS = ("free", "preset")
EVERY = "all"


def render_equality(found: Mapping[str, Any]) -> str:
    """Render on how many tokens the entities are those of ner, as Markdown.

    found (Mapping[str, Any]): What `python -m experiments compare-ner` writes.
    """
    lines = [(name, _counts(counts)) for name, counts in found.get("datasets", {}).items()]
    if lines:
        lines.append((EVERY, [sum(column) for column in zip(*(c for _, c in lines), strict=True)]))
    header = ("data set", "docs", "tokens", "entities", "near-ties", "entities", "near-ties")
    return markdown(
        (*header[:5], *(f"{name}, with presets" for name in header[5:])),
        [(name, *(f"{count:,}" for count in counts)) for name, counts in lines],
        left=(0,),
    )


def _counts(counts: Mapping[str, Any]) -> list[int]:
    found = [(counts[kind]["entities"], len(counts[kind]["near_ties"])) for kind in KINDS]
    return [counts["docs"], counts["tokens"], *(count for pair in found for count in pair)]


def render_candidates(found: Mapping[str, Any]) -> str:
    """Render how many entities a threshold gives, and how many of them are right, as Markdown.

    found (Mapping[str, Any]): What `python -m experiments candidates` writes.
    """
    lines = []
    for line in found.get("thresholds", []):
        above = line["candidates_above"]
        recall = f"{line['found'] / found['gold']:.0%}".replace("%", " %")
        counts = (f"{line['spans']:,}", f"{line['boundaries']:,}")
        lines.append(("null: `doc.ents`" if above is None else f"{above}", *counts, recall))
    header = ("`candidates_above`", "spans in the group", "different boundaries", "recall")
    return markdown(header, lines, left=(0,))
