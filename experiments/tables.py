"""The tables of results/tables: their runs, and how to write them."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from experiments.arms import CRF, SPACY
from experiments.results import RESULTS
from experiments.statistics import Cell, Estimate, Runs, error_increase

REPORT = "report_tables.json"
SEEDS = 3  # of most runs, and of the paper
ES, NL, SENTENCES, WNUT = "conll-es", "conll-nl", "conll-nl-sentences", "wnut17"
ANEM, ARCHAEO, TURKU = "anem", "archaeo", "turku-one"
AG_NEWS, TOPICS = "ag-news", "topics"
SIX = (ES, NL, WNUT, ANEM, ARCHAEO, TURKU)
NINE = (*SIX, "gum", "masakhaner-swa", "masakhaner-hau")
CUT = tuple(f"{name}-300" for name in NINE)  # to 300 sentences
CUT_1000 = tuple(f"{name}-1000" for name in NINE)
HASH = "multi_hash_embed"
CHOSEN, CHOSEN_FEW = "recipe-ngrams_sum", "recipe-lower_slices-transitions-few"
SLICES_FEW = "recipe-lower_slices-few"  # without transitions
VECTORS = {
    ES: "es_e5_words",
    NL: "nl_e5_words",
    WNUT: "en_core_web_md",
    ANEM: "en_core_web_md",
    ARCHAEO: "nl_e5_words",
}


@dataclass(frozen=True)
class Table:
    """Scores of arms on data sets, and their differences from a base arm.

    title (str): The comparison.
    lines (Mapping[str, str]): The arm of each line. "ARM after STEP" evaluates the trained models
        after that step.
    datasets (Sequence[str]): The columns.
    scores (Sequence[str]): Columns of the table of runs. Each gets a block of scores, and a block
        of differences.
    bases (Mapping[str, str]): The line to compare each line with. Other lines aren't compared.
    note (str): A note to the reader.
    report (Mapping[str, str]): By line, the number of the paper's table and its name of the line.
    metric (str): The metric in the paper's tables, if they have several.
    vectors (Mapping[str, str]): The static vectors of each data set.
    """

    title: str
    lines: Mapping[str, str]
    datasets: Sequence[str]
    scores: Sequence[str]
    bases: Mapping[str, str]
    note: str = ""
    report: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    vectors: Mapping[str, str] = field(default_factory=dict)

    def cell(self, line: str, dataset: str, score: str) -> Cell:
        """Return the cell of a line."""
        arm, _, after = self.lines[line].partition(" after ")
        return Cell(dataset, arm, score, self.vectors.get(dataset, ""), after)


def against(base: str, lines: Mapping[str, str]) -> dict[str, str]:
    """Compare all lines with a base line."""
    return dict.fromkeys((line for line in lines if line != base), base)


FEATURES = {
    "NORM, PREFIX, SUFFIX, SHAPE": HASH,
    "NORM, PREFIX, SUFFIX": "norm_prefix_suffix",
    "NORM, PREFIX": "norm_prefix",
    "NORM": "norm",
    "ORTH": "orth",
}
HASHES = {f"{k} (our seeds)": f"hashes_{k}" for k in (1, 2, 3)} | {"4 (our seeds)": HASH}
SPACY_HASHES = {f"{k} (spaCy's seeds)": f"spacy_seeds_hashes_{k}" for k in (1, 2, 3, 4)}
SPACY_HASHES_VECTORS = {line: arm for line, arm in SPACY_HASHES.items() if line[0] != "3"}
LOOKUP = {
    "MultiHashEmbed": HASH,
    "MultiHashEmbed, rows as MultiEmbed": "rows_as_multi_embed",
    "MultiEmbed": "multi_embed",
}
ROWS = {
    "default": HASH,
    "as MultiEmbed": "rows_as_multi_embed",
    "20 %": "rows_20_percent",
    "10 %": "rows_10_percent",
    "10 % of the default": "budget_10_percent",
    "1 % of the default": "budget_1_percent",
}
NORM_ROWS = {
    f"{rows:,} rows, {k} hash{'es' * (k > 1)}, {whose} seeds": (
        f"{name}hashes_{k}{'' if rows == 5000 else f'_rows_{rows}'}"
    )
    for rows in (5000, 2500, 1000)
    for whose, name in (("our", ""), ("spaCy's", "spacy_seeds_"))
    for k in (1, 2)
}
MIN_FREQS = {
    "MultiHashEmbed": HASH,
    "MultiEmbed, min_freq 10": "multi_embed",
    "MultiEmbed, min_freq 5": "multi_embed_min5",
    "MultiEmbed, min_freq 1": "multi_embed_min1",
}
RECOMMENDED = {
    "recommended": CHOSEN,
    "recommended, without n-grams": "recipe",
    "regularized (batch_ner)": "regularized",
    "the paper's": HASH,
    "the paper's, spaCy's ner": "ner",
    "CRF with handmade features": CRF,
}
BASELINES = {
    "recommended": CHOSEN,
    "small (below 1 MB compressed)": "small",
    "spaCy's efficiency config": SPACY,
    "CRF with handmade features": CRF,
}
ALONE = {
    "none of them": "recipe-hash-plain",
    "MultiEmbed": "recipe-unk_0-plain",
    "MultiEmbed, unk_dropout 0.1": "recipe-unk_10-plain",
    "MultiEmbed, unk_dropout 0.3": "recipe-plain",
    "MultiEmbed, unk_dropout 0.5": "recipe-unk_50-plain",
    "averages": "recipe-hash-dropout_10",
    "dropout 0.3": "recipe-hash-no_averages",
    "n-grams": "recipe-hash-ngrams_sum-plain",
}
ALL_BUT = {
    "all": CHOSEN,
    "all but MultiEmbed": "recipe-hash-ngrams_sum",
    "all but unk_dropout": "recipe-unk_0-ngrams_sum",
    "all, unk_dropout 0.1": "recipe-unk_10-ngrams_sum",
    "all, unk_dropout 0.5": "recipe-unk_50-ngrams_sum",
    "all but averages": "recipe-ngrams_sum-no_averages",
    "all but dropout 0.3": "recipe-ngrams_sum-dropout_10",
    "all but n-grams": "recipe",
}
DILATED = {
    "batch_ner, maxout windows": HASH,
    "batch_ner, dilated, as in the paper": "dilated",
    "batch_ner, dilated, residual": "dilated_residual",
    "batch_ner, dilated, normalized": "dilated_normalized",
    "batch_ner, dilated, both": "dilated_residual_normalized",
    "tagger_ner, maxout windows": "tagger_maxout",
    "tagger_ner, maxout windows, CRF": "tagger_maxout_crf",
    "tagger_ner, dilated, as in the paper": "tagger_plain",
    "tagger_ner, dilated, normalized": "tagger_normalized",
    "tagger_ner, dilated, both": "tagger",
    "the same, greedy": "tagger_greedy",
    "the same, CRF": "tagger_crf",
    "the same, parameters not shared": "tagger_unshared",
    "the same, loss of the last pass": "tagger_last_pass",
}
WEIGHTED = {
    f"{share}: {name}": arm.format(suffix)
    for share, suffix in (
        ("100 %", ""),
        ("10 %", "_budget_10_percent"),
        ("1 %", "_budget_1_percent"),
    )
    for name, arm in (
        ("MultiHashEmbed", HASH if not suffix else suffix[1:]),
        ("MultiHashEmbed, two hashes", "hashes_2" if not suffix else f"{suffix[1:]}_hashes_2"),
        ("MultiWeightedHashEmbed", "weighted_near_zero{}"),
    )
}
STATIC = {
    "no table": "vectors_none",
    "of the language": "vectors_own",
    "of another language": "vectors_other",
    "word2vec of the training texts": "vectors_word2vec",
    "two languages, concat": "vectors_pair_concat",
    "two languages, mme": "vectors_pair_mme",
    "all three, concat": "vectors_concat",
    "all three, mme": "vectors_mme",
}
STATIC_PREPARED = {
    "untouched": "vectors_own",
    "drop-top": "vectors_drop_top",
    "pca": "vectors_pca",
    "several tables merged by pca": "vectors_merge_pca",
    "float16": "vectors_own after quantize_float16",
    "int8": "vectors_own after quantize_int8",
}
NOISE = {
    f"trained {how} noise{tested}": f"vectors_{arm}{after}"
    for tested, after in (
        ("", ""),
        (", 5 % of characters changed", " after noise_5"),
        (", 10 % of characters changed", " after noise_10"),
    )
    for how, arm in (("without", "none"), ("with", "noise"))
}
RECOGNIZERS = {
    "ner": "ner",
    "batch_ner, spaCy's gradient": HASH,
    "batch_ner, true gradient": "batch_ner",
    "batch_ner, true gradient, state_dropout 0": "batch_ner_state_dropout_0",
    "batch_ner, true gradient, state_dropout 0.3": "batch_ner_state_dropout_0.3",
}
CLASSIFIERS = {
    "hash embedding": "hash_embed",
    "hashing trick": "hashing_trick",
    "hashing trick, as many parameters as the hash embedding": "hashing_trick_equal",
    "hash embedding, small": "hash_embed_small",
    "hash embedding, five times the rows": "hash_embed_large",
    "hashing trick, five times the rows": "hashing_trick_large",
    "spaCy's TextCatBOW": "bow",
    "spaCy's TextCatReduce": "cnn",
}


def _of_report(default: int, adjusted: int) -> dict[str, str]:
    """Name the lines of `LOOKUP` in the paper's tables with default and with adjusted rows."""
    hashed, adjusted_rows, looked_up = LOOKUP
    return {
        hashed: f"{default} MultiHashEmbed",
        adjusted_rows: f"{adjusted} MultiHashEmbed",
        looked_up: f"{default} MultiEmbed",
    }


