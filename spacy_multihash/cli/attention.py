"""`python -m spacy multihash attention`: which table of vectors each token leans on."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Optional, Union

import typer

from ..corpus.read import model_docs, read_docs
from ..inspection.attention import Attention, find_attention, vector_attention
from ._draw import draw_attention
from ._messages import msg
from ._show import show_table, unbroken, visible
from ._util import check_file_output, import_code, load_pipeline, print_json

_EXTRA = "--png needs matplotlib: python -m pip install 'spacy-multihash[plots]'"


def attention_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    data: Path = typer.Argument(..., help="Corpus: a .spacy file, or a folder"),
    train: Optional[Path] = typer.Option(
        None, "--train", help="Training corpus, to tell seen words from unseen ones"
    ),
    component: Optional[str] = typer.Option(
        None, "--component", help="Component to look into. Default: all"
    ),
    docs: int = typer.Option(3, "--docs", min=0, help="Of how many docs to show each token"),
    png: Optional[Path] = typer.Option(
        None, "--png", help="PNG file of a heat map of these docs to write"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
    force: bool = typer.Option(False, "--force", "-f", help="Replace the PNG file if it exists"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Show which table of vectors each token leans on.

    For a pipeline with a MetaVectors whose mode is mme or scalar. The mean weight of each table is
    over all tokens of DATA, over those that the same tables have, and with --train over seen and
    unseen words. The weights of a token add up to 1, and a table without it has none.

    DOCS: python -m pydoc spacy_multihash.inspection.attention
    """
    import_code(code)
    try:
        check_file_output(png, "--png", force=force, inputs=[data, train, code], model=model)
        found = attention(model, data, train=train, component=component, num_docs=docs)
        if png is not None:
            draw_attention(png, found)
    except ModuleNotFoundError as error:
        msg.fail("Cannot show the attention", f"{error}. {_EXTRA}")
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot show the attention", str(error))
    if as_json:
        print_json([asdict(each) for each in found])
        return
    _show(found)
    if png is not None:
        msg.good(f"Drew the weights to {png}")


def attention(
    model: Union[str, Path],
    data: Path,
    *,
    train: Optional[Path] = None,
    component: Optional[str] = None,
    num_docs: int = 3,
) -> list[Attention]:
    """Measure the weights of tables for the tokens of a corpus.

    model (Union[str, Path]): Name of a package, or path of a pipeline.
    data (Path): The corpus: a .spacy file, or a folder of them.
    train (Optional[Path]): The training corpus. None does not tell seen words from unseen ones.
    component (Optional[str]): Name of the component to look into. None for all.
    num_docs (int): Of how many docs the weights of each token are given.

    Raises ValueError or OSError if something cannot be read, or has nothing to show.
    """
    nlp = load_pipeline(model)
    find_attention(nlp, component)  # before the work
    seen = None
    if train is not None:
        seen = {token.orth for doc in read_docs(train, nlp.vocab) for token in doc}
    docs = model_docs(nlp, data)
    return vector_attention(nlp, docs, component=component, seen=seen, num_docs=num_docs)


def _show(found: Sequence[Attention]) -> None:
    """Print tables of the mean weights, and of the tokens of some docs."""
    for each in found:
        show_table(
            f"Mean weights of tables: {each.component}, {each.mode}",
            ("tokens of", "tokens", *map(unbroken, each.tables)),
            [
                (group.group, f"{group.tokens:,}", *map(_weight, group.weights))
                for group in each.groups
            ],
        )
        for number, doc in enumerate(each.docs, start=1):
            show_table(
                f"Doc {number}: {each.component}",
                ("token", *map(unbroken, each.tables)),
                [
                    (word, *map(_weight, weights, present))
                    for word, weights, present in zip(
                        map(visible, doc.words), doc.weights, doc.present, strict=True
                    )
                ],
            )
    msg.text(
        "The weights of a token add up to 1. Means are over the tokens that some table has. "
        "-: the table does not have the token, or for a mean, no table has any of these tokens."
    )


def _weight(weight: Optional[float], present: bool = True) -> str:
    return "-" if weight is None or not present else f"{weight:.3f}"
