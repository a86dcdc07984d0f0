"""Evaluations after a training: the model changed, or its texts, without another training.

Each of them takes the model as it was trained.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Optional

import numpy
import spacy
from spacy.attrs import IDS
from spacy.language import Language
from spacy.training import Example
from spacy.vectors import Vectors

from experiments.arms.embeddings import ATTRS
from experiments.arms.vectors import (
    ALONE,
    FITTED_FROM,
    FOREIGN_STEPS,
    MIN_FREQS,
    NOISE,
    OWN,
    QUANTIZED,
    SOURCES,
    VECTOR_ARMS,
    ZERO_SHOT,
    table_after,
)
from experiments.runs.counts import pack_parts
from experiments.runs.grid import Run
from experiments.runs.record import digest, made_digests
from experiments.runs.scores import SPLITS, Judged, Scores, make_judge, split_after
from experiments.runs.vector_files import (
    FOREIGN,
    VECTORS,
    made_for_evaluations,
    made_path,
    vectors_path,
)
from spacy_multihash import count_symbols, make_tables
from spacy_multihash.corpus.evaluation import predict
from spacy_multihash.corpus.noise import CharNoise, read_alphabet
from spacy_multihash.corpus.noisy_evaluation import predict_noisy
from spacy_multihash.corpus.read import model_docs, model_examples
from spacy_multihash.tables.extend import Source, extend_tables
from spacy_multihash.tables.prune import Pruning
from spacy_multihash.tables.words import by_frequency, count_texts
from spacy_multihash.vectors.kernel_pca import SpellingSettings

# Noise is drawn so often, and scores are means.
NOISE_SEEDS = (0, 1, 2)
# A function that changes a pipeline in place.
Change = Callable[[Run, Language], None]


def made_after(run: Run) -> dict[str, str]:
    """Digest the tables of the evaluations after the training of a run, by name."""
    arm = VECTOR_ARMS.get(run.arm)
    if arm is None:
        return {}
    own = {OWN: digest(_own_table(run).to_bytes())} if arm.takes_own and arm.table is None else {}
    return {**own, **made_digests(made_for_evaluations(run.dataset, arm))}


def evaluate_after(run: Run) -> tuple[dict[str, dict[str, Scores]], dict[str, str]]:
    """Make the evaluations after the training of a run, whose best model is on disk.

    Returns the scores of dev and test by the name of the evaluation, and the counts of sentences as
    text. These have the name that `split_after` gives, and that of their part.
    """
    scores: dict[str, dict[str, Scores]] = {}
    counts: dict[str, str] = {}
    for step in run.after:
        nlp = spacy.load(run.folder / "model-best")
        if step not in NOISE_LEVELS:
            CHANGES[step](run, nlp)
        texts = Run(FOREIGN[run.dataset], run.arm) if step.startswith(ZERO_SHOT) else run
        judge = make_judge(run, nlp.vocab)
        scores[step] = {}
        for split in SPLITS:
            examples = list(model_examples(nlp, texts.corpus(split)))
            drawn = _predictions(run, nlp, step, examples)
            scores[step][split], of_parts = _pool([judge(each) for each in drawn])
            counts |= pack_parts(split_after(split, step), of_parts)
    return scores, counts


def _predictions(
    run: Run, nlp: Language, step: str, examples: list[Example]
) -> list[Sequence[Example]]:
    """Let a pipeline annotate the texts of a split, once for each draw of noise if it has noise."""
    if step not in NOISE_LEVELS:
        predict(nlp, examples)
        return [examples]
    noise = CharNoise(NOISE_LEVELS[step], read_alphabet(run.corpus("train")))
    return [predict_noisy(nlp, examples, noise, seed) for seed in NOISE_SEEDS]


def _pool(draws: Sequence[Judged]) -> Judged:
    """Return the means of scores, and the sums of counts, over draws of noise."""
    scores, counts = zip(*draws, strict=True)
    return (
        {part: {key: _mean([s[part][key] for s in scores]) for key in "prf"} for part in scores[0]},
        {part: numpy.sum([c[part] for c in counts], axis=0) for part in counts[0]},
    )


def _mean(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _extend(run: Run, nlp: Language, source: Source, min_freq: int) -> None:
    """Give rows to the words of dev and test that training never met."""
    norm = IDS["NORM"]
    words = [by_frequency(count_texts(model_docs(nlp, run.corpus(s)), norm)) for s in SPLITS]
    symbols = [word for word in dict.fromkeys(words[0] + words[1]) if word.strip()]
    counts = count_texts(model_docs(nlp, run.corpus("train")), norm)
    fitted = sum(count >= min_freq for count in counts.values())
    # a small corpus has too few words for the default rank
    settings = SpellingSettings(rank=max(1, min(SpellingSettings.rank, fitted // 2)))
    extend_tables(nlp, symbols, source=source, settings=settings, counts=counts, min_freq=min_freq)


def _extend_by_own(run: Run, nlp: Language, min_freq: int) -> None:
    """Do the same for a model without static vectors, by those of the table of the language."""
    nlp.vocab.vectors = _own_table(run)
    _extend(run, nlp, "vectors", min_freq)


def _own_table(run: Run) -> Vectors:
    vectors: Vectors = spacy.load(vectors_path(VECTORS[run.dataset])).vocab.vectors
    return vectors


def _prune(run: Run, nlp: Language, min_freq: int) -> None:
    """Keep as many rows, of all tables together, as there are symbols that are so frequent."""
    counts = count_symbols(
        model_docs(nlp, run.corpus("train")), {name: IDS[name] for name in ATTRS}
    )
    rows = [sum(map(len, make_tables(counts, min_freq=n).tables.values())) for n in (min_freq, 1)]
    pruning = Pruning(nlp)
    pruning.prune(pruning.threshold_of(rows[0] / rows[1]))


def _change_vectors(run: Run, nlp: Language, table: Optional[str]) -> None:
    """Take the vectors of another table, if one is named."""
    if table is not None:
        nlp.vocab.vectors = spacy.load(made_path(run.dataset, table)).vocab.vectors


NOISE_LEVELS: Mapping[str, float] = {f"noise_{percent}": percent / 100 for percent in NOISE}
CHANGES: Mapping[str, Change] = {
    **{
        f"extend_{source}_{count}": partial(_extend, source=source, min_freq=count)
        for source in SOURCES
        for count in FITTED_FROM
    },
    **{f"extend_{OWN}_{count}": partial(_extend_by_own, min_freq=count) for count in FITTED_FROM},
    **{f"prune_{count}": partial(_prune, min_freq=count) for count in MIN_FREQS},
    **{
        step: partial(_change_vectors, table=table_after(step))
        for step in (*QUANTIZED, *FOREIGN_STEPS, f"{ZERO_SHOT}_{ALONE}")
    },
}
