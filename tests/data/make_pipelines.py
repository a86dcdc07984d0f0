"""Train a small pipeline by a config, and save it together with what it predicts.

The folder tests/data/VERSION holds what this program made with that version of the package. Later
versions must load these pipelines and predict the same, which tests/test_saved_pipelines.py checks.
A saved folder is therefore never changed. A version with a new kind of layers gets a folder with a
pipeline of this kind. Its config may be that of a saved pipeline, with other components:

    python -m tests.data.make_pipelines CONFIG tests/data/VERSION/KIND

Each pipeline is saved as spaCy writes it, with a file predictions.json beside. The file has two
entries. "docs" describes what the pipeline predicts for each text. "nodes" lists the names of the
nodes of each component's model, built from the config without weights. The names belong to the
format, because the package finds its layers by the names that are saved.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config, Model, to_numpy

from spacy_multihash import accelerate, compress
from tests.helpers.corpora import write_corpus
from tests.helpers.weights import params

PREDICTIONS = "predictions.json"
SPANS_KEY = "predicted"
EXACT = ("text", "ents", "spans", "parse")  # the rest of a description is numbers

# Words, their IOB2 tags, and a category. Each folder stores every word, so there are few.
SENTENCES = [
    ("Anna Berg lives in Oslo .", "B-PER I-PER O O B-LOC O", "PEOPLE"),
    ("Tom met Anna in New York .", "B-PER O B-PER O B-LOC I-LOC O", "PEOPLE"),
    ("They like Tom Berg .", "O O B-PER I-PER O", "PEOPLE"),
    ("Acme Corp sold 300 cars in Rome .", "B-ORG I-ORG O O O O B-LOC O", "TRADE"),
    ("Globex lost 40 % of its value .", "B-ORG O O O O O O O", "TRADE"),
    ("Tom sold his shares of Acme Corp .", "B-PER O O O O B-ORG I-ORG O", "TRADE"),
    ("The rain in Oslo fell for 12 days .", "O O O B-LOC O O O O O", "WEATHER"),
    ("Rain and snow fell .", "O O O O O", "WEATHER"),
    ("New York has snow .", "B-LOC I-LOC O O O", "WEATHER"),
]
_WORDS = sorted({word for words, _, _ in SENTENCES for word in words.split()})

# Sentences of the corpus, new sentences, unknown words, odd texts, and one of 300 tokens.
TEXTS = [
    "Anna Berg lives in Oslo .",
    "Tom sold his shares of Acme Corp .",
    "New York has snow .",
    "Rain fell in Rome and New York .",
    "Globex sold its cars to Tom Berg .",
    "Anna",
    "",
    "  ",
    "\n Tom \t lives  in\u00a0Rome\n\n",
    "Zoë Müller kaufte 7 Äpfel in Århus 😀",
    "アンナ は オスロ に 住む 。",
    "quux",
    " ".join(random.Random(5).choices([words for words, _, _ in SENTENCES], k=46)),
]


def node_names(config: Config) -> dict[str, list[str]]:
    """Name the nodes of each component's model, as the config builds it, without weights."""
    nlp = load_model_from_config(config)
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.components}
    return {
        name: [node.name for node in model.walk()]
        for name, model in models.items()
        if isinstance(model, Model)
    }


