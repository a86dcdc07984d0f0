"""Measure iterated dilated convolutions and tagger_ner against maxout windows and spaCy's ner.

Three things are timed: encoders, decoders that are given the vectors of tokens, and training steps
of whole pipelines. On a CPU, all of them run in one thread.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import spacy
import typer
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from thinc.api import CupyOps, fix_random_seed, get_current_ops, prefer_gpu
from tqdm import tqdm

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.command import run_benchmark
from benchmarks.common.layers import (
    ATTRS,
    ROWS,
    count_parameters,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
)
from benchmarks.common.options import (
    Fresh,
    Plot,
    Quick,
    Repeats,
    check_only,
    choose_output,
    only_option,
    output_option,
)
from benchmarks.common.pipelines import make_docs, make_examples, update_step
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import judge, print_table, show_ratio
from benchmarks.common.text import (
    Text,
    count_tokens,
    describe_text,
    load_text,
    merge_docs,
    take_batches,
    take_docs,
    take_tokens,
)
from benchmarks.common.timing import (
    Step,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
    words_per_second,
)
from spacy_multihash import build_iterated_dilated_encoder_v1, effective_input_width
from spacy_multihash.embed.find import component_models

ENCODER_PREDICT, ENCODER_TRAIN = ENCODER = ("encoder-predict", "encoder-train")
DECODING, TRAINING = "decoding", "training"
PARTS = (*ENCODER, DECODING, TRAINING)

# Arms. The ratios of a part are to its first arm.
MAXOUT, SPACY_MAXOUT = "MaxoutWindowEncoder", "spacy.MaxoutWindowEncoder"
DILATED = "IteratedDilatedEncoder"
NER, GREEDY, CONSTRAINED, CRF = "spaCy's ner", "greedy", "constrained", "crf"
CROSS_ENTROPY, EVERY_PASS = "cross entropy", "cross entropy of every pass"
# The default encoder of tagger_ner.
DILATED_ENCODER = {
    "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
    "dilations": [1, 2, 1],
    "repeats": 3,
    "residual": True,
    "normalize": True,
}
BASES = {**dict.fromkeys(ENCODER, MAXOUT), DECODING: NER, TRAINING: NER}
COLORS = {
    SPACY_MAXOUT: "#d9d9d9",
    DILATED: "#6baed6",
    GREEDY: "#6baed6",
    CONSTRAINED: "#9ecae1",
    CRF: "#c6dbef",
    CROSS_ENTROPY: "#6baed6",
    EVERY_PASS: "#9ecae1",
}

HEADER = (
    "part",
    "case",
    "text",
    "arm",
    "facts",
    "words/s",
    "first arm's time / own time",
    "target",
)


class Pair(NamedTuple):
    """Two encoders that have one property in common.

    alike: The property.
    dilations, repeats, share: The settings of the IteratedDilatedEncoder.
    depth: The depth of the MaxoutWindowEncoder that comes nearest to it in that property.
    """

    alike: str
    dilations: tuple[int, ...]
    repeats: int
    share: bool
    depth: int

    @property
    def name(self) -> str:
        """Return the name of the pair in the results."""
        stack = f"{self.dilations} x {self.repeats}{'' if self.share else ', not shared'}"
        return f"equal {self.alike}: {stack} / depth {self.depth}"


PARAMETERS, INPUT_WIDTH = "parameters", "input width"
PAIRS = [
    Pair(PARAMETERS, (1, 2), repeats=1, share=True, depth=1),
    Pair(PARAMETERS, (1, 2, 4, 1), repeats=2, share=False, depth=3),
    Pair(INPUT_WIDTH, (1, 2, 4), repeats=1, share=True, depth=8),
    Pair(INPUT_WIDTH, (1, 2, 1), repeats=3, share=True, depth=13),
]


class Target(NamedTuple):
    """The least ratio that an arm should reach."""

    part: str
    arm: str
    labels: Sequence[int]
    least: float


# Our targets.
TARGETS = [Target(DECODING, GREEDY, [18], 5.0), Target(TRAINING, CROSS_ENTROPY, [4, 18], 1.5)]


class Batches(NamedTuple):
    """Batches of docs.

    docs: The number of docs.
    words: The least number of words of each doc. 0 takes the text's own docs.
    alone: Whether each doc is a batch of its own, as in nlp(text).
    """

    docs: int
    words: int = 0
    alone: bool = False


@dataclass(frozen=True)
class Settings:
    """The sizes of everything.

    width: The width of the vectors.
    depth: The depth of the MaxoutWindowEncoder in the pipelines with spaCy's ner.
    labels: The numbers of labels.
    texts: The batches that are encoded. The first two are also decoded.
    alone: The docs that are decoded one by one.
    words: The number of words in a training batch.
    steps: The number of training steps before decoding, so that there are entities as in real text.
    batches: The number of batches that the rounds take in turn.
    repeats: The number of rounds of a measurement.
    """

    width: int = 96
    depth: int = 8
    labels: tuple[int, int] = (4, 18)
    texts: tuple[Batches, Batches, Batches] = (Batches(256), Batches(8, 1000), Batches(1, 10_000))
    alone: Batches = Batches(64, alone=True)
    words: int = 1000
    steps: int = 300
    batches: int = 4
    repeats: int = 20


QUICK = Settings(
    width=16,
    depth=2,
    texts=(Batches(8), Batches(2, 60), Batches(1, 100)),
    alone=Batches(4, alone=True),
    words=60,
    steps=2,
    batches=2,
    repeats=3,
)


class Case(NamedTuple):
    """One comparison.

    part: One of PARTS.
    pair: The encoders that are compared, None in the other parts.
    labels: The number of labels, 0 for encoders.
    batches: The batches. Training steps take batches of Settings.words words instead.
    """

    part: str
    pair: Optional[Pair]
    labels: int
    batches: Batches

    @property
    def what(self) -> str:
        """Return the names of the encoders, or the number of labels."""
        return f"{self.labels} labels" if self.pair is None else self.pair.name

    @property
    def text(self) -> str:
        """Return the length of the docs in words."""
        docs = f"{self.batches.words:,} words" if self.batches.words else "short docs"
        return f"{docs}, one by one" if self.batches.alone else docs

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        return f"{self.part}/{self.what}/{self.text}"


class Work(NamedTuple):
    """The steps that a case times, the tokens of its batches, and facts of each arm."""

    steps: dict[str, Step]
    tokens: list[int]
    arms: dict[str, dict[str, float]]


class Record(TypedDict):
    """A case in the results. A ratio is the time of the first arm divided by that of another."""

    part: str
    what: str
    text: str
    labels: int
    tokens: list[int]
    arms: dict[str, dict[str, float]]
    times_ms: dict[str, list[float]]
    words_per_second: dict[str, float]
    ratio: dict[str, dict[str, float]]


# Settings of a model or a component.
Config = dict[str, Any]
# Gets the number of labels, and returns the pipeline whose components decode.
Trained = Callable[[int], Language]


def dilated(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure the cases that the results lack, and write each when it is done.

    text (Text): The text from which the batches are taken.
    settings (Settings): The sizes.
    results (Results[Record]): The results, to which each case is added.
    only (Sequence[str]): The parts to measure. None of them means all.
    """
    trained = cache(partial(train_decoders, text, settings))
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, text, settings, trained))


