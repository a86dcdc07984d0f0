"""A run's scores beside the paper's and the project's."""

from pathlib import Path

import pytest

from experiments.arms import is_arm
from experiments.configs import SOURCES
from experiments.paper import compare, paper_scores, setting_of
from experiments.results import read_rows
from experiments.tables import VECTORS
from tests.helpers.paths import ROOT


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_scores_are_beside_those_of_the_paper_and_ours() -> None:
    row = {"dataset": "conll-es", "vectors": "", "dev_f": 0.75, "test_f": 0.7, "test_unseen_f": ""}
    lines = compare(row, "ablations/spacy-seeds-hashes-1")
    assert [line[:3] for line in lines] == [
        ("F1 on dev", "0.750", "0.75 ± 0.03 (Table 13)"),
        ("F1 on test", "0.700", ""),
    ]
    assert all("n = 3" in line[3] for line in lines)
    assert compare(row, "spacy_seeds_hashes_1") == lines


def test_vectors_are_compared_with_vectors() -> None:
    row = {"dataset": "conll-es", "vectors": "", "test_f": 0.8}
    (without,) = compare(row, "report/conll-es")
    for changed, arm in (
        (row, "report/conll-es-vectors"),
        ({**row, "vectors": "es_core_news_lg"}, "report/conll-es"),
    ):
        (line,) = compare(changed, arm)
        assert "Table 7" in line[2] and VECTORS["conll-es"] in line[3]
    assert "Table 9" in without[2] and VECTORS["conll-es"] not in without[3]


def test_increase_of_errors_without_features() -> None:
    row = {"dataset": "conll-nl", "vectors": "", "test_f": 0.6, "test_seen_f": 0.8}
    lines = {label: rest for label, *rest in compare(row, "ablations/norm")}
    assert lines["Increase of errors on test, all"][1] == "+47 % (Table 2)"
    assert lines["Increase of errors on test, seen"][1] == "+100 % (Table 2)"
    assert not any("unseen" in label for label in lines)
    keys, base = ("dataset", "arm", "vectors", "after"), ["conll-nl", "multi_hash_embed", "", ""]
    scores = [float(r["test_f"]) for r in read_rows() if [r[key] for key in keys] == base]
    mean = sum(scores) / 3
    more = 100 * (0.4 / (1 - mean) - 1)
    assert lines["Increase of errors on test, all"][0] == f"{more:+.0f} %"


def test_nothing_is_compared_without_a_setting_of_the_paper_or_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"dataset": "mine", "vectors": "", "test_f": 0.8}
    assert compare(row, "hashes_1") == []
    monkeypatch.chdir(tmp_path)  # without results
    assert compare({**row, "dataset": "conll-es"}, "hashes_1") == []


def test_every_config_of_the_paper_has_its_numbers() -> None:
    assert all(is_arm(source.arm) for source in SOURCES.values())
    without = {
        name
        for name, source in SOURCES.items()
        for dataset in [source.dataset or "conll-es"]
        if dataset != "turku-one"  # in the place of OntoNotes
        and not paper_scores(setting_of({"vectors": "", "dataset": dataset}, name))
    }
    of_features = {"orth", "norm", "norm-prefix", "norm-prefix-suffix"}  # Tables 2 and 3
    of_others = {"weighted", "hash-embed", "hashing-trick"}
    of_others |= {"dilated", "tagger-dilated", "tagger-windows"}
    assert without == {f"ablations/{name}" for name in of_features | of_others}
