"""Docs, examples and training steps of whole pipelines."""

from collections.abc import Callable, Sequence
from functools import partial

from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed
from tqdm import tqdm

from benchmarks.common.text import count_tokens, take_batches, take_tokens
from benchmarks.common.timing import Step


def update_step(nlp: Language, batches: Sequence[Sequence[Doc]]) -> Step:
    """Make a step that trains on the batches in turn, with Adam and dropout."""
    optimizer = nlp.create_optimizer()

    def prepare(i: int) -> Callable[[], object]:
        examples = make_examples(nlp, batches[i % len(batches)])
        fix_random_seed(i % 1000)
        return partial(nlp.update, examples, drop=0.1, sgd=optimizer, losses={})

    return prepare


def train(nlp: Language, docs: Sequence[Doc], words: int, steps: int) -> None:
    """Train a new pipeline for some steps, so that it finds entities as in real text.

    words (int): The least number of words in a batch.
    """
    fix_random_seed(0)
    nlp.initialize(partial(make_examples, nlp, docs))
    step = update_step(nlp, take_batches(docs, partial(take_tokens, size=words), steps))
    for i in tqdm(range(steps), desc="train", leave=False):
        step(i)()


def make_docs(nlp: Language, docs: Sequence[Doc]) -> list[Doc]:
    """Copy the words of docs into new docs of a pipeline's vocab."""
    return [Doc(nlp.vocab, words=[token.text for token in doc]) for doc in docs]


def make_examples(nlp: Language, docs: Sequence[Doc]) -> list[Example]:
    """Copy the words and entities of docs into examples of a pipeline's vocab."""
    examples = []
    for doc in docs:
        words = [token.text for token in doc]
        tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
        predicted, reference = Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, ents=tags)
        examples.append(Example(predicted, reference))
    return examples


def annotate(pipe: TrainablePipe, docs: Sequence[Doc]) -> Sequence[Doc]:
    """Predict and set the entities of docs."""
    pipe.set_annotations(docs, pipe.predict(docs))
    return docs


def entity_share(docs: Sequence[Doc]) -> float:
    """Compute the share of tokens that are in entities."""
    return round(sum(len(ent) for doc in docs for ent in doc.ents) / count_tokens(docs), 4)


def check_same_entities(expected: Sequence[Doc], found: Sequence[Doc], where: str) -> None:
    """Check that docs have the same entities.

    Raises ValueError if they differ.
    """
    pairs = [*zip(expected, found, strict=True)]
    others = [pair for pair in pairs if _tags_of(pair[0]) != _tags_of(pair[1])]
    if others:
        theirs, ours = ([(e.start, e.end, e.label_) for e in doc.ents] for doc in others[0])
        raise ValueError(
            f"{where}: batch_ner finds other entities than spaCy's ner in {len(others)} of "
            f"{len(pairs)} docs, so that their times cannot be compared. The first such doc is "
            f'"{others[0][0].text}": spaCy\'s are {theirs}, ours {ours}.'
        )


def _tags_of(doc: Doc) -> list[list[int]]:
    tags: list[list[int]] = doc.to_array([ENT_IOB, ENT_TYPE]).tolist()
    return tags
