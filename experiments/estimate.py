"""How good is an estimate without gold? Models of all corpora, on their own and on other texts.

A place is 300 or 1,000 consecutive sentences of a corpus's training file, or all of it, or the
sentences of one genre of GUM. As `fit` does, it's split, a model is trained, calibrated on dev and
scored on the test part. Then the model estimates its precision, recall and F1 on the corpus's own
test set and on other texts, whose gold it never sees.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any, NamedTuple, get_type_hints

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from wasabi import msg

from experiments.corpora.convert import DATASETS
from experiments.figures import as_svg, new_figure
from experiments.new_texts import (
    cut_place,
    predict_gold,
    read_corpus,
    split_place,
    train_pipeline,
)
from spacy_multihash.common.files import replacing_folder
from spacy_multihash.corpus.evaluation import score
from spacy_multihash.corpus.read import read_docs, write_corpora
from spacy_multihash.ner.calibration import calibrate
from spacy_multihash.ner.estimate import FAR, KEY, bare, estimate, left_over

SMALL = ("wnut17", "anem", "gum", "masakhaner-hau", "masakhaner-swa")
LARGE = ("conll-es", "conll-nl-sentences", "turku-one", "archaeo")
# The correction and its numbers were chosen on 300 sentences of these.
CHOSEN_ON = ("wnut17", "gum", "anem")
GENRES = {"i": "interview", "n": "news", "v": "voyage", "w": "how-to"}
OF_GENRES = tuple(f"gum-{genre}" for genre in GENRES.values())
WHOLE = 0
PLACES = (4, 1, 7)  # of 10, at equal distances
RESULTS = "estimate.csv"
_GENRES = Path(__file__).parent / "corpora" / "gum_genres.txt"
# Texts of another kind that a model of a corpus is tried on, besides its own test set.
OTHERS: Mapping[str, Sequence[str]] = {
    "conll-es": ["conll-nl-sentences"],
    "conll-nl-sentences": ["conll-es"],
    "masakhaner-swa": ["masakhaner-hau"],
    "masakhaner-hau": ["masakhaner-swa"],
    "gum": OF_GENRES,
    **{genre: [other for other in OF_GENRES if other != genre] for genre in OF_GENRES},
}


class Place(NamedTuple):
    """What a model is trained on: a number of sentences of a corpus, or WHOLE, at a place."""

    corpus: str
    size: int
    place: int

    @property
    def folder(self) -> str:
        """The name of the folder of its model."""
        return f"{self.corpus}-{self.size or 'whole'}-{self.place}"


@cache
def read_texts(name: str, assets: Path) -> tuple[list[Doc], list[Doc]]:
    """Read the sentences of a corpus's training file and of its own test set; see `read_corpus`.

    name (str): A corpus, or "gum-" and a genre.
    """
    genre = name.removeprefix("gum-")
    if genre == name:
        return read_corpus(name, assets)
    lines = dict(line.split() for line in _GENRES.read_text().splitlines())
    train, test = (
        [doc for doc, letter in zip(docs, lines[part], strict=True) if GENRES[letter] == genre]
        for part, docs in zip(("train", "test"), read_corpus("gum", assets), strict=True)
    )
    return train, test


def places() -> Iterator[Place]:
    """Yield what to train, quick trainings first."""
    every = (*SMALL, *LARGE)
    yield from (Place(corpus, 300, PLACES[0]) for corpus in every)
    yield from (Place(genre, WHOLE, 0) for genre in OF_GENRES)
    yield from (Place(corpus, 1000, PLACES[0]) for corpus in every)
    yield from (Place(corpus, WHOLE, 0) for corpus in SMALL)
    for at, size, corpus in product(PLACES[1:], (300, 1000), every):
        yield Place(corpus, size, at)
    yield from (Place(corpus, WHOLE, 0) for corpus in LARGE)


def train_place(place: Place, assets: Path, models: Path) -> Path:
    """Train and calibrate the model of a place, unless it's there, and return its folder.

    Beside the model, the folder has the corpora train, dev and test that `fit` would make.

    Raises ValueError if the place is too poor in entities.
    """
    folder = models / place.folder
    if folder.is_dir():
        return folder
    docs, _ = read_texts(place.corpus, assets)
    if place.size:
        docs = cut_place(docs, place.size, place.place)
    split = split_place(docs, "regions").docs
    nlp = train_pipeline(language_of(place.corpus), split)
    with replacing_folder(folder) as new:
        write_corpora(new / "corpus", {name: DocBin(docs=docs) for name, docs in split.items()})
        try:
            calibrate(nlp, new / "corpus" / "dev.spacy")
        except ValueError as error:
            msg.warn(f"{place.folder} isn't calibrated", str(error))
        nlp.to_disk(new / "model")
    return folder


def language_of(corpus: str) -> str:
    """Return the language's code of a corpus, or of a genre of GUM."""
    return DATASETS[corpus if corpus in DATASETS else "gum"].lang


