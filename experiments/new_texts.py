"""Is the score of `fit` true of new texts? Places of corpora, scored as `fit` does, and truly.

A place is 300, 600 or 1,000 consecutive sentences of a corpus's training file. It's split, a model
is trained on its train part and scored on its test part, and then on the corpus's own test set.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from tempfile import TemporaryDirectory
from time import monotonic
from typing import get_type_hints

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from wasabi import msg

from experiments.corpora.convert import DATASETS, SPLIT_SEED, read_records
from experiments.corpora.convert import read_split as read_docs
from experiments.crf import PARAMS as CRF_PARAMS
from experiments.crf import features, gold_tags, repair
from spacy_multihash.corpus.evaluation import known_entities, predict, score
from spacy_multihash.corpus.read import write_corpora
from spacy_multihash.corpus.splits import split_items
from spacy_multihash.corpus.statistics import find_repeats
from spacy_multihash.training.loop import train
from spacy_multihash.training.options import Options
from spacy_multihash.training.scores import count_docs, score_folds, score_predicted
from spacy_multihash.training.settings import Pipeline, init_config
from spacy_multihash.training.splits import Split, split_docs, split_folds

CHOSEN_ON = ("conll-es", "conll-nl-sentences", "gum", "anem")
SHOWN_ON = ("wnut17", "archaeo", "turku-one", "masakhaner-swa", "masakhaner-hau")
SIZES = (600, 300, 1000)
PLACES = 10
ORDER = (0, 5, 2, 8, 3, 9, 1, 6, 4, 7)  # so that the first places are far apart
# A run of "folds" trains on "regions" first, and adds both.
SPLITS, RUNS = ("random", "regions", "folds"), ("random", "folds")
LEARNERS = {"fit": "fit", "crf": "a CRF"}
# Sentences of the corpus's own test set, drawn at random.
OWN_TEST = 1500
RESULTS = "new_texts.csv"
# Learner, split, corpus, size and place of a run.
Key = tuple[str, str, str, int, int]
# Makes predicted examples of gold docs.
Predict = Callable[[Sequence[Doc]], list[Example]]


@dataclass(frozen=True)
class Row:
    """A run: the score of `fit` with its interval, and the F1 on the corpus's own test set."""

    learner: str
    split: str
    corpus: str
    size: int
    place: int
    f: float
    low: float
    high: float
    own_f: float


@cache
def read_corpus(name: str, assets: Path) -> tuple[list[Doc], list[Doc]]:
    """Read the sentences of a corpus's training file in its order, and of its own test set.

    A corpus without a test set has its random test split, which isn't among the sentences.
    """
    spec = DATASETS[name]
    vocab = spacy.blank(spec.lang).vocab

    def docs(split: str) -> list[Doc]:
        path = assets / spec.files[split]
        doc_bin, _ = read_docs(path, read_records(path, spec), vocab, split)
        return list(doc_bin.get_docs(vocab))

    train = docs("train")
    if "test" in spec.files:
        test = docs("test")
    else:
        places = [*range(len(train))]
        Random(SPLIT_SEED).shuffle(places)
        chosen = set(places[int(spec.cuts["dev"] * len(train)) :])
        test = [doc for i, doc in enumerate(train) if i in chosen]
        train = [doc for i, doc in enumerate(train) if i not in chosen]
    drawn = sorted(Random(0).sample(range(len(test)), min(OWN_TEST, len(test))))
    return train, [test[i] for i in drawn]


def cut_place(docs: Sequence[Doc], size: int, place: int) -> list[Doc]:
    """Return the sentences of a place. The places are at equal distances, from start to end."""
    start = round(place * (len(docs) - size) / (PLACES - 1))
    return list(docs[start : start + size])


