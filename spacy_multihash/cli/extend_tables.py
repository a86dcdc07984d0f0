"""`python -m spacy multihash extend-tables`: rows for words that training never met."""

from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Optional

import typer
from spacy.language import Language

from ..common.checks import check_choice, check_whole
from ..corpus.read import model_docs
from ..embed.attributes import attr_id
from ..tables.extend import WORD_ATTRS, Extension, extend_tables, symbol_getter
from ..tables.words import by_frequency, count_texts
from ..vectors.kernel_pca import SpellingSettings
from ._messages import msg
from ._pipelines import check_apart, check_pipeline_output, write_pipeline
from ._show import show_table
from ._util import import_code, load_pipeline, print_json
from ._vectors import read_words


class Source(str, Enum):
    """What rows are predicted from."""

    vectors = "vectors"
    spelling = "spelling"


def extend_tables_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    attr: str = typer.Option("NORM", "--attr", help="Attribute: NORM, LOWER or ORTH"),
    component: Optional[str] = typer.Option(
        None,
        "--component",
        help="Component with a MultiEmbed. Default: all that look the attribute up",
    ),
    source: Source = typer.Option(
        Source.vectors, "--from", help="What rows are predicted from: static vectors or spelling"
    ),
    words: Optional[Path] = typer.Option(
        None, "--words", help="UTF-8 file of the words to add, one a line"
    ),
    data: Optional[Path] = typer.Option(
        None, "--data", help="Corpus of the words to add: a .spacy file, or a folder"
    ),
    train: Optional[Path] = typer.Option(
        None, "--train", help="Training corpus, to know how often training has met each symbol"
    ),
    min_freq: int = typer.Option(
        1, "--min-freq", help="With --train: fit to the rows of symbols that occur this often"
    ),
    anchors: int = typer.Option(
        SpellingSettings.anchors, "--anchors", help="Spelling: the most words to compare with"
    ),
    rank: int = typer.Option(
        SpellingSettings.rank, "--rank", help="Spelling: number of principal components"
    ),
    sigma: float = typer.Option(
        SpellingSettings.sigma, "--sigma", help="Spelling: width of the Gaussian kernel"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Give a trained MultiEmbed rows for words that training never met.

    Ridge regression learns how trained rows follow from the static vectors of their words, or from
    their spelling, and predicts the rows of new ones. New are all words that have a static vector,
    or those of --words and --data. Rows that are there stay. It says how well trained rows are
    predicted that were held out.

    DOCS: python -m pydoc spacy_multihash.tables.extend
    """
    import_code(code)
    try:
        check_choice("extend-tables", "--attr", attr, WORD_ATTRS, advice="Name one of them.")
        check_whole("extend-tables", "--min-freq", min_freq, 1, advice="Give such a number.")
        if source is Source.spelling and words is None and data is None:
            raise ValueError(
                "--from spelling can add any word: name the words, by --words or --data."
            )
        if train is None and min_freq > 1:
            raise ValueError("--min-freq needs the training corpus: give it as --train.")
        settings = SpellingSettings(anchors, rank, sigma)
        check_pipeline_output(output, force=force, inputs=[words, data, train, code])
        nlp = load_pipeline(model)
        check_apart(nlp, output)
        symbols = None
        if words is not None or data is not None:
            symbols = [*_read_words(nlp, words, attr), *_read_corpus(nlp, data, attr)]
        counts = None if train is None else count_texts(model_docs(nlp, train), attr_id(attr))
        done = extend_tables(
            nlp,
            symbols,
            attr=attr,
            component=component,
            source=source.value,
            settings=settings,
            counts=counts,
            min_freq=min_freq,
        )
        write_pipeline(nlp, output)
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot extend the tables", str(error))
    if as_json:
        print_json([asdict(one) for one in done])
        return
    _show(done)
    msg.good(f"Wrote the pipeline to {output}")


def _read_words(nlp: Language, path: Optional[Path], attr: str) -> list[str]:
    """Read a file of words, and list their symbols."""
    words = read_words(path) or []
    for word in words:
        nlp.vocab.strings.add(word)  # so that static vectors are found by it
    symbol_of = symbol_getter(nlp.vocab, attr)
    return [symbol_of(word) for word in words]


def _read_corpus(nlp: Language, path: Optional[Path], attr: str) -> list[str]:
    """Read a corpus, and list its symbols, the most frequent first."""
    if path is None:
        return []
    counts = count_texts(model_docs(nlp, path), attr_id(attr))
    return [text for text in by_frequency(counts) if text.strip()]


def _show(done: list[Extension]) -> None:
    """Print how many rows were added, and how good predictions are."""
    rows = [
        (
            one.table,
            f"{one.rows:,}",
            f"{one.added:,}",
            f"{one.fitted:,}",
            f"{one.held_out.cosine:.3f}",
            f"{one.held_out.cosine_of_mean:.3f}",
            f"{one.held_out.r2:.3f}",
        )
        for one in done
    ]
    header = ("table", "rows", "added", "fitted to", "cosine", "of the mean", "R2")
    show_table("Rows", header, rows)
    msg.text(
        "Cosine of predicted and trained rows, of one trained row in ten, which was held out. Of "
        "the mean: the same if the mean of the other rows is predicted."
    )
    for one in done:
        if one.held_out.is_hardly_better:
            msg.warn(
                f"Predictions of {one.table} are hardly better than the mean of the trained rows. "
                "Row 0, which new words had, may serve them better."
            )
