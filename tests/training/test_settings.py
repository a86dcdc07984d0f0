"""Settings for a corpus, and complete configs."""

from pathlib import Path
from typing import Any, get_args

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config
from spacy.vectors import Vectors
from thinc.api import Config

from spacy_multihash import init_config
from spacy_multihash.common.registered import ADAM
from spacy_multihash.pipelines.config import drop_removed_settings
from spacy_multihash.training import settings as module
from spacy_multihash.training.settings import (
    FEW,
    MANY,
    MAX_ROWS,
    Pipeline,
    choose_rows,
    largest_table,
    parse_size,
    settings_for,
    words_with_vector,
)
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.packages import installed
from tests.helpers.paths import ROOT
from tests.helpers.vectors import write_pipeline

PIPELINES = get_args(Pipeline)
SYMBOLS = (20_000, 80, 4_000, 300, 85_000)


NUMBERS = dict(zip(MANY.attrs, SYMBOLS, strict=True))


@pytest.mark.parametrize(("tokens", "settings"), [(25_000, FEW), (25_001, MANY)])
def test_tokens_decide_between_two_settings(tokens: int, settings: Any) -> None:
    assert settings_for(tokens) is settings
    _, reasons = choose_rows(tokens, NUMBERS, 10**7)
    assert f"{tokens:,} tokens" in reasons[0]
    assert ("learned transitions" in reasons[0]) is (settings is FEW)


def test_every_value_has_a_row_if_there_is_room() -> None:
    rows, reasons = choose_rows(200_000, NUMBERS, 10**8)
    assert rows == MAX_ROWS
    sizes = "NORM 20,001, PREFIX 81, SUFFIX 4,001, SHAPE 301, LOWER{3,5} 30,000"
    assert reasons[1].startswith(f"rows {sizes}: 5,220,864 of 100,000,000 parameters")
    assert "at most 30,000 rows: the rare values of LOWER{3,5} are unknown" in reasons
    rows, reasons = choose_rows(200_000, NUMBERS, 96 * 10_000)
    assert rows == 3_206 and "NORM, SUFFIX, LOWER{3,5}" in reasons[2]
    least = 96 * (4 * 100 + 81)
    assert choose_rows(200_000, NUMBERS, least)[0] == 100
    with pytest.raises(ValueError, match=f"at least {least:,} parameters, got {least - 1:,}"):
        choose_rows(200_000, NUMBERS, least - 1)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=9), st.integers(0, 10**6))
def test_tables_have_the_most_rows_that_there_is_room_for(symbols: list[int], total: int) -> None:
    def size(rows: int) -> int:
        return sum(min(number + 1, rows) for number in symbols)

    rows = largest_table(symbols, total)
    assert rows <= MAX_ROWS and size(rows) <= total
    assert rows == MAX_ROWS or size(rows + 1) > total


def test_zeros_stand_for_no_vector() -> None:
    vocab = spacy.blank("en").vocab
    keys = [vocab.strings.add(word) for word in ("Anna", "Oslo")]
    data = numpy.array([[1, 0, 0], [0, 0, 0]], dtype="float32")
    vocab.vectors = Vectors(strings=vocab.strings, data=data, keys=keys)
    assert words_with_vector([Doc(vocab, words=["Anna", "Anna", "Berg", "Oslo"])], vocab) == 1 / 3


def test_sizes_are_read() -> None:
    assert [parse_size(text) for text in ("5M", "1.5k", "300", " 2G ")] == [5e6, 1500, 300, 2e9]
    with pytest.raises(ValueError, match="got '0'"):
        parse_size("0")


# Configs


def embeds(config: Any) -> list[Any]:
    """All sections with static vectors on or off."""
    if not isinstance(config, dict):
        return []
    own = [config] if "include_static_vectors" in config else []
    return own + [found for value in config.values() for found in embeds(value)]


def names(config: Any) -> set[str]:
    """The names of all sections and settings."""
    inner = [names(value) for value in config.values() if isinstance(value, dict)]
    return set(config).union(*inner)


def make_vectors(folder: Path) -> Path:
    words = ["Anna", "Bob", "Oslo", "Rome", "in", "left", "met"]  # of 12
    X = numpy.ones((len(words), 8), dtype="float32")
    return write_pipeline(folder / "vectors", X, words, "en")


@pytest.fixture
def corpora(here: Path) -> Path:
    """Write corpora with entities, and go there."""
    write_corpus(here / "train.spacy", make_docs(3))
    write_corpus(here / "dev.spacy", make_docs())
    return here


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        ("ner", "recommended"),
        ("batch_ner", "regularized"),
        ("textcat", "textcat/bow"),
        ("textcat_multilabel", "textcat/multilabel"),
    ],
)
def test_settings_are_those_of_a_config_of_the_experiments(pipeline: Pipeline, name: str) -> None:
    config = load_config(ROOT / "configs" / f"{name}.cfg")
    expected = load_model_from_config(config, auto_fill=True).config
    drop_removed_settings(expected)
    assert init_config(pipeline, config["nlp"]["lang"]).config == expected


