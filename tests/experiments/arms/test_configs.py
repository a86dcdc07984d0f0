from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import DEFAULT_CONFIG_PATH, Language
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import Config, NumpyOps

from experiments.arms.arm import Arm
from experiments.arms.batch_ner import RECOGNIZERS
from experiments.arms.configs import ARMS, HEADER, TRAINING, make_config, make_configs
from experiments.arms.dilated import DILATED
from experiments.arms.embeddings import ABLATIONS, BUDGETS, WEIGHTED_HASHES, weighted_rows
from experiments.arms.textcat import CLASSIFIERS
from tests.helpers.paths import ROOT

NAMES = sorted(ARMS)


def is_textcat(name: str) -> bool:
    return name.startswith("textcat/")


@pytest.mark.parametrize("name", NAMES)
def test_config_is_what_the_command_makes(name: str) -> None:
    text = (ROOT / "configs" / f"{name}.cfg").read_text("utf8")
    arm = ARMS[name]
    made = make_config(arm)
    assert text.startswith(HEADER.format(base=arm.base))
    # not the text: versions of confection differ in how they write a list
    config, expected = (Config().from_str(each, interpolate=False) for each in (text, made))
    assert config == expected


def test_no_config_is_kept_by_hand() -> None:
    paths = (ROOT / "configs").rglob("*.cfg")
    assert sorted(str(p.relative_to(ROOT / "configs").with_suffix("")) for p in paths) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_config_is_complete(name: str) -> None:
    config = load_config(ROOT / "configs" / f"{name}.cfg")
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    if is_textcat(name):
        assert nlp.pipe_names == ["textcat"]
    else:
        assert nlp.pipe_names in (["tok2vec", "ner"], ["tagger_ner"])


def test_training_settings_are_those_of_the_report() -> None:
    training = load_config(ROOT / "configs" / "conll-es.cfg", interpolate=True)["training"]
    assert {
        key: training[key] for key in ("dropout", "patience", "max_steps", "eval_frequency")
    } == {
        "dropout": 0.1,
        "patience": 1600,
        "max_steps": 20000,
        "eval_frequency": 200,
    }
    assert training["batcher"]["size"]["stop"] == 1000
    adam = training["optimizer"]
    assert (adam["learn_rate"], adam["L2"], adam["grad_clip"]) == (0.001, 0.01, 1.0)
    assert (adam["beta1"], adam["beta2"], adam["L2_is_weight_decay"]) == (0.9, 0.999, True)


def test_training_settings_of_classifiers_are_those_of_the_paper() -> None:
    training = load_config(ROOT / "configs/textcat/hash_embed.cfg", interpolate=True)["training"]
    # ten evaluations without a better one
    assert training["patience"] == 10 * training["eval_frequency"]
    adam = training["optimizer"]
    assert (adam["learn_rate"], adam["L2"], adam["use_averages"]) == (0.001, 0.0, False)
    assert training["dropout"] == 0.0
    assert training["score_weights"]["cats_micro_f"] == 1.0  # the accuracy


def test_encoder_settings_are_those_of_the_report() -> None:
    config = load_config(ROOT / "configs" / "conll-es.cfg", interpolate=True)
    encode = config["components"]["tok2vec"]["model"]["encode"]
    sizes = {key: encode[key] for key in ("width", "depth", "window_size", "maxout_pieces")}
    assert sizes == {"width": 96, "depth": 8, "window_size": 1, "maxout_pieces": 3}
    assert config["components"]["ner"]["model"]["hidden_width"] == 64


def test_configs_are_written_below_the_folder(tmp_path: Path) -> None:
    paths = make_configs(tmp_path)
    assert sorted(paths) == sorted(tmp_path.rglob("*.cfg"))
    assert len(paths) == len(NAMES)


def test_a_path_that_the_base_lacks_is_refused() -> None:
    arm = Arm({"training.patienec": 3})
    with pytest.raises(KeyError, match="base.cfg has no training.patienec"):
        make_config(arm)


def config_without(name: str, *sections: str) -> Config:
    """Load a config with some parts, as dotted paths, and the paths of corpora left out."""
    config = load_config(ROOT / "configs" / f"{name}.cfg")
    config["paths"].update(train=None, dev=None)
    for section in sections:
        *parents, last = section.split(".")
        part = config
        for parent in parents:
            part = part[parent]
        part[last] = None
    return config


