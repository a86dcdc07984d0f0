"""Words of docs/vectors-results.md that no marker can hold: its own tables say the same.

`collate` warns where a verdict turns that a marker names. Markers name no number of a model that
was changed after its training, and a sentence on many comparisons would need one for each.
"""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest

from spacy_multihash.vectors.align import procrustes
from spacy_multihash.vectors.files import open_table
from spacy_multihash.vectors.pairs import alike_vectors
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
TEXT = " ".join(re.sub(r"<!-- (?:= [^\n]*?|/) -->", "", PAGE).split())
NOISE, LOWER, HIGHER = "within noise", "lower", "higher"
PAIRED = " ‡"  # the paired interval decides otherwise
ONE = "the table of the language"
OPEN = "no table, rows from spelling, new rows from vectors, count 1"


class Claim(NamedTuple):
    """What a sentence says of comparisons.

    said (str): Words of the page.
    table (str): The name of a table in the page.
    dataset (str): The data set.
    comparisons (str): The comparisons, with * for any text.
    verdict (str): The verdict on each of them, as the table shows it, with * for any text.
    number (int): How many there are.
    """

    said: str
    table: str
    dataset: str
    comparisons: str
    verdict: str
    number: int


CLAIMS = [
    Claim(*claim)
    for said, table, dataset, *rest in (
        # one table or several
        (
            "All four modes with all three tables are behind, `concat` not seed by seed.",
            *("vectors-tables", "conll-es"),
            (f"dev: all, * – {ONE}", f"{LOWER}*", 4),
            (f"dev: all, concat – {ONE}", LOWER + PAIRED, 1),
        ),
        (
            "On test all four are within noise.",
            *("vectors-tables", "conll-es"),
            (f"test: all, * – {ONE}", NOISE, 4),
        ),
        (
            "With the table of the language alone, both modes are within noise of StaticVectors.",
            *("vectors-tables", "conll-es"),
            (f"*: {ONE}, * – {ONE}", NOISE, 8),
        ),
        (
            "`concat` with two languages is within noise of `concat` with one, and `mme` of "
            "`linear` with one.",
            *("vectors-tables", "conll-es"),
            (f"dev: two languages, * – {ONE}, *", NOISE, 2),
        ),
        (
            "and within noise of `concat` and `linear`. Seed by seed, `mme` is ahead of `linear`",
            *("vectors-tables", "conll-es"),
            ("dev: all, mme – all, concat", NOISE, 1),
            ("dev: all, mme – all, linear", NOISE + PAIRED, 1),
        ),
        (
            "With all three tables `mme` is within noise, and the other modes are behind, all not "
            "seed by seed.",
            *("vectors-tables", "conll-nl"),
            (f"dev: all, mme – {ONE}", NOISE, 1),
            (f"dev: all, [cls]* – {ONE}", LOWER + PAIRED, 3),
        ),
        (
            "On test, all models with several tables are within noise of StaticVectors with the "
            "table of the language, on all entities.",
            *("vectors-tables", "conll-nl"),
            (f"test: all, * – {ONE}", NOISE, 4),
            (f"test: two languages, * – {ONE}", NOISE, 2),
        ),
        (
            "The layer with the table of the language alone is within noise of StaticVectors, in "
            "both modes.",
            *("vectors-tables", "conll-nl"),
            (f"*: {ONE}, * – {ONE}", NOISE, 8),
        ),
        (
            "Both modes with two languages are within noise of the same layer with the table of "
            "the language.",
            *("vectors-tables", "conll-nl"),
            (f"*: two languages, * – {ONE}, *", NOISE, 8),
        ),
        (
            "Word2vec alone is within noise of the model without a table, and so is the Spanish "
            "table alone.",
            *("vectors-tables", "conll-nl"),
            ("*: word2vec of the training texts – no table", NOISE, 4),
            ("*: the table of another language – no table", NOISE, 4),
        ),
        (
            "Of the modes with all tables, each is within noise of `mme` on all entities.",
            *("vectors-tables", "conll-nl"),
            ("dev: all, mme – all, *", NOISE, 3),
            ("test: all, mme – all, *", NOISE, 3),
        ),
        (
            "With one table, both modes are within noise of StaticVectors.",
            *("vectors-tables-tweets", "wnut17"),
            (f"dev: {ONE}, * – {ONE}", NOISE, 2),
        ),
        (
            "On dev, `mme` is within noise of the other modes.",
            *("vectors-tables-tweets", "wnut17"),
            ("dev: all, mme – all, *", NOISE, 3),
        ),
        (
            "`mme` and `scalar` are within noise of StaticVectors",
            *("vectors-tables-tweets", "wnut17"),
            (f"test: all, [ms][mc]* – {ONE}", NOISE, 2),
        ),
        (
            "`concat` with both is within noise of `concat` with one, and so is `mme` of `linear` "
            "with one. Seed by seed, `mme` is behind there",
            *("vectors-tables-tweets", "wnut17"),
            (f"test: all, concat – {ONE}, concat", NOISE, 1),
            (f"test: all, mme – {ONE}, linear", NOISE + PAIRED, 1),
        ),
        (
            "Word2vec alone is ahead of the model without a table",
            *("vectors-tables-tweets", "wnut17"),
            ("dev: word2vec of the training texts – no table", HIGHER, 1),
            ("test: word2vec of the training texts – no table", NOISE, 1),
        ),
        # transforms
        (
            "`drop-top`, `pca`, `z-norm`, `unit` and `morty` are within noise of the untouched "
            "table, on dev and on test.",
            *("vectors-transforms", "conll-es"),
            *(
                (f"{split}: {name} – untouched", NOISE, 1)
                for split in ("dev", "test")
                for name in ("drop-top", "pca", "z-norm", "unit", "morty")
            ),
        ),
        (
            "So are both ways to `merge`, but on unseen entities of dev they are behind",
            *("vectors-transforms", "conll-es"),
            ("dev: merge, * – untouched", NOISE, 2),
            ("test: merge, * – untouched", NOISE, 2),
            ("dev, unseen: merge, * – untouched", LOWER, 2),
        ),
        (
            "`quantize` with float16 and int8 is within noise, and with `pq` it is behind on dev "
            "and on test. `ppa-pca-ppa` is within noise on dev.",
            *("vectors-transforms", "conll-es"),
            ("*: quantize, float16 – untouched", NOISE, 4),
            ("*: quantize, int8 – untouched", NOISE, 4),
            ("*: quantize, pq – untouched", LOWER, 4),
            ("dev: ppa-pca-ppa – untouched", NOISE, 1),
        ),
        (
            "On test it is within noise. The merged table",
            *("vectors-transforms-tweets", "wnut17"),
            ("test: merge, pca – untouched", NOISE, 1),
        ),
        (
            "Shifts and lengths (`centre`, `unit`, `z-norm`) are within noise on dev.",
            *("vectors-transforms-tweets", "wnut17"),
            *((f"dev: {name} – untouched", NOISE, 1) for name in ("centre", "unit", "z-norm")),
        ),
        (
            "`quantize` with float16 and int8 is within noise. `pq` is behind on dev and on test.",
            *("vectors-transforms-tweets", "wnut17"),
            ("*: quantize, float16 – untouched", NOISE, 4),
            ("*: quantize, int8 – untouched", NOISE, 4),
            ("*: quantize, pq – untouched", LOWER, 4),
        ),
        # words without vectors
        (
            "All other comparisons are within noise.",
            *("vectors-unseen", "wnut17"),
            ("*, rows from spelling – *", NOISE, 8),
        ),
        ("All other comparisons are within noise.", "vectors-unseen", "conll-es", ("*", NOISE, 12)),
        (
            "it is ahead on dev of the model without either. On test the difference is within "
            "noise.",
            *("vectors-new-rows", "wnut17"),
            (f"dev: {OPEN} – no table", HIGHER, 1),
            (f"test: {OPEN} – no table", NOISE, 1),
        ),
        (
            "by the paired interval, that gain is within noise on dev, and above noise on test.",
            *("vectors-new-rows", "wnut17"),
            (f"dev: {OPEN} – no table, rows from spelling", HIGHER + PAIRED, 1),
            (f"test: {OPEN} – no table, rows from spelling", NOISE + PAIRED, 1),
        ),
        (
            "all 96 differences are within noise by the first interval.",
            *("vectors-new-rows", "conll-es"),
            ("*", f"{NOISE}*", 96),
        ),
        (
            "Models without vectors lose by new rows from spelling, and by a regression that is "
            "fitted to rows of frequent symbols alone (count 5).",
            *("vectors-new-rows", "wnut17"),
            *(
                (f"{split}: no table*, new rows from {rows} – no table*", f"{LOWER}*", count)
                for split in ("dev", "test")
                for rows, count in (("spelling, count ?", 6), ("vectors, count 5", 3))
            ),
        ),
        (
            "The models with three seeds, with rows from spelling or without `unk_dropout`, are "
            "within noise.",
            *("vectors-new-rows", "wnut17"),
            *(
                (f"{split}: {ONE}, {begin}*, new rows* – *", f"{NOISE}*", 4)
                for split in ("dev", "test")
                for begin in ("rows", "without")
            ),
        ),
        # smaller models, and the mix of features
        *(
            (
                "Pruned models with ARD are within noise of models with fewer rows on dev**, on "
                "conll-es and on tweets.",
                *("vectors-sizes", dataset),
                ("dev: ARD, pruned to min_freq * – min_freq *", NOISE, 3),
            )
            for dataset in ("conll-es", "wnut17")
        ),
        (
            "On the test set of conll-es they are ahead at both sizes, on all entities and on "
            "unseen ones.",
            *("vectors-sizes", "conll-es"),
            ("test*: ARD, pruned to min_freq 5 – min_freq 5", HIGHER, 2),
            ("test*: ARD, pruned to min_freq 10 – min_freq 10", HIGHER, 2),
        ),
        (
            "On that of tweets they are within noise.",
            *("vectors-sizes", "wnut17"),
            ("test*: ARD, pruned to min_freq * – min_freq *", NOISE, 6),
        ),
        (
            "the pruned one is ahead on unseen entities of conll-es test alone.",
            *("vectors-sizes", "conll-es"),
            ("test, unseen: ARD, pruned to min_freq 10 – min_freq 5", HIGHER, 1),
            ("dev*: ARD, pruned to min_freq 10 – min_freq 5", NOISE, 2),
            ("test: ARD, pruned to min_freq 10 – min_freq 5", NOISE, 1),
        ),
        *(
            (
                "Without ARD, models with dropped rows are behind in all comparisons.",
                *("vectors-sizes", dataset),
                ("*: all rows, pruned to min_freq * – min_freq *", LOWER, 8),
            )
            for dataset in ("conll-es", "wnut17")
        ),
        ("On tweets it is within noise of maxout", "vectors-fusion", "wnut17", ("*", NOISE, 4)),
        # noise
        (
            "On conll-es it is ahead on texts with noise, weak or strong, on dev and on test.",
            *("vectors-noise", "conll-es"),
            ("dev: *, * % changed – *", HIGHER, 2),
            ("test: *, * % changed – *", HIGHER, 2),
        ),
        (
            "On tweets, all differences are within noise. On dev with weak noise, the model with "
            "the augmenter is behind seed by seed.",
            *("vectors-noise", "wnut17"),
            ("*", f"{NOISE}*", 12),
            ("dev: *, 5 % changed – *", NOISE + PAIRED, 1),
        ),
        # another language
        *(
            (
                "**Aligned vectors are ahead of SHAPE alone**, both ways, on dev and on test, and "
                "of the table as it is. CCA is within noise of Procrustes.",
                *("vectors-foreign", dataset),
                ("*: Procrustes – *", HIGHER, 4),
                ("*: CCA – Procrustes", f"{NOISE}*", 2),
            )
            for dataset in ("conll-es", "conll-nl")
        ),
        *(
            (
                "By that interval, CCA is ahead on test with the model that was trained on "
                "Spanish, and not shown to differ elsewhere.",
                *("vectors-foreign", dataset),
                ("dev: CCA – Procrustes", NOISE, 1),
                ("test: CCA – Procrustes", NOISE + disputed, 1),
            )
            for dataset, disputed in (("conll-es", PAIRED), ("conll-nl", ""))
        ),
        (
            "From Spanish to Dutch, such a model is within noise of SHAPE alone.",
            *("vectors-foreign", "conll-es"),
            ("*: not aligned – SHAPE alone", NOISE, 2),
        ),
        (
            "From Dutch to Spanish it is behind, on dev not seed by seed.",
            *("vectors-foreign", "conll-nl"),
            ("dev: not aligned – SHAPE alone", LOWER + PAIRED, 1),
            ("test: not aligned – SHAPE alone", LOWER, 1),
        ),
        *(
            (
                "**SHAPE and vectors are ahead of all features without vectors on unseen "
                "entities**, in both languages, on dev and on test.",
                *("vectors-features", dataset),
                ("*, unseen: SHAPE and vectors – all features", HIGHER, 2),
            )
            for dataset in ("conll-es", "conll-nl")
        ),
        (
            "Otherwise they are within noise. Seed by seed they are behind on test of conll-es",
            *("vectors-features", "conll-es"),
            ("dev: SHAPE and vectors – all features", NOISE, 1),
            ("test: SHAPE and vectors – all features", NOISE + PAIRED, 1),
        ),
        (
            "Otherwise they are within noise.",
            *("vectors-features", "conll-nl"),
            ("test: SHAPE and vectors – all features", NOISE, 1),
        ),
        # pretrained layers
        (
            "unfrozen one by one than all at once.** On dev they are ahead",
            *("vectors-pretrained", "wnut17"),
            ("dev: one layer after the other – all layers at once", HIGHER, 1),
            ("test: one layer after the other – all layers at once", NOISE, 1),
        ),
        (
            "On conll-es, unfrozen layers are within noise of layers that are trained all at once, "
            "and of layers that were not pretrained.",
            *("vectors-pretrained", "conll-es"),
            ("*: one layer after the other – *", NOISE, 8),
        ),
        *(
            (
                "Layers that are trained all at once are within noise of layers that were not "
                "pretrained",
                *("vectors-pretrained", dataset),
                ("*: all layers at once – not pretrained", NOISE, 4),
            )
            for dataset in ("conll-es", "wnut17")
        ),
    )
    for claim in ((said, table, dataset, *each) for each in rest)
]


