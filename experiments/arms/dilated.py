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


def _dilated(**values: Any) -> dict[str, Any]:  # noqa: ANN401 (values of a config)
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
    return Arm(sections={"components.tok2vec.model.encode": _dilated(**values)})


def _tagger(
    encode: Mapping[str, Any] | None = None,
    *,
    decoder: str | None = None,
    penalty: float = 0.0,
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
                "embed": EMBED,
                "encode": encode or _dilated(**BOTH),
            },
        },
    }
    return Arm({"nlp.pipeline": ["tagger_ner"]}, {"components": {"tagger_ner": component}})


DILATED = {
    "dilated": _ner(),
    "dilated_residual": _ner(residual=True),
    "dilated_normalized": _ner(normalize=True),
    "dilated_residual_normalized": _ner(**BOTH),
    "tagger": _tagger(),
    "tagger_greedy": _tagger(decoder="greedy"),
    "tagger_crf": _tagger(learn_transitions=True),
    "tagger_plain": _tagger(_dilated()),
    "tagger_normalized": _tagger(_dilated(normalize=True)),
    "tagger_maxout": _tagger(MAXOUT),
    "tagger_maxout_crf": _tagger(MAXOUT, learn_transitions=True),
    "tagger_unshared": _tagger(_dilated(share=False, **BOTH)),
    "tagger_last_pass": _tagger(train_passes="last"),
    "tagger_penalty": _tagger(penalty=PENALTY),
    "tagger_word_dropout": _tagger(word_dropout=WORD_DROPOUT),
}
