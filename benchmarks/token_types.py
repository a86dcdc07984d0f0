"""Measure how much time is saved by embedding each distinct token of a batch once."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer
from spacy.tokens import Doc
from thinc.api import Model, chain, fix_random_seed
from wasabi import msg

from benchmarks.common.layers import (
    ATTRS,
    ROWS,
    SPACY,
    check_same_vectors,
    predict_step,
    random_gradients,
    training_step,
)
from benchmarks.common.tables import print_table
from benchmarks.common.text import count_tokens, count_types, read_docs, take_docs, take_tokens
from benchmarks.common.timing import Ratio, Step, Times, limit_threads, ratio, time_rounds
from spacy_multihash import build_multi_hash_embed_v1, embed_to_spacy, spacy_seeds
from spacy_multihash.common.files import write_json

WIDTH = 96
HASHES = 4
TRAINING_TOKENS = 1000
PREDICTION_DOCS = 256
TOKENS = [10, 250, 1000, 4000, 16000]
NUM_HASHES = [1, 2, 4, 8]
WIDTHS = [64, 96, 128]

WITH, EVERY_TOKEN = "with types", "every token"


@dataclass(frozen=True)
class Comparison:
    """One batch and one size of embedding, with and without types.

    case: The name of the case.
    step: "predict", a forward pass, or "train", a forward and a backward pass without an optimizer.
    width, num_hashes: The width and the number of hash functions of the embedding.
    docs, tokens, types: The number of docs, tokens (N) and distinct tokens (U) in the batch.
    every_token: The time of the same layer on every token, divided by the time with types.
    spacy: The time of spacy.MultiHashEmbed.v2 with the same weights, divided by the time with
        types. None if it cannot have the number of hash functions.
    per_token: The time per token with types, divided by that of the first case of the group.
    """

    case: str
    step: str
    width: int
    num_hashes: int
    docs: int
    tokens: int
    types: int
    every_token: Ratio
    spacy: Optional[Ratio]
    per_token: Ratio


@dataclass(frozen=True)
class Case:
    """A batch of docs, and the sizes of an embedding to run on it."""

    name: str
    docs: list[Doc]
    width: int = WIDTH
    num_hashes: int = HASHES


def token_types(
    docs: Sequence[Doc], *, rounds: int = 40, seed: int = 0, grow: bool = True
) -> list[Comparison]:
    """Compare the embedding with and without types, and spaCy's, in one process.

    docs (Sequence[Doc]): The text from which the batches are taken.
    rounds (int): The number of rounds.
    seed (int): The seed of the batches, of the weights and of the order within a round.
    grow (bool): Whether to compare larger batches, other numbers of hash functions and other
        widths as well.

    Raises ValueError if the text is too short for a batch.
    """
    rng = random.Random(seed)
    fix_random_seed(seed)
    docs = rng.sample(list(docs), len(docs))
    groups = [
        [Case(f"training batch of {TRAINING_TOKENS} words", take_tokens(docs, TRAINING_TOKENS))],
        [Case(f"prediction batch of {PREDICTION_DOCS} docs", take_docs(docs, PREDICTION_DOCS))],
    ]
    if grow:
        batch = groups[0][0].docs
        groups += [
            [Case(f"{n} tokens", take_tokens(docs, n)) for n in TOKENS],
            [Case(f"num_hashes {k}", batch, num_hashes=k) for k in NUM_HASHES],
            [Case(f"width {width}", batch, width=width) for width in WIDTHS],
        ]
    return [
        comparison
        for group in groups
        for comparison in compare(group, rounds=rounds, rng=rng, sample=docs[:10])
    ]


def compare(
    cases: Sequence[Case], *, rounds: int, rng: random.Random, sample: Sequence[Doc]
) -> list[Comparison]:
    """Time a group of cases in turns, so that a slow moment of the machine meets all of them.

    cases (Sequence[Case]): The cases.
    rounds (int): The number of rounds.
    rng (random.Random): Shuffles the order within each round.
    sample (Sequence[Doc]): Docs to initialize the layers with.
    """
    steps: dict[str, Step] = {}
    for case in cases:
        for layer, model in build_layers(case, sample).items():
            for step, run in make_steps(model, case).items():
                steps[f"{case.name}/{layer}/{step}"] = run
    times = time_rounds(steps, rounds=rounds, rng=rng)
    return [
        make_comparison(case, step, times, first=cases[0])
        for case in cases
        for step in ("predict", "train")
    ]


def build_layers(case: Case, sample: Sequence[Doc]) -> dict[str, Model]:
    """Build the embedding, the same without types, and spaCy's, all with the same weights."""
    model = build_multi_hash_embed_v1(
        case.width, ATTRS, ROWS, False, case.num_hashes, spacy_seeds(len(ATTRS))
    )
    model.initialize(X=list(sample))
    with_types, *after = model.layers
    # The inner layer can embed docs as well as types.
    layers = {WITH: model, EVERY_TOKEN: chain(with_types.layers[0], *after)}
    if case.num_hashes == HASHES:
        layers[SPACY] = embed_to_spacy(model)
    check_same_vectors(layers.values(), case.docs, tolerance=1e-4)
    return layers


