"""Serve the entities of texts, with their probabilities, by python -m uvicorn app:app.

Environment variables: MODEL is a pipeline's folder or package, and PIPELINES is the number of
requests that are answered at a time.
"""

import os
from collections.abc import Awaitable, Callable
from math import isnan
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Optional

import spacy
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash import set_threads

MODEL = os.environ.get("MODEL", "first/model")
PIPELINES = int(os.environ.get("PIPELINES", "4"))
MAX_TEXTS, MAX_CHARACTERS, MAX_BYTES = 64, 10_000, 1_000_000
MAX_WAIT = 10  # seconds until a request is refused because others take all pipelines

set_threads(1)  # a core for each request
pipelines: SimpleQueue[Language] = SimpleQueue()
for _ in range(PIPELINES):
    pipelines.put(spacy.load(MODEL))
app = FastAPI(title="Entities")


class Texts(BaseModel):
    """The texts of a request."""

    texts: Annotated[
        list[Annotated[str, Field(max_length=MAX_CHARACTERS)]], Field(max_length=MAX_TEXTS)
    ]


class Entity(BaseModel):
    """An entity, text[start:end]. Its probability is null if the pipeline gives none."""

    text: str
    label: str
    start: int
    end: int
    probability: Optional[float]


@app.middleware("http")
async def limit_body(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Refuse a large body before it's read."""
    length = request.headers.get("content-length", "")
    if request.method == "POST" and not length.isdecimal():
        return JSONResponse({"detail": "Content-Length is missing."}, 411)
    if int(length or 0) > MAX_BYTES:
        return JSONResponse({"detail": f"The body has more than {MAX_BYTES} bytes."}, 413)
    return await call_next(request)


@app.get("/health")
async def health() -> dict[str, str]:
    """Answer as soon as the pipelines are loaded, however busy they are."""
    return {"status": "ok", "model": MODEL}


@app.post("/entities")
def entities(request: Texts) -> list[list[Entity]]:
    """Predict the entities of each text."""
    try:
        nlp = pipelines.get(timeout=MAX_WAIT)
    except Empty:
        raise HTTPException(503, "Busy. Try again later.", {"Retry-After": "5"}) from None
    try:
        with nlp.memory_zone():
            return [entities_of(doc) for doc in nlp.pipe(request.texts)]
    finally:
        pipelines.put(nlp)


def entities_of(doc: Doc) -> list[Entity]:
    """List the entities of a doc, each with its probability."""
    probabilities: dict[Any, float] = {}
    if "entities" in doc.spans:  # the spans_key of fit and calibrate
        group = doc.spans["entities"]
        for span, score in zip(group, group.attrs.get("scores", ()), strict=False):
            if not isnan(score):  # as for the entities of other components
                probabilities[span.start, span.end, span.label] = round(float(score), 4)
    return [
        Entity(
            text=ent.text,
            label=ent.label_,
            start=ent.start_char,
            end=ent.end_char,
            probability=probabilities.get((ent.start, ent.end, ent.label)),
        )
        for ent in doc.ents
    ]
