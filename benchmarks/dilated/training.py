"""Training steps that are timed."""

from functools import partial

from benchmarks.common.layers import count_parameters
from benchmarks.common.pipelines import update_step
from benchmarks.common.text import Text, count_tokens, take_batches, take_tokens
from benchmarks.dilated.cases import CRF, CROSS_ENTROPY, EVERY_PASS, GREEDY, NER, Case, Settings
from benchmarks.dilated.labels import split_labels
from benchmarks.dilated.pipelines import (
    DILATED_ENCODER,
    build,
    listen,
    maxout_encoder,
    ner,
    tagger,
    tok2vec_model,
)
from benchmarks.dilated.work import Work
from spacy_multihash.embed.find import component_models


def make_training_work(case: Case, text: Text, settings: Settings) -> Work:
    """Set up a pipeline for each component: ner with maxout windows, the others dilated."""
    docs = split_labels(text.docs, case.labels)
    batches = take_batches(docs, partial(take_tokens, size=settings.words), settings.batches)
    listener, own = listen(settings), tok2vec_model(settings, DILATED_ENCODER)
    build_arm = partial(build, text.lang, docs)
    pipelines = {
        NER: build_arm(tok2vec_model(settings, maxout_encoder(settings)), {NER: ner(listener)}),
        CROSS_ENTROPY: build_arm(own, {CROSS_ENTROPY: tagger(GREEDY, listener)}),
        CRF: build_arm(own, {CRF: tagger(CRF, listener)}),
        EVERY_PASS: build_arm(None, {EVERY_PASS: tagger(GREEDY, own)}),
    }
    steps = {arm: update_step(nlp, batches) for arm, nlp in pipelines.items()}
    arms: dict[str, dict[str, float]] = {
        arm: {"parameters": count_parameters(*component_models(nlp).values())}
        for arm, nlp in pipelines.items()
    }
    return Work(steps, [count_tokens(batch) for batch in batches], arms)
