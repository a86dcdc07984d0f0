"""The factory of the component tagger_ner.

spaCy imports this module whenever it builds any pipeline. So the component and its dependencies are
only imported when it's used.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from thinc.api import Config, Model

from ...common.registered import ITERATED_DILATED_ENCODER, MULTI_HASH_EMBED, TOKEN_TAGGER
from ...common.removed import accept_removed_settings
from ...common.types import Decoder
from ..settings import TaggerSettings

DEFAULT_CONFIG = f"""
[tagger_ner]
scorer = {{"@scorers":"spacy.ner_scorer.v1"}}

[tagger_ner.model]
@architectures = "{TOKEN_TAGGER}"
train_passes = "all"
learn_transitions = false
nO = null

[tagger_ner.model.tok2vec]
@architectures = "spacy.Tok2Vec.v2"

[tagger_ner.model.tok2vec.embed]
@architectures = "{MULTI_HASH_EMBED}"
width = 96
attrs = ["NORM","PREFIX","SUFFIX","SHAPE"]
rows = [5000,2500,2500,2500]
include_static_vectors = false
num_hashes = 4
seeds = null

[tagger_ner.model.tok2vec.encode]
@architectures = "{ITERATED_DILATED_ENCODER}"
width = 96
dilations = [1,2,1]
repeats = 3
window_size = 1
share = true
residual = true
normalize = true
"""


@Language.factory(
    "tagger_ner",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config={**asdict(TaggerSettings()), **Config().from_str(DEFAULT_CONFIG)["tagger_ner"]},
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
@accept_removed_settings("tagger_ner")
def make_tagger_ner(
    nlp: Language,
    name: str,
    model: Model,
    scorer: Optional[Callable],
    decoder: Optional[Decoder],
    spans_key: Optional[str],
    candidates_above: Optional[float],
    threshold: float,
    temperature: float,
) -> TrainablePipe:
    """Build the component; see `EntityTagger`."""
    settings = {
        key: value for key, value in locals().items() if key not in ("nlp", "name", "model")
    }
    from .component import EntityTagger

    return EntityTagger(nlp.vocab, model, name, **settings)
