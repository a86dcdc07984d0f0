"""The arms of the experiments on iterated dilated convolutions."""

from collections.abc import Mapping
from typing import Any

from experiments.arms.arm import Arm

WIDTH = 96
DILATIONS = [1, 2, 1]
REPEATS = 3
BOTH: Mapping[str, Any] = {"residual": True, "normalize": True}
PENALTY = 0.001
WORD_DROPOUT = 0.1

EMBED: Mapping[str, Any] = {
    "@architectures": "spacy-multihash.MultiHashEmbed.v1",
    "width": WIDTH,
    "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
    "rows": [5000, 2500, 2500, 2500],
    "include_static_vectors": False,
    "num_hashes": 4,
    "seeds": None,
}
MAXOUT: Mapping[str, Any] = {
    "@architectures": "spacy-multihash.MaxoutWindowEncoder.v1",
    "width": WIDTH,
    "depth": 8,
    "window_size": 1,
    "maxout_pieces": 3,
}


def dilated(**values: Any) -> dict[str, Any]:  # noqa: ANN401 (values of a config)
    """Make the section of iterated dilated convolutions."""
    return {
        "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
        "width": WIDTH,
        "dilations": DILATIONS,
        "repeats": REPEATS,
        "window_size": 1,
        "share": True,
        "residual": False,
        "normalize": False,
        **values,
    }


def _ner(**values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    """Put dilated convolutions before spaCy's ner."""
    return Arm(sections={"components.tok2vec.model.encode": dilated(**values)})


def tagger(
    encode: Mapping[str, Any] | None = None,
    *,
    decoder: str | None = None,
    penalty: float = 0.0,
    embed: Mapping[str, Any] = EMBED,
    **model: Any,  # noqa: ANN401 (values of a config)
) -> Arm:
    """Take tagger_ner alone, with its own tok2vec: by default residual and normalized."""
    component = {
        "factory": "tagger_ner",
        "decoder": decoder,
        "dropout_penalty": penalty,
        "spans_key": None,
        "confidence": "marginal",
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
        "model": {
            "@architectures": "spacy-multihash.TokenTagger.v1",
            "train_passes": "all",
            "learn_transitions": False,
            "word_dropout": 0.0,
            "nO": None,
            **model,
            "tok2vec": {
                "@architectures": "spacy.Tok2Vec.v2",
                "embed": embed,
                "encode": encode or dilated(**BOTH),
            },
        },
    }
    return Arm({"nlp.pipeline": ["tagger_ner"]}, {"components": {"tagger_ner": component}})


DILATED = {
    "dilated": _ner(),
    "dilated_residual": _ner(residual=True),
    "dilated_normalized": _ner(normalize=True),
    "dilated_residual_normalized": _ner(**BOTH),
    "tagger": tagger(),
    "tagger_greedy": tagger(decoder="greedy"),
    "tagger_crf": tagger(learn_transitions=True),
    "tagger_plain": tagger(dilated()),
    "tagger_normalized": tagger(dilated(normalize=True)),
    "tagger_maxout": tagger(MAXOUT),
    "tagger_maxout_crf": tagger(MAXOUT, learn_transitions=True),
    "tagger_unshared": tagger(dilated(share=False, **BOTH)),
    "tagger_last_pass": tagger(train_passes="last"),
    "tagger_penalty": tagger(penalty=PENALTY),
    "tagger_word_dropout": tagger(word_dropout=WORD_DROPOUT),
}