def _of_hashes(number: int) -> dict[str, str]:
    return {line: f"{number} {line[0]}" for line in HASHES | SPACY_HASHES}


def _of_min_freqs(number: int) -> dict[str, str]:
    return {line: f"{number} {line}".replace(", min_freq ", " min_freq=") for line in MIN_FREQS}


TABLES: Mapping[str, Table] = {
    "features": Table(
        "Which features of tokens count",
        FEATURES,
        (ES, NL, ANEM, TURKU),
        ("test_f",),
        against("NORM, PREFIX, SUFFIX, SHAPE", FEATURES),
    ),
    "lookup": Table(
        "Hashing or looking up",
        LOOKUP,
        SIX,
        ("test_f",),
        against("MultiHashEmbed", LOOKUP),
        "MultiEmbed has a row for each symbol that occurs at least ten times. The paper's numbers "
        "are of its Tables 9 and 10.",
        _of_report(9, 10),
        "f",
    ),
    "lookup-vectors": Table(
        "Hashing or looking up, with static vectors",
        LOOKUP,
        tuple(VECTORS),
        ("test_f",),
        against("MultiHashEmbed", LOOKUP),
        "The paper's numbers are of its Tables 7 and 8, with other vectors.",
        _of_report(7, 8),
        "f",
        VECTORS,
    ),
    "seen-unseen": Table(
        "Entities that training saw, and others",
        LOOKUP,
        SIX,
        ("test_unseen_f", "test_seen_f"),
        against("MultiHashEmbed", LOOKUP),
        "wnut17 has no seen entities. The paper's numbers are those of unseen entities (Table 11).",
        {line: f"11 {line}" for line in ("MultiHashEmbed", "MultiEmbed")},
        "f",
    ),
    "seen-unseen-vectors": Table(
        "Entities that training saw, and others, with static vectors",
        LOOKUP,
        tuple(VECTORS),
        ("test_unseen_f", "test_seen_f"),
        against("MultiHashEmbed", LOOKUP),
        "wnut17 has no seen entities. The paper's numbers are those of unseen entities (Table "
        "12), with other vectors.",
        {line: f"12 {line}" for line in ("MultiHashEmbed", "MultiEmbed")},
        "f",
        VECTORS,
    ),
    "hashes": Table(
        "How many hash functions",
        HASHES | SPACY_HASHES,
        SIX,
        ("dev_f",),
        against("4 (our seeds)", HASHES) | against("4 (spaCy's seeds)", SPACY_HASHES),
        "The paper used spaCy's seeds (Table 13).",
        _of_hashes(13),
    ),
    "hashes-vectors": Table(
        "How many hash functions, with static vectors",
        SPACY_HASHES_VECTORS,
        (WNUT, ANEM),
        ("dev_f",),
        against("4 (spaCy's seeds)", SPACY_HASHES_VECTORS),
        "The paper's numbers are of its Table 14, with other vectors.",
        _of_hashes(14),
        vectors=VECTORS,
    ),
    "rows": Table(
        "How many rows",
        ROWS,
        SIX,
        ("dev_f",),
        against("default", ROWS),
        "The default is 5,000 rows for NORM and 2,500 for each other feature; 20 % and 10 % are "
        "shares of MultiEmbed's rows (the paper's Table 1).",
        {
            "default": "1 default",
            "as MultiEmbed": "1 ==MultiEmbed",
            "20 %": "1 20%",
            "10 %": "1 10%",
        },
    ),
    "norm-rows": Table(
        "Fewer rows for NORM, by hash functions and seeds",
        NORM_ROWS,
        (TURKU,),
        ("dev_f", "test_f"),
        {line: line.replace("spaCy's", "our") for line in NORM_ROWS if "spaCy's" in line},
        "spaCy's seed 8 cancels with the length of keys, so with it all symbols fall on few rows "
        "of NORM. The differences are between seeds.",
    ),
    "min-freq": Table(
        "How often a symbol must occur to get a row of MultiEmbed",
        MIN_FREQS,
        SIX,
        ("dev_f",),
        against("MultiHashEmbed", MIN_FREQS),
        "The paper's numbers are of its Table 15.",
        _of_min_freqs(15),
    ),
    "min-freq-vectors": Table(
        "How often a symbol must occur to get a row of MultiEmbed, with static vectors",
        MIN_FREQS,
        (WNUT, ANEM),
        ("dev_f",),
        against("MultiHashEmbed", MIN_FREQS),
        "The paper's numbers are of its Table 16, with other vectors.",
        _of_min_freqs(16),
        vectors=VECTORS,
    ),
    "recommended": Table(
        "The recommended settings, and others",
        RECOMMENDED,
        SIX,
        ("test_f", "dev_f"),
        against("the paper's", RECOMMENDED),
        "The dev sets of these corpora chose the recommended settings. Nothing was chosen for the "
        "other arms. A CRF comes out the same with every seed.",
    ),
    "baselines": Table(
        "The recommended settings beside spaCy's and a CRF",
        BASELINES,
        NINE,
        ("test_f", "dev_f"),
        against("CRF with handmade features", BASELINES),
        "The dev sets of the first six corpora chose the recommended settings. A CRF comes out the "
        "same with every seed.",
    ),
    "recommended-vectors": Table(
        "The recommended settings with static vectors",
        {"the paper's": HASH, "recommended": CHOSEN},
        (ES, NL, WNUT),
        ("test_f", "dev_f"),
        {"recommended": "the paper's"},
        vectors=VECTORS,
    ),
    "taken-apart": Table(
        "The recommended settings, each alone and all but each",
        ALONE | ALL_BUT,
        (ES, NL, WNUT, TURKU),
        ("dev_f",),
        against("none of them", ALONE) | against("all", ALL_BUT),
        "The first lines have tagger_ner, dilated convolutions and MultiHashEmbed, with what the "
        "line names.",
    ),
    "dilated": Table(
        "Dilated convolutions and tagger_ner",
        DILATED,
        (ES, WNUT, NL, SENTENCES, TURKU),
        ("test_f", "dev_f"),
        against("batch_ner, maxout windows", DILATED),
        "Both: residual connections and normalization. conll-nl is made of documents, "
        "conll-nl-sentences of the same text cut into sentences.",
    ),
    "weighted": Table(
        "Importance parameters or more rows, with as many parameters",
        WEIGHTED,
        (WNUT, ES),
        ("test_f", "dev_f"),
        {
            line: line.partition(":")[0] + ": MultiHashEmbed"
            for rest in ("two hashes", "Weighted")
            for line in WEIGHTED
            if rest in line
        },
        "Percentages are shares of the default rows.",
    ),
    "static-vectors": Table(
        "One table of static vectors, or several",
        STATIC,
        (ES, NL, WNUT),
        ("dev_f", "test_f"),
        against("no table", STATIC),
        "The recommended settings without n-grams. wnut17 has no second language.",
    ),
    "static-vectors-prepared": Table(
        "Static vectors, prepared",
        STATIC_PREPARED,
        (ES, WNUT),
        ("dev_f",),
        against("untouched", STATIC_PREPARED),
    ),
    "noise": Table(
        "Training with noise",
        NOISE,
        (ES, WNUT),
        ("dev_f", "test_f"),
        {
            line: line.replace("trained with ", "trained without ")
            for line in NOISE
            if "with " in line
        },
    ),
    "batch-ner": Table(
        "batch_ner and spaCy's ner",
        RECOGNIZERS,
        (ES, WNUT, TURKU),
        ("test_f", "dev_f"),
        against("ner", RECOGNIZERS),
        "With spaCy's gradient, batch_ner is the same function as ner.",
    ),
    "text-classification": Table(
        "Text classification",
        CLASSIFIERS,
        (AG_NEWS, TOPICS),
        ("test_accuracy", "dev_accuracy"),
        against("hash embedding", CLASSIFIERS),
        "ag-news is a part of AG News: 47,171 of its 120,000 training texts. topics is generated. "
        "The small hash embedding has 20,000 rows of width 10, and 200,000 importance rows.",
    ),
}


