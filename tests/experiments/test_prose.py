"""Numbers of runs in the prose and in the rows of pages are those that collate puts in."""

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
NAMED = r"\b(?:F1|[Pp]recision|[Rr]ecall|[Aa]ccuracy)\b"
TWO_DECIMALS = r"\b0\.\d{2}\b"
# A number with two decimals may be a setting, and is a score where the line names one.
SCORE = re.compile(
    rf"\b0\.\d{{3}}\b|±|[+–-]0\.0\d|\d %|{NAMED}.*{TWO_DECIMALS}|{TWO_DECIMALS}.*{NAMED}"
)
# Guides have settings, shares of symbols and examples as well, so only what is said of F1 counts.
SCORE_OF_A_GUIDE = re.compile(
    rf"[+–-]0\.[0-3]\d|{NAMED}[^.|]{{0,40}}\b0\.\d|\b0\.\d+ of (?:its )?{NAMED}"
)
# In a row by hand there is no room for words, so that two decimals are enough.
SCORE_OF_A_ROW = re.compile(rf"{SCORE.pattern}|{TWO_DECIMALS}|\b0\.\d{{4}}\b")
# The table with the numbers of cited papers, which have a test of their own.
PAPERS = "| here | paper |"
# What looks like a score, and is a setting, a definition or a number of a cited paper.
ALLOWED = (
    "30 % of a batch's distinct tokens",
    "± is their standard deviation",
    "± is its 95 %",
    "95 % interval",
    "differences up to 0.009",  # 1.96 standard errors of an accuracy of 0.914, on 7,600 texts
    "can be more than 0.002 of its F1",  # an order of magnitude
    "at an F1 at most 0.01 below",  # a target
    "higher by 0.01 or more after the last round",  # a setting
    "0.8 percentage points above that of the base",  # a setting
    "dropout penalty of 0.001",
    "the learning rate, which is 0.001",
    "in at least 2 % of DEV's tokens",
)


def by_hand(text: str) -> list[str]:
    """Return the lines of a page, blank where they are code or what collate makes."""
    blocks = (
        r"<!-- begin: (\S+) -->.*?<!-- end: \1 -->",
        r"^```.*?^```",
        r"(?<=\n\n)( {4}[^\n]*\n|\n)+",
    )
    for pattern in blocks:
        text = re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.S | re.M)
    return re.sub(rf"{MARKED}|`[^`\n]*`", "", text).split("\n")


def is_row(line: str) -> bool:
    return re.match(r"\s*\|", line) is not None


def prose(text: str) -> list[tuple[int, str]]:
    """Return the paragraphs of a page by their first lines' numbers, each as one line.

    Tables, code and numbers that collate makes are left out.
    """
    found: list[tuple[int, str]] = []
    is_open = False
    for number, line in enumerate(by_hand(text), start=1):
        has_words = bool(line.strip()) and not is_row(line)
        if has_words and is_open:
            first, words = found[-1]
            found[-1] = (first, f"{words} {line.strip()}")
        elif has_words:
            found.append((number, line.strip()))
        is_open = has_words
    return found


def rows(text: str, *, of_scores: bool = False) -> list[tuple[int, str]]:
    """Return the rows of the tables of a page that are written by hand, numbered.

    text (str): The page.
    of_scores (bool): Whether to return only rows that name a score, or whose header does.
    """
    found, header = [], ""
    for number, line in enumerate(by_hand(text), start=1):
        header = (header or line) if is_row(line) else ""
        if header and not header.startswith(PAPERS):
            if not of_scores or re.search(NAMED, f"{header} {line}"):
                found.append((number, line))
    return found


def scores(page: Path, lines: list[tuple[int, str]], score: re.Pattern[str]) -> list[str]:
    """Return those of the lines of a page that have scores, without what is allowed."""
    found = []
    for number, line in lines:
        for phrase in ALLOWED:
            line = line.replace(phrase, "")
        if score.search(line):
            found.append(f"{page.name}, line {number}: {line.strip()}")
    return found


def typed(page: Path, score: re.Pattern[str]) -> list[str]:
    """Return the lines of prose of a page with scores that collate did not make."""
    return scores(page, prose(page.read_text("utf8")), score)