@dataclass(frozen=True)
class Row:
    """A model on texts: the truth, what it expected, and the score of its own test part.

    p, r, f: The true scores. expected_*: What `estimate` says, and raw_*: without the correction of
    what calibration left over. low, high: The interval of the expected F1. held_f: F1 on the test
    part of the place. distance: How different the texts are from dev.
    """

    corpus: str
    size: int
    place: int
    texts: str
    sentences: int
    p: float
    r: float
    f: float
    expected_p: float
    expected_r: float
    expected_f: float
    low: float
    high: float
    raw_p: float
    raw_r: float
    raw_f: float
    held_f: float
    distance: float

    @property
    def key(self) -> tuple[str, int, int, str]:
        """The place and the texts."""
        return self.corpus, self.size, self.place, self.texts


def estimate_place(place: Place, texts: str, assets: Path, models: Path) -> Row:
    """Let the model of a place estimate its scores on the test set of a corpus or a genre."""
    nlp, held_f = _load(models / place.folder)
    _, gold = read_texts(texts, assets)
    saved = nlp.meta.pop(KEY, None)
    raw = estimate(nlp, gold)
    if saved is not None:
        nlp.meta[KEY] = saved
    found = estimate(nlp, gold)
    true = score(predict_gold(nlp, gold))
    low, high = found.overall.intervals.get("f1", (0.0, 0.0))
    values = (
        *(true.p, true.r, true.f),
        *(found.precision, found.recall, found.f1, low, high),
        *(raw.precision, raw.recall, raw.f1),
        *(held_f, found.distance),
    )
    return Row(*place, texts, len(gold), *(round(value or 0.0, 4) for value in values))


@cache
def _load(folder: Path) -> tuple[Language, float]:
    """Load a model with what its calibration left over, and F1 on the test part of its place."""
    nlp = spacy.load(folder / "model")
    parts = {
        name: list(read_docs(folder / "corpus" / f"{name}.spacy", nlp.vocab))
        for name in ("dev", "test")
    }
    if KEY not in nlp.meta:
        examples = [Example(bare(doc), doc) for doc in parts["dev"]]
        nlp.meta[KEY] = left_over(nlp, "tagger_ner", examples)
    return nlp, score(predict_gold(nlp, parts["test"])).f or 0.0


def run_all(assets: Path, models: Path, results: Path, minutes: float) -> int:
    """Train the missing models, and add their missing rows. Returns the number of new rows."""
    end, number = monotonic() + 60 * minutes, 0
    done = {row.key for row in read_rows(results)}
    for place in places():
        targets = [place.corpus, *OTHERS.get(place.corpus, ())]
        missing = [texts for texts in targets if (*place, texts) not in done]
        if monotonic() > end:
            break
        if not missing:
            continue
        try:
            train_place(place, assets, models)
            rows = [estimate_place(place, texts, assets, models) for texts in missing]
        except ValueError as error:  # such as a part without entities
            msg.warn(f"Left out: {place.folder}", str(error))
            continue
        add_rows(results, rows)
        number += len(rows)
        _load.cache_clear()
    return number


