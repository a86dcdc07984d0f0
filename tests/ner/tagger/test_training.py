"""The component tagger_ner in training, in pipelines with other components, and in tools."""

from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
from numpy.testing import assert_array_equal, assert_equal
from spacy.cli.init_pipeline import init_labels_cli
from spacy.cli.train import train as train_cli
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_multihash.common.types import Decoder
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.sections import spacys
from tests.helpers.spacy_pipelines import CNN
from tests.helpers.tagger_ner import (
    CRF,
    ITERATED,
    LISTENER,
    MAXOUT,
    TEXTS,
    entities_of,
    examples_of,
    gold,
    pipe_of,
    randomized,
    tagger,
    tok2vec,
    trained,
)
from tests.helpers.weights import all_weights, weights_of

MODELS: dict[str, dict[str, Any]] = {
    "all passes": tagger(),
    "last pass": tagger(train_passes="last"),
    "crf": CRF,
    "maxout, crf": tagger(tok2vec(MAXOUT), learn_transitions=True),
    "not shared, residual": tagger(
        tok2vec({**ITERATED, "share": False, "residual": True, "normalize": True})
    ),
    "spaCy's": tagger(CNN),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_learns_the_sentences(name: str) -> None:
    nlp = trained(MODELS[name])
    decoders: list[Decoder] = ["greedy", "constrained", "crf"]
    for decoder in decoders[: 2 + pipe_of(nlp).learns_transitions]:
        pipe_of(nlp).decoder = decoder
        assert entities_of(nlp.pipe(TEXTS[:4])) == gold()
    scores = nlp.evaluate(examples_of(nlp))
    assert (scores["ents_f"], scores["ents_per_type"]["GPE"]["f"]) == (1.0, 1.0)


def test_same_seed_same_weights() -> None:
    one, other = (trained(CRF, 3) for _ in range(2))
    assert_equal(all_weights(one), all_weights(other))


def test_updates_of_empty_docs_change_nothing() -> None:
    nlp, other = randomized(), randomized()
    empty = [Example.from_dict(nlp.make_doc(""), {})]
    sgd = nlp.create_optimizer()
    assert pipe_of(nlp).update(empty, sgd=sgd, drop=0.2) == {"tagger_ner": 0.0}
    assert pipe_of(nlp).update([], sgd=sgd) == {"tagger_ner": 0.0}
    assert_equal(all_weights(nlp), all_weights(other))


def test_another_listener_learns_where_entities_are_not_annotated() -> None:
    # The last listener passes the gradients of all on
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": tok2vec()})
    nlp.add_pipe("tagger", config={"model": spacys("Tagger.v2", tok2vec=LISTENER)})
    nlp.add_pipe("tagger_ner", config={"model": tagger(LISTENER)})
    words = TEXTS[1].split()
    docs = [Doc(nlp.vocab, words=words, tags=list("NVNP")), *make_docs()[:1]]
    examples = [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]
    sgd = nlp.initialize(lambda: examples)
    sgd.L2 = 0.0
    vectors = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    before = weights_of(vectors)
    output = pipe_of(nlp).model.get_ref("output_layer").get_param("W").copy()
    tags = weights_of(nlp.get_pipe("tagger").model)  # type: ignore[attr-defined]
    for _ in range(4):
        nlp.update(examples[:1], sgd=sgd)
    assert any((a != b).any() for a, b in zip(before, weights_of(vectors), strict=True))
    after = weights_of(nlp.get_pipe("tagger").model)  # type: ignore[attr-defined]
    assert any((a != b).any() for a, b in zip(tags, after, strict=True))
    assert_array_equal(pipe_of(nlp).model.get_ref("output_layer").get_param("W"), output)


MINIMAL = """
[nlp]
lang = "en"
pipeline = ["tagger_ner"]

[components]

[components.tagger_ner]
factory = "tagger_ner"
"""


def training_config(corpus: Path, model: dict[str, Any], **sections: Any) -> Config:
    config = Config().from_str(MINIMAL)
    config["paths"] = {"train": str(corpus), "dev": str(corpus)}
    config["components"]["tagger_ner"]["model"] = model
    config["training"] = {"max_steps": 40, "eval_frequency": 20, "seed": 1}
    config["training"]["optimizer"] = {"@optimizers": "Adam.v1", "learn_rate": 0.01}
    config["initialize"] = sections.pop("initialize", {})
    config["components"]["tagger_ner"].update(sections)
    return load_model_from_config(config, auto_fill=True).config


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.spacy", make_docs(4))


def test_spacy_train_takes_labels_from_a_file(corpus: Path, tmp_path: Path) -> None:
    model = MODELS["maxout, crf"]
    first = training_config(corpus, model)
    first.to_disk(tmp_path / "first.cfg")
    folder = tmp_path / "labels"
    init_labels_cli(_Context(), tmp_path / "first.cfg", folder, None, use_gpu=-1)
    path = tmp_path / "labels" / "tagger_ner.json"
    assert srsly.read_json(path) == ["GPE", "PER"]
    srsly.write_json(path, ["PER", "ORG", "GPE"])
    reader = {"@readers": "spacy.read_labels.v1", "path": str(path), "require": True}
    initialize = {"components": {"tagger_ner": {"labels": reader}}}
    config = training_config(corpus, model, initialize=initialize, spans_key="found")
    config.to_disk(tmp_path / "config.cfg")
    train_cli(tmp_path / "config.cfg", tmp_path)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.meta["performance"]["ents_f"] == 1.0
    assert pipe_of(nlp).labels == ("PER", "ORG", "GPE")
    doc = nlp("Anna met Bob in Rome .")
    assert entities_of([doc]) == [[("Anna", "PER"), ("Bob", "PER"), ("Rome", "GPE")]]
    assert len(doc.spans["found"].attrs["scores"]) == 3


class _Context:
    """What typer gives commands that take overrides of the config: none."""

    args: list[str] = []
