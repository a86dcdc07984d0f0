"""The table of cases: what each measures, and its setup."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Optional

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.initialize import init_nlp
from spacy.util import registry
from thinc.api import Model, to_numpy

from benchmarks import pipelines
from benchmarks.pipelines import OPENBLAS, OUR_ADAM, OURS, SPACY
from benchmarks.probes import can_measure_memory, import_seconds, peak_megabytes
from spacy_multihash.common.timing import Step, time_arms

TOKEN, STEP, SECONDS, MEGABYTES = "us a token", "ms a step", "s", "MB"
TEXTS = 20
STEPS_A_ROUND = 10
PAUSE = 0.2  # seconds before a tok2vec, so that OpenBLAS threads go idle
WIDTH, ROWS, HASHES, TOKENS = 96, 5000, 4, 2000
ATTRS = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
Values = dict[str, list[float]]


class Settings(NamedTuple):
    """The options of the command.

    corpus: Folder with train.spacy and dev.spacy.
    model, small: Trained spaCy pipelines, as packages or folders.
    seconds: The time budget of each timed case.
    quick: Whether to leave out the largest inputs, and to train less.
    """

    corpus: Path
    model: Optional[str]
    small: Optional[str]
    seconds: float
    quick: bool

    @property
    def steps(self) -> int:
        """Return the number of steps to train pipelines before they're timed."""
        return 100 if self.quick else 250


class Case(NamedTuple):
    """A row of the results. `measure` returns the values of each round, by arm."""

    label: str
    unit: str
    measure: Callable[[Settings], Values]
    threads: int = 1


def time_texts(
    settings: Settings, arms: Mapping[str, Language], texts: list[str], batch_size: Optional[int]
) -> Values:
    """Time pipelines on texts, one by one or in batches."""

    def run(nlp: Language) -> None:
        if batch_size is None:
            for text in texts:
                nlp(text)
        else:
            for _ in nlp.pipe(texts, batch_size=batch_size):
                pass

    tokens = sum(len(arms[SPACY].make_doc(text)) for text in texts)
    steps: dict[str, Step] = {arm: partial(run, nlp) for arm, nlp in arms.items()}
    return a_token(time_arms(steps, settings.seconds), tokens)


def a_token(times: Values, tokens: int) -> Values:
    """Turn seconds into microseconds a token."""
    return {arm: [1e6 * t / tokens for t in rounds] for arm, rounds in times.items()}


def one_text(words: int, settings: Settings) -> Values:
    """Time `nlp(text)`, tok2vec and recognizer."""
    arms = pipelines.trained_arms(settings.corpus, settings.steps)
    texts = pipelines.texts_of_length(settings.corpus, words, TEXTS)
    pipelines.check_same_entities(arms, pipelines.dev_texts(settings.corpus))
    return time_texts(settings, arms, texts, None)


def batches(size: int, settings: Settings) -> Values:
    """Time `nlp.pipe`, tok2vec and recognizer."""
    arms = pipelines.trained_arms(settings.corpus, settings.steps)
    texts = pipelines.dev_texts(settings.corpus)[:256]
    pipelines.check_same_entities(arms, texts)
    return time_texts(settings, arms, texts, size)


def tok2vec(settings: Settings) -> Values:
    """Time tok2vec alone on a batch of 256 docs."""
    arms = pipelines.trained_arms(settings.corpus, settings.steps)
    texts = pipelines.dev_texts(settings.corpus)[:256]
    pipes: dict[str, Any] = {arm: nlp.get_pipe("tok2vec") for arm, nlp in arms.items()}
    models = {arm: pipe.model for arm, pipe in pipes.items()}
    return time_models(settings, models, [arms[SPACY].make_doc(text) for text in texts])


def time_models(settings: Settings, models: Mapping[str, Model], docs: Sequence[Doc]) -> Values:
    """Time models of tokens, after checking that their vectors are equal."""
    first, *others = [[to_numpy(Y) for Y in m.predict(docs)] for m in models.values()]
    for other in others:
        numpy.testing.assert_allclose(
            numpy.vstack(other), numpy.vstack(first), rtol=1e-3, atol=1e-3
        )
    steps: dict[str, Step] = {arm: partial(m.predict, docs) for arm, m in models.items()}
    return a_token(time_arms(steps, settings.seconds, pause=PAUSE), sum(map(len, docs)))


def time_training(settings: Settings, arms: Mapping[str, Language]) -> Values:
    """Time `nlp.update` on batches of 1,000 words."""

    def make_step(nlp: Language) -> Step:
        optimizer = nlp.create_optimizer()
        made = pipelines.training_batches(nlp, settings.corpus, 1000)[:4]

        def step() -> None:
            for examples in made:
                nlp.update(examples, sgd=optimizer, drop=0.1)

        return step

    times = time_arms({arm: make_step(nlp) for arm, nlp in arms.items()}, settings.seconds)
    return {arm: [1e3 * t / 4 for t in rounds] for arm, rounds in times.items()}


