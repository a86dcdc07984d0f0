"""`python -m spacy multihash explain`: why a pipeline predicts an entity."""

from pathlib import Path
from typing import Optional

import typer

from ..common.outputs import check_file_output
from ..inspection.effects import explain_corpus
from ..inspection.explain import MAX_ENTITIES, WINDOW, explain
from ._util import AS_JSON, CODE, MODEL, PROGRESS, command, show
from .show import FILE, TEXT, read_text


@command(
    "Cannot explain the entities",
    needs={"force": ["output"]},
    excludes={
        name: ["data"] for name in ("text", "file", "span", "output", "window", "max_entities")
    },
)
def explain_cli(
    model: str = MODEL,
    text: Optional[str] = TEXT,
    file: Optional[Path] = FILE,
    span: list[str] = typer.Option(
        [],
        help="Entity to explain, as TEXT=LABEL, predicted or not, or a text's label. May be "
        "repeated",
    ),
    data: Optional[Path] = typer.Option(
        None, help="Explain the gold entities of a corpus: a .spacy file, or a folder"
    ),
    component: Optional[str] = typer.Option(None, help="Component, if the pipeline has several"),
    window: int = typer.Option(WINDOW, min=0, help="Tokens to either side of an entity to look at"),
    max_entities: int = typer.Option(
        MAX_ENTITIES, min=1, help="Explain at most this many entities of a text"
    ),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(False, "--force", "-f", help="Replace the page if it exists"),
    code: Optional[Path] = CODE,
) -> None:
    """Show what made a pipeline predict an entity, or a text's label.

    For each entity, the table says how far its log-odds, log(p / (1 - p)) for its probability p,
    fall if a feature of a token is unknown, or all features of the token. With --data, it has the
    mean for each feature over the gold entities. The pipeline needs a recognizer that gives
    probabilities, batch_ner or tagger_ner, or a text classifier that embeds attributes of tokens.

    The recognizer reads the whole text again for each feature of each token around an entity. So
    the time grows with the length of the text times the number of entities. To limit it, set
    --max-entities. A corpus is read twice for each feature (eight times if tables are hashed), and
    once more.
    """
    check_file_output(output, "--output", model, file, data, code, force=force)
    if data is not None:
        effects = explain_corpus(model, data, component=component, progress=PROGRESS)
        show(effects, as_json=as_json)
        return
    explanations = explain(
        model,
        read_text(text, file),
        spans=span,
        component=component,
        window=window,
        max_entities=max_entities,
        progress=PROGRESS,
    )
    show(explanations, as_json=as_json, page=output)