# --- writing


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Write a table as Markdown. The first columns are aligned to the left."""
    rule = ["---"] * left + ["--:"] * (len(header) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def shown(value: Optional[float], digits: int = 3, sign: bool = False) -> str:
    """Write a number, with a true minus."""
    if value is None:
        return ""
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def shown_mean(estimate: Optional[Estimate]) -> str:
    """Write a mean with its interval, and with n unless n is 3."""
    if estimate is None:
        return ""
    n = "" if estimate.n == SEEDS else f" (n = {estimate.n})"
    spread = "" if estimate.low is None else f" ± {shown(estimate.mean - estimate.low)}"
    return f"{shown(estimate.mean)}{spread}{n}"


def shown_difference(estimate: Optional[Estimate], digits: int = 3) -> str:
    """Write a difference with its interval, and with n unless n is 3."""
    if estimate is None:
        return ""
    n = "" if estimate.n == SEEDS else f" (n = {estimate.n})"
    if estimate.low is None or estimate.high is None:
        return f"{shown(estimate.mean, digits, True)}{n}"
    dagger = "" if estimate.over_sentences else " †"
    low, high = (shown(bound, digits, True) for bound in (estimate.low, estimate.high))
    return f"{shown(estimate.mean, digits, True)} [{low}, {high}]{dagger}{n}"


SCORES = {
    "dev_f": "F1 on dev",
    "test_f": "F1 on test",
    "test_unseen_f": "F1 on test, unseen entities",
    "test_seen_f": "F1 on test, seen entities",
    "dev_accuracy": "Accuracy on dev",
    "test_accuracy": "Accuracy on test",
}
LEGEND = (
    "Scores are means over three seeds, ± the 95 % interval of the mean (Student's). Differences "
    "have a 95 % interval in brackets: a paired bootstrap over sentences and seeds, or, with †, "
    "Student's over seeds alone. Pooled differences are means over data sets, with Student's "
    "interval over them."
)


def render(table: Table, runs: Runs, report: Mapping[str, Any]) -> str:
    """Write a table as Markdown, without a heading: its note, then two blocks for each score."""
    blocks = [table.note] if table.note else []
    for number, score in enumerate(table.scores):
        of_report = report_numbers(table, report) if number == 0 else {}
        blocks.append(_render_scores(table, runs, score, of_report))
        blocks.append(_render_differences(table, runs, score))
    return "\n\n".join(blocks)


def _render_scores(
    table: Table, runs: Runs, score: str, report: Mapping[tuple[str, str], str]
) -> str:
    rows = []
    for line in table.lines:
        cells = []
        for dataset in table.datasets:
            ours = shown_mean(runs.mean(table.cell(line, dataset, score)))
            theirs = report.get((line, dataset))
            cells.append(f"{ours}; report {theirs}" if ours and theirs else ours)
        rows.append([line, *cells])
    kept = [row for row in rows if any(row[1:])]
    return markdown([SCORES[score], *table.datasets], kept)


def _render_differences(table: Table, runs: Runs, score: str) -> str:
    rows = []
    several = len(set(table.bases.values())) > 1
    for line, base in table.bases.items():
        pairs = [
            (table.cell(line, dataset, score), table.cell(base, dataset, score))
            for dataset in table.datasets
        ]
        cells = [shown_difference(runs.difference(*pair)) for pair in pairs]
        if len(pairs) > 1:
            cells.append(shown_difference(runs.pooled([[pair] for pair in pairs])))
        if any(cells):
            rows.append([f"{line} − {base}" if several else line, *cells])
    base = next(iter(table.bases.values()))
    head = f"{SCORES[score]}, differences" if several else f"{SCORES[score]}, minus {base}"
    means = ["pooled"] if len(table.datasets) > 1 else []
    return markdown([head, *table.datasets, *means], rows)


def report_numbers(table: Table, report: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return the paper's numbers, as "mean ± sd", by line and data set."""
    numbers: dict[tuple[str, str], str] = {}
    for line, source in table.report.items():
        number, _, theirs = source.partition(" ")
        for dataset, lines in report[number].items():
            value = lines.get(theirs)
            value = value[table.metric] if isinstance(value, dict) else value
            if value is not None:
                mean, *sd = value if isinstance(value, list) else [value]
                numbers[line, dataset] = " ± ".join(f"{x:.2f}" for x in (mean, *sd))
    return numbers


