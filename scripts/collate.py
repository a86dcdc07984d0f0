"""Make the tables and figures of docs/results.md and docs/weighted.md from results/."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from corpus_tables import corpus_tables, read_corpora
from report_tables import TABLES
from result_files import RESULTS
from run_results import Results, load, read_report
from table_text import markdown, render_summary, render_table
from wasabi import msg
from weighted_tables import WEIGHTED_TABLES

from spacy_multihash.files import write_bytes

REPORT = Path("results") / "report_tables.json"
CORPORA = Path("results") / "corpora"
PAGE = Path("docs") / "results.md"
WEIGHTED_PAGE = Path("docs") / "weighted.md"


def fill(page: str, blocks: Mapping[str, str], path: Path) -> str:
    """Put blocks between their markers, in place of what is there.

    page (str): The text of the page.
    blocks (Mapping[str, str]): The Markdown for each name.
    path (Path): The file, for the messages.

    Raises ValueError unless every block has its two markers once, and every marker a block.
    """
    marked = re.findall(r"<!-- (?:begin|end): (.+?) -->", page)
    unknown = set(marked) - set(blocks)
    if unknown:
        raise ValueError(
            f"{path} has markers of unknown tables: {', '.join(sorted(unknown))}. Remove them, or "
            f"take one of: {', '.join(blocks)}."
        )
    for name, block in blocks.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        head, *rest = page.split(begin)
        _, *tail = rest[0].split(end) if rest else [""]
        if len(rest) != 1 or len(tail) != 1 or end in head:
            raise ValueError(
                f"{path} must have the line '{begin}' once and '{end}' once below it. Add them "
                "where the table belongs."
            )
        page = f"{head}{begin}\n\n{block}\n\n{end}{tail[0]}"
    return page


def collate(folder: Path, corpora: Path, report: Path, output: Path, weighted: Path) -> Results:
    """Make all tables of the pages, and the figures beside them.

    folder (Path): The results of runs, as `read_results` reads them.
    corpora (Path): The statistics of corpora, as `read_corpora` reads them.
    report (Path): The report's tables as data.
    output (Path): The page of the report's tables, with two markers for each table. Figures go to
        figures/ beside it.
    weighted (Path): The page of weighted hash embeddings, in the same way.

    Nothing is written if anything of it cannot be made.
    """
    from plots import make_figures
    from weighted_plots import make_weighted_figures

    for page in (output, weighted):
        if not page.is_file():
            raise FileNotFoundError(f"There is no page {page}. Write it, with a marker a table.")
    results = load(folder, report)
    blocks = {"summary": render_summary(results)}
    blocks |= {name: render_table(results, table) for name, table in TABLES.items()}
    for name, lines in corpus_tables(read_corpora(corpora), read_report(report)).items():
        blocks[name] = markdown(lines[0], lines[1:], left=(0,))
    of_weighted = {name: render_table(results, table) for name, table in WEIGHTED_TABLES.items()}
    pages = {
        page: fill(page.read_text(encoding="utf8"), blocks_of_page, page)
        for page, blocks_of_page in ((output, blocks), (weighted, of_weighted))
    }
    figures = {output: make_figures(results), weighted: make_weighted_figures(results)}
    for page, text in pages.items():
        for name, data in figures[page].items():
            write_bytes(page.parent / "figures" / name, data)
        write_bytes(page, text.encode("utf8"))
    return results


def collate_cli(
    folder: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of results")] = RESULTS,
    corpora: Annotated[Path, typer.Option(help="Folder of statistics of corpora")] = CORPORA,
    report: Annotated[Path, typer.Option(help="The report's tables as JSON")] = REPORT,
    output: Annotated[
        Path, typer.Option(help="Page whose tables are replaced; figures go to figures/ beside it")
    ] = PAGE,
    weighted: Annotated[
        Path, typer.Option(help="Page of weighted hash embeddings, in the same way")
    ] = WEIGHTED_PAGE,
) -> None:
    """Make all tables and figures of the results, beside the report's and the paper's numbers.

    What was not run is shown as missing.

    DOCS: docs/results.md
    """
    try:
        results = collate(folder, corpora, report, output, weighted)
    except ImportError as error:
        advice = "Install what is needed: python -m pip install -e '.[plots]'"
        msg.fail("Could not make the results", f"{error}. {advice}", exits=1)
    except (OSError, ValueError) as error:
        msg.fail("Could not make the results", str(error), exits=1)
    msg.good(f"Put the tables of {len(results.runs)} runs into {output} and {weighted}")
    msg.text("Figure 7 is not made: it compares fastText's vectors, which were not run.")


if __name__ == "__main__":
    typer.run(collate_cli)