def training(settings: Settings) -> Values:
    """Time a training step of tok2vec and recognizer, after checking that losses are equal."""
    names = (SPACY, OPENBLAS, OURS, OUR_ADAM)
    make_arms = partial(pipelines.trained_arms, settings.corpus, settings.steps, names)
    pipelines.check_same_losses(make_arms(), settings.corpus)
    return time_training(settings, make_arms())


def recommended(what: str, settings: Settings) -> Values:
    """Time the recommended pipeline and spaCy's default: different models, the same task."""
    is_training = what == "training"
    arms = pipelines.recommended_arms(settings.corpus, settings.steps, our_adam=is_training)
    if is_training:
        return time_training(settings, arms)
    if what == "text":
        texts = pipelines.texts_of_length(settings.corpus, 15, TEXTS)
        return time_texts(settings, arms, texts, None)
    return time_texts(settings, arms, pipelines.dev_texts(settings.corpus)[:256], 256)


def spacy_train(settings: Settings, *, recommended: bool) -> Values:
    """Time the first 200 steps of `spacy train`, without evaluation, ten steps per round.

    The first ten, which also read the corpus, aren't timed.
    """
    default = pipelines.spacy_config(settings.corpus)
    arms = {SPACY: init_nlp(default)}
    if recommended:
        config = pipelines.recommended_config(settings.corpus)
        arms[OURS] = init_nlp(config)
        arms[OUR_ADAM] = init_nlp(pipelines.with_our_adam(config))
    else:
        for arm in (OPENBLAS, OURS, OUR_ADAM):
            arms[arm] = pipelines.make_arm(init_nlp(default), arm)
    loops = {arm: pipelines.training_loop(nlp) for arm, nlp in arms.items()}

    def run(arm: str) -> None:
        for _ in islice(loops[arm], STEPS_A_ROUND):
            pass

    steps: dict[str, Step] = {arm: partial(run, arm) for arm in arms}
    rounds = 4 if settings.quick else 19
    times = time_arms(steps, seconds=600, warm_up=1, max_rounds=rounds)
    return {arm: [1e3 * t / STEPS_A_ROUND for t in each] for arm, each in times.items()}


def trained_pipeline(kind: str, size: Optional[int], settings: Settings) -> Values:
    """Time all components of a trained pipeline on texts of 15 words, or on a batch."""
    model = getattr(settings, kind)
    assert model is not None
    arms = pipelines.loaded_arms(model)
    every = pipelines.dev_texts(settings.corpus)[:256]
    pipelines.check_same_entities(arms, every)
    one = pipelines.texts_of_length(settings.corpus, 15, TEXTS)
    return time_texts(settings, arms, one if size is None else every, size)


def parser(size: Optional[int], settings: Settings) -> Values:
    """Time the parser of a trained pipeline, on docs that have vectors, and no parse."""
    assert settings.model is not None
    arms = pipelines.loaded_arms(settings.model)
    texts = pipelines.dev_texts(settings.corpus)[:256]
    pipelines.check_same_parses(arms, texts)
    if size is None:
        texts = pipelines.texts_of_length(settings.corpus, 15, TEXTS)
    docs: dict[str, list[Doc]] = {}
    for arm, nlp in arms.items():
        tok2vec: Any = nlp.get_pipe("tok2vec")
        docs[arm] = list(tok2vec.pipe(map(nlp.make_doc, texts)))
    fresh: dict[str, list[Doc]] = {}

    def prepare() -> None:
        for arm in docs:
            fresh[arm] = [doc.copy() for doc in docs[arm]]

    def parse(arm: str) -> None:
        pipe: Any = arms[arm].get_pipe("parser")
        if size is None:
            for doc in fresh[arm]:
                pipe(doc)
        else:
            for _ in pipe.pipe(fresh[arm], batch_size=size):
                pass

    steps: dict[str, Step] = {arm: partial(parse, arm) for arm in arms}
    times = time_arms(steps, settings.seconds, prepare=prepare)
    return a_token(times, sum(map(len, docs[SPACY])))


