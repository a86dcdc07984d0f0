"""The numbers in prose: what comments may say, and what is put between them."""

from pathlib import Path

import pytest

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.grid import Run
from tests.helpers.results import REPORT, write_result, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.tables.prose import fill_numbers, find_verdicts, turned
from experiments.tables.statistics import Results, load_results

STATISTICS = {
    "corpus": {"anem": {"splits": {"train": {"tokens": 57894, "docs": 2000}}, "name": "AnEM"}},
    "ner": {"candidates": {"left_out": {"max": 0.000429}}},
    "calibration": {"wnut17-md": {"test": {"before": {"error": 0.1234}}}},
    "benchmark": {
        "speed": {
            "results": {
                "embed/1 thread": {
                    "ratio": {"low": 2.366, "median": 2.583, "high": 2.745},
                    "times_ms": {"ours": [3.0, 9.0, 4.0], "spaCy": [8.0]},
                    "device": "CPU",
                },
                "embed/2 threads": {
                    "ratio": {"low": 1.0, "median": 3.25, "high": 4.0},
                    "times_ms": {"ours": [2.0], "spaCy": [7.0]},
                },
                "parts": {"ratio": {"ours": {"low": 19.14, "median": 20.2, "high": 21.34}}},
            },
            "summary": {"exponent": 0.962},
        },
        "rows": {
            "results": [
                {"case": "table", "bits": 8, "time": {"low": 1.44, "median": 1.62, "high": 2.57}},
                {"case": "table", "bits": 16, "time": {"low": 3.97, "median": 4.01, "high": 4.07}},
            ],
        },
    },
}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    write_results(tmp_path, "anem", HASH_EMBED, [0.50, 0.52, 0.54])
    write_results(tmp_path, "anem", "multi_embed", [0.40, 0.41, 0.42])
    write_results(tmp_path, "anem", "norm", [0.25])
    write_results(tmp_path, "anem", CRF, [0.5])
    write_result(tmp_path, Run("wnut17", "multi_embed", "en_core_web_md"), 0.3, record=None)
    write_result(tmp_path, Run("wnut17", HASH_EMBED), 0.2, record=None, train_cpu_seconds=50)
    return load_results(tmp_path, REPORT)


