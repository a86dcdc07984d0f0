"""The tables of docs/weighted-results.md: which runs and numbers each of them shows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.arms.embeddings import (
    BUDGETS,
    base_width,
    budget_rows,
    weighted_cost,
    weighted_rows,
)
from experiments.arms.tasks import AG_NEWS, HASH_EMBED, TOPICS
from experiments.arms.textcat import BASIC
from experiments.tables.report import MULTI_HASH
from experiments.tables.table import Comparison, Group, Table, against, on_dev_and_test

TEXTS = "text-classification"
BUDGET_DATASETS = ("wnut17", "conll-es")
WEIGHTED = "weighted"
MULTI_HASH_2 = f"{MULTI_HASH}, two hashes"
MULTI_WEIGHTED = "MultiWeightedHashEmbed"
IMPORTANCE_1 = f"{MULTI_WEIGHTED}, importance starts at 1"
NEAR_ZERO = f"{MULTI_WEIGHTED}, importance starts near zero"
SHARES = {"100 %": 1.0, **{f"{100 * share:.0f} %": share for share in BUDGETS.values()}}


def _by_share(whole: str, part: str) -> dict[str, str]:
    """Return the arm of each share of the default rows.

    whole (str): The arm with all rows.
    part (str): The name of the other arms, with {} in place of a key of `BUDGETS`.
    """
    return dict(zip(SHARES, (whole, *map(part.format, BUDGETS)), strict=True))


BUDGET_ARMS = {
    MULTI_HASH: _by_share(HASH_EMBED, "budget_{}"),
    MULTI_HASH_2: _by_share("hashes_2", "budget_{}_hashes_2"),
    IMPORTANCE_1: _by_share(WEIGHTED, f"{WEIGHTED}_budget_{{}}"),
    NEAR_ZERO: _by_share(f"{WEIGHTED}_near_zero", f"{WEIGHTED}_near_zero_budget_{{}}"),
}


def budget_line(share: str, embedding: str) -> str:
    """Return the name of the line of an embedding with a share of the default rows."""
    return f"{share}: {embedding}"


STARTS_DATASETS = (*BUDGET_DATASETS, "anem")
STARTS = {
    MULTI_HASH: HASH_EMBED,
    MULTI_HASH_2: "hashes_2",
    f"{MULTI_HASH_2}, tables start near zero": "hashes_2_near_zero",
    IMPORTANCE_1: WEIGHTED,
    NEAR_ZERO: f"{WEIGHTED}_near_zero",
}

HASH, TRICK = "hash embedding", "hashing trick"
DEEP, ENSEMBLE = "deep, with dictionary", "ensemble of three, with dictionary"
MODELS = {
    HASH: "hash_embed",
    TRICK: "hashing_trick",
    f"{TRICK}, 4 M parameters": "hashing_trick_equal",
    f"{HASH}, five times the rows": "hash_embed_large",
    f"{TRICK}, five times the rows": "hashing_trick_large",
    "spaCy's TextCatBOW": "bow",
    "spaCy's TextCatReduce (TextCatCNN)": "cnn",
    f"{HASH}, one hash function for both tables": "hash_embed_dependent",
    f"{HASH}, importance starts at 1": "hash_embed_ones",
    f"{HASH}, the authors' initialization": "hash_embed_authors_init",
    f"{TRICK}, starts near zero": "hashing_trick_near_zero",
    f"{TRICK}, 4 M parameters, starts near zero": "hashing_trick_equal_near_zero",
    f"{HASH}, input dropout": "input_dropout",
    f"{TRICK}, input dropout": "hashing_trick_input_dropout",
    DEEP: "deep",
    ENSEMBLE: "ensemble",
}
VERDICTS_NOTE = "[results.md](results.md#what-each-verdict-means) defines the verdicts."
CLASSIFIERS_NOTE = (
    "spaCy's own classifiers have its default dropout of 0.1 and L2 of 0.01, the others neither. "
    "The rest of [training] is the same for all. CPU seconds are those of the machine that a run "
    "was on, an Intel Xeon or an AMD EPYC: they show no more than the order of magnitude. "
    "Intervals are over seeds of weights and batches, with one hash seed, and leave out the test "
    "set's own error"
)
SPEED_NOTE = (
    "Words per second are those of nlp.update with batches of 256 texts on one thread. "
    "`python -m benchmarks.textcat` measured some of the models, side by side in one run."
)
# Svenstrup et al. 2017, Table 2 and sections 5.3 to 5.5. The paper does not tell how many
# parameters its deep models have.
PAPER_ACCURACY = {HASH: "0.924", TRICK: "0.920", DEEP: "0.915", ENSEMBLE: "0.920"}
PAPER_PARAMETERS = {HASH: "40 M", TRICK: "200 M", ENSEMBLE: "150 M"}


def _budget_table() -> Table:
    width = base_width()
    lines, parameters = {}, {}
    for share, part in SHARES.items():
        plain = sum(budget_rows(part)) * width
        weighted = sum(weighted_rows(budget_rows(part), width)) * weighted_cost(width)
        for embedding, arms in BUDGET_ARMS.items():
            line = budget_line(share, embedding)
            lines[line] = arms[share]
            count = weighted if embedding.startswith(MULTI_WEIGHTED) else plain
            parameters[line] = f"{count:,}"
    groups = on_dev_and_test(lines)
    return Table(
        "budgets",
        "Entities: importance parameters or more rows, with equally many parameters",
        groups,
        tuple(
            Comparison(
                (group, budget_line(share, with_)),
                (group, budget_line(share, without)),
                f"{group.split}, {share}: {with_} – {without}",
            )
            for group in groups
            for share in SHARES
            for with_ in (IMPORTANCE_1, NEAR_ZERO)
            for without in (MULTI_HASH, MULTI_HASH_2)
        ),
        BUDGET_DATASETS,
        note="A percentage is the share of the default rows. Parameters are those of the tables. "
        f"There are no static vectors. {MULTI_HASH} has four hash functions unless its line says "
        f"two, {MULTI_WEIGHTED} has two. Importance starts at 1, or near zero as in the authors' "
        f"code. {VERDICTS_NOTE}",
        lines="rows and embedding",
        facts={"parameters": parameters},
    )


def _starts_table() -> Table:
    dev, test = on_dev_and_test(STARTS)
    return Table(
        "starts",
        "Entities: importance parameters or a start near zero",
        (dev, test),
        against(NEAR_ZERO, dev, test),
        STARTS_DATASETS,
        note="All have equally many parameters, and no static vectors. What starts near zero is "
        "drawn from N(0, 0.0005), as importance is in the authors' code. All other tables are "
        f"drawn from [-0.1, 0.1). {VERDICTS_NOTE}",
        lines="embedding",
    )


def with_speeds(table: Table, benchmark: Mapping[str, Any]) -> Table:
    """Add the training speeds of text classifiers, which a benchmark measured side by side.

    The times of runs do not compare: they depend on what else the machine did.

    benchmark (Mapping[str, Any]): The results of `python -m benchmarks.textcat`.
    """
    speeds = benchmark["results"]["update"]["words_per_second"]
    shown = {model: f"{speeds[arm]:,.0f}" for model, arm in MODELS.items() if arm in speeds}
    return replace(table, facts={**table.facts, "training, words/s": shown})


def _textcat_table(
    name: str,
    title: str,
    dataset: str,
    models: Mapping[str, str],
    note: str,
    facts: Mapping[str, Mapping[str, str]],
) -> Table:
    dev, test = (Group(models, "accuracy", split, "all", split) for split in ("dev", "test"))
    groups = (
        dev,
        test,
        Group(models, "macro_f", "test", "all", "test"),
        *(Group(models, cost) for cost in ("parameters", "model_mb", "train_cpu_seconds")),
    )
    comparisons = against(HASH, dev, test)
    return Table(name, title, groups, comparisons, (dataset,), False, note, "model", facts)


WEIGHTED_TABLES = {
    table.name: table
    for table in (
        _budget_table(),
        _starts_table(),
        _textcat_table(
            TEXTS,
            "Text classification, part of AG News",
            AG_NEWS,
            MODELS,
            "We use 47,171 of the 120,000 texts of the official training set, about 5 % of them as "
            "dev. The paper's models were trained on all of AG News: its numbers are not "
            "comparable, and only their order is of interest. Its shallow models have ten times as "
            "many rows. Its ensemble has ten members of 50,000 rows, width 200 and layers of 1,000 "
            "units; ours has three of 10,000 rows, width 50 and layers of 200 units. The "
            "dictionary of the deep model and of the ensemble has n-grams that occur at least "
            f"twice, at most 999,999. {SPEED_NOTE} {CLASSIFIERS_NOTE} (7,600 texts). "
            f"{VERDICTS_NOTE}",
            {
                "paper's test accuracy (all of AG News)": PAPER_ACCURACY,
                "paper's parameters": PAPER_PARAMETERS,
            },
        ),
        _textcat_table(
            "topics",
            "Text classification, generated topics",
            TOPICS,
            {model: arm for model, arm in MODELS.items() if arm in BASIC},
            f"The texts are generated, without a download. {CLASSIFIERS_NOTE}. {VERDICTS_NOTE}",
            {},
        ),
    )
}
