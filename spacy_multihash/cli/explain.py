"""`python -m spacy multihash explain`: why a pipeline finds an entity."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import minibatch
from tqdm import tqdm

from ..common.files import write_bytes
from ..common.load import load_pipeline
from ..common.outputs import check_file_output
from ..corpus.read import model_examples
from ..inspection.explain import (
    EVERYWHERE,
    IN_ENTITY,
    Effect,
    Explanation,
    Key,
    explain,
    explain_corpus,
    prepare,
)
from ..inspection.explain_page import (
    completeness_text,
    render_explanations,
    signed,
    token_effects,
    visible,
)
from ..ner.calibration import find_recognizer
from ..ner.spans import annotate_before
from ._util import AS_JSON, CODE, MODEL, failing, import_code, msg, print_json, show_table
from .show import read_text

# How far from an entity, and how many entities of a text, are looked at.
WINDOW, MAX_ENTITIES = 3, 20
_DOC_BATCH = 256  # docs that the components before the recognizer annotate at once


def explain_cli(
    model: str = MODEL,
    text: Optional[str] = typer.Argument(None, help="The text, or - for standard input"),
    file: Optional[Path] = typer.Option(None, help="UTF-8 file with the text"),
    span: list[str] = typer.Option(
        [], help="Entity to explain, as TEXT=LABEL, found or not. May be repeated"
    ),
    corpus: Optional[Path] = typer.Option(
        None, help="Explain the gold entities of a corpus: a .spacy file, or a folder"
    ),
    component: Optional[str] = typer.Option(None, help="Recognizer, if the pipeline has several"),
    window: Optional[int] = typer.Option(
        None, min=0, help=f"Tokens to either side of an entity to look at. Default: {WINDOW}"
    ),
    max_entities: Optional[int] = typer.Option(
        None, min=1, help=f"Explain at most this many entities of a text. Default: {MAX_ENTITIES}"
    ),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show what made a pipeline find an entity.

    For each entity, you see how far its log-odds, log(p / (1 - p)) for its probability p, fall if
    a feature of a token is unknown, or all features of the token. With --corpus, you get the mean
    for each feature over the gold entities. The pipeline needs a recognizer that gives
    probabilities, batch_ner or tagger_ner.

    The recognizer reads the whole text again for each feature of each token around an entity, so
    the time grows with the length of the text times the number of entities. To limit it, set
    --max-entities. A corpus is read twice for each feature (eight times if tables are hashed), and
    once more.

    DOCS: python -m pydoc spacy_multihash.inspection.explain
    """
    import_code(code)
    with failing("Cannot explain the entities"):
        of_texts = {"TEXT": text, "--file": file, "--span": span, "--window": window}
        of_texts |= {"--max-entities": max_entities, "--output": output}
        for option, value in of_texts.items():
            if corpus is not None and value not in (None, []):
                raise ValueError(f"{option} is for a text. Leave it out, or --corpus.")
        check_file_output(output, "--output", model, file, code, force=force)
        nlp = load_pipeline(model)
        name = find_recognizer(nlp, component)
        if corpus is not None:
            effects = corpus_effects(nlp, name, corpus)
        else:
            text = read_text(text, file)
            explanations = explain_text(
                nlp,
                name,
                text,
                span,
                window=WINDOW if window is None else window,
                max_entities=max_entities or MAX_ENTITIES,
            )
            if output is not None:
                write_bytes(output, render_explanations(explanations))
    if as_json:
        print_json(list(map(as_dict, effects if corpus is not None else explanations)))
        return
    if corpus is not None:
        show_effects(effects)
    else:
        show_explanations(explanations)
    if output is not None:
        msg.good(f"Wrote {output}")


def explain_text(
    nlp: Language,
    name: str,
    text: str,
    spans: Sequence[str] = (),
    *,
    window: int = WINDOW,
    max_entities: int = MAX_ENTITIES,
) -> list[Explanation]:
    """Explain the first entities of a text, and say how many more there are.

    spans (Sequence[str]): Entities to explain instead of those found, as TEXT=LABEL.

    Raises ValueError if the text doesn't contain a span.
    """
    explained = prepare(nlp, name)
    doc = nlp.make_doc(text)
    (example,) = annotate_before(nlp, name, [Example(doc, doc)])
    doc = example.predicted
    labels = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
    predicted = _found(doc, [ent for ent in nlp(text).ents if ent.label_ in labels])
    wanted = [key for span in spans for key in _find_span(doc, span)] if spans else predicted
    if len(wanted) > max_entities:
        msg.warn(
            f"Only the first {max_entities:,} of {len(wanted):,} entities are explained",
            f"--max-entities {len(wanted)} explains all.",
            err=True,
        )
    keys = tqdm(wanted[:max_entities], "Explaining", unit=" entities", disable=None)
    return [explain(explained, doc, key, found=key in predicted, window=window) for key in keys]


