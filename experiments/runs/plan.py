"""The grid of experiments: its runs, the most important ones first."""

from collections.abc import Iterable

from experiments.arms.batch_ner import STATE_DROPOUTS
from experiments.arms.configs import TRAINING
from experiments.arms.dilated import DILATED
from experiments.arms.embeddings import BUDGETS
from experiments.arms.recipe import ALL_BUT, ALONE, BASE, NGRAM_OPTIONS, named
from experiments.arms.tasks import (
    AG_NEWS,
    CRF,
    HASH_EMBED,
    REGULARIZED,
    ROW_SHARES,
    SENTENCES,
    TEXTCAT,
    TOPICS,
)
from experiments.arms.textcat import BASIC
from experiments.runs.grid import Run, seeds_of
from experiments.runs.vector_files import NO_VECTORS, VECTOR_GROUPS, VECTORS


def _runs(datasets: Iterable[str], arms: Iterable[str], *, vectors: bool = False) -> list[Run]:
    """List the runs of a group, with every seed."""
    runs = [
        Run(dataset, arm, VECTORS[dataset] if vectors else NO_VECTORS, seed)
        for dataset in datasets
        for arm in arms
        for seed in seeds_of(dataset, arm)
    ]
    return sorted(runs, key=lambda run: run.seed)


def make_grid() -> list[Run]:
    """List the runs of the experiments, group by group, the most important ones first.

    In each group the first seed of every arm comes before the second of any. The runs on OntoNotes
    are for users with a licence.
    """
    both = (HASH_EMBED, "multi_embed")
    report = ("conll-es", "conll-nl", "wnut17", "anem", "archaeo")
    # The sets of sentences from news, with the report's one of abstracts and its stand-in.
    four = ("conll-es", "conll-nl", "anem", "turku-one")
    seeds_arms = [f"{scheme}hashes_{k}" for k in (1, 2) for scheme in ("", "spacy_seeds_")]
    dead = [f"{arm}_rows_{rows}" for rows in (2500, 1000) for arm in seeds_arms]
    hashes = [*seeds_arms, "hashes_3", "spacy_seeds_hashes_3", "spacy_seeds_hashes_4"]
    features = ("orth", "norm", "norm_prefix", "norm_prefix_suffix")
    min_freqs = ("multi_embed", "multi_embed_min5", "multi_embed_min1")
    tables = (*both, "rows_as_multi_embed", *min_freqs, *hashes)
    taken_apart = (*ALONE.values(), *ALL_BUT.values())
    others = (REGULARIZED, "spacy_multi_hash_embed")
    kinds = ("weighted", "weighted_near_zero")
    budgets = (*kinds, *(f"{k}_budget_{n}".strip("_") for n in BUDGETS for k in (*kinds, "")))
    budgets += ("hashes_2_near_zero", *(f"budget_{n}_hashes_2" for n in BUDGETS))
    ontonotes = ("ontonotes",)
    grid = [Run(dataset, CRF) for dataset in (*report, "turku-one")]
    for arms in (("ner", HASH_EMBED, "batch_ner"), STATE_DROPOUTS):
        grid += _runs(["wnut17", "turku-one", "conll-es"], arms)
    grid += _runs([*report, "turku-one"], (REGULARIZED, HASH_EMBED))
    grid += _runs(["conll-es", "wnut17", "turku-one"], ["table_dropout"])
    # the report's tables without vectors, the main ones first
    grid += _runs(four, features)
    grid += _runs(four, hashes)
    grid += _runs(["turku-one"], dead)
    grid += _runs(four, min_freqs)
    grid += _runs(four, ["rows_as_multi_embed"])
    grid += _runs(["conll-es", "archaeo"], ROW_SHARES)
    grid += _runs(["conll-es", "conll-nl", "wnut17", "turku-one"], taken_apart)
    grid += _runs(["conll-es", "wnut17"], TRAINING)
    grid += _runs(["conll-es", "wnut17"], both, vectors=True)
    grid += _runs(["conll-es", "anem"], [BASE, *(named([option]) for option in NGRAM_OPTIONS)])
    # all of them, on all data sets
    grid += _runs([*report, "turku-one"], [*both, *hashes, *others])
    grid += _runs(report, tables)
    grid += _runs(report, tables, vectors=True)
    grid += _runs(["conll-nl", "anem"], features, vectors=True)
    grid += _runs(report, ["spacy_multi_hash_embed"], vectors=True)
    grid += _runs(["conll-es", "archaeo"], ROW_SHARES, vectors=True)
    grid += [Run(*ontonotes, CRF), *_runs(ontonotes, [*others, *tables])]
    grid += _runs(ontonotes, tables, vectors=True)
    # weighted embeddings, text classifiers and dilated convolutions
    grid += _runs([AG_NEWS], TEXTCAT.arms)
    grid += _runs(["wnut17", "conll-es"], budgets)
    grid += _runs(["anem"], (*kinds, "hashes_2_near_zero"))
    grid += _runs([TOPICS], BASIC)
    grid += _runs([SENTENCES], [HASH_EMBED])
    grid += _runs(["wnut17", "conll-es", "conll-nl", SENTENCES], DILATED)
    grid += _runs(["turku-one"], ("tagger_greedy", "tagger", "tagger_crf"))
    for sets, names in VECTOR_GROUPS:
        grid += _runs(sets, names)
    return list(dict.fromkeys(grid))
