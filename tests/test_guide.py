"""The pages behind the tutorial are run too, on small stand-ins for what they download."""

import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import spacy

from spacy_multihash.cli import _compress_report
from spacy_multihash.cli.init_config import init_config
from tests.helpers.corpora import LOOKUP, SENTENCES, build, make_docs, small_config, write_corpus
from tests.helpers.pages import blocks, is_excerpt, read_excerpt, resolve, run, run_page
from tests.helpers.paths import ROOT
from tests.test_tutorial import DOWNLOADS

SPLITS = ("train", "dev", "test")
# A package that may be installed or not, and the folder that is in its place.
PACKAGE, STAND_IN = "en_core_web_md", "english_md"


class Page(NamedTuple):
    """A page, how many of its blocks are run at least, and how its text is changed before.

    name: The page.
    least: The number of blocks.
    changes: Patterns and what takes their place: other names of files that are there already, and
        neither a scheduler nor more than one worker.
    names: What the Python of the page takes for given.
    """

    name: str
    least: int
    changes: Sequence[tuple[str, str]] = ()
    names: Callable[[], Mapping[str, Any]] = dict


def of_tables() -> dict[str, Any]:
    """A corpus, and a pipeline that was built and not initialized."""
    embed = {**LOOKUP, "attrs": ["NORM", "SHAPE"]}
    return {"docs": make_docs(5), "nlp": build(small_config(Path("train.spacy"), embed))}


def of_ner() -> dict[str, Any]:
    """Vectors, features of which one is missing, and a pipeline with a recognizer."""
    nlp = spacy.blank("en")
    nlp.add_pipe("batch_ner", "ner")
    return {"X": numpy.ones((2, 3)), "ids": numpy.array([[0, -1]]), "nlp": nlp}


PAGES = [
    Page(
        "tables",
        7,
        [(r" --workers 8", ""), (r"all\.tables --merge", "sum.tables --merge")],
        of_tables,
    ),
    Page("ner", 4, [], of_ner),
    Page(
        "vectors",
        8,
        [(r"\bIN OUT", f"{STAND_IN} mapped"), (r"codes\.npz OUT", "codes.npz unit")],
    ),
    Page("smaller-pipelines", 1),
    Page(
        "large-corpora",
        3,
        [
            (r" --workers 8", ""),
            (r"    DASK_(.*\\\n)*.*\n", ""),
            (r"    dask .*\n", ""),
            (r" --dask tcp://host:8786", ""),
            (r"/data/model (\S+) (\S+)", "training/model-best corpus again"),
        ],
    ),
    Page("your-data", 7),
]


def write_vectors(path: Path, words: Sequence[str], width: int) -> None:
    """Write a pipeline with random vectors, and a component, so that it can be compressed."""
    nlp, rng = spacy.blank("en"), numpy.random.default_rng(0)
    for word in words:
        nlp.vocab.set_vector(word, rng.normal(size=width).astype("float32"))
    ruler: Any = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "Rome"}])
    path.parent.mkdir(exist_ok=True)
    nlp.to_disk(path)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with what the pages take for given: corpora, a config, trained pipelines."""
    folder = tmp_path_factory.mktemp("guide") / "ground"
    for part in ("corpus", "corpus/wnut17", "corpus/conll-es", ""):
        (folder / part).mkdir(exist_ok=True, parents=True)
        for name in (*SPLITS, "part1", "part2", "my"):
            write_corpus(folder / part / f"{name}.spacy", make_docs(5))
    for name in ("train", "dev"):
        (folder / name).mkdir()
        shutil.copy(folder / f"{name}.spacy", folder / name)
    rng = random.Random(0)
    others = ["".join(rng.choices("aeioulmnrst", k=6)) for _ in range(300)]
    known = sorted({word for words, _ in SENTENCES for word in words})
    write_vectors(folder / STAND_IN, [*known, *others], 160)
    for name in ("vectors/nl", "vectors/es"):
        write_vectors(folder / name, known, 5)
    (folder / "configs").symlink_to(ROOT / "configs")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        command = f"spacy multihash init-config ner my.cfg --lang en --vectors {STAND_IN}"
        run(["python", "-m", *command.split()], monkeypatch)
        corpora = "--paths.train corpus/train.spacy --paths.dev corpus/dev.spacy"
        train = f"spacy train my.cfg --output training {corpora}"
        run(["python", "-m", *train.split()], monkeypatch)
        shutil.copy("my.cfg", "config.cfg")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_of_the_guide_runs(
    page: Page, ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(ground, folder, symlinks=True)
    monkeypatch.chdir(folder)
    # Loading in processes of their own takes long, and has tests of its own.
    monkeypatch.setattr(_compress_report, "_load", lambda *args: {"seconds": 1.0, "memory": 1})
    text = (ROOT / "docs" / f"{page.name}.md").read_text("utf8")
    if page.name == "your-data":
        text = text.partition(DOWNLOADS)[2]
    if page.name == "vectors":
        Path("my.cfg").unlink()
    for pattern, other in ((PACKAGE, STAND_IN), *page.changes):
        text = re.sub(pattern, other, text)
    assert run_page(text, monkeypatch, page.names()) >= page.least


def test_excerpts_of_configs_name_what_there_is() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    excerpts = {
        block.text: page.name
        for page in pages
        for block in blocks(page.read_text("utf8"))
        if is_excerpt(block)
    }
    assert len(excerpts) > 20
    for excerpt, name in excerpts.items():
        try:
            resolve(excerpt)
        except ValueError as error:
            raise AssertionError(f"{name}:\n{excerpt}") from error


def test_config_of_several_tables_trains(
    ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground)
    page = (ROOT / "docs" / "vectors.md").read_text("utf8")
    (excerpt,) = (block.text for block in blocks(page) if "MetaVectors.v1" in block.text)
    found, config = read_excerpt(excerpt), init_config("batch_ner", "en", vectors=STAND_IN)
    embed = found["components"]["tok2vec"]["model"]["embed"]
    config["components"]["tok2vec"]["model"]["embed"] = embed
    config["initialize"].update(found["initialize"], before_init=None)
    config.to_disk(tmp_path / "several.cfg", interpolate=False)
    train = f"spacy train {tmp_path / 'several.cfg'} --output {tmp_path / 'training'}"
    corpora = "--paths.train corpus/train.spacy --paths.dev corpus/dev.spacy"
    run(["python", "-m", *train.split(), *corpora.split()], monkeypatch)
    nlp = spacy.load(tmp_path / "training" / "model-last")
    assert "spacy-multihash.vectors.nl" in nlp.vocab.lookups.tables
