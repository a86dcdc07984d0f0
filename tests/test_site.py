"""The site of the documentation: it builds strictly, and needs nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.helpers.paths import ROOT

NEEDED = ("mkdocs", "material", "pymdownx")
# What a page loads when it is opened, by tag and attribute.
LOADED = {("img", "src"), ("link", "href"), ("script", "src"), ("iframe", "src"), ("source", "src")}


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
    """What a browser loads with a page of the site."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.feed(path.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag != "link" or values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded += [v for name, v in values.items() if (tag, name) in LOADED]


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = [url for path in site.rglob("*.html") for url in Page(path).loaded]
    assert len(loaded) > 100
    assert [url for url in loaded if urlsplit(url).netloc] == []
    styles = "".join(path.read_text("utf8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*", styles) == []


def test_search_works_in_pages_that_are_opened_from_a_disk(site: Path) -> None:
    assert (site / "search" / "search_index.js").read_text("utf8").startswith("var __index")
    scripts = [src for src in Page(site / "index.html").loaded if "iframe-worker" in src]
    assert scripts and all((site / script).is_file() for script in scripts)


def test_lists_and_tables_are_read_as_such(site: Path) -> None:
    for path in site.glob("*.html"):
        article = path.read_text("utf8").partition("<article")[2].partition("</article")[0]
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", article, flags=re.S)
        assert re.findall(r"^\s*\|.*\|$|<p>[^<]*\n- ", text, re.M) == [], path.name
