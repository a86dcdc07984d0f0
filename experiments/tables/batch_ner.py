"""The table of docs/ner-results.md: which runs and numbers it shows."""

from experiments.arms.tasks import HASH_EMBED
from experiments.tables.table import STAND_IN, Table, against, on_dev_and_test

DATASETS = ("conll-es", "wnut17", STAND_IN)
NER, BATCH_NER = "ner", "batch_ner"
RECOGNIZERS = {
    NER: "ner",
    BATCH_NER: "batch_ner",
    f"{BATCH_NER}, spaCy's gradient": HASH_EMBED,
    f"{BATCH_NER}, state_dropout 0": "batch_ner_state_dropout_0",
    f"{BATCH_NER}, state_dropout 0.3": "batch_ner_state_dropout_0.3",
}
VARIANTS = {line: arm for line, arm in RECOGNIZERS.items() if line != NER}


BATCH_NER_TABLES = {
    table.name: table
    for table in (
        Table(
            "batch-ner",
            "batch_ner beside ner",
            on_dev_and_test(RECOGNIZERS),
            against(NER, *on_dev_and_test(RECOGNIZERS))
            + against(BATCH_NER, *on_dev_and_test(VARIANTS)),
            DATASETS,
            note="No static vectors. Unless a line says otherwise, batch_ner has the true gradient "
            "and state_dropout 0.1. [results.md](results.md#what-each-verdict-means) explains the "
            "verdicts.",
            lines="recognizer",
        ),
    )
}
