"""The command that recommends a config for a corpus."""

import json
import os
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import spacy
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config
from spacy.vectors import Vectors
from thinc.api import Config
from typer.testing import CliRunner, Result

from spacy_multihash.cli import _trials
from spacy_multihash.cli._recommended_config import commented, recommended_config
from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.cli.init_config import init_config
from spacy_multihash.cli.recommend import parse_size
from spacy_multihash.inspection import trials as inspection_trials
from spacy_multihash.inspection.halving import plan_rounds
from spacy_multihash.inspection.recommend import Choice
from spacy_multihash.inspection.settings import Settings
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus

HASHED = ("--max-size", "2.8K")  # too few for the tables of all symbols


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the corpora, and go there."""
    write_corpus(tmp_path / "train.spacy", make_docs(3))
    write_corpus(tmp_path / "dev.spacy", make_docs())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*args: Any, expected: int = 0) -> Result:
    words = ["recommend", "train.spacy", "dev.spacy", *map(str, args)]
    result = CliRunner().invoke(multihash_cli, words)
    assert result.exit_code == expected, result.output
    return result


def write_vectors(name: str, words: list[str]) -> None:
    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in words]
    data = numpy.ones((len(words), 8), dtype="float32")
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, keys=keys)
    nlp.to_disk(name)


# What is written


def test_config_is_that_of_init_config_where_nothing_speaks_against_it(folder: Path) -> None:
    result = invoke("--lang", "en")
    config = load_config(folder / "recommended.cfg")
    assert config["paths"]["train"] == "train.spacy" and config["paths"]["dev"] == "dev.spacy"
    config["paths"].update(train=None, dev=None)
    expected = init_config("ner", "en")
    embed = expected["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    # DEV is TRAIN, so that no word is unknown. In 54 tokens of short words, SUFFIX says what NORM
    # says, and larger batches would be few.
    embed["attrs"] = ["NORM", "PREFIX", "SHAPE"]
    expected["initialize"]["before_init"]["max_rows"] = None
    expected["training"]["batcher"]["size"]["stop"] = 100
    assert config == expected
    command = "python -m spacy train recommended.cfg --output training"
    assert f"Train with:\n    {command}\n" in result.output
    assert max(map(len, result.output.splitlines())) <= 80
    assert "SUFFIX left out its 12 values say what NORM's 12 say" in said(result)


@pytest.mark.parametrize("options", [HASHED, ("--vectors", "vectors")])
def test_config_trains_as_written(folder: Path, options: tuple[str, ...]) -> None:
    if "--vectors" in options:
        write_vectors("vectors", ["Anna", "Rome", "left", "Bob", ".", "in", "met"])
    invoke("--output", "my.cfg", *options)
    config = load_config(folder / "my.cfg")
    load_model_from_config(config, auto_fill=False, validate=True)
    _, filled = fill_config(folder / "filled.cfg", folder / "my.cfg", silent=True)
    assert filled == config
    embed = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    kind = "MultiHashEmbed" if "--max-size" in options else "MultiEmbed"
    assert embed["@architectures"] == f"spacy-multihash.{kind}.v1"
    assert embed["include_static_vectors"] is ("--vectors" in options)
    assert config["nlp"]["lang"] == ("en" if "--vectors" in options else "xx")
    overrides = {"training.max_steps": 2, "training.eval_frequency": 2}
    train(folder / "my.cfg", folder / "out", overrides=overrides)
    nlp = spacy.load(folder / "out" / "model-last")
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")
    assert (nlp.vocab.vectors_length == 8) is ("--vectors" in options)


def test_config_with_ngrams_trains_as_written(folder: Path) -> None:
    words, ents = ["Zoë", "left", "Oslo", "."], ["B-PER", "O", "B-GPE", "O"]
    write_corpus(folder / "dev.spacy", [Doc(spacy.blank("en").vocab, words=words, ents=ents)])
    result = invoke("--output", "my.cfg")
    assert "LOWER{3,5} taken NORM is unknown in 25.0 % of DEV's tokens" in said(result)
    config = load_config(folder / "my.cfg")
    embed = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    assert embed["attrs"][-1] == "LOWER{3,5}" and embed["reduce"] == "sum"
    lines = (folder / "my.cfg").read_text("utf8").splitlines()
    comment = lines[lines.index('reduce = "sum"') - 1]
    assert comment.startswith("# reduce: sum (adds up the vectors of a word's n-grams; their")
    overrides = {"training.max_steps": 2, "training.eval_frequency": 2}
    train(folder / "my.cfg", folder / "out", overrides=overrides)
    nlp = spacy.load(folder / "out" / "model-last")
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")


@pytest.mark.parametrize("options", [(), HASHED])
def test_each_choice_stands_above_the_line_that_it_explains(
    folder: Path, options: tuple[str, ...]
) -> None:
    choices = json.loads(invoke("--json", *options).stdout)["choices"]
    lines = (folder / "recommended.cfg").read_text("utf8").splitlines()
    assert lines[0].startswith("# Made by: python -m spacy multihash recommend train.spacy dev")
    under = {}
    for choice in choices:
        number = lines.index(f"# {choice['name']}: {choice['value']} ({choice['reason']})")
        under[choice["name"]] = next(line for line in lines[number:] if not line.startswith("#"))
    assert under["NORM"] == under["SUFFIX"] == 'attrs = ["NORM", "PREFIX", "SHAPE"]'
    assert under["language"] == 'lang = "xx"'
    assert under["dropout"] == "dropout = 0.3"
    assert under["batch size"] == "stop = 100"
    assert under["vectors"] == "include_static_vectors = false"
    assert under["width"] == "width = 96"
    assert under["rows"] == ("rows = [12, 10, 7]" if options else "min_freq = 1")
    last = under["hashes" if options else "unk_dropout"]
    assert last == ("num_hashes = [4, 4, 4]" if options else "unk_dropout = 0.3")


def test_dash_prints_the_config_and_nothing_else(folder: Path) -> None:
    result = invoke("--output", "-", "--lang", "en")
    config = Config().from_str(result.stdout, interpolate=False)
    assert config["nlp"]["lang"] == "en"
    assert sorted(path.name for path in folder.iterdir()) == ["dev.spacy", "train.spacy"]


def test_json_has_settings_choices_and_facts(folder: Path) -> None:
    report = json.loads(invoke("--json").stdout)
    assert report["config"] == "recommended.cfg" and report["trials"] is None
    assert report["settings"]["attrs"] == ["NORM", "PREFIX", "SHAPE"]
    assert report["facts"]["features"]["NORM"]["unknown_tokens"] == 0.0


def test_vectors_of_too_few_words_are_left_out(folder: Path) -> None:
    write_vectors("few", ["Anna"])
    assert "few has 8.3 % of DEV's words, less than 50.0 %" in said(invoke("--vectors", "few"))
    config = load_config("recommended.cfg")
    assert config["paths"]["vectors"] is None


@pytest.mark.parametrize(
    ("text", "size"), [("5M", 5_000_000), ("1.5k", 1500), ("300", 300), (" 2G ", 2 * 10**9)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("rows", [None, (9, 9)])
def test_ngrams_are_averaged_and_tables_cut_where_they_are(rows: tuple[int, ...] | None) -> None:
    hashes = rows and (2, 2)
    settings = Settings(("NORM", "LOWER{3,5}"), 96, rows, hashes, None if rows else 30_000)
    paths = {"train": Path("train.spacy"), "dev": Path("dev.spacy")}
    config = recommended_config(settings, "en", vectors=None, **paths)
    assert config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]["reduce"] == "sum"
    callback = config["initialize"]["before_init"]
    assert callback is None if rows else callback["max_rows"] == 30_000
    choices = [Choice("max_rows", "30,000", "why")] if rows is None else []
    text = commented(config, choices, [])
    assert ("# max_rows: 30,000 (why)\nmax_rows = 30000\n" in text) is (rows is None)


# Trials


@pytest.fixture
def quick(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let trials have few steps."""
    monkeypatch.setattr(_trials, "plan_rounds", partial(plan_rounds, last_steps=2))
    return folder


