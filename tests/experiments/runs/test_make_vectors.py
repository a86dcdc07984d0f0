"""The tables that experiments on vectors compare, made of tiny ones."""

from pathlib import Path
from statistics import mean
from typing import Any

import numpy
import pytest
import spacy

from experiments.runs import make_vectors
from experiments.runs.grid import Run
from experiments.runs.make_vectors import COMMANDS, made_names, make, make_vectors_cli
from experiments.runs.vector_files import SMALL_SETS, VECTOR_SETS, VECTORS, made_path
from spacy_multihash.cli.group import multihash_cli
from tests.experiments.runs.test_after import WORDS, small_run_config
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.vectors import random_vectors, write_pipeline


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, dataset in enumerate(VECTOR_SETS):
        Path("corpus", dataset).mkdir(parents=True)
        for split in ("train", "dev", "test"):
            write_corpus(Path("corpus", dataset, f"{split}.spacy"), make_docs(3))
        path = own_path(dataset)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_pipeline(path, random_vectors(len(WORDS) + 1, seed=seed), [*WORDS, "unknown"])


def own_path(dataset: str) -> Path:
    return Path("assets/vectors", VECTORS[dataset])


def test_all_but_words_of_the_corpus_are_pruned_from_a_transformed_table() -> None:
    make("wnut17", "unit")
    nlp = spacy.load(made_path("wnut17", "unit"))
    assert nlp.lang == "en"
    vectors = nlp.vocab.vectors
    assert {nlp.vocab.strings[key] for key in vectors.keys()} == set(WORDS)
    own = spacy.load(own_path("wnut17"))
    lengths = [own.vocab[word].vector_norm for word in WORDS]
    assert [nlp.vocab[word].vector_norm for word in WORDS] == pytest.approx(
        [mean(lengths)] * len(WORDS)
    )


def write_table_of(path: Path, vectors: dict[str, list[float]]) -> str:
    write_pipeline(path, numpy.array([*vectors.values()], dtype="f"), [*vectors])
    return str(path)


def test_a_table_is_as_long_as_before_in_the_mean_of_the_words_of_both() -> None:
    own = write_table_of(Path("own"), {"a": [3, 4], "b": [0, 7], "z": [0, 0], "rare": [99, 0]})
    table = write_table_of(Path("table"), {"z": [1, 0], "b": [0, 1], "a": [2, 0], "new": [5, 0]})
    make_vectors.rescale(Path(table), own, Path("scaled"))
    vocab = spacy.load("scaled").vocab
    # a and b were 6 long in the mean, and are 1.5; z had no vector
    expected = {"a": [8, 0], "b": [0, 4], "z": [4, 0], "new": [20, 0]}
    assert {word: vocab[word].vector.tolist() for word in expected} == expected


def test_a_table_without_words_of_the_corpus_is_refused() -> None:
    own = write_table_of(Path("own"), {"a": [3, 4], "z": [0, 0]})
    table = write_table_of(Path("table"), {"z": [1, 0], "new": [5, 0]})
    with pytest.raises(
        ValueError, match=r"The corpus has no word that own has, .* Give vectors of"
    ):
        make_vectors.rescale(Path(table), own, Path("scaled"))
    assert not Path("scaled").exists()


def test_rounded_vectors_are_as_long_as_they_are() -> None:
    make("wnut17", "quantize_int8")
    nlp, own = map(spacy.load, (made_path("wnut17", "quantize_int8"), own_path("wnut17")))
    vectors = nlp.vocab.vectors
    assert {nlp.vocab.strings[key] for key in vectors.keys()} == set(WORDS)
    for word in WORDS:
        before, after = own.vocab[word].vector, nlp.vocab[word].vector
        steps = 127 * after / abs(before).max()
        assert after.tolist() != before.tolist()
        assert steps.tolist() == pytest.approx(steps.round().tolist(), abs=1e-3)


def test_the_other_table_is_that_of_the_other_language() -> None:
    make("conll-es", "other")
    nlp = spacy.load(made_path("conll-es", "other"))
    other = spacy.load(own_path("conll-nl"))
    assert nlp.lang == "es"
    assert nlp.vocab["Rome"].vector.tolist() == other.vocab["Rome"].vector.tolist()


def test_word2vec_is_trained_on_the_training_texts_and_comes_out_the_same() -> None:
    pytest.importorskip("gensim", reason="gensim is not installed: pip install -e '.[dev]'")
    found = []
    for number in range(2):
        make("wnut17", "word2vec")
        nlp = spacy.load(made_path("wnut17", "word2vec").rename(f"word2vec{number}"))
        found.append(nlp.vocab["Rome"].vector.tolist())
    assert found[0] == found[1] and len(found[0]) == make_vectors.WIDTH
    assert nlp.lang == "en" and not nlp.vocab.has_vector("unknown")


def test_layers_are_pretrained_on_the_training_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(run: Run) -> Any:
        config = small_run_config(run)
        config["pretraining"]["max_epochs"] = 1
        return config

    monkeypatch.setattr(make_vectors, "run_config", quick)
    make("wnut17", "pretrained")
    path = made_path("wnut17", "pretrained")
    assert path.stat().st_size > 1000
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("dataset", "number"), [("conll-es", 16), ("conll-nl", 15), ("wnut17", 14)]
)
def test_what_is_made_depends_on_the_data_set(dataset: str, number: int) -> None:
    names = made_names(dataset)
    assert len(names) == len(set(names)) == number
    assert ("pretrained" in names) == (dataset in SMALL_SETS)
    assert ("other" in names) == ("cca" in names) == (dataset != "wnut17")
    assert ("centre" in names) == (dataset == "wnut17")


def test_commands_are_those_of_the_group_vectors() -> None:
    from typer.main import get_command

    group: Any = get_command(multihash_cli)
    known = group.commands["vectors"].commands
    for name, *options in COMMANDS.values():
        flags = {flag for param in known[name].params for flag in param.opts}
        assert {option for option in options if option.startswith("--")} <= flags


def test_a_command_that_fails_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(COMMANDS, "unit", ("pca", "--width", "99"))
    with pytest.raises(
        ValueError, match=r"multihash vectors pca failed: (?s:.*)axes must be at most 8"
    ):
        make("wnut17", "unit")
    assert list(made_path("wnut17", "unit").parent.iterdir()) == []


def test_command_makes_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(make_vectors, "make", lambda dataset, name: made.append((dataset, name)))
    made_path("wnut17", "unit").mkdir(parents=True)
    result = invoke_command(make_vectors_cli, "wnut17")
    assert result.exit_code == 0, result.output
    assert made == [("wnut17", name) for name in made_names("wnut17") if name != "unit"]


def test_command_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke_command(make_vectors_cli, "anem")
    assert result.exit_code == 1
    assert "Unknown data set 'anem'. Choose one of: conll-es, conll-nl, wnut17." in said(result)
    Path("corpus/conll-nl/train.spacy").unlink()
    for dataset in ("conll-nl", "conll-es"):
        result = invoke_command(make_vectors_cli, dataset)
        assert result.exit_code == 1
        assert f"{dataset} needs the corpus conll-nl (python -m spacy pro" in said(result)

    def fail(dataset: str, name: str) -> None:
        raise ImportError("No module named 'gensim'")

    monkeypatch.setattr(make_vectors, "make", fail)
    result = invoke_command(make_vectors_cli, "wnut17")
    assert result.exit_code == 1
    assert "No module named 'gensim'. Install the package: python -m pip install" in said(result)
