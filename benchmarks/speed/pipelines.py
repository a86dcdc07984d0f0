"""Pipelines that are timed."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Optional, Union

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config

import spacy_multihash
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.paths import ROOT, TRAINED
from benchmarks.common.pipelines import check_same_entities, make_docs, train, update_step
from benchmarks.common.text import Text, count_tokens, read_tweets
from benchmarks.common.timing import Step
from benchmarks.speed.cases import MD, N_PROCESS, Case, Settings
from benchmarks.speed.work import Work, make_batches

CONFIG = ROOT / "configs" / "ablation" / "spacy_multi_hash_embed.cfg"


def make_pipeline_work(case: Case, text: Text, settings: Settings) -> Work:
    """Set up pipelines of tok2vec and ner, trained for some steps, and accelerated or not.

    Raises ValueError if both find other entities.
    """
    is_train = case.what.startswith("pipeline-train")
    n_process = 2 if case.what.endswith(N_PROCESS) else 1
    batches = make_batches(text.docs, long=False, train=is_train, settings=settings)
    overrides = {
        "nlp.lang": text.lang,
        "components.tok2vec.model.encode.width": case.width,
        "components.tok2vec.model.encode.depth": settings.depth,
    }
    config = load_config(CONFIG, overrides=overrides)
    nlp = load_model_from_config(config)
    train(nlp, text.docs, settings.words, settings.steps)
    pipelines = {SPACY: nlp, OURS: load_model_from_config(config).from_bytes(nlp.to_bytes())}
    accelerate(pipelines[OURS])
    docs = [doc for batch in batches for doc in batch]
    found = {arm: list(nlp.pipe(make_docs(nlp, docs))) for arm, nlp in pipelines.items()}
    check_same_entities(found[SPACY], found[OURS], case.name)
    make_step: Callable[[Language, Sequence[Sequence[Doc]]], Step]
    make_step = update_step if is_train else partial(pipe_step, n_process=n_process)
    steps = {arm: make_step(nlp, batches) for arm, nlp in pipelines.items()}
    return Work(steps, [count_tokens(batch) for batch in batches])


def make_md_work(settings: Settings) -> Work:
    """Set up spaCy's trained English pipeline, as it is and accelerated, to annotate texts."""
    pipelines = {SPACY: spacy.load(TRAINED), OURS: spacy.load(TRAINED)}
    accelerate(pipelines[OURS])
    texts = [" ".join(words) for words in read_tweets()]
    starts = range(0, len(texts) - settings.docs, settings.docs)
    batches = [texts[start : start + settings.docs] for start in starts[: settings.batches]]
    found = {arm: list(nlp.pipe(chain(*batches))) for arm, nlp in pipelines.items()}
    check_same_entities(found[SPACY], found[OURS], MD)
    tokenizer = pipelines[SPACY].tokenizer
    tokens = [sum(len(tokenizer(text)) for text in batch) for batch in batches]
    return Work({arm: text_step(nlp, batches) for arm, nlp in pipelines.items()}, tokens)


def accelerate(nlp: Language) -> None:
    """Replace spaCy's layers with ours.

    Raises ValueError if one of them is left: the pipeline would be compared with itself.
    """
    done = spacy_multihash.accelerate(nlp)
    if done.left or not done.replaced:
        raise ValueError(f"Not all layers of the pipeline were accelerated:\n{done}")


def pipe_step(nlp: Language, batches: Sequence[Sequence[Doc]], n_process: int = 1) -> Step:
    """Make a step that predicts the batches in turn, on new docs that have their tokens."""
    size = nlp.batch_size if n_process == 1 else 64

    def prepare(i: int) -> Callable[[], object]:
        docs = make_docs(nlp, batches[i % len(batches)])
        return partial(run_pipe, nlp, docs, n_process=n_process, batch_size=size)

    return prepare


def text_step(nlp: Language, batches: Sequence[Sequence[str]]) -> Step:
    """Make a step that predicts the batches in turn, from texts."""
    return lambda i: partial(run_pipe, nlp, batches[i % len(batches)])


def run_pipe(
    nlp: Language,
    texts: Iterable[Union[str, Doc]],
    n_process: int = 1,
    batch_size: Optional[int] = None,
) -> None:
    """Predict texts or docs, and forget the predictions."""
    for _ in nlp.pipe(texts, n_process=n_process, batch_size=batch_size):
        pass
