"""The report's tables, and ours on the same page: which runs and numbers each of them shows."""

from collections.abc import Sequence

from experiments.arms.tasks import CRF, HASH_EMBED, REGULARIZED, ROW_SHARES
from experiments.tables.table import (
    DATASETS,
    INCREASE,
    STAND_IN,
    WITH_STAND_IN,
    ArmsT,
    Comparison,
    Group,
    Table,
    against,
)

MULTI_HASH, MULTI = "MultiHashEmbed", "MultiEmbed"
BOTH = {MULTI_HASH: HASH_EMBED, MULTI: "multi_embed"}
ADJUSTED = {MULTI_HASH: "rows_as_multi_embed", MULTI: "multi_embed"}
ROWS = dict(zip(("default", "==MultiEmbed", "20%", "10%"), (HASH_EMBED, *ROW_SHARES), strict=True))
HASHES = {**{str(k): f"hashes_{k}" for k in (1, 2, 3)}, "4": HASH_EMBED}
SPACY_HASHES = {str(k): f"spacy_seeds_hashes_{k}" for k in (1, 2, 3, 4)}
MIN_FREQS = {
    MULTI_HASH: HASH_EMBED,
    "MultiEmbed min_freq=10": "multi_embed",
    "MultiEmbed min_freq=5": "multi_embed_min5",
    "MultiEmbed min_freq=1": "multi_embed_min1",
}
ALL_FEATURES = "NORM+PREFIX+SUFFIX+SHAPE"
FEATURES = {
    ALL_FEATURES: HASH_EMBED,
    "NORM+PREFIX+SUFFIX": "norm_prefix_suffix",
    "NORM+PREFIX": "norm_prefix",
    "NORM": "norm",
    "ORTH": "orth",
}
OURS = "ours, named on the left"
FASTTEXT = {"fastText": None, "spaCy lg": None, OURS: HASH_EMBED}
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
_CONTRADICTION = "The report has two numbers for the same setting:"


# The rows of NORM, and how arms name them.
_NORM_ROWS = {5000: "", 2500: "_rows_2500", 1000: "_rows_1000"}


def _dead_seed(prefix: str, rows: Sequence[int]) -> dict[str, str]:
    return {
        f"k={k}, {number} rows": f"{prefix}hashes_{k}{_NORM_ROWS[number]}"
        for k in (1, 2)
        for number in rows
    }


def _prf_table(number: int, part: str, arms: ArmsT, *, vectors: bool) -> Table:
    p, r, f = (Group(arms, metric, "test", part, report=True) for metric in "prf")
    which = "adjusted rows" if arms is ADJUSTED else "default rows"
    entities = "Unseen entities of test" if part == "unseen" else "Test"
    title = f"{entities}, {'static' if vectors else 'no'} vectors, {which}"
    datasets = DATASETS if vectors else WITH_STAND_IN
    return Table(f"table-{number}", title, (p, r, f), against(f, MULTI), datasets, vectors)


def _features_table(name: str, *datasets: str) -> Table:
    of_report = "" if name == "features" else "test"
    groups = tuple(
        Group(FEATURES, INCREASE, split, part, f"{split} {part}", split == of_report)
        for split in ("test", "dev")
        for part in ("all", "seen", "unseen")
    )
    comparisons = tuple(
        Comparison((group, line), None, f"{group.part}: {line}")
        for group in groups[:3]
        for line in FEATURES
        if line != ALL_FEATURES
    ) + tuple(
        Comparison((group, "NORM"), (group, "ORTH"), f"{group.part}: NORM – ORTH")
        for group in groups[:3]
    )
    note = "Each increase is relative to all four features with the same seed."
    if of_report:
        note += (
            " The report does not say which set its numbers come from; they stand beside those of "
            "test."
        )
    title = f"Increase of the F1 error (1 - F1) by features, {' and '.join(datasets)}, no vectors"
    return Table(name, title, groups, comparisons, datasets, note=note, lines="features")


