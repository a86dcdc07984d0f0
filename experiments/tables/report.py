"""The report's tables: which runs and numbers each of them shows."""

from experiments.arms.tasks import HASH_EMBED, ROW_SHARES
from experiments.tables.table import (
    DATASETS,
    INCREASE,
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
_CONTRADICTION = "The report has two numbers for the same setting:"


def _prf_table(number: int, part: str, arms: ArmsT, *, vectors: bool) -> Table:
    p, r, f = (Group(arms, metric, "test", part, report=True) for metric in "prf")
    which = "adjusted rows" if arms is ADJUSTED else "default rows"
    entities = "Unseen entities of test" if part == "unseen" else "Test"
    title = f"{entities}, {'static' if vectors else 'no'} vectors, {which}"
    datasets = DATASETS if vectors else WITH_STAND_IN
    return Table(f"table-{number}", title, (p, r, f), against(MULTI, f), datasets, vectors)


def features_table(name: str, *datasets: str) -> Table:
    """Make a table of the increase of the error without some of the features.

    name (str): Its name. Those that the report has too are "table-2" and "table-3".
    datasets (str): Its data sets.
    """
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
        against("4", spacy, own),
        DATASETS if vectors else WITH_STAND_IN,
        vectors,
        "The report used spaCy's hash seeds.",
        "hash functions",
    )


def _min_freq_table(number: int, *, vectors: bool) -> Table:
    group = Group(MIN_FREQS, "f", "dev", "all", report=True)
    title = f"Dev by min_freq, {'static' if vectors else 'no'} vectors"
    ten, *lower = (line for line in MIN_FREQS if line != MULTI_HASH)
    comparisons = against(MULTI_HASH, group) + tuple(
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
        against("default", group),
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


REPORT_TABLES = {
    table.name: table
    for table in (
        _rows_table(),
        features_table("table-2", "conll-nl"),
        features_table("table-3", "anem"),
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
    )
}
