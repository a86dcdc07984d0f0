"""The factory of the component tagger_ner.

spaCy imports this module whenever it builds a pipeline, whatever is in it. So the component itself,
and all that it needs, is imported when it is used.
"""

from typing import Callable, Optional

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from thinc.api import Config, Model

from ...common.registered import ITERATED_DILATED_ENCODER, MULTI_HASH_EMBED, TOKEN_TAGGER
from ...common.types import Confidence, Decoder

DEFAULT_CONFIG = f"""
[tagger_ner]
decoder = null
dropout_penalty = 0.0
spans_key = null
confidence = "marginal"
threshold = 0.0
temperature = 1.0
incorrect_spans_key = null
scorer = {{"@scorers":"spacy.ner_scorer.v1"}}

[tagger_ner.model]
@architectures = "{TOKEN_TAGGER}"
train_passes = "all"
learn_transitions = false
word_dropout = 0.0
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
    default_config=Config().from_str(DEFAULT_CONFIG)["tagger_ner"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_tagger_ner(
    nlp: Language,
    name: str,
    model: Model,
    decoder: Optional[Decoder],
    dropout_penalty: float,
    spans_key: Optional[str],
    confidence: Confidence,
    scorer: Optional[Callable],
    threshold: float = 0.0,
    incorrect_spans_key: Optional[str] = None,
    temperature: float = 1.0,
    moves: object = None,
    update_with_oracle_cut_size: Optional[int] = None,
) -> TrainablePipe:
    """Build the component; see `EntityTagger`.

    moves, update_with_oracle_cut_size: Settings of spaCy's ner, which are refused.
    """
    from .component import EntityTagger
    from .settings import refuse_settings_of_ner

    refuse_settings_of_ner(
        name, moves=moves, update_with_oracle_cut_size=update_with_oracle_cut_size
    )
    return EntityTagger(
        nlp.vocab,
        model,
        name,
        decoder=decoder,
        dropout_penalty=dropout_penalty,
        spans_key=spans_key,
        confidence=confidence,
        scorer=scorer,
        threshold=threshold,
        incorrect_spans_key=incorrect_spans_key,
        temperature=temperature,
    )
