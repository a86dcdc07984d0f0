"""The tables of docs/dilated-results.md: which runs and numbers each of them shows."""

from collections.abc import Mapping, Sequence

from experiments.arms.tasks import HASH_EMBED, SENTENCES
from experiments.tables.table import ArmsT, Comparison, Group, Table, against

DATASETS = ("conll-es", "wnut17", SENTENCES, "conll-nl")
BATCH_NER, TAGGER = "batch_ner", "tagger_ner"
BASE = f"{BATCH_NER}, maxout windows"
MODELS = {
    BASE: HASH_EMBED,
    f"{BATCH_NER}, dilated": "dilated",
    f"{BATCH_NER}, dilated, residual": "dilated_residual",
    f"{BATCH_NER}, dilated, normalized": "dilated_normalized",
    f"{BATCH_NER}, dilated, residual, normalized": "dilated_residual_normalized",
    f"{TAGGER}, maxout windows": "tagger_maxout",
    f"{TAGGER}, maxout windows, crf": "tagger_maxout_crf",
    f"{TAGGER}, dilated, greedy": "tagger_greedy",
    f"{TAGGER}, dilated": "tagger",
    f"{TAGGER}, dilated, crf": "tagger_crf",
    f"{TAGGER}, dilated, without residual connections": "tagger_normalized",
    f"{TAGGER}, dilated, as in the paper": "tagger_plain",
}
RECOGNIZERS = {
    model: MODELS[model]
    for model in (BASE, *(f"{TAGGER}, dilated{how}" for how in (", greedy", "", ", crf")))
}
DROPOUT = {
    TAGGER: "tagger",
    f"{TAGGER}, dropout penalty": "tagger_penalty",
    f"{TAGGER}, word dropout": "tagger_word_dropout",
}
DOCUMENTS = {BASE: HASH_EMBED, TAGGER: "tagger", f"{TAGGER}, crf": "tagger_crf"}
PASSES = {
    TAGGER: "tagger",
    f"{TAGGER}, parameters not shared": "tagger_unshared",
    f"{TAGGER}, loss of the last pass only": "tagger_last_pass",
}
# Models that are compared with each other, and with the first one as all models are.
PAIRS = [
    (f"{TAGGER}, dilated{setting}", f"{TAGGER}, dilated")
    for setting in (", greedy", ", crf", ", without residual connections", ", as in the paper")
]
# F1 on the test set of CoNLL-2003 English (Strubell et al. 2017).
PAPER_MODELS = {
    f"{TAGGER}, maxout windows": "89.93 ± 0.32 (5-layer CNN)",
    f"{TAGGER}, dilated, greedy": "89.65 ± 0.30 (ID-CNN)",
    f"{TAGGER}, dilated, crf": "90.54 ± 0.18 (ID-CNN-CRF, with the penalty)",
}
PAPER_DROPOUT = {TAGGER: "89.65 ± 0.30", f"{TAGGER}, dropout penalty": "90.32 ± 0.26"}
PAPER_DOCUMENTS = {TAGGER: "90.32 ± 0.26 (sentences), 90.65 ± 0.15 (documents)"}
PAPER_PASSES = {
    TAGGER: "90.65 ± 0.15",
    f"{TAGGER}, parameters not shared": "89.81 ± 0.19",
    f"{TAGGER}, loss of the last pass only": "90.06 ± 0.19",
}
PAPER = "the paper (English), F1 in %"
# The notes of the tables with batch_ner, and of two of them.
OF_BATCH_NER = (
    "batch_ner is trained with spaCy's gradient, so that it computes what `ner` does. Its runs "
    "marked † were trained with `ner`."
)
DEFAULTS = (
    f"{OF_BATCH_NER} Unless a line says otherwise, tagger_ner has residual connections and "
    "normalization, and decodes with constraints."
)


def _table(
    name: str,
    title: str,
    arms: ArmsT,
    base: str,
    datasets: tuple[str, ...],
    paper: Mapping[str, str],
    note: str,
    pairs: Sequence[tuple[str, str]] = (),
) -> Table:
    dev = Group(arms, "f", "dev", "all", "dev")
    test, seen, unseen = (
        Group(arms, "f", "test", part, f"test, {part}".removesuffix(", all"))
        for part in ("all", "seen", "unseen")
    )
    costs = (Group(arms, cost) for cost in ("train_cpu_seconds", "words_per_second"))
    comparisons: tuple[Comparison, ...] = against(base, dev, test)
    comparisons += tuple(
        Comparison((split, one), (split, other), f"{split.split}: {one} – {other}")
        for split in (dev, test)
        for one, other in pairs
    )
    return Table(
        name,
        title,
        (dev, test, seen, unseen, *costs),
        comparisons,
        datasets,
        note=f"No static vectors. {note} "
        "[results.md](results.md#what-each-verdict-means) explains the verdicts.",
        lines="model",
        facts={PAPER: paper} if paper else {},
    )


DILATED_TABLES = {
    table.name: table
    for table in (
        _table(
            "dilated-models",
            "Encoders and recognizers (the paper's Table 1)",
            MODELS,
            BASE,
            DATASETS,
            PAPER_MODELS,
            f"{DEFAULTS} Words per second are of the whole pipeline, in CPU time, with one thread. "
            "The paper's numbers are without its dropout penalty wherever it reports such numbers "
            "(its Table 3).",
            PAIRS,
        ),
        _table(
            "dilated-labels",
            "Eighteen labels: Turku OntoNotes, Finnish",
            RECOGNIZERS,
            BASE,
            ("turku-one",),
            {},
            DEFAULTS,
            PAIRS[:2],
        ),
        _table(
            "dilated-dropout",
            "Dropout penalty and word dropout (the paper's Table 3)",
            DROPOUT,
            TAGGER,
            ("conll-es", "wnut17"),
            PAPER_DROPOUT,
            "The penalty is that of expectation-linear dropout (Ma et al. 2017). Our models decode "
            "with constraints, the paper's ID-CNN is greedy.",
        ),
        _table(
            "dilated-documents",
            "Sentences and documents (the paper's Table 4)",
            DOCUMENTS,
            BASE,
            (SENTENCES, "conll-nl"),
            PAPER_DOCUMENTS,
            f"{OF_BATCH_NER} The same Dutch text, cut into sentences or into documents, in "
            "training and in prediction. The paper's models have its dropout penalty, ours do not.",
        ),
        _table(
            "dilated-passes",
            "Shared parameters and the loss of every pass (the paper's Table 5)",
            PASSES,
            TAGGER,
            ("conll-es", "wnut17", "conll-nl"),
            PAPER_PASSES,
            "The paper's models have its dropout penalty and read documents. Ours have no penalty, "
            "and read the docs of the data set.",
        ),
    )
}
