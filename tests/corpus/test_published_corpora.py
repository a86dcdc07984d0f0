"""Published corpora: what is in them, and the report's numbers of them."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from experiments.corpora.convert import DATASETS, SplitSummary, convert
from spacy_multihash.corpus.statistics import corpus_stats
from tests.helpers.paths import SHARED

# From the name of a data set to the folder of its splits, and what was counted on the way.
Published = Callable[[str], tuple[Path, list[SplitSummary]]]

# What the published files hold: documents, tokens, entities.
REAL_COUNTS = {
    "conll-nl": [
        SplitSummary("train", 287, 202644, 13344),
        SplitSummary("dev", 74, 37687, 2616),
        SplitSummary("test", 119, 68875, 3941),
    ],
    "wnut17": [
        SplitSummary("train", 3394, 62730, 1975),
        SplitSummary("dev", 1009, 15733, 836),
        SplitSummary("test", 1287, 23394, 1079),
    ],
    "anem": [
        SplitSummary("train", 2252, 57894, 1479),
        SplitSummary("dev", 563, 13803, 400),
        SplitSummary("test", 1882, 45939, 1256),
    ],
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """Convert published corpora, each once for all tests."""
    if not SHARED.is_dir():
        pytest.skip(f"real data is not there: {SHARED}")

    @cache
    def convert_once(dataset: str) -> tuple[Path, list[SplitSummary]]:
        folder = tmp_path_factory.mktemp(dataset)
        return folder, convert(dataset, SHARED / "datasets", folder)

    return convert_once


@pytest.mark.parametrize("dataset", REAL_COUNTS)
def test_convert_gives_published_counts(published: Published, dataset: str) -> None:
    assert published(dataset)[1] == REAL_COUNTS[dataset]


# What the report prints differently: its Dutch vocabulary has one word more.
DIFFERENT = {("conll-nl", "vocab"): 27803}


@pytest.mark.parametrize("dataset", REAL_COUNTS)
def test_numbers_of_the_report_come_out(shared: Path, published: Published, dataset: str) -> None:
    report = json.loads((shared / "report" / "report_tables.json").read_text("utf8"))
    attrs, characteristics, seen = (
        next(table[dataset] for title, table in report.items() if title.startswith(f"{n} "))
        for n in (4, 5, 6)
    )
    folder, _ = published(dataset)
    stats = corpus_stats(
        *(folder / f"{name}.spacy" for name in ("train", "dev", "test")),
        lang=DATASETS[dataset].lang,
    )
    train = stats.splits["train"]
    for name, count in attrs.items():
        assert train.attrs[name] == DIFFERENT.get((dataset, name), count), name
    for name in ("docs", "tokens", "vocab"):
        expected = DIFFERENT.get((dataset, name), characteristics[name])
        assert getattr(train, name) == expected, name
    assert len(train.labels) == characteristics["classes"]
    # Some of the report's means are rounded, others cut off.
    for name in ("ents_per_doc", "mean_doc_len", "mean_ent_len"):
        printed = str(characteristics[name])
        last_digit = 10.0 ** -len(printed.partition(".")[2])
        assert abs(getattr(train, name) - float(printed)) < last_digit, name
    found = {split: {"seen": s.seen, "unseen": s.unseen} for split, s in stats.seen.items()}
    assert found == seen
