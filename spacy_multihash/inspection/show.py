"""The entities that a pipeline predicts in a text, and how sure it is of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional, Union

from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc

from ..common.arguments import Share, checked
from ..common.checks import check_text
from ..common.load import loaded
from ..common.result import Result, Table
from ..corpus.spans import Mark, Piece, pieces
from ..ner.probabilities import asking_probabilities, notes_of, place_of
from ..pipelines.accelerate import why_not_replaced


@dataclass(frozen=True)
class ShownEntity:
    """An entity, its characters in the text, and its probability, None if no component gives it."""

    text: str
    label: str
    start: int
    end: int
    probability: Optional[float]


@dataclass(frozen=True, eq=False)
class Shown(Result):
    """The entities and the labels of a text.

    cats (dict[str, float]): The probabilities of the text's labels, the most probable one first.
    accelerable (Sequence[str]): The names of spaCy's recognizers that would give probabilities
        after `accelerate`.
    idle (str): That no component of the pipeline finds any, or "".

    Its page has the entities marked in the text.
    """

    template, heading = "show.html", "Entities"

    doc: Doc = field(repr=False)
    entities: Sequence[ShownEntity]
    cats: dict[str, float]
    accelerable: Sequence[str]
    idle: str = ""

    def tables(self) -> Iterable[Table]:
        """The entities with their probabilities, and the text's labels."""
        rows = [
            (
                " ".join(entity.text.split()),
                entity.label,
                "-" if entity.probability is None else f"{entity.probability:.2f}",
            )
            for entity in self.entities
        ]
        yield Table(f"Entities: {len(rows)}", ("entity", "label", "probability"), rows, aligns="ll")
        cats = [(label, f"{p:.2f}") for label, p in self.cats.items()]
        yield Table("Labels", ("label", "probability"), cats)

    def notes(self) -> Iterable[str]:
        """Whether there are no entities, and how to get probabilities."""
        if self.idle:
            yield self.idle
        elif not self.entities and (self.doc.has_annotation("ENT_IOB") or not self.cats):
            yield "No entities were predicted."
        for name in self.accelerable:
            yield (
                f"{name} is spaCy's recognizer, which gives no probabilities. batch_ner does, and "
                "predicts the same entities. To put it into the pipeline:\n"
                "    python -m spacy multihash accelerate MODEL OUTPUT"
            )

    @property
    def marks(self) -> list[Piece]:
        """The text in pieces, the entities with their labels and probabilities."""
        marks = []
        for ent, entity in zip(self.doc.ents, self.entities, strict=True):
            # Browsers don't break lines at \u00a0.
            p = "" if entity.probability is None else f"\u00a0{entity.probability:.2f}"
            marks.append(Mark(ent.start, ent.end, f"{entity.label}{p}"))
        return pieces([token.text_with_ws for token in self.doc], marks)


@checked
def show(nlp: Union[Language, str, Path], text: str, *, threshold: Optional[Share] = None) -> Shown:
    """Predict the entities of a text, and show their probabilities.

        print(show("training/model-best", "Anna met Bob in Rome."))

    nlp (Union[Language, str, Path]): The pipeline. tagger_ner and batch_ner give probabilities, and
        spaCy's ner doesn't.
    threshold (Optional[float]): Leave out less probable entities. None keeps the pipeline's own
        settings.

    Raises ValueError if there's no such pipeline, or if the text is empty.
    """
    check_text(text)
    nlp = loaded(nlp)
    with asking_probabilities(nlp, threshold=threshold) as are_given:
        if threshold is not None and not are_given:
            raise ValueError(
                "threshold is for probabilities of entities, which no component of the pipeline "
                "gives. Leave it out."
            )
        doc = nlp(text)
    of_span = notes_of(doc).probabilities
    predicted = [(ent, of_span.get(place_of(ent))) for ent in doc.ents]
    if threshold is not None and predicted:
        predicted = [(ent, p) for ent, p in predicted if p is None or p >= threshold]
        doc.set_ents([ent for ent, _ in predicted])
    entities = [
        ShownEntity(ent.text, ent.label_, ent.start_char, ent.end_char, p) for ent, p in predicted
    ]
    cats = dict(sorted(doc.cats.items(), key=lambda item: -item[1]))
    config = nlp.config.interpolate()["components"]
    accelerable = [
        name
        for name, pipe in nlp.pipeline
        if isinstance(pipe, EntityRecognizer) and why_not_replaced(pipe, config[name]) is None
    ]
    assigned = {attr for name in nlp.pipe_names for attr in nlp.get_pipe_meta(name).assigns}
    idle = ""
    if not (entities or cats or assigned & {"doc.ents", "doc.cats"}):
        idle = (
            "No component of the pipeline assigns entities or labels of texts. It has: "
            f"{', '.join(nlp.pipe_names) or 'none'}; disabled: {', '.join(nlp.disabled) or 'none'}."
        )
    return Shown(doc, entities, cats, accelerable, idle)