def of_project(folder: Path, name: str) -> Path:
    """Return the path of a file that isn't about runs, and that a user's own results don't have."""
    path = folder / name
    return path if path.is_file() else RESULTS / name


def read_report(folder: Path = RESULTS) -> dict[str, Any]:
    """Read the paper's tables, by number."""
    tables = json.loads(of_project(folder, REPORT).read_text("utf8"))
    return {title.split()[0]: table for title, table in tables.items()}


def render_increases(runs: Runs, report: Mapping[str, Any]) -> str:
    """Write by how many percent errors increase without some features (Tables 2 and 3)."""
    names = dict(zip(FEATURES, report["2"], strict=True))
    blocks = []
    for number, dataset in (("2", NL), ("3", ANEM)):
        rows = []
        for line in list(FEATURES)[1:]:
            cells = []
            for part in ("all", "seen", "unseen"):
                score = "test_f" if part == "all" else f"test_{part}_f"
                one, base = (Cell(dataset, arm, score) for arm in (FEATURES[line], HASH))
                ours = shown_difference(runs.difference(one, base, error_increase), 0)
                cells += [ours, f"{report[number][names[line]][part]:+d}".replace("-", "−")]
            rows.append([line, *cells])
        header = [f"{dataset}, test"]
        for part in ("all", "seen", "unseen"):
            header += [part, "report"]
        blocks.append(markdown(header, rows))
    note = (
        "By how many percent the error, 1 − F1, exceeds the error with all four features. The "
        "report doesn't say which set its numbers come from."
    )
    return "\n\n".join([note, *blocks])


