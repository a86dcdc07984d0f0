"""Pipelines of spaCy's own layers, and what they predict."""

from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config, fix_random_seed

from tests.helpers.arrays import assert_all_close
from tests.helpers.corpora import SENTENCES
from tests.helpers.sections import listener, spacys, tok2vec, transitions

OUR_EMBED = "spacy-multihash.MultiHashEmbed.v1"
OUR_ENCODER = "spacy-multihash.MaxoutWindowEncoder.v1"
ATTRS = ["NORM", "PREFIX", "SPACY"]
EMBED = spacys("MultiHashEmbed.v2", width=16, attrs=ATTRS, rows=[50, 20, 2])
EMBED["include_static_vectors"] = False
ENCODE = spacys("MaxoutWindowEncoder.v2", width=16, depth=2, window_size=1, maxout_pieces=3)
TOK2VEC = tok2vec(EMBED, ENCODE)
CNN = spacys("HashEmbedCNN.v2", width=12, depth=1, embed_size=40, window_size=2, maxout_pieces=2)
CNN |= {"subword_features": True, "pretrained_vectors": None}
LISTENER = listener()
TEXTS = [" ".join(words) for words, _ in SENTENCES] + ["", "\n  Anna and  Bob ?"]


def tagger(tok2vec: dict[str, Any] | str) -> dict[str, Any]:
    return {"factory": "tagger", "model": spacys("Tagger.v2", nO=None, tok2vec=tok2vec)}


def ner(tok2vec: dict[str, Any] | str) -> dict[str, Any]:
    return {"factory": "ner", "model": transitions(tok2vec)}


def gold(nlp: Language) -> list[Example]:
    """Tags are the length of the words, more or less; entities are those of the corpus."""
    docs = [
        Doc(nlp.vocab, words=words, tags=[f"T{len(w) % 3}" for w in words], ents=ents)
        for words, ents in SENTENCES
    ]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]


def add_rules(nlp: Language, rules: dict[str, str], **place: Any) -> Language:
    """Add a component that finds these words: entities with these labels."""
    ruler: Any = nlp.add_pipe("entity_ruler", **place)
    ruler.add_patterns([{"label": label, "pattern": text} for text, label in rules.items()])
    return nlp


def build(components: dict[str, Any]) -> Language:
    """A pipeline with random weights, moved away from their symmetric start."""
    fix_random_seed(0)
    nlp = make(components)
    nlp.initialize(lambda: gold(nlp))
    train(nlp)
    return nlp


def make(components: dict[str, Any]) -> Language:
    config = {"nlp": {"lang": "en", "pipeline": list(components)}, "components": components}
    return load_model_from_config(Config(config), auto_fill=True)


def train(nlp: Language, steps: int = 3) -> dict[str, float]:
    sgd = nlp.resume_training()
    losses: dict[str, float] = {}
    for _ in range(steps):
        losses = nlp.update(gold(nlp), sgd=sgd, drop=0.1)
    return losses


def with_listener(**others: Any) -> dict[str, Any]:
    return {
        "tok2vec": {"factory": "tok2vec", "model": TOK2VEC},
        "tagger": tagger(LISTENER),
        **others,
    }


def predictions(nlp: Language, texts: list[str] = TEXTS) -> list[Any]:
    return [
        (
            [(t.tag_, t.head.i, t.dep_, t.lemma_, t.is_sent_start) for t in doc],
            [(e.text, e.label_) for e in doc.ents],
        )
        for doc in nlp.pipe(texts)
    ]


def assert_equal_tensors(
    one: Language, other: Language, texts: list[str] = TEXTS, atol: float = 1e-5
) -> None:
    found, expected = ([doc.tensor for doc in nlp.pipe(texts)] for nlp in (one, other))
    assert_all_close(found, expected, atol=atol)
