"""The pages of the tutorial are run: their commands, their Python and their configs, in order."""

from pathlib import Path

import pytest
import spacy

from tests.helpers.pages import run_page, write_formats
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.usefixtures("all_exceptions")

# How many blocks each page has at least, and the pages whose folder it goes on in.
TUTORIAL: dict[str, tuple[int, tuple[str, ...]]] = {
    "first-model": (6, ()),
    "your-data": (5, ()),
    "features": (1, ()),
    "text-classification": (3, ()),
    "inspect-and-explain": (7, ("first-model", "text-classification")),
    "gpu": (1, ()),
}
# Behind this heading, a page works on what it downloads.
DOWNLOADS = "\n## Features, rows, hashes and vectors\n"


class Run:
    """Pages that were run, each once, with those that it goes on from in one folder."""

    def __init__(self, folder: Path) -> None:
        """Begin with no page run."""
        self.folder = folder
        self.numbers: dict[str, int] = {}

    def page(self, name: str, monkeypatch: pytest.MonkeyPatch) -> int:
        """Run a page unless it was, and return how many blocks of it were run."""
        for before in TUTORIAL[name][1]:
            self.page(before, monkeypatch)
        if name not in self.numbers:
            text = (ROOT / "docs" / f"{name}.md").read_text("utf8").partition(DOWNLOADS)[0]
            folder = self.folder / ("your-data" if name == "your-data" else "tutorial")
            folder.mkdir(exist_ok=True)
            monkeypatch.chdir(folder)
            write_formats(text, folder)
            self.numbers[name] = run_page(text, monkeypatch)
        return self.numbers[name]


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("tutorial"))


def test_pages_run_with_the_tokenizer_that_users_have() -> None:
    assert [token.text for token in spacy.blank("en")("They'd've, gonna")] == [
        *("They", "'d", "'ve", ",", "gon", "na")
    ]


@pytest.mark.parametrize("name", TUTORIAL)
def test_page_of_the_tutorial_runs(
    name: str, tutorial: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tutorial.page(name, monkeypatch) >= TUTORIAL[name][0]