def render_retired(folder: Path, runs: Runs) -> str:
    """Write a line for each part that was removed: a description, and its results."""
    rows = []
    text = of_project(folder, "retired.csv").read_text("utf8")
    for title, arm, base, score in list(csv.reader(text.splitlines()))[1:]:
        (one, _, after), (other, _, base_after) = (n.partition(" after ") for n in (arm, base))
        differences = []
        for dataset in (*NINE, *CUT, AG_NEWS):
            pair = Cell(dataset, one, score, "", after), Cell(dataset, other, score, "", base_after)
            difference = runs.difference(*pair)
            if difference:
                differences.append(f"{dataset} {shown_difference(difference)}")
        rows.append([title, f"`{base}`", SCORES[score], "; ".join(differences)])
    note = (
        "What was built, measured and removed again: it gained nothing, or less than something "
        "simpler. Differences are from the arm in the second column. `n` is 3 unless it's shown."
    )
    table = markdown(["what it was", "compared with", "score", "difference"], rows, left=4)
    return f"{note}\n\n{table}"


def render_costs(runs: Runs) -> str:
    """Write the sizes and training times of text classifiers, and of recognizers on conll-es."""
    rows = []
    arms = {(AG_NEWS, line): arm for line, arm in CLASSIFIERS.items()}
    arms |= {(ES, line): arm for line, arm in RECOMMENDED.items()}
    for (dataset, line), arm in arms.items():
        values = [runs.mean(Cell(dataset, arm, c)) for c in ("parameters", "bytes", "cpu_seconds")]
        if values[0]:
            parameters, size, seconds = (value.mean if value else 0.0 for value in values)
            n = "" if values[0].n == SEEDS else f" (n = {values[0].n})"
            cells = [f"{parameters:,.0f}", f"{size / 1e6:.1f}", f"{seconds:,.0f}{n}"]
            rows.append([dataset, line, *cells])
    note = (
        "CPU seconds are those of the machine that a run was on: they show no more than the order "
        "of magnitude."
    )
    header = ["data set", "settings", "parameters", "MB", "CPU seconds of training"]
    return f"{note}\n\n{markdown(header, rows, left=2)}"


def all_tables(folder: Path, runs: Runs) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the title and the text of each table."""
    report = read_report(folder)
    for name, table in TABLES.items():
        yield name, table.title, render(table, runs, report)
    yield "error-increase", "Errors without some features", render_increases(runs, report)
    yield "retired", "What was removed", render_retired(folder, runs)
    yield "costs", "Sizes and times", render_costs(runs)
