"""Decoders that are timed, given the vectors of tokens."""

from collections.abc import Callable, Sequence
from functools import partial

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from thinc.api import fix_random_seed
from tqdm import tqdm

from benchmarks.common.pipelines import annotate, entity_share, make_docs, update_step
from benchmarks.common.text import Text, count_tokens, take_batches, take_tokens
from benchmarks.common.timing import Step
from benchmarks.dilated.cases import CONSTRAINED, CRF, GREEDY, NER, Case, Settings
from benchmarks.dilated.labels import split_labels
from benchmarks.dilated.pipelines import build, listen, maxout_encoder, ner, tagger, tok2vec_model
from benchmarks.dilated.work import Work, make_batches


def make_decoding_work(case: Case, text: Text, settings: Settings, nlp: Language) -> Work:
    """Set up the components that decode, all with the same vectors of the same docs."""
    batches = make_batches(text.docs, case.batches, settings.batches)
    pipes = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, TrainablePipe)}
    tok2vec = pipes.pop("tok2vec")
    vectors = [tok2vec.predict(make_docs(nlp, batch)) for batch in batches]
    run = annotate_alone if case.batches.alone else annotate

    def prepare(pipe: TrainablePipe, i: int) -> Callable[[], Sequence[Doc]]:
        docs = make_docs(nlp, batches[i % len(batches)])
        tok2vec.set_annotations(docs, vectors[i % len(batches)])
        return partial(run, pipe, docs)

    numbers = range(len(batches))
    annotated = {arm: [prepare(pipe, i)() for i in numbers] for arm, pipe in pipes.items()}
    steps: dict[str, Step] = {arm: partial(prepare, pipe) for arm, pipe in pipes.items()}
    arms = {
        arm: {
            "entity share": entity_share([d for batch in found for d in batch]),
            "of text": entity_share([d for batch in batches for d in batch]),
        }
        for arm, found in annotated.items()
    }
    return Work(steps, [count_tokens(batch) for batch in batches], arms)


def annotate_alone(pipe: TrainablePipe, docs: Sequence[Doc]) -> Sequence[Doc]:
    """Predict and set the entities of docs, one doc at a time."""
    return [each for doc in docs for each in annotate(pipe, [doc])]


def train_decoders(text: Text, settings: Settings, labels: int) -> Language:
    """Train all components that decode for some steps, on one shared tok2vec."""
    docs = split_labels(text.docs, labels)
    batches = take_batches(docs, partial(take_tokens, size=settings.words), settings.steps)
    listener = listen(settings)
    components = {NER: ner(listener)}
    components.update({arm: tagger(arm, listener) for arm in (GREEDY, CONSTRAINED, CRF)})
    fix_random_seed(0)
    nlp = build(text.lang, docs, tok2vec_model(settings, maxout_encoder(settings)), components)
    step = update_step(nlp, batches)
    for i in tqdm(range(settings.steps), desc=f"train for {labels} labels", leave=False):
        step(i)()
    return nlp
