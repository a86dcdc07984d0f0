import json
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest
import spacy
from spacy.tokens import Doc, DocBin

from benchmarks import scaling, speed, textcat, token_types, weighted
from benchmarks.common import command
from benchmarks.common import text as text_module
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.results import Results
from benchmarks.common.text import Text, merge_docs, read_text, take_batches, take_docs
from benchmarks.common.timing import limit_threads, ratio, time_rounds
from experiments.corpora.sample import make_sentences

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None,
    reason="matplotlib is not installed: pip install 'spacy-multihash[plots]'",
)
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def text() -> Text:
    vocab = spacy.blank("en").vocab
    sentences = make_sentences(0)["dev"][:40]
    docs = [Doc(vocab, words=sentence.words, ents=sentence.tags) for sentence in sentences]
    return Text("tiny", "en", docs)


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (speed, scaling, weighted):
        monkeypatch.setattr(module, "load_text", lambda: text)


def run_speed(output: Path, *only: str, fresh: bool = False) -> dict:
    speed.speed_cli(True, list(only), 2, output, None, fresh)
    return json.loads(output.read_text("utf8"))


def run_scaling(output: Path, *only: str) -> dict:
    with pytest.MonkeyPatch.context() as patch:
        # A process of the test runner crashed once while it traced memory, beside threads of its
        # own: one test traces in a process that does nothing else.
        patch.setattr(scaling, "temporary_bytes", lambda run: scaling.count_bytes(run()))
        scaling.scaling_cli(True, list(only), 2, output, None, False)
    return json.loads(output.read_text("utf8"))


def test_ratio_is_the_median_of_quotients_of_rounds() -> None:
    # the quotients are 2, 4 and 1, and not those of the medians
    times, others = numpy.array([2.0, 40.0, 6.0]), numpy.array([1.0, 10.0, 6.0])
    assert ratio(times, others).median == 2.0


def test_ratio_of_a_constant_has_an_interval_of_one_point() -> None:
    assert str(ratio(numpy.full(9, 3.0), numpy.full(9, 2.0))) == "1.50 (1.50-1.50)"


def test_ratio_has_the_same_interval_each_time() -> None:
    times = numpy.random.default_rng(1).uniform(1, 2, 20)
    assert ratio(times, numpy.ones(20)) == ratio(times, numpy.ones(20))


def test_ratio_interval_holds_the_true_median_19_times_in_20() -> None:
    rng = numpy.random.default_rng(0)
    ones, hits = numpy.ones(21), 0
    for _ in range(300):
        found = ratio(rng.lognormal(0, 0.3, 21), ones, resamples=400)
        hits += found.low <= 1 <= found.high
    # the bootstrap of a median is a little too wide or too narrow for 21 rounds
    assert 0.90 <= hits / 300 <= 0.99


def test_time_rounds_times_what_a_step_returns_and_not_its_preparation() -> None:
    calls: list[tuple[str, int]] = []

    def make_step(name: str) -> Callable[[int], Callable[[], object]]:
        return lambda i: lambda: calls.append((name, i))

    steps = {name: make_step(name) for name in "ab"}
    times = time_rounds(steps, rounds=3, rng=random.Random(0), warm_up=1)
    assert sorted(calls) == [(name, i) for name in "ab" for i in (-1, 0, 1, 2)]
    # in turns: both of a round before any of the next
    assert [i for _, i in calls] == [-1, -1, 0, 0, 1, 1, 2, 2]
    assert {name: len(all_) for name, all_ in times.items()} == {"a": 3, "b": 3}


def test_limit_threads_gives_the_former_setting_back() -> None:
    with limit_threads(None) as before:
        pass
    with limit_threads(1) as threads:
        assert threads == 1
    with limit_threads(None) as after:
        assert after == before


def test_merge_docs_keeps_words_in_order_and_leaves_a_rest_out(text: Text) -> None:
    words = [token.text for doc in text.docs for token in doc]
    merged = merge_docs(text.docs, 60)
    assert all(len(doc) >= 60 for doc in merged)
    joined = [token.text for doc in merged for token in doc]
    assert joined == words[: len(joined)]
    assert len(words) - len(joined) < 60


