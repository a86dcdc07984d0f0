"""The site of the documentation: what is in it, and that it needs nothing from elsewhere."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import srsly

import spacy_multihash
from tests.helpers.paths import ROOT

CONFIG = srsly.yaml_loads((ROOT / "mkdocs.yml").read_text("utf8"))
# Pages that are files elsewhere in the repository, as docs/site/hooks.py has them.
ELSEWHERE = {
    "changelog.md": "../CHANGELOG.md",
    "contributing.md": "../CONTRIBUTING.md",
}
NEEDED = ("mkdocs", "material", "mkdocstrings", "griffe")
# What a page loads when it is opened, by tag and attribute.
LOADED = {("img", "src"), ("link", "href"), ("script", "src"), ("iframe", "src"), ("source", "src")}
PARAGRAPH = re.compile(r"<p>.*?</p>", re.S)


def leaves(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation, in order."""
    for entry in nav if isinstance(nav, list) else [nav]:
        for value in entry.values():
            yield from [value] if isinstance(value, str) else leaves(value)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} | {*ELSEWHERE}
    assert sorted(leaves(CONFIG["nav"])) == sorted(pages)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """What is in a page of the site."""

    def __init__(self, path: Path) -> None:
        """Read the page."""
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        """Note ids, links, and what a browser loads."""
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        if tag == "a":
            self.links.append(values.get("href", ""))
        if tag != "link" or values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded += [v for name, v in values.items() if (tag, name) in LOADED]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_pages_load_nothing_from_other_hosts(site: Path, pages: dict[Path, Page]) -> None:
    loaded = [url for page in pages.values() for url in page.loaded]
    assert len(loaded) > 100
    assert [url for url in loaded if urlsplit(url).netloc] == []
    styles = "".join(path.read_text("utf8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*", styles) == []


def test_links_of_the_site_lead_to_files_and_anchors(site: Path, pages: dict[Path, Page]) -> None:
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].ids if target in pages else {parts.fragment}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                wrong.append(f"{path.name}: {link}")
    assert wrong == []


def test_site_without_an_address_has_nothing_that_needs_one(site: Path) -> None:
    if "site_url" in CONFIG:
        pytest.skip("the site has an address")
    assert [path.name for path in site.iterdir() if re.match("404|sitemap", path.name)] == []


def test_reference_has_every_public_name_and_its_arguments(pages: dict[Path, Page]) -> None:
    (api,) = (page for path, page in pages.items() if path.name == "api.html")
    names: list[str] = vars(spacy_multihash)["__all__"]
    components = {"BatchEntityRecognizer", "EntityTagger"}  # which have pages of their own
    assert [
        name for name in {*names} - components if f"spacy_multihash.{name}" not in api.ids
    ] == []


def written(path: Path) -> str:
    """Return the text of an article of the site, without code and tags."""
    article = path.read_text("utf8").partition("<article")[2].partition("</article")[0]
    text = re.sub(r"<(pre|code)\b.*?</\1>", "", article, flags=re.S)
    return re.sub(r"<[^>]+>", "", text)


def test_tables_are_tables_also_where_they_are_folded(site: Path) -> None:
    folded = [path for path in site.glob("*.html") if "<details" in path.read_text("utf8")]
    assert folded
    texts = {path.name: written(path) for path in site.glob("*.html")}
    found = {name: re.findall(r"^\s*\|.*\|$", text, re.M) for name, text in texts.items()}
    assert {name: rows for name, rows in found.items() if rows} == {}


def test_formulas_need_no_renderer(site: Path) -> None:
    texts = {path.name: written(path) for path in site.glob("*.html")}
    found = {name: re.findall(r"\$[^$\n]+\$|\\[a-z]+", text) for name, text in texts.items()}
    assert {name: formulas for name, formulas in found.items() if formulas} == {}


def plain(path: Path, start: str, end: str) -> str:
    """Return the text between two parts of a page of the site, without tags."""
    part = path.read_text("utf8").partition(start)[2].partition(end)[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", part))


def test_readme_says_on_the_first_page_what_there_is(site: Path) -> None:
    assert "Recognizers and classifiers: batch_ner" in plain(site / "index.html", "<article", "<h2")


def test_readme_without_its_end_stops_the_site() -> None:
    pytest.importorskip("mkdocs", reason="mkdocs not installed: pip install -e '.[docs]'")
    pytest.importorskip("pymdownx", reason="pymdownx not installed: pip install -e '.[docs]'")
    first_part = runpy.run_path(str(ROOT / "docs" / "site" / "hooks.py"))["first_part"]
    assert first_part("# Title\n\nText.\n\nInstall it from a clone.\n") == "Text.\n"
    with pytest.raises(ValueError, match="no line that begins with 'Install it from'.*Put it back"):
        first_part("# Title\n\nText.\n\nTo install it, ...\n")


def test_code_in_a_list_stays_code(site: Path) -> None:
    text = plain(site / "how-it-works.html", "What spaCy does differently", "</article")
    assert "for s in (dead, sound)] [2500, 5000] Seed 8 goes" in text
    inside = (site / "how-it-works.html").read_text("utf8").partition("dead, sound = ")[0]
    assert inside.rpartition("<code>")[2].count("</code>") == 0


def test_items_of_lists_are_items_also_behind_several_paragraphs(site: Path) -> None:
    pages = ((path.name, path.read_text("utf8")) for path in site.rglob("*.html"))
    paragraphs = [(name, text) for name, page in pages for text in re.findall(PARAGRAPH, page)]
    assert len(paragraphs) > 1000
    assert [(name, text) for name, text in paragraphs if "\n- " in text] == []


def test_docstrings_have_lists_of_arguments(site: Path) -> None:
    api = site / "api.html"
    cut = plain(api, 'id="spacy_multihash.cut_tables"', "<h3")
    assert "max_rows (int or None" in cut and "Raises ValueError if they were cut more" in cut
    several = plain(api, 'id="spacy_multihash.inspect_symbols"', "<h4")
    assert "word (str) – As for inspect_word. vocab (Vocab) – As" in several
    assert "RETURNS" not in api.read_text("utf8")