def add_rows(path: Path, rows: Sequence[Any]) -> None:
    """Add dataclasses to a CSV file."""
    is_new = not path.is_file()
    with path.open("a", newline="") as file_:
        writer = csv.DictWriter(file_, asdict(rows[0]), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(map(asdict, rows))


def read_rows(path: Path, kind: Any = Row) -> list[Any]:  # noqa: ANN401 (a dataclass)
    """Read dataclasses from a CSV file, none if it's missing."""
    if not path.is_file():
        return []
    kinds = get_type_hints(kind)
    with path.open(newline="") as file_:
        return [
            kind(**{name: kinds[name](value) for name, value in row.items()})
            for row in csv.DictReader(file_)
        ]


# The tables and the figure


def draw_estimate(results: Path) -> bytes:
    """Draw estimates, and scores of own test parts, by the true F1 on other texts: an SVG."""
    rows = read_rows(results / RESULTS)
    with new_figure(2.9) as figure:
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        sides = (("expected_f", "estimate"), ("held_f", "score of the own test part"))
        for axes, (column, title) in zip(panels, sides, strict=True):
            axes.plot([0, 100], [0, 100], color="0.6", linewidth=0.8, linestyle="--")
            for is_own, color, label in (
                (True, "C0", "own test set"),
                (False, "C1", "other texts"),
            ):
                some = [row for row in rows if (row.texts == row.corpus) == is_own]
                points = [(100 * row.f, 100 * getattr(row, column)) for row in some]
                if points:
                    axes.plot(
                        *zip(*points, strict=True), "o", color=color, markersize=4, label=label
                    )
            axes.set(title=title, xlabel="true F1", xlim=(0, 100), ylim=(0, 100))
        panels[0].set_ylabel("expected F1")
        panels[0].legend()
        return as_svg(figure)


def render_estimate(results: Path) -> str:
    """Make tables of the errors: by kind of texts, and of each model."""
    rows = read_rows(results / RESULTS)
    own = [row for row in rows if row.texts == row.corpus]
    genres = [row for row in rows if row not in own and row.texts.startswith("gum-")]
    groups = {
        "own test set, 300 sentences": [row for row in own if row.size == 300],
        "own test set, 1,000 sentences": [row for row in own if row.size == 1000],
        "own test set, whole": [row for row in own if row.size == WHOLE],
        "own test set, corpora that chose": [row for row in own if _chose(row)],
        "own test set, other corpora": [row for row in own if not _chose(row)],
        "one genre of GUM, trained on all": [r for r in genres if r.corpus == "gum"],
        "GUM, trained on another genre": [r for r in genres if r.corpus != "gum"],
        "another language": [r for r in rows if r not in own and r not in genres],
    }
    return "\n\n".join((_summary(groups), _each(rows)))


def _chose(row: Row) -> bool:
    return row.corpus in CHOSEN_ON


def _summary(groups: Mapping[str, Sequence[Row]]) -> str:
    heads = [
        "",
        "models and texts",
        "estimate: F1 off by",
        "precision",
        "recall",
        "without correction",
    ]
    heads += ["score of the own test part", "in interval", "warned"]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " --: |" * (len(heads) - 1)]
    for name, rows in groups.items():
        if not rows:
            continue
        gaps = {
            column: [(getattr(row, column) - getattr(row, true)) for row in rows]
            for column, true in (
                ("expected_f", "f"),
                ("expected_p", "p"),
                ("expected_r", "r"),
                ("raw_f", "f"),
                ("held_f", "f"),
            )
        }
        cells = [f"{len(rows)}", *(_off(gap) for gap in gaps.values())]
        cells.append(f"{sum(row.low <= row.f <= row.high for row in rows)} of {len(rows)}")
        cells.append(f"{sum(row.distance > FAR for row in rows)} of {len(rows)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _off(gaps: Sequence[float]) -> str:
    """Return the mean absolute difference in points, and the mean difference."""
    mean = f"{100 * fmean(gaps):+.1f}".replace("-", "−")
    return f"{100 * fmean(map(abs, gaps)):.1f} ({mean})"


def _each(rows: Sequence[Row]) -> str:
    heads = ["trained on", "sentences", "estimated on", "precision", "recall", "F1", "interval"]
    heads += ["own test part", "distance"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --: | --- |" + " --: |" * (len(heads) - 3)]
    for row in sorted(rows, key=lambda row: (row.texts != row.corpus, row.size or 10**6, row.key)):
        pairs = ((row.expected_p, row.p), (row.expected_r, row.r), (row.expected_f, row.f))
        cells = [row.corpus, f"{row.size:,}" if row.size else "all", row.texts]
        cells += [f"{100 * guess:.1f} / {100 * true:.1f}" for guess, true in pairs]
        cells += [f"{100 * row.low:.1f} to {100 * row.high:.1f}", f"{100 * row.held_f:.1f}"]
        lines.append(f"| {' | '.join([*cells, f'{row.distance:.2f}'])} |")
    return "\n".join(lines)
