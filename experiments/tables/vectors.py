"""The tables of docs/vectors-results.md: which runs and numbers each of them shows."""

from collections.abc import Sequence

from experiments.arms.vectors import (
    ALONE,
    CENTRE,
    EXTENDED,
    EXTENDED_ALONE,
    LONE,
    LONE_MODES,
    MERGES,
    MIN_FREQS,
    MODES,
    NOISE,
    OTHER,
    OWN,
    PAIR,
    PAIR_MODES,
    PREFIX,
    QUANTIZED,
    TRANSFORMS,
    WORD2VEC,
    ZERO_SHOT,
)
from experiments.runs.vector_files import CENTRED_SETS, FOREIGN, SMALL_SETS
from experiments.tables.table import AFTER, ArmsT, Comparison, Group, Table

NOTE = "[results.md](results.md#what-each-verdict-means) explains the verdicts."
NONE, ONE = "no table", "the table of the language"
TWO, ALL = "two languages", "all"
OTHER_LINE = "the table of another language"
WORD2VEC_LINE = "word2vec of the training texts"
KPCA = f"{ONE}, vectors from spelling"
KPCA_ROWS, NONE_ROWS = (f"{line}, rows from spelling" for line in (ONE, NONE))
PLAIN = f"{ONE}, without unk_dropout"
ALL_ROWS, ARD = "all rows", "ARD"
CLEAN, NOISY = "trained without noise", "trained with noise"
TUNED, UNFROZEN, FROZEN = "all layers at once", "one layer after the other", "output layer alone"


def _arm(name: str, step: str = "") -> str:
    return f"{PREFIX}{name}{AFTER if step else ''}{step}"


def _by(tables: str, mode: str) -> str:
    return f"{tables}, {mode}"


_TABLES = {NONE: _arm("none"), ONE: _arm(OWN), OTHER_LINE: _arm(OTHER)}
_TABLES[WORD2VEC_LINE] = _arm(WORD2VEC)
_TABLES |= {_by(ONE, mode): _arm(f"{LONE}{mode}") for mode in LONE_MODES}
_TABLES |= {_by(TWO, mode): _arm(f"{PAIR}{mode}") for mode in PAIR_MODES}
_TABLES |= {_by(ALL, mode): _arm(mode) for mode in MODES}
_TRANSFORMED = {"untouched": _arm(OWN)}
_TRANSFORMED |= {name.replace("_", "-"): _arm(name) for name in TRANSFORMS}
_TRANSFORMED |= {f"{name.replace('_', ', ')}": _arm(name) for name in MERGES}
_TRANSFORMED |= {name.replace("_", ", "): _arm(OWN, name) for name in QUANTIZED}
_UNSEEN = {ONE: _arm(OWN), KPCA: _arm("kpca"), KPCA_ROWS: _arm("kpca_rows")}
_UNSEEN |= {NONE: _arm("none"), NONE_ROWS: _arm("none_kpca_rows")}
_NEW_ROWS = {line: _UNSEEN[line] for line in (NONE, NONE_ROWS, ONE, KPCA_ROWS)}
_NEW_ROWS[PLAIN] = _arm("own_plain")


def _extended(line: str, step: str) -> str:
    _, source, count = step.split("_")
    return f"{line}, new rows from {source.replace(OWN, 'vectors')}, count {count}"


