"""The numbers of papers are as printed: digests of them, and the papers themselves."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from experiments.tables import dilated, weighted
from experiments.tables.results_page import TABLES
from tests.helpers.paths import ROOT
from tests.helpers.results import REPORT

# srsly reads 0.69 as 0.6900000000000001.
NUMBERS = {key.split()[0]: table for key, table in json.loads(REPORT.read_text("utf8")).items()}
CONSTANTS: Mapping[str, Mapping[str, str]] = {
    "dilated, models": dilated.PAPER_MODELS,
    "dilated, dropout": dilated.PAPER_DROPOUT,
    "dilated, documents": dilated.PAPER_DOCUMENTS,
    "dilated, passes": dilated.PAPER_PASSES,
    "classifiers, accuracy": weighted.PAPER_ACCURACY,
    "classifiers, parameters": weighted.PAPER_PARAMETERS,
}
# Of each table of the report, by number, and of the constants. Whoever mends a number holds it to
# the paper, and puts the new digest here.
DIGESTS = {
    "1": "dc0d9964",
    "2": "d5db9963",
    "3": "b034cd57",
    "4": "3367adad",
    "5": "68f51f0d",
    "6": "6b7e8038",
    "7": "e18f7d21",
    "8": "45a5f87a",
    "9": "10b94ee7",
    "10": "6aeb85a5",
    "11": "63d8948f",
    "12": "8063cac1",
    "13": "205c3a74",
    "14": "43975966",
    "15": "ea20f49d",
    "16": "2ffaf7a9",
    "17": "39a16eeb",
    "dilated, models": "2f05868e",
    "dilated, dropout": "f37cdaf5",
    "dilated, documents": "446e8194",
    "dilated, passes": "754ac402",
    "classifiers, accuracy": "634b4400",
    "classifiers, parameters": "bbc10dcf",
}


def test_numbers_of_papers_have_not_changed() -> None:
    found = {
        name: f"{crc32(json.dumps(numbers, sort_keys=True).encode()):08x}"
        for name, numbers in {**NUMBERS, **CONSTANTS}.items()
    }
    assert found == DIGESTS


# The report

NAMES = {
    "conll-es": "CoNLL es",
    "conll-nl": "CoNLL nl",
    "wnut17": "WNUT2017",
    "archaeo": "Archeology",
    "anem": "AnEM",
    "ontonotes": "OntoNotes",
}
PRF = ("p", "r", "f")
# The columns of each table, in the order of the report.
COLUMNS: Mapping[str, Any] = {
    "1": ("default", "==MultiEmbed", "20%", "10%"),
    "4": ("NORM", "PREFIX", "SUFFIX", "SHAPE"),
    "5": (
        *("docs", "tokens", "classes", "ents_per_doc", "mean_doc_len", "mean_ent_len"),
        *("vocab", "unknown"),
    ),
    "6": [(split, part) for split in ("dev", "test") for part in ("seen", "unseen")],
    **dict.fromkeys(
        map(str, range(7, 13)),
        [(line, metric) for line in ("MultiHashEmbed", "MultiEmbed") for metric in PRF],
    ),
    **dict.fromkeys(("13", "14"), ("1", "2", "3", "4")),
    **dict.fromkeys(
        ("15", "16"), ("MultiHashEmbed", *(f"MultiEmbed min_freq={n}" for n in (10, 5, 1)))
    ),
    "17": [(line, metric) for line in ("fastText", "spaCy lg") for metric in PRF],
}
COMBINATIONS = ("NORM+PREFIX+SUFFIX+SHAPE", "NORM+PREFIX+SUFFIX", "NORM+PREFIX", "NORM", "ORTH")


def paper(folder: Path, name: str) -> str:
    """Read the text of a paper, of which lines and blanks are as the extraction left them."""
    (path,) = (folder / "papers").glob(f"{name}_*.txt")
    text = path.read_text("utf8")
    return str(json.loads(text)["full_text"]) if text.startswith("{") else text


def table_of(text: str, number: str) -> list[str]:
    """Return the lines of a table of the report, those between the caption before and its own."""
    head, caption, _ = text.partition(f"\nTable {number}: ")
    assert caption, f"no Table {number}"
    return re.split(r"\n(?:Table \d+: |\n)", head)[-1].splitlines()


def numbers_in(line: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", line)]


def columns_of(row: Mapping[str, Any], names: Any) -> list[float]:
    """Return the numbers of a row in the order of its columns, a deviation after its mean."""
    found: list[float] = []
    for name in names:
        value: Any = row
        for key in (name,) if isinstance(name, str) else name:
            value = value[key]
        found += value if isinstance(value, list) else [value]
    return found


def count(numbers: Any) -> int:
    """Count the numbers in lists and dicts."""
    if isinstance(numbers, dict):
        return sum(map(count, numbers.values()))
    return len(numbers) if isinstance(numbers, list) else 1


@pytest.mark.parametrize("number", COLUMNS)
def test_table_of_the_report_is_as_printed(number: str, shared: Path) -> None:
    lines = table_of(paper(shared, "000"), number)
    rows, printed = NUMBERS[number], 0
    for dataset, row in rows.items():
        (line,) = [line for line in lines if line.startswith(NAMES[dataset])]
        expected = numbers_in(line.removeprefix(NAMES[dataset]))
        assert columns_of(row, COLUMNS[number]) == expected, dataset
        printed += len(expected)
    assert printed == count(rows)
    assert len(rows) == sum(line.startswith(tuple(NAMES.values())) for line in lines)


@pytest.mark.parametrize("number", ["2", "3"])
def test_increases_of_errors_in_the_report_are_as_printed(number: str, shared: Path) -> None:
    lines = table_of(paper(shared, "000"), number)
    lines = [line for line in lines if line.startswith(r"\checkmark")]
    # the report marks the features of a line, and its text says which are left out in turn
    marks = [line.count(r"\checkmark") for line in lines]
    assert marks == [name.count("+") + 1 for name in COMBINATIONS]
    assert lines[0].endswith(" - - -")
    expected = [[0, 0, 0], *map(numbers_in, lines[1:])]
    found = NUMBERS[number]
    assert {*found} == {*COMBINATIONS}
    parts = ("all", "seen", "unseen")
    assert [columns_of(found[name], parts) for name in COMBINATIONS] == expected


def value(*keys: str) -> Any:
    found: Any = NUMBERS
    for key in keys:
        found = found[key]
    return found[0] if isinstance(found, list) else found


def test_contradictions_of_the_report_are_as_its_tables_have_them() -> None:
    rows, hashes, min_freq = (
        value("1", "conll-es", "default"),
        value("13", "conll-es", "4"),
        value("15", "conll-es", "MultiHashEmbed"),
    )
    assert hashes == min_freq
    said = f"{rows} for default rows on conll-es, {hashes} in Tables 13 and 15."
    assert TABLES["table-1"].note.endswith(said)
    tweets = value("15", "wnut17", "MultiHashEmbed"), value("13", "wnut17", "4")
    said = "{} for MultiHashEmbed on wnut17, {} in Table 13.".format(*tweets)
    assert TABLES["table-15"].note.endswith(said)


def test_text_of_the_results_has_the_numbers_of_the_report() -> None:
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf8").split())
    both = ("MultiEmbed", "MultiHashEmbed")
    unseen = [[value("11", name, line, "f") for line in both] for name in NUMBERS["11"]]
    ahead, tied = (sum(one > other for one, other in unseen), sum(a == b for a, b in unseen))
    numbers = {2: "two", 4: "four", 6: "six"}
    for said in (
        f"The report has it ahead on {numbers[ahead]} of {numbers[len(unseen)]} sets, with ties on "
        "conll-nl and archaeology",
        f"{value('5', 'ontonotes', 'docs'):,} documents) is not published",
        f"its own vocabulary, {value('4', 'conll-es', 'NORM'):,};",
    ):
        assert said in text, said
    assert tied == 2


# The other papers


def rows_of(text: str, number: int) -> dict[str, list[str]]:
    """Return the cells of each line of a table of Strubell et al. 2017, in Markdown."""
    tables = re.findall(r"(?m)^\| Model \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text)
    cells = [line.strip("| ").split(" | ") for line in tables[number - 1].splitlines()]
    return {name: numbers for name, *numbers in cells}


def test_numbers_of_dilated_convolutions_are_as_printed(shared: Path) -> None:
    text = paper(shared, "003")
    one, three, four, five = (rows_of(text, number) for number in (1, 3, 4, 5))
    without, with_penalty = (
        {name: cells[column] for name, cells in three.items()} for column in (0, 1)
    )
    last = "4-layer ID-CNN"
    assert four["ID-CNN"] == five["ID-CNN"]
    expected = [
        (dilated.PAPER_MODELS, [without["5-layer CNN"], without[last], one["ID-CNN-CRF"][0]]),
        (dilated.PAPER_DROPOUT, [without[last], with_penalty[last]]),
        (dilated.PAPER_DOCUMENTS, [four["4-layer ID-CNN (sent)"][0] + four["ID-CNN"][0]]),
        (dilated.PAPER_PASSES, [five[f"ID-CNN{name}"][0] for name in ("", " noshare", " 1-loss")]),
    ]
    for said, printed in expected:
        numbers = ["".join(re.findall(r"\d\d?\.\d\d", text)) for text in said.values()]
        assert numbers == [text.replace(" ", "") for text in printed]
    speeds = (float(rows_of(text, number)["ID-CNN"][0]) for number in (2, 6))
    page = (ROOT / "docs" / "dilated-results.md").read_text("utf8")
    assert "**The paper's {:.1f} and {:.1f}** are ratios".format(*speeds) in page


def test_numbers_of_hash_embeddings_are_as_printed(shared: Path) -> None:
    text = paper(shared, "002")
    table = text.partition("Table 2: Test accuracy (in %)")[2].partition("Table 3: State-of")[0]
    # Each column of the table is a paragraph, AG News first: shallow, then deep networks with hash
    # and standard embeddings, and the ensemble.
    columns = [each for each in table.split("\n\n") if re.fullmatch(r"(\d\d\.\d\s?){7}", each)]
    accuracy = [f"{float(column.split()[0]) / 100:.3f}" for column in columns]
    assert len(accuracy) == 5
    deep_standard = accuracy.pop(3)
    assert deep_standard not in weighted.PAPER_ACCURACY.values()
    assert [*weighted.PAPER_ACCURACY.values()] == accuracy
    text = " ".join(text.split())
    for model, said in (
        (weighted.HASH, "This adds up to {} parameters for the hash embeddings"),
        (weighted.TRICK, "embeddings size of 20. This requires {} parameters"),
        (weighted.ENSEMBLE, "parameters in the ensemble is approximately {}."),
    ):
        assert said.format(weighted.PAPER_PARAMETERS[model].replace(" ", "")) in text
    assert len(weighted.PAPER_PARAMETERS) == 3
    page = (ROOT / "docs" / "weighted-results.md").read_text("utf8")
    assert "The paper has K > 10 B;" in page and "s.t. K > 10 · B)" in text


# Lines of the table in docs/vectors-results.md, and what the paper calls them.
EMBEDDINGS = {
    "English (two tables), Spanish": "EN + ES",
    "English, Spanish, Catalan": "EN + ES + CA",
    "English, Spanish, Portuguese": "EN + ES + PT",
    "all five tables": "EN + ES + CA + PT",
    "Catalan, Portuguese": "CA + PT",
}


def cells_of_winata(page: str) -> dict[str, list[str]]:
    """Return the scores of each line of the table of Winata et al. 2019 in a page."""
    _, names, rest = page.partition("| tables | `concat` | `linear` | `mme` |\n")
    assert names, "no table of several tables"
    lines = [line.strip("| ").split(" | ") for line in rest.partition("\n\n")[0].splitlines()[1:]]
    return {name: scores for name, *scores in lines}


def scores_of_winata(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the mean and the deviation of each mode and each set of tables."""
    text = text.partition("Wang et al. (2018) (Ensemble)\t")[2]
    printed: dict[tuple[str, str], tuple[str, str]] = {}
    mode = ""
    for line in text.partition("Table 2: Cross-lingual results")[0].splitlines():
        name, *scores = line.rstrip("\t").split("\t")
        if name.isupper() and not scores:
            mode = name.lower()
        elif scores and "±" in scores[0]:
            mean, deviation = scores[0].split(" ± ")
            printed[mode, name.removesuffix(" (Single)")] = (mean, deviation)
    return printed


