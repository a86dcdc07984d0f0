import json
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from thinc.api import Ops, get_current_ops

from benchmarks.common.layers import count_parameters
from benchmarks.common.results import Results
from benchmarks.common.text import Text
from benchmarks.dilated import __main__ as command
from benchmarks.dilated.cases import (
    BASES,
    CONSTRAINED,
    CRF,
    CROSS_ENTROPY,
    DECODING,
    DILATED,
    ENCODER_PREDICT,
    ENCODER_TRAIN,
    EVERY_PASS,
    GREEDY,
    INPUT_WIDTH,
    MAXOUT,
    NER,
    PAIRS,
    PARTS,
    QUICK,
    SPACY_MAXOUT,
    TRAINING,
    Case,
    Pair,
)
from benchmarks.dilated.decoding import make_decoding_work, train_decoders
from benchmarks.dilated.labels import split_labels
from benchmarks.dilated.measure import Record
from benchmarks.dilated.plot import COLORS, draw
from benchmarks.dilated.table import table_rows
from benchmarks.dilated.targets import find_target
from benchmarks.dilated.training import make_training_work
from spacy_multihash import build_maxout_window_encoder_v1, effective_input_width
from tests.helpers.figures import check_ratio_bars, is_png, needs_matplotlib, saved_figures


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_text", lambda: text)
    # what comes after these tests is not to run on a GPU
    monkeypatch.setattr(command, "prefer_gpu", lambda: False)


def run(output: Path, *only: str) -> dict:
    command.dilated_cli(True, list(only), 2, output, None, False)
    return json.loads(output.read_text("utf8"))


