"""The factory of the component batch_parser.

spaCy imports this module whenever it builds any pipeline. So the component and its dependencies are
only imported when it's used.
"""

from typing import Callable, Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.pipeline.dep_parser import DEFAULT_PARSER_MODEL  # type: ignore[import-not-found]
from thinc.api import Model

from ..ner.transition.factory import SHARED_SETTINGS, check_architecture


@Language.factory(
    "batch_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config={
        **SHARED_SETTINGS,
        "model": DEFAULT_PARSER_MODEL,
        "scorer": {"@scorers": "spacy.parser_scorer.v1"},
        "learn_tokens": False,
        "min_action_freq": 30,
    },
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
def make_batch_parser(
    nlp: Language,
    name: str,
    model: Model,
    moves: Optional[TransitionSystem],
    update_with_oracle_cut_size: int,
    learn_tokens: bool,
    min_action_freq: int,
    scorer: Optional[Callable],
    beam_width: int,
    beam_density: float,
    beam_update_prob: float,
) -> TrainablePipe:
    """Build a `BatchDependencyParser`, with the settings of spaCy's parser.

    moves (Optional[TransitionSystem]): The actions. Null makes them from the labels.
    update_with_oracle_cut_size (int): Training cuts docs into parts of about this many actions.
    learn_tokens (bool): Whether to merge tokens that belong together. Experimental in spaCy.
    min_action_freq (int): Training replaces a label by "dep", if fewer arcs of a kind have it.
    scorer (Optional[Callable]): Scores a list of examples.
    beam_width (int), beam_density (float), beam_update_prob (float): As in spaCy's beam_parser.

    Raises ValueError for models of other architectures.
    """
    from .component import BatchDependencyParser

    check_architecture(name, model)
    return BatchDependencyParser(
        nlp.vocab,
        model,
        name,
        moves,
        update_with_oracle_cut_size=update_with_oracle_cut_size,
        learn_tokens=learn_tokens,
        min_action_freq=min_action_freq,
        scorer=scorer,
        beam_width=beam_width,
        beam_density=beam_density,
        beam_update_prob=beam_update_prob,
    )