def test_scores_of_several_tables_are_as_printed(shared: Path) -> None:
    printed = scores_of_winata(paper(shared, "004"))
    page = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
    cells = cells_of_winata(page)
    assert {*cells} == {*EMBEDDINGS}
    deviations = []
    for name, said in cells.items():
        found = [printed.get((mode, EMBEDDINGS[name])) for mode in ("concat", "linear", "mme")]
        assert said == [mean_and_sd[0] if mean_and_sd else "–" for mean_and_sd in found], name
        deviations += [float(mean_and_sd[1]) for mean_and_sd in found if mean_and_sd]
    text = " ".join(page.split())
    alone = [printed["monolingual", language][0] for language in ("EN", "ES")]
    assert "English alone has {}, and Spanish alone {}.".format(*alone) in text
    assert f"Deviations are {min(deviations):.1f} to {max(deviations):.1f}." in text
    both = (float(cells["English (two tables), Spanish"][i]) - float(alone[1]) for i in (0, 2))
    sentence = "Spanish together, the means are {:.1f} and {:.1f} above that of Spanish alone."
    assert sentence.format(*both) in text


def test_text_on_several_tables_is_of_their_scores() -> None:
    page = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
    cells = cells_of_winata(page)
    first, *further = (float(cells[name][2]) for name, by in EMBEDDINGS.items() if "EN" in by)
    gains = [f"{score - first:.1f}" for score in sorted(further)]
    said = "With tables of further languages, the mean of `mme` rises by {} to {}. With all tables,"
    assert said.format(gains[0], gains[-1]) in " ".join(page.split())
    concat, linear, mme = map(float, cells["all five tables"])
    assert mme > max(concat, linear)


