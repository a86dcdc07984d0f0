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

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from wasabi import msg

from experiments.corpora.convert import DATASETS
from experiments.figures import as_svg, new_figure
from experiments.new_texts import (
    cut_place,
    examples_for,
    predict_gold,
    read_corpus,
    split_place,
    train_pipeline,
)
from spacy_multihash.common.files import replacing_folder
from spacy_multihash.corpus.evaluation import score
from spacy_multihash.corpus.read import read_docs, write_corpora
from spacy_multihash.ner.calibration import calibrate, find_recognizer
from spacy_multihash.ner.estimate import (
    EXTENT,
    FAR,
    FEW_ON_DEV,
    KEY,
    OnGold,
    corrected,
    count_on_gold,
    estimate_of,
    labels_of,
)
from spacy_multihash.training.settings import Pipeline

SMALL = ("wnut17", "anem", "gum", "masakhaner-hau", "masakhaner-swa")
LARGE = ("conll-es", "conll-nl-sentences", "turku-one", "archaeo")
GENRES = {"i": "interview", "n": "news", "v": "voyage", "w": "how-to"}
OF_GENRES = tuple(f"gum-{genre}" for genre in GENRES.values())
WHOLE = 0
PLACES = (4, 1, 7)  # of 10, at equal distances
RESULTS = "estimate.csv"
_GENRES = Path(__file__).parent / "corpora" / "gum_genres.txt"
_NEWS = ("conll-es", "conll-nl-sentences", "masakhaner-hau", "masakhaner-swa")
# Texts of another kind that a model of a corpus is tried on, besides its own test set.
OTHERS: Mapping[str, Sequence[str]] = {
    **{corpus: [other for other in _NEWS if other != corpus] for corpus in _NEWS},
    "gum": OF_GENRES,
    **{genre: [other for other in OF_GENRES if other != genre] for genre in OF_GENRES},
}


class Place(NamedTuple):
    """What a model is trained on: a number of sentences of a corpus, or WHOLE, at a place."""

    corpus: str
    size: int
    place: int
    recognizer: str = "tagger_ner"

    @property
    def folder(self) -> str:
        """The name of the folder of its model."""
        kind = "" if self.recognizer == "tagger_ner" else f"-{self.recognizer}"
        return f"{self.corpus}-{self.size or 'whole'}-{self.place}{kind}"


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
    yield from (Place(corpus, 300, PLACES[0], "batch_ner") for corpus in every)
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
    pipeline: Pipeline = "ner" if place.recognizer == "tagger_ner" else "batch_ner"
    nlp = train_pipeline(language_of(place.corpus), split, pipeline)
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


class Scores(NamedTuple):
    """Precision, recall and F1."""

    p: float
    r: float
    f: float


@dataclass(frozen=True)
class Row:
    """A model on texts: the counts that estimates are made of, and the truth.

    texts: A corpus, or a genre. If its labels differ from the model's, those that both have count.
    predicted, right, true: Entities that were predicted, are right, and are gold.
    expected_right, expected_true: What the probabilities expect.
    dev_predicted to dev_expected_true: The same counts on dev.
    low, high: The interval of the estimated F1. held_f: F1 on the test part of the place.
    """

    corpus: str
    size: int
    place: int
    recognizer: str
    texts: str
    sentences: int
    predicted: int
    right: int
    true: int
    expected_right: float
    expected_true: float
    dev_predicted: int
    dev_right: int
    dev_true: int
    dev_expected_right: float
    dev_expected_true: float
    low: float
    high: float
    held_f: float

    @property
    def key(self) -> tuple[str, int, int, str, str]:
        """The place and the texts."""
        return self.corpus, self.size, self.place, self.recognizer, self.texts

    @property
    def truth(self) -> Scores:
        """The true scores."""
        return _scores(self.predicted, self.right, self.true)

    @property
    def bare(self) -> Scores:
        """The expected scores without any correction."""
        return _scores(self.predicted, self.expected_right, self.expected_true)

    @property
    def fall(self) -> float:
        """By how much the log-odds of the mean probability are lower than on dev."""
        return float(self._dev.fall(self._counts))

    def expected(self, extent: float = EXTENT) -> Scores:
        """Return what `estimate` says, or what it'd say with another `EXTENT`."""
        fall = numpy.array(extent * self.fall)
        return _scores(*map(float, corrected(self._counts, fall, self._dev.log_missed)))

    @property
    def has_warning(self) -> bool:
        """Whether the command says that dev is too small or of another kind, or wasn't used."""
        return not self.is_calibrated or self.dev_predicted < FEW_ON_DEV or self.fall > FAR

    @property
    def is_calibrated(self) -> bool:
        """Whether the model could be calibrated. Otherwise, nothing is corrected."""
        return can_calibrate(self._on_dev)

    @property
    def _counts(self) -> numpy.ndarray:
        return numpy.array([self.predicted, self.expected_right, self.expected_true, 0.0])

    @property
    def _dev(self) -> OnGold:
        return self._on_dev if self.is_calibrated else OnGold()

    @property
    def _on_dev(self) -> OnGold:
        return OnGold(*(getattr(self, f"dev_{name}") for name in OnGold._fields))