def fill(text: str, results: Results) -> str:
    return fill_numbers(text, results, STATISTICS, Path("page.md"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f anem/multi_hash_embed/test", "0.520"),
        ("f anem/multi_hash_embed/test : .2f", "0.52"),
        ("f anem/multi_hash_embed/test : sd", "0.520 ± 0.020"),
        ("f anem/multi_hash_embed/test : .0%", "52 %"),
        ("f anem/norm/test : sd", "0.250"),
        ("f anem/multi_hash_embed/test/unseen", "0.260"),
        ("p anem/multi_hash_embed/dev@2", "0.540"),
        ("f wnut17/multi_embed/en_core_web_md/test", "0.300"),
        ("f anem/multi_embed/test - anem/multi_hash_embed/test", "-0.110 ± 0.042"),
        ("f anem/multi_hash_embed/test - anem/multi_embed/test : by", "0.110 ± 0.042"),
        ("f anem/multi_hash_embed/test - anem/multi_embed/test : value", "+0.110"),
        ("f anem/multi_hash_embed/test - anem/multi_embed/test : paired", "+0.110 ± 0.025"),
        ("f anem/multi_hash_embed/test - anem/multi_embed/test : verdict", "higher"),
        ("f anem/multi_hash_embed/test - anem/norm/test", "+0.270"),
        ("f anem/multi_hash_embed/test - report 9 MultiHashEmbed", "-0.020 ± 0.042"),
        ("f anem/multi_embed/test - report 9 MultiEmbed", "-0.030 ± 0.023"),
        ("report f 9 anem MultiHashEmbed", "0.54"),
        ("report p 11 conll-nl MultiEmbed", "0.63"),
        ("report error_increase 2 conll-nl NORM : .0f", "47"),
        ("report f 11 conll-es MultiEmbed - MultiHashEmbed", "+0.05"),
        ("report f 9 anem MultiHashEmbed - MultiEmbed : .1f", "0.1"),
        ('report f 15 anem "MultiEmbed min_freq=1" - "MultiEmbed min_freq=10"', "+0.11"),
        ("f anem/multi_hash_embed/test - anem/norm/test : verdict", "one seed"),
        ("f anem/multi_hash_embed/test@0 - anem/multi_embed/test@0", "+0.100"),
        ("f anem/multi_hash_embed/test / anem/norm/test", "2.1"),
        ("train_cpu_seconds anem/multi_hash_embed / anem/norm : .2f", "1.00"),
        ("train_cpu_seconds wnut17/multi_hash_embed", "50"),
        ("error_increase anem/norm/test : .0f", "50"),
        ("spread f anem/multi_hash_embed/test", "0.040"),
        ("mean f anem/norm/test anem/norm/test wnut17/multi_embed/en_core_web_md/test", "0.267"),
        ("runs anem/*", "8"),
        ("corpus anem splits.train.tokens", "57,894"),
        ("calibration wnut17-md test.before.error : .1%", "12.3 %"),
        ("ner candidates left_out.max : .4f", "0.0004"),
        ("corpus anem splits.train.tokens / splits.train.docs", "28.95"),
        ('benchmark speed "embed/1 thread"', "2.58 (2.37-2.75)"),
        ('benchmark speed "embed/1 thread" : tenths', "2.6 (2.4-2.7)"),
        ('benchmark speed results "embed/1 thread" ratio : .1f', "2.6"),
        ("benchmark speed parts ours : tenths", "20.2 (19.1-21.3)"),
        ('benchmark speed "embed/1 thread" times_ms ours : .1f', "4.0"),
        (
            'benchmark speed "embed/1 thread" times_ms spaCy / '
            'speed "embed/1 thread" times_ms ours',
            "2.0",
        ),
        ('benchmark speed "embed/1 thread" times_ms spaCy / 1e3 : .3f', "0.008"),
        ("benchmark speed summary exponent", "0.962"),
        ("benchmark rows table 16 time", "4.01 (3.97-4.07)"),
        ('range benchmark speed "embed/*"', "2.6 to 3.2"),
        ('range benchmark speed "embed/2*" : .2f', "3.25 to 3.25"),
        (
            'range benchmark speed "embed/*" times_ms spaCy / speed "embed/*" times_ms ours',
            "2.0 to 3.5",
        ),
        ('range benchmark speed "embed/*" times_ms "*" : .0f', "2 to 8"),
    ],
)
def test_number_is_that_of_its_comment(expression: str, expected: str, results: Results) -> None:
    page = "It is <!-- = {0} -->{1}<!-- / -->, and\n| <!-- = {0} -->{1}<!-- / --> |\n"
    assert fill(page.format(expression, "old"), results) == page.format(expression, expected)
    assert fill(page.format(expression, expected), results) == page.format(expression, expected)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("f1 anem/norm/test", "'f1 anem/norm/test' is of no known form"),
        ("f anem/norm/test anem/norm/test", "is of no known form"),
        ("f anem", "expected a number as DATASET/ARM/SPLIT, found 'anem'"),
        ("f anem/norm/train", "expected a number as DATASET/ARM/SPLIT"),
        ("f anem/orth/test", "no run has the F1 of anem/orth/test"),
        ("f anem/norm/test@1", "no run has the F1 of anem/norm/test@1"),
        ("f anem/norm/test - anem/orth/test", "no run has the F1 of anem/orth/test"),
        ("f anem/norm/test + anem/norm/test", r"expected - or / between two numbers, found '\+'"),
        (
            "f wnut17/multi_embed/en_core_web_md/test - report 9 MultiEmbed",
            "9 of the report has no",
        ),
        ("f anem/multi_embed/test - report 99 MultiEmbed", "Table 99 of the report has no"),
        ("f anem/norm/test - report 9 CRF", "Table 9 of the report has no CRF for anem/norm/test"),
        ("f anem/norm/test - report 9 MultiEmbed", "Table 9 of the report has no MultiEmbed for"),
        (
            "f anem/multi_embed/dev - report 9 MultiEmbed",
            "has no MultiEmbed for anem/multi_embed/d",
        ),
        ("f anem/norm/test - report 9 MultiEmbed : .2f", "is of no known form"),
        ("report f 9 anem CRF", "Table 9 of the report has no F1 of anem, CRF"),
        ("report f 9 anem MultiEmbed - CRF", "Table 9 of the report has no F1 of anem, CRF"),
        ("report f 9 anem", r"expected METRIC TABLE DATASET LINE \[- LINE\], found 'f 9 anem'"),
        ("report f 9 anem MultiEmbed / CRF", r"LINE \[- LINE\], found 'f 9 anem MultiEmbed / CRF'"),
        ("report f1 9 anem MultiEmbed", "found 'f1 9 anem MultiEmbed'"),
        ("f anem/norm/test : .2x", "'.2x' is no format of this number"),
        ("f anem/norm/test - anem/multi_embed/test : by", "anem/norm/test is lower than anem/m"),
        ("f anem/norm/test - anem/multi_embed/test : paired", "have no two seeds to be paired"),
        ("train_cpu_seconds wnut17/multi_hash_embed / anem/norm", "are not comparable"),
        ("f anem/norm/test@0 - anem/multi_embed/test : verdict", "of all seeds: leave @SEED out"),
        ("spread f anem/norm/test@0", "of all seeds, not of anem/norm/test@0: leave @SEED out"),
        ("spread f anem/orth/test", "no run has the F1 of anem/orth/test"),
        ("mean f anem/norm/test anem/orth/test", "no run has the F1 of anem/orth/test"),
        ("mean f anem/norm/test", "is of no known form"),
        ("runs archaeo/*", r"no run matches archaeo/\*"),
        ("corpus archaeo splits", "no statistics of the corpus 'archaeo'"),
        ("corpus anem splits.train.words", "of anem have no number 'splits.train.words'"),
        ("corpus anem name", "of anem have no number 'name'"),
        ("corpus anem splits.train.docs splits", "have no number 'splits'|expected one path"),
        ("benchmark scaling parts ours", "the benchmarks have no 'scaling' of scaling parts ours"),
        ("benchmark speed parts theirs", "the benchmarks have no 'theirs' of speed parts theirs"),
        ("benchmark speed parts", "speed parts of the benchmarks is no number, nor an interval"),
        ("benchmark", "of the benchmarks is no number, nor an interval"),
        ("benchmark rows table time", "the benchmarks have no 'time' of rows table time"),
        ("benchmark rows table", "rows table of the benchmarks is no number, nor an interval"),
        ("benchmark speed parts ours /", "expected a number behind '/'"),
        ("benchmark speed parts ours / zero", "expected a number behind '/', found 'zero'"),
        ("benchmark speed parts ours / 0", "expected a number behind '/', found '0'"),
        ('benchmark speed "parts ours', "No closing quotation"),
        ('range benchmark speed "decode/*"', r"the benchmarks have none of speed decode/\*"),
        ('range benchmark speed "embed/*" "*"', "embed/1 thread times_ms of the benchmarks is no"),
        (
            'range benchmark speed "embed/*" / speed "embed/2*"',
            "2 numbers cannot be divided by 1",
        ),
        ("range f anem/norm/test", "is of no known form"),
    ],
)
def test_wrong_comments_are_errors_that_name_the_line(
    expression: str, message: str, results: Results
) -> None:
    with pytest.raises(ValueError, match=rf"^page\.md, line 2: .*{message}"):
        fill(f"Of\nit <!-- = {expression} -->0<!-- / -->.", results)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a <!-- = f anem/norm/test -->0.3", "a number needs"),
        ("a 0.3<!-- / -->", "a number needs"),
        ("<!-- = f anem/norm/test -->0.3<!-- / --> it is", "begins the line"),
        ("- <!-- = f anem/norm/test -->0.3<!-- / --> it is", "begins the line"),
    ],
)
def test_comments_have_two_ends_and_a_word_before(
    line: str, message: str, results: Results
) -> None:
    with pytest.raises(ValueError, match=rf"^page\.md, line 1: .*{message}"):
        fill(line, results)


