"""What we write says which package is missing, where this package isn't installed."""

from pathlib import Path

import pytest
from spacy.util import load_config

from spacy_multihash import accelerate, compress, init_config
from spacy_multihash.pipelines.config import our_names, require_package
from tests.helpers.paths import ROOT
from tests.helpers.processes import run_without_package
from tests.helpers.spacy_pipelines import CNN, build, ner, with_listener

LOAD = """
errors = []
for path in sys.argv[1:]:
    try:
        config = spacy.util.load_config(path)
        spacy.util.load_model_from_config(config, auto_fill=False)
        errors.append("")
    except Exception as error:
        errors.append(str(error))
print(json.dumps(errors))
"""


def test_error_names_the_package(tmp_path: Path) -> None:
    paths = [path for path in (ROOT / "configs").rglob("*.cfg")]
    for name in ("ner", "batch_ner"):
        paths.append(tmp_path / f"{name}.cfg")
        init_config(name, "nl").config.to_disk(paths[-1], interpolate=False)
    nlp = build(with_listener(ner=ner(CNN)))
    nlp.to_disk(tmp_path / "model")
    compress(tmp_path / "model", tmp_path / "small", loads=0)
    accelerate(tmp_path / "model", tmp_path / "fast")
    paths += [tmp_path / name / "config.cfg" for name in ("small", "fast")]
    needed = [any(our_names({k: load_config(p)[k] for k in ("nlp", "components")})) for p in paths]
    assert sum(needed) > 40
    errors = run_without_package(LOAD, *paths)
    for path, error, is_needed in zip(paths, errors, needed, strict=True):
        if is_needed:
            assert "Could not find function 'spacy-multihash." in error, (path, error)
            assert "make sure the package is installed" in error
        else:
            assert not error, path


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_callbacks_of_users_stay(taken: int) -> None:
    keys = ("before_creation", "after_creation", "after_pipeline_creation")
    theirs = {key: {"@callbacks": "mine"} for key in keys[:taken]}
    config = {"nlp": dict(theirs), "components": {"ner": {"factory": "batch_ner"}}}
    require_package(config)
    require_package(config)
    ours = {"@callbacks": "spacy-multihash.require_package.v1"}
    assert config["nlp"] == {**theirs, keys[taken]: ours}
    plain = {"nlp": {}, "components": {"ner": {"factory": "ner"}}}
    require_package(plain)
    assert plain["nlp"] == {}
