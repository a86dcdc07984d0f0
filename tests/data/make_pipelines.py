"""Train a small pipeline of each kind, and save it together with what it predicts.

The folder tests/data/VERSION holds what this program made with that version of the package. Later
versions must load these pipelines and predict the same, which tests/test_saved_pipelines.py checks.
A saved folder is therefore never changed. A version with new kinds of layers gets a folder with
these kinds:

    python -m tests.data.make_pipelines tests/data/VERSION [KIND ...]

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
from typing import Annotated, Any, NamedTuple, Optional

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokenizer import Tokenizer  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config, Model, to_numpy
from wasabi import msg

from spacy_multihash import accelerate
from spacy_multihash.pipelines.compress import Precisions, compress
from tests.helpers.corpora import small_config, write_corpus
from tests.helpers.spacy_pipelines import ner

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

WIDTH = 8
EMBED = {"width": WIDTH, "include_static_vectors": False}
HASHED = {**EMBED, "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"], "rows": [50, 30, 30, 30]}
WEIGHTED = {
    **EMBED,
    "@architectures": "spacy-multihash.MultiWeightedHashEmbed.v1",
    "attrs": ["NORM", "SHAPE"],
    "rows": [40, 30],
}
FEATURES = ["NORM", "PREFIX", "SUFFIX", "SHAPE", "ORTH[:2]", "LOWER{3,4}"]
LOOKUP = {
    **EMBED,
    "@architectures": "spacy-multihash.MultiEmbed.v1",
    "attrs": FEATURES,
    "unk_dropout": 0.1,
}
MULTI_HASH = {**HASHED, "@architectures": "spacy-multihash.MultiHashEmbed.v1"}
MAXOUT = {
    "@architectures": "spacy-multihash.MaxoutWindowEncoder.v1",
    "width": WIDTH,
    "depth": 2,
    "window_size": 1,
    "maxout_pieces": 2,
}
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
# Entities that are there before a recognizer runs, one of them of words that it would split.
RULES = [{"label": "DATE", "pattern": "12 days"}, {"label": "LAW", "pattern": "in Rome"}]
TAG_RULES = [
    {"patterns": [[{"LOWER": {"IN": ["rain", "snow"]}}]], "attrs": {"TAG": "NN"}},
    {"patterns": [[{"DEP": "compound"}]], "attrs": {"TAG": "NNP"}},
]
INIT_TABLES = {"@callbacks": "spacy-multihash.init_tables.v1", "min_freq": 1}


class Kind(NamedTuple):
    """What a pipeline is made of."""

    components: dict[str, Any]  # the sections of the config
    before_init: Optional[dict[str, Any]] = None  # the callback before initialization
    has_vectors: bool = False  # whether the vocab has static vectors
    is_accelerated: bool = False  # whether spaCy's layers are replaced after training
    precisions: Optional[Precisions] = None  # the numbers of a compressed pipeline


def _tok2vec(embed: dict[str, Any], encode: dict[str, Any] = MAXOUT) -> dict[str, Any]:
    return {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}


def _ner(
    embed: dict[str, Any], encode: dict[str, Any] = MAXOUT, **settings: Any
) -> dict[str, dict[str, Any]]:
    """Return the sections of a tok2vec, and of spaCy's ner that listens to it."""
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH, "upstream": "*"}
    return {
        "tok2vec": {"factory": "tok2vec", "model": _tok2vec(embed, encode)},
        "ner": {**ner(listener), **settings},
    }


def _tagger_ner(
    embed: dict[str, Any], *, share: bool, learn_transitions: bool, **settings: Any
) -> dict[str, dict[str, Any]]:
    encode = {**DILATED, "share": share, "residual": True, "normalize": True}
    model = {
        "@architectures": "spacy-multihash.TokenTagger.v1",
        "learn_transitions": learn_transitions,
        "tok2vec": _tok2vec(embed, encode),
    }
    return {
        "tagger_ner": {"factory": "tagger_ner", "spans_key": SPANS_KEY, "model": model, **settings}
    }


def _batch_ner(embed: dict[str, Any], **settings: Any) -> dict[str, dict[str, Any]]:
    """Return the sections of a tok2vec, of rules, and of batch_ner after them."""
    sections = _ner(embed, factory="batch_ner", state_dropout=0.1, **settings)
    ruler = {"factory": "entity_ruler"}
    return {"tok2vec": sections["tok2vec"], "entity_ruler": ruler, "batch_ner": sections["ner"]}


