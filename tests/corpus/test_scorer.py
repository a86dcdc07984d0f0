"""The scorer of seen and unseen entities, in a pipeline and in training."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.training import Corpus
from spacy.training.initialize import init_nlp

from spacy_multihash.corpus.evaluation import (
    evaluate_entities,
    known_entities,
    make_seen_unseen_scorer_v1,
    predict,
)
from tests.helpers.corpora import HASH, make_docs, small_config, write_corpus

SCORER = "spacy-multihash.seen_unseen_scorer.v1"


def make_ner(train: Path, **settings: bool) -> Language:
    nlp = spacy.blank("en")
    scorer = {"@scorers": SCORER, "train": str(train), **settings}
    nlp.add_pipe("ner", config={"scorer": scorer})
    docs = list(Corpus(train)(nlp)) if train.exists() else []
    if docs:
        nlp.initialize(lambda: docs)
    return nlp


def test_scores_are_those_of_evaluate(tmp_path: Path) -> None:
    docs = make_docs()
    path = write_corpus(tmp_path / "train.spacy", docs[1:2])  # Bob, Rome
    nlp = make_ner(path)
    scores = nlp.evaluate(list(Corpus(write_corpus(tmp_path / "dev.spacy", docs))(nlp)))
    examples = list(Corpus(tmp_path / "dev.spacy")(nlp))
    predict(nlp, examples)
    expected = evaluate_entities(examples, known_entities(docs[1:2]))
    assert scores["ents_f"] == expected.overall.f
    for name in ("seen", "unseen"):
        part = expected.masked[name]
        assert [scores[f"ents_{name}_{key}"] for key in "prf"] == [part.p, part.r, part.f]
        assert set(scores[f"ents_{name}_per_type"]) == set(part.per_label)
    assert expected.masked["seen"].entities == 4
    assert expected.masked["unseen"].entities == 3
    rain = [example for example in examples if not example.y.ents]
    scores = make_seen_unseen_scorer_v1(path)(rain)
    assert scores["ents_seen_f"] is None and scores["ents_seen_per_type"] is None


def test_missing_training_corpus_leaves_the_scores_of_spacy(tmp_path: Path) -> None:
    nlp = make_ner(write_corpus(tmp_path / "train.spacy", make_docs()))
    examples = list(Corpus(tmp_path / "train.spacy")(nlp))
    (tmp_path / "train.spacy").unlink()
    with pytest.warns(UserWarning, match=r"not scored: There is no corpus at .*train\.spacy"):
        scores = nlp.evaluate(examples)
    assert "ents_f" in scores and "ents_seen_f" not in scores
    nlp.evaluate(examples)  # warns once


def test_null_as_training_corpus_leaves_the_scores_of_spacy(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "train.spacy", make_docs())
    config = small_config(path, dict[str, Any](HASH))
    config["components"]["ner"]["scorer"] = {"@scorers": SCORER, "train": "${paths.train}"}
    init_nlp(config).to_disk(tmp_path / "model")
    published = {"paths": {"train": None, "dev": None}}
    nlp = spacy.load(tmp_path / "model", config=published)
    assert nlp.config.interpolate()["components"]["ner"]["scorer"]["train"] is None
    with pytest.warns(UserWarning, match=r"not scored: The scorer's training corpus is null\. Set"):
        scores = nlp.evaluate(list(Corpus(path)(nlp)))
    assert "ents_f" in scores and "ents_seen_f" not in scores


def test_scorer_survives_round_trips(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "train.spacy", make_docs())
    nlp = make_ner(path, ignore_case=True)
    nlp.to_disk(tmp_path / "model")
    before, loaded, pickled = (
        each.evaluate(list(Corpus(path)(each)))
        for each in (nlp, spacy.load(tmp_path / "model"), pickle.loads(pickle.dumps(nlp)))
    )
    for after in (loaded, pickled):
        assert before | {"speed": 0} == after | {"speed": 0}
    assert before["ents_seen_per_type"] is not None
