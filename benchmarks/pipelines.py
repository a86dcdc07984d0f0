"""The pipelines to compare: spaCy's, spaCy's with numpy's matrix products, and ours."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import chain, cycle, islice
from math import isclose
from pathlib import Path
from typing import Any, Optional
from unittest import mock

import numpy
import spacy
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.ml import tb_framework
from spacy.ml.tb_framework import ParserStepModel
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_train_batches, train_while_improving
from spacy.util import load_model_from_config, registry, resolve_dot_names
from thinc.api import Config, Model, NumpyOps, fix_random_seed

from spacy_multihash import BatchEntityRecognizer, accelerate

SPACY = "spaCy"
OPENBLAS = "spaCy with OpenBLAS"
OURS = "ours"
OUR_ADAM = "ours, with our Adam"
ADAM = "spacy-multihash.Adam.v1"


class NumpyProducts(NumpyOps):
    """thinc's ops with numpy's matrix products, which come from OpenBLAS in its wheels."""

    def gemm(
        self,
        x: Any,  # noqa: ANN401
        y: Any,  # noqa: ANN401
        out: Any = None,  # noqa: ANN401
        trans1: bool = False,
        trans2: bool = False,
    ) -> Any:  # noqa: ANN401
        """Multiply two matrices, each transposed first if requested."""
        return numpy.matmul(x.T if trans1 else x, y.T if trans2 else y, out=out)


def use_numpy_products(nlp: Language) -> None:
    """Use numpy's matrix products in all layers of a pipeline."""
    ops = NumpyProducts()
    for _, pipe in nlp.components:
        if isinstance(model := getattr(pipe, "model", None), Model):
            for node in model.walk():
                node.ops = ops


def make_arm(nlp: Language, arm: str) -> Language:
    """Change a spaCy pipeline into an arm, in place."""
    if arm == OPENBLAS:
        use_numpy_products(nlp)
    elif arm != SPACY:
        done = accelerate(nlp)
        if done.left or not done.replaced:
            raise RuntimeError(f"Not all layers of the pipeline were accelerated:\n{done}")
    if arm == OUR_ADAM:
        nlp.config = with_our_adam(nlp.config)
    return nlp


def with_our_adam(config: Config) -> Config:
    """Copy a config, with our optimizer instead of spaCy's."""
    config = config.copy()
    config["training"]["optimizer"]["@optimizers"] = ADAM
    return config


def spacy_config(corpus: Path) -> Config:
    """Make spaCy's default config of an entity recognizer."""
    return with_corpus(init_config(lang="en", pipeline=["ner"]), corpus)


