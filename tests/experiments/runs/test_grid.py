"""The grid of experiments: names, configs, and what makes two runs the same."""

from collections import Counter
from math import ceil
from pathlib import Path

import pytest
import spacy
from spacy.util import load_model_from_config

from experiments.arms.tasks import AG_NEWS, CRF, HASH_EMBED, NER, ROW_SHARES, TEXTCAT, TOPICS
from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs.grid import (
    Run,
    config_hash,
    lacks,
    parse_run,
    run_config,
    run_hash,
    same_functions,
    seeds_of,
)
from experiments.runs.plan import make_grid
from experiments.runs.vector_files import NO_VECTORS, OPEN, vectors_path
from tests.helpers.corpora import make_docs, write_corpus


def test_runs_of_the_grid_are_distinct_and_their_names_lead_back() -> None:
    grid = make_grid()
    assert len(set(grid)) == len(grid)
    assert [parse_run(run.name) for run in grid] == grid


def test_arms_of_the_grid_share_the_seeds() -> None:
    seeds: dict[tuple[str, str, str], list[int]] = {}
    for run in make_grid():
        seeds.setdefault((run.dataset, run.arm, run.vectors), []).append(run.seed)
    more = set()
    for (dataset, arm, _), found in seeds.items():
        assert found == list(seeds_of(dataset, arm))
        assert arm == CRF or found[:3] == [0, 1, 2]
        more |= {(dataset, arm)} if len(found) > 3 else set()
    assert more == OPEN
    assert seeds_of("conll-es", CRF) == (0,)


def test_folder_of_a_run_names_every_factor_the_seed_last() -> None:
    run = Run("wnut17", "multi_embed", "en_core_web_md", 2)
    assert run.folder == Path("training/wnut17/multi_embed/en_core_web_md/seed2")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conll-xx/crf/no-vectors/seed0", "Unknown data set 'conll-xx'. Choose one of: conll-es, "),
        (
            "conll-es/multi/no-vectors/seed0",
            "Unknown arm 'multi' on conll-es. Choose one of: multi_hash_embed",
        ),
        ("ag-news/crf/no-vectors/seed0", "Unknown arm 'crf' on ag-news. Choose one of: hash_embed"),
        ("conll-es/bow/no-vectors/seed0", "Unknown arm 'bow' on conll-es. Choose one of: multi_ha"),
        ("topics/bow/es_e5_words/seed0", "Unknown vectors 'es_e5_words' of bow on topics. Choose"),
        ("turku-one/norm/es_e5_words/seed0", "Unknown vectors 'es_e5_words' of norm on turku-one"),
        ("conll-es/crf/es_e5_words/seed0", "Unknown vectors .* of crf on conll-es. Choose one of"),
        ("conll-es/norm/../seed0", "Unknown vectors '..'"),
        ("conll-es/crf/seed0", "Expected a run as DATASET/ARM/VECTORS/seedN, such as .*; found"),
        ("conll-es/crf/no-vectors/0", "Expected a run as DATASET/ARM/VECTORS/seedN"),
    ],
)
def test_a_name_that_is_no_run_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_run(name)


REMOVED = {name for name, arm in VECTOR_ARMS.items() if arm.last_commit}


@pytest.mark.parametrize("arm", [name for name in NER.fixed_arms if name not in REMOVED])
def test_config_of_an_arm_is_complete(arm: str) -> None:
    dataset = "wnut17" if arm == "vectors_centre" else "conll-es"
    config = run_config(Run(dataset, arm))
    expected = (
        ["tagger_ner"] if arm.startswith(("tagger", "recipe", "vectors")) else ["tok2vec", "ner"]
    )
    assert load_model_from_config(config, auto_fill=False).pipe_names == expected


@pytest.mark.parametrize("arm", TEXTCAT.fixed_arms)
def test_config_of_a_classifier_is_complete(arm: str) -> None:
    config = run_config(Run(AG_NEWS, arm, seed=2))
    assert load_model_from_config(config, auto_fill=False).pipe_names == ["textcat"]
    assert config["paths"]["dev"] == "corpus/ag-news/dev.spacy"
    assert config["system"]["seed"] == 2


