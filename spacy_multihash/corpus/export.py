"""Docs as JSON lines for annotation tools."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Optional

from spacy.tokens import Doc

from .annotation import ANSWER

Tool = Literal["prodigy", "doccano", "labelstudio"]


class Marked(NamedTuple):
    """An entity of a doc, by its characters. `score` is its probability, if there's one."""

    start: int
    end: int
    label: str
    score: Optional[float] = None


def gold_record(doc: Doc, tool: Tool, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a doc with its gold entities, to correct them; see `record_of`."""
    ents = [Marked(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
    return record_of(doc, ents, tool, meta, is_gold=True)


def record_of(
    doc: Doc,
    entities: Sequence[Marked],
    tool: Tool,
    meta: Mapping[str, Any],
    *,
    is_gold: bool = False,
) -> dict[str, Any]:
    """Return the JSON of a doc as a tool imports it. `convert` reads the exports of all tools.

    Label Studio counts offsets in UTF-16 units. Only Prodigy
    can say that the annotation of tokens is missing.

    meta (Mapping[str, Any]): What the tool shows beside the text, or keeps.
    """
    if tool == "doccano":
        return {"text": doc.text, "label": [list(ent[:3]) for ent in entities], **meta}
    if tool == "labelstudio":
        return _label_studio(doc.text, entities, meta, is_gold=is_gold)
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
    spans = []
    for ent in entities:
        span = doc.char_span(ent.start, ent.end)
        of_tokens = {"token_start": span.start, "token_end": span.end - 1} if span else {}
        score = {} if ent.score is None else {"score": ent.score}
        spans.append({"start": ent.start, "end": ent.end, "label": ent.label, **of_tokens, **score})
    # Prodigy's own way to say that something is unknown, which convert reads as missing.
    spans += [
        {"start": t.idx, "end": t.idx + len(t), "label": "missing", ANSWER: "ignore"}
        | {"token_start": t.i, "token_end": t.i}
        for t in doc
        if not t.ent_iob
    ]
    shown = {k: "; ".join(v) if isinstance(v, list) else v for k, v in meta.items()}
    return {"text": doc.text, "tokens": tokens, "spans": spans, "meta": shown}


def _label_studio(
    text: str, entities: Sequence[Marked], meta: Mapping[str, Any], *, is_gold: bool
) -> dict[str, Any]:
    """Return a task of Label Studio, for a labelling of <Labels name="label" toName="text">."""
    results = []
    for number, ent in enumerate(entities):
        start, end = (len(text[:at].encode("utf-16-le")) // 2 for at in (ent.start, ent.end))
        value = {"start": start, "end": end, "text": text[ent.start : ent.end]}
        result = {
            "id": f"entity{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {**value, "labels": [ent.label]},
        }
        results.append(result if ent.score is None else {**result, "score": ent.score})
    if is_gold:
        return {"data": {"text": text, **meta}, "annotations": [{"result": results}]}
    score = min((ent.score for ent in entities if ent.score is not None), default=1.0)
    predicted = {"model_version": "spacy-multihash", "score": score, "result": results}
    return {"data": {"text": text, **meta}, "predictions": [predicted]}