def test_differences_of_several_tables_are_those_of_their_scores() -> None:
    cells = cells_of_winata((ROOT / "docs" / "vectors-results.md").read_text("utf8"))
    gains = [
        f"{float(cells[name][2]) - float(cells[name][0]):.1f}"
        for name in ("all five tables", "English (two tables), Spanish", "Catalan, Portuguese")
    ]
    text = " ".join((ROOT / "docs" / "vectors.md").read_text("utf8").split())
    said = (
        "`mme` is above `concat` by {} F1 with all five tables. The difference is {} with the "
        "three tables of English and Spanish, and {} with those of Catalan and Portuguese"
    )
    assert said.format(*gains) in text


# What the table of papers in docs/vectors-results.md says, from the papers' own numbers.


def section(text: str, begin: str, end: str) -> str:
    """Return what is between two phrases, the first of each."""
    _, found, rest = text.partition(begin)
    assert found, begin
    inside, found, _ = rest.partition(end)
    assert found, end
    return inside


def row_of(text: str, name: str) -> list[str]:
    """Return the cells of the first line of that name, which are divided by tabs."""
    (cells, *_) = (line.split("\t") for line in text.splitlines() if line.startswith(f"{name}\t"))
    return cells[1:]


# The table of GloVe, and the same table reduced by the paper's method.
HALVES = (("Glove", 300), ("Algo", 150))


