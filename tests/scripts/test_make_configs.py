from pathlib import Path

import make_configs
import pytest
import spacy
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from ..conftest import ROOT

NAMES = sorted(make_configs.ARMS)


@pytest.mark.parametrize("name", NAMES)
def test_config_is_what_the_script_makes(name: str) -> None:
    text = (ROOT / "configs" / f"{name}.cfg").read_text("utf8")
    made = make_configs.make_config(make_configs.ARMS[name])
    assert text.startswith(make_configs.HEADER)
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
    assert nlp.pipe_names == ["tok2vec", "ner"]


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


def test_encoder_settings_are_those_of_the_report() -> None:
    config = load_config(ROOT / "configs" / "conll-es.cfg", interpolate=True)
    encode = config["components"]["tok2vec"]["model"]["encode"]
    sizes = {key: encode[key] for key in ("width", "depth", "window_size", "maxout_pieces")}
    assert sizes == {"width": 96, "depth": 8, "window_size": 1, "maxout_pieces": 3}
    assert config["components"]["ner"]["model"]["hidden_width"] == 64


def test_configs_are_written_below_the_folder(tmp_path: Path) -> None:
    paths = make_configs.make_configs(tmp_path)
    assert sorted(paths) == sorted(tmp_path.rglob("*.cfg"))
    assert len(paths) == len(NAMES)


def test_a_path_that_the_base_lacks_is_refused() -> None:
    arm = make_configs.Arm({"training.patienec": 3})
    with pytest.raises(KeyError, match="base.cfg has no training.patienec"):
        make_configs.make_config(arm)


def config_without(name: str, *sections: str) -> Config:
    """Load a config with some sections, as dotted paths, and the paths of corpora left out."""
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


@pytest.mark.parametrize("name", make_configs.ABLATIONS)
def test_ablations_differ_from_the_base_only_in_embedding_and_tables(name: str) -> None:
    # spaCy's own layers are the baseline, with its own encoder of the same sizes
    encoder = "components.tok2vec.model.encode.@architectures"
    parts = (*EMBEDDING, encoder) if name == "spacy_multi_hash_embed" else EMBEDDING
    assert config_without(f"ablation/{name}", *parts) == config_without("conll-es", *parts)


@pytest.mark.parametrize("name", make_configs.TRAINING)
def test_training_arms_differ_from_the_base_only_in_training(name: str) -> None:
    # unk_dropout is a setting of training that belongs to MultiEmbed
    parts = ("training", *EMBEDDING) if "_unk_" in name else ("training",)
    assert config_without(f"training/{name}", *parts) == config_without("conll-es", *parts)


def test_registered_names_of_configs_are_known() -> None:
    known = spacy.registry.architectures.get_all()
    for name in NAMES:
        config = load_config(ROOT / "configs" / f"{name}.cfg")
        assert config["components"]["tok2vec"]["model"]["embed"]["@architectures"] in known