_EXTENSIONS = [
    (line, step)
    for line in _NEW_ROWS
    for step in (EXTENDED_ALONE if line in (NONE, NONE_ROWS) else EXTENDED)
]
_NEW_ROWS |= {
    _extended(line, step): f"{_NEW_ROWS[line]}{AFTER}{step}" for line, step in _EXTENSIONS
}
_SIZES = {ALL_ROWS: _arm("none"), ARD: _arm("ard")}
_SIZES |= {f"min_freq {count}": _arm(f"min_freq_{count}") for count in MIN_FREQS}
_SIZES |= {
    f"{line}, pruned to min_freq {count}": f"{_SIZES[line]}{AFTER}prune_{count}"
    for count in MIN_FREQS
    for line in (ALL_ROWS, ARD)
}
_FUSION = {"maxout": _arm("none"), "Tucker": _arm("tucker")}
_NOISE = {CLEAN: _arm("none"), NOISY: _arm("noise")}
_NOISE |= {
    f"{line}, {percent} % changed": f"{_NOISE[line]}{AFTER}noise_{percent}"
    for percent in NOISE
    for line in (CLEAN, NOISY)
}
_FOREIGN = {
    "SHAPE alone": _arm("shape_alone", f"{ZERO_SHOT}_{ALONE}"),
    "not aligned": _arm("shape", f"{ZERO_SHOT}_{OTHER}"),
    "Procrustes": _arm("shape", f"{ZERO_SHOT}_procrustes"),
    "CCA": _arm("shape", f"{ZERO_SHOT}_cca"),
}
_SAME = {
    "SHAPE alone": _arm("shape_alone"),
    "SHAPE and vectors": _arm("shape"),
    "all features": _arm("none"),
    "all features and vectors": _arm(OWN),
}
_PRETRAINED = {"not pretrained": _arm("none"), TUNED: _arm("tuned")}
_PRETRAINED |= {UNFROZEN: _arm("unfrozen"), FROZEN: _arm("frozen")}


def _table(
    name: str,
    title: str,
    arms: ArmsT,
    pairs: Sequence[tuple[str, str]],
    datasets: Sequence[str],
    note: str,
    *,
    unseen: bool = True,
    lines: str = "model",
) -> Table:
    """Make a table of F1 on dev, on test, and on the unseen entities of both.

    pairs (Sequence[tuple[str, str]]): The lines that are compared.
    unseen (bool): Whether the unseen entities are shown.
    """
    splits = ("dev", "test")
    groups = [Group(arms, "f", split, "all", split) for split in splits]
    if unseen:
        groups += [Group(arms, "f", split, "unseen", f"{split}, unseen") for split in splits]
    comparisons = tuple(
        Comparison((group, one), (group, other), f"{group.title}: {one} – {other}")
        for group in groups
        for one, other in pairs
    )
    return Table(
        name, title, tuple(groups), comparisons, tuple(datasets), False, f"{note} {NOTE}", lines
    )


def _pairs(arms: ArmsT, base: str) -> list[tuple[str, str]]:
    return [(line, base) for line in arms if line != base]


def _tables_table(name: str, title: str, arms: ArmsT, datasets: Sequence[str]) -> Table:
    pairs = [*_pairs(arms, ONE), (ONE, NONE), (WORD2VEC_LINE, NONE), (OTHER_LINE, NONE)]
    pairs += [(_by(ALL, "mme"), _by(ALL, mode)) for mode in MODES if mode != "mme"]
    pairs += [(_by(several, "concat"), _by(ONE, "concat")) for several in (TWO, ALL)]
    pairs += [(_by(several, "mme"), _by(ONE, "linear")) for several in (TWO, ALL)]
    pairs += [(_by(ALL, mode), _by(TWO, mode)) for mode in PAIR_MODES]
    pairs = [pair for pair in pairs if pair != (NONE, ONE) and {*pair} <= {*arms}]
    return _table(
        name,
        title,
        arms,
        pairs,
        datasets,
        "One table is embedded by StaticVectors, unless a mode is named. Several tables are "
        "embedded by MetaVectors, and so is one table with a mode.",
        lines="tables",
    )


def _transforms_table(name: str, title: str, arms: ArmsT, datasets: Sequence[str]) -> Table:
    return _table(
        name,
        title,
        arms,
        _pairs(arms, "untouched"),
        datasets,
        "The table of the language, transformed, or merged with the other tables, and then as long "
        "as before in the mean. Rounded tables are taken by the model that was trained with the "
        "untouched one.",
        lines="table",
    )