def test_config_holds_the_factors_of_the_run() -> None:
    config = run_config(Run("archaeo", HASH_EMBED, "nl_e5_words", 2))
    assert config["nlp"]["lang"] == NER.langs["archaeo"] == "nl"
    assert config["system"]["seed"] == 2
    assert config["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] is True
    without = run_config(Run("archaeo", HASH_EMBED, NO_VECTORS, 2))
    assert without["components"]["tok2vec"]["model"]["embed"]["include_static_vectors"] is False


def test_hash_of_a_config_depends_on_all_but_paths_and_the_logger() -> None:
    config = run_config(Run("conll-es", HASH_EMBED))
    other = config.copy()
    other["paths"]["train"], other["training"]["logger"] = "elsewhere", {"@loggers": "x"}
    assert config_hash(config) == config_hash(other)
    other["training"]["dropout"] = 0.11
    assert config_hash(config) != config_hash(other)
    arms = [HASH_EMBED, "multi_embed", "hashes_1", "spacy_seeds_hashes_1", "norm"]
    hashes = [
        config_hash(run_config(Run("wnut17", arm, seed=seed))) for arm in arms for seed in (0, 1)
    ]
    assert len(set(hashes)) == len(hashes)


def test_runs_have_our_adam_which_counts_as_that_of_thinc() -> None:
    for run in (Run("conll-es", HASH_EMBED), Run("conll-nl", "vectors_none"), Run(TOPICS, "bow")):
        config = run_config(run)
        optimizer = config["training"]["optimizer"]
        assert optimizer["@optimizers"] == "spacy-multihash.Adam.v1"
        digest = config_hash(config)
        optimizer["@optimizers"] = "Adam.v1"
        assert config_hash(config) == digest
        optimizer["@optimizers"] = "RAdam.v1"
        assert config_hash(config) != digest


def test_adjusted_rows_are_a_share_of_the_symbols_that_are_frequent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    docs = make_docs(4) + make_docs()[:1] * 6  # Anna met Bob in Rome . occurs 10 times
    (tmp_path / "corpus" / "wnut17").mkdir(parents=True)
    write_corpus(tmp_path / "corpus" / "wnut17" / "train.spacy", docs)
    nlp = spacy.blank("en")
    words = [nlp.vocab[token.text] for doc in docs for token in doc]
    counts = [
        Counter(getattr(word, name) for word in words)
        for name in ("norm_", "prefix_", "suffix_", "shape_")
    ]
    frequent = [sum(n >= 10 for n in count.values()) for count in counts]
    for arm, share in ROW_SHARES.items():
        embed = run_config(Run("wnut17", arm))["components"]["tok2vec"]["model"]["embed"]
        assert embed["rows"] == [ceil(share * (n + 1)) for n in frequent], arm


def test_vectors_are_taken_from_the_assets_if_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert vectors_path("es_e5_words") == "es_e5_words"
    run = Run("conll-es", HASH_EMBED, "es_e5_words")
    assert lacks(run) == "the corpus conll-es (python -m spacy project run convert-all)"
    for dataset, command in ((AG_NEWS, "convert-textcat"), (TOPICS, "make-topics")):
        assert lacks(Run(dataset, "bow")).endswith(f"project run {command})")
    run.corpus("train").parent.mkdir(parents=True)
    run.corpus("train").touch()
    assert lacks(run).startswith("the vectors es_e5_words")
    (tmp_path / "assets" / "vectors" / "es_e5_words").mkdir(parents=True)
    assert vectors_path("es_e5_words") == str(Path("assets/vectors/es_e5_words"))
    assert lacks(run) == ""


def test_a_run_with_ner_is_the_same_function_as_one_with_its_gradient() -> None:
    own, other = same_functions(Run("wnut17", HASH_EMBED))
    assert own == run_hash(Run("wnut17", HASH_EMBED))
    assert other == run_hash(Run("wnut17", "ner"))
    assert same_functions(Run("wnut17", "ner")) == (other,)


@pytest.mark.parametrize("arm", ["batch_ner", "tagger", CRF])
def test_a_run_of_another_function_is_that_of_no_other_config(arm: str) -> None:
    run = Run("wnut17", arm)
    assert same_functions(run) == (run_hash(run),)


def test_arms_whose_layer_was_removed_say_where_it_is() -> None:
    run = Run("conll-es", "vectors_tucker")
    assert lacks(run) == (
        "the layer of vectors_tucker, which was removed (git checkout b5604d85ed32)"
    )