EMBEDDING = ("components.tok2vec.model.embed", "initialize.before_init")


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_differ_from_the_base_only_in_embedding_and_tables(name: str) -> None:
    # spaCy's own layers are the baseline, with its own encoder of the same sizes
    encoder = "components.tok2vec.model.encode.@architectures"
    recognizer = "components.ner"
    parts = (*EMBEDDING, encoder, recognizer) if name == "spacy_multi_hash_embed" else EMBEDDING
    assert config_without(f"ablation/{name}", *parts) == config_without("conll-es", *parts)


@pytest.mark.parametrize("name", [name for name in TRAINING if "regularized" not in name])
def test_training_arms_differ_from_the_base_only_in_training_and_embedding(name: str) -> None:
    # unk_dropout is a setting of training that belongs to MultiEmbed
    embedded = "unk_" in name or name.endswith("_weighted")
    parts = ("training", *EMBEDDING) if embedded else ("training",)
    assert config_without(f"training/{name}", *parts) == config_without("conll-es", *parts)


def test_regularized_settings_differ_from_the_base_in_five_parts() -> None:
    learning = ("components.ner.state_dropout", "components.ner.spacy_gradient")
    parts = ("training.optimizer.use_averages", "training.dropout", *EMBEDDING)
    without = "training/regularized_without_best_ner"
    assert config_without(without, *parts) == config_without("conll-es", *parts)
    assert config_without(without, *learning) == config_without("training/regularized", *learning)
    for part in learning:
        assert config_without(without, part) != config_without("training/regularized", part)


@pytest.mark.parametrize("name", DILATED)
def test_dilated_arms_differ_from_the_base_only_in_encoder_or_component(name: str) -> None:
    if name.startswith("tagger"):
        parts: tuple[str, ...] = ("components", "nlp.pipeline")
        tagger = load_config(ROOT / "configs" / "dilated" / f"{name}.cfg")["components"]
        base = load_config(ROOT / "configs" / "conll-es.cfg", interpolate=True)["components"]
        embed = tagger["tagger_ner"]["model"]["tok2vec"]["embed"]
        assert embed == base["tok2vec"]["model"]["embed"]
    else:
        parts = ("components.tok2vec.model.encode",)
    assert config_without(f"dilated/{name}", *parts) == config_without("conll-es", *parts)


# The defaults, and what each arm of batch_ner is named for.
LEARNING = {"state_dropout": 0.1, "spacy_gradient": False}
NAMED_FOR: dict[str, dict[str, object]] = {
    "batch_ner": {},
    "batch_ner_state_dropout_0": {"state_dropout": 0.0},
    "batch_ner_state_dropout_0.3": {"state_dropout": 0.3},
}


@pytest.mark.parametrize("name", NAMED_FOR)
def test_batch_ner_arms_differ_from_the_base_in_what_they_are_named_for(name: str) -> None:
    component = load_config(ROOT / "configs/batch_ner" / f"{name}.cfg")["components"]["ner"]
    base = load_config(ROOT / "configs/conll-es.cfg")["components"]["ner"]
    defaults = Language.get_factory_meta("batch_ner").default_config
    own = {"factory": "batch_ner", **LEARNING, **NAMED_FOR[name]}
    assert component == {**defaults, **base, **own}
    assert base == {**component, "spacy_gradient": True, "state_dropout": 0.1}
    parts = ("components.ner",)
    assert config_without(f"batch_ner/{name}", *parts) == config_without("conll-es", *parts)


def test_arm_of_spacys_recognizer_has_the_settings_that_spacy_knows() -> None:
    component = load_config(ROOT / "configs/batch_ner/ner.cfg")["components"]["ner"]
    defaults = Language.get_factory_meta("ner").default_config
    assert component == {**defaults, "factory": "ner", "model": component["model"]}
    base = load_config(ROOT / "configs/conll-es.cfg")["components"]["ner"]
    assert component.items() <= {**base, "factory": "ner"}.items()
    assert {"batch_ner", *NAMED_FOR, "ner"} == set(RECOGNIZERS)


MODEL = "components.textcat.model"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_differ_from_the_base_only_in_model_and_dictionary(name: str) -> None:
    defaults = ("training.dropout", "training.optimizer.L2") if name in ("bow", "cnn") else ()
    parts = (MODEL, "initialize.before_init", *defaults)
    assert config_without(f"textcat/{name}", *parts) == config_without("textcat/hash_embed", *parts)


@pytest.mark.parametrize("name", ["bow", "cnn"])
def test_classifiers_of_spacy_have_its_defaults_of_training(name: str) -> None:
    training = load_config(ROOT / f"configs/textcat/{name}.cfg")["training"]
    defaults = load_config(DEFAULT_CONFIG_PATH)["training"]
    assert training["dropout"] == defaults["dropout"] == 0.1
    assert training["optimizer"]["L2"] == defaults["optimizer"]["L2"] == 0.01


