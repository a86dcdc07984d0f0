"""Pipelines of each kind train and predict on a GPU, and move between the GPU and the CPU."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, load_model_from_config
from thinc.api import Config, NumpyOps, Ops, set_current_ops, to_numpy
from typer.testing import CliRunner

from spacy_multihash.cli.group import multihash_cli
from tests.helpers.corpora import SENTENCES, write_corpus
from tests.helpers.several_vectors import save_words

WIDTH = 8
EMBED = {"width": WIDTH, "attrs": ["NORM", "PREFIX", "SHAPE"], "include_static_vectors": False}
HASHED = {**EMBED, "@architectures": "spacy-multihash.MultiHashEmbed.v1", "rows": [30, 20, 20]}
LOOKUP = {**EMBED, "@architectures": "spacy-multihash.MultiEmbed.v1", "unk_dropout": 0.3}
WEIGHTED = {**HASHED, "@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1"}
REPORT_HASH = {**HASHED, "@architectures": "spacy.MultiFewerHashEmbed.v1", "num_hashes": 2}
REPORT_LOOKUP = {**EMBED, "@architectures": "spacy.MultiEmbed.v1", "unk": 0}
NGRAMS = ["NORM", "LOWER{2,3}"]
MAXOUT = {
    "@architectures": "spacy-multihash.MaxoutWindowEncoder.v1",
    "width": WIDTH,
    "depth": 2,
    "window_size": 1,
    "maxout_pieces": 3,
}
SPACY_MAXOUT = {**MAXOUT, "@architectures": "spacy.MaxoutWindowEncoder.v2"}
DILATED = {
    "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
    "width": WIDTH,
    "dilations": [1, 2],
    "repeats": 2,
}
TEXTCAT = {
    "@architectures": "spacy-multihash.TextCatHashEmbed.v1",
    "exclusive_classes": True,
    "width": 6,
    "rows": 40,
    "importance_rows": 60,
}
TABLES = {"@callbacks": "spacy-multihash.init_tables.v1", "min_freq": 1}
TEXTS = [" ".join(words) for words, _ in SENTENCES] + ["", "\n  Zoë and  Bob ?"]
SPANS_KEY = "found"


def tok2vec(embed: dict[str, Any], encode: dict[str, Any] = MAXOUT) -> dict[str, Any]:
    return {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}


def ner(
    embed: dict[str, Any], encode: dict[str, Any] = MAXOUT, factory: str = "ner", **settings: Any
) -> dict[str, Any]:
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 8,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"},
    }
    return {
        "tok2vec": {"factory": "tok2vec", "model": tok2vec(embed, encode)},
        "ner": {"factory": factory, "model": model, **settings},
    }


def tagger_ner(encode: dict[str, Any], **settings: Any) -> dict[str, Any]:
    model = {
        "@architectures": "spacy-multihash.TokenTagger.v1",
        "tok2vec": tok2vec(HASHED, encode),
        "learn_transitions": True,
    }
    return {"tagger_ner": {"factory": "tagger_ner", "model": model, **settings}}


def textcat(factory: str = "textcat", **settings: Any) -> dict[str, Any]:
    return {"textcat": {"factory": factory, "model": {**TEXTCAT, **settings}}}


def meta_vectors(folder: Path, mode: str) -> dict[str, Any]:
    tables = {"vocab": None, "other": save_words(folder / "other", ["Bob", "Rome", "rain"], 5)}
    vectors = {"@architectures": "spacy-multihash.MetaVectors.v1", "tables": tables, "mode": mode}
    return {**HASHED, "vectors": {**vectors, "width": None if mode == "concat" else 7}}


KINDS = {
    "report hash": ner(REPORT_HASH, SPACY_MAXOUT),
    "report lookup": ner(REPORT_LOOKUP, SPACY_MAXOUT),
    "batch_ner": ner(LOOKUP, factory="batch_ner", state_dropout=0.3),
    "batch_ner best": ner(HASHED, factory="batch_ner", decoder="best", spans_key=SPANS_KEY),
    "weighted": ner({**WEIGHTED, "importance_rows": [40, 20, 20]}),
    "n-grams hash": ner({**HASHED, "attrs": NGRAMS, "rows": [30, 40]}),
    "n-grams lookup": ner({**LOOKUP, "attrs": NGRAMS}),
    "vectors hash": ner({**HASHED, "include_static_vectors": True}),
    "vectors lookup": ner({**LOOKUP, "include_static_vectors": True}),
    "dilated": ner(HASHED, DILATED),
    "crf": tagger_ner(MAXOUT, decoder="crf", spans_key=SPANS_KEY),
    "crf dilated": tagger_ner(
        {**DILATED, "residual": True, "normalize": True}, decoder="crf", spans_key=SPANS_KEY
    ),
    "textcat": textcat(),
    "textcat_multilabel": textcat("textcat_multilabel", exclusive_classes=False),
}
WRITTEN = ["ner", "batch_ner", "textcat"]
MODES = ["concat", "mme"]


def config_of(kind: str, folder: Path) -> Config:
    """Complete a config of a kind, with a corpus and vectors in a folder."""
    words = {word for words, _ in SENTENCES for word in words}
    config = Config({"paths": {}, "training": {"dropout": 0.2}, "initialize": {}})
    command, _, pipeline = kind.partition("init-config ")
    if pipeline:
        path = folder / "config.cfg"
        CliRunner().invoke(multihash_cli, ["init-config", pipeline, str(path), "--lang", "en"])
        config = shrink(load_config(path, interpolate=False))
    else:
        name, _, mode = kind.partition("MetaVectors ")
        components = ner(meta_vectors(folder, mode)) if mode else KINDS[kind]
        config["nlp"] = {"lang": "en", "pipeline": list(components)}
        config["components"] = components
        if "lookup" in kind or kind == "batch_ner":
            config["initialize"]["before_init"] = TABLES
    config["initialize"]["vectors"] = save_words(folder / "vectors", sorted(words)[::2], 4)
    config["paths"]["train"] = str(write_corpus(folder / "train.spacy", gold()))
    config["paths"]["dev"] = config["paths"]["train"]
    return load_model_from_config(config, auto_fill=True).config


def shrink(section: Config) -> Config:
    """Make all layers of a config narrow."""
    sizes = {"width": WIDTH, "rows": 40, "importance_rows": 60, "depth": 2}
    for key, value in section.items():
        if isinstance(value, dict):
            shrink(value)
        elif key in sizes and isinstance(value, int):
            section[key] = sizes[key]
    return section


def gold() -> list[Doc]:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words, ents=ents) for words, ents in SENTENCES]
    for doc in docs:
        doc.cats = {"PLACE": float("." in doc.text and "in" in doc.text), "OTHER": 0.0}
        doc.cats["OTHER"] = 1.0 - doc.cats["PLACE"]
    return docs


def trained(config: Config) -> Language:
    """Train on the current device for three steps."""
    nlp = init_nlp(config)
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.01
    for _ in range(3):
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold() * 3]
        losses = nlp.update(examples, sgd=sgd, drop=config["training"]["dropout"])
        assert numpy.isfinite(list(losses.values())).all()
    return nlp


def assert_same_predictions(nlp: Language, other: Language, here: Ops, there: Ops) -> None:
    """Compare what a pipeline predicts; each device has its own last bits."""
    set_current_ops(there)
    others = list(other.pipe(TEXTS))
    set_current_ops(here)
    for doc, same in zip(nlp.pipe(TEXTS), others, strict=True):
        assert [str(ent) for ent in doc.ents] == [str(ent) for ent in same.ents]
        assert doc.cats == pytest.approx(same.cats, abs=1e-5)
        assert_allclose(to_numpy(doc.tensor), to_numpy(same.tensor), atol=1e-5, rtol=1e-4)
        if SPANS_KEY in doc.spans:
            spans, twins = doc.spans[SPANS_KEY], same.spans[SPANS_KEY]
            assert [str(span) for span in spans] == [str(span) for span in twins]
            assert_allclose(spans.attrs["scores"], twins.attrs["scores"], atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("trained_on", ["gpu", "cpu"])
@pytest.mark.parametrize(
    "kind",
    [
        *KINDS,
        *(f"init-config {pipeline}" for pipeline in WRITTEN),
        *(f"MetaVectors {mode}" for mode in MODES),
    ],
)
def test_pipeline_trains_on_one_device_and_predicts_the_same_on_the_other(
    kind: str, trained_on: str, gpu: Ops, tmp_path: Path
) -> None:
    here, there = (gpu, NumpyOps()) if trained_on == "gpu" else (NumpyOps(), gpu)
    set_current_ops(here)
    nlp = trained(config_of(kind, tmp_path))
    nlp.to_disk(tmp_path / "trained")
    set_current_ops(there)
    loaded = spacy.load(tmp_path / "trained")
    assert_same_predictions(nlp, loaded, here, there)
