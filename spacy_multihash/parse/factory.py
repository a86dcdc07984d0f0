"""The factory of the component batch_parser.

spaCy imports this module whenever it builds any pipeline. So the component and its dependencies are
only imported when it's used.
"""

from typing import Callable, Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from thinc.api import Config, Model

from ..ner.recognizer import other_architecture

DEFAULT_CONFIG = """
[batch_parser]
moves = null
update_with_oracle_cut_size = 100
learn_tokens = false
min_action_freq = 30
scorer = {"@scorers":"spacy.parser_scorer.v1"}
beam_width = 1
beam_density = 0.0
beam_update_prob = 0.0

[batch_parser.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "parser"
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true
nO = null

[batch_parser.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
"""


@Language.factory(
    "batch_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    default_config=Config().from_str(DEFAULT_CONFIG)["batch_parser"],
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

    if "has_upper" not in model.attrs:
        raise other_architecture(name, "spacy.TransitionBasedParser.v2", model.name)
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
