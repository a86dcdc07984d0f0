"""The factory of the component batch_ner.

spaCy imports this module whenever it builds any pipeline. So the component and its dependencies are
only imported when it's used.
"""

from dataclasses import asdict
from typing import Any, Callable, Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from thinc.api import Config, Model

from ...common.removed import accept_removed_settings
from ..recognizer import other_architecture
from .settings import Settings

ARCHITECTURE = "spacy.TransitionBasedParser.v2"
_DEFAULT = """
moves = null
update_with_oracle_cut_size = 100
beam_width = 1
beam_density = 0.0
beam_update_prob = 0.0

[pipe.model]
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true
nO = null

[pipe.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
"""


def default_config(state_type: str, scorer: str) -> dict[str, Any]:
    """Make the settings that spaCy's ner and parser share, with their defaults there."""
    config: dict[str, Any] = Config().from_str(f"[pipe]{_DEFAULT}")["pipe"]
    model = {"@architectures": ARCHITECTURE, "state_type": state_type, **config["model"]}
    return {**config, "model": model, "scorer": {"@scorers": scorer}}


def check_architecture(name: str, model: Model) -> None:
    """Raise ValueError for a model of another architecture."""
    if "has_upper" not in model.attrs:
        raise other_architecture(name, ARCHITECTURE, model.name)


@Language.factory(
    "batch_ner",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config={
        **default_config("ner", "spacy.ner_scorer.v1"),
        "incorrect_spans_key": None,
        **asdict(Settings()),
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
    from .component import BatchEntityRecognizer

    check_architecture(name, model)
    return BatchEntityRecognizer(
        nlp.vocab,
        model,
        name,
        moves,
        update_with_oracle_cut_size=update_with_oracle_cut_size,
        beam_width=beam_width,
        beam_density=beam_density,
        beam_update_prob=beam_update_prob,
        incorrect_spans_key=incorrect_spans_key,
        scorer=scorer,
        state_dropout=state_dropout,
        spacy_gradient=spacy_gradient,
        spans_key=spans_key,
        candidates_above=candidates_above,
        temperature=temperature,
    )