def found_by_transforms(text: str) -> str:
    similarity = section(text, "Table 1: Performance (Rho", "Table 2: Downstream Task")
    rows = (row_of(similarity, f"{name}-{width}D") for name, width in HALVES)
    pairs = [*zip(*(map(float, row) for row in rows), strict=True)]
    better = sum(half > whole for whole, half in pairs)
    _, classes = text.split("Table 3: Comparison of performance (in terms of test accuracy)")
    trec = row_of(classes, "Model").index("TREC")
    whole, half = (float(row_of(classes, f"{name}-{width}D")[trec]) for name, width in HALVES)
    return (
        f"with GloVe and half the columns, better on {better} of {len(pairs)} sets of similarity, "
        f"and {whole - half:.1f} points worse on types of questions"
    )


def found_by_z_norm(text: str) -> str:
    (ends,) = re.findall(r"across the nine systems from (\d+)% to (\d+)%", text)
    return "differences between encoders shrink from {} to {} points".format(*ends)


def found_by_morty(text: str) -> str:
    # three scores of fastText, then their changes by the method, in percent
    sums, analogies = (sorted(map(float, row_of(text, n)[3:6])) for n in ("∑ tasks", "analogy"))
    assert "the sum of 18 scores" in text
    return (
        f"with fastText, a sum of 18 scores {sums[0]} to {sums[-1]} % higher, and analogies "
        f"{analogies[0]} to {analogies[-1]:g} %"
    )


def found_by_gcca(text: str) -> str:
    test = [row_of(text, name)[0].partition("/")[2] for name in ("GCCA", "DGCCA")]
    return (
        "linear GCCA right for {} % of phonemes of another speaker, the deep one for {} %"
    ).format(*test)


def found_by_spelling(text: str) -> str:
    gains, sizes = [], []
    for begin, end, corpus in (
        ("Table 3: Analogy accuracies", "Table 4: Analogy accuracies", "20 Newsgroups"),
        ("Epochs\tModel\tTotal\tSem\tSyn", "Table 5: Analogy accuracies", "English Wiki 2016"),
    ):
        lines = [line for line in section(text, begin, end).splitlines() if "%\t" in line]
        # of the first epoch: skip-gram and fastText, each without and with; syntactic ones are last
        numbers = [float(re.findall(r"\d+\.\d+", line)[-1]) for line in lines[:4]]
        gains += [numbers[1] - numbers[0], numbers[3] - numbers[2]]
        sizes.append(row_of(text, corpus)[1])
    assert sizes == ["1 million", "1,192 million"]
    return (
        f"syntactic analogies after one epoch: {gains[0]:.1f} and {gains[1]:.1f} points better "
        f"with a million words, {gains[2]:.1f} better and {-gains[3]:.1f} worse with {sizes[1]}"
    )


