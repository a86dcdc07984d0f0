"""The command that writes complete configs."""

from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy
import pytest
import spacy
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config
from thinc.api import Config
from typer.testing import Result

from spacy_multihash.cli.init_config import Pipeline, init_config, parse_size
from spacy_multihash.common.registered import ADAM
from spacy_multihash.pipelines.config import drop_removed_settings
from tests.helpers import cli
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.packages import installed
from tests.helpers.paths import ROOT
from tests.helpers.vectors import write_pipeline

invoke = partial(cli.invoke, "init-config")
ok = partial(cli.ok, "init-config")

PIPELINES = get_args(Pipeline)
ENTITIES = ("ner", "batch_ner")


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
    X = numpy.ones((3, 8), dtype="float32")
    return write_pipeline(folder / "vectors", X, ["Anna", "Rome", "left"], "en")


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write corpora with entities, and go there."""
    write_corpus(tmp_path / "train.spacy", make_docs(3))
    write_corpus(tmp_path / "dev.spacy", make_docs())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke_on(*options: Any, train: str = "train.spacy", dev: str = "dev.spacy") -> Result:
    return invoke("ner", "my.cfg", "--train", train, "--dev", dev, *options)


def make_texts() -> list[Doc]:
    docs = [Doc(doc.vocab, words=[t.text for t in doc]) for doc in make_docs()]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(not i % 2)}
    return docs


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
    assert init_config(pipeline, config["nlp"]["lang"]) == expected


@pytest.mark.parametrize("vectors", [None, "my_vectors"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_config_is_complete(tmp_path: Path, pipeline: Pipeline, vectors: str | None) -> None:
    path = tmp_path / "new" / "my.cfg"
    options = [] if vectors is None else ["--vectors", vectors]
    result = ok(pipeline, path, "--lang", "nl", *options)
    command = f"python -m spacy train {path} --output training --paths.train train.spacy "
    assert f"Train with:\n    {command}--paths.dev dev.spacy\n" in result.output
    config = load_config(path)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.lang == "nl"
    assert config["paths"] == {"train": None, "dev": None, "vectors": vectors, "init_tok2vec": None}
    _, filled = fill_config(tmp_path / "filled.cfg", path, silent=True)
    drop_removed_settings(filled)
    assert filled == config
    assert all(section["include_static_vectors"] is bool(vectors) for section in embeds(config))
    is_of_ngrams = pipeline not in ENTITIES and vectors is None
    assert bool(embeds(config)) is not is_of_ngrams
    optimizer = config["training"]["optimizer"]
    assert optimizer["@optimizers"] == ADAM
    assert optimizer["L2"] == 0.01
    assert optimizer["use_averages"] is (pipeline in ENTITIES)


def test_config_with_vectors_trains_as_it_is(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "train.spacy", make_docs())
    options = ["--lang", "en", "--vectors", make_vectors(tmp_path)]
    ok("ner", tmp_path / "my.cfg", *options)
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "training.max_steps": 3,
        "training.eval_frequency": 1,
    }
    train(tmp_path / "my.cfg", tmp_path / "out", overrides=overrides)
    nlp = spacy.load(tmp_path / "out" / "model-last")
    doc = nlp("Anna left Rome .")
    assert nlp.vocab.vectors_length == 8
    assert doc.has_annotation("ENT_IOB")


def test_dash_prints_the_config_and_nothing_else() -> None:
    result = ok("ner", "-", "--lang", "en", "--vectors", "my vectors")
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "# Made by: python -m spacy multihash init-config ner --lang en --vectors 'my vectors'"
    )
    config = Config().from_str(result.stdout, interpolate=False)
    assert config == init_config("ner", "en", vectors="my vectors")


def test_vectors_of_a_package_in_another_language_are_refused(tmp_path: Path) -> None:
    with installed(make_vectors(tmp_path), "en_mine", tmp_path / "site"):
        with pytest.raises(ValueError, match="--lang is nl, but the vectors of en_mine are of the"):
            init_config("ner", "nl", vectors="en_mine")


# With corpora


def test_config_for_a_corpus_differs_where_the_corpus_says_so(corpora: Path) -> None:
    result = invoke_on("--lang", "en")
    assert result.exit_code == 0, result.output
    config = load_config("my.cfg")
    assert config["paths"]["train"] == "train.spacy" and config["paths"]["dev"] == "dev.spacy"
    config["paths"].update(train=None, dev=None)
    expected = init_config("ner", "en")
    embed = expected["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    # These are 54 tokens. Of short words, suffixes and slices are words.
    embed["attrs"] = ["NORM", "PREFIX", "SHAPE"]
    expected["initialize"]["before_init"]["max_rows"] = None
    expected["training"]["batcher"]["size"]["stop"] = 200
    expected["training"]["patience"] = 600
    expected["components"]["tagger_ner"]["model"]["learn_transitions"] = True
    assert config == expected
    assert "python -m spacy train my.cfg --output training\n" in result.output
    reason = "no SUFFIX: its 12 values add nothing to NORM's 12"
    assert reason in result.output.splitlines()
    lines = Path("my.cfg").read_text("utf8").splitlines()
    options = "--lang en --train train.spacy --dev dev.spacy"
    assert lines[0] == f"# Made by: python -m spacy multihash init-config ner {options}"
    assert f"# {reason}" in lines


@pytest.mark.parametrize("options", [("--max-size", "2.8K"), ("--vectors", "vectors")])
def test_config_for_a_corpus_trains_as_it_is(corpora: Path, options: tuple[str, ...]) -> None:
    make_vectors(corpora)
    words, ents = ["Zoë", "left", "Rome", "."], ["B-PER", "O", "B-GPE", "O"]
    write_corpus(corpora / "dev.spacy", [Doc(spacy.blank("en").vocab, words=words, ents=ents)])
    assert invoke_on("--lang", "en", *options).exit_code == 0
    config = load_config("my.cfg")
    load_model_from_config(config, auto_fill=False, validate=True)
    _, filled = fill_config(corpora / "filled.cfg", corpora / "my.cfg", silent=True)
    drop_removed_settings(filled)
    assert filled == config
    embed = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    is_hashed = "--max-size" in options
    assert embed["@architectures"].endswith("MultiHashEmbed.v1" if is_hashed else "MultiEmbed.v1")
    assert "LOWER{3,5}" not in embed["attrs"]  # of so few tokens
    assert embed["include_static_vectors"] is ("--vectors" in options)
    assert config["paths"]["vectors"] == ("vectors" if "--vectors" in options else None)
    overrides = {"training.max_steps": 2, "training.eval_frequency": 2}
    train(corpora / "my.cfg", corpora / "out", overrides=overrides)
    nlp = spacy.load(corpora / "out" / "model-last")
    assert nlp("Anna left Rome .").has_annotation("ENT_IOB")
    assert (nlp.vocab.vectors_length == 8) is ("--vectors" in options)


def test_sizes_are_read() -> None:
    assert [parse_size(text) for text in ("5M", "1.5k", "300", " 2G ")] == [5e6, 1500, 300, 2e9]
    with pytest.raises(ValueError, match="got '0'"):
        parse_size("0")


BOTH = ("--train", "train.spacy", "--dev", "dev.spacy")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("ner", *BOTH, "--max-size", "5MB"), "--max-size must be like 500K, 5M or 1G, got '5MB'"),
        (("ner", *BOTH, "--max-size", "1K"), "--max-size must be at least 2,688 parameters, got"),
        (("ner", *BOTH, "--vectors", "nowhere"), "Cannot load the vectors of nowhere"),
        (("ner", *BOTH, "--vectors", "empty"), "empty has no vectors: its table is empty"),
        (("ner", *BOTH, "--vectors", "vectors/vocab"), "vectors/vocab is the folder of a vocab"),
        (("ner", *BOTH, "--vectors", "vectors", "--lang", "de"), "are of the language en"),
        (("ner", *BOTH, "--train", "no.spacy"), "There is no corpus at no.spacy"),
        (("ner", *BOTH, "--dev", "plain.spacy"), "a corpus with entities as DEV, but it has none"),
        (("ner", *BOTH, "--dev", "de${v}.spacy"), "de${v}.spacy cannot be in a config"),
        (("textcat", *BOTH), "--train and --dev are for ner only"),
        (("ner", "--train", "train.spacy"), "--train, --dev and --max-size need"),
        (("ner", "--max-size", "5M"), "--train, --dev and --max-size need"),
        (("ner", "--lang", "nl", "--vectors", "vectors"), "are of the language en"),
        (("ner", "--lang", "nolanguage"), "Can't import language nolanguage"),
        (("ner", "--vectors", "my$"), "my$ cannot be in a config"),
        (("parser",), "textcat_multilabel"),
    ],
)
def test_what_is_wrong_is_refused(corpora: Path, args: tuple[str, ...], message: str) -> None:
    make_vectors(corpora)
    spacy.blank("en").to_disk("empty")
    plain = Doc(spacy.blank("en").vocab, words=["rain"], ents=["O"])
    write_corpus(corpora / "plain.spacy", [plain])
    assert message in cli.refused("init-config", args[0], "my.cfg", "--lang", "en", *args[1:])
    assert not (corpora / "my.cfg").exists()
