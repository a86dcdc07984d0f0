"""Numbers of runs in the prose of pages are those that collate puts in."""

import re

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
RATIO = re.compile(r"\d+\.\d+ \(\d+\.\d+-\d+\.\d+\)")
SCORE = re.compile(r"\b0\.\d{3}\b|±|[+-]0\.0\d|\d %")
# What looks like a score, and is a setting, a definition or a number of a cited paper.
ALLOWED = (
    "30 % of a batch's distinct tokens",
    "± is their standard deviation",
    "± is its 95 %",
    "95 % interval",
    "differences up to 0.009",  # 1.96 standard errors of an accuracy of 0.914, on 7,600 texts
)


def prose(text: str) -> list[tuple[int, str]]:
    """Return the lines of a page, numbered, without tables, code and numbers that collate makes."""
    for pattern in (r"<!-- begin: (\S+) -->.*?<!-- end: \1 -->", r"^```.*?^```"):
        text = re.sub(pattern, lambda found: "\n" * found[0].count("\n"), text, flags=re.S | re.M)
    text = re.sub(rf"{MARKED}|`[^`\n]*`", "", text)
    lines = enumerate(text.split("\n"), start=1)
    return [(number, line) for number, line in lines if not re.match(r"\s*\||    \S", line)]


@pytest.mark.parametrize("page", PAGES)
def test_numbers_of_prose_are_made_by_collate(page: str) -> None:
    found = []
    for number, line in prose((ROOT / "docs" / page).read_text("utf8")):
        for phrase in ALLOWED:
            line = line.replace(phrase, "")
        if SCORE.search(line):
            found.append(f"{page}, line {number}: {line.strip()}")
    assert not found, "\n".join(["Put comments of collate around these numbers:", *found])


@pytest.mark.parametrize("page", ["README.md", "docs/*.md"])
def test_ratios_of_benchmarks_are_put_in_by_collate(page: str) -> None:
    paths = sorted(ROOT.glob(page))
    assert paths
    texts = {path.name: re.sub(MARKED, "", path.read_text("utf8")) for path in paths}
    found = [f"{name}: {ratio}" for name, text in texts.items() for ratio in RATIO.findall(text)]
    assert not found, "\n".join(["Put comments of collate around these ratios:", *found])
