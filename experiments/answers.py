"""The answers of the experiments: a question per line, pooled over corpora."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from experiments.arms import CRF, SPACY
from experiments.statistics import Cell, Estimate, Runs
from experiments.tables import (
    ANEM,
    CHOSEN,
    CHOSEN_FEW,
    CUT,
    CUT_1000,
    ES,
    HASH,
    NINE,
    NL,
    SIX,
    SLICES_FEW,
    TURKU,
    VECTORS,
    WNUT,
    markdown,
)
from experiments.tables import shown_difference as shown

FOUR, FIVE = (ES, NL, ANEM, TURKU), (ES, NL, WNUT, ANEM, TURKU)
APART = (ES, NL, WNUT, TURKU)
TABLES = "../results/tables"


class Contrast(NamedTuple):
    """Arms compared with others: the difference on a corpus is the mean over pairs.

    vectors (Mapping[str, str]): The static vectors of each data set, of both arms.
    against_none (bool): Whether only the first arm has the vectors.
    """

    label: str
    pairs: Sequence[tuple[str, str]]
    datasets: Sequence[str]
    score: str = "dev_f"
    vectors: Mapping[str, str] = MappingProxyType({})
    against_none: bool = False

    def cells(self) -> list[list[tuple[Cell, Cell]]]:
        """Return the pairs of cells of each data set."""
        of_base = {} if self.against_none else self.vectors
        return [
            [
                (
                    Cell(name, arm, self.score, self.vectors.get(name, "")),
                    Cell(name, base, self.score, of_base.get(name, "")),
                )
                for arm, base in self.pairs
            ]
            for name in self.datasets
        ]


class Question(NamedTuple):
    """A question, the contrasts that answer it, what to choose, and the table's name."""

    text: str
    contrasts: Sequence[Contrast]
    choose: str
    table: str


def _hashes(k: int) -> Contrast:
    pairs = (f"hashes_{k}", HASH), (f"spacy_seeds_hashes_{k}", "spacy_seeds_hashes_4")
    return Contrast(f"{k} hash{'es' * (k > 1)} vs. 4", pairs, FIVE)


def _one(
    label: str,
    arm: str,
    base: str,
    datasets: Sequence[str],
    score: str = "dev_f",
    vectors: Mapping[str, str] = MappingProxyType({}),
) -> Contrast:
    return Contrast(label, [(arm, base)], datasets, score, vectors)


