"""Make the tables and figures of the pages in docs/ from results/."""

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

import experiments.figures.calibration
import experiments.figures.dilated
import experiments.figures.recipe
import experiments.figures.report
import experiments.figures.weighted
from experiments.runs.files import (
    CALIBRATIONS,
    CANDIDATES,
    COMPRESSED,
    EQUALITY,
    NER_RESULTS,
    RECOMMENDED,
    RESULTS,
    read_json,
    read_result,
)
from experiments.runs.standings import HALVING
from experiments.tables.batch_ner import BATCH_NER_TABLES
from experiments.tables.calibration import read_calibrations, render_calibration
from experiments.tables.claims import table_verdicts
from experiments.tables.compressed import read_reports, render_compressed
from experiments.tables.corpora import corpus_tables, read_corpora
from experiments.tables.dilated import DILATED_TABLES
from experiments.tables.gains import render_gains
from experiments.tables.goals import render_goals
from experiments.tables.markdown import markdown, render_agreement, render_summary, render_table
from experiments.tables.prose import (
    BENCHMARK,
    TABLE_VERDICTS,
    Statistics,
    fill_numbers,
    find_verdicts,
    turned,
)
from experiments.tables.recipe import (
    recipe_tables,
    render_choice,
    render_losses,
    render_recommended,
    render_rounds,
)
from experiments.tables.recognizer import render_candidates, render_equality
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import Results, load_results, read_report
from experiments.tables.table import Table
from experiments.tables.vectors import VECTOR_TABLES
from experiments.tables.weighted import TEXTS, WEIGHTED_TABLES, with_speeds
from spacy_multihash.common.files import write_bytes, write_json

REPORT = Path("results") / "report_tables.json"
CORPORA = Path("results") / "corpora"
DOCS = Path("docs")
BENCHMARKS = Path("benchmarks") / "results"
# The tables of each page except that of the report's tables.
PAGES: Mapping[str, Mapping[str, Table]] = {
    "weighted-results.md": WEIGHTED_TABLES,
    "dilated-results.md": DILATED_TABLES,
    "ner-results.md": BATCH_NER_TABLES,
    "vectors-results.md": VECTOR_TABLES,
}
PAGE = "results.md"
# The pages of `batch_ner` and of `compress`, with tables of their own kinds.
NER_PAGE, COMPRESS_PAGE = "ner.md", "smaller-pipelines.md"
# The page of what was chosen by halving, whose tables depend on it.
RECIPE_PAGE = "recipe-results.md"
# The verdicts that the words of pages rest on, beside them.
VERDICTS = "verdicts.json"
ALL_PAGES = (PAGE, *PAGES, NER_PAGE, COMPRESS_PAGE, RECIPE_PAGE)