def _scores(predicted: float, right: float, true: float) -> Scores:
    return Scores(
        right / max(predicted, 1), right / max(true, 1), 2 * right / max(predicted + true, 1)
    )


def estimate_place(place: Place, texts: str, assets: Path, models: Path) -> Row:
    """Let the model of a place estimate its scores on the test set of a corpus or a genre."""
    nlp, dev, held_f = _load(models / place.folder)
    _, docs = read_texts(texts, assets)
    gold = {ent.label_ for doc in docs for ent in doc.ents}
    labels = [label for label in labels_of(nlp) if texts == place.corpus or label in gold]
    on_dev, _ = count_on_gold(nlp, dev, labels)
    here, counted = count_on_gold(nlp, examples_for(nlp, docs), labels)
    nlp.meta.pop(KEY, None)
    if can_calibrate(on_dev):
        nlp.meta[KEY] = {"component": find_recognizer(nlp), **on_dev._asdict()}
    low, high = estimate_of(nlp, counted).overall.intervals.get("f1", (0.0, 0.0))
    values: list[Any] = [*here, *on_dev, low, high, held_f]
    return Row(*place, texts, len(docs), *(round(value, 4) for value in values))


def can_calibrate(dev: OnGold) -> bool:
    """Whether `calibrate` takes these counts: some predicted entities are right, and some wrong."""
    return 0 < dev.right < dev.predicted


@cache
def _load(folder: Path) -> tuple[Language, list[Example], float]:
    """Load a model with its dev part, and with F1 on the test part of its place."""
    nlp = spacy.load(folder / "model")
    dev, test = (
        list(read_docs(folder / "corpus" / f"{name}.spacy", nlp.vocab)) for name in ("dev", "test")
    )
    return nlp, examples_for(nlp, dev), score(predict_gold(nlp, test)).f or 0.0


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

# What `EXTENT` may be.
EXTENTS = tuple(n / 4 for n in range(9))


def draw_estimate(results: Path) -> bytes:
    """Draw estimates, and scores of own test parts, by the true F1: an SVG."""
    rows = read_rows(results / RESULTS)
    points = {
        "estimate": [row.expected().f for row in rows],
        "without correction": [row.bare.f for row in rows],
        "score of own test part": [row.held_f for row in rows],
    }
    with new_figure(2.6) as figure:
        panels = figure.subplots(1, len(points), sharex=True, sharey=True)
        for axes, (title, values) in zip(panels, points.items(), strict=True):
            axes.plot([0, 100], [0, 100], color="0.6", linewidth=0.8, linestyle="--")
            for is_own, color, label in (
                (True, "C0", "own test set"),
                (False, "C1", "other texts"),
            ):
                some = [
                    (100 * row.truth.f, 100 * value)
                    for row, value in zip(rows, values, strict=True)
                    if _is_own(row) == is_own
                ]
                axes.plot(*zip(*some, strict=True), "o", color=color, markersize=3, label=label)
            axes.set(title=title, xlabel="true F1", xlim=(0, 100), ylim=(0, 100))
        panels[0].set_ylabel("expected F1")
        panels[0].legend(loc="lower right", handletextpad=0)
        return as_svg(figure)


def render_estimate(results: Path) -> str:
    """Make tables of the errors: by kind of texts, with and without a warning, of each model."""
    rows = read_rows(results / RESULTS)
    chosen = choose_extents(rows)
    tagger = [row for row in rows if row.recognizer == "tagger_ner"]
    own = [row for row in tagger if _is_own(row)]
    genres = [row for row in tagger if row not in own and row.texts in OF_GENRES]
    other = [row for row in tagger if row not in own and row not in genres]
    calibrated = [row for row in rows if row.is_calibrated]
    few = [row for row in calibrated if row.dev_predicted < FEW_ON_DEV]
    by_kind = {
        "own test set, 300 sentences": [row for row in own if row.size == 300],
        "own test set, 1,000 sentences": [row for row in own if row.size == 1000],
        "own test set, all sentences": [row for row in own if row.size == WHOLE],
        "one genre of GUM, trained on all": [row for row in genres if row.corpus == "gum"],
        "GUM, trained on another genre": [row for row in genres if row.corpus != "gum"],
        "another language": [row for row in other if _family(row.corpus) == _family(row.texts)],
        "another language and source": [
            row for row in other if _family(row.corpus) != _family(row.texts)
        ],
        "`batch_ner`, own test set": [r for r in rows if r not in tagger and _is_own(r)],
        "`batch_ner`, other texts": [r for r in rows if r not in tagger and not _is_own(r)],
    }
    by_warning = {
        "no warning": [row for row in rows if not row.has_warning],
        "warning: few entities on dev": few,
        "warning: another kind of texts": [
            row for row in calibrated if row.has_warning and row not in few
        ],
        "warning: not calibrated": [row for row in rows if not row.is_calibrated],
    }
    parts = (_summary(by_kind, chosen), _summary(by_warning, chosen), _chosen(chosen), _each(rows))
    return "\n\n".join(parts)


