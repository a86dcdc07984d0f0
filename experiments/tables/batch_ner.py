"""The table of docs/ner-results.md: which runs and numbers it shows."""

from experiments.arms.tasks import HASH_EMBED
from experiments.tables.table import STAND_IN, Group, Table, against

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


def _groups(arms: dict[str, str]) -> tuple[Group, ...]:
    return tuple(Group(arms, "f", split, "all", split) for split in ("dev", "test"))


BATCH_NER_TABLES = {
    table.name: table
    for table in (
        Table(
            "batch-ner",
            "batch_ner beside ner",
            _groups(RECOGNIZERS),
            tuple(
                comparison
                for arms, base in ((RECOGNIZERS, NER), (VARIANTS, BATCH_NER))
                for group in _groups(arms)
                for comparison in against(group, base)
            ),
            DATASETS,
            note="No static vectors. Unless a line says otherwise, batch_ner has the true gradient "
            "and state_dropout 0.1. [results.md](results.md#what-each-verdict-means) explains the "
            "verdicts.",
            lines="recognizer",
        ),
    )
}