def test_trials_go_on_where_they_were_interrupted(
    quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_one, seen = inspection_trials._train, []

    def interrupt(name: str, *args: Any, **options: Any) -> Any:
        if name == "hashing":
            raise KeyboardInterrupt
        return train_one(name, *args, **options)

    def note(name: str, *args: Any, **options: Any) -> Any:
        seen.append(name)
        return train_one(name, *args, **options)

    options = ("--trials", "2", "--output", "my.cfg")
    monkeypatch.setattr(inspection_trials, "_train", interrupt)
    result = invoke(*options, expected=130)
    assert "Finished trials stay in my-trials. The same command goes on" in said(result)
    files = [path.name for path in (quick / "my-trials").iterdir()]
    assert files == ["round1-recommended.json"]
    assert not (quick / "my.cfg").exists()
    monkeypatch.setattr(inspection_trials, "_train", note)
    result = invoke(*options)
    assert seen == ["hashing"]
    assert "Trials finished by an earlier call: 1." in said(result)
    assert re.search(r"Trials, F1 on DEV =+ candidate round 1", said(result))
    assert "Round 1: 2 steps on all of TRAIN." in said(result)
    assert (quick / "my.cfg").read_text("utf8").splitlines()[1].startswith("# trials: ")


def test_winner_of_the_trials_is_written(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(nlp: Any, steps: int) -> Any:
        yield 1 - nlp.config["training"]["dropout"]

    monkeypatch.setattr(inspection_trials, "_scores_of_steps", scores)
    monkeypatch.setattr(
        inspection_trials, "init_nlp", lambda config: SimpleNamespace(config=config)
    )
    report = json.loads(invoke("--trials", 3, "--trials-dir", "here", "--json").stdout)
    assert report["trials"]["scores"] == [{"recommended": 0.7, "hashing": 0.7, "dropout 0.2": 0.8}]
    assert report["settings"]["dropout"] == 0.2
    assert load_config("recommended.cfg")["training"]["dropout"] == 0.2
    assert (quick / "here" / "round1-dropout-0.2.json").is_file()


def test_what_a_budget_leaves_out_is_said(quick: Path) -> None:
    result = invoke("--trials", 2, "--budget", "0.000001")
    assert "The budget ended in round 1 of 1, without recommended, hashing." in said(result)
    assert "The same command, with --force, goes on from there." in said(result)
    assert "Not one trial fitted into the budget. Give a larger --budget." in said(result)
    assert "trials not finished the budget ended in round 1 of 1" in said(result)


# Errors


def test_what_is_there_is_replaced_only_by_force(folder: Path) -> None:
    (folder / "recommended.cfg").write_text("mine")
    assert "Give another --output, or --force" in said(invoke(expected=1))
    assert (folder / "recommended.cfg").read_text() == "mine"
    invoke("--force")
    assert load_config("recommended.cfg")["nlp"]["lang"] == "xx"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--trials", -1), r"Expected 2 or more candidates as --trials, or 0 for none, was: -1\."),
        (("--trials", 1), "or 0 for none, was: 1. One of them is the recommendation"),
        (("--budget", 5), "Expected --budget only beside --trials.*Add --trials 8"),
        (("--trials-dir", "here"), "Expected --trials-dir only beside --trials"),
        (("--trials", 2, "--budget", 0), "Expected minutes above 0 as --budget, was: 0"),
        (("--trials", 2, "--trials-dir", "dev.spacy"), "a folder as --trials-dir, was a file: dev"),
        (("--trials", 2, "--output", "dev.spacy/my.cfg"), "dev.spacy is no folder"),
        (("--trials", 2, "--output", "-"), "Name one with --trials-dir"),
        (("--json", "--output", "-"), "Expected one thing for standard output, were two"),
        (("--max-size", "5MB"), "such as 500K, 5M or 1G, was: '5MB'"),
        (("--max-size", "0"), "Expected a number of parameters as --max-size.* was: '0'"),
        (("--max-size", "1K"), r"Expected a --max-size of 2,688 parameters or more, was: 1,000\."),
        (("--vectors", "nowhere"), "Cannot load the vectors of nowhere: expected a pipeline"),
        (("--lang", "nolanguage"), "Can't import language nolanguage"),
    ],
)
def test_bad_options_are_refused(folder: Path, options: tuple[Any, ...], message: str) -> None:
    result = invoke(*options, expected=1)
    assert re.search(message, said(result)), said(result)
    assert "Cannot recommend a config" in result.stderr and result.stdout == ""
    assert not (folder / "recommended.cfg").exists()