def plan(settings: Settings, only: Sequence[str]) -> list[Case]:
    """List the cases.

    Raises ValueError for an unknown part.
    """
    check_only(only, PARTS)
    texts, labels = settings.texts, settings.labels
    cases = [Case(part, pair, 0, batch) for part in ENCODER for pair in PAIRS for batch in texts]
    decoded = (*texts[:2], settings.alone)
    cases += [Case(DECODING, None, number, batch) for number in labels for batch in decoded]
    cases += [Case(TRAINING, None, number, texts[0]) for number in labels]
    return [case for case in cases if not only or case.part in only]


def measure(case: Case, text: Text, settings: Settings, trained: Trained) -> Record:
    """Time all arms of a case in turns."""
    fix_random_seed(0)
    if case.pair is not None:
        work = make_encoder_work(case, case.pair, text, settings)
    elif case.part == DECODING:
        work = make_decoding_work(case, text, settings, trained(case.labels))
    else:
        work = make_training_work(case, text, settings)
    steps = {arm: to_the_end(step) for arm, step in work.steps.items()}
    with limit_threads(1):
        times = time_rounds(steps, rounds=settings.repeats, rng=random.Random(0))
    base = times[BASES[case.part]]
    return Record(
        part=case.part,
        what=case.what,
        text=case.text,
        labels=case.labels,
        tokens=work.tokens,
        arms=work.arms,
        times_ms=list_times(times),
        words_per_second={
            arm: round(words_per_second(work.tokens, each)) for arm, each in times.items()
        },
        ratio={arm: asdict(ratio(base, each)) for arm, each in times.items()},
    )