def test_differences_of_pages_have_verdicts(results: Results) -> None:
    marker = "<!-- = {} -->0<!-- / -->"
    names = [
        "f anem/multi_hash_embed/test - anem/multi_embed/test",
        "f anem/multi_hash_embed/dev - anem/norm/dev",
        "f anem/multi_hash_embed/test - report 9 MultiHashEmbed",
    ]
    others = [
        "f anem/multi_hash_embed/test",
        "f anem/multi_hash_embed/test / anem/multi_embed/test",
        "f anem/multi_hash_embed/test@0 - anem/multi_embed/test@0",
        "runs anem/*",
        "benchmark speed 'embed/1 thread'",
    ]
    page = " ".join(map(marker.format, [*names, *others, f"{names[0]} : by"]))
    verdicts = find_verdicts([page, page], results)
    assert list(verdicts) == sorted(names)
    assert [verdicts[name] for name in names] == ["higher", "one seed", "within noise"]


@pytest.mark.parametrize("format", ["", " : by", " : paired", " : verdict"])
def test_differences_whose_verdict_turns_are_named(format: str) -> None:
    page = f"It\nis <!-- = f a - b{format} -->1<!-- / --> and <!-- = f c -->2<!-- / -->."
    name, path = "f a - b", Path("page.md")
    found = turned(page, {name: "higher"}, {name: "higher, not seed by seed"}, path)
    assert found == ["page.md, line 2: f a - b is higher, not seed by seed, was higher"]
    assert turned(page, {name: "higher"}, {name: "higher"}, path) == []
    assert turned(page, {}, {name: "higher"}, path) == []  # a new one