@pytest.mark.parametrize("vectors", [None, "my_vectors"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_config_is_complete(tmp_path: Path, pipeline: Pipeline, vectors: str | None) -> None:
    config = init_config(pipeline, "nl", vectors=vectors).config
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.lang == "nl"
    assert config["paths"] == {"train": None, "dev": None, "vectors": vectors, "init_tok2vec": None}
    config.to_disk(tmp_path / "my.cfg", interpolate=False)
    _, filled = fill_config(tmp_path / "filled.cfg", tmp_path / "my.cfg", silent=True)
    drop_removed_settings(filled)
    assert filled == config
    removed = {"ard", "ard_warmup", "word_dropout", "dropout_penalty", "confidence", "hidden"}
    assert not removed & names(config)
    assert all(section["include_static_vectors"] is bool(vectors) for section in embeds(config))
    optimizer = config["training"]["optimizer"]
    assert (optimizer["@optimizers"], optimizer["L2"]) == (ADAM, 0.01)
    assert optimizer["use_averages"] is (pipeline in ("ner", "batch_ner"))


def test_config_for_a_corpus_differs_where_the_corpus_says_so(corpora: Path) -> None:
    made = init_config("ner", "en", train="train.spacy", dev="dev.spacy")
    expected = init_config("ner", "en").config
    expected["paths"].update(train="train.spacy", dev="dev.spacy")
    model = expected["components"]["tagger_ner"]["model"]
    model["tok2vec"]["embed"]["attrs"] = list(FEW.attrs)  # these are 54 tokens
    model["learn_transitions"] = True
    expected["training"]["batcher"]["size"]["stop"] = 200
    expected["training"]["patience"] = 600
    assert made.config == expected
    assert all(reason in str(made) for reason in made.reasons)
    text = made.to_str("my comment")
    assert text.startswith("# my comment\n# train has 54 tokens")
    assert Config().from_str(text, interpolate=False) == made.config


@pytest.mark.parametrize(("share", "is_used"), [(0.5, True), (0.6, False)])
def test_vectors_are_used_if_they_have_half_of_the_words(
    corpora: Path, monkeypatch: pytest.MonkeyPatch, share: float, is_used: bool
) -> None:
    make_vectors(corpora)  # 7 of 12 words
    monkeypatch.setattr(module, "MIN_WORDS_WITH_VECTOR", share)
    made = init_config("ner", "en", train="train.spacy", vectors="vectors")
    assert made.config["paths"]["vectors"] == ("vectors" if is_used else None)
    expected = "static vectors: vectors has 58.3 % of the words"
    assert made.reasons[-1].startswith(expected if is_used else f"no {expected}")
    assert all(section["include_static_vectors"] is is_used for section in embeds(made.config))


@pytest.mark.parametrize("options", [{"max_size": "60K"}, {"vectors": "vectors"}])
def test_config_for_a_corpus_trains_as_it_is(corpora: Path, options: dict[str, Any]) -> None:
    make_vectors(corpora)
    config = init_config("ner", "en", train="train.spacy", dev="dev.spacy", **options).config
    config["components"]["tagger_ner"]["model"]["tok2vec"]["encode"]["repeats"] = 1
    config.to_disk("my.cfg", interpolate=False)
    train(
        corpora / "my.cfg",
        corpora / "out",
        overrides={"training.max_steps": 2, "training.eval_frequency": 2},
    )
    nlp = spacy.load(corpora / "out" / "model-last")
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")
    assert (nlp.vocab.vectors_length == 8) is ("vectors" in options)


BOTH = {"train": "train.spacy", "dev": "dev.spacy"}


@pytest.mark.parametrize(
    ("pipeline", "options", "message"),
    [
        ("ner", BOTH | {"max_size": "5MB"}, "--max-size must be like"),
        ("ner", BOTH | {"max_size": "1K"}, "--max-size must be at least"),
        ("ner", BOTH | {"vectors": "nowhere"}, "Cannot load the vectors of nowhere"),
        ("ner", BOTH | {"vectors": "empty"}, "empty has no vectors"),
        ("ner", BOTH | {"vectors": "vectors", "lang": "de"}, "are of the language en"),
        ("ner", BOTH | {"train": "no.spacy"}, "no corpus at no.spacy"),
        ("ner", BOTH | {"dev": "plain.spacy"}, "plain.spacy has no entities"),
        ("ner", BOTH | {"dev": "de${v}.spacy"}, "cannot be in a config"),
        ("textcat", BOTH, "--train is for ner only"),
        ("ner", {"dev": "dev.spacy"}, "need --train"),
        ("ner", {"max_size": "5M"}, "need --train"),
        ("parser", {}, "must be one of"),
    ],
)
def test_what_is_wrong_is_refused(
    corpora: Path, pipeline: Pipeline, options: dict[str, Any], message: str
) -> None:
    make_vectors(corpora)
    spacy.blank("en").to_disk("empty")
    plain = Doc(spacy.blank("en").vocab, words=["rain"], ents=["O"])
    write_corpus(corpora / "plain.spacy", [plain])
    with pytest.raises((ValueError, FileNotFoundError), match=message.replace("$", r"\$")):
        init_config(pipeline, **{"lang": "en", **options})


def test_vectors_of_a_package_in_another_language_are_refused(tmp_path: Path) -> None:
    with installed(make_vectors(tmp_path), "en_mine", tmp_path / "site"):
        with pytest.raises(ValueError, match="--lang is nl, but the vectors of en_mine are of the"):
            init_config("ner", "nl", vectors="en_mine")
