"""The pages that tables are put into."""

import re
from pathlib import Path
from typing import Any, Optional

import pytest

from experiments.arms.tasks import HASH_EMBED
from experiments.tables.recipe import recipe_tables
from experiments.tables.results_page import TABLES
from tests.helpers.paths import ROOT
from tests.helpers.results import REPORT, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments import collate

CORPORA = ROOT / "results" / "corpora"
CALIBRATIONS = ROOT / "results" / "calibration"
BENCHMARKS = ROOT / "benchmarks" / "results"
NER = ROOT / "results" / "ner"
COMPRESSED = ROOT / "results" / "compressed"
HALVING = ROOT / "results" / "halving.json"
RECOMMENDED = ROOT / "results" / "recommended.json"


def make_page(path: Path, names: Optional[list[str]] = None) -> Path:
    names = _names() if names is None else names
    blocks = [f"<!-- begin: {name} -->\nold\n<!-- end: {name} -->" for name in names]
    path.write_text("# Results\n\nBefore.\n\n" + "\n\nBetween.\n\n".join(blocks) + "\n\nAfter.\n")
    return path


def make_pages(folder: Path) -> Path:
    """Write all pages, and return that of the report's tables."""
    for name, tables in collate.PAGES.items():
        make_page(folder / name, [*tables, *(["gains"] if name == "weighted-results.md" else [])])
    make_page(folder / collate.NER_PAGE, ["equality", "candidates", "calibration"])
    make_page(folder / collate.COMPRESS_PAGE, ["compressed"])
    blocks = ["rounds", "losses", "chosen", "goals", "recommend", *recipe_tables(None)]
    make_page(folder / collate.RECIPE_PAGE, blocks)
    return make_page(folder / collate.PAGE)


# The modules with figures, which have tests of their own.
FIGURES = ("report", "weighted", "dilated", "recipe", "calibration")


def _names() -> list[str]:
    return ["summary", "agreement", *TABLES, "table-4", "table-5", "table-6"]


def test_page_is_rebuilt_between_its_markers_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for module in FIGURES:
        figures: Any = lambda _, name=module: {f"{name}.png": name.encode()}  # noqa: E731
        monkeypatch.setattr(f"experiments.figures.{module}.make_figures", figures)
    write_results(tmp_path / "runs", "conll-es", HASH_EMBED, [0.76, 0.78])
    page = make_pages(tmp_path)
    others = [tmp_path / name for name in collate.PAGES]
    written = []
    for _ in range(2):
        collate.collate_cli(tmp_path / "runs", CORPORA, REPORT, tmp_path, CALIBRATIONS)
        figures = sorted((tmp_path / "figures").iterdir())
        written.append([path.read_bytes() for path in (page, *others, *figures)])
    assert written[0] == written[1]
    text = page.read_text("utf8")
    outside = re.sub(r"(?s)<!-- begin: (\S+) -->.*?<!-- end: \1 -->", "", text).split()
    assert outside == ["#", "Results", "Before.", *["Between."] * (len(TABLES) + 4), "After."]
    assert "old" not in text.split() and "**Table 9. " in text
    weighted, dilated, batch, vectors = (path.read_text("utf8") for path in others)
    assert "**Text classification, part of AG News.** 0 of " in weighted
    assert "(the paper's Table 1).** 2 of " in dilated
    assert "**batch_ner beside ner.** 2 of 45 runs." in batch
    assert "**Transforms of the table, Spanish.** 0 of 27 runs." in vectors
    ner = (tmp_path / collate.NER_PAGE).read_text("utf8")
    for start in ("wnut17 | en_core_web_md | test", "all", "0.001"):
        assert f"\n| {start} | " in ner
    assert "| entities kept | " in (tmp_path / collate.COMPRESS_PAGE).read_text("utf8")
    assert "Put the tables of 2 runs into" in capsys.readouterr().out


