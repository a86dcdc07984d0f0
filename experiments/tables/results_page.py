"""The tables of docs/results.md: the report's, and ours beside them."""

from collections.abc import Sequence

from experiments.arms.tasks import CRF, HASH_EMBED, REGULARIZED
from experiments.tables.report import (
    ADJUSTED,
    HASHES,
    MIN_FREQS,
    MULTI,
    MULTI_HASH,
    REPORT_TABLES,
    SPACY_HASHES,
    features_table,
)
from experiments.tables.table import (
    STAND_IN,
    WITH_STAND_IN,
    Comparison,
    Group,
    Table,
    against,
    on_dev_and_test,
)

TAGGERS = {
    "CRF": CRF,
    "spaCy's own layers": "spacy_multi_hash_embed",
    MULTI_HASH: HASH_EMBED,
    "regularized": REGULARIZED,
}
SETTINGS = {MULTI_HASH: HASH_EMBED, "regularized": REGULARIZED}
WITHOUT_BEST_NER = "regularized_without_best_ner"
CANDIDATES = {
    f"{MULTI_HASH}, the report's": HASH_EMBED,
    f"{MULTI}, the report's": "multi_embed",
    f"{MULTI} min_freq=1, otherwise the report's": "multi_embed_min1",
    f"{MULTI_HASH}, averages": "averages",
    f"{MULTI_HASH}, averages, dropout 0.2": "averages_dropout_20",
    f"{MULTI_HASH}, averages, dropout 0.3": "averages_dropout_30",
    f"{MULTI_HASH}, averages, dropout 0.4": "averages_dropout_40",
    f"{MULTI_HASH}, averages, dropout 0.3, batches to 500 words": "averages_dropout_30_batch_500",
    f"{MULTI_HASH}, averages, dropout 0.3, batches to 2000 words": "averages_dropout_30_batch_2000",
    f"{MULTI} min_freq=1, averages, dropout 0.3, unk_dropout 0.1": "averages_dropout_30_unk_10",
    f"{MULTI} min_freq=1, averages, dropout 0.3, unk_dropout 0.3": WITHOUT_BEST_NER,
    "the same, true gradient, state_dropout 0.3 (regularized)": REGULARIZED,
    f"{MULTI} min_freq=1, averages, dropout 0.3, unk_dropout 0.5": "averages_dropout_30_unk_50",
    "MultiWeightedHashEmbed, otherwise the report's": "weighted_near_zero",
    "MultiWeightedHashEmbed, averages, dropout 0.3": "averages_dropout_30_weighted",
}
# The rows of NORM, and how arms name them.
_NORM_ROWS = {5000: "", 2500: "_rows_2500", 1000: "_rows_1000"}


def _dead_seed(prefix: str, rows: Sequence[int]) -> dict[str, str]:
    return {
        f"k={k}, {number} rows": f"{prefix}hashes_{k}{_NORM_ROWS[number]}"
        for k in (1, 2)
        for number in rows
    }


def _hashes_of_test_table() -> Table:
    groups = tuple(
        Group(arms, "f", "test", "all", f"test, {seeds} seeds")
        for arms, seeds in ((SPACY_HASHES, "spaCy's"), (HASHES, "our"))
    )
    return Table(
        "hashes-of-test",
        "Test by number of hash functions, no vectors",
        groups,
        against("4", *groups),
        WITH_STAND_IN,
        lines="hash functions",
    )


def _adjusted_rows_table() -> Table:
    lines = {"default": HASH_EMBED, "==MultiEmbed": ADJUSTED[MULTI_HASH]}
    groups = on_dev_and_test(lines)
    return Table(
        "adjusted-rows",
        "As many rows as MultiEmbed has, no vectors",
        groups,
        against("default", *groups),
        WITH_STAND_IN,
        lines="rows",
    )


