"""The pages of the docs: their code runs, links lead somewhere, no public name is left out."""

import re
import runpy
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
import spacy

import spacy_multihash
from spacy_multihash import layers
from spacy_multihash.common.registered import SET_ATTR
from tests.helpers.corpora import SENTENCES, make_docs, write_corpus
from tests.helpers.pages import blocks, is_excerpt, run, run_page, write_formats
from tests.helpers.paths import ROOT

PAGES = {
    "README": ROOT / "README.md",
    **{path.stem: path for path in sorted((ROOT / "docs").glob("*.md"))},
}
REFERENCE = runpy.run_path(str(ROOT / "docs" / "site" / "reference.py"))
FILES = [*PAGES.values(), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
# Pages that go on with what another page has written.
AFTER = dict.fromkeys(
    ("find-mistakes", "estimate", "features", "large-corpora", "probabilities"), "first-model"
)
# A pipeline in the place of a package, and what else takes too long or needs other machines.
STAND_IN = "english"
SIZES = {"train": 100, "dev": 30, "test": 30}
CHANGES = [
    (r"\ben_core_web_md\b", STAND_IN),
    (r" --workers 8| --dask tcp\S+|, workers=8| --gpu-id 0", ""),
    (r"apply /data/model /data/corpus /data/annotated", "apply first/model corpus again"),
    (r"--width 300", "--width 5"),
    (r"--report gain.html", "--report gain.html --seconds 0"),
    (r"    spacy.load\(.*\n", ""),
]


def page_text(name: str) -> str:
    """Read a page, with small things in the place of large ones."""
    text = PAGES[name].read_text("utf8").partition(REFERENCE["MARK"])[0]
    for pattern, other in CHANGES:
        text = re.sub(pattern, other, text)
    return text


def write_vectors(path: Path, words: list[str], width: int) -> spacy.Language:
    nlp, rng = spacy.blank("en"), numpy.random.default_rng(0)
    for word in words:
        nlp.vocab.set_vector(word, rng.normal(size=width).astype("float32"))
    nlp.to_disk(path)
    return nlp


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with what pages take for given: corpora, a config, trained pipelines."""
    folder = tmp_path_factory.mktemp("docs") / "ground"
    shutil.copytree(ROOT / "configs", folder / "configs")
    for part in ("corpus", "vectors", "training"):
        (folder / part).mkdir(parents=True)
    for name in ("train", "dev", "test"):
        write_corpus(folder / "corpus" / f"{name}.spacy", make_docs(5))
    for name in ("dev", "sample"):
        write_corpus(folder / f"{name}.spacy", make_docs(5))
    known = sorted({word for words, _ in SENTENCES for word in words})
    others = ["".join(Random(i).choices(string.ascii_lowercase, k=6)) for i in range(300)]
    (folder / "texts.txt").write_text("Anna met Bob in Rome .\nBob left .\n", "utf8")
    for name in ("nl", "es"):
        write_vectors(folder / "vectors" / name, known, 5)
    nlp = write_vectors(folder / STAND_IN, [*known, *others], 120)
    ner: Any = nlp.add_pipe("ner")
    ner.add_label("GPE")
    nlp.initialize()
    nlp.to_disk(folder / STAND_IN)
    for name in ("first-model", "your-data"):
        write_formats(PAGES[name].read_text("utf8"), folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        run([*"python -m spacy multihash init-config ner my.cfg --lang en".split()], monkeypatch)
        corpora = "--paths.train corpus/train.spacy --paths.dev corpus/dev.spacy"
        train = f"python -m spacy train my.cfg --output training {corpora}"
        run(train.split(), monkeypatch)
    return folder


@pytest.fixture(scope="module")
def folder_of(
    ground: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, pytest.MonkeyPatch], Path]:
    """Return a function that runs a page once, and returns the folder that it ran in."""
    folders: dict[str, Path] = {}

    def folder(name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
        if name not in folders:
            before = folder(AFTER[name], monkeypatch) if name in AFTER else ground
            path = tmp_path_factory.mktemp("page") / "x"
            shutil.copytree(before, path, symlinks=True)
            monkeypatch.chdir(path)
            for corpus in ("sample", "topics"):
                monkeypatch.setattr(f"experiments.corpora.{corpus}.SIZES", SIZES)
            for module in ("accelerate", "compress"):  # tests/pipelines/test_measure.py runs it
                monkeypatch.setattr(
                    f"spacy_multihash.pipelines.{module}.compare_loads", lambda *_, **__: ([], "")
                )
            text = page_text(name)
            if "init-config ner my.cfg" in text:
                Path("my.cfg").unlink()
            if "convert my.conll corpus" in text:
                shutil.rmtree("corpus")
            run_page(text, monkeypatch)
            folders[name] = path
        return folders[name]

    return folder


@pytest.mark.parametrize("name", PAGES)
def test_code_of_a_page_runs(
    name: str, folder_of: Callable[[str, pytest.MonkeyPatch], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder_of(name, monkeypatch).is_dir()


def test_wrong_output_on_a_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "\n```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    assert run_page(page.format(2), monkeypatch) == 1
    with pytest.raises(AssertionError):
        run_page(page.format(3), monkeypatch)


def anchors(text: str) -> set[str]:
    """Make the anchors of a page's headings as GitHub does."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings
    }