def describe(nlp: Language, doc: Doc) -> dict[str, Any]:
    """Return what a pipeline predicts for a doc, in types that JSON has.

    For a long text, it has the vectors or scores of some tokens only, to save space.
    """
    described: dict[str, Any] = {
        "text": doc.text,
        "ents": [[ent.start, ent.end, ent.label_] for ent in doc.ents],
        "cats": {label: round(score, 6) for label, score in doc.cats.items()},
    }
    tokens = slice(None, None, 1 + len(doc) // 10)
    if nlp.has_pipe("batch_parser"):
        described["parse"] = [[token.head.i, token.dep_, token.tag_] for token in doc]
    if nlp.has_pipe("tok2vec"):
        described["vectors"] = _rounded(doc.tensor[tokens])
    if nlp.has_pipe("batch_ner") and SPANS_KEY in doc.spans:
        spans = doc.spans[SPANS_KEY]
        described["spans"] = [[span.start, span.end, span.label_] for span in spans]
        described["confidences"] = _rounded(spans.attrs["scores"])
    if nlp.has_pipe("tagger_ner"):
        # The model gives the scores after each pass. The last ones decide.
        scores = nlp.get_pipe("tagger_ner").model.predict([doc])[-1]  # type: ignore[attr-defined]
        described["scores"] = _rounded(scores[tokens])
        described["confidences"] = _rounded(doc.spans[SPANS_KEY].attrs["scores"])
    return described


def make_pipeline(config: Path, output: Path, fast: bool = False, small: bool = False) -> None:
    """Train, save and describe a pipeline, after it was accelerated or compressed or neither.

    Raises FileExistsError if there is such a folder: a saved one is never changed.
    """
    output.mkdir(parents=True)
    nlp = _train(config)
    if fast:
        assert not accelerate(nlp).left
    if small:
        compress(nlp, output, force=True)
    else:
        nlp.to_disk(output)
    nlp = spacy.load(output)  # without what is not saved, such as unseen classes
    descriptions = [describe(nlp, nlp(text)) for text in TEXTS]
    _check(spacy.load(output), descriptions)
    lines = ",\n".join(json.dumps(predicted, ensure_ascii=False) for predicted in descriptions)
    text = f'{{"nodes": {json.dumps(node_names(nlp.config))},\n"docs": [\n{lines}\n]}}\n'
    (output / PREDICTIONS).write_text(text, encoding="utf8", newline="\n")


def _train(config: Path) -> Language:
    with tempfile.TemporaryDirectory() as folder:
        nlp = init_nlp(config_of(config, Path(folder)))
        # It splits at whitespace, and takes 0.1 kB on disk. The default one takes 38 kB.
        nlp.tokenizer = Tokenizer(nlp.vocab)
        train(nlp)
    nlp.config["paths"].update(train="train.spacy", dev="train.spacy", vectors=None)
    return nlp


def gold() -> list[Doc]:
    vocab = spacy.blank("xx").vocab
    docs = [_parsed(vocab, words.split(), tags.split()) for words, tags, _ in SENTENCES]
    categories = sorted({category for _, _, category in SENTENCES})
    for doc, (_, _, category) in zip(docs, SENTENCES, strict=True):
        doc.cats = {each: float(each == category) for each in categories}
    return docs


def _parsed(vocab: Vocab, words: list[str], tags: list[str]) -> Doc:
    """Make a doc in which words of entities depend on the next word, others on one before."""
    heads, last = [], 0
    for i, following in enumerate([*tags[1:], "O"]):
        heads.append(i + 1 if following[0] == "I" else last)
        last = last if following[0] == "I" else i
    heads[heads[0]] = heads[0]  # the root
    deps = ["compound" if head > i else "dep" for i, head in enumerate(heads)]
    deps[heads[0]] = "ROOT"
    return Doc(vocab, words, ents=tags, heads=heads, deps=deps)


def config_of(path: Path, folder: Path) -> Config:
    """Read a config, for a corpus and vectors that are written to a folder."""
    config = load_config(path, interpolate=False)
    corpus = str(write_corpus(folder / "train.spacy", gold()))
    config["paths"].update(train=corpus, dev=corpus)
    if "MetaVectors" in config.to_str() or "include_static_vectors = true" in config.to_str():
        config["paths"]["vectors"] = str(_write_vectors(folder / "vectors"))
    config["nlp"] |= {"after_creation": None, "vectors": {"@vectors": "spacy.Vectors.v1"}}
    return load_model_from_config(config, auto_fill=True).config


def _write_vectors(folder: Path) -> Path:
    nlp = spacy.blank("xx")
    rng = numpy.random.default_rng(0)
    for word in _WORDS[::3]:
        nlp.vocab.set_vector(word, rng.normal(size=4).astype("float32"))
    nlp.to_disk(folder)
    return folder


def _check(nlp: Language, descriptions: list[dict[str, Any]]) -> None:
    """Raise ValueError for predictions that say little, or that rounding may change.

    Another machine rounds otherwise. So entities have to stay the same if weights change a little.
    """
    if "textcat" in nlp.pipe_names:
        scores = [score for predicted in descriptions for score in predicted["cats"].values()]
        if max(scores) < 0.7 or min(scores) > 0.1:
            raise ValueError("No text has a clear category.")
    elif "batch_parser" in nlp.pipe_names:
        if len({str(token[1:]) for predicted in descriptions for token in predicted["parse"]}) < 5:
            raise ValueError("Too few labels and tags are predicted.")
    elif sum(len(predicted["ents"]) for predicted in descriptions) < len(TEXTS):
        raise ValueError("There are too few entities.")
    for _ in _disturb(nlp):
        for predicted in descriptions:
            now = describe(nlp, nlp(predicted["text"]))
            if any(now.get(key) != predicted.get(key) for key in EXACT):
                raise ValueError(f"Small changes of weights change {now['text']!r}.")


def _disturb(nlp: Language) -> Iterator[int]:
    """Change all weights by about one part in a thousand, each time from what they were."""
    rng = numpy.random.default_rng(0)
    models = [pipe.model for _, pipe in nlp.components if hasattr(pipe, "model")]
    nodes = [each for model in models for each in params(model)]
    weights = {(node, name): node.get_param(name).copy() for node, name in nodes}
    for trial in range(20):
        for (node, name), values in weights.items():
            factors = rng.normal(1, 0.001, values.shape).astype("float32")
            node.set_param(name, values * factors)
        yield trial


def _rounded(values: Any) -> Any:
    return numpy.round(to_numpy(values).astype("float64"), 6).tolist()


if __name__ == "__main__":
    typer.run(make_pipeline)