def verdicts(table: str, dataset: str, comparisons: str = "*") -> dict[str, str]:
    """Return the verdicts of a table of the page, by comparison."""
    block = PAGE.partition(f"<!-- begin: {table} -->")[2].partition(f"<!-- end: {table} -->")[0]
    rows = (line.strip("| ").split(" | ") for line in block.splitlines() if " – " in line)
    return {
        row[1]: row[-1].removesuffix(" §")
        for row in rows
        if row[0] == dataset and fnmatchcase(row[1], comparisons)
    }


def by_pairs(verdict: str) -> bool:
    """Tell whether the paired interval leaves 0 out."""
    return (verdict.removesuffix(PAIRED) == NOISE) == verdict.endswith(PAIRED)


@pytest.mark.parametrize("claim", CLAIMS, ids=[f"{c.table} {c.comparisons}" for c in CLAIMS])
def test_sentence_says_what_its_table_says(claim: Claim) -> None:
    assert claim.said in TEXT
    found = verdicts(claim.table, claim.dataset, claim.comparisons)
    others = {name: one for name, one in found.items() if not fnmatchcase(one, claim.verdict)}
    assert not others
    assert len(found) == claim.number


def test_new_rows_that_the_paired_interval_tells_apart_are_named() -> None:
    found = {
        name for name, one in verdicts("vectors-new-rows", "conll-es").items() if by_pairs(one)
    }
    base = {"gain": "no table", "own": ONE}
    base |= {"rows": f"{ONE}, rows from spelling", "plain": f"{ONE}, without unk_dropout"}
    named = (
        ("dev, unseen", "gain", "vectors", 1),
        *(("test", "own", "vectors", count) for count in (1, 5)),
        ("test, unseen", "own", "vectors", 5),
        ("test, unseen", "rows", "vectors", 5),
        ("test", "plain", "spelling", 5),
        *(("test, unseen", "plain", "spelling", count) for count in (1, 5)),
    )
    assert found == {
        f"{group}: {base[model]}, new rows from {source}, count {count} – {base[model]}"
        for group, model, source, count in named
    }
    for said in (
        "The paired interval leaves 0 out in eight of them.",
        "One of the eight is a gain, on unseen entities of dev: no table, new rows from vectors, "
        "count 1. The other seven are losses:",
        f"| {ONE} | vectors | test (counts 1 and 5), unseen entities of test (count 5) |",
        f"| {ONE}, rows from spelling | vectors | unseen entities of test (count 5) |",
        f"| {ONE}, without `unk_dropout` | spelling | test (count 5), unseen entities of test "
        "(counts 1 and 5) |",
    ):
        assert said in TEXT
    assert len(found) == 8