def memory(tokens: int, docs: int, settings: Settings) -> Values:
    """Measure the peak memory of a prediction. spaCy's arm is left out if it wouldn't fit."""
    peaks: Values = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        pipelines.trained(settings.corpus, settings.steps).to_disk(folder)

        def measure(arm: str, tokens: int) -> float:
            return peak_megabytes(folder, arm, settings.corpus, tokens, docs)

        if tokens * docs < 200_000 or fits(10e6 * measure(SPACY, tokens // 10)):
            peaks[SPACY] = [measure(SPACY, tokens)]
        peaks[OURS] = [measure(OURS, tokens)]
    return peaks


def fits(size: float) -> bool:
    """Return whether a process of some bytes leaves a third of the free memory."""
    free = pipelines.free_bytes()
    return free is None or size < free * 2 / 3


def growth(
    settings: Settings,
    *,
    tokens: int = TOKENS,
    width: int = WIDTH,
    rows: int = ROWS,
    hashes: int = HASHES,
) -> Values:
    """Time tok2vec with random weights on one doc. spaCy's has four hashes."""
    doc = Doc(spacy.blank("en").vocab, words=pipelines.take_words(settings.corpus, tokens))
    common = {"width": width, "attrs": ATTRS, "rows": [rows] * len(ATTRS)}
    common["include_static_vectors"] = False
    parts = {OURS: ("spacy-multihash", 1, {"num_hashes": hashes})}
    if hashes == HASHES:
        parts = {SPACY: ("spacy", 2, {}), **parts}
    steps: dict[str, Step] = {}
    for arm, (prefix, version, own) in parts.items():
        build_embed = registry.get("architectures", f"{prefix}.MultiHashEmbed.v{version}")
        build_encoder = registry.get("architectures", f"{prefix}.MaxoutWindowEncoder.v{version}")
        build = registry.get("architectures", "spacy.Tok2Vec.v2")
        encoder = build_encoder(width=width, window_size=1, maxout_pieces=3, depth=4)
        model = build(build_embed(**common, **own), encoder)
        model.initialize(X=[doc])
        steps[arm] = partial(model.predict, [doc])
    return a_token(time_arms(steps, settings.seconds / 2), len(doc))


def imports(settings: Settings) -> Values:
    """Time spaCy up to its first pipeline, without the plugin and with it."""
    steps = {SPACY: False, OURS: True}
    values: Values = {arm: [] for arm in steps}
    for number in range(4 if settings.quick else 11):
        for arm, plugin in steps.items():
            seconds = import_seconds(plugin=plugin)
            if number:  # the first import may write bytecode
                values[arm].append(seconds)
    return values


def can_run(name: str, settings: Settings) -> bool:
    """Return whether a case can run here, with the trained pipeline and the memory it needs."""
    if name.startswith("md/"):
        return settings.model is not None
    if name.startswith("sm/"):
        return settings.small is not None
    if name.startswith("memory/"):
        return can_measure_memory() and not (settings.quick and name in LARGE)
    return not (settings.quick and name in LARGE)


MODEL, SMALL = "`en_core_web_md`, all components", "`en_core_web_sm`, all components"
PARSER = "`en_core_web_md`, parser"
NER = "tok2vec and `ner`"
CASES: dict[str, Case] = {
    **{
        f"text/{n}": Case(f"{NER}, one text of {n} words", TOKEN, partial(one_text, n))
        for n in (5, 15, 50, 200)
    },
    "pipe/32": Case(f"{NER}, batches of 32", TOKEN, partial(batches, 32)),
    "pipe/256": Case(f"{NER}, batches of 256", TOKEN, partial(batches, 256)),
    "tok2vec/1": Case("tok2vec, batches of 256", TOKEN, tok2vec),
    "tok2vec/2": Case("tok2vec, batches of 256, two threads", TOKEN, tok2vec, threads=2),
    "training": Case(f"{NER}, training step of 1,000 words", STEP, training),
    "recommended/text": Case(
        "recommended, one text of 15 words", TOKEN, partial(recommended, "text")
    ),
    "recommended/pipe": Case("recommended, batches of 256", TOKEN, partial(recommended, "pipe")),
    "recommended/training": Case(
        "recommended, training step of 1,000 words", STEP, partial(recommended, "training")
    ),
    "train/default": Case(
        "`spacy train`, default config", STEP, partial(spacy_train, recommended=False)
    ),
    "train/recommended": Case(
        "`spacy train`, recommended", STEP, partial(spacy_train, recommended=True)
    ),
    **{
        f"{kind}/{name}": Case(f"{label}, {what}", TOKEN, measure)
        for kind, label, function in (
            ("md", MODEL, partial(trained_pipeline, "model")),
            ("sm", SMALL, partial(trained_pipeline, "small")),
            ("md/parser", PARSER, parser),
        )
        for name, what, measure in (
            ("text", "one text of 15 words", partial(function, None)),
            ("pipe", "batches of 256", partial(function, 256)),
        )
    },
    "memory/batch": Case(
        f"{NER}, peak memory, 256 docs of 25 tokens", MEGABYTES, partial(memory, 25, 256)
    ),
    "memory/100000": Case(
        f"{NER}, peak memory, a doc of 100,000 tokens", MEGABYTES, partial(memory, 100_000, 1)
    ),
    "memory/1000000": Case(
        f"{NER}, peak memory, a doc of 1,000,000 tokens", MEGABYTES, partial(memory, 1_000_000, 1)
    ),
    "import": Case(
        "`import spacy` and `spacy.blank`, without and with the plugin", SECONDS, imports
    ),
    **{
        f"growth/{what}/{n}": Case(f"tok2vec, {what}: {n:,}", TOKEN, partial(growth, **{what: n}))
        for what, sizes in {
            "tokens": (100, 1000, 10_000, 100_000),
            "width": (32, 64, 128, 256),
            "rows": (500, 5000, 50_000),
            "hashes": (1, 2, 4, 8, 16),
        }.items()
        for n in sizes
    },
}
# The largest inputs, which a quick run leaves out.
LARGE = {"memory/100000", "memory/1000000", "growth/tokens/100000"}
