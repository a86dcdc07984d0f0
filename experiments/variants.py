"""Ways to train that cost nothing at prediction: callbacks and a logger for configs.

Smoothed labels (Szegedy et al. 2016), dropout of words by how rare they are (Kiperwasser and
Goldberg 2016), several seeds distilled into one model (Hinton et al. 2015), and the mean of the
last checkpoints (Vaswani et al. 2017).
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Optional

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from spacy_multihash.common.types import Array
from spacy_multihash.corpus.training import training_docs
from spacy_multihash.embed.rows import LOOKUP_NAME, UNKNOWN_ROW
from spacy_multihash.ner.biluo import MISSING
from spacy_multihash.tables.set_tables import count_tables, find_multi_embed

TAGGER = "tagger_ner"
AVERAGED = "model-averaged"
Change = Callable[[Language], None]


@registry.callbacks("experiments.smooth_labels")
def smooth_labels(share: float) -> Change:
    """Spread a share of each gold tag over all tags."""
    return lambda nlp: _soften(nlp, share, lambda docs, nO: numpy.float32(1 / nO))


@registry.callbacks("experiments.distill")
def distill(arm: str, share: float, seeds: int = 3) -> Change:
    """Replace a share of each gold tag by the mean probabilities of trained seeds of an arm."""

    def change(nlp: Language) -> None:
        dataset = Path(nlp.config["paths"]["train"]).parent.name
        folder = Path("training") / dataset / arm / "no-vectors"
        teachers = [spacy.load(folder / str(seed) / "model-best") for seed in range(seeds)]
        known: dict[str, Array] = {}

        def targets(docs: Sequence[Doc], nO: int) -> Array:
            for doc in docs:
                if doc.text not in known:
                    known[doc.text] = mean_probabilities(teachers, doc)
            return numpy.concatenate([known[doc.text] for doc in docs])

        _soften(nlp, share, targets)

    return change


def _soften(nlp: Language, share: float, targets: Callable[[Sequence[Doc], int], Array]) -> None:
    """Replace a share of each token's gold tag by other targets, (N, nO)."""
    tagger: Any = nlp.get_pipe(TAGGER)
    hard_loss = tagger._loss

    def loss(examples: Sequence[Any], scores: Array, gold: numpy.ndarray) -> tuple:
        value, d_scores, d_transitions = hard_loss(examples, scores, gold)
        P, N, nO = scores.shape
        (tagged,) = numpy.nonzero(gold != MISSING)
        shift = -numpy.broadcast_to(targets([eg.predicted for eg in examples], nO), (N, nO))
        shift[tagged, gold[tagged]] += 1
        shift[gold == MISSING] = 0
        return value, d_scores + numpy.float32(share / P) * shift, d_transitions

    tagger._loss = loss


def mean_probabilities(models: Iterable[Language], doc: Doc) -> Array:
    """Return the mean over models of the probabilities of tags, (N, nO)."""
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    of_each = []
    for nlp in models:
        tagger: Any = nlp.get_pipe(TAGGER)
        scores = tagger.model.predict([Doc(nlp.vocab, words, spaces)])[-1]
        scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        of_each.append(scores / scores.sum(axis=1, keepdims=True))
    return numpy.mean(of_each, axis=0)


@registry.callbacks("experiments.drop_rare")
def drop_rare(alpha: float) -> Change:
    """Take a symbol that occurs n times as unknown in a share alpha / (alpha + n) of its uses."""

    def change(nlp: Language) -> None:
        model = find_multi_embed(nlp, TAGGER)
        tables = count_tables([model], training_docs(nlp)).tables
        for node in model.walk():
            if node.name == LOOKUP_NAME:
                counts = tables[node.attrs["attr"].value].counts[: len(node.attrs["symbols"])]
                chances = alpha / (alpha + numpy.concatenate([[numpy.inf], counts]))
                node._func = _with_chances(node._func, chances)

    return change


def _with_chances(forward: Callable, chances: numpy.ndarray) -> Callable:
    def dropping(model: Any, ids: Array, is_train: bool) -> tuple[Array, Callable]:  # noqa: ANN401
        rows, backprop = forward(model, ids, is_train)
        if is_train:
            gone = numpy.random.uniform(size=rows.shape) < chances[rows]
            rows = numpy.where(gone, numpy.int32(UNKNOWN_ROW), rows)
        return rows, backprop

    return dropping


@registry.loggers("experiments.averaging_logger")
def averaging_logger(logger: Any, folder: str, checkpoints: int = 5) -> Any:  # noqa: ANN401
    """Log as another logger does, and save the mean weights of the last checkpoints."""

    def setup(nlp: Language, stdout: IO, stderr: IO) -> tuple[Callable, Callable]:
        log, finish = logger(nlp, stdout, stderr)
        kept: list[dict[Any, Array]] = []

        def log_step(info: Optional[dict[str, Any]]) -> None:
            log(info)
            if info is not None:
                kept.append(_weights(nlp))
                del kept[:-checkpoints]

        def finalize() -> None:
            finish()
            means = {key: numpy.mean([weights[key] for weights in kept], axis=0) for key in kept[0]}
            with nlp.use_params(means):
                nlp.to_disk(Path(folder) / AVERAGED)

        return log_step, finalize

    return setup


def _weights(nlp: Language) -> dict[Any, Array]:
    model: Any = nlp.get_pipe(TAGGER).model  # type: ignore[attr-defined]
    return {
        (node.id, name): node.get_param(name).copy()
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name)
    }
