"""Which tables of vectors a run takes, and where they are."""

from pathlib import Path

import pytest

from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs.grid import Run, config_hash, lacks, parse_run, run_config
from experiments.runs.plan import make_grid
from experiments.runs.vector_files import made_for_training, made_path

NAME = "conll-es/vectors_mme/no-vectors/seed0"


def test_tables_of_a_run_are_those_of_its_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for dataset, own, others in (
        ("conll-es", "es_e5_words", ("other", "word2vec")),
        ("wnut17", "en_core_web_md", ("word2vec",)),
    ):
        config = run_config(Run(dataset, "vectors_mme"))
        made = {name: str(made_path(dataset, name)) for name in others}
        paths = config["paths"]
        assert paths["vectors"] == own
        assert {name: paths[name] for name in paths if name in ("other", "word2vec")} == made
        embed = config["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
        assert list(embed["vectors"]["tables"]) == ["vocab", *others]
        block = config.interpolate()["components"]["tagger_ner"]["model"]["tok2vec"]["embed"]
        assert block["vectors"]["tables"] == {"vocab": None, **made}
        assert block["include_static_vectors"] is False


MADE = "assets/vectors-made/conll-nl"


@pytest.mark.parametrize(
    ("arm", "vectors"),
    [
        ("none", None),
        ("own", "nl_e5_words"),
        ("pca", f"{MADE}/pca"),
        ("other", f"{MADE}/other"),
    ],
)
def test_the_table_of_the_vocab_is_that_of_the_arm(
    arm: str, vectors: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_config(Run("conll-nl", f"vectors_{arm}"))["paths"]["vectors"] == vectors


def test_words_of_all_splits_get_vectors_from_spelling() -> None:
    config = run_config(Run("wnut17", "vectors_kpca")).interpolate()
    splits = [f"corpus/wnut17/{split}.spacy" for split in ("train", "dev", "test")]
    assert config["initialize"]["after_init"]["corpora"] == splits


def test_pretrained_weights_are_those_of_the_data_set() -> None:
    paths = run_config(Run("wnut17", "vectors_frozen"))["paths"]
    assert paths["init_tok2vec"] == "assets/vectors-made/wnut17/pretrained.bin"


def test_names_of_runs_name_no_vectors_and_lead_back() -> None:
    assert parse_run(NAME).name == NAME
    message = "Unknown vectors 'es_e5_words' of vectors_mme on conll-es. Choose one of: no-vectors"
    with pytest.raises(ValueError, match=message):
        parse_run(NAME.replace("no-vectors", "es_e5_words"))


@pytest.mark.parametrize(
    ("dataset", "arm", "sets"),
    [
        ("anem", "mme", "conll-es, conll-nl, wnut17"),
        ("wnut17", "other", "conll-es, conll-nl"),
        ("wnut17", "shape", "conll-es, conll-nl"),
        ("conll-nl", "tuned", "wnut17, conll-es"),
        ("conll-nl", "centre", "wnut17"),
    ],
)
def test_an_arm_is_refused_on_data_sets_without_its_tables(
    dataset: str, arm: str, sets: str
) -> None:
    with pytest.raises(ValueError, match=rf"'vectors_{arm}' on {dataset}\. It is one of: {sets}"):
        Run(dataset, f"vectors_{arm}")


def test_runs_of_vectors_differ_from_each_other_by_config_or_table() -> None:
    runs = [run for run in make_grid() if run.arm in VECTOR_ARMS and run.seed == 0]
    known = {}
    for run in runs:
        config = run_config(run)
        key = (run.dataset, config_hash(config), config["paths"]["vectors"])
        assert known.setdefault(key, run) == run


def test_what_a_run_needs_is_named_until_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = parse_run(NAME)
    run.corpus("train").parent.mkdir(parents=True)
    run.corpus("train").touch()
    assert lacks(run).startswith("the vectors es_e5_words")
    Path("assets/vectors/es_e5_words").mkdir(parents=True)
    made = made_for_training(run.dataset, VECTOR_ARMS[run.arm])
    assert made == [made_path("conll-es", name) for name in ("other", "word2vec")]
    for path in made:
        assert lacks(run).endswith("(python -m experiments make-vectors conll-es)")
        path.mkdir(parents=True)
    assert lacks(run) == ""
    assert lacks(Run("conll-es", "vectors_tuned")).startswith("what is made for conll-es")
    shape = Run("conll-es", "vectors_shape_alone")
    assert lacks(shape) == "the corpus conll-nl (python -m spacy project run convert-all)"