def fill(page: str, blocks: Mapping[str, str], path: Path) -> str:
    """Replace what is between the markers of a page by blocks.

    page (str): The text of the page.
    blocks (Mapping[str, str]): The Markdown for each name.
    path (Path): The file, for the messages.

    Raises ValueError if a block does not have its two markers once, or if a marker has no block.
    """
    marked = re.findall(r"<!-- (?:begin|end): (.+?) -->", page)
    unknown = set(marked) - set(blocks)
    if unknown:
        raise ValueError(
            f"{path} has markers of unknown tables: {', '.join(sorted(unknown))}. Remove them, or "
            f"use one of: {', '.join(blocks)}."
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


def collate(
    folder: Path,
    corpora: Path,
    report: Path,
    docs: Path,
    calibrations: Path = CALIBRATIONS,
    benchmarks: Path = BENCHMARKS,
    ner: Path = NER_RESULTS,
    compressed: Path = COMPRESSED,
    halving: Path = HALVING,
    recommended: Path = RECOMMENDED,
) -> tuple[Results, list[str]]:
    """Make the tables, figures and numbers of all pages. Nothing is written unless all can be made.

    folder (Path): The results of runs, as `read_results` reads them.
    corpora (Path): The statistics of corpora, as `read_corpora` reads them.
    report (Path): The report's tables as data.
    docs (Path): The folder of the pages, with two markers for each table, and around the numbers
        of prose that `fill_numbers` puts in. Figures go to figures/ in it. README.md beside the
        folder has numbers as well. The verdicts on differences of prose go to verdicts.json.
    calibrations (Path): The results of calibration, as `read_calibrations` reads them.
    benchmarks (Path): The results of benchmarks, as JSON.
    ner (Path): What `batch_ner` was compared with, as JSON.
    compressed (Path): The reports of compressed pipelines, as `read_reports` reads them.
    halving (Path): The standings of candidates for a recipe, as JSON, if they are there.
    recommended (Path): What `recommend` writes beside the recipe, as JSON, if it is there.

    Returns the results, and the differences in prose on which the verdict is another one now.
    """
    for name in ALL_PAGES:
        if not (docs / name).is_file():
            raise FileNotFoundError(
                f"There is no page {docs / name}. Create it, with two markers for each table."
            )
    results = load_results(folder, report)
    blocks = {"summary": render_summary(results), "agreement": render_agreement(results)}
    blocks |= {name: render_table(results, table) for name, table in TABLES.items()}
    counted = read_corpora(corpora)
    for name, lines in corpus_tables(counted, read_report(report)).items():
        blocks[name] = markdown(lines[0], lines[1:], left=(0,))
    pages = {PAGE: blocks} | {
        page: {name: render_table(results, table) for name, table in tables.items()}
        for page, tables in PAGES.items()
    }
    measured = {path.stem: read_json(path, "measure again") for path in benchmarks.glob("*.json")}
    if "textcat" not in measured:
        raise FileNotFoundError(
            f"There is no file {benchmarks / 'textcat.json'}. Restore it, or make it: python -m "
            "benchmarks.textcat"
        )
    classifiers = with_speeds(WEIGHTED_TABLES[TEXTS], measured["textcat"])
    pages["weighted-results.md"] |= {
        TEXTS: render_table(results, classifiers),
        "gains": render_gains(results),
    }
    calibrated = read_calibrations(calibrations)
    of_ner = {path.stem: read_result(path) for path in ner.glob("*.json")}
    pages[NER_PAGE] = {
        "equality": render_equality(of_ner.get(EQUALITY.stem, {})),
        "candidates": render_candidates(of_ner.get(CANDIDATES.stem, {})),
        "calibration": render_calibration(calibrated),
    }
    reports = read_reports(compressed)
    pages[COMPRESS_PAGE] = {"compressed": render_compressed(reports)}
    standings = read_json(halving, "choose again") if halving.is_file() else {}
    compared = read_json(recommended, "compare again") if recommended.is_file() else {}
    of_recipe = recipe_tables(standings.get("winner"))
    pages[RECIPE_PAGE] = {
        "rounds": render_rounds(standings),
        "chosen": render_choice(standings),
        "losses": render_losses(standings),
        "goals": render_goals(results, standings.get("winner")),
        "recommend": render_recommended(compared),
        **{name: render_table(results, table) for name, table in of_recipe.items()},
    }
    paths = (*sorted(docs.glob("*.md")), docs.parent / "README.md")
    texts = {path: path.read_text(encoding="utf8") for path in paths if path.is_file()}
    for page, of_page in pages.items():
        texts[docs / page] = fill(texts[docs / page], of_page, docs / page)
    statistics: Statistics = {
        "corpus": counted,
        "calibration": {path.stem: read_result(path) for path in calibrations.glob("*.json")},
        "ner": of_ner,
        "compressed": reports,
        BENCHMARK: measured,
        TABLE_VERDICTS: table_verdicts(
            results,
            chain.from_iterable(of.values() for of in (TABLES, *PAGES.values(), of_recipe)),
        ),
    }
    texts = {p: fill_numbers(text, results, statistics, p) for p, text in texts.items()}
    kept = docs / VERDICTS
    before = read_json(kept, "collate again") if kept.is_file() else {}
    verdicts = find_verdicts(texts.values(), results)
    changes = [change for p, text in texts.items() for change in turned(text, before, verdicts, p)]
    figures = {
        **experiments.figures.report.make_figures(results),
        **experiments.figures.weighted.make_figures(results),
        **experiments.figures.dilated.make_figures(results),
        **experiments.figures.recipe.make_figures(results),
        **experiments.figures.calibration.make_figures(calibrated),
    }
    for name, data in figures.items():
        write_bytes(docs / "figures" / name, data)
    for path, text in texts.items():
        write_bytes(path, text.encode("utf8"))
    write_json(kept, verdicts)
    return results, changes


def collate_cli(
    folder: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder with the results of runs")
    ] = RESULTS,
    corpora: Annotated[Path, typer.Option(help="Folder with the statistics of corpora")] = CORPORA,
    report: Annotated[Path, typer.Option(help="The report's tables as JSON")] = REPORT,
    docs: Annotated[
        Path, typer.Option(help="Folder with the pages to update and with figures/")
    ] = DOCS,
    calibrations: Annotated[
        Path, typer.Option(help="Folder with the results of calibration")
    ] = CALIBRATIONS,
    benchmarks: Annotated[
        Path, typer.Option(help="Folder with the results of benchmarks")
    ] = BENCHMARKS,
    ner: Annotated[
        Path, typer.Option(help="Folder with what batch_ner was compared with")
    ] = NER_RESULTS,
    compressed: Annotated[
        Path, typer.Option(help="Folder with the reports of compressed pipelines")
    ] = COMPRESSED,
    halving: Annotated[
        Path, typer.Option(help="What halve wrote, of candidates for a recipe")
    ] = HALVING,
    recommended: Annotated[
        Path, typer.Option(help="What compare-recommended wrote, of recommend and the recipe")
    ] = RECOMMENDED,
) -> None:
    """Make all tables and figures of docs/, and the numbers in its prose and in README.md.

    Runs without results are shown as missing.

    DOCS: docs/results.md
    """
    try:
        results, changes = collate(
            folder,
            corpora,
            report,
            docs,
            calibrations,
            benchmarks,
            ner,
            compressed,
            halving,
            recommended,
        )
    except ImportError as error:
        advice = "Install the packages that it needs: python -m pip install -e '.[plots]'"
        msg.fail("Could not make the results", f"{error}. {advice}", exits=1)
    except (OSError, ValueError) as error:
        msg.fail("Could not make the results", str(error), exits=1)
    for change in changes:
        msg.warn("The words of a difference have to be read again", change)
    pages = ", ".join(ALL_PAGES)
    msg.good(f"Put the tables of {len(results.runs)} runs into {pages} in {docs}")
    msg.text("Figure 7 is not made: it compares fastText's vectors, for which there are no runs.")