def test_links_lead_to_files_and_headings() -> None:
    linked = [*FILES, *(ROOT / "results").rglob("*.md")]
    texts = {path.resolve(): path.read_text("utf8") for path in linked}
    known = {path: anchors(text) for path, text in texts.items()}
    wrong = []
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)\s:]+)\)", text):
            name, _, heading = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (heading and heading not in known.get(target, {heading})):
                wrong.append(f"{page.name}: {link}")
    assert wrong == []


@pytest.mark.parametrize("name", REFERENCE["PAGES"])
def test_reference_is_what_the_code_says(name: str) -> None:
    text = (ROOT / "docs" / name).read_text("utf8")
    assert text == REFERENCE["page"](name), "run: python docs/site/reference.py"


def test_reference_has_each_public_name_and_command() -> None:
    names = {*vars(spacy_multihash)["__all__"], *layers.__all__}
    assert names <= {*re.findall(r"^### (\w+)$", PAGES["api"].read_text("utf8"), re.M)}
    text = PAGES["commands"].read_text("utf8")
    assert {"multihash-accelerate", "multihash-convert", "multihash-vectors-pca"} <= anchors(text)
    assert "| `--force`, `-f` |" in text and "| `--split TEXT` |" in text
    settings = PAGES["settings"].read_text("utf8")
    setup = (ROOT / "setup.cfg").read_text("utf8").partition("srsly_msgpack_decoders")[0]
    registered = re.findall(r"^[ \t]+(\S+) = spacy_multihash\.(?!cli)[\w.]+:\w+", setup, re.M)
    assert len(registered) > 10
    assert [name for name in registered if f"\n### {name}\n" not in settings] == []


def test_every_architecture_stands_in_a_listing_that_runs() -> None:
    group = (ROOT / "setup.cfg").read_text("utf8").partition("spacy_architectures =")[2]
    lines = re.findall(r"^    (\S+) = (\S+)$", group.partition("\nspacy_")[0], re.M)
    names = {name for name, where in lines if "common.removed" not in where} | {SET_ATTR}
    listings = "".join(
        block.text
        for page in PAGES.values()
        for block in blocks(page.read_text("utf8"))
        if is_excerpt(block)
    )
    assert len(names) > 5
    assert names <= {*re.findall(r'^@\w+ = "(.+)"$', listings, re.M)}


def test_readme_is_short() -> None:
    assert len(PAGES["README"].read_text("utf8").split()) < 450
