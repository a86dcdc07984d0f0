"""Whole pipelines as steps that can be timed."""

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Optional, Union

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

import spacy_multihash
from benchmarks.common.timing import Step


def pipe_step(nlp: Language, batches: Sequence[Sequence[Doc]], n_process: int = 1) -> Step:
    """Predict fresh docs without a tokenizer."""
    size = nlp.batch_size if n_process == 1 else 64

    def prepare(i: int) -> Callable[[], object]:
        examples = make_examples(nlp, batches[i % len(batches)])
        docs = [example.predicted for example in examples]
        return partial(_pipe, nlp, docs, n_process=n_process, batch_size=size)

    return prepare


def update_step(nlp: Language, batches: Sequence[Sequence[Doc]]) -> Step:
    """Train on the batches in turn, with Adam."""
    optimizer = nlp.create_optimizer()

    def prepare(i: int) -> Callable[[], object]:
        examples = make_examples(nlp, batches[i % len(batches)])
        fix_random_seed(i % 1000)
        return partial(nlp.update, examples, drop=0.1, sgd=optimizer, losses={})

    return prepare


def text_step(nlp: Language, batches: Sequence[Sequence[str]]) -> Step:
    """Predict texts."""
    return lambda i: partial(_pipe, nlp, batches[i % len(batches)])


def make_docs(nlp: Language, docs: Sequence[Doc]) -> list[Doc]:
    """Make docs for a pipeline of the words of docs of another vocab, without annotation."""
    return [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]


def make_examples(nlp: Language, docs: Sequence[Doc]) -> list[Example]:
    """Make examples for a pipeline of the words and entities of docs of another vocab."""
    examples = []
    for doc in docs:
        words = [token.text for token in doc]
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        predicted, reference = Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=tags)
        examples.append(Example(predicted, reference))
    return examples


def accelerate(nlp: Language) -> None:
    """Replace spaCy's layers by ours.

    Raises ValueError if one was not, with which the pipeline would be compared with itself.
    """
    done = spacy_multihash.accelerate(nlp)
    if done.left or not done.replaced:
        raise ValueError(f"Not all layers of the pipeline were accelerated:\n{done}")


@contextmanager
def keep_a_core_busy() -> Iterator[None]:
    """Let another process take as much of a core as it gets."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _pipe(
    nlp: Language,
    texts: Iterable[Union[str, Doc]],
    n_process: int = 1,
    batch_size: Optional[int] = None,
) -> None:
    for _ in nlp.pipe(texts, n_process=n_process, batch_size=batch_size):
        pass
