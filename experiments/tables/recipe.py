"""The tables of docs/recipe-results.md: how candidates stood, and what was chosen."""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from experiments.arms.recipe import (
    ALL_BUT,
    ALONE,
    BASE,
    CHOSEN,
    JOIN,
    MAX_NGRAM_ROWS,
    NGRAM_OPTIONS,
    named,
)
from experiments.arms.tasks import CRF, HASH_EMBED, REGULARIZED
from experiments.runs.vector_files import VECTOR_SETS
from experiments.tables.markdown import NONE, markdown
from experiments.tables.report import MULTI_HASH
from experiments.tables.table import STAND_IN, Comparison, Group, Table, against, on_dev_and_test

# The sets on which a recipe is judged at the end.
DATASETS = ("conll-es", "conll-nl", "wnut17", "anem", "archaeo", STAND_IN)
NGRAM_DATASETS = ("conll-es", "anem")
BASE_LINE, CHOSEN_LINE = "base of the candidates", "the recipe"
NGRAM_LINES = ("averaged", "averaged, each once", "summed", "summed, each once")
NO_ROUND = "No round has been run yet."
NO_COMPARISON = "What `recommend` writes has not been compared yet."


def render_choice(halving: Mapping[str, Any]) -> str:
    """Say in one sentence what was chosen. The argument is that of `render_rounds`."""
    winner = halving.get("winner")
    if winner is None:
        return f"No recipe is chosen yet. Complete rounds: {len(halving.get('rounds', []))}."
    if winner == BASE:
        return "The base was chosen: no candidate is ahead of it by the margin."
    return f"The recipe that was chosen is `{winner}`."


def render_rounds(halving: Mapping[str, Any]) -> str:
    """Render the standings of each round as Markdown.

    halving (Mapping[str, Any]): What `python -m experiments halve` writes, or nothing.
    """
    rounds = halving.get("rounds", [])
    blocks = [_render_round(number, one) for number, one in enumerate(rounds, start=1)]
    return "\n\n".join(blocks) or NO_ROUND


def _render_round(number: int, one: Mapping[str, Any]) -> str:
    datasets, seeds = one["datasets"], one["seeds"]
    header = ("candidate", *datasets, "mean", "standard error", "training time")
    lines = [
        (
            standing["arm"].removeprefix(f"{BASE}{JOIN}"),
            *(_signed(standing["gains"].get(dataset)) for dataset in datasets),
            _signed(standing["gain"]),
            _number(standing["error"] if len(seeds) > 1 else None, ".3f"),
            _number(standing["time"], ".2f"),
        )
        for standing in one["standings"]
        if standing["arm"] != BASE
    ]
    base = next(standing for standing in one["standings"] if standing["arm"] == BASE)
    empty = [NONE] * (len(datasets) + 2)
    lines.append((BASE_LINE, *empty, _number(base["time"], ".2f")))
    title = f"**Round {number}.** {_seeds(seeds)}. F1 on dev minus that of the base."
    failed = f" Without results: {', '.join(one['failed'])}." if one.get("failed") else ""
    return f"{title}{failed}\n\n{markdown(header, lines, left=(0,))}"


def _seeds(seeds: Sequence[int]) -> str:
    listed = ", ".join(map(str, seeds))
    return f"Seeds {listed}" if len(seeds) > 1 else f"One seed, {listed}"


def _signed(gain: Optional[float]) -> str:
    return NONE if gain is None else f"{gain:+.3f}"


def _number(value: Optional[float], spec: str) -> str:
    return NONE if value is None else f"{value:{spec}}"


def render_losses(halving: Mapping[str, Any]) -> str:
    """List the options that gained nothing in round 1. The argument is that of `render_rounds`."""
    if not halving.get("rounds"):
        return NO_ROUND
    standings = [one for one in halving["rounds"][0]["standings"] if one["arm"] != BASE]
    lost = [one for one in standings if one["gain"] <= 0]
    names = (f"`{one['arm'].removeprefix(f'{BASE}{JOIN}')}` ({one['gain']:+.3f})" for one in lost)
    return (
        f"Of {len(standings)} options, {len(lost)} gained nothing in the mean of round 1: "
        f"{', '.join(names) or 'none'}."
    )