def found_by_postle(text: str) -> str:
    tables = section(text, "Setup: FULL", "Table 1: Accuracy of POSTLE")
    # the task of directions, with words that training did not see: the seventh and eighth column
    without = float(row_of(tables, "LEAR (Vulić et al., 2018)")[6])
    cells = row_of(tables, "POSTLE DFFN POSTLE ADV")[6:8]
    best = max(float(number) for cell in cells for number in cell.split())
    return f"accuracy of directions {without:.2f} without POSTLE, and at best {best:.2f} with it"


def found_by_ard(text: str) -> str:
    models = section(text, "Removed parameters, %", "Table 1: Language modeling")
    before = re.findall(r"Original\t.*?\tNo compression\t([\d.]+)", models)
    after = re.findall(r"DSVI-ARD \([oO]urs\).*?% / ([\d.]+) ?%\t([\d.]+)", models)
    assert len(before) == len(after) == 5
    higher = sum(float(b[1]) > float(a) for a, b in zip(before, after, strict=True))
    dropped = sorted(float(share) for share, _ in after)
    return (
        f"{dropped[0]:.0f} to {dropped[-1]:.0f} % of the output layer's weights dropped, "
        f"perplexity higher in {higher} of {len(after)} models"
    )


def found_by_tucker(text: str) -> str:
    scores = section(text, "C\tCMU-MO", "Table 2: Results for Sentiment Analysis")
    rows = [row_of(scores, name) for name in ("MRRF", "CF", "TFN", "LMF")]
    columns = [i for i, n in enumerate(row_of(scores, "Metric")) if n.startswith(("Acc", "F1"))]
    gains = sorted(
        ours - max(others)
        for ours, *others in ([float(row[column]) for row in rows] for column in columns)
    )
    return f"{gains[0]:.0f} to {gains[-1]:.0f} points of accuracy or F1 above the best other fusion"


def found_with_noise(text: str) -> str:
    models = section(text, "Configuration\tPre-trained LM", "Table 4: Results on LFT and ONB")
    clean, noisy = (
        [float(found) for found in re.findall(rf"\t{name}\t.*\t([\d.]+)%", models)]
        for name in ("German", r"SMLM \(synthetic corpus\)")
    )
    gains = [f"{other - one:.1f}" for one, other in zip(clean, noisy, strict=True)]
    return "{} and {} points above a language model of modern texts without noise".format(*gains)


def found_in_another_language(text: str) -> str:
    german, dutch = (
        float(cell) for cell in row_of(text, "None (zero-shot)") if cell.startswith("+")
    )
    return f"{german:.0f} for German and {dutch:.0f} for Dutch, with English texts alone"


def found_by_unfreezing(text: str) -> str:
    table = section(text, "Pretraining\tAdaptation\tNER CoNLL 2003", "\n4 Results")
    gains = set(re.findall(r"\$\\Delta = .*?\t(-?[\d.]+)\t", table))
    (gain,) = gains
    (deviation,) = re.findall(r"standard deviation is about ([\d.]+)%", table)
    return f"tuned {gain} above frozen, with a deviation over seeds of about {deviation}"


FOUND: Mapping[str, Callable[[str], str]] = {
    "Raunak, Gupta and Metze 2019": found_by_transforms,
    "Eger, Rücklé and Gurevych 2019": found_by_z_norm,
    "Rethmeier and Plank 2019": found_by_morty,
    "Benton et al. 2019": found_by_gcca,
    "Gupta et al. 2019": found_by_spelling,
    "POSTLE, Kamath et al. 2019": found_by_postle,
    "Kodryan et al. 2019": found_by_ard,
    "MRRF, Barezi and Fung 2019": found_by_tucker,
    "Schweter and Baiter 2019": found_with_noise,
    "Shakurova et al. 2019": found_in_another_language,
    "Peters, Ruder and Smith 2019": found_by_unfreezing,
}


def cells_of_papers() -> dict[str, str]:
    """Return what the page says that each paper found."""
    page = (ROOT / "docs" / "vectors-results.md").read_text("utf8")
    table = section(page, "| here | paper | measured | found |\n|---|---|---|---|\n", "\n\n")
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return {paper: found for _, paper, _, found in lines}


def test_every_paper_of_the_table_is_held_to_its_text() -> None:
    assert {*cells_of_papers()} == {*FOUND, "Winata, Lin and Fung 2019"}


@pytest.mark.parametrize("name", FOUND)
def test_what_a_paper_found_is_as_printed(name: str, shared: Path) -> None:
    assert cells_of_papers()[name] == FOUND[name](paper(shared, "004"))