def test_config_of_several_labels_has_all_that_they_need() -> None:
    component = load_config(ROOT / "configs/textcat/multilabel.cfg")["components"]["textcat"]
    assert component["factory"] == "textcat_multilabel"
    assert component["threshold"] == 0.5
    assert component["scorer"] == {"@scorers": "spacy.textcat_multilabel_scorer.v2"}
    assert component["model"]["exclusive_classes"] is False
    parts = ("components.textcat",)
    assert config_without("textcat/multilabel", *parts) == config_without(
        "textcat/hash_embed", *parts
    )


@pytest.mark.parametrize("share", BUDGETS)
def test_budgets_with_two_hashes_differ_in_nothing_else(share: str) -> None:
    names = [f"ablation/budget_{share}", f"ablation/budget_{share}_hashes_2"]
    hashes = "components.tok2vec.model.embed.num_hashes"
    assert config_without(names[0], hashes) == config_without(names[1], hashes)
    embed = load_config(ROOT / f"configs/{names[1]}.cfg")["components"]["tok2vec"]["model"]["embed"]
    assert embed["num_hashes"] == WEIGHTED_HASHES


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("hashing_trick", ("rows", "num_hashes", "importance_rows", "train_importance")),
        ("hashing_trick_equal", ("rows", "num_hashes", "importance_rows", "train_importance")),
        ("hash_embed_large", ("rows", "importance_rows")),
        ("hash_embed_dependent", ("independent",)),
        ("hash_embed_ones", ("importance_init",)),
        ("hash_embed_authors_init", ("embed_init", "importance_init")),
        ("input_dropout", ("input_dropout",)),
    ],
)
def test_variants_of_a_hash_embedding_differ_in_what_they_are_named_for(
    name: str, settings: tuple[str, ...]
) -> None:
    parts = [f"{MODEL}.{setting}" for setting in settings]
    assert config_without(f"textcat/{name}", *parts) == config_without("textcat/hash_embed", *parts)


def test_initialization_of_the_authors_has_their_standard_deviations() -> None:
    config = load_config(ROOT / "configs/textcat/hash_embed_authors_init.cfg")
    model = config["components"]["textcat"]["model"]
    for name, sd in (("embed_init", 0.1), ("importance_init", 0.0005)):
        init = registry.resolve({"init": model[name]})["init"]
        drawn = init(NumpyOps(), (200, 200))
        assert abs(drawn.mean()) < 0.05 * sd
        assert drawn.std() == pytest.approx(sd, rel=0.05)


SIZES = st.lists(st.integers(1, 100_000), min_size=1, max_size=5)


@given(SIZES, st.integers(1, 300))
def test_weighted_rows_come_next_to_the_parameters_of_a_plain_table(
    rows: list[int], width: int
) -> None:
    num_hashes = WEIGHTED_HASHES
    for plain, weighted in zip(rows, weighted_rows(rows, width), strict=True):
        costs = [n * width + 10 * n * num_hashes for n in (weighted, weighted + 1)]
        assert costs[0] <= plain * width < costs[1]


@pytest.mark.parametrize(
    ("plain", "weighted"),
    [
        ("conll-es", "weighted"),
        ("ablation/hashes_2", "weighted"),
        ("ablation/budget_10_percent", "weighted_budget_10_percent"),
        ("ablation/budget_1_percent", "weighted_budget_1_percent"),
        ("ablation/budget_1_percent_hashes_2", "weighted_budget_1_percent"),
    ],
)
def test_weighted_models_have_no_more_parameters_than_those_they_are_compared_with(
    plain: str, weighted: str
) -> None:
    def table_parameters(name: str) -> int:
        nlp = load_model_from_config(load_config(ROOT / "configs" / f"{name}.cfg"))
        words = ["An", "example", "of", "words"]
        embed = nlp.get_pipe("tok2vec").model.layers[0]  # type: ignore[attr-defined]
        embed.initialize([Doc(nlp.vocab, words=words)])
        tables = [node for node in embed.walk() if node.has_param("E")]
        return sum(node.get_param("E").size for node in tables)

    budget, used = table_parameters(plain), table_parameters(f"ablation/{weighted}")
    assert 0.97 * budget < used <= budget


def test_registered_names_of_configs_are_known() -> None:
    known = spacy.registry.architectures.get_all()
    for name in NAMES:
        components = load_config(ROOT / "configs" / f"{name}.cfg")["components"]
        models = [component["model"] for component in components.values()]
        models += [model["embed"] for model in models if "embed" in model]
        assert {model["@architectures"] for model in models} <= known.keys()