def test_results_go_on_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results[int](path, {"settings": {"widths": (1, 2)}}).add("a", 1)
    results = Results[int](path, {"settings": {"widths": (1, 2)}})
    results.add("b", 2)
    assert json.loads(path.read_text("utf8")) == {
        "settings": {"widths": [1, 2]},
        "results": {"a": 1, "b": 2},
    }
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results[int](path, {"machine": "x", "settings": 1}).add("a", 1)
    with pytest.raises(ValueError, match="made with another settings. Choose another --output"):
        Results[int](path, {"machine": "x", "settings": 2})
    assert Results[int](path, {"machine": "x", "settings": 2}, fresh=True).records == {}


def test_load_text_makes_the_sample_where_no_corpus_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "experiments").symlink_to(text_module.ROOT / "experiments")
    monkeypatch.setattr(text_module, "ROOT", tmp_path)
    monkeypatch.setattr(text_module, "SHARED", tmp_path / "shared")
    sample = text_module.load_text()
    assert sample.lang == "en"
    assert len(sample.docs) == 3000


def test_token_types_writes_its_results(tmp_path: Path, text: Text) -> None:
    corpus, output = tmp_path / "text.spacy", tmp_path / "out" / "token_types.json"
    DocBin(docs=text.docs * 8).to_disk(corpus)
    token_types.token_types_cli(corpus, "en", 2, 0, False, output)
    data = json.loads(output.read_text("utf8"))
    assert data["settings"] == {"corpus": str(corpus), "lang": "en", "rounds": 2, "seed": 0}
    assert [item["step"] for item in data["results"]] == ["predict", "train"] * 2
    assert all(item["spacy"]["median"] > 0 for item in data["results"])


def test_speed_writes_times_of_both_arms_for_every_layer(tmp_path: Path) -> None:
    data = run_speed(tmp_path / "speed.json", *speed.LAYERS)
    assert {"machine", "text", "settings", "results"} == set(data)
    assert data["text"] == {"name": "tiny", "lang": "en", **data["text"]}
    assert {"cpu", "cores", "python", "numpy", "spacy", "thinc", "numpy_blas"} <= set(
        data["machine"]
    )
    # 6 layers and steps, in 2 numbers of threads, in 3 combinations of width and docs
    assert len(data["results"]) == 36
    for name, record in data["results"].items():
        limited = record["what"] in ("encoder-predict", "tok2vec-predict")
        assert set(record["times_ms"]) == {SPACY, OURS} | ({speed.LIMIT} if limited else set())
        assert all(len(times) == 2 and min(times) > 0 for times in record["times_ms"].values())
        assert record["ratio"]["low"] <= record["ratio"]["median"] <= record["ratio"]["high"], name
        assert set(record["share"]) == ({SPACY, OURS} if limited else set())
        assert min(record["tokens_per_second"].values()) > 0
        assert record["threads"] == speed.ALL or record["num_threads"] == 1


def test_speed_measures_pipelines(tmp_path: Path) -> None:
    data = run_speed(tmp_path / "speed.json", *speed.PIPELINES)
    assert [(r["what"], r["threads"]) for r in data["results"].values()] == [
        (what, threads) for what in speed.PIPELINES for threads in (speed.ONE, speed.ALL)
    ]


def test_speed_goes_on_and_starts_anew_on_request(tmp_path: Path) -> None:
    output = tmp_path / "speed.json"
    first = run_speed(output, "embed-predict")["results"]
    second = run_speed(output, "embed-predict", "embed-train")["results"]
    assert {name: second[name] for name in first} == first
    assert len(second) == 2 * len(first)
    assert len(run_speed(output, "embed-train", fresh=True)["results"]) == len(first)


def test_speed_refuses_what_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run_speed(tmp_path / "speed.json", "embedding")
    assert "was given embedding" in capsys.readouterr().out


def test_speed_refuses_a_pipeline_that_accelerate_leaves_alone() -> None:
    with pytest.raises(ValueError, match="Not all layers of the pipeline were accelerated"):
        speed.accelerate(spacy.blank("en"))