def test_a_file_in_the_place_of_the_default_folder_of_trials_is_refused(folder: Path) -> None:
    (folder / "recommended-trials").write_text("mine")
    message = said(invoke("--trials", 2, expected=1))
    assert "Expected a folder as --trials-dir, was a file: recommended-trials" in message


def test_a_folder_of_trials_that_cannot_be_written_to_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine").mkdir()
    access = os.access

    def refuse(path: Any, mode: int) -> bool:  # root may write anywhere
        return access(path, mode) and not (path == Path("mine") and mode & os.W_OK)

    monkeypatch.setattr(os, "access", refuse)
    message = said(invoke("--trials", 2, "--trials-dir", "mine", expected=1))
    assert "--trials-dir cannot be mine: nothing can be written to it" in message


def test_vectors_that_training_cannot_use_are_refused(folder: Path) -> None:
    write_vectors("model", [])
    for name, message in (
        ("model", "model has no vectors: its table is empty"),
        ("model/vocab", "model/vocab is the folder of a vocab: expected a pipeline"),
    ):
        assert message in said(invoke("--vectors", name, expected=1))


def test_bad_corpora_are_refused(folder: Path) -> None:
    plain = Doc(spacy.blank("en").vocab, words=["rain"], ents=["O"])
    for docs, message in (
        ([plain], "Expected a corpus with entities as DEV, but it has none"),
        ([], "The corpus at dev.spacy has no documents"),
    ):
        write_corpus(folder / "dev.spacy", docs)
        assert message in said(invoke(expected=1))
    (folder / "dev.spacy").write_bytes(b"damaged")
    assert "dev.spacy is cut off, or no .spacy file at all" in said(invoke(expected=1))


def test_vectors_of_another_language_are_refused(folder: Path) -> None:
    write_vectors("model", ["Anna"])
    message = said(invoke("--vectors", "model", "--lang", "de", expected=1))
    assert "--lang is de, but the vectors of model are of the language en" in message
    assert not (folder / "recommended.cfg").exists()


def test_paths_that_a_config_cannot_name_are_refused(folder: Path) -> None:
    write_vectors("mod$el", ["Anna"])
    message = said(invoke("--vectors", "mod$el", expected=1))
    assert "A config cannot name mod$el, since a $ in it stands for a variable." in message
    (folder / "dev.spacy").rename(folder / "de${v}.spacy")
    words = ["recommend", "train.spacy", "de${v}.spacy"]
    result = CliRunner().invoke(multihash_cli, words)
    assert result.exit_code == 1 and "A config cannot name de${v}.spacy" in said(result)