def to_the_end(step: Step) -> Step:
    """Let a step begin when the GPU is idle, and end when the GPU has finished it."""

    def prepare(i: int) -> Callable[[], object]:
        run = step(i)
        synchronize()

        def run_to_the_end() -> None:
            run()
            synchronize()

        return run_to_the_end

    return prepare


def synchronize() -> None:
    """Wait for the GPU, if there is one in use."""
    ops = get_current_ops()
    if isinstance(ops, CupyOps):
        ops.xp.cuda.get_current_stream().synchronize()


def make_batches(docs: Sequence[Doc], batches: Batches, number: int) -> list[list[Doc]]:
    """Take batches of docs, as they are or merged into longer ones."""
    docs = merge_docs(docs, batches.words) if batches.words else docs
    return take_batches(docs, partial(take_docs, size=batches.docs), number)


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


def annotate(pipe: TrainablePipe, docs: Sequence[Doc]) -> Sequence[Doc]:
    """Predict and set the entities of docs."""
    pipe.set_annotations(docs, pipe.predict(docs))
    return docs


def annotate_alone(pipe: TrainablePipe, docs: Sequence[Doc]) -> Sequence[Doc]:
    """Predict and set the entities of docs, one doc at a time."""
    return [each for doc in docs for each in annotate(pipe, [doc])]


def entity_share(docs: Sequence[Doc]) -> float:
    """Compute the share of tokens that are in entities."""
    return round(sum(len(ent) for doc in docs for ent in doc.ents) / count_tokens(docs), 4)


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


def split_labels(docs: Sequence[Doc], number: int) -> list[Doc]:
    """Copy docs, and split the labels of their entities into a given number.

    Each label is split into about equally many parts, by the first letters of its entities, which a
    model can learn.

    Raises ValueError if the docs have more labels than that, or if a label has more parts than
    first letters.
    """
    letters: dict[str, set[str]] = {}
    for ent in (ent for doc in docs for ent in doc.ents):
        letters.setdefault(ent.label_, set()).add(ent.text[0])
    names: dict[tuple[str, str], str] = {}
    for i, label in enumerate(sorted(letters)):
        parts = number // len(letters) + (i < number % len(letters))
        if not 0 < parts <= len(letters[label]):
            raise ValueError(
                f"{len(letters)} labels cannot be split into {number}: {label} would be split into "
                f"{parts}, and its entities have {len(letters[label])} first letters. Take a "
                "text with more entities, or another number."
            )
        for rank, letter in enumerate(sorted(letters[label])):
            names[label, letter] = f"{label}{rank % parts}"
    copies = []
    for doc in docs:
        copy = doc.copy()
        labels = [names[ent.label_, ent.text[0]] for ent in doc.ents]
        pairs = zip(doc.ents, labels, strict=True)
        copy.set_ents([Span(copy, ent.start, ent.end, label=label) for ent, label in pairs])
        copies.append(copy)
    return copies


def build(
    lang: str,
    docs: Sequence[Doc],
    tok2vec: Optional[Config],
    components: Mapping[str, tuple[str, Config]],
) -> Language:
    """Build a pipeline, and initialize it for the labels of docs.

    tok2vec (Optional[Config]): The model of the tok2vec component, or None for no such component.
    components (Mapping[str, tuple[str, Config]]): The factory and the settings of each other
        component, by its name.
    """
    fix_random_seed(0)
    nlp = spacy.blank(lang)
    if tok2vec is not None:
        nlp.add_pipe("tok2vec", config={"model": tok2vec})
    for name, (factory, config) in components.items():
        nlp.add_pipe(factory, name=name, config=config)
    nlp.initialize(partial(make_examples, nlp, docs))
    return nlp


