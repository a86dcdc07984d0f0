"""What runs say of themselves, and that runs of a data set are of one corpus."""

from pathlib import Path
from typing import Any

import numpy
import pytest
import srsly

from experiments.arms.tasks import HASH_EMBED
from experiments.runs.counts import pack
from experiments.runs.grid import Run
from experiments.tables.facts import Facts, Found, read_facts
from tests.helpers.results import write_result

ONE, OTHER = Run("anem", HASH_EMBED), Run("anem", "norm", seed=1)


def found(folder: Path, **values: Any) -> list[Found]:
    """Write a result, and one of another run with some values."""
    record = {"cpu": "a CPU", "corpus": {"train": "1", "dev": "2", "test": "3"}}
    counts = {"dev": pack(numpy.ones((5, 3)))}
    values = {"record": record, "counts": counts, **values}
    paths = [
        write_result(folder, ONE, 0.5, record=record, counts=counts),
        write_result(folder, OTHER, 0.5, **values),
    ]
    return [
        Found(path, run, srsly.read_json(path))
        for path, run in zip(paths, (ONE, OTHER), strict=True)
    ]


def test_facts_are_those_of_the_record(tmp_path: Path) -> None:
    facts = read_facts(found(tmp_path))
    one, other = (facts["anem", run.arm, "no-vectors"][run.seed] for run in (ONE, OTHER))
    assert (one.recorded, one.machine.cpu) == (True, "a CPU")
    assert (other.recorded, other.machine.cpu) == (True, "a CPU")
    assert one.counts["dev"].tolist() == [[1, 1, 1]] * 5


def test_results_without_a_record_are_known_as_such(tmp_path: Path) -> None:
    (_, one) = found(tmp_path)
    older = {key: one.result[key] for key in one.result if key not in ("record", "counts")}
    assert read_facts([one._replace(result=older)]) == {
        ("anem", "norm", "no-vectors"): {1: Facts()}
    }


def test_runs_of_different_corpora_are_refused(tmp_path: Path) -> None:
    record = {"cpu": "a CPU", "corpus": {"train": "1", "dev": "0", "test": "3"}}
    names = r"norm/no-vectors/seed1\.json and .*multi_hash_embed/no-vectors/seed0\.json"
    with pytest.raises(ValueError, match=rf"{names} are of different corpora of anem: the digests"):
        read_facts(found(tmp_path, record=record))


def test_runs_of_different_tables_of_one_name_are_refused(tmp_path: Path) -> None:
    known = {"cpu": "a CPU", "corpus": {"train": "1"}}
    runs = [Run("wnut17", "vectors_pca", seed=seed) for seed in (0, 1, 2)]

    def read(*made: dict[str, str]) -> None:
        records = [{**known, "made": of_run} for of_run in made]
        pairs = list(zip(runs, records, strict=False))
        paths = [write_result(tmp_path, run, 0.5, record=record) for run, record in pairs]
        read_facts(
            Found(path, run, srsly.read_json(path)) for path, run in zip(paths, runs, strict=False)
        )

    read({"pca": "1"}, {"pca": "1", "other": "2"}, {})
    message = (
        r"seed2\.json and .*seed0\.json are of different vectors: what make-vectors made as pca of "
        r"wnut17 differs\. Delete the older results, and run them again"
    )
    with pytest.raises(ValueError, match=message):
        read({"pca": "1"}, {"other": "2"}, {"pca": "2"})


def test_runs_of_different_vectors_of_one_name_are_refused(tmp_path: Path) -> None:
    runs = [Run("wnut17", HASH_EMBED, "en_core_web_md", seed) for seed in (0, 1)]

    def read(*digests: str) -> None:
        paths = [
            write_result(tmp_path, run, 0.5, record={"vectors": digest})
            for run, digest in zip(runs, digests, strict=True)
        ]
        read_facts(
            Found(path, run, srsly.read_json(path)) for path, run in zip(paths, runs, strict=True)
        )

    read("1", "1")
    with pytest.raises(ValueError, match="of different vectors that are both named en_core_web_md"):
        read("1", "2")


def test_runs_of_different_numbers_of_sentences_are_refused(tmp_path: Path) -> None:
    counts = {"dev": pack(numpy.ones((4, 3)))}
    with pytest.raises(ValueError, match=r"corpora of anem: the numbers of sentences differ"):
        read_facts(found(tmp_path, counts=counts))


@pytest.mark.parametrize("counts", [{"dev": "eJwDAAAAAAE"}, {"dev": 3}, ["dev"]])
def test_malformed_counts_are_refused(tmp_path: Path, counts: object) -> None:
    with pytest.raises(ValueError, match=r"seed1\.json is not a complete result: its counts of"):
        read_facts(found(tmp_path, counts=counts))