QUESTIONS = (
    Question(
        "Which settings?",
        (
            _one("recommended vs. the paper's", CHOSEN, HASH, SIX, "test_f"),
            _one("recommended vs. spaCy's efficiency config", CHOSEN, SPACY, NINE, "test_f"),
            _one("recommended vs. a CRF", CHOSEN, CRF, NINE, "test_f"),
            _one("recommended vs. a CRF, 300 sentences", CHOSEN_FEW, CRF, CUT, "test_f"),
        ),
        "the recommended ones (the dev sets of six corpora chose them); `init-config --train` "
        "knows what to change for small corpora",
        "baselines",
    ),
    Question(
        "N-grams?",
        (
            _one("with n-grams", CHOSEN, "recipe", SIX, "test_f"),
            _one("n-grams vs. slices, 300 sentences", f"{CHOSEN}-few", SLICES_FEW, CUT),
            _one("n-grams vs. slices, whole", CHOSEN, "recipe-lower_slices", NINE),
        ),
        "slices for 25,000 tokens or fewer, else n-grams; on news, also try without",
        "recommended",
    ),
    Question(
        "Which features?",
        (
            _one("without SHAPE", "norm_prefix_suffix", HASH, FOUR, "test_f"),
            _one("without SHAPE and SUFFIX", "norm_prefix", HASH, FOUR, "test_f"),
            _one("NORM alone", "norm", HASH, FOUR, "test_f"),
        ),
        "all four",
        "features",
    ),
    Question(
        "Hash or look up?",
        (
            _one("look up, min_freq 1", "multi_embed_min1", HASH, SIX),
            _one("look up, min_freq 10", "multi_embed", HASH, SIX),
            _one(
                "look up, min_freq 10, with vectors",
                "multi_embed",
                HASH,
                (*VECTORS,),
                vectors=VECTORS,
            ),
        ),
        "either; if you look up, set `min_freq = 1`",
        "min-freq",
    ),
    Question(
        "How many hash functions?",
        (_hashes(1), _hashes(2), _hashes(3)),
        "4, the default",
        "hashes",
    ),
    Question(
        "Does the dead seed matter?",
        (_one("spaCy's seeds vs. ours", "spacy_seeds_hashes_4", HASH, SIX),),
        "our seeds, the default",
        "hashes",
    ),
    Question(
        "How many rows?",
        (
            _one("as many rows as symbols", "rows_as_multi_embed", HASH, SIX),
            _one(
                "as many rows as symbols, with vectors",
                "rows_as_multi_embed",
                HASH,
                (*VECTORS,),
                vectors=VECTORS,
            ),
            _one("10 % of the rows", "budget_10_percent", HASH, (ES, WNUT)),
        ),
        "the default",
        "rows",
    ),
    Question(
        "Dropout, unk_dropout, averages?",
        (
            _one("dropout 0.3 vs. 0.1", CHOSEN, "recipe-ngrams_sum-dropout_10", APART),
            _one("unk_dropout 0.3 vs. 0", CHOSEN, "recipe-unk_0-ngrams_sum", APART),
            _one("with averages", CHOSEN, "recipe-ngrams_sum-no_averages", APART),
        ),
        "the recommended values",
        "taken-apart",
    ),
    Question(
        "Learned transitions of tags?",
        (
            _one("transitions, 300 sentences", CHOSEN_FEW, SLICES_FEW, CUT),
            _one("transitions, 1,000 sentences", CHOSEN_FEW, SLICES_FEW, CUT_1000),
            _one("transitions, whole", f"{CHOSEN}-transitions", CHOSEN, NINE),
        ),
        "for 25,000 tokens or fewer",
        "choice",
    ),
    Question(
        "Static vectors?",
        (
            _one("with vectors", "vectors_own", "vectors_none", (ES, NL, WNUT), "test_f"),
            *(
                Contrast(f"{name}, with vectors", [(arm, arm)], datasets, "test_f", VECTORS, True)
                for name, arm, datasets in (
                    ("the paper's", HASH, (*VECTORS,)),
                    ("recommended", CHOSEN, (ES, NL, WNUT)),
                    ("spaCy's efficiency config", SPACY, (ES, NL, WNUT)),
                )
            ),
        ),
        "the vectors of your language",
        "static-vectors",
    ),
    Question(
        "Dilated convolutions?",
        (
            _one(
                "dilated vs. maxout windows",
                "recipe-ngrams",
                "recipe-ngrams-maxout_4",
                (ES, WNUT, ANEM, TURKU),
            ),
            Contrast(
                "the same, as in the paper",
                [("dilated", HASH), ("tagger_plain", "tagger_maxout")],
                (ES, WNUT),
                "test_f",
            ),
        ),
        "the faster encoder",
        "dilated",
    ),
    Question(
        "Weighted hash embeddings?",
        (_one("weighted hashes", "weighted_near_zero", HASH, (ES, WNUT, ANEM)),),
        "plain hashes",
        "weighted",
    ),
)


def forest(runs: Runs) -> Iterator[tuple[str, list[float], Estimate]]:
    """Yield the label of each contrast, its differences by data set, and their pooled estimate."""
    for question in QUESTIONS:
        for contrast in question.contrasts:
            cells = contrast.cells()
            pooled = runs.pooled(cells)
            if pooled is not None:
                yield contrast.label, runs.gains(cells), pooled


def render_answers(runs: Runs) -> str:
    """Write a line for each question."""
    pooled = {label: (estimate, len(gains)) for label, gains, estimate in forest(runs)}
    rows = []
    for question in QUESTIONS:
        effects = [
            f"{contrast.label}: {shown(pooled[contrast.label][0])}"
            for contrast in question.contrasts
            if contrast.label in pooled
        ]
        sizes = sorted({pooled[c.label][1] for c in question.contrasts if c.label in pooled})
        corpora = " or ".join(map(str, sizes))
        link = f"[table]({TABLES}/{question.table}.md)"
        rows.append([question.text, "<br>".join(effects), corpora, question.choose, link])
    header = ["question", "difference of F1", "corpora", "choose", "all numbers"]
    return markdown(header, rows, left=len(header))