def _min_freq_of_test_table() -> Table:
    lines = {line: arm for line, arm in MIN_FREQS.items() if line != MULTI_HASH}
    groups = tuple(
        Group(lines, "f", "test", part, title)
        for part, title in (("all", "test"), ("unseen", "test, unseen"))
    )
    return Table(
        "min-freq-of-test",
        "Test by min_freq, no vectors",
        groups,
        against(next(iter(lines)), *groups),
        WITH_STAND_IN,
    )


def _dead_seed_table(name: str, title: str, datasets: tuple[str, ...], *rows: int) -> Table:
    own_seeds, spacy_seeds = _dead_seed("", rows), _dead_seed("spacy_seeds_", rows)
    pairs = [
        (
            Group(own_seeds, "f", split, "all", f"{split}, our seeds"),
            Group(spacy_seeds, "f", split, "all", f"{split}, spaCy's seeds"),
        )
        for split in ("dev", "test")
    ]
    comparisons = tuple(
        Comparison((own, line), (spacy, line), f"{own.split}, {line}: our seeds – spaCy's")
        for own, spacy in pairs
        for line in own_seeds
    )
    groups = tuple(group for pair in pairs for group in pair)
    return Table(name, title, groups, comparisons, datasets, lines="hashes, rows")


def _taggers_table() -> Table:
    test = Group(TAGGERS, "f", "test", "all", "test")
    costs = ("train_cpu_seconds", "model_mb", "words_per_second")
    groups = (test, *(Group(TAGGERS, name) for name in costs))
    regularized = ((test, "regularized"), (test, "CRF"))
    comparisons = (
        *against(MULTI_HASH, test),
        Comparison(*regularized, "test: regularized – CRF"),
    )
    note = "words/s are words per second of CPU time in prediction, with one thread."
    title = "Other taggers, no vectors"
    return Table(
        "other-taggers", title, groups, comparisons, WITH_STAND_IN, note=note, lines="tagger"
    )


def _regularized_table() -> Table:
    scores = on_dev_and_test(SETTINGS)
    time = Group(SETTINGS, "train_cpu_seconds")
    comparisons = against(MULTI_HASH, *scores, time)
    title = "The regularized settings against the report's, no vectors"
    return Table(
        "regularized", title, (*scores, time), comparisons, WITH_STAND_IN, lines="settings"
    )


def _tuning_table() -> Table:
    group = Group(CANDIDATES, "f", "dev", "all", "dev")
    time = Group(CANDIDATES, "train_cpu_seconds")
    return Table(
        "tuning",
        "Candidates for the regularized settings, on the two dev sets used to choose them",
        (group, time),
        against(next(iter(CANDIDATES)), group),
        ("conll-es", "wnut17"),
        lines="settings",
    )


def _table_dropout_table() -> Table:
    lines = {MULTI_HASH: HASH_EMBED, f"{MULTI_HASH}, table_dropout": "table_dropout"}
    groups = on_dev_and_test(lines)
    return Table(
        "dropout-of-tables",
        "The report's settings without and with dropout of tables, no vectors",
        groups,
        against(MULTI_HASH, *groups),
        ("conll-es", "wnut17", STAND_IN),
    )


OWN_TABLES = {
    table.name: table
    for table in (
        features_table("features", "conll-es", STAND_IN),
        _adjusted_rows_table(),
        _hashes_of_test_table(),
        _dead_seed_table(
            "dead-seed",
            "One and two hash functions by rows of NORM, to which spaCy gives the dead seed",
            (STAND_IN,),
            *_NORM_ROWS,
        ),
        _dead_seed_table(
            "dead-seed-sets",
            "One and two hash functions with 5,000 rows of NORM, on sets with fewer norms",
            ("conll-es", "conll-nl", "anem"),
            5000,
        ),
        _min_freq_of_test_table(),
        _taggers_table(),
        _tuning_table(),
        _regularized_table(),
        _table_dropout_table(),
    )
}
TABLES = REPORT_TABLES | OWN_TABLES
