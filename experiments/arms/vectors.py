"""The arms of the experiments on static vectors.

All of them differ from `BASE`, the candidate for a recipe of the same name, in what they are named
for. The tables are named in [paths], since each data set has its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Optional

from experiments.arms.arm import Arm, load_base
from experiments.arms.dilated import DILATIONS
from experiments.arms.recipe import ATTRS, TAGGER, candidate

WIDTH = 96
# The tables of a data set: that of its language, that of another language, and one that is made of
# its training texts.
OWN, OTHER, WORD2VEC = "own", "other", "word2vec"
OTHERS = (OTHER, WORD2VEC)
ALONE = "alone"
TEXTS = "texts"  # all splits, in [paths]
MODES = ("concat", "linear", "mme", "scalar")
# The same layer with fewer tables: that of the language alone, whose softmax would be 1, and those
# of two languages. What each mode does is told apart from what each further table brings.
LONE_MODES, PAIR_MODES = ("concat", "linear"), ("concat", "mme")
LONE, PAIR = "lone_", "pair_"
# The table of the language, transformed, or merged with the other tables.
CENTRE = "centre"
TRANSFORMS = (CENTRE, "drop_top", "pca", "ppa_pca_ppa", "z_norm", "unit", "morty")
MERGES = ("merge_pca", "merge_gcca")
# The table of the language with rounded numbers. A trained model takes it in place of its own.
QUANTIZED = ("quantize_float16", "quantize_int8", "quantize_pq")
# The other table, mapped into the space of the first.
ALIGNED = ("procrustes", "cca")
PRETRAINED = "pretrained"
PREFIX = "vectors_"
# The layers of the base that begin as pretraining left them. Its encoder has a convolution before
# those of the stack.
LAYERS = ("embed", *(f"encode{number}" for number in range(1, len(DILATIONS) + 2)))
MIN_FREQS = (5, 10)
NOISE = (5, 10)  # percent
FITTED_FROM = (1, 5)
SOURCES: tuple[Literal["vectors", "spelling"], ...] = ("vectors", "spelling")
# A model's evaluations after its training, each of the model as it was trained.
EXTENDED = tuple(f"extend_{source}_{n}" for source in SOURCES for n in FITTED_FROM)
# The same for models without static vectors: "own" is by those of the language.
EXTENDED_ALONE = tuple(name.replace("_vectors_", f"_{OWN}_") for name in EXTENDED)
PRUNED = tuple(f"prune_{n}" for n in MIN_FREQS)
NOISY = tuple(f"noise_{percent}" for percent in NOISE)
ZERO_SHOT = "zero_shot"
FOREIGN_STEPS = tuple(f"{ZERO_SHOT}_{table}" for table in (OTHER, *ALIGNED))

PRETRAINING: Mapping[str, Any] = {
    "max_epochs": 10,
    "dropout": 0.2,
    "n_save_every": None,
    "n_save_epoch": 10,
    "component": TAGGER,
    "layer": "tok2vec",
    "corpus": "corpora.train",
    "batcher": {
        "@batchers": "spacy.batch_by_words.v1",
        "size": 1000,
        "discard_oversize": False,
        "tolerance": 0.2,
        "get_length": None,
    },
    "objective": {
        "@architectures": "spacy.PretrainCharacters.v1",
        "maxout_pieces": 3,
        "hidden_size": 300,
        "n_characters": 4,
    },
    "optimizer": {
        "@optimizers": "Adam.v1",
        "beta1": 0.9,
        "beta2": 0.999,
        "L2_is_weight_decay": True,
        "L2": 0.01,
        "grad_clip": 1.0,
        "use_averages": True,
        "eps": 1e-8,
        "learn_rate": 0.001,
    },
}


@dataclass(frozen=True)
class VectorArm:
    """An arm, the tables that it needs, and what is evaluated after its training.

    arm (Arm): The difference from the base config.
    table (Optional[str]): The table of the vocab.
    others (tuple[str, ...]): Further tables, those of them that the data set has.
    after (tuple[str, ...]): The evaluations after training.
    pretrained (bool): Whether its weights begin as those of pretraining.
    last_commit (Optional[str]): The last commit that has its layer, where the layer was removed for
        its results.
    """

    arm: Arm
    table: Optional[str] = None
    others: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pretrained: bool = False
    last_commit: Optional[str] = None

    @property
    def is_foreign(self) -> bool:
        """Whether it is tried on another language after training."""
        return any(step.startswith(ZERO_SHOT) for step in self.after)

    @property
    def takes_own(self) -> bool:
        """Whether it reads the table of the language, in training or after it."""
        return self.table is not None or any(f"_{OWN}_" in step for step in self.after)

    @property
    def tables_after(self) -> tuple[str, ...]:
        """The tables that replace that of the vocab, each in one evaluation after training."""
        return tuple(filter(None, map(table_after, self.after)))


def table_after(step: str) -> Optional[str]:
    """Return the table that replaces that of the vocab in an evaluation, or None if none does."""
    if step in QUANTIZED:
        return step
    name = step.removeprefix(f"{ZERO_SHOT}_")
    return name if name != step and name != ALONE else None


def _one_table(
    table: str,
    *,
    embed: Mapping[str, Any] | None = None,
    attrs: Sequence[str] = ATTRS,
    after: tuple[str, ...] = (),
    **settings: Any,  # noqa: ANN401 (of a candidate)
) -> VectorArm:
    """Take the static vectors of the vocab, as spaCy does."""
    embed = {**(embed or {}), "include_static_vectors": True}
    return VectorArm(candidate(attrs=attrs, embed=embed, **settings), table, after=after)


def _meta_vectors(mode: str, *others: str) -> VectorArm:
    """Take the static vectors of the vocab and of other tables by MetaVectors."""
    block = {
        "@architectures": "spacy-multihash.MetaVectors.v1",
        "width": None if mode == "concat" else WIDTH,
        "tables": {"vocab": None, **{name: f"${{paths.{name}}}" for name in others}},
        "mode": mode,
        "key_attrs": None,
    }
    arm = candidate(embed={"vectors": block})
    return VectorArm(_with(arm, _paths(*others)), OWN, others=others)


def _pretrained(**unfreeze: Any) -> VectorArm:  # noqa: ANN401 (settings of the callback)
    """Begin with the weights of pretraining, and unfreeze layers as the callback says."""
    callback = {
        "@callbacks": "spacy-multihash.unfreeze.v1",
        "component": TAGGER,
        "unit": "epoch",
        "start": 0,
        "every": 0,
        "factor": 1.0,
        "starts": None,
        "factors": None,
        **unfreeze,
    }
    arm = candidate(before_update=callback) if unfreeze else candidate()
    return VectorArm(_with(arm, {"pretraining": PRETRAINING}), pretrained=True)


def _with(arm: Arm, sections: Mapping[str, Mapping[str, Any]]) -> Arm:
    return Arm(arm.values, {**arm.sections, **sections})


def _paths(*names: str) -> dict[str, dict[str, None]]:
    """Make the section of paths with further ones, which a run fills in."""
    known = load_base(Arm())["paths"]
    return {"paths": dict.fromkeys([*known, *names])}


def _from_spelling(arm: VectorArm, callback: Mapping[str, Any], *paths: str) -> VectorArm:
    """Call one of the callbacks of kernel PCA after initialization."""
    spelling = {"anchors": 3000, "sigma": 0.5, "orders": [2, 3, 4]}
    sections = {"initialize.after_init": {**callback, **spelling}, **_paths(*paths)}
    return replace(arm, arm=_with(arm.arm, sections))


def _min_freq(count: int) -> VectorArm:
    """Give a row to the symbols that occur this often, and to no others.

    The others train the row of unknown symbols, so that it needs no dropout of known ones.
    """
    arm = candidate(unk=0.0)
    before_init = {**arm.sections["initialize.before_init"], "min_freq": count}
    return VectorArm(_with(arm, {"initialize.before_init": before_init}))


def _noise() -> VectorArm:
    """Train with the texts, and with a copy of each that has noise."""
    augmenter = {
        "@augmenters": "spacy-multihash.char_noise.v1",
        "alphabet": None,
        "corpus": "${paths.train}",
        "level": 0.1,
        "mask_share": 0.2,
        "mask": "¶",
        "share_of_docs": 1.0,
        "copies": 1,
        "keep_original": True,
    }
    return VectorArm(_with(candidate(), {"corpora.train.augmenter": augmenter}), after=NOISY)


_KPCA_VECTORS = {
    "@callbacks": "spacy-multihash.kpca_vectors.v1",
    "corpora": "${paths.texts}",
    "min_freq": 1,
    "rank": 500,
}
_KPCA_ROWS = {
    "@callbacks": "spacy-multihash.kpca_rows.v1",
    "component": TAGGER,
    "attr": "NORM",
    "corpora": None,
    "whiten": False,
}
_ARMS = {
    # one table against several
    "none": VectorArm(candidate(), after=(*PRUNED, *NOISY, *EXTENDED_ALONE)),
    **{name: _one_table(name) for name in OTHERS},
    OWN: _one_table(OWN, after=(*EXTENDED, *QUANTIZED)),
    **{mode: _meta_vectors(mode, *OTHERS) for mode in MODES},
    **{f"{LONE}{mode}": _meta_vectors(mode) for mode in LONE_MODES},
    **{f"{PAIR}{mode}": _meta_vectors(mode, OTHER) for mode in PAIR_MODES},
    # transforms
    **{name: _one_table(name) for name in (*TRANSFORMS, *MERGES)},
    # words that no table has
    "kpca": _from_spelling(_one_table(OWN), _KPCA_VECTORS, TEXTS),
    "kpca_rows": _from_spelling(_one_table(OWN, after=EXTENDED), _KPCA_ROWS),
    "none_kpca_rows": _from_spelling(VectorArm(candidate(), after=EXTENDED_ALONE), _KPCA_ROWS),
    "own_plain": _one_table(OWN, after=EXTENDED, unk=0.0),
    # sizes
    **{f"min_freq_{count}": _min_freq(count) for count in MIN_FREQS},
    "ard": VectorArm(candidate(embed={"ard": 1.0, "ard_warmup": 1000}), after=PRUNED),
    "tucker": VectorArm(
        candidate(embed={"tucker_ranks": [6, 6, 6, 5]}), last_commit="b5604d85ed32"
    ),
    "noise": _noise(),
    # another language
    "shape": _one_table(OWN, attrs=("SHAPE",), after=FOREIGN_STEPS),
    "shape_alone": VectorArm(candidate(attrs=("SHAPE",)), after=(f"{ZERO_SHOT}_{ALONE}",)),
    # pretrained layers: all trained at once, one after the other, or not at all
    "tuned": _pretrained(),
    "unfrozen": _pretrained(every=1),
    "frozen": _pretrained(factors=dict.fromkeys(LAYERS, 0.0)),
}
VECTOR_ARMS: Mapping[str, VectorArm] = {f"{PREFIX}{name}": arm for name, arm in _ARMS.items()}