def make_record(what: str, threads: str, median: float) -> speed.Record:
    interval = {"low": median - 0.1, "median": median, "high": median + 0.1}
    share = {SPACY: interval, OURS: interval} if what == "encoder-predict" else {}
    return speed.Record(
        what=what,
        width=96,
        text="short",
        threads=threads,
        num_threads=1,
        tokens=[10],
        times_ms={SPACY: [2.0], OURS: [1.0]},
        tokens_per_second={SPACY: 5.0, OURS: 10.0},
        ratio=interval,
        share=share,
    )


def test_speed_table_says_which_targets_are_met() -> None:
    records = [
        make_record("tok2vec-predict", speed.ONE, 2.6),
        make_record("tok2vec-predict", speed.ALL, 2.6),
        make_record("encoder-predict", speed.ONE, 0.7),
        make_record("encoder-predict", speed.ALL, 0.7),
    ]
    rows = speed.table_rows({str(n): record for n, record in enumerate(records)})
    assert [(row[7], row[10]) for row in rows] == [
        ("2.5 met", ""),
        ("4.0 missed", ""),
        ("", "0.65 met"),
        ("", ""),
    ]


def test_speed_has_no_target_for_other_widths_and_long_docs() -> None:
    record = make_record("tok2vec-predict", speed.ONE, 2.6)
    assert speed.find_target(record, "ratio") == 2.5
    assert speed.find_target({**record, "width": 256}, "ratio") is None
    assert speed.find_target({**record, "text": "long"}, "ratio") is None


@needs_matplotlib
def test_speed_draws(tmp_path: Path) -> None:
    run_speed(tmp_path / "speed.json", "encoder-predict")
    assert (tmp_path / "speed.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("module", [speed, scaling])
def test_missing_matplotlib_is_said(
    tmp_path: Path,
    module: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "can_plot", lambda: False)
    if module is speed:
        run_speed(tmp_path / "x.json", "embed-predict")
    else:
        run_scaling(tmp_path / "x.json", "rows")
    assert "pip install" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_scaling_writes_times_and_memory_of_every_point(tmp_path: Path) -> None:
    data = run_scaling(tmp_path / "scaling.json")
    axes = scaling.QUICK.axes
    expected = [f"{axis}/{value}" for axis, values in axes.items() for value in values]
    assert list(data["results"]) == [*expected, f"million/{scaling.QUICK.million}"]
    for record in data["results"].values():
        arms = [SPACY, OURS] if record["point"]["num_hashes"] == 4 else [OURS]
        trained = [] if record["axis"] == scaling.MILLION else [scaling.TRAIN]
        names = {f"{what}/{arm}" for what in [*scaling.PREDICT, *trained] for arm in arms}
        assert set(record["times_ms"]) == set(record["temporary_bytes"]) == names
        assert set(record["model_bytes"]) == set(arms)
        assert record["estimated_bytes"] == {}
    assert set(data["summary"]["memory"]) == set(scaling.PREDICT)
    assert data["results"]["vocabulary/5"]["types"] == 5


def test_scaling_estimates_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "available_bytes", lambda: 0)
    monkeypatch.setattr(command, "can_plot", lambda: False)
    data = run_scaling(tmp_path / "scaling.json", "million")
    (record,) = data["results"].values()
    assert record["times_ms"] == record["temporary_bytes"] == {}
    assert set(record["estimated_bytes"]) == {
        f"{what}/{arm}" for what in scaling.PREDICT for arm in (SPACY, OURS)
    }
    assert "about" in capsys.readouterr().out


@needs_matplotlib
def test_scaling_draws(tmp_path: Path) -> None:
    run_scaling(tmp_path / "scaling.json", "rows", "num_hashes")
    assert (tmp_path / "scaling.png").read_bytes().startswith(PNG)


def test_scaling_finds_the_exponent_of_growth() -> None:
    records = {
        str(n): scaling.Record(
            axis="tokens",
            value=n,
            point={},
            types=n,
            times_ms={f"tok2vec-predict/{OURS}": [float(n) ** 1.5]},
            temporary_bytes={},
            estimated_bytes={},
            model_bytes={},
        )
        for n in (1, 1000, 10_000, 100_000)
    }
    exponents = scaling.summarise(records)["exponent"]
    assert exponents == {f"tok2vec-predict/{OURS}": 1.5}


