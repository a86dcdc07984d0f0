"""Entities of docs as an HTML page, by displaCy."""

import warnings
from collections.abc import Sequence
from html import escape
from typing import Any

from spacy import displacy
from spacy.tokens import Doc


def render_page(docs: Sequence[Doc], captions: Sequence[Sequence[str]]) -> bytes:
    """Render the entities of docs as an HTML page.

    displaCy escapes texts, but no labels, links or titles. Its page does not say which encoding it
    has, so letters beyond ASCII are written as references, which browsers read in any encoding.

    captions (Sequence[Sequence[str]]): What stands beside each entity of each doc. The colours are
        those of the labels.
    """
    pages = [_parse(doc, of_doc) for doc, of_doc in zip(docs, captions, strict=True)]
    html = displacy.render(pages, style="ent", page=True, manual=True, jupyter=False)
    return html.encode("ascii", "xmlcharrefreplace")


def labels_of(doc: Doc) -> list[str]:
    """List the labels of a doc's entities: captions that say nothing else."""
    return [ent.label_ for ent in doc.ents]


def _parse(doc: Doc, captions: Sequence[str]) -> dict[str, Any]:
    """Describe a doc as displaCy's "manual" mode asks for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[W006\]")  # docs without entities
        page = displacy.parse_ents(doc)
    for ent, caption in zip(page["ents"], captions, strict=True):
        ent["params"] = {"label": escape(caption)}
        ent["kb_id"] = escape(ent["kb_id"])
    return {**page, "title": escape(page["title"] or "")}