def choose_extents(rows: Sequence[Row]) -> dict[str, float]:
    """Choose `EXTENT` for each family of corpora: the best on all other families.

    The best has the lowest mean error of F1, in which each family and kind of texts counts alike.
    """
    chosen = {}
    for family in sorted({_family(row.corpus) for row in rows}):
        groups: dict[tuple[str, bool], list[Row]] = {}
        for row in rows:
            if _family(row.corpus) != family:
                groups.setdefault((_family(row.corpus), _is_own(row)), []).append(row)
        errors = {
            extent: [
                fmean(abs(row.expected(extent).f - row.truth.f) for row in group)
                for group in groups.values()
            ]
            for extent in EXTENTS
        }
        chosen[family] = min(EXTENTS, key=lambda extent: sum(errors[extent]))
    return chosen


def _family(corpus: str) -> str:
    """Return what corpora from the same source have in common."""
    return corpus.partition("-")[0]


def _is_own(row: Row) -> bool:
    return row.texts == row.corpus


def _summary(groups: Mapping[str, Sequence[Row]], chosen: Mapping[str, float]) -> str:
    heads = ["", "models and texts", "estimate: F1 off by", "precision", "recall"]
    heads += ["chosen on other corpora", "fall not corrected", "nothing corrected"]
    heads += ["score of the own test part", "in interval", "warned"]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " --: |" * (len(heads) - 1)]
    for name, rows in groups.items():
        if not rows:
            continue
        pairs = [(row.expected(), row.truth) for row in rows]
        gaps = [
            [guess.f - truth.f for guess, truth in pairs],
            [guess.p - truth.p for guess, truth in pairs],
            [guess.r - truth.r for guess, truth in pairs],
            [row.expected(chosen[_family(row.corpus)]).f - row.truth.f for row in rows],
            [row.expected(0).f - row.truth.f for row in rows],
            [row.bare.f - row.truth.f for row in rows],
            [row.held_f - row.truth.f for row in rows],
        ]
        cells = [f"{len(rows)}", *map(_off, gaps)]
        cells.append(f"{sum(row.low <= row.truth.f <= row.high for row in rows)} of {len(rows)}")
        cells.append(f"{sum(row.has_warning for row in rows)} of {len(rows)}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _off(gaps: Sequence[float]) -> str:
    """Return the mean absolute difference in points, and the mean difference."""
    mean = f"{100 * fmean(gaps):+.1f}".replace("-", "−")
    return f"{100 * fmean(map(abs, gaps)):.1f} ({mean})"


def _chosen(chosen: Mapping[str, float]) -> str:
    lines = ["| left out | chosen on the others |", "| --- | --: |"]
    return "\n".join([*lines, *(f"| {name} | {extent:g} |" for name, extent in chosen.items())])


def _each(rows: Sequence[Row]) -> str:
    heads = ["trained on", "sentences", "recognizer", "estimated on", "precision", "recall", "F1"]
    heads += ["interval", "own test part", "entities on dev", "fall"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --: | --- | --- |" + " --: |" * (len(heads) - 4)]
    for row in sorted(rows, key=lambda row: (not _is_own(row), row.size or 10**6, row.key)):
        cells = [row.corpus, f"{row.size:,}" if row.size else "all", row.recognizer, row.texts]
        cells += [
            f"{100 * guess:.1f} / {100 * true:.1f}"
            for guess, true in zip(row.expected(), row.truth, strict=True)
        ]
        cells += [f"{100 * row.low:.1f} to {100 * row.high:.1f}", f"{100 * row.held_f:.1f}"]
        lines.append(f"| {' | '.join([*cells, f'{row.dev_predicted:,}', f'{row.fall:.2f}'])} |")
    return "\n".join(lines)