def test_losses_by_new_rows_on_tweets_are_counted() -> None:
    counts = []
    for begin in ("new rows", "rows from spelling, new rows", "without unk_dropout, new rows"):
        for split in ("dev", "test"):
            comparisons = f"{split}: {ONE}, {begin} from * – *"
            found = verdicts("vectors-new-rows", "wnut17", comparisons).values()
            assert len(found) == 4
            lower = sum(one.startswith(LOWER) for one in found)
            counts.append((lower, sum(map(by_pairs, found))))
    nine, rows, plain = (counts[i : i + 2] for i in (0, 2, 4))
    assert nine[0][0] == 3 and [by_pair for _, by_pair in nine] == [4, 4]
    assert "are behind on dev in three of four cases. By the paired interval, they are" in TEXT
    assert "behind in all four, on dev and on test." in TEXT
    assert [one[1] + other[1] for one, other in zip(rows, plain, strict=True)] == [2, 1]
    assert "behind on dev in two of eight cases, and on test in one." in TEXT


def mean_cosine(X: numpy.ndarray, Y: numpy.ndarray) -> float:
    lengths = numpy.linalg.norm(X, axis=1) * numpy.linalg.norm(Y, axis=1)
    return float(((X * Y).sum(axis=1) / lengths).mean())


def test_numbers_of_the_tables_of_two_languages_are_theirs(shared: Path) -> None:
    names = ("nl_e5_words", "es_e5_words")
    for source, target in (names, names[::-1]):
        with (
            open_table(str(shared / "vectors" / source)) as one,
            open_table(str(shared / "vectors" / target)) as other,
        ):
            Y, X = alike_vectors(one, other)
            vectors = numpy.array(one.data[numpy.arange(40_000)])
            assert one.width == 300
        ends = mean_cosine(Y, X), mean_cosine(procrustes(Y, X)(Y), X)
        said = "Procrustes takes the mean cosine of such pairs from {:.2f} to {:.2f}."
        assert said.format(*ends) in TEXT
        length = numpy.linalg.norm(vectors, axis=1).mean()
        assert f"`unit` and `z-norm` make the `e5` vectors {length:.0f} times shorter." in TEXT
        assert abs(vectors.mean(axis=0)).max() < 0.00003
        assert "centring moves no number of them by more than 0.00003." in TEXT