def recommended_config(corpus: Path) -> Config:
    """Make the same config as `init-config ner`."""
    command = [sys.executable, "-m", "spacy", "multihash", "init-config", "ner", "-", "-l", "en"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf8")
    return with_corpus(Config().from_str(done.stdout, interpolate=False), corpus)


def with_corpus(config: Config, corpus: Path) -> Config:
    """Set the files to train on."""
    config["paths"]["train"] = str(corpus / "train.spacy")
    config["paths"]["dev"] = str(corpus / "dev.spacy")
    return config


@cache
def trained(corpus: Path, steps: int, *, recommended: bool = False) -> Language:
    """Train a pipeline for some steps of 300 words, so that it finds entities as in real text."""
    config = recommended_config(corpus) if recommended else spacy_config(corpus)
    nlp = init_nlp(config)
    optimizer = nlp.create_optimizer()
    for examples in islice(cycle(training_batches(nlp, corpus, 300)), steps):
        nlp.update(examples, sgd=optimizer, drop=0.1)
    return nlp


def copy_pipeline(nlp: Language) -> Language:
    """Copy a pipeline with its weights."""
    return load_model_from_config(nlp.config.interpolate()).from_bytes(nlp.to_bytes())


def trained_arms(
    corpus: Path, steps: int, arms: tuple[str, ...] = (SPACY, OPENBLAS, OURS)
) -> dict[str, Language]:
    """Make the arms of spaCy's default pipeline, with the same trained weights."""
    nlp = trained(corpus, steps)
    return {arm: make_arm(copy_pipeline(nlp), arm) for arm in arms}


def recommended_arms(corpus: Path, steps: int, *, our_adam: bool = False) -> dict[str, Language]:
    """Train the recommended pipeline and spaCy's default."""
    nlp = trained(corpus, steps, recommended=True)
    arms = {SPACY: copy_pipeline(trained(corpus, steps)), OURS: copy_pipeline(nlp)}
    if our_adam:
        arms[OUR_ADAM] = copy_pipeline(nlp)
        arms[OUR_ADAM].config = with_our_adam(nlp.config)
    return arms


def loaded_arms(model: str) -> dict[str, Language]:
    """Make the arms of a trained pipeline, from its package or folder."""
    return {arm: make_arm(spacy.load(model), arm) for arm in (SPACY, OPENBLAS, OURS)}


def check_same_entities(arms: Mapping[str, Language], texts: list[str]) -> None:
    """Check that all arms find the same entities in some texts, and at least one entity.

    Raises RuntimeError otherwise.
    """
    found = {arm: [entities(doc) for doc in nlp.pipe(texts)] for arm, nlp in arms.items()}
    if not any(found[SPACY]):
        raise RuntimeError("spaCy finds no entities in the texts: train for more steps.")
    for arm, docs in found.items():
        for text, expected, ours in zip(texts, found[SPACY], docs, strict=True):
            if ours != expected:
                raise RuntimeError(f"{arm}: {ours} instead of {expected} in {text!r}.")


def check_same_losses(arms: Mapping[str, Language], corpus: Path) -> None:
    """Check that a batch of 1,000 words has the same loss in all arms, without any dropout.

    Leaves gradients and other settings in the arms: don't use them for anything else.

    Raises RuntimeError for a loss that isn't spaCy's.
    """
    losses = {}
    for arm, nlp in arms.items():
        ner: Any = nlp.get_pipe("ner")
        if isinstance(ner, BatchEntityRecognizer):
            ner.state_dropout = 0.0
        fix_random_seed(0)  # long docs are cut at random
        no_step: Any = False
        examples = training_batches(nlp, corpus, 1000)[0]
        # spaCy drops a tenth of the hidden layer, whatever the settings.
        without_dropout = partial(ParserStepModel, dropout=0.0)
        with mock.patch.object(tb_framework, "ParserStepModel", without_dropout):
            losses[arm] = nlp.update(examples, sgd=no_step, drop=0.0)["ner"]
    for arm, loss in losses.items():
        if not isclose(loss, losses[SPACY], rel_tol=1e-4, abs_tol=1e-4):
            raise RuntimeError(f"{arm}: the loss is {loss} instead of {losses[SPACY]}.")


def check_same_parses(arms: Mapping[str, Language], texts: list[str]) -> None:
    """Check that all arms find the same heads and labels in some texts.

    Raises RuntimeError otherwise.
    """
    found = {arm: [parses(doc) for doc in nlp.pipe(texts)] for arm, nlp in arms.items()}
    for arm, docs in found.items():
        for text, expected, ours in zip(texts, found[SPACY], docs, strict=True):
            if ours != expected:
                raise RuntimeError(f"{arm}: {ours} instead of {expected} in {text!r}.")


def parses(doc: Doc) -> list[tuple[int, str, bool]]:
    """List the head, the label and the sentence start of each token."""
    return [(token.head.i, token.dep_, bool(token.is_sent_start)) for token in doc]


def entities(doc: Doc) -> list[tuple[int, int, str]]:
    """List the entities of a doc."""
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def training_batches(nlp: Language, corpus: Path, words: int) -> list[list[Example]]:
    """Cut the training corpus into batches of at least some number of words."""
    batches: list[list[Example]] = [[]]
    for doc in read_docs(corpus / "train.spacy", nlp):
        if sum(len(example) for example in batches[-1]) >= words:
            batches.append([])
        batches[-1].append(Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc))
    return batches


def training_loop(nlp: Language) -> Iterator[object]:
    """Train as `spacy train` does, without evaluation, and yield after each step."""
    config = nlp.config.interpolate()
    settings = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    (read_train,) = resolve_dot_names(config, [settings["train_corpus"]])
    names = ("dropout", "accumulate_gradient", "patience", "eval_frequency", "before_update")
    fix_random_seed(0)
    yield from train_while_improving(
        nlp,
        settings["optimizer"],
        create_train_batches(nlp, read_train, settings["batcher"], settings["max_epochs"]),
        lambda: (0.0, {}),
        max_steps=0,
        exclude=[],
        annotating_components=[],
        **{name: settings[name] for name in names},
    )


def read_docs(path: Path, nlp: Language) -> Iterator[Doc]:
    """Read the docs of a file."""
    return DocBin().from_disk(path).get_docs(nlp.vocab)


@cache
def dev_texts(corpus: Path) -> list[str]:
    """Read the texts of the dev corpus."""
    return [" ".join(words) for words in dev_words(corpus)]


@cache
def dev_words(corpus: Path) -> list[list[str]]:
    """Read the words of the dev corpus, as a list for each doc."""
    docs = read_docs(corpus / "dev.spacy", spacy.blank("en"))
    return [[token.text for token in doc if not token.is_space] for doc in docs]


def take_words(corpus: Path, number: int) -> list[str]:
    """Take words of the dev corpus, which is repeated if it's too short."""
    return list(islice(cycle(chain.from_iterable(dev_words(corpus))), number))


def texts_of_length(corpus: Path, words: int, number: int) -> list[str]:
    """Cut the dev corpus into texts with the same number of words."""
    stream = take_words(corpus, words * number)
    return [" ".join(stream[i : i + words]) for i in range(0, len(stream), words)]


def free_bytes() -> Optional[int]:
    """Return how much memory is free, or None if the system doesn't say."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
