import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from spacy.tokens import Doc, Span

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.memory import count_bytes
from benchmarks.common.paths import has_md
from benchmarks.common.pipelines import check_same_entities, make_docs
from benchmarks.common.text import Text, count_tokens
from benchmarks.ner import __main__ as command
from benchmarks.ner import measure as measuring
from benchmarks.ner.cases import (
    ANNOTATE,
    BATCH,
    GROWTH,
    LABELS,
    LENGTH,
    MD,
    PARTS,
    PLANTED,
    PREDICT,
    PROBABILITIES,
    QUICK,
    TRAINED,
    UPDATE,
    Case,
    Docs,
    Recognizer,
    Settings,
    plan,
)
from benchmarks.ner.measure import Record, measure
from benchmarks.ner.plot import AXES, COLORS, TITLES, draw
from benchmarks.ner.same import check_scored
from benchmarks.ner.subjects import BEST, CANDIDATES, SCORED, SPANS_KEY, Subject, make_subject
from benchmarks.ner.table import HEADER, table_rows
from benchmarks.ner.targets import find_target
from benchmarks.ner.work import make_sets, make_step
from spacy_multihash.ner.transition import component
from spacy_multihash.ner.transition.component import BatchEntityRecognizer
from spacy_multihash.ner.transition.scores import outside_scores
from tests.helpers.figures import (
    check_layout,
    check_ratio_bars,
    is_png,
    legend_of,
    needs_matplotlib,
    saved_figures,
)

SENTENCES = Docs(QUICK.sentences)


@pytest.fixture(scope="module", autouse=True)
def _tiny_text(text: Text) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "load_text", lambda: text)
        for module in ("cases", "__main__"):
            patch.setattr(f"benchmarks.ner.{module}.has_md", lambda: False)
        # A process of the test runner crashed once while it traced memory: see test_scaling.py.
        patch.setattr(measuring, "temporary_bytes", lambda run: count_bytes(run()))
        yield