def _batch_parser(embed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the sections of a tok2vec, of batch_parser, and of rules that set tags."""
    sections = _ner(embed, factory="batch_parser", min_action_freq=1)
    sections["ner"]["model"]["state_type"] = "parser"
    ruler = {"factory": "indexed_attribute_ruler"}
    return {"tok2vec": sections["tok2vec"], "batch_parser": sections["ner"], "ruler": ruler}


def _meta_vectors(**settings: Any) -> dict[str, dict[str, Any]]:
    tables = {"vocab": None, "second": "${paths.vectors}"}
    vectors = {
        "@architectures": "spacy-multihash.MetaVectors.v1",
        "width": None,
        "tables": tables,
        "mode": "concat",
        "key_attrs": {"second": "LOWER"},
        **settings,
    }
    return _ner({**MULTI_HASH, "vectors": vectors})


def _textcat(model: dict[str, Any], factory: str = "textcat") -> dict[str, dict[str, Any]]:
    return {"textcat": {"factory": factory, "model": model}}


REPORT_LOOKUP = {
    "@architectures": "spacy.MultiEmbed.v1",
    **{"width": WIDTH, "attrs": HASHED["attrs"], "include_static_vectors": True, "unk": 0},
}
CUT = {**MULTI_HASH, "attrs": FEATURES, "rows": [30] * 6}
SCORER = {"@scorers": "spacy-multihash.seen_unseen_scorer.v1", "train": "${paths.train}"}
KINDS = {
    "hash": Kind(_ner({**MULTI_HASH, "num_hashes": [1, 2, 4, 6]}, scorer=SCORER)),
    "weighted": Kind(_ner({**WEIGHTED, "importance_rows": [60, 40]})),
    "weighted_appended": Kind(_ner({**WEIGHTED, "append_importance": True})),
    "weighted_fixed": Kind(
        _ner({**WEIGHTED, "append_importance": True, "train_importance": False})
    ),
    "lookup": Kind(_ner({**LOOKUP, "attrs": HASHED["attrs"]}), INIT_TABLES),
    "dilated": Kind(_ner(MULTI_HASH, DILATED)),
    "tagger_ner": Kind(_tagger_ner(MULTI_HASH, share=False, learn_transitions=True, decoder="crf")),
    "textcat": Kind(_textcat(TEXTCAT)),
    "textcat_multilabel": Kind(
        _textcat({**TEXTCAT, "exclusive_classes": False}, "textcat_multilabel")
    ),
    "accelerated": Kind(
        _ner(
            {**HASHED, "@architectures": "spacy.MultiHashEmbed.v2"},
            {**MAXOUT, "@architectures": "spacy.MaxoutWindowEncoder.v2"},
        ),
        is_accelerated=True,
    ),
    "report_lookup": Kind(_ner(REPORT_LOOKUP), INIT_TABLES, has_vectors=True),
    "batch_ner": Kind(_batch_ner(CUT)),
    "batch_ner_spans": Kind(
        _batch_ner(
            {**CUT, "reduce": "mean", "count_repeats": False},
            spans_key=SPANS_KEY,
            candidates_above=0.05,
            temperature=1.5,
        )
    ),
    "recommended": Kind(
        _tagger_ner(LOOKUP, share=True, learn_transitions=False),
        {**INIT_TABLES, "component": "tagger_ner", "max_rows": 99},
    ),
    "meta_vectors": Kind(_meta_vectors(), has_vectors=True),
    "meta_vectors_mme": Kind(_meta_vectors(mode="mme", width=7), has_vectors=True),
    "compressed": Kind(
        _ner({**MULTI_HASH, "include_static_vectors": True}),
        has_vectors=True,
        precisions=Precisions(),
    ),
    "batch_parser": Kind(_batch_parser(MULTI_HASH)),
    "report_hash": Kind(
        _ner({**HASHED, "@architectures": "spacy.MultiFewerHashEmbed.v1", "num_hashes": 2})
    ),
}


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


def make_pipelines(
    output: Annotated[Path, typer.Argument(help="New folder of the version.")],
    kinds: Annotated[Optional[list[str]], typer.Argument(help="All, if none is named.")] = None,
) -> None:
    """Train, save and describe a pipeline of each kind.

    Raises FileExistsError if there is such a folder: a saved one is never changed.
    """
    output.mkdir(parents=True)
    kinds = kinds or list(KINDS)
    for name in kinds:
        kind = KINDS[name]
        nlp = _train(kind)
        if kind.precisions is None:
            nlp.to_disk(output / name)
        else:
            compress(nlp, output / name, **vars(kind.precisions))
        nlp = spacy.load(output / name)  # without what is not saved, such as unseen classes
        descriptions = [describe(nlp, nlp(text)) for text in TEXTS]
        _check(name, spacy.load(output / name), descriptions)
        _write(output / name / PREDICTIONS, node_names(nlp.config), descriptions)
    msg.good(f"Made {len(kinds)} pipelines", output)


def _train(kind: Kind) -> Language:
    with tempfile.TemporaryDirectory() as folder:
        nlp = init_nlp(config_of(kind, Path(folder)))
        # It splits at whitespace, and takes 0.1 kB on disk. The default one takes 38 kB.
        nlp.tokenizer = Tokenizer(nlp.vocab)
        train(nlp)
    if kind.is_accelerated:
        done = accelerate(nlp)
        assert len(done.replaced) == 3 and not done.left, done
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


def config_of(kind: Kind, folder: Path) -> Config:
    """Write the corpus, and complete the base of all configs for a few large steps."""
    corpus = write_corpus(folder / "train.spacy", gold())
    config = small_config(corpus, {}, **(kind.before_init or {}))
    config["nlp"].update(lang="xx", pipeline=list(kind.components))
    config["components"] = kind.components
    if "entity_ruler" in kind.components:
        config["initialize"]["components"]["entity_ruler"] = {"patterns": RULES}
    if "ruler" in kind.components:
        config["initialize"]["components"]["ruler"] = {"patterns": TAG_RULES}
    config["training"].update(patience=0, max_steps=120, eval_frequency=120, score_weights={})
    config["training"]["batcher"] = {"@batchers": "spacy.batch_by_sequence.v1", "size": 9}
    config["training"]["optimizer"]["learn_rate"] = 0.01
    if kind.has_vectors:
        config["paths"]["vectors"] = str(_write_vectors(folder / "vectors"))
    return load_model_from_config(config, auto_fill=True).config


def _write_vectors(folder: Path) -> Path:
    nlp = spacy.blank("xx")
    rng = numpy.random.default_rng(0)
    for word in _WORDS[::3]:
        nlp.vocab.set_vector(word, rng.normal(size=4).astype("float32"))
    nlp.to_disk(folder)
    return folder


def _check(name: str, nlp: Language, descriptions: list[dict[str, Any]]) -> None:
    """Raise ValueError for predictions that say little, or that rounding may change.

    Another machine rounds otherwise. So entities have to stay the same if weights change a little.
    """
    if "textcat" in nlp.pipe_names:
        scores = [score for predicted in descriptions for score in predicted["cats"].values()]
        if max(scores) < 0.7 or min(scores) > 0.1:
            raise ValueError(f"{name}: no text has a clear category.")
    elif "batch_parser" in nlp.pipe_names:
        if len({str(token[1:]) for predicted in descriptions for token in predicted["parse"]}) < 5:
            raise ValueError(f"{name}: too few labels and tags are predicted.")
    elif sum(len(predicted["ents"]) for predicted in descriptions) < len(TEXTS):
        raise ValueError(f"{name}: there are too few entities.")
    for _ in _disturb(nlp):
        for predicted in descriptions:
            now = describe(nlp, nlp(predicted["text"]))
            if any(now.get(key) != predicted.get(key) for key in EXACT):
                raise ValueError(f"{name}: small changes of weights change {now['text']!r}.")


def _disturb(nlp: Language) -> Iterator[int]:
    """Change all weights by about one part in a thousand, each time from what they were."""
    rng = numpy.random.default_rng(0)
    models = [pipe.model for _, pipe in nlp.components if hasattr(pipe, "model")]
    weights = {
        (node, name): node.get_param(name).copy()
        for model in models
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name)
    }
    for trial in range(20):
        for (node, name), values in weights.items():
            factors = rng.normal(1, 0.001, values.shape).astype("float32")
            node.set_param(name, values * factors)
        yield trial


def _write(path: Path, nodes: dict[str, list[str]], descriptions: list[dict[str, Any]]) -> None:
    lines = ",\n".join(json.dumps(predicted, ensure_ascii=False) for predicted in descriptions)
    text = f'{{"nodes": {json.dumps(nodes)},\n"docs": [\n{lines}\n]}}\n'
    path.write_text(text, encoding="utf8", newline="\n")


def _rounded(values: Any) -> Any:
    return numpy.round(to_numpy(values).astype("float64"), 6).tolist()


if __name__ == "__main__":
    typer.run(make_pipelines)
