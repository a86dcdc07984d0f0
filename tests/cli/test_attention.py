"""The command that shows which table of vectors each token leans on."""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.tokens import Doc
from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.embed.read_vectors import NAME, find_weights
from spacy_multihash.inspection.attention import vector_attention
from tests.helpers.cli import said
from tests.helpers.corpora import write_corpus
from tests.helpers.several_vectors import meta_embed, meta_pipeline, save_words, trained

WORDS = [["Anna", "met", "$x$\\"], [], ["Rome", "met"] * 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trained pipelines, a corpus, and a training corpus."""
    folder = tmp_path_factory.mktemp("attention")
    own = save_words(folder / "own", ["Rome", "Anna"], 6)
    nl = save_words(folder / "nl", ["Rome", "met"], 5, seed=1)
    for mode in ("mme", "linear"):
        embed = meta_embed({"vocab": None, "nl": nl}, mode)
        trained(meta_pipeline(embed, own)).to_disk(folder / mode)
    vocab = spacy.blank("en").vocab
    write_corpus(folder / "dev.spacy", [Doc(vocab, words=words) for words in WORDS])
    write_corpus(folder / "train.spacy", [Doc(vocab, words=["Anna"])])
    spacy.blank("en").to_disk(folder / "blank")
    return folder


def invoke(folder: Path, *args: Any, model: str = "mme") -> Result:
    paths = [str(folder / name) for name in (model, "dev.spacy")]
    return CliRunner().invoke(multihash_cli, ["attention", *paths, *map(str, args)])


def test_weights_are_those_of_the_model(folder: Path) -> None:
    result = invoke(folder, "--json", "--train", folder / "train.spacy", "--docs", 1)
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.output)
    assert (found["component"], found["mode"]) == ("tok2vec", "mme")
    assert found["tables"] == ["nl", "vocab"]
    nlp = spacy.load(folder / "mme")
    (node,) = [n for n in nlp.get_pipe("tok2vec").model.walk() if n.name == NAME]  # type: ignore[attr-defined]
    weights, _ = find_weights(node, [Doc(nlp.vocab, words=["Rome", "met", "Anna"])])
    rome, met, anna = weights.T
    groups = {each["group"]: (each["tokens"], each["weights"]) for each in found["groups"]}
    assert {group: tokens for group, (tokens, _) in groups.items()} == {
        "all tokens": 43,
        "seen": 1,
        "unseen": 42,
        "nl + vocab": 20,
        "nl": 21,
        "vocab": 1,
        "no table": 1,
    }
    assert_allclose(groups["all tokens"][1], (20 * rome + 21 * met + anna) / 42, rtol=1e-5)
    assert_allclose(groups["nl + vocab"][1], rome, rtol=1e-5)
    assert_allclose(groups["seen"][1], [0, 1])
    assert groups["no table"][1] == [None, None]
    (doc,) = found["docs"]
    assert doc["words"] == WORDS[0]
    assert_allclose(doc["weights"], [anna, met, [0, 0]], rtol=1e-5)
    assert doc["present"] == [[False, True], [True, False], [False, False]]


def test_tables_and_heat_map_are_shown(folder: Path, tmp_path: Path) -> None:
    result = invoke(folder, "--png", tmp_path / "map.png")
    assert result.exit_code == 0, result.output
    assert "Mean weights of tables: tok2vec, mme" in said(result)
    assert "$x$\\ - - " in said(result) and "no table 1 - - " in said(result)
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    again = invoke(folder, "--png", tmp_path / "map.png")
    assert again.exit_code == 1 and "--force" in said(again)


@pytest.mark.parametrize(
    ("model", "args", "message"),
    [
        ("linear", (), "There is no attention: the pipeline's MetaVectors has mode = linear"),
        ("blank", (), "The pipeline has no MetaVectors: looked for the setting `vectors`"),
        ("mme", ("--component", "x"), "There is no component 'x' with a model"),
        ("mme", ("--component", "ner"), "no MetaVectors: looked for the setting `vectors` of an"),
        ("mme", ("--docs", "0", "--png", "new.png"), "There is no doc to draw. Give --docs 1"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, model: str, args: Any, message: str
) -> None:
    monkeypatch.chdir(folder)
    result = invoke(folder, *args, model=model)
    assert result.exit_code == 1
    assert message in said(result)
    assert not (folder / "new.png").exists()


def test_docs_without_tokens_are_refused(folder: Path) -> None:
    nlp = spacy.load(folder / "mme")
    with pytest.raises(ValueError, match="There is no token in the corpus. Give another one"):
        vector_attention(nlp, [Doc(nlp.vocab)])
    with pytest.raises(ValueError, match="num_docs must be a whole number from 0 on, was: -1"):
        vector_attention(nlp, [], num_docs=-1)


def test_tables_may_have_the_names_of_groups(tmp_path: Path) -> None:
    own = save_words(tmp_path / "own", ["Rome", "Anna"], 6)
    paths = {"seen": save_words(tmp_path / "nl", ["Rome", "met"], 5, seed=1), "vocab": None}
    nlp = trained(meta_pipeline(meta_embed(paths, "mme"), own))
    docs = [Doc(nlp.vocab, words=["Rome", "met", "Anna"])]
    (found,) = vector_attention(nlp, docs, seen={nlp.vocab.strings["Anna"]})
    assert [(group.group, group.by_tables, group.tokens) for group in found.groups] == [
        ("all tokens", False, 3),
        ("seen", False, 1),
        ("unseen", False, 2),
        ("seen + vocab", True, 1),
        ("seen", True, 1),
        ("vocab", True, 1),
    ]
