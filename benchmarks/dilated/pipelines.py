"""Pipelines of the components that are timed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Optional

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import fix_random_seed

from benchmarks.common.layers import ATTRS, ROWS
from benchmarks.common.pipelines import make_examples
from benchmarks.dilated.cases import CRF, Settings

# Settings of a model or a component.
Config = dict[str, Any]

# The default encoder of tagger_ner.
DILATED_ENCODER = {
    "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
    "dilations": [1, 2, 1],
    "repeats": 3,
    "residual": True,
    "normalize": True,
}


def build(
    lang: str,
    docs: Sequence[Doc],
    tok2vec: Optional[Config],
    components: Mapping[str, tuple[str, Config]],
) -> Language:
    """Build a pipeline, and initialize it for the labels of docs.

    tok2vec (Optional[Config]): The model of the tok2vec component, or None for no such component.
    components (Mapping[str, tuple[str, Config]]): The factory and the settings of each other
        component, by its name.
    """
    fix_random_seed(0)
    nlp = spacy.blank(lang)
    if tok2vec is not None:
        nlp.add_pipe("tok2vec", config={"model": tok2vec})
    for name, (factory, config) in components.items():
        nlp.add_pipe(factory, name=name, config=config)
    nlp.initialize(partial(make_examples, nlp, docs))
    return nlp


def tok2vec_model(settings: Settings, encoder: Config) -> Config:
    """Make the settings of a tok2vec of our embedding and an encoder."""
    embedding = {
        "@architectures": "spacy-multihash.MultiHashEmbed.v1",
        "width": settings.width,
        "attrs": ATTRS,
        "rows": ROWS,
        "include_static_vectors": False,
    }
    encoder = {**encoder, "width": settings.width}
    return {"@architectures": "spacy.Tok2Vec.v2", "embed": embedding, "encode": encoder}


def maxout_encoder(settings: Settings) -> Config:
    """Make the settings of our MaxoutWindowEncoder."""
    architecture = "spacy-multihash.MaxoutWindowEncoder.v1"
    sizes = {"depth": settings.depth, "window_size": 1, "maxout_pieces": 3}
    return {"@architectures": architecture, **sizes}


def listen(settings: Settings) -> Config:
    """Make the settings of a listener."""
    architecture = "spacy.Tok2VecListener.v1"
    return {"@architectures": architecture, "width": settings.width, "upstream": "tok2vec"}


def ner(tok2vec: Config) -> tuple[str, Config]:
    """Make the settings of spaCy's ner."""
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": tok2vec,
    }
    return "ner", {"model": model}


def tagger(decoder: str, tok2vec: Config) -> tuple[str, Config]:
    """Make the settings of a tagger_ner, which learns transitions if the decoder is "crf"."""
    architecture = "spacy-multihash.TokenTagger.v1"
    learn = {"learn_transitions": decoder == CRF}
    model = {"@architectures": architecture, **learn, "tok2vec": tok2vec}
    return "tagger_ner", {"decoder": decoder, "model": model}