def test_temporary_bytes_are_beyond_the_result() -> None:
    code = """
import numpy
from benchmarks import scaling

def run():
    # 4 MB that are let go, and 1 MB that is returned
    numpy.ones(500_000)
    return [numpy.ones(125_000)]

print(scaling.temporary_bytes(run))
"""
    folder = Path(scaling.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=True)
    assert 2.9e6 < int(done.stdout) < 3.1e6


def test_weighted_times_both_embeddings_in_every_step(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    weighted.weighted_cli(True, 2, output, None, False)
    records = json.loads(output.read_text("utf8"))["results"]
    assert [record["case"]["step"] for record in records.values()] == [
        "train",
        "update",
        "predict",
        "tables",
    ]
    for record in records.values():
        times, others = (
            record["times_ms"][arm] for arm in (weighted.WEIGHTED, weighted.UNWEIGHTED)
        )
        quotients = numpy.array(times) / numpy.array(others)
        assert record["ratio"]["median"] == pytest.approx(numpy.median(quotients), rel=1e-2)
        assert len(quotients) == 2


def test_weighted_measures_only_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    weighted.weighted_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    weighted.weighted_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first


@pytest.fixture
def topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "topics"
    folder.mkdir()
    vocab = spacy.blank("en").vocab
    docs = []
    for word, label in [("ball", "sport"), ("star", "science")] * 6:
        doc = Doc(vocab, words=[word, "of", "today"])
        doc.cats = {name: float(name == label) for name in ("science", "sport")}
        docs.append(doc)
    DocBin(docs=docs, attrs=[]).to_disk(folder / "dev.spacy")
    monkeypatch.setattr(textcat, "open_corpus", lambda: nullcontext(("tiny", folder)))
    return folder


@pytest.mark.usefixtures("topics")
def test_textcat_times_all_models_in_training_and_prediction(tmp_path: Path) -> None:
    output = tmp_path / "textcat.json"
    textcat.textcat_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    data = json.loads(first)
    assert data["text"]["name"] == "tiny, dev" and data["settings"]["docs"] == 8
    assert list(data["results"]) == [textcat.UPDATE, textcat.PREDICT, textcat.ALONE]
    for record in data["results"].values():
        assert record["words"] == [24, 24]
        base = numpy.array(record["times_ms"][textcat.BASE])
        for arm in textcat.ARMS:
            times = numpy.array(record["times_ms"][arm])
            median = pytest.approx(numpy.median(times / base), rel=1e-2)
            assert record["ratio"][arm]["median"] == median
            per_second = pytest.approx(numpy.median(24_000 / times), rel=1e-2)
            assert record["words_per_second"][arm] == per_second
        # tables, and a linear layer to two labels
        assert record["parameters"][textcat.BASE] == 1000 * 20 + 10_000 * 2 + 20 * 2 + 2
        assert record["parameters"]["hashing_trick"] == 1000 * 20 + 20 * 2 + 2
    if find_spec("matplotlib"):
        assert (tmp_path / "textcat.png").read_bytes().startswith(PNG)
    textcat.textcat_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first


def test_textcat_trains_each_model_as_its_config_says(topics: Path) -> None:
    docs = read_text(topics / "dev.spacy", "tiny", "en").docs
    size, number = textcat.QUICK.docs, textcat.QUICK.batches
    batches = take_batches(docs, lambda rest: take_docs(rest, size), number)
    for arm in ("hash_embed", "bow"):
        nlp = textcat.build(arm, topics, batches[0], textcat.QUICK)
        update = textcat.update_step(nlp, batches)(0)
        classify = textcat.predict_step(nlp, batches)(0)
        before = numpy.array(classify())
        update()
        assert not numpy.allclose(before, numpy.array(classify()))
        assert update.keywords["drop"] == (0.1 if arm == "bow" else 0.0)  # type: ignore[attr-defined]
        assert update.keywords["sgd"].L2 == (0.01 if arm == "bow" else 0.0)  # type: ignore[attr-defined]


def test_textcat_makes_topics_where_no_corpus_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textcat, "AG_NEWS", tmp_path)
    with textcat.open_corpus() as (name, folder):
        text = read_text(folder / "dev.spacy", name, "en")
        assert (folder / "train.spacy").is_file()
    assert text.name.startswith("generated topics") and len(text.docs) == 300
    assert not folder.exists()