def run(output: Path, *only: str) -> dict:
    command.ner_cli(True, list(only), 2, output, None, False)
    return json.loads(output.read_text("utf8"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure everything once; give the JSON file."""
    output = tmp_path_factory.mktemp("ner") / "ner.json"
    run(output)
    return output


def records_of(results: Path) -> list[Record]:
    return list(json.loads(results.read_text("utf8"))["results"].values())


def measure_one(case: Case, text: Text) -> Record:
    settings = replace(QUICK, steps=1, repeats=2)
    return measure(case, settings, lambda recognizer: make_subject(text, settings, recognizer))


def test_every_case_has_times_of_its_arms(results: Path) -> None:
    records = records_of(results)
    assert list(dict.fromkeys(r["part"] for r in records)) == list(PARTS)
    assert len(records) == len(plan(QUICK, []))
    for record in records:
        extra = [BEST, SCORED, CANDIDATES] if record["part"] == PROBABILITIES else []
        assert list(record["times_ms"]) == [SPACY, OURS, *extra]
        words = numpy.resize(record["tokens"], 2)
        times = {arm: numpy.array(each) for arm, each in record["times_ms"].items()}
        for arm, each in times.items():
            median = pytest.approx(numpy.median(times[SPACY] / each), rel=1e-2)
            assert record["ratio"][arm]["median"] == median
            speed = pytest.approx(numpy.median(1000 * words / each), rel=1e-2)
            assert record["words_per_second"][arm] == speed
        assert set(record["temporary_bytes"]) == set(times)


def test_growth_goes_along_its_axes(results: Path) -> None:
    growing = [r for r in records_of(results) if r["part"] in GROWTH]
    assert [(r["part"], r["step"], r["value"]) for r in growing] == [
        *((LABELS, step, labels) for step in (PREDICT, UPDATE) for labels in QUICK.labels),
        *((LENGTH, step, length) for step in (PREDICT, UPDATE) for length in QUICK.lengths),
        *((BATCH, PREDICT, size) for size in QUICK.batches),
    ]
    for record in growing:
        if record["part"] == LABELS:
            assert record["labels"] == record["value"]
        if record["part"] == LENGTH:
            assert record["entities"] == {"share": 0.125, "mean length": record["value"]}
        if record["part"] == BATCH:
            assert record["tokens"] == growing[-1]["tokens"]


def test_docs_are_as_long_and_as_many_as_they_are_to_be(text: Text) -> None:
    subject = make_subject(text, QUICK, Recognizer(PLANTED, 2))

    def sizes(docs: Docs) -> list[list[list[int]]]:
        sets = make_sets(Case(PREDICT, PREDICT, Recognizer(TRAINED), docs), subject, QUICK)
        for batch in (batch for each in sets for batch in each):
            assert batch.X.shape == (count_tokens(batch.docs), QUICK.hidden_width)
        return [[[len(doc) for doc in docs] for docs, _ in batches] for batches in sets]

    assert sizes(Docs(3, 15, 1)) == [[[15], [15], [15]]] * QUICK.sets
    assert sizes(Docs(2, 60)) == [[[60, 60]]] * QUICK.sets
    assert [len(lengths) for ((*lengths,),) in sizes(Docs(5))] == [5, 5]
    assert all(60 <= sum(lengths) < 100 for (lengths,) in sizes(Docs(0)))
    assert [[len(part) for part in each] for each in sizes(Docs(5, size=2))] == [[2, 2, 1]] * 2


@pytest.mark.parametrize("labels, length", [(1, 0), (18, 0), (300, 0), (2, 1), (4, 8), (4, 32)])
def test_a_planted_recognizer_finds_the_entities_that_it_is_told(
    text: Text, labels: int, length: int
) -> None:
    settings = replace(QUICK, length_docs=Docs(1, 270))
    subject = make_subject(text, settings, Recognizer(PLANTED, labels, length))
    found = set()
    case = Case(PREDICT, PREDICT, Recognizer(PLANTED, labels), Docs(1, 270) if length else Docs(8))
    for arm, pipe in subject.arms(case).items():
        for docs, X in (batch for each in make_sets(case, subject, QUICK) for batch in each):
            new = make_docs(subject.nlp, docs)
            subject.given.attrs["X"] = X
            pipe.set_annotations(new, pipe.predict(new))
            for doc, other in zip(docs, new, strict=True):
                expected = [(ent.start, ent.end) for ent in doc.ents]
                assert [(ent.start, ent.end) for ent in other.ents] == expected, arm
                assert not length or {end - start for start, end in expected} == {length}
                found |= {ent.label_ for ent in other.ents}
    assert len(subject.ner.labels) == labels
    assert found if length else (len(found) > 1) == (labels > 1)


def test_scores_of_a_planted_recognizer_do_not_depend_on_the_order_of_sums(text: Text) -> None:
    settings = replace(QUICK, hidden_width=Settings().hidden_width)
    subject = make_subject(text, settings, Recognizer(PLANTED, 300))
    case = Case(PREDICT, PREDICT, Recognizer(PLANTED, 300), SENTENCES)
    ((docs, X),) = make_sets(case, subject, settings)[0]
    ours: Any = subject.arms(case)[OURS]
    subject.given.attrs["X"] = X
    batch = ours._compute(docs)
    weights = batch.weights
    exact = weights._replace(
        **{name: getattr(weights, name).astype("float64") for name in ("W", "b", "pad", "upper")}
    )
    found = outside_scores(batch, slice(None))
    expected = outside_scores(batch._replace(X=X.astype("float64"), weights=exact), slice(None))
    numpy.testing.assert_array_equal(found, expected)
    assert len(numpy.unique(found)) > 1000


def test_each_round_has_new_docs_and_leaves_the_weights_alone(text: Text) -> None:
    subject = make_subject(text, QUICK, Recognizer(TRAINED))
    for part, docs in ((ANNOTATE, SENTENCES), (UPDATE, Docs(0))):
        case = Case(part, part, Recognizer(TRAINED), docs)
        sets = make_sets(case, subject, QUICK)
        before = weights_of(subject)
        for pipe in subject.arms(case).values():
            step: Any = make_step(case, subject, pipe, sets)
            first, again = step(0), step(QUICK.sets)
            first()
            again()
            ((first_docs, X),), ((docs_again, same_X),) = first.args[2], again.args[2]
            assert X is same_X
            assert not {*map(id, first_docs)} & {*map(id, docs_again)}
        for values, same in zip(before, weights_of(subject), strict=True):
            numpy.testing.assert_array_equal(values, same)


def weights_of(subject: Subject) -> list[numpy.ndarray]:
    nodes = [*subject.ner.model.walk()]
    return [node.get_param(name).copy() for node in nodes for name in node.param_names]


def test_other_entities_are_refused(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchEntityRecognizer, "set_annotations", lambda *args: None)
    case = Case(PREDICT, PREDICT, Recognizer(PLANTED, 2), SENTENCES)
    with pytest.raises(ValueError, match=r"ours: batch_ner finds other entities than spaCy's ner"):
        measure_one(case, text)


def test_the_first_doc_that_differs_is_shown(text: Text) -> None:
    docs, others = ([Doc(text.docs[0].vocab, words=["Bo", "is", i]) for i in "ab"] for _ in "12")
    check_same_entities(docs, others, "case")
    docs[1].ents = [Span(docs[1], 0, 1, label="PER")]
    message = (
        r"case: .* in 1 of 2 docs, .* \"Bo is b \": spaCy's are \[\(0, 1, 'PER'\)\], ours \[\]"
    )
    with pytest.raises(ValueError, match=message):
        check_same_entities(docs, others, "case")


def test_missing_probabilities_are_refused(text: Text) -> None:
    docs = [Doc(text.docs[0].vocab, words=["a"]) for _ in range(3)]
    docs[0].spans[SPANS_KEY] = []
    docs[1].spans[SPANS_KEY] = []
    docs[1].spans[SPANS_KEY].attrs["scores"] = []
    with pytest.raises(ValueError, match=r'case: .*doc.spans\["scored"\], but has not in 2 of 3'):
        check_scored(docs, "case")


@pytest.mark.parametrize("wrong, message", [("loss", "the loss of"), ("b", "the gradient of")])
def test_another_update_is_refused(
    text: Text, wrong: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = component.learn

    def learn_wrongly(model: Any, *args: Any, **kwargs: Any) -> float:
        loss = learn(model, *args, **kwargs)
        if wrong == "loss":
            return loss * 1.01
        model.get_ref("lower").inc_grad(wrong, model.get_ref("lower").get_param(wrong) * 0 + 1)
        return loss

    monkeypatch.setattr(component, "learn", learn_wrongly)
    with pytest.raises(ValueError, match=message):
        measure_one(Case(UPDATE, UPDATE, Recognizer(TRAINED), Docs(0)), text)


@pytest.mark.skipif(not has_md(), reason="en_core_web_md is not there")
def test_the_trained_english_recognizer_is_measured(
    text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.ner.cases.has_md", lambda: True)
    case = plan(QUICK, [PREDICT])[0]
    # W095: the pipeline was trained with an older minor version of spaCy
    with pytest.warns(UserWarning, match="W095"):
        record = measure_one(case, text)
    assert (record["recognizer"], record["labels"]) == (MD, 18)
    assert record["entities"]["share"] > 0.05


def make_record(part: str, labels: int, text: str, median: float, arm: str = OURS) -> Record:
    interval = {"low": median - 0.1, "median": median, "high": median + 0.1}
    return Record(
        part=part,
        step=part if part in TITLES and part != PROBABILITIES else PREDICT,
        recognizer="recognizer",
        text=text,
        labels=labels,
        value=0,
        tokens=[10],
        entities={"share": 0.12, "mean length": 1.5},
        times_ms={SPACY: [median], arm: [1.0]},
        temporary_bytes={SPACY: 2_000_000, arm: 1_000_000},
        words_per_second={SPACY: 1000, arm: 2000},
        ratio={SPACY: interval, arm: interval},
    )


SHORT, ALONE = "256 sentences", "64 docs of 15 words, 1 at a time"


@pytest.mark.parametrize(
    "part, labels, docs, targets",
    [
        (PREDICT, 18, SHORT, (20.0, 2.0, None)),
        (PREDICT, 4, SHORT, (8.0, 2.0, None)),
        (PREDICT, 4, ALONE, (1.5, 1.0, None)),
        (PREDICT, 4, "8 docs of 1,000 words", (None, None, None)),
        (UPDATE, 4, "sentences", (5.0, 3.0, None)),
        (ANNOTATE, 18, SHORT, (None, None, None)),
        (LABELS, 18, SHORT, (None, None, None)),
    ],
)
def test_targets_are_those_of_python(
    part: str, labels: int, docs: str, targets: tuple[Any, ...]
) -> None:
    record = make_record(part, labels, docs, 4.0)
    assert tuple(find_target(record, python) for python in ("3.11", "3.13", "3.14")) == targets


def test_the_plan_has_the_docs_of_the_targets() -> None:
    texts = {(case.part, case.docs.text) for case in plan(Settings(), [])}
    assert {(PREDICT, SHORT), (PREDICT, ALONE), (UPDATE, "sentences")} <= texts


def test_table_says_which_targets_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.ner.table.find_target", lambda record: 5.0)
    records = [make_record(PREDICT, 4, SHORT, median) for median in (5.1, 4.9)]
    records.append(make_record(PROBABILITIES, 4, SHORT, 4.9, BEST))
    rows = table_rows({str(i): record for i, record in enumerate(records)})
    assert [row[HEADER.index("arm")] for row in rows] == [OURS, OURS, BEST]
    assert [row[11] for row in rows] == ["5.0 met", "5.0 missed", ""]
    assert rows[0][5:11] == ("12%", "1.50", OURS, "1,000", "2,000", "5.10 (5.00-5.20)")
    assert rows[0][12:] == ("2.0", "1.0")
    assert {len(row) for row in rows} == {len(HEADER)}


def test_results_have_the_name_of_pythons_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.common.options.RESULTS", tmp_path)
    command.ner_cli(True, [BATCH], 2, None, None, False)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (tmp_path / f"ner-{version}-quick.json").is_file()


def test_goes_on_and_measures_only_what_is_asked_for(tmp_path: Path) -> None:
    output = tmp_path / "ner.json"
    first = run(output, UPDATE)["results"]
    second = run(output, UPDATE, BATCH)["results"]
    assert {name: second[name] for name in first} == first
    assert [record["part"] for record in second.values()] == [UPDATE] * 2 + [BATCH] * 2


def test_refuses_a_part_that_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run(tmp_path / "ner.json", "growth")
    assert "was given growth." in " ".join(capsys.readouterr().out.split())


@needs_matplotlib
def test_results_are_drawn(results: Path, tmp_path: Path) -> None:
    assert is_png(results.with_suffix(".png")) and is_png(results.with_name("ner-growth.png"))
    records = json.loads(results.read_text("utf8"))["results"]
    with saved_figures() as figures:
        draw(tmp_path / "x.png", records, "machine")
    compared, growth = figures
    assert compared.get_suptitle() == "Speed of batch_ner compared with spaCy's ner\nmachine"
    for part, title in TITLES.items():
        (ax,) = (ax for ax in compared.axes if ax.get_title(loc="left") == title)
        bars = [
            (f"{r['labels']} labels,\n{r['text']}", arm, values)
            for r in records.values()
            for arm, values in r["ratio"].items()
            if r["part"] == part and arm != SPACY
        ]
        check_ratio_bars(ax, bars, COLORS)
    check_growth(growth, list(records.values()))


def check_growth(figure: Any, records: list[Record]) -> None:
    assert legend_of(figure) == [SPACY, OURS]
    panels = iter(figure.axes)
    for part, xlabel in AXES.items():
        for memory in (False, True):
            for step in (PREDICT, UPDATE):
                here = [r for r in records if (r["part"], r["step"]) == (part, step)]
                if here:
                    ax = next(panels)
                    assert ax.get_xlabel() == xlabel
                    check_curves(ax, here, memory)
    assert not list(panels)


def check_curves(ax: Any, records: list[Record], memory: bool) -> None:
    for arm, line in zip((SPACY, OURS), ax.lines, strict=True):
        for record, x, y in zip(records, line.get_xdata(), line.get_ydata(), strict=True):
            assert x == record["value"]
            if memory:
                expected: Any = max(record["temporary_bytes"][arm], 1) / 1e6
            else:
                words = numpy.resize(record["tokens"], len(record["times_ms"][arm]))
                expected = 1000 * numpy.median(numpy.array(record["times_ms"][arm]) / words)
            assert y == pytest.approx(expected)


@needs_matplotlib
def test_plots_of_a_full_run_are_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.ner.cases.has_md", lambda: True)
    records = {}
    for case in plan(Settings(), []):
        record = make_record(case.part, 0, case.docs.text, 21.55)
        record["step"], record["value"] = case.step, case.value
        record["labels"] = 18 if case.recognizer.kind == MD else 4
        if case.part == PROBABILITIES:
            arms = (BEST, SCORED, CANDIDATES)
            record["ratio"].update(dict.fromkeys(arms, record["ratio"][OURS]))
        record["times_ms"][SPACY] = [1.0 + record["value"]]
        records[case.name] = record
    assert len(records) == len(plan(Settings(), []))
    with saved_figures() as figures:
        draw(tmp_path / "x.png", records, "Intel(R) Xeon(R) Processor, one thread; CoNLL-2002")
    assert len(figures) == 2
    for figure in figures:
        check_layout(figure)