VECTOR_TABLES = {
    table.name: table
    for table in (
        _tables_table(
            "vectors-tables", "One table or several, two languages", _TABLES, tuple(FOREIGN)
        ),
        _tables_table(
            "vectors-tables-tweets",
            "One table or several, tweets",
            {k: arm for k, arm in _TABLES.items() if k != OTHER_LINE and not k.startswith(TWO)},
            ("wnut17",),
        ),
        _transforms_table(
            "vectors-transforms",
            "Transforms of the table, Spanish",
            {line: arm for line, arm in _TRANSFORMED.items() if line != CENTRE},
            tuple(name for name in SMALL_SETS if name not in CENTRED_SETS),
        ),
        _transforms_table(
            "vectors-transforms-tweets",
            "Transforms of the table, tweets",
            _TRANSFORMED,
            CENTRED_SETS,
        ),
        _table(
            "vectors-unseen",
            "Words that no table has",
            _UNSEEN,
            [(KPCA, ONE), (KPCA_ROWS, ONE), (NONE_ROWS, NONE)],
            SMALL_SETS,
            "What words get before training.",
        ),
        _table(
            "vectors-new-rows",
            "New rows after training",
            _NEW_ROWS,
            [
                *((_extended(line, step), line) for line, step in _EXTENSIONS),
                *((_extended(NONE_ROWS, step), NONE) for step in EXTENDED_ALONE),
            ],
            SMALL_SETS,
            "New rows are those of extend-tables: the trained model, without another training. The "
            "regression is fitted to rows of symbols with at least the count that is named. The "
            "vectors are those of the language, which a model may read as well, or not.",
        ),
        _table(
            "vectors-sizes",
            "Rows dropped after training, or never trained",
            _SIZES,
            [
                (ARD, ALL_ROWS),
                *(
                    (f"{line}, pruned to min_freq {count}", f"min_freq {count}")
                    for count in MIN_FREQS
                    for line in (ALL_ROWS, ARD)
                ),
                (f"{ARD}, pruned to min_freq 10", "min_freq 5"),
            ],
            SMALL_SETS,
            "No static vectors. A pruned model has as many rows, of all tables together, as the "
            "model that is trained with that min_freq. That one needs no unk_dropout and has none: "
            "the symbols that it leaves out train the row of unknown ones. A row with ARD has its "
            "noise as well, so twice the parameters. The last comparison is the nearest to equal "
            "size: with noise, tables of the pruned model are 12 % larger on conll-es, and 19 % on "
            "tweets.",
        ),
        _table(
            "vectors-fusion",
            "The mix of features",
            _FUSION,
            [("Tucker", "maxout")],
            SMALL_SETS,
            "No static vectors. With layer normalization, maxout has 111,072 parameters and Tucker "
            "fusion 106,103.",
            lines="layer",
        ),
        _table(
            "vectors-noise",
            "Noise in texts",
            _NOISE,
            [(line.replace(CLEAN, NOISY), line) for line in _NOISE if line.startswith(CLEAN)],
            SMALL_SETS,
            "No static vectors. Noise changes characters of the texts that are scored. Scores "
            "under noise are means of three draws. Training with noise has each text twice: as it "
            "is, and with noise that is drawn once.",
        ),
        _table(
            "vectors-foreign",
            "Another language without training texts",
            _FOREIGN,
            [
                ("not aligned", "SHAPE alone"),
                ("Procrustes", "SHAPE alone"),
                ("Procrustes", "not aligned"),
                ("CCA", "Procrustes"),
            ],
            tuple(FOREIGN),
            "The data set is that of the training. Scores are of the other one's dev and test. The "
            "features are SHAPE and static vectors.",
            unseen=False,
            lines="vectors of the other language",
        ),
        _table(
            "vectors-features",
            "SHAPE and vectors on the language of the training",
            _SAME,
            [("SHAPE and vectors", "SHAPE alone"), ("SHAPE and vectors", "all features")],
            tuple(FOREIGN),
            "What the models of the table above reach with training texts.",
            lines="features",
        ),
        _table(
            "vectors-pretrained",
            "Pretrained layers",
            _PRETRAINED,
            [*_pairs(_PRETRAINED, "not pretrained"), (UNFROZEN, TUNED), (FROZEN, TUNED)],
            SMALL_SETS,
            "No static vectors. Embedding and encoder were pretrained on the training texts.",
            lines="what is trained",
        ),
    )
}
