"""The arms of the experiments on batch_ner: spaCy's ner, all states of a batch at once."""

from collections.abc import Mapping
from typing import Any

from experiments.arms.arm import Arm

# As in base.cfg, so that batch_ner differs from ner in nothing but the component.
MODEL: Mapping[str, Any] = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "ner",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": True,
    "nO": None,
    "tok2vec": {
        "@architectures": "spacy.Tok2VecListener.v1",
        "width": "${components.tok2vec.model.encode.width}",
        "upstream": "*",
    },
}
STATE_DROPOUT = 0.1


def _batch_ner(*, state_dropout: float = STATE_DROPOUT, spacy_gradient: bool = False) -> Arm:
    """Take batch_ner instead of ner, under ner's name."""
    component = {
        "factory": "batch_ner",
        "incorrect_spans_key": None,
        "moves": None,
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
        "update_with_oracle_cut_size": 100,
        "beam_width": 1,
        "beam_density": 0.0,
        "beam_update_prob": 0.0,
        "state_dropout": state_dropout,
        "spacy_gradient": spacy_gradient,
        "decoder": "greedy",
        "spans_key": None,
        "confidence": "exact",
        "candidates_above": None,
        "temperature": 1.0,
        "model": MODEL,
    }
    return Arm(sections={"components.ner": component})


GRADIENTS = {
    "batch_ner": _batch_ner(),
    "batch_ner_spacy_gradient": _batch_ner(spacy_gradient=True),
}
STATE_DROPOUTS = {
    "batch_ner_state_dropout_0": _batch_ner(state_dropout=0.0),
    "batch_ner_state_dropout_0.3": _batch_ner(state_dropout=0.3),
}
BATCH_NER = {**GRADIENTS, **STATE_DROPOUTS}