def tok2vec_model(settings: Settings, encoder: Config) -> Config:
    """Make the settings of a tok2vec of our embedding and an encoder."""
    embedding = {
        "@architectures": "spacy-multihash.MultiHashEmbed.v1",
        "width": settings.width,
        "attrs": ATTRS,
        "rows": ROWS,
        "include_static_vectors": False,
    }
    encoder = {**encoder, "width": settings.width}
    return {"@architectures": "spacy.Tok2Vec.v2", "embed": embedding, "encode": encoder}


def maxout_encoder(settings: Settings) -> Config:
    """Make the settings of our MaxoutWindowEncoder."""
    architecture = "spacy-multihash.MaxoutWindowEncoder.v1"
    sizes = {"depth": settings.depth, "window_size": 1, "maxout_pieces": 3}
    return {"@architectures": architecture, **sizes}


def listen(settings: Settings) -> Config:
    """Make the settings of a listener."""
    architecture = "spacy.Tok2VecListener.v1"
    return {"@architectures": architecture, "width": settings.width, "upstream": "tok2vec"}


def ner(tok2vec: Config) -> tuple[str, Config]:
    """Make the settings of spaCy's ner."""
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": tok2vec,
    }
    return "ner", {"model": model}


def tagger(decoder: str, tok2vec: Config) -> tuple[str, Config]:
    """Make the settings of a tagger_ner, which learns transitions if the decoder is "crf"."""
    architecture = "spacy-multihash.TokenTagger.v1"
    learn = {"learn_transitions": decoder == CRF}
    model = {"@architectures": architecture, **learn, "tok2vec": tok2vec}
    return "tagger_ner", {"decoder": decoder, "model": model}


def find_target(record: Record, arm: str) -> Optional[float]:
    """Return the target of an arm, if it has one."""
    found = (
        target.least
        for target in TARGETS
        if (target.part, target.arm) == (record["part"], arm) and record["labels"] in target.labels
    )
    return next(found, None)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table, one for each arm."""
    rows = []
    for record in records.values():
        for arm, values in record["ratio"].items():
            known = record["arms"][arm]
            row = [record["part"], record["what"], record["text"], arm]
            row += [", ".join(f"{key} {value:,}" for key, value in known.items())]
            row += [f"{record['words_per_second'][arm]:,}", show_ratio(values)]
            rows.append((*row, judge(values, find_target(record, arm))))
    return rows


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios as bars, with intervals and targets."""
    panels: dict[tuple[str, str], list[Bar]] = {}
    for r in records.values():
        bars = panels.setdefault((r["part"], BASES[r["part"]]), [])
        for arm, values in r["ratio"].items():
            if arm != BASES[r["part"]]:
                label = f"{r['what']},\n{r['text']}"
                bars.append(Bar(label, arm, values, find_target(r, arm)))
    drawn = [
        Panel(name, f"time of {base} / of the arm (above 1: faster)", bars)
        for (name, base), bars in panels.items()
    ]
    draw_panels(path, drawn, COLORS, title, size=(15, 6))


def dilated_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(PARTS)] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("dilated")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare dilated convolutions and tagger_ner with maxout windows and spaCy's ner.

    Runs on a GPU if there is one. A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else Settings()
    settings = replace(settings, repeats=repeats or settings.repeats)
    text, machine = load_text(), machine_facts()
    machine["device"] = "GPU" if prefer_gpu() else "CPU"
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    title = f"{machine['cpu']}, {machine['device']}; {text.name}"
    run_benchmark(
        choose_output(output, "dilated", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: dilated(text, settings, results, only or []),
        show=lambda records: print_table(HEADER, table_rows(records), "lllllrrr"),
        draw=partial(draw, title=title),
    )


if __name__ == "__main__":
    typer.run(dilated_cli)