def split_place(docs: list[Doc], split: str) -> Split:
    """Split as `fit` does ("regions", and "folds" of them), or as it did at first ("random")."""
    if split != "random":
        return split_docs({"train": docs}, Options("xx"))
    words = [tuple(token.text for token in doc) for doc in docs]
    parts = split_items(range(len(docs)), (0.8, 0.1, 0.1), 0, words.__getitem__)
    of_split = {name: [docs[i] for i in places] for name, places in parts.items()}
    return Split(of_split, {}, "chance")


def run(key: Key, assets: Path) -> list[Row]:
    """Train and score once. Raises ValueError if the place is too poor in entities."""
    learner, split_name, corpus, size, place = key
    sentences, own_test = read_corpus(corpus, assets)
    place_docs = cut_place(sentences, size, place)
    split = split_place(place_docs, split_name)
    train_on = partial({"fit": fitted, "crf": crf}[learner], DATASETS[corpus].lang)
    predict_docs = train_on(split.docs)
    docs, test = split.docs["train"], predict_docs(split.docs["test"])
    repeats = find_repeats(docs) if split.regions else None
    regions = split.regions.get("test", ())
    known = known_entities(docs)
    scores = [score_predicted(test, known, regions=regions, by=split.by, repeats=repeats)]
    if split_name == "folds":
        counts, of_docs = list[list[list[int]]](), list[int]()
        for fold in split_folds(split, 0):
            examples = train_on(fold.docs)(fold.docs["test"])
            counts += count_docs(examples, known_entities(fold.docs["train"]))
            of_docs += fold.regions
        scores.append(score_folds(scores[0], counts, of_docs) if counts else scores[0])
    own = score(predict_docs(own_test)).f or 0.0
    rows = []
    names = ("regions", "folds") if split_name == "folds" else (split_name,)
    for name, of_split in zip(names, scores, strict=True):
        f = of_split.best.f or 0.0
        values = f, *(of_split.interval or (f, f)), own
        rows.append(Row(learner, name, corpus, size, place, *(round(x, 4) for x in values)))
    return rows


def fitted(lang: str, split: Mapping[str, Sequence[Doc]]) -> Predict:
    """Train a pipeline with `fit`'s settings, and return what makes predicted examples."""
    nlp = train_pipeline(lang, split)

    return partial(predict_gold, nlp)


def predict_gold(nlp: Language, docs: Sequence[Doc]) -> list[Example]:
    """Predict the entities of gold docs, by their tokens."""
    examples = examples_for(nlp, docs)
    predict(nlp, examples)
    return examples


def examples_for(nlp: Language, docs: Sequence[Doc]) -> list[Example]:
    """Make examples of gold docs of any vocab, by their tokens. Nothing is predicted yet."""
    examples = []
    for doc in docs:
        words = [token.text for token in doc]
        gold = Doc(nlp.vocab, words=words, ents=_tags(doc), sent_starts=_starts(doc))
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    return examples


def train_pipeline(
    lang: str, split: Mapping[str, Sequence[Doc]], pipeline: Pipeline = "ner", **training: int
) -> Language:
    """Train a pipeline on the docs of train and dev, with `fit`'s settings but those given."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_corpora(folder, {key: DocBin(docs=split[key]) for key in ("train", "dev")})
        paths = {key: folder / f"{key}.spacy" for key in ("train", "dev")}
        corpora = paths if pipeline == "ner" else dict.fromkeys(paths)
        config = init_config(pipeline, lang, train=corpora["train"], dev=corpora["dev"]).config
        config["paths"].update({key: str(path) for key, path in paths.items()})
        config["training"].update(training)
        train(config, folder / "model")
        return spacy.load(folder / "model")


def crf(_lang: str, split: Mapping[str, Sequence[Doc]]) -> Predict:
    """Train the CRF of the experiments, a quick stand-in, and return the same."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select("lbfgs")
    trainer.set_params(CRF_PARAMS)
    for doc in split["train"]:
        trainer.append(_features(tuple(token.text for token in doc)), gold_tags(doc[:]))
    tagger = pycrfsuite.Tagger()
    with TemporaryDirectory() as name:
        trainer.train(f"{name}/model")
        tagger.open(f"{name}/model")  # reads all of it

    def predict_docs(docs: Sequence[Doc]) -> list[Example]:
        examples = []
        for doc in docs:
            words = tuple(token.text for token in doc)
            tags = repair(tagger.tag(_features(words)))
            examples.append(Example(Doc(doc.vocab, words=list(words), ents=tags), doc))
        return examples

    return predict_docs


