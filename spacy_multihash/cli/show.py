"""`python -m spacy multihash show`: the entities of a text, and how sure a pipeline is of them."""

import warnings
from dataclasses import dataclass
from html import escape
from os.path import isfile  # unlike Path.is_file, it takes any text
from pathlib import Path
from typing import Optional, Union

import typer
from spacy import displacy
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc

from ..common.files import write_bytes
from ..common.load import load_pipeline
from ..common.outputs import check_file_output
from ..corpus.texts import read_lines
from ..ner.probabilities import ask_probabilities, probabilities_of
from ..pipelines.accelerate import why_not_replaced
from ._util import CODE, MODEL, failing, import_code, msg, path_argument, show_table

STDIN = "-"


@dataclass(frozen=True)
class Shown:
    """The entities of a text.

    doc: The text, with the entities to show.
    probabilities: The probability of each entity, None if no component gives it.
    accelerable: The names of spaCy's recognizers that would give probabilities after `accelerate`.
    """

    doc: Doc
    probabilities: list[Optional[float]]
    accelerable: list[str]


def show_cli(
    model: str = MODEL,
    text: Optional[str] = typer.Argument(None, help="The text, or - for standard input"),
    file: Optional[Path] = typer.Option(None, help="UTF-8 file with the text"),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    threshold: Optional[float] = typer.Option(
        None, min=0, max=1, help="Leave out entities that are less probable"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show the entities that a pipeline finds in a text, with their probabilities.

    tagger_ner and batch_ner give probabilities, and spaCy's ner doesn't. With --output, displaCy
    writes a page that a browser shows. A text classifier's labels are shown too.

    DOCS: python -m pydoc spacy_multihash.cli.show
    """
    import_code(code)
    with failing("Cannot show the entities"):
        check_file_output(output, "--output", model, file, code, force=force)
        shown = show(model, read_text(text, file), threshold=threshold)
        if output is not None:
            write_bytes(output, render_page(shown))
    _show(shown)
    if output is not None:
        msg.good(f"Wrote {output}")


def read_text(text: Optional[str], file: Optional[Path]) -> str:
    """Return the text that the command line gives, without whitespace around it.

    Raises ValueError if both or neither are given, or if the text is the name of a file, isn't
    UTF-8, or is empty.
    """
    if (text is None) == (file is None):
        given = "neither" if text is None else "both"
        raise ValueError(f"Expected either TEXT or --file, was given {given}. Give one of them.")
    if file is not None:
        text = "\n".join(line for _, line in read_lines(file))
    elif text == STDIN:
        try:
            text = typer.get_binary_stream("stdin").read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"Expected UTF-8 as standard input. {error}") from error
    elif text is not None and isfile(text):
        shown = path_argument(Path(text))
        raise ValueError(f"{text} is a file. To read the text in it, give --file {shown}.")
    text = (text or "").strip()
    if not text:
        raise ValueError("Expected a text, was: nothing but whitespace. Give one with words.")
    return text


def show(model: Union[str, Path], text: str, *, threshold: Optional[float] = None) -> Shown:
    """Find the entities of a text, and their probabilities.

    threshold (Optional[float]): Leave out less probable entities. None keeps the pipeline's own
        settings.
    """
    nlp = load_pipeline(model)
    ask_probabilities(nlp, threshold=threshold)
    doc = nlp(text)
    of_span = probabilities_of(doc)
    predicted = [(ent, of_span.get((ent.start_char, ent.end_char, ent.label_))) for ent in doc.ents]
    if threshold is not None and predicted:
        predicted = [(ent, p) for ent, p in predicted if p is None or p >= threshold]
        doc.set_ents([ent for ent, _ in predicted])
    return Shown(doc, [p for _, p in predicted], _accelerable(nlp))


def _accelerable(nlp: Language) -> list[str]:
    """List spaCy's recognizers that batch_ner can replace."""
    config = nlp.config.interpolate()["components"]
    return [
        name
        for name, pipe in nlp.pipeline
        if isinstance(pipe, EntityRecognizer) and why_not_replaced(pipe, config[name]) is None
    ]


def render_page(shown: Shown) -> bytes:
    """Render entities and their probabilities as an HTML page.

    displaCy escapes texts, but not labels and links. Its page names no encoding, so it's written in
    ASCII, with references for other characters.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[W006\]")  # no entities
        page = displacy.parse_ents(shown.doc)
    for ent, probability in zip(page["ents"], shown.probabilities, strict=True):
        # browsers don't break lines at \u00a0
        caption = ent["label"] if probability is None else f"{ent['label']}\u00a0{probability:.2f}"
        ent["params"] = {"label": escape(caption)}
        ent["kb_id"] = escape(ent["kb_id"])
    page["title"] = escape(page["title"] or "")
    html = displacy.render(page, style="ent", page=True, manual=True, jupyter=False)
    return html.encode("ascii", "xmlcharrefreplace")


def _show(shown: Shown) -> None:
    """Print tables of the entities and the text's labels, and how to get probabilities."""
    rows = [
        (" ".join(ent.text.split()), ent.label_, "-" if p is None else f"{p:.2f}")
        for ent, p in zip(shown.doc.ents, shown.probabilities, strict=True)
    ]
    cats = sorted(shown.doc.cats.items(), key=lambda item: -item[1])
    if not rows and (shown.doc.has_annotation("ENT_IOB") or not cats):
        msg.warn("No entities were found")
    show_table(f"Entities: {len(rows)}", ("entity", "label", "probability"), rows, aligns="ll")
    show_table("Labels", ("label", "probability"), [(name, f"{p:.2f}") for name, p in cats])
    for name in shown.accelerable:
        msg.info(
            f"{name} is spaCy's recognizer, which gives no probabilities",
            "batch_ner does, and finds the same entities.",
        )
        msg.command(
            "To put it into the pipeline:", "python -m spacy multihash accelerate MODEL OUTPUT"
        )
