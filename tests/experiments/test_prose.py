"""Numbers of runs in the prose of pages are those that collate puts in."""

import re
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

PAGES = (
    "results.md",
    "dilated-results.md",
    "weighted-results.md",
    "ner-results.md",
    "vectors-results.md",
    "recipe-results.md",
)
MARKED = r"<!-- = [^\n]*?<!-- / -->"
RATIO = re.compile(r"\d+\.\d+ \(\d+\.\d+[-–]\d+\.\d+\)")
SCORE = re.compile(r"\b0\.\d{3}\b|±|[+–-]0\.0\d|\d %")
# Guides have settings, shares of symbols and examples as well, so only what is said of F1 counts.
SCORE_OF_A_GUIDE = re.compile(r"[+–-]0\.0\d|\bF1 (?:by|of|from|is) 0\.\d|\b0\.\d+ of (?:its )?F1")
# What looks like a score, and is a setting, a definition or a number of a cited paper.
ALLOWED = (
    "30 % of a batch's distinct tokens",
    "± is their standard deviation",
    "± is its 95 %",
    "95 % interval",
    "differences up to 0.009",  # 1.96 standard errors of an accuracy of 0.914, on 7,600 texts
    "In the report, static vectors raised F1 by 0.05 or more",  # tables 7 and 9
    "can be more than 0.002 of its F1",  # an order of magnitude
)


def prose(text: str) -> list[tuple[int, str]]:
    """Return the lines of a page, numbered, without tables, code and numbers that collate makes."""
    blocks = (
        r"<!-- begin: (\S+) -->.*?<!-- end: \1 -->",
        r"^```.*?^```",
        r"(?<=\n\n)( {4}[^\n]*\n|\n)+",
    )
    for pattern in blocks:
        text = re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.S | re.M)
    text = re.sub(rf"{MARKED}|`[^`\n]*`", "", text)
    lines = enumerate(text.split("\n"), start=1)
    return [(number, line) for number, line in lines if not re.match(r"\s*\|", line)]


def typed(page: Path, score: re.Pattern[str]) -> list[str]:
    """Return the lines of a page with scores that collate did not make."""
    found = []
    for number, line in prose(page.read_text("utf8")):
        for phrase in ALLOWED:
            line = line.replace(phrase, "")
        if score.search(line):
            found.append(f"{page.name}, line {number}: {line.strip()}")
    return found


@pytest.mark.parametrize("page", PAGES)
def test_numbers_of_prose_are_made_by_collate(page: str) -> None:
    found = typed(ROOT / "docs" / page, SCORE)
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


def test_scores_in_guides_are_made_by_collate() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    guides = [page for page in pages if page.name not in PAGES]
    assert {"your-data.md", "commands.md"} < {page.name for page in guides}
    found = [line for page in guides for line in typed(page, SCORE_OF_A_GUIDE)]
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


@pytest.mark.parametrize(
    "line", ["It cost 0.11 of F1.", "F1 is 0.8.", "+0.02", "lower by 0.01–0.03", "raised F1 by 0.1"]
)
def test_scores_in_guides_are_found(line: str, tmp_path: Path) -> None:
    page = tmp_path / "guide.md"
    page.write_text(f"Words.\n\n    code +0.01\n\n{line}\n", encoding="utf8")
    assert typed(page, SCORE_OF_A_GUIDE) == [f"guide.md, line 5: {line}"]


@pytest.mark.parametrize("page", ["README.md", "docs/*.md"])
def test_ratios_of_benchmarks_are_put_in_by_collate(page: str) -> None:
    paths = sorted(ROOT.glob(page))
    assert paths
    texts = {path.name: re.sub(MARKED, "", path.read_text("utf8")) for path in paths}
    found = [f"{name}: {ratio}" for name, text in texts.items() for ratio in RATIO.findall(text)]
    assert not found, "\n".join(["Put comments of collate around these ratios:", *found])