_features = lru_cache(maxsize=2**15)(features)


def _tags(doc: Doc) -> list[str]:
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]


def _starts(doc: Doc) -> list[bool | int | None]:
    return [bool(token.is_sent_start) for token in doc]


def read_results(results: Path) -> list[Row]:
    """Read the runs in new_texts.csv, if it exists."""
    if not results.is_file():
        return []
    with results.open(newline="") as file_:
        kinds = get_type_hints(Row)
        return [
            Row(**{name: kinds[name](value) for name, value in row.items()})
            for row in csv.DictReader(file_)
        ]


def render_new_texts(results: Path) -> str:
    """Make two tables: the score of fit less the F1 on own test sets, by corpus and by size."""
    rows = read_results(results / RESULTS)
    corpora: dict[str, Sequence[str]] = {name: [name] for name in (*CHOSEN_ON, *SHOWN_ON)}
    corpora |= {"**the first four**": CHOSEN_ON, "**the last five**": SHOWN_ON}
    by_corpus = {
        title: [row for row in rows if row.corpus in names]
        for title, names in {**corpora, "**all**": [*CHOSEN_ON, *SHOWN_ON]}.items()
    }
    by_size = {
        f"{size:,} sentences": [row for row in rows if row.size == size] for size in sorted(SIZES)
    }
    return "\n\n".join(_table(groups) for groups in (by_corpus, by_size))


def _table(groups: Mapping[str, Sequence[Row]]) -> str:
    arms = [(learner, split) for learner in LEARNERS for split in SPLITS]
    heads = [f"{LEARNERS[learner]}, {split}" for learner, split in arms]
    lines = ["| ".join(["", " ", *(f"{head} " for head in heads)]) + "|"]
    lines.append("| --- |" + " --: |" * len(arms))
    for title, rows in groups.items():
        cells = [_cell([row for row in rows if (row.learner, row.split) == arm]) for arm in arms]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(rows: Sequence[Row]) -> str:
    """Return mean and standard deviation of the differences, and how many intervals hold."""
    if not rows:
        return ""
    gaps = [100 * (row.f - row.own_f) for row in rows]
    held = sum(row.low <= row.own_f <= row.high for row in rows)
    mean = f"{fmean(gaps):+.1f}".replace("-", "−")
    spread = f" ± {pstdev(gaps):.1f}" if len(gaps) > 1 else ""
    return f"{mean}{spread}, {held} of {len(rows)}"


def todo(results: Path, learner: str, sizes: Sequence[int]) -> Iterator[Key]:
    """Yield the missing runs, so that the first ones are spread over corpora, sizes and splits."""
    done = {astuple(row)[:5] for row in read_results(results)}
    for place, size, corpus, split in product(ORDER, sizes, (*CHOSEN_ON, *SHOWN_ON), RUNS):
        row = (learner, split, corpus, size, place)
        if row not in done:
            yield row


def run_all(assets: Path, results: Path, learner: str, sizes: Sequence[int], minutes: float) -> int:
    """Take the missing runs, add each to the results, and return their number."""
    end, number = monotonic() + 60 * minutes, 0
    for key in [*todo(results, learner, sizes)]:
        if monotonic() > end:
            break
        try:
            rows = run(key, assets)
        except ValueError as error:  # such as a part without entities
            msg.warn(f"Left out: {' '.join(map(str, key))}", str(error))
            continue
        is_new = not results.is_file()
        with results.open("a", newline="") as file_:
            writer = csv.DictWriter(file_, asdict(rows[0]), lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(map(asdict, rows))
        number += 1
    return number
