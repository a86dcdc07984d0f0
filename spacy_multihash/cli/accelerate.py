"""`python -m spacy multihash accelerate`: put our layers and components into a trained pipeline."""

from pathlib import Path
from typing import Optional

import typer
from spacy.vocab import Vocab

from ..common.load import load_pipeline
from ..common.outputs import check_folder_output, write_pipeline
from ..corpus.read import read_docs
from ..pipelines.accelerate import Acceleration, accelerate
from ._util import CODE, MODEL, failing, import_code, msg, show_table


def accelerate_cli(
    model: str = MODEL,
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    keep_ner: bool = typer.Option(False, "--keep-ner", help="Keep spaCy's ner"),
    keep_parser: bool = typer.Option(False, "--keep-parser", help="Keep spaCy's parser"),
    data: Optional[Path] = typer.Option(
        None, help="Corpus to measure the gain on: a .spacy file, or a folder"
    ),
    code: Optional[Path] = CODE,
) -> None:
    """Make a trained pipeline faster.

    Our layers replace spaCy's MultiHashEmbed, MaxoutWindowEncoder and HashEmbedCNN in all
    components, even if disabled. batch_ner replaces spaCy's ner, and batch_parser its parser. They
    have the same weights. Predictions stay the same. spacy.load loads the new pipeline wherever
    this package is installed.
    --data measures how much faster it is on your texts, and compares what both pipelines annotate.

    DOCS: python -m pydoc spacy_multihash.accelerate
    """
    import_code(code)
    with failing("Cannot accelerate the pipeline"):
        check_folder_output(output, model, data, code, force=force)
        nlp = load_pipeline(model)
        texts = None if data is None else [doc.text for doc in read_docs(data, Vocab())]
        done = accelerate(nlp, keep_ner, texts, keep_parser)
        write_pipeline(nlp, output)
    _show(done)
    msg.good(f"Wrote the pipeline to {output}")


def _show(done: Acceleration) -> None:
    """Print a table for each kind of result."""
    if not done.replaced:
        msg.warn("Nothing was replaced")
    replaced = [(f"{e.component}.{e.path}", e.before, e.after) for e in done.replaced]
    already = [(f"{e.component}.{e.path}", e.name) for e in done.already]
    left = [(f"{e.component}.{e.path}", e.name, e.reason) for e in done.left]
    for title, header, rows in (
        ("Replaced", ("section", "before", "after"), replaced),
        ("Ours already", ("section", "name"), already),
        ("Left as they are", ("section", "name", "reason"), left),
    ):
        show_table(f"{title}: {len(rows)}", header, rows, aligns="lll")
    if done.gain is not None:
        docs, tokens, before, after, shares = done.gain
        show_table(
            f"On {docs:,} docs, {tokens:,} tokens",
            ("", "before", "after", "gain"),
            [("tokens a second", f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.2f}")],
        )
        same = [(kind, f"{100 * share:.2f}") for kind, share in shares.items()]
        show_table("Predictions that stay the same", ("", "%"), same)
