"""What sentences say of several comparisons: what is counted, and what is no longer so."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.arms.tasks import HASH_EMBED
from tests.helpers.results import REPORT, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.tables.claims import claim, table_verdicts
from experiments.tables.prose import fill_numbers
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import load_results

DISPUTED = "higher, not seed by seed"
VERDICTS = {
    "sizes": {
        "anem": {"dev: small – all": "lower", "test: small – all": "within noise"},
        "wnut17": {"dev: small – all": DISPUTED, "test: small – all": "one seed"},
    },
    "starts": {"anem": {"dev: zero – one": "higher", "dev: two – one": "missing"}},
    "many": {"anem": {f"dev: {number} – one": "higher" for number in range(1013)}},
}


@pytest.mark.parametrize(
    ("words", "spec", "expected"),
    [
        (["count", "sizes", "anem", "*", "lower"], "", "one"),
        (["count", "sizes", "*", "dev: *", "*"], "", "two"),
        (["count", "sizes", "*", "dev: *", "lower", "higher*"], "", "two"),
        (["count", "*", "anem", "dev: [sz]*", "higher"], "", "one"),
        (["count", "sizes", "*", "*", "higher"], "", "no"),  # another interval would say otherwise
        (["count", "sizes", "*", "*", "*"], "", "three"),  # of one seed we conclude nothing
        (["count", "starts", "anem", "*", "missing", "higher"], "", "one"),
        (["count", "sizes", "*", "*", "*"], "d", "3"),
        (["count", "many", "*", "dev: ? – one", "*"], "", "ten"),
        (["count", "many", "*", "dev: 1[012] – one", "*"], "", "three"),
        (["count", "many", "*", "*", "*"], "", "1,013"),
        (["count", "many", "*", "*", "*"], "d", "1013"),
        (["every", "sizes", "anem", "dev: *", "lower"], "behind", "behind"),
        (["every", "sizes", "*", "dev: *", "lower", "higher*"], "apart on dev", "apart on dev"),
    ],
)
def test_claims_are_those_of_the_verdicts(words: Sequence[str], spec: str, expected: str) -> None:
    assert claim(VERDICTS, words, spec) == expected


@pytest.mark.parametrize(
    ("words", "spec", "message"),
    [
        (["count", "sizes", "anem", "*"], "", "expected TABLE DATASET COMPARISONS VERDICT, found "),
        (["every", "sizes", "anem"], "behind", "COMPARISONS VERDICT, found 'sizes anem'"),
        (["count", "size", "*", "*", "*"], "", r"no table has comparisons named 'size' '\*' '\*'"),
        (["every", "sizes", "anem", "dev*all all", "*"], "behind", "no table has comparisons"),
        (["every", "sizes", "anem", "dev: *", "lower"], "", "expected the words of the page behi"),
        (
            ["every", "sizes", "*", "dev: *", "lower"],
            "behind",
            "1 of 2 comparisons are not 'behind': sizes wnut17 dev: small – all is higher, not see",
        ),
        (["every", "sizes", "*", "test: *", "within*"], "alike", "all is one seed. Change the wo"),
        (["every", "starts", "*", "*", "higher"], "ahead", "dev: two – one is missing"),
    ],
)
def test_wrong_claims_are_errors(words: Sequence[str], spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        claim(VERDICTS, words, spec)


def test_claims_of_pages_are_those_of_their_tables(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, [0.50, 0.52, 0.54])
    write_results(tmp_path, "anem", "multi_embed", [0.40, 0.41, 0.42])
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.2, 0.3, 0.4])
    write_results(tmp_path, "wnut17", "multi_embed", [0.4, 0.2, 0.3])
    results = load_results(tmp_path, REPORT)
    table = TABLES["table-9"]
    verdicts = table_verdicts(results, [table])
    assert set(verdicts) == {"table-9"}
    assert set(verdicts["table-9"]) == set(table.datasets)
    label = "MultiHashEmbed – MultiEmbed"
    found = {dataset: of_set[label] for dataset, of_set in verdicts["table-9"].items()}
    assert (found.pop("anem"), found.pop("wnut17")) == ("same ordering", "within noise")
    assert set(found.values()) == {"missing"}
    page = (
        "Of <!-- = count table-9 * * * -->9<!-- / --> sets, they are <!-- = every table-9 anem "
        f'"{label}" "same ordering" : as in the report -->x<!-- / --> on <!-- = count table-9 * '
        '* "same ordering" : d -->9<!-- / -->.'
    )
    filled = fill_numbers(page, results, {"verdicts": verdicts}, Path("page.md"))
    assert filled == (
        page.replace("9<!-- / --> sets", "two<!-- / --> sets")
        .replace("-->x<", "-->as in the report<")
        .replace("-->9<!-- / -->.", "-->1<!-- / -->.")
    )
    with pytest.raises(
        ValueError, match=r"^page\.md, line 2: .* are not 'within noise': table-9 a"
    ):
        fill_numbers(
            'It is\n<b> <!-- = every table-9 [aw]n* * "within noise" : within noise -->x<!-- / -->',
            results,
            {"verdicts": verdicts},
            Path("page.md"),
        )


def test_two_tables_of_one_name_are_an_error(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, [0.5])
    table = TABLES["table-9"]
    with pytest.raises(ValueError, match="Two tables have the name 'table-9'"):
        table_verdicts(load_results(tmp_path, REPORT), [table, table])