def corpus_effects(nlp: Language, name: str, corpus: Path) -> list[Effect]:
    """Measure how much each feature counts for the gold entities of a corpus.

    Raises ValueError if there are no entities with the component's labels.
    """
    explained, gold = prepare(nlp, name), GoldEntities(nlp, name)
    docs = tqdm(gold.read(corpus), "Explaining", unit=" docs", disable=None)
    effects = explain_corpus(explained, docs)
    if not effects:
        others = f" Of those it has, {gold.left_out()}." if gold.left_out() else ""
        raise ValueError(
            f"The corpus has no gold entities to explain. Give one that has some.{others}"
        )
    if gold.left_out():
        msg.warn(f"Gold entities are left out: {gold.left_out()}", err=True)
    return effects


def as_dict(result: Explanation | Effect) -> dict[str, Any]:
    """Return the JSON of an effect, or of an explanation without the texts of all tokens."""
    values = asdict(result)
    if isinstance(result, Explanation):
        del values["texts"]
        values["completeness"] = result.completeness
    return values


def _found(doc: Doc, entities: Sequence[Span]) -> list[Key]:
    """Find entities in a doc of the same text. Later components may have changed the tokens."""
    spans = [doc.char_span(ent.start_char, ent.end_char) for ent in entities]
    pairs = zip(spans, entities, strict=True)
    return [(span.start, span.end, ent.label_) for span, ent in pairs if span is not None]


def _find_span(doc: Doc, wanted: str) -> list[Key]:
    """Find all places of a TEXT=LABEL in a doc."""
    text, equals, label = wanted.rpartition("=")
    if not (equals and text and label):
        raise ValueError(f"--span must be TEXT=LABEL, such as 'New York=GPE', was: {wanted}")
    spans: list[Optional[Span]] = []
    start = doc.text.find(text)
    while start >= 0:
        spans.append(doc.char_span(start, start + len(text), label=label))
        start = doc.text.find(text, start + 1)
    keys = [(span.start, span.end, label) for span in spans if span is not None]
    if not keys:
        why = "stands within a token" if spans else "is not in the text"
        raise ValueError(f"--span {wanted}: {text!r} {why}. Give whole tokens of the text.")
    return keys


class GoldEntities:
    """The gold entities of a corpus that a recognizer can find, and how many others there are."""

    def __init__(self, nlp: Language, name: str) -> None:
        """Keep the recognizer."""
        self.nlp, self.name = nlp, name
        self.labels: tuple[str, ...] = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
        self.unknown = Counter[str]()
        self.unaligned = 0

    def read(self, corpus: Path) -> Iterator[tuple[Doc, list[Key]]]:
        """Yield docs as the recognizer gets them, and their gold entities."""
        for batch in minibatch(model_examples(self.nlp, corpus), _DOC_BATCH):
            for example in annotate_before(self.nlp, self.name, batch):
                ents = example.reference.ents
                gold = [ent for ent in ents if ent.label_ in self.labels]
                spans = example.get_aligned_spans_y2x(gold)
                self.unknown.update(ent.label_ for ent in ents if ent.label_ not in self.labels)
                self.unaligned += len(gold) - len(spans)
                if spans:
                    keys = [(span.start, span.end, span.label_) for span in spans]
                    yield example.predicted, keys

    def left_out(self) -> str:
        """Say which gold entities were left out; an empty string if there are none."""
        reasons = []
        if self.unknown:
            reasons.append(
                f"{self.unknown.total():,} have labels that {self.name} does not know "
                f"({', '.join(sorted(self.unknown))}; it knows {', '.join(self.labels) or 'none'})"
            )
        if self.unaligned:
            reasons.append(f"{self.unaligned:,} do not align with the pipeline's tokens")
        return ", and ".join(reasons)


def show_explanations(explanations: Sequence[Explanation]) -> None:
    """Print a table for each entity."""
    if not explanations:
        msg.warn("No entities were found", "Name one to explain: --span TEXT=LABEL")
    for explanation in explanations:
        suffix = "" if explanation.found else ", not found"
        title = f"{visible(explanation.text)}, {explanation.label}"
        show_table(
            f"{title}: {explanation.probability:.3f}{suffix}",
            ("token", *explanation.features, "all"),
            [
                (name, *(signed(fall, 2) for fall in falls))
                for name, falls in token_effects(explanation)
            ],
        )
        msg.text(completeness_text(explanation))
    if explanations:
        msg.text(
            "Numbers are by how much the log-odds of the entity fall if the feature of the token "
            "is unknown. The entity's own tokens are in brackets."
        )


def show_effects(effects: Sequence[Effect]) -> None:
    """Print a table of features, by label."""
    rows: dict[tuple[Optional[str], str], dict[str, str]] = {}
    for effect in effects:
        row = rows.setdefault((effect.label, effect.feature), {"n": f"{effect.entities:,}"})
        error = "-" if effect.error is None else f"{effect.error:.2f}"
        row[effect.where] = f"{signed(effect.mean, 2)} ± {error}"
    show_table(
        "By how much the log-odds of gold entities fall",
        ("label", "entities", "unknown feature", "everywhere", "in the entity"),
        [
            (label or "all", row["n"], feature, row[EVERYWHERE], row[IN_ENTITY])
            for (label, feature), row in rows.items()
        ],
        aligns="lrlrr",
    )
    msg.text("± is the standard error; a single entity has none.")
