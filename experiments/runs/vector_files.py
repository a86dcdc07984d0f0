"""The static vectors of data sets: published tables, and those that are made of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy.util import is_package

from experiments.arms.tasks import SENTENCES
from experiments.arms.vectors import (
    CENTRE,
    LONE,
    LONE_MODES,
    MERGES,
    MIN_FREQS,
    MODES,
    OTHER,
    OWN,
    PAIR,
    PAIR_MODES,
    PREFIX,
    PRETRAINED,
    TEXTS,
    TRANSFORMS,
    WORD2VEC,
    VectorArm,
)

VECTORS_FOLDER = Path("assets") / "vectors"
MADE_FOLDER = Path("assets") / "vectors-made"
NO_VECTORS = "no-vectors"

# The static vectors of each data set. The report used the large ones of spaCy 3.4.
VECTORS = {
    "conll-es": "es_e5_words",
    "conll-nl": "nl_e5_words",
    SENTENCES: "nl_e5_words",
    "archaeo": "nl_e5_words",
    "wnut17": "en_core_web_md",
    "anem": "en_core_web_md",
    "ontonotes": "en_core_web_md",
}
# The data sets of the experiments on static vectors.
VECTOR_SETS = ("conll-es", "conll-nl", "wnut17")
# The data set in another language whose entities have the same labels. Its vectors are the other
# table, and a model can be tried on its texts.
FOREIGN = {"conll-es": "conll-nl", "conll-nl": "conll-es"}
# The data sets of the questions that need no second language.
SMALL_SETS = ("wnut17", "conll-es")
# The data sets whose table has a mean that centring removes. The others are centred already.
CENTRED_SETS = ("wnut17",)


def _group(datasets: Iterable[str], *arms: str) -> tuple[tuple[str, ...], list[str]]:
    return tuple(datasets), [f"{PREFIX}{arm}" for arm in arms]


# The data sets and the arms of each question, those that cost least first.
VECTOR_GROUPS = (
    _group(SMALL_SETS, "none", "noise", "ard", *(f"min_freq_{n}" for n in MIN_FREQS), "tucker"),
    _group(FOREIGN, "shape_alone", "shape"),
    _group(VECTOR_SETS, "none", OWN),
    _group(SMALL_SETS, "kpca", "kpca_rows", "none_kpca_rows", "own_plain"),
    _group(SMALL_SETS, "tuned", "unfrozen", "frozen"),
    _group(VECTOR_SETS, WORD2VEC, *MODES),
    _group(VECTOR_SETS, *(f"{LONE}{mode}" for mode in LONE_MODES)),
    _group(FOREIGN, OTHER, *(f"{PAIR}{mode}" for mode in PAIR_MODES)),
    _group(SMALL_SETS, *(name for name in TRANSFORMS if name != CENTRE), *MERGES),
    _group(CENTRED_SETS, CENTRE),
)
# The data set and arms whose differences three seeds leave open. What is compared has more seeds.
_ARMS_LEFT_OPEN = (OWN, *(f"{LONE}{mode}" for mode in LONE_MODES), *MODES, "kpca", "merge_pca")
OPEN = {("wnut17", f"{PREFIX}{arm}") for arm in _ARMS_LEFT_OPEN}


def vectors_path(name: str) -> str:
    """Return the path of static vectors: a folder below assets/vectors/, otherwise a package."""
    folder = VECTORS_FOLDER / name
    return str(folder) if folder.is_dir() else name


def has_vectors(name: str) -> bool:
    """Tell whether static vectors are there, as a folder or a package."""
    path = vectors_path(name)
    return Path(path).is_dir() or is_package(path)


def made_path(dataset: str, name: str) -> Path:
    """Return where a table that is made for a data set is, or the weights of pretraining."""
    return MADE_FOLDER / dataset / (f"{name}.bin" if name == PRETRAINED else name)


def sets_of(arm: VectorArm) -> tuple[str, ...]:
    """Name the data sets that an arm can be trained on."""
    if arm.pretrained:
        return SMALL_SETS
    if arm.table == CENTRE:
        return CENTRED_SETS
    is_of_two = arm.is_foreign or arm.table == OTHER or arm.others == (OTHER,)
    return tuple(FOREIGN) if is_of_two else VECTOR_SETS


def others_of(dataset: str, arm: VectorArm) -> tuple[str, ...]:
    """Name the further tables of an arm: a data set may have no vectors of another language."""
    return tuple(name for name in arm.others if name != OTHER or dataset in FOREIGN)


def made_for_training(dataset: str, arm: VectorArm) -> list[Path]:
    """Name what has to be made before an arm is trained on a data set."""
    names = [] if arm.table in (None, OWN) else [str(arm.table)]
    names += [*others_of(dataset, arm), *([PRETRAINED] if arm.pretrained else [])]
    return [made_path(dataset, name) for name in names]


def made_for_evaluations(dataset: str, arm: VectorArm) -> list[Path]:
    """Name what has to be made before the evaluations after the training of an arm."""
    return [made_path(dataset, name) for name in arm.tables_after]


def fill_in(config: Any, dataset: str, arm: VectorArm, texts: list[str]) -> None:  # noqa: ANN401
    """Name the tables of an arm in its config, and leave out those that the data set lacks.

    texts (list[str]): The corpora whose words may get vectors.
    """
    paths: dict[str, Any] = config["paths"]
    others = others_of(dataset, arm)
    for name in arm.others:
        if name in others:
            paths[name] = str(made_path(dataset, name))
        else:
            del paths[name]
            _embed(config)["vectors"]["tables"].pop(name)
    if arm.table is not None:
        own = arm.table == OWN
        path = vectors_path(VECTORS[dataset]) if own else made_path(dataset, arm.table)
        paths["vectors"] = str(path)
    if arm.pretrained:
        paths["init_tok2vec"] = str(made_path(dataset, PRETRAINED))
    if TEXTS in paths:
        paths[TEXTS] = texts


def _embed(config: Any) -> dict[str, Any]:  # noqa: ANN401
    embed: dict[str, Any] = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
    return embed
