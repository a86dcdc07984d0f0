"""Encoders that are timed."""

from thinc.api import get_current_ops

from benchmarks.common.layers import (
    count_parameters,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
)
from benchmarks.common.text import Text, count_tokens
from benchmarks.dilated.cases import (
    DILATED,
    ENCODER_PREDICT,
    MAXOUT,
    SPACY_MAXOUT,
    Case,
    Pair,
    Settings,
)
from benchmarks.dilated.work import Work, make_batches
from spacy_multihash import build_iterated_dilated_encoder_v1, effective_input_width


def make_encoder_work(case: Case, pair: Pair, text: Text, settings: Settings) -> Work:
    """Set up a pair of encoders, and spaCy's encoder with the weights of our maxout encoder."""
    _, dilations, repeats, share, depth = pair
    width, xp = settings.width, get_current_ops().xp
    batches = make_batches(text.docs, case.batches, settings.batches)
    theirs = spacy_layers(width, depth=depth, sample=text.docs[:10])
    inputs = [theirs["embed"].predict(batch) for batch in batches]
    convolutions = build_iterated_dilated_encoder_v1(width, list(dilations), repeats, share=share)
    models = {
        MAXOUT: our_layers(theirs)["encoder"],
        SPACY_MAXOUT: theirs["encoder"],
        DILATED: convolutions.initialize(X=inputs[0]),
    }
    seen: dict[str, float] = dict.fromkeys(models, 1 + 2 * depth)
    seen[DILATED] = effective_input_width(dilations, repeats, 1)
    arms = {
        arm: {"parameters": count_parameters(model), "input width": seen[arm]}
        for arm, model in models.items()
    }
    if case.part == ENCODER_PREDICT:
        steps = {arm: predict_step(model, inputs) for arm, model in models.items()}
    else:
        drawn = [random_gradients(batch, width) for batch in batches]
        gradients = [[xp.asarray(d) for d in each] for each in drawn]
        steps = {arm: training_step(model, inputs, gradients) for arm, model in models.items()}
    return Work(steps, [count_tokens(batch) for batch in batches], arms)
