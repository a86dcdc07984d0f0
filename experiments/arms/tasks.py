"""The kinds of experiments: their data sets, their arms and their scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Optional

from experiments.arms.arm import Arm
from experiments.arms.batch_ner import RECOGNIZERS
from experiments.arms.configs import DATASETS, TRAINING
from experiments.arms.dilated import DILATED
from experiments.arms.embeddings import ABLATIONS
from experiments.arms.recipe import RECIPE, recipe_arm
from experiments.arms.textcat import CLASSIFIERS
from experiments.arms.vectors import VECTOR_ARMS

CRF = "crf"
SENTENCES = "conll-nl-sentences"
HASH_EMBED = "multi_hash_embed"
REGULARIZED = "regularized"
# The rows of MultiHashEmbed divided by those of MultiEmbed at min_freq 10 (the report's Table 1).
ROW_SHARES = {"rows_as_multi_embed": 1.0, "rows_20_percent": 0.2, "rows_10_percent": 0.1}


@dataclass(frozen=True, eq=False)
class Task:
    """A kind of experiment.

    langs (Mapping[str, str]): The language of each data set.
    fixed_arms (Mapping[str, Arm]): The arms that do not depend on the data.
    other_arms (tuple[str, ...]): The names of the other arms.
    metrics (Mapping[str, str]): The labels of a split's scores, by their names in results.
    main (str): The name of the main score.
    commands (Mapping[str, str]): The project's command that makes the corpus of each data set.
    train_docs (Mapping[str, int]): The number of training docs of data sets that exist in several
        sizes.
    made_arm (Callable[[str], Optional[Arm]]): Makes further arms by their names. It returns None
        for a name of none.
    """

    langs: Mapping[str, str]
    fixed_arms: Mapping[str, Arm]
    other_arms: tuple[str, ...]
    metrics: Mapping[str, str]
    main: str
    commands: Mapping[str, str]
    train_docs: Mapping[str, int] = field(default_factory=dict)
    made_arm: Callable[[str], Optional[Arm]] = lambda name: None

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms."""
        return (*self.fixed_arms, *self.other_arms)

    def find_arm(self, name: str) -> Optional[Arm]:
        """Return the arm of a name, or None if its task has none, or it depends on the data."""
        return self.fixed_arms.get(name) or self.made_arm(name)


_NER_LANGS = {name: arm.values["nlp.lang"] for name, arm in DATASETS.items()}
NER = Task(
    _NER_LANGS,
    {
        HASH_EMBED: Arm(),
        **ABLATIONS,
        **TRAINING,
        **DILATED,
        **RECOGNIZERS,
        **RECIPE,
        **{name: arm.arm for name, arm in VECTOR_ARMS.items()},
    },
    (*ROW_SHARES, CRF),
    {"p": "P", "r": "R", "f": "F1"},
    "f",
    {**dict.fromkeys(_NER_LANGS, "convert-all"), "ontonotes": "convert-ontonotes"},
    made_arm=recipe_arm,
)
AG_NEWS, TOPICS = "ag-news", "topics"
TEXTCAT = Task(
    {AG_NEWS: "en", TOPICS: "en"},
    CLASSIFIERS,
    (),
    {"accuracy": "accuracy", "macro_f": "macro F1"},
    "accuracy",
    {AG_NEWS: "convert-textcat", TOPICS: "make-topics"},
    {AG_NEWS: 44_830},
)
TASKS = {dataset: task for task in (NER, TEXTCAT) for dataset in task.langs}