def recipe_tables(winner: Optional[str]) -> dict[str, Table]:
    """Make the tables of runs, by name.

    winner (Optional[str]): The arm that was chosen, or None.
    """
    tables = (
        _recipe_table(winner),
        _vectors_table(winner),
        _ngrams_table(),
        _taken_apart_table(),
    )
    return {table.name: table for table in tables}


def _chosen(winner: Optional[str]) -> dict[str, str]:
    return {BASE_LINE: BASE, **({} if winner in (None, BASE) else {CHOSEN_LINE: winner})}


def _recipe_table(winner: Optional[str]) -> Table:
    lines = {MULTI_HASH: HASH_EMBED, "CRF": CRF, "regularized": REGULARIZED, **_chosen(winner)}
    dev, test = on_dev_and_test(lines)
    time = Group(lines, "train_cpu_seconds")
    last = [*lines][-1]
    return Table(
        "recipe",
        "What was chosen, beside the report's settings and a CRF, no vectors",
        (dev, test, time),
        (
            *against(MULTI_HASH, test),
            Comparison((test, last), (test, "CRF"), f"test: {last} – CRF"),
            *against(MULTI_HASH, time),
        ),
        DATASETS,
        note=f"{MULTI_HASH} has the report's settings.",
        lines="settings",
    )


def _vectors_table(winner: Optional[str]) -> Table:
    lines = {MULTI_HASH: HASH_EMBED, **({} if winner is None else {CHOSEN_LINE: winner})}
    groups = on_dev_and_test(lines)
    return Table(
        "recipe-vectors",
        "What was chosen, beside the report's settings, static vectors",
        groups,
        against(MULTI_HASH, *groups),
        VECTOR_SETS,
        vectors=True,
        lines="settings",
    )


def _ngrams_table() -> Table:
    arms = [named([option]) for option in NGRAM_OPTIONS]
    lines = {BASE_LINE: BASE, **dict(zip(NGRAM_LINES, arms, strict=True))}
    group = Group(lines, "f", "dev", "all", "dev")
    return Table(
        "ngrams",
        "Vectors of n-grams summed or averaged, each as often as it occurs in the word or once",
        (group,),
        against(NGRAM_LINES[0], group),
        NGRAM_DATASETS,
        note="The base has no n-grams. The others have `LOWER{3,5}`, and at most "
        f"{MAX_NGRAM_ROWS:,} rows in each table.",
        lines="n-grams",
    )


def _taken_apart_table() -> Table:
    alone, all_but = (Group(lines, "f", "dev", "all") for lines in (ALONE, ALL_BUT))
    return Table(
        "taken-apart",
        "The settings of the recipe, each alone and all but each, no vectors",
        (Group({**ALONE, **ALL_BUT}, "f", "dev", "all", "dev"),),
        against(next(iter(ALONE)), alone) + against(next(iter(ALL_BUT)), all_but),
        ("conll-es", "conll-nl", "wnut17", STAND_IN),
        note="The first lines have a MultiHashEmbed, no averages, a dropout of 0.1 and no n-grams, "
        "but for what they are named for.",
        lines="settings",
    )


def render_recommended(found: Mapping[str, Any]) -> str:
    """Render what `recommend` writes for each corpus beside the recipe, as Markdown.

    found (Mapping[str, Any]): What `python -m experiments compare-recommended` writes, or nothing.

    Raises ValueError if it was compared with another recipe than the one that is chosen.
    """
    if not found:
        return NO_COMPARISON
    if found["recipe"] != CHOSEN:
        raise ValueError(
            f"Expected what recommend writes beside {CHOSEN}, which is chosen, was: beside "
            f"{found['recipe']}. Compare again: python -m experiments compare-recommended"
        )
    lines = [
        (dataset, "; ".join(_differing(one["differs"])) or "nothing")
        for dataset, one in found["corpora"].items()
    ]
    return markdown(("data set", f"differs from `{found['recipe']}` in"), lines, left=(0, 1))


def _differing(settings: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"`{name} = {ours}`, not {recipe}" for name, (ours, recipe) in settings.items()]
