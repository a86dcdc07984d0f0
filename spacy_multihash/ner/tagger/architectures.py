"""The registered architecture of the model of `tagger_ner`: wiring only."""

from typing import List, Literal, Optional, cast, get_args

from spacy.tokens import Doc
from thinc.api import Linear, Model
from thinc.types import Floats2d

from ...common.checks import MAX_SIZE, check_choice, check_flag, check_whole
from ...common.registered import TOKEN_TAGGER
from ...common.removed import accept_removed_settings
from ...common.types import DocsEncoder, TokenTagger
from ...compute.ops import use_kernel_ops
from .token_tagger import check_tok2vec, token_tagger

_WHERE = "TokenTagger"  # in messages
Passes = Literal["all", "last"]


@accept_removed_settings(TOKEN_TAGGER)
def build_token_tagger_v1(
    tok2vec: Model[List[Doc], List[Floats2d]],
    train_passes: Passes = "all",
    learn_transitions: bool = False,
    nO: Optional[int] = None,
) -> TokenTagger:
    """Score the BILUO tags of all tokens at once, by an affine function of their vectors.

    The model of the component tagger_ner (Strubell et al. 2017, section 4).

    tok2vec (Model[List[Doc], List[Floats2d]]): Docs -> vectors of tokens. To train each pass of an
        encoder, use a spacy.Tok2Vec.v2 whose `encode` is spacy-multihash.IteratedDilatedEncoder.v1.
    train_passes (str): Whether to train "all" passes of the encoder to predict the tags, by the
        mean of their losses (equation 11), or only the "last" pass. The recommended value is "all".
        Other encoders, and listeners, have a single pass.
    learn_transitions (bool): Whether to learn scores for pairs of neighbouring tags. Then the model
        is a linear-chain CRF (equation 2), trained and decoded by tagger_ner. Otherwise tags are
        independent given the vectors (equation 1), which is faster.
    nO (Optional[int]): Number of tags. Leave it null: the component counts its tags.
    RETURNS (TokenTagger): Docs of N tokens to scores (P, N, nO) float32. P is 1 in prediction.

    Raises ValueError if a setting is out of range or has the wrong type, or if you pass an encoder
    as tok2vec.
    """
    check_tok2vec(tok2vec)
    check_choice(_WHERE, "train_passes", train_passes, get_args(Passes))
    check_flag(_WHERE, "learn_transitions", learn_transitions)
    if nO is not None:
        advice = "Set nO = null: the component counts the tags."
        check_whole(_WHERE, "nO", nO, 1, MAX_SIZE, advice=advice)
    output = Linear(nO)
    use_kernel_ops(output)
    return token_tagger(
        cast(DocsEncoder, tok2vec),
        output,
        every_pass=train_passes == "all",
        transitions=learn_transitions,
    )