def typed_rows(page: Path, *, of_scores: bool) -> list[str]:
    """Return the rows of a page with scores that collate did not make."""
    return scores(page, rows(page.read_text("utf8"), of_scores=of_scores), SCORE_OF_A_ROW)


@pytest.mark.parametrize("page", PAGES)
def test_numbers_of_prose_are_made_by_collate(page: str) -> None:
    path = ROOT / "docs" / page
    found = [*typed(path, SCORE), *typed(path, SCORE_OF_A_GUIDE)]
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


def test_scores_in_guides_are_made_by_collate() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    guides = [page for page in pages if page.name not in PAGES]
    assert {"your-data.md", "commands.md"} < {page.name for page in guides}
    found = [line for page in guides for line in typed(page, SCORE_OF_A_GUIDE)]
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


@pytest.mark.parametrize(
    "line",
    [
        *("It cost 0.11 of F1.", "F1 is 0.8.", "+0.02", "lower by 0.01–0.03", "raised F1 by 0.1"),
        *(
            "F1 was 0.774.",
            "F1 on dev is 0.774.",
            "F1 falls from 0.77.",
            "+0.207",
            "Recall is 0.7.",
        ),
    ],
)
def test_scores_in_guides_are_found(line: str, tmp_path: Path) -> None:
    page = tmp_path / "guide.md"
    page.write_text(f"Words.\n\n    code +0.01\n\n{line}\n", encoding="utf8")
    assert typed(page, SCORE_OF_A_GUIDE) == [f"guide.md, line 5: {line}"]


@pytest.mark.parametrize("page", PAGES)
def test_numbers_of_rows_are_made_by_collate(page: str) -> None:
    found = typed_rows(ROOT / "docs" / page, of_scores=False)
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


def test_scores_in_rows_of_guides_are_made_by_collate() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    guides = [page for page in pages if page.name not in PAGES]
    found = [line for page in guides for line in typed_rows(page, of_scores=True)]
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


@pytest.mark.parametrize(
    "row",
    ["| ours | 0.77 |", "| ours | 0.774 |", "| ours | +0.003 ± 0.007 |", "| ours | 0.6864 |"],
)
@pytest.mark.parametrize("header", ["| model | F1 on test |", "| model | recall |"])
def test_scores_in_rows_are_found(row: str, header: str, tmp_path: Path) -> None:
    page = tmp_path / "guide.md"
    papers = f"{PAPERS} found |\n|---|---|---|\n| ours | Kamath et al. 2019 | accuracy 0.53 |\n"
    made = "| made | <!-- = f wnut17/ner/test -->0.162<!-- / --> |"
    page.write_text(f"{papers}\n{header}\n|---|--:|\n{made}\n{row}\n", encoding="utf8")
    for of_scores in (False, True):
        assert typed_rows(page, of_scores=of_scores) == [f"guide.md, line 8: {row}"]


def test_rows_without_scores_may_have_settings(tmp_path: Path) -> None:
    page = tmp_path / "guide.md"
    page.write_text("| option | default |\n|---|---|\n| rate | 0.001 |\n", encoding="utf8")
    assert not typed_rows(page, of_scores=True)
    assert typed_rows(page, of_scores=False)


@pytest.mark.parametrize(
    "line", ["F1 is now 0.77.", "Of 0.62 in recall", "F1 was 0.774.", "F1 fell\nthere to 0.75."]
)
def test_scores_in_prose_are_found(line: str, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text(f"The rate is 0.05.\n\n{line}\n", encoding="utf8")
    assert typed(page, SCORE) == [f"results.md, line 3: {' '.join(line.split())}"]


@pytest.mark.parametrize("page", ["README.md", "docs/*.md"])
def test_ratios_of_benchmarks_are_put_in_by_collate(page: str) -> None:
    paths = sorted(ROOT.glob(page))
    assert paths
    texts = {path.name: re.sub(MARKED, "", path.read_text("utf8")) for path in paths}
    found = [f"{name}: {ratio}" for name, text in texts.items() for ratio in RATIO.findall(text)]
    assert not found, "\n".join(["Put comments of collate around these ratios:", *found])
