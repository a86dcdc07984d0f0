"""Layers of ours in models that hold spaCy's own layers too."""

from pathlib import Path
from typing import Any

import pytest
from thinc.api import Config, Model

from spacy_multihash.cli.init_tables import init_tables
from spacy_multihash.cli.inspect_rows import inspect_rows
from spacy_multihash.embed.find import lookup_names, ngram_layers
from tests.helpers.corpora import HASH, LOOKUP, build, make_docs, small_config, write_corpus

BOW = {
    "@architectures": "spacy.TextCatBOW.v3",
    "exclusive_classes": True,
    "ngram_size": 2,
    "length": 64,
    "no_output_layer": False,
}
ENCODE = {
    "@architectures": "spacy.MaxoutWindowEncoder.v2",
    "width": 16,
    "depth": 1,
    "window_size": 1,
    "maxout_pieces": 2,
}


def spacy_ensemble(embed: dict[str, Any]) -> dict[str, Any]:
    """spaCy's ensemble around an embedding of ours, beside its own bag of words."""
    return {
        "@architectures": "spacy.TextCatEnsemble.v2",
        "linear_model": BOW,
        "tok2vec": {
            "@architectures": "spacy.Tok2Vec.v2",
            "embed": {**embed, "width": 16},
            "encode": ENCODE,
        },
    }


CASES = {
    "lookup": (spacy_ensemble(LOOKUP), ["NORM", "SHAPE"]),
    "hash": (spacy_ensemble(HASH), []),
}
every_case = pytest.mark.parametrize(("model", "looked_up"), list(CASES.values()), ids=list(CASES))


def write_config(folder: Path, model: dict[str, Any]) -> Path:
    """A config whose tables are in corpus.tables, if the model looks any up."""
    corpus = write_corpus(folder / "corpus.spacy", make_docs(3))
    callback = {
        "@callbacks": "spacy-multihash.init_tables.v1",
        "component": "textcat",
        "path": str(folder / "corpus.tables"),
        "min_freq": 1,
    }
    config = small_config(corpus, LOOKUP, **callback)
    config["nlp"]["pipeline"] = ["textcat"]
    config["components"] = {"textcat": {"factory": "textcat", "model": model}}
    config.to_disk(folder / "config.cfg")
    return folder / "config.cfg"


def textcat(config: Path) -> Model:
    return build(Config().from_disk(config, interpolate=False)).get_pipe("textcat").model


@every_case
def test_layers_that_extract_ngrams_are_ours(
    model: dict[str, Any], looked_up: list[str], tmp_path: Path
) -> None:
    found = textcat(write_config(tmp_path, model))
    assert any(node.name == "extract_ngrams" for node in found.walk())
    assert list(ngram_layers(found)) == []
    assert lookup_names(found) == looked_up


@every_case
def test_tables_are_made_and_inspected_beside_layers_of_spacy(
    model: dict[str, Any], looked_up: list[str], tmp_path: Path
) -> None:
    config = write_config(tmp_path, model)
    if looked_up:
        tables = init_tables(config, tmp_path / "corpus.tables", component=["textcat"])
        assert list(tables.tables) == looked_up
    else:
        plain = Config().from_disk(config, interpolate=False)
        plain["initialize"]["before_init"] = None
        plain.to_disk(config)
    inspection = inspect_rows(config, data=tmp_path / "corpus.spacy")
    names = {table.attr for table in inspection.tables}
    assert names == set(looked_up or ["NORM", "SHAPE"])
