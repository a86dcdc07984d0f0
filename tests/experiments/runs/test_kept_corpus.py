"""Dev corpora that runs keep in memory: training makes of them what it makes of spaCy's."""

from pathlib import Path

import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Config

from experiments.runs.grid import Run, config_hash, run_config
from experiments.runs.kept_corpus import KEPT_CORPUS, SPACY_CORPUS
from tests.helpers.corpora import make_docs, write_corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.spacy", make_docs(6))


def readers(config: Config) -> dict[str, str]:
    return {name: section["@readers"] for name, section in config["corpora"].items()}


def trained_bytes(config: Config, corpus: Path) -> bytes:
    """Train for some passes, with evaluations between them."""
    config = config.copy()
    config["paths"].update(train=str(corpus), dev=str(corpus))
    config["training"].update(max_steps=12, eval_frequency=4)
    config["training"]["batcher"]["size"] = 40
    config["training"]["logger"].update(console_output=False, output_file=None)
    nlp = init_nlp(config)
    train(nlp)
    return nlp.to_bytes(exclude=["config"])


@pytest.mark.parametrize("arm", ["multi_hash_embed", "recipe"])
def test_kept_corpora_train_the_weights_that_spacys_train(arm: str, corpus: Path) -> None:
    kept = run_config(Run("wnut17", arm))
    # The loop of training keeps its corpus itself.
    assert readers(kept) == {"train": SPACY_CORPUS, "dev": KEPT_CORPUS}
    read = kept.copy()
    read["corpora"]["dev"]["@readers"] = SPACY_CORPUS
    assert config_hash(read) == config_hash(kept)
    assert trained_bytes(kept, corpus) == trained_bytes(read, corpus)


def test_examples_are_kept_for_a_pipeline_and_read_anew_for_another(corpus: Path) -> None:
    section = {"@readers": KEPT_CORPUS, "path": str(corpus), "gold_preproc": False, "limit": 9}
    kept = registry.resolve({"corpus": section})["corpus"]
    first, second = spacy.blank("en"), spacy.blank("en")
    examples = list(kept(first))
    assert len(examples) == 9
    assert all(a is b for a, b in zip(examples, kept(first), strict=True))
    assert all(example.x.vocab is second.vocab for example in kept(second))
