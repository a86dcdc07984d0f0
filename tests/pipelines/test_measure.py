"""The speed, the load time and the memory of pipelines."""

from pathlib import Path
from typing import Any

import pytest
import spacy

from spacy_multihash.common.timing import ratio_of
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.pipelines.measure import (
    Machine,
    compare_loads,
    compare_speed,
    spread,
    tokens_per_second,
)
from tests.helpers.kernels import using_kernels

CODE = """
import spacy

@spacy.Language.component("of_code")
def of_code(doc):
    return doc
"""


def test_speed_is_in_tokens_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, texts = spacy.blank("en"), ["Anna met Bob", "Rome fell today"]
    assert all(speed > 0 for speed in tokens_per_second([nlp, nlp], texts))
    with pytest.raises(ValueError, match="no tokens"):
        tokens_per_second([nlp], [""])

    def two_and_three_seconds(steps: dict[str, Any], *args: object, **settings: object) -> Any:
        return {name: [seconds] * 3 for name, seconds in zip(steps, (2.0, 3.0), strict=True)}

    monkeypatch.setattr("spacy_multihash.pipelines.measure.time_arms", two_and_three_seconds)
    assert tokens_per_second([nlp, nlp], texts) == pytest.approx([3, 2])


def test_slower_pipeline_is_measured_as_slower() -> None:
    slow, fast = spacy.blank("en"), spacy.blank("en")
    for number in range(9):
        slow.add_pipe("sentencizer", name=str(number))
    texts = ["Anna met Bob. They left."] * 40
    figures = compare_speed(slow, fast, texts, seconds=0.4, all_seconds=0.01)
    assert [figure.unit for figure in figures] == ["tokens a second", "ms", "ms"]
    assert figures[0].after > figures[0].before and figures[1].after < figures[1].before
    for figure in figures[:2]:
        assert figure.gain.low <= figure.gain.median and figure.gain.median > 1
        assert figure.rounds >= 5
    shortest = compare_speed(slow, fast, texts, seconds=0, all_seconds=1)
    assert {figure.rounds for figure in shortest} == {5}  # without the rounds to warm up


def test_gain_is_the_median_of_the_ratios_of_rounds() -> None:
    gain = ratio_of([2.0, 4.0, 20.0], [1.0, 2.0, 4.0])
    assert gain.median == 2 and gain.low == 2 and gain.high == pytest.approx(4.4)


def test_sample_comes_from_all_places() -> None:
    texts = list("abcdefghij")
    assert spread(texts, 0.5) == list("acegi")
    assert spread(texts, 0) == ["a"] and spread(texts, 1) == texts


def test_pipelines_are_loaded_in_new_processes_with_their_code(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "plain")
    spacy.Language.component("of_code", func=lambda doc: doc)
    nlp.add_pipe("of_code")
    nlp.to_disk(tmp_path / "own")
    models = (tmp_path / "plain", tmp_path / "own")
    figures, why = compare_loads(*models, 1, code=tmp_path / "code.py")
    assert why == "" and figures[0].name == "load" and 0 < figures[0].before < 60
    assert all(1 < figure.before < 10_000 for figure in figures if figure.name == "memory")
    figures, why = compare_loads(*models[::-1], 1)
    assert figures == [] and "of_code" in why
    assert compare_loads(*models, 0) == ([], "")


def test_missing_kernels_come_with_advice() -> None:
    with using_kernels("none"):
        machine = Machine()
    assert machine.kernels == "none" and machine.cpu
    advice = "unset it" if len(available_kernels()) > 1 else "C compiler"
    assert advice in machine.advice
    if len(available_kernels()) > 1:
        with using_kernels(available_kernels()[0]):
            assert Machine().advice == ""