def test_pages_of_docs_are_those_of_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # figures differ between versions of matplotlib
    for module in FIGURES:
        monkeypatch.setattr(f"experiments.figures.{module}.make_figures", lambda _: {})
    # in a folder without corpora, which nothing then depends on
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    pages = ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    for name in pages:
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    runs = ROOT / "results" / "runs"
    of_runs = (CALIBRATIONS, BENCHMARKS, NER, COMPRESSED, HALVING, RECOMMENDED)
    collate.collate(runs, CORPORA, REPORT, docs, *of_runs)
    for name in [*pages, f"docs/{collate.VERDICTS}"]:
        made, kept = ((folder / name).read_text("utf8") for folder in (tmp_path, ROOT))
        lines = zip(made.splitlines(), kept.splitlines(), strict=False)
        differ = next((pair for pair in lines if pair[0] != pair[1]), None)
        assert made == kept, f"run python -m experiments collate: {name} is old: {differ}"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("<!-- end: table-9 -->", "", r"must have the line '<!-- begin: table-9 -->' once"),
        ("<!-- begin: table-9 -->", "", r"must have the line '<!-- begin: table-9 -->' once"),
        (
            "<!-- begin: table-9 -->",
            "<!-- begin: table-9 -->" * 2,
            "'<!-- begin: table-9 -->' once",
        ),
        ("<!-- end: table-9 -->", "<!-- end: table-9 -->" * 2, "'<!-- end: table-9 -->' once"),
        ("Before.", "<!-- begin: table-99 -->", "markers of unknown tables: table-99. Remove"),
    ],
)
def test_page_with_wrong_markers_is_refused_and_left(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    page = make_pages(tmp_path)
    text = page.read_text("utf8").replace(before, after)
    page.write_text(text)
    (tmp_path / "runs").mkdir()
    with pytest.raises(ValueError, match=message):
        collate.collate(tmp_path / "runs", CORPORA, REPORT, tmp_path)
    assert page.read_text("utf8") == text
    for other in collate.ALL_PAGES[1:]:
        assert "old" in (tmp_path / other).read_text("utf8").split()
    assert not (tmp_path / "figures").exists()


def test_numbers_of_prose_are_put_into_all_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in FIGURES:
        monkeypatch.setattr(f"experiments.figures.{module}.make_figures", lambda _: {})
    write_results(tmp_path / "runs", "conll-es", HASH_EMBED, [0.76, 0.78])
    comment = "a <!-- = f conll-es/multi_hash_embed/test -->{}<!-- / -->\n"
    results, guide = make_pages(tmp_path), tmp_path / "guide.md"
    results.write_text(comment.format("") + results.read_text("utf8"))
    guide.write_text(comment.format("0.1"))
    collate.collate(tmp_path / "runs", CORPORA, REPORT, tmp_path, CALIBRATIONS)
    assert guide.read_text("utf8") == comment.format("0.770")
    assert results.read_text("utf8").startswith(comment.format("0.770"))
    name = "f conll-es/multi_hash_embed/test - conll-es/multi_embed/test"
    guide.write_text(f"a <!-- = {name} --><!-- / -->")
    for scores, turns in (
        ([0.60, 0.61], []),
        ([0.90, 0.91], [f"{guide}, line 1: {name} is lower, was higher"]),
    ):
        write_results(tmp_path / "runs", "conll-es", "multi_embed", scores)
        found = collate.collate(tmp_path / "runs", CORPORA, REPORT, tmp_path, CALIBRATIONS)
        assert found[1] == turns
    guide.write_text("a\n" + comment.format("0.1").replace("conll-es", "anem"))
    with pytest.raises(ValueError, match=r"guide\.md, line 2: no run has the F1 of anem/multi_"):
        collate.collate(tmp_path / "runs", CORPORA, REPORT, tmp_path, CALIBRATIONS)


def test_missing_page_is_an_error(tmp_path: Path) -> None:
    for name in collate.ALL_PAGES:
        make_pages(tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"There is no page .*{name}\. Create it"):
            collate.collate(tmp_path, CORPORA, REPORT, tmp_path)


def test_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        collate.collate_cli(tmp_path, CORPORA, REPORT, tmp_path)
    assert "There is no page" in capsys.readouterr().out
