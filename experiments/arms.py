"""The arms of the experiments: a config of configs/, and the changes to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Optional

from spacy.attrs import IDS
from spacy.cli.init_config import init_config
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from spacy_multihash import count_symbols, make_tables
from spacy_multihash.corpus.training import training_docs
from spacy_multihash.pipelines.config import require_package

CONFIGS = Path("configs")
CRF = "crf"
SPACY = "spacy_efficiency"  # what `spacy init config -p ner -o efficiency` writes
EMBED = "components.tok2vec.model.embed"
ENCODE = "components.tok2vec.model.encode"
TAGGER = "components.tagger_ner"
TAGGER_ENCODE = f"{TAGGER}.model.tok2vec.encode"
BEFORE_INIT = "initialize.before_init"
ATTRS = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
WIDTH = 96

# The languages of the data sets, for configs that fit any corpus.
LANGS = {
    "conll-es": "es",
    "conll-nl": "nl",
    "conll-nl-sentences": "nl",
    "wnut17": "en",
    "anem": "en",
    "archaeo": "nl",
    "turku-one": "fi",
    "gum": "en",
    "masakhaner-swa": "xx",
    "masakhaner-hau": "xx",
    "topics": "en",
}
# MultiEmbed's rows with min_freq 10, by attribute: what `rows_like_multi_embed` counts.
MULTI_EMBED_ROWS = {
    "conll-es": (2636, 81, 1148, 89),
    "conll-nl": (1851, 78, 1071, 98),
    "wnut17": (688, 86, 744, 129),
    "anem": (760, 83, 601, 75),
    "archaeo": (3133, 105, 1501, 175),
    "turku-one": (4330, 100, 1501, 92),
}


def language(dataset: str) -> Optional[str]:
    """Return the language of a data set, whole or cut to a number of sentences."""
    whole, _, sentences = dataset.rpartition("-")
    return LANGS.get(whole if sentences.isdecimal() else dataset)


@dataclass(frozen=True)
class Arm:
    """Settings to train with.

    config (str): A file of configs/ without its ending, the path of a config, or SPACY.
    overrides (Mapping[str, Any]): New values by dotted path. A value may be a whole section.
    rows_share (Optional[float]): The rows of MultiHashEmbed, as a share of MultiEmbed's rows with
        min_freq 10.
    """

    config: str = "report"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    rows_share: Optional[float] = None


def _embed(**values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    return Arm(overrides={f"{EMBED}.{name}": value for name, value in values.items()})


def _batch_ner(**values: Any) -> Arm:  # noqa: ANN401
    values = {"spacy_gradient": False, **values}
    return Arm(overrides={f"components.ner.{name}": value for name, value in values.items()})


def _dilated(**values: Any) -> Arm:  # noqa: ANN401
    return Arm(overrides={ENCODE: DILATED | values})


def _tagger(encode: Mapping[str, Any], **values: Any) -> Arm:  # noqa: ANN401
    encoder = {f"{TAGGER_ENCODE}.{name}": value for name, value in encode.items()}
    return Arm(
        "tagger_ner",
        encoder | {f"{TAGGER}.{name.replace('__', '.')}": v for name, v in values.items()},
    )


def _textcat(**values: Any) -> Arm:  # noqa: ANN401
    overrides = {f"components.textcat.model.{name}": value for name, value in values.items()}
    return Arm("textcat/hash_embed", overrides)


def _features(*rows: tuple[str, int]) -> Arm:
    return _embed(attrs=[attr for attr, _ in rows], rows=[number for _, number in rows])


def _section(
    architecture: str,
    width: int | str = f"${{{ENCODE}.width}}",
    attrs: Sequence[str] = ATTRS,
    **values: Any,  # noqa: ANN401
) -> dict[str, Any]:
    """Make the section of an embedding."""
    common = {"width": width, "attrs": list(attrs), "include_static_vectors": False}
    return {"@architectures": architecture, **common, **values}


def _init_tables(component: str, min_freq: int, max_rows: Optional[int] = None) -> dict[str, Any]:
    return {
        "@callbacks": "spacy-multihash.init_tables.v1",
        "path": None,
        "min_freq": min_freq,
        "component": component,
        "max_rows": max_rows,
    }


def _multi_embed(min_freq: int) -> Arm:
    section = _section("spacy-multihash.MultiEmbed.v1", unk_dropout=0.0)
    return Arm(overrides={EMBED: section, BEFORE_INIT: _init_tables("tok2vec", min_freq)})


def _weighted(rows: list[int]) -> Arm:
    name = "spacy-multihash.MultiWeightedHashEmbed.v1"
    return Arm(overrides={EMBED: _section(name, rows=rows, num_hashes=2, importance_rows=None)})


SPACY_SEEDS = [8, 9, 10, 11]
MAXOUT = {
    "@architectures": "spacy-multihash.MaxoutWindowEncoder.v1",
    "width": WIDTH,
    "depth": 8,
    "window_size": 1,
    "maxout_pieces": 3,
}
DILATED = {
    "@architectures": "spacy-multihash.IteratedDilatedEncoder.v1",
    "width": WIDTH,
    "dilations": [1, 2, 1],
    "repeats": 3,
    "window_size": 1,
    "share": True,
    "residual": True,
    "normalize": True,
}
SPACY_NER = {
    "factory": "ner",
    "incorrect_spans_key": None,
    "moves": None,
    "update_with_oracle_cut_size": 100,
    "scorer": {"@scorers": "spacy.ner_scorer.v1"},
}
TENTH, HUNDREDTH = [500, 250, 250, 250], [50, 25, 25, 25]
# For few sentences: smaller batches, and fewer steps after the best
FEW = {"training.batcher.size.stop": 200, "training.patience": 600}
PLAIN = {"training.dropout": 0.1, "training.optimizer.use_averages": False}
HASHING_TRICK = {"num_hashes": 1, "importance_rows": None, "train_importance": False}

_ARMS: dict[str, Arm] = {
    "multi_hash_embed": Arm(),
    # features, hash functions, rows
    "orth": _features(("ORTH", 5000)),
    "norm": _features(("NORM", 5000)),
    "norm_prefix": _features(("NORM", 5000), ("PREFIX", 2500)),
    "norm_prefix_suffix": _features(("NORM", 5000), ("PREFIX", 2500), ("SUFFIX", 2500)),
    **{f"hashes_{k}": _embed(num_hashes=k) for k in (1, 2, 3)},
    **{f"spacy_seeds_hashes_{k}": _embed(num_hashes=k, seeds=SPACY_SEEDS) for k in (1, 2, 3, 4)},
    **{
        f"{name}hashes_{k}_rows_{rows}": _embed(
            num_hashes=k, seeds=seeds, rows=[rows, 2500, 2500, 2500]
        )
        for name, seeds in (("", None), ("spacy_seeds_", SPACY_SEEDS))
        for k in (1, 2)
        for rows in (2500, 1000)
    },
    "rows_as_multi_embed": Arm(rows_share=1.0),
    "rows_20_percent": Arm(rows_share=0.2),
    "rows_10_percent": Arm(rows_share=0.1),
    "budget_10_percent": _embed(rows=TENTH),
    "budget_1_percent": _embed(rows=HUNDREDTH),
    "budget_10_percent_hashes_2": _embed(rows=TENTH, num_hashes=2),
    "budget_1_percent_hashes_2": _embed(rows=HUNDREDTH, num_hashes=2),
    # kinds of embeddings. Weighted embeddings have as many parameters as the rows of the same name.
    "multi_embed": _multi_embed(10),
    "multi_embed_min5": _multi_embed(5),
    "multi_embed_min1": _multi_embed(1),
    "spacy_multi_hash_embed": Arm(
        overrides={
            EMBED: _section("spacy.MultiHashEmbed.v2", rows=[5000, 2500, 2500, 2500]),
            f"{ENCODE}.@architectures": "spacy.MaxoutWindowEncoder.v2",
            "components.ner": SPACY_NER,
        }
    ),
    "weighted_near_zero": _weighted([4137, 2068, 2068, 2068]),
    "weighted_near_zero_budget_10_percent": _weighted([413, 206, 206, 206]),
    "weighted_near_zero_budget_1_percent": _weighted([41, 20, 20, 20]),
    # training and recognizers
    "regularized": Arm("regularized"),
    "regularized_few": Arm("regularized", FEW),
    "few_small": Arm("small", FEW),
    SPACY: Arm(SPACY),
    "ner": Arm(overrides={"components.ner": SPACY_NER}),
    "batch_ner": _batch_ner(),
    "batch_ner_state_dropout_0": _batch_ner(state_dropout=0.0),
    "batch_ner_state_dropout_0.3": _batch_ner(state_dropout=0.3),
    "dilated": _dilated(residual=False, normalize=False),
    "dilated_residual": _dilated(normalize=False),
    "dilated_normalized": _dilated(residual=False),
    "dilated_residual_normalized": _dilated(),
    "tagger": _tagger({}),
    "tagger_greedy": _tagger({}, decoder="greedy"),
    "tagger_crf": _tagger({}, model__learn_transitions=True),
    "tagger_plain": _tagger({"residual": False, "normalize": False}),
    "tagger_normalized": _tagger({"residual": False}),
    "tagger_unshared": _tagger({"share": False}),
    "tagger_last_pass": _tagger({}, model__train_passes="last"),
    "tagger_maxout": _tagger({}, model__tok2vec__encode=MAXOUT),
    "tagger_maxout_crf": _tagger({}, model__tok2vec__encode=MAXOUT, model__learn_transitions=True),
    # text classification
    "hash_embed": _textcat(),
    "hash_embed_small": _textcat(width=10, rows=20_000, importance_rows=200_000),
    "hash_embed_large": _textcat(rows=500_000, importance_rows=5_000_000),
    "hashing_trick": _textcat(**HASHING_TRICK, rows=1_000_000),
    "hashing_trick_equal": _textcat(**HASHING_TRICK, rows=200_000),
    "hashing_trick_large": _textcat(**HASHING_TRICK, rows=5_000_000),
    "bow": Arm("textcat/bow"),
    "cnn": Arm(
        "textcat/bow",
        {
            "components.textcat.model": {
                "@architectures": "spacy.TextCatReduce.v1",
                "exclusive_classes": True,
                "nO": None,
                "use_reduce_first": False,
                "use_reduce_last": False,
                "use_reduce_max": False,
                "use_reduce_mean": True,
                "tok2vec": {
                    "@architectures": "spacy.HashEmbedCNN.v2",
                    "width": WIDTH,
                    "depth": 4,
                    "embed_size": 2000,
                    "window_size": 1,
                    "maxout_pieces": 3,
                    "subword_features": True,
                    "pretrained_vectors": None,
                },
            }
        },
    ),
}

# Arms whose name begins with "recipe": tagger_ner, and options joined by hyphens.
RECIPE = "recipe"
NGRAMS = (*ATTRS, "LOWER{3,5}")
LOWER_SLICES = ("LOWER[:2]", "LOWER[:3]", "LOWER[-2:]", "LOWER[-4:]")
ROWS = {"NORM": 5000, "LOWER{3,5}": 20_000}
MAX_NGRAM_ROWS = 30_000
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "hash": {"kind": "MultiHashEmbed"},
    **{f"unk_{percent}": {"unk": percent / 100} for percent in (0, 10, 50)},
    "lower_slices": {"attrs": (*ATTRS, *LOWER_SLICES)},
    "ngrams": {"attrs": NGRAMS, "embed": {"reduce": "mean"}},
    "ngrams_sum": {"attrs": NGRAMS},
    "plain": PLAIN,
    "no_averages": {"training.optimizer.use_averages": False},
    "dropout_10": {"training.dropout": 0.1},
    "dropout_50": {"training.dropout": 0.5},
    "few": FEW,
    "maxout_4": {TAGGER_ENCODE: {**MAXOUT, "depth": 4}},
    "transitions": {f"{TAGGER}.model.learn_transitions": True},
}


def recipe(
    *,
    kind: str = "MultiEmbed",
    attrs: tuple[str, ...] = ATTRS,
    unk: float = 0.3,
    embed: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
) -> Arm:
    """Change the recommended settings.

    kind (str): The embedding.
    unk (float): The unk_dropout of MultiEmbed.
    embed (Mapping[str, Any]): Further settings of the embedding.
    values (Mapping[str, Any]): Other settings of the config, by dotted path.
    """
    section = _section(f"spacy-multihash.{kind}.v1", WIDTH, attrs)
    before_init: Optional[dict[str, Any]] = None
    if kind == "MultiEmbed":
        section["unk_dropout"] = unk
        limit = MAX_NGRAM_ROWS if NGRAMS[-1] in attrs else None
        before_init = _init_tables("tagger_ner", 1, limit)
    else:
        section["rows"] = [ROWS.get(attr, 2500) for attr in attrs]
    return Arm(
        "recommended",
        {
            f"{TAGGER}.model.tok2vec.embed": section | dict(embed or {}),
            BEFORE_INIT: before_init,
            **(values or {}),
        },
    )


def _meta_vectors(mode: str, *others: str) -> Arm:
    """Use the vectors of the vocab and of further tables, whose paths are set in [paths]."""
    block = {
        "@architectures": "spacy-multihash.MetaVectors.v1",
        "width": None if mode == "concat" else WIDTH,
        "tables": {"vocab": None, **{name: f"${{paths.{name}}}" for name in others}},
        "mode": mode,
    }
    return recipe(embed={"vectors": block}, values={f"paths.{name}": None for name in others})


_NOISE = {
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
_ARMS |= {
    "vectors_none": recipe(),
    "vectors_pair_concat": _meta_vectors("concat", "other"),
    "vectors_pair_mme": _meta_vectors("mme", "other"),
    "vectors_concat": _meta_vectors("concat", "other", "word2vec"),
    "vectors_mme": _meta_vectors("mme", "other", "word2vec"),
    "vectors_noise": recipe(values={"corpora.train.augmenter": _NOISE}),
}
ARMS: Mapping[str, Arm] = _ARMS


def find_arm(name: str) -> Arm:
    """Return the arm with a name.

    name (str): An arm, a recipe with options such as "recipe-slices-dropout_40", the name of a
        file in configs/, or the path of a config.

    Raises ValueError for an unknown name.
    """
    if name in ARMS:
        return ARMS[name]
    base, *options = name.split("-")
    if base == RECIPE and OPTIONS.keys() >= {*options}:
        merged = {key: value for name in options for key, value in OPTIONS[name].items()}
        values = {key: merged.pop(key) for key in list(merged) if "." in key}
        return recipe(**merged, values=values)
    if config_path(name).is_file():
        return Arm(name)
    raise ValueError(
        f"Unknown arm {name!r}. Choose one of {', '.join(ARMS)}; {RECIPE}-OPTION-... with options "
        f"of {', '.join(OPTIONS)}; or a config of {CONFIGS}/."
    )


def is_arm(name: str) -> bool:
    """Return whether an arm can be run: parts of some arms were removed."""
    try:
        return name == CRF or bool(find_arm(name))
    except ValueError:
        return False


def config_path(name: str) -> Path:
    """Return the path of a config: a file in configs/, or the given path."""
    return Path(name) if name.endswith(".cfg") else CONFIGS / f"{name}.cfg"


def arm_config(arm: Arm) -> Config:
    """Read the config of an arm, with the arm's changes.

    Raises KeyError if the config lacks the section of a path.
    """
    if arm.config == SPACY:
        config = init_config(lang="en", pipeline=["ner"], optimize="efficiency", gpu=False)
    else:
        config = load_config(config_path(arm.config))
    for path, value in arm.overrides.items():
        section: Any = config
        *parents, last = path.split(".")
        for name in parents:
            if not isinstance(section.get(name), dict):
                raise KeyError(f"{arm.config} has no section for {path}")
            section = section[name]
        if path == "components.ner":  # another factory with the same model
            value = {**value, "model": section[last]["model"]}
        section[last] = dict(value) if isinstance(value, Mapping) else value
    require_package(config)
    return config


def configure(
    arm: Arm, corpus: Optional[Path] = None, seed: int = 0, vectors: str = "", lang: str = ""
) -> Config:
    """Make the config of an arm for a corpus, or for any.

    corpus (Optional[Path]): The folder of train.spacy and dev.spacy, named after the data set.
    vectors (str): The path or the package of static vectors, or "".
    lang (str): The code of the language, or "" for the data set's or else the config's language.

    Raises ValueError if the arm's rows are counted in a corpus, and there is none.
    """
    config = arm_config(arm)
    lang = lang or (corpus and language(corpus.name)) or ""
    if lang:
        config["nlp"]["lang"] = lang
    config["system"]["seed"] = seed
    if corpus:
        config["paths"].update({s: str(corpus / f"{s}.spacy") for s in ("train", "dev")})
    if vectors:
        use_vectors(config, vectors)
    if arm.rows_share is not None:
        if corpus is None:
            raise ValueError("The rows of this arm are counted in a corpus: give it as --corpus.")
        set_rows(config, rows_like_multi_embed(config, arm.rows_share))
    return config


def rows_like_multi_embed(config: Config, share: float) -> list[int]:
    """Return a share of MultiEmbed's rows at min_freq 10, for each attribute.

    config (Config): A config with the path and the language of the training corpus.
    """
    docs = training_docs(load_model_from_config(config, auto_fill=True))
    tables = make_tables(count_symbols(docs, {name: IDS[name] for name in ATTRS}), min_freq=10)
    return share_of_rows([len(tables.tables[name]) + 1 for name in ATTRS], share)


def share_of_rows(rows: Sequence[int], share: float) -> list[int]:
    """Return a share of the rows of each table, at least one."""
    return [ceil(share * number) for number in rows]


def set_rows(config: Config, rows: list[int]) -> None:
    """Set the rows of the embedding."""
    config["components"]["tok2vec"]["model"]["embed"]["rows"] = rows


def use_vectors(config: Config, vectors: Optional[str]) -> None:
    """Embed static vectors in each component that can.

    vectors (Optional[str]): Their path or package. None leaves it to `--paths.vectors`.
    """
    config["paths"]["vectors"] = vectors
    for component in config["components"].values():
        tok2vec = component.get("model", {})
        embed = tok2vec.get("tok2vec", tok2vec).get("embed", {})
        if "include_static_vectors" in embed:
            embed["include_static_vectors"] = True
