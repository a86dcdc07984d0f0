"""What the command `recommend` writes for a corpus, beside the recipe."""

import random
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.arms.recipe import CHOSEN
from experiments.runs import recommended
from experiments.runs.files import read_json
from experiments.runs.grid import Run
from experiments.runs.recommended import compare_recommended
from spacy_multihash.inspection.settings import CUT_ROWS
from tests.helpers.corpora import make_docs, write_corpus

RUN = Run("wnut17", CHOSEN)
ATTRS = "components.tagger_ner.model.tok2vec.embed.attrs"


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a corpus in which no word of dev is unknown, and go to its folder."""
    monkeypatch.chdir(tmp_path)
    for split in ("train", "dev", "test"):
        RUN.corpus(split).parent.mkdir(parents=True, exist_ok=True)
        write_corpus(RUN.corpus(split), make_docs(4))
    return tmp_path


def test_settings_that_differ_are_named_with_both_values(corpora: Path) -> None:
    found = compare_recommended(RUN)
    differs = found["differs"]
    assert differs[ATTRS] == [
        '["NORM", "PREFIX", "SHAPE"]',
        '["NORM", "PREFIX", "SUFFIX", "SHAPE", "LOWER{3,5}"]',
    ]
    assert differs["initialize.before_init.max_rows"] == ["null", str(CUT_ROWS)]
    assert differs["training.batcher.size.stop"] == ["100", "1000"]
    assert len(differs) == 3
    assert {"train", "dev"} <= found["corpus"].keys()


def test_with_unknown_words_the_embedding_is_that_of_the_recipe(corpora: Path) -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices("aeioulmnrst", k=8)) for _ in range(60)]
    ents = ["B-PER", *("O" for _ in words[1:])]
    vocab = spacy.blank("en").vocab
    write_corpus(RUN.corpus("train"), [Doc(vocab, words=words, ents=ents)])
    dev = Doc(vocab, words=[*words, "unseen", "words"], ents=[*ents, "O", "O"])
    write_corpus(RUN.corpus("dev"), [dev])
    differs = compare_recommended(RUN)["differs"]
    assert [name for name in differs if ".embed." in name] == [ATTRS]  # SUFFIX says what NORM says
    assert '"LOWER{3,5}"' in differs[ATTRS][0]


def test_what_the_command_says_is_the_error(corpora: Path) -> None:
    RUN.corpus("dev").write_bytes(b"")
    with pytest.raises(ValueError, match=r"multihash recommend .* --lang en: (?s:.)*dev\.spacy"):
        compare_recommended(RUN)


def test_all_corpora_are_compared_or_nothing_is_written(
    corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("results").mkdir()
    result = CliRunner().invoke(app, ["compare-recommended"])
    assert result.exit_code == 1 and "The comparison needs the corpus anem" in result.output
    assert not any(Path("results").iterdir())
    monkeypatch.setattr(recommended, "ALL", (RUN.dataset,))
    result = CliRunner().invoke(app, ["compare-recommended"])
    assert result.exit_code == 0, result.output
    assert f"0 of 1 configs are those of {CHOSEN}" in " ".join(result.output.split())
    found = read_json(Path("results") / "recommended.json", "compare again")
    assert found["recipe"] == CHOSEN and list(found["corpora"]) == [RUN.dataset]