@pytest.fixture(scope="module")
def results(text: Text, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure everything once; give the JSON file."""
    output = tmp_path_factory.mktemp("dilated") / "dilated.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "load_text", lambda: text)
        patch.setattr(command, "prefer_gpu", lambda: False)
        run(output)
    return output


def records_of(results: Path) -> list[Record]:
    return list(json.loads(results.read_text("utf8"))["results"].values())


def test_every_case_has_the_ratios_of_its_arms_to_the_first(results: Path) -> None:
    records = records_of(results)
    assert [record["part"] for record in records] == (
        [ENCODER_PREDICT] * 12 + [ENCODER_TRAIN] * 12 + [DECODING] * 6 + [TRAINING] * 2
    )
    for record in records:
        times = {arm: numpy.array(all_) for arm, all_ in record["times_ms"].items()}
        base = times[BASES[record["part"]]]
        words = numpy.resize(record["tokens"], 2)
        assert set(times) == set(record["ratio"]) == set(record["arms"])
        for arm, all_ in times.items():
            median = pytest.approx(numpy.median(base / all_), rel=1e-2)
            assert record["ratio"][arm]["median"] == median
            per_second = pytest.approx(numpy.median(1000 * words / all_), rel=1e-2)
            assert record["words_per_second"][arm] == per_second


def test_docs_have_the_words_that_they_are_to_have(results: Path) -> None:
    records = [r for r in records_of(results) if r["part"] == ENCODER_PREDICT][:3]
    assert [record["text"] for record in records] == ["short docs", "60 words", "100 words"]
    # 2 docs of 60 words and more, 1 of 100: the last sentence of each is whole
    assert all(120 <= tokens < 180 for tokens in records[1]["tokens"])
    assert all(100 <= tokens < 130 for tokens in records[2]["tokens"])


def test_encoders_are_measured_with_their_parameters_and_input_widths(results: Path) -> None:
    (record,) = (
        r
        for r in records_of(results)
        if r["part"] == ENCODER_TRAIN and r["text"] == "short docs" and r["what"] == PAIRS[0].name
    )
    width = QUICK.width
    maxout = {"parameters": 3 * width * (3 * width + 1) + 2 * width, "input width": 3}
    convolutions = {"parameters": 3 * width * (3 * width + 1), "input width": 9}
    assert record["arms"] == {MAXOUT: maxout, SPACY_MAXOUT: maxout, DILATED: convolutions}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_pair_is_alike_in_what_it_says(pair: Pair) -> None:
    def size_of(depth: int) -> float:
        if pair.alike == INPUT_WIDTH:
            return 1 + 2 * depth
        encoder = build_maxout_window_encoder_v1(96, 1, 3, depth)
        return count_parameters(encoder.initialize())

    if pair.alike == INPUT_WIDTH:
        assert size_of(pair.depth) == effective_input_width(pair.dilations, pair.repeats, 1)
    else:
        convolutions = 1 + len(pair.dilations) * (1 if pair.share else pair.repeats)
        assert size_of(pair.depth) == pytest.approx(convolutions * 96 * (3 * 96 + 1), rel=0.003)


def test_decoders_are_measured_with_the_share_of_entities_they_find(results: Path) -> None:
    for record in (r for r in records_of(results) if r["part"] == DECODING):
        assert list(record["arms"]) == [NER, GREEDY, CONSTRAINED, CRF]
        for shares in record["arms"].values():
            assert 0 <= shares["entity share"] <= 1
            assert 0.05 < shares["of text"] < 0.5


def test_decoders_get_the_same_vectors_and_docs_without_entities(text: Text) -> None:
    settings = replace(QUICK, steps=1)
    nlp = train_decoders(text, settings, 4)
    case = Case(DECODING, None, 4, settings.texts[0])
    work = make_decoding_work(case, text, settings, nlp)
    batches = [work.steps[arm](1).args[1] for arm in (NER, GREEDY)]  # type: ignore[attr-defined]
    for doc, other in zip(*batches, strict=True):
        numpy.testing.assert_array_equal(doc.tensor, other.tensor)
        assert doc.tensor.any() and not doc.has_annotation("ENT_IOB")


@pytest.mark.parametrize("alone", [False, True])
def test_decoders_tag_all_docs(text: Text, alone: bool) -> None:
    settings = replace(QUICK, steps=1)
    nlp = train_decoders(text, settings, 4)
    batches = settings.alone if alone else settings.texts[0]
    work = make_decoding_work(Case(DECODING, None, 4, batches), text, settings, nlp)
    for step in work.steps.values():
        run_step = step(0)
        run_step()
        docs = run_step.args[1]  # type: ignore[attr-defined]
        assert all(doc.has_annotation("ENT_IOB") for doc in docs)


def test_training_steps_change_the_weights_of_every_pipeline(text: Text) -> None:
    case = Case(TRAINING, None, 4, QUICK.texts[0])
    work = make_training_work(case, text, QUICK)
    assert list(work.steps) == [NER, CROSS_ENTROPY, CRF, EVERY_PASS]
    for arm, step in work.steps.items():
        update = step(0)
        update.keywords["sgd"].L2 = 0.0  # type: ignore[attr-defined] # which changes any weights
        nlp = update.func.__self__  # type: ignore[attr-defined]
        models = [pipe.model for _, pipe in nlp.pipeline]
        before = [model.to_bytes() for model in models]
        update()
        assert [model.to_bytes() for model in models] != before, arm


def test_training_arms_are_what_their_names_say(text: Text) -> None:
    case = Case(TRAINING, None, 18, QUICK.texts[0])
    work = make_training_work(case, text, QUICK)
    pipelines = {
        arm: step(0).func.__self__  # type: ignore[attr-defined]
        for arm, step in work.steps.items()
    }
    tagger = pipelines[CROSS_ENTROPY].get_pipe(CROSS_ENTROPY)
    assert len(tagger.labels) == len(pipelines[NER].get_pipe(NER).labels) == 18
    assert not tagger.learns_transitions
    assert pipelines[CRF].get_pipe(CRF).learns_transitions
    assert pipelines[CROSS_ENTROPY].pipe_names == ["tok2vec", CROSS_ENTROPY]
    assert pipelines[EVERY_PASS].pipe_names == [EVERY_PASS]
    names = [node.name for node in pipelines[NER].get_pipe("tok2vec").model.walk()]
    assert names.count("maxout_window_encoder") == 1
    names = [node.name for node in pipelines[CROSS_ENTROPY].get_pipe("tok2vec").model.walk()]
    assert names.count("iterated_dilated_encoder") == 1


@pytest.mark.parametrize("number", [4, 7, 18])
def test_labels_are_split_into_as_many_as_asked_for(text: Text, number: int) -> None:
    docs = split_labels(text.docs, number)
    assert len({ent.label_ for doc in docs for ent in doc.ents}) == number
    for doc, other in zip(text.docs, docs, strict=True):
        assert [(e.start, e.end) for e in doc.ents] == [(e.start, e.end) for e in other.ents]
        assert all(
            split.label_.startswith(ent.label_)
            for ent, split in zip(doc.ents, other.ents, strict=True)
        )


def test_labels_of_entities_with_the_same_first_letter_are_the_same(text: Text) -> None:
    split: dict[tuple[str, str], set[str]] = {}
    for doc, other in zip(text.docs, split_labels(text.docs, 18), strict=True):
        for ent, part in zip(doc.ents, other.ents, strict=True):
            split.setdefault((ent.label_, ent.text[0]), set()).add(part.label_)
    assert all(len(labels) == 1 for labels in split.values())


def test_splitting_labels_leaves_the_docs_alone(text: Text) -> None:
    before = [[ent.label_ for ent in doc.ents] for doc in text.docs]
    split_labels(text.docs, 18)
    assert [[ent.label_ for ent in doc.ents] for doc in text.docs] == before


@pytest.mark.parametrize(
    "number, message",
    [(2, "4 labels cannot be split into 2: ORG would be split into 0"), (400, "100, and its")],
)
def test_labels_that_cannot_be_split_so_are_named(text: Text, number: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split_labels(text.docs, number)


def make_record(part: str, labels: int, arm: str, median: float) -> Record:
    interval = {"low": median - 0.1, "median": median, "high": median + 0.1}
    return Record(
        part=part,
        what="what",
        text="text",
        labels=labels,
        tokens=[10],
        arms={arm: {"parameters": 1234}},
        times_ms={arm: [1.0]},
        words_per_second={arm: 1000},
        ratio={arm: interval},
    )


def test_table_says_which_targets_are_met() -> None:
    records = [
        make_record(DECODING, 18, GREEDY, 5.1),
        make_record(DECODING, 18, GREEDY, 4.9),
        make_record(DECODING, 4, GREEDY, 4.9),
        make_record(DECODING, 18, CRF, 4.9),
        make_record(TRAINING, 4, CROSS_ENTROPY, 1.4),
    ]
    rows = table_rows({str(n): record for n, record in enumerate(records)})
    assert [row[-1] for row in rows] == ["5.0 met", "5.0 missed", "", "", "1.5 missed"]
    assert rows[0][4:7] == ("parameters 1,234", "1,000", "5.10 (5.00-5.20)")


@needs_matplotlib
def test_results_are_drawn(results: Path, tmp_path: Path) -> None:
    assert is_png(results.with_suffix(".png"))
    records = records_of(results)
    with saved_figures() as figures:
        draw(tmp_path / "x.png", {str(i): r for i, r in enumerate(records)}, "machine")
    (figure,) = figures
    assert figure.get_suptitle() == "Time of dilated convolutions and of tagger_ner\nmachine"
    titles = ("encoder, prediction", "encoder, training step", "decoding", "training")
    for ax, part, title in zip(figure.axes, PARTS, titles, strict=True):
        base = BASES[part]
        bars = [
            (label_of(r), arm, values)
            for r in records
            for arm, values in r["ratio"].items()
            if r["part"] == part and arm != base
        ]
        xlabel = f"time of {base} divided by\nthat of the other (above 1: faster)"
        assert (ax.get_title(loc="left"), ax.get_xlabel()) == (title, xlabel)
        check_ratio_bars(ax, bars, COLORS)


def label_of(record: Record) -> str:
    if record["part"] in (DECODING, TRAINING):
        return f"{record['what']},\n{record['text']}"
    alike, pair = record["what"].split(": ")
    return f"{pair},\n{alike}, {record['text']}"


@needs_matplotlib
def test_targets_are_not_drawn(tmp_path: Path) -> None:
    record = make_record(DECODING, 18, GREEDY, 5.1)
    assert find_target(record, GREEDY) == 5.0
    with saved_figures() as figures:
        draw(tmp_path / "x.png", {"x": record}, "machine")
    (ax,) = figures[0].axes
    check_ratio_bars(ax, [("what,\ntext", GREEDY, record["ratio"][GREEDY])], COLORS)


def test_measures_only_what_is_asked_for_and_missing(tmp_path: Path) -> None:
    output = tmp_path / "dilated.json"
    first = run(output, TRAINING)["results"]
    assert [record["part"] for record in first.values()] == [TRAINING] * 2
    second = run(output, ENCODER_PREDICT, TRAINING)["results"]
    assert {name: second[name] for name in first} == first
    assert len(second) == 2 + 12


def test_refuses_a_part_that_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run(tmp_path / "dilated.json", "encoder")
    assert "was given encoder." in " ".join(capsys.readouterr().out.split())


def test_encoders_are_measured_on_each_device(ops: Ops, text: Text, tmp_path: Path) -> None:
    results = Results[Record](tmp_path / "dilated.json", {})
    settings = replace(QUICK, texts=(QUICK.texts[0],) * 3, repeats=2)
    command.dilated(text, settings, results, [ENCODER_TRAIN])
    assert type(ops) is type(get_current_ops())
    assert len(results.records) == len(PAIRS)
