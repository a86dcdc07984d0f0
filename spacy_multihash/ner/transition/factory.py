"""The factory of the component batch_ner.

spaCy imports this module whenever it builds any pipeline. So the component and its dependencies are
only imported when it's used.
"""

from dataclasses import asdict
from typing import Any, Callable, Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.pipeline.ner import DEFAULT_NER_MODEL
from thinc.api import Model

from ...common.removed import accept_removed_settings
from ..settings import BatchSettings, other_architecture

# The settings that spaCy's ner and parser share, with our defaults.
SHARED_SETTINGS: dict[str, Any] = {
    "moves": None,
    "update_with_oracle_cut_size": 100,
    "beam_width": 1,
    "beam_density": 0.0,
    "beam_update_prob": 0.0,
}


def check_architecture(name: str, model: Model) -> None:
    """Raise ValueError for a model of another architecture than spaCy's parser_model."""
    if "has_upper" not in model.attrs:
        raise other_architecture(name, "spacy.TransitionBasedParser.v2", model)


@Language.factory(
    "batch_ner",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config={
        **SHARED_SETTINGS,
        "model": DEFAULT_NER_MODEL,
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
        "incorrect_spans_key": None,
        **asdict(BatchSettings()),
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
@accept_removed_settings("batch_ner")
def make_batch_ner(
    nlp: Language,
    name: str,
    model: Model,
    moves: Optional[TransitionSystem],
    update_with_oracle_cut_size: int,
    incorrect_spans_key: Optional[str],
    scorer: Optional[Callable],
    beam_width: int,
    beam_density: float,
    beam_update_prob: float,
    state_dropout: float,
    spacy_gradient: bool,
    spans_key: Optional[str],
    candidates_above: Optional[float],
    temperature: float,
) -> TrainablePipe:
    """Build the component; see `BatchEntityRecognizer`.

    Raises ValueError for models of other architectures.
    """
    settings = {
        key: value for key, value in locals().items() if key not in ("nlp", "name", "model")
    }
    from .component import BatchEntityRecognizer

    check_architecture(name, model)
    return BatchEntityRecognizer(nlp.vocab, model, name, **settings)
