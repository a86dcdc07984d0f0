"""Make the tables and figures of the results."""

import re
from pathlib import Path

from experiments import annotate, estimate
from experiments.answers import TABLES as TABLES_OF_DOCS
from experiments.answers import forest, render_answers
from experiments.choice import render_choice
from experiments.figures import draw_forest, draw_overview, make_overview
from experiments.new_texts import render_new_texts
from experiments.statistics import Runs
from experiments.tables import LEGEND, TABLES, all_tables
from spacy_multihash.common.files import write_bytes

MADE = "<!-- Made by: python -m experiments collate -->"


def collate(results: Path, docs: Path) -> list[Path]:
    """Write all tables and figures, and return the files that changed.

    results (Path): The folder of results, in which tables/ is written.
    docs (Path): The folder of pages, in which figures/ is written, and results.md gets tables
        between its marks.
    """
    runs = Runs.read(results)
    files: dict[Path, bytes] = {}
    page = docs / "results.md"
    text = page.read_text("utf8") if page.is_file() else ""
    index = []
    answers = ("answers", "Answers", render_answers(runs))
    choice = ("choice", "Settings on corpora that didn't choose them", render_choice(runs))
    new_texts = ("new-texts", "The score of fit, and new texts", render_new_texts(results))
    estimates = ("estimate", "Scores estimated without gold", estimate.render_estimate(results))
    rounds = ("annotate", "Texts to annotate next", annotate.render_annotate(results))
    made = (answers, choice, new_texts, estimates, rounds)
    for name, title, body in (*made, *all_tables(results, runs)):
        legend = f"{LEGEND}\n\n" if name in TABLES else ""
        beside = body.replace(f"]({TABLES_OF_DOCS}/", "](")  # links of pages in docs
        content = f"{MADE}\n\n# {title}\n\n{legend}{beside}\n"
        files[results / "tables" / f"{name}.md"] = content.encode()
        index.append(f"- `{name}.md`: {title}")
        text = fill(text, name, body)
    listed = "\n".join(index)
    content = f"{MADE}\n\n# Tables of results\n\n{listed}\n"
    files[results / "tables" / "README.md"] = content.encode()
    if text:
        files[page] = text.encode()
    overview = make_overview(runs)
    if lines := list(forest(runs)):
        files[docs / "figures" / "answers.svg"] = draw_forest(lines)
    if overview is not None:
        files[docs / "figures" / "overview.svg"] = draw_overview(overview)
        files[docs / "figures" / "overview-dark.svg"] = draw_overview(overview, dark=True)
    if (results / estimate.RESULTS).is_file():
        files[docs / "figures" / "estimate.svg"] = estimate.draw_estimate(results)
    if (results / annotate.RESULTS).is_file():
        files[docs / "figures" / "annotate.svg"] = annotate.draw_annotate(results)
    changed = [p for p, data in files.items() if not p.is_file() or p.read_bytes() != data]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, files[path])
    for path in (results / "tables").glob("*.md"):
        if path not in files:
            path.unlink()
            changed.append(path)
    return changed


def fill(text: str, name: str, body: str) -> str:
    """Put tables between their marks in a page.

    `begin: NAME 2` marks a body's second table, `begin: NAME 2 of 1 4` the first and the fourth of
    its columns. `begin: NAME 2 turned last 3` has its last three rows as columns, and no row
    without numbers.
    """
    tables = [part.strip().splitlines() for part in body.split("\n\n") if part.startswith("|")]

    def replace(marks: re.Match) -> str:
        head, rule, *rows = tables[int(marks["number"]) - 1]
        if marks["columns"]:
            wanted = [int(number) - 1 for number in marks["columns"].split()]
            cells = [row[2:-2].split(" | ") for row in (head, rule, *rows)]
            head, rule, *rows = [f"| {' | '.join(row[i] for i in wanted)} |" for row in cells]
        if marks["turned"]:
            rows = rows[-int(marks["last"] or 0) :]
            columns = [row[2:-2].replace("**", "").split(" | ") for row in (head, *rows)]
            first, *others = zip(*columns, strict=True)
            lines = [[*first], ["---", *["--:"] * len(rows)]]
            lines += [[*line] for line in others if any(cell.strip() for cell in line[1:])]
            head, rule, *rows = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([marks["begin"], "", head, rule, *rows, "", marks["end"]])

    columns, turned = (
        r"(?: of(?P<columns>( \d+)+))?",
        r"(?P<turned> turned(?: last (?P<last>\d+))?)?",
    )
    marked = rf"{name} (?P<number>\d+){columns}{turned}"
    begin, end = f"(?P<begin><!-- begin: {marked} -->)", f"(?P<end><!-- end: {name} \\d+ -->)"
    return re.sub(f"{begin}.*?{end}", replace, text, flags=re.S)