def make_steps(model: Model, case: Case) -> dict[str, Step]:
    """Make the steps that are timed, on the batch of a case."""
    gradients = [random_gradients(case.docs, case.width)]
    return {
        "predict": predict_step(model, [case.docs]),
        "train": training_step(model, [case.docs], gradients),
    }


def make_comparison(case: Case, step: str, times: Times, *, first: Case) -> Comparison:
    """Make the comparison of a case, with ratios of times of the same rounds."""
    tokens = count_tokens(case.docs)
    ours = times[f"{case.name}/{WITH}/{step}"]
    theirs = times.get(f"{case.name}/{SPACY}/{step}")
    firsts = times[f"{first.name}/{WITH}/{step}"] / count_tokens(first.docs)
    return Comparison(
        case=case.name,
        step=step,
        width=case.width,
        num_hashes=case.num_hashes,
        docs=len(case.docs),
        tokens=tokens,
        types=count_types(case.docs),
        every_token=ratio(times[f"{case.name}/{EVERY_TOKEN}/{step}"], ours),
        spacy=None if theirs is None else ratio(theirs, ours),
        per_token=ratio(ours / tokens, firsts),
    )


def token_types_cli(
    corpus: Annotated[
        Path, typer.Argument(help="Text, a .spacy file", exists=True, dir_okay=False)
    ],
    lang: Annotated[str, typer.Option(help="Language of the text")] = "es",
    rounds: Annotated[int, typer.Option(help="Number of rounds", min=2)] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the batches, the weights and the order")] = 0,
    grow: Annotated[bool, typer.Option(help="Vary tokens, hashes and width as well")] = True,
    output: Annotated[Optional[Path], typer.Option(help="JSON file of the results")] = None,
) -> None:
    """Compare MultiHashEmbed with and without token types, and spaCy's, on the same weights.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    docs = read_docs(corpus, lang)
    try:
        with limit_threads(1):
            comparisons = token_types(docs, rounds=rounds, seed=seed, grow=grow)
    except ValueError as error:
        msg.fail(f"Cannot measure with {corpus}", error, exits=1)
    header = ("case", "step", "N", "U", "U/N", EVERY_TOKEN, SPACY, "per token / first case")
    rows = [
        (
            item.case,
            item.step,
            f"{item.tokens:,}",
            f"{item.types:,}",
            f"{item.types / item.tokens:.2f}",
            str(item.every_token),
            str(item.spacy or "-"),
            str(item.per_token),
        )
        for item in comparisons
    ]
    msg.text(f"Columns '{EVERY_TOKEN}' and '{SPACY}': their time / ours (above 1: ours is faster).")
    msg.text("Each ratio is a median, with its 95 % interval.")
    print_table(header, rows, "llrrrrrr")
    if output is not None:
        settings = {"corpus": str(corpus), "lang": lang, "rounds": rounds, "seed": seed}
        results = [asdict(item) for item in comparisons]
        write_json(output, {"settings": settings, "results": results})
        msg.good("Wrote the ratios", output)


if __name__ == "__main__":
    typer.run(token_types_cli)
