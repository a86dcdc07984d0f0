"""What README and docs say is run."""

import doctest
import re

import pytest
import spacy
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

from tests.helpers.paths import ROOT


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("convert-weights", 20),
        ("dilated", 12),
        ("how-it-works", 20),
        ("weighted", 20),
        ("weighted-results", 6),
    ],
)
def test_worked_example_is_true(name: str, least: int) -> None:
    path = ROOT / "docs" / f"{name}.md"
    results = doctest.testfile(str(path), module_relative=False)
    assert results.attempted > least
    assert results.failed == 0


def test_config_excerpt_of_the_readme_resolves() -> None:
    (excerpt,) = re.findall(r"```ini\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.S)
    config = Config().from_str(
        "[components]\n[components.tok2vec]\n[components.tok2vec.model]\n" + excerpt
    )
    embed = config["components"]["tok2vec"]["model"]["embed"]
    assert spacy.registry.resolve({"embed": embed})["embed"].name == "multi_hash_embed"


def test_config_of_a_listening_tagger_ner_trains_without_a_warning() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf8")
    (excerpt,) = re.findall(r"```ini\n(.*?)```", text, re.S)
    nlp = load_model_from_config(Config().from_str(excerpt), auto_fill=True)
    examples = [Example.from_dict(nlp.make_doc("Anna left"), {"entities": [(0, 4, "PER")]})]
    sgd = nlp.initialize(lambda: examples)
    losses: dict[str, float] = {}
    nlp.update(examples, sgd=sgd, losses=losses)
    assert losses["tagger_ner"] > 0
    assert nlp.get_pipe("tok2vec").listening_components == ["tagger_ner"]  # type: ignore[attr-defined]


def test_page_of_dilated_convolutions_is_short() -> None:
    assert len((ROOT / "docs" / "dilated.md").read_text("utf8").splitlines()) <= 150


def test_every_registered_name_is_documented() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf8")
    setup = (ROOT / "setup.cfg").read_text("utf8")
    names = re.findall(r"^    (\S+) = spacy_multihash\.(?!cli)[\w.]+:", setup, re.M)
    assert len(names) == 15
    assert [name for name in names if f"| `{name}`" not in text and f", `{name}`" not in text] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf8").splitlines()) <= 100


def anchor(heading: str) -> str:
    """Make the anchor of a heading as GitHub does."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_links_lead_to_files_and_headings() -> None:
    pages = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = {page.resolve(): page.read_text("utf8") for page in pages}
    anchors = {p: {anchor(h) for h in re.findall(r"^#+ (.*)$", t, re.M)} for p, t in texts.items()}
    wrong = []
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)\s:]+)\)", text):
            name, _, heading = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (heading and heading not in anchors[target]):
                wrong.append(f"{page.name}: {link}")
    assert wrong == []