def _hashes_table(number: int, *, vectors: bool) -> Table:
    own = Group(HASHES, "f", "dev", "all", "our seeds")
    spacy = Group(SPACY_HASHES, "f", "dev", "all", "spaCy's seeds", report=True)
    return Table(
        f"table-{number}",
        f"Dev by number of hash functions, {'static' if vectors else 'no'} vectors",
        (own, spacy),
        against(spacy, "4") + against(own, "4"),
        DATASETS if vectors else WITH_STAND_IN,
        vectors,
        "The report used spaCy's hash seeds.",
        "hash functions",
    )


def _min_freq_table(number: int, *, vectors: bool) -> Table:
    group = Group(MIN_FREQS, "f", "dev", "all", report=True)
    title = f"Dev by min_freq, {'static' if vectors else 'no'} vectors"
    ten, *lower = (line for line in MIN_FREQS if line != MULTI_HASH)
    comparisons = against(group, MULTI_HASH) + tuple(
        Comparison((group, line), (group, ten), f"{line} – {ten}") for line in lower
    )
    note = (
        "" if vectors else f"{_CONTRADICTION} 0.27 for MultiHashEmbed on wnut17, 0.23 in Table 13."
    )
    datasets = DATASETS if vectors else WITH_STAND_IN
    return Table(f"table-{number}", title, (group,), comparisons, datasets, vectors, note)


def _rows_table() -> Table:
    group = Group(ROWS, "f", "dev", "all", report=True)
    return Table(
        "table-1",
        "Dev by number of rows, no vectors",
        (group,),
        against(group, "default"),
        ("conll-es", "archaeo"),
        note=f"{_CONTRADICTION} 0.77 for default rows on conll-es, 0.74 in Tables 13 and 15.",
        lines="rows",
    )


def _fasttext_table() -> Table:
    return Table(
        "table-17",
        "Dev, fastText against spaCy's vectors, MultiHashEmbed",
        tuple(Group(FASTTEXT, metric, "dev", "all", report=True) for metric in "prf"),
        vectors=True,
        note="We did not run fastText's vectors, and do not count them.",
        lines="vectors",
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
        *against(test, MULTI_HASH),
        Comparison(*regularized, "test: regularized – CRF"),
    )
    note = "words/s are words per second of CPU time in prediction, with one thread."
    title = "Other taggers, no vectors"
    return Table(
        "other-taggers", title, groups, comparisons, WITH_STAND_IN, note=note, lines="tagger"
    )


def _regularized_table() -> Table:
    scores = [Group(SETTINGS, "f", split, "all", split) for split in ("dev", "test")]
    time = Group(SETTINGS, "train_cpu_seconds")
    comparisons = sum((against(group, MULTI_HASH) for group in (*scores, time)), ())
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
        against(group, next(iter(CANDIDATES))),
        ("conll-es", "wnut17"),
        lines="settings",
    )


def _table_dropout_table() -> Table:
    lines = {MULTI_HASH: HASH_EMBED, f"{MULTI_HASH}, table_dropout": "table_dropout"}
    groups = tuple(Group(lines, "f", split, "all", split) for split in ("dev", "test"))
    return Table(
        "dropout-of-tables",
        "The report's settings without and with dropout of tables, no vectors",
        groups,
        sum((against(group, MULTI_HASH) for group in groups), ()),
        ("conll-es", "wnut17", STAND_IN),
    )


TABLES = {
    table.name: table
    for table in (
        _rows_table(),
        _features_table("table-2", "conll-nl"),
        _features_table("table-3", "anem"),
        _features_table("features", "conll-es", STAND_IN),
        _prf_table(7, "all", BOTH, vectors=True),
        _prf_table(8, "all", ADJUSTED, vectors=True),
        _prf_table(9, "all", BOTH, vectors=False),
        _prf_table(10, "all", ADJUSTED, vectors=False),
        _prf_table(11, "unseen", BOTH, vectors=False),
        _prf_table(12, "unseen", BOTH, vectors=True),
        _hashes_table(13, vectors=False),
        _hashes_table(14, vectors=True),
        _min_freq_table(15, vectors=False),
        _min_freq_table(16, vectors=True),
        _fasttext_table(),
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
        _taggers_table(),
        _tuning_table(),
        _regularized_table(),
        _table_dropout_table(),
    )
}
