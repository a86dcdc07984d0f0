"""Calls from Python: what they leave as it was, whatever fails or runs beside them."""

import os
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from subprocess import run
from threading import Thread
from typing import Any

import numpy
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_multihash as multihash
from spacy_multihash.ner.estimate import KEY, count_on_gold
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, trained, wrong_docs

TEXTS = ["Anna met Bob in Rome .", "Oslo likes rain", "Anna left New York . Bob ?"]


@pytest.fixture(params=CONFIGS)
def nlp(request: pytest.FixtureRequest) -> Language:
    return trained(request.param)


def settings_of(nlp: Language) -> list[Any]:
    pipe: Any = nlp.get_pipe(next(name for name in nlp.pipe_names if name in CONFIGS))
    return [pipe.settings, nlp.pipe_names, deepcopy(nlp.meta), nlp.config.to_str()]


def test_calls_on_one_pipeline_do_not_disturb_each_other(nlp: Language) -> None:
    alone, before = multihash.estimate(nlp, TEXTS), settings_of(nlp)
    others: list[Any] = []

    def progress(iterable: Iterable[Any], /, **settings: Any) -> Iterator[Any]:
        for item in iterable:
            yield item
            others.append(multihash.estimate(nlp, TEXTS))
            thread = Thread(target=lambda: others.append(multihash.show(nlp, TEXTS[0])))
            thread.start()
            thread.join()

    assert multihash.estimate(nlp, TEXTS, progress=progress) == alone
    assert others[0] == alone and others[1] == multihash.show(nlp, TEXTS[0])
    assert settings_of(nlp) == before
    assert not nlp(TEXTS[0]).spans and not nlp(TEXTS[0]).user_data


def test_other_pipelines_are_not_asked(nlp: Language) -> None:
    other = trained("batch_ner")
    docs = list[Doc]()

    def texts() -> Iterator[str]:
        for text in TEXTS:
            docs.append(other(text))
            yield text

    assert multihash.estimate(nlp, texts()) == multihash.estimate(nlp, TEXTS)
    assert not any(doc.user_data for doc in docs)


def test_calibration_counts_other_recognizers_as_they_are() -> None:
    nlp = trained("tagger_ner")
    nlp.add_pipe("tagger_ner", name="second", source=trained("tagger_ner"))
    second: Any = nlp.get_pipe("second")
    second.temperature = 3.0
    multihash.calibrate(nlp, wrong_docs(), component="tagger_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in wrong_docs()]
    counts, _ = count_on_gold(nlp, examples)
    assert nlp.meta[KEY] == {"component": "tagger_ner", **counts._asdict()}


def test_attributes_that_a_file_changes_are_loaded() -> None:
    nlp, other = trained("batch_ner"), trained("batch_ner")
    attrs = {"a": (1, 2), "b": True, "c": numpy.bool_(True), "d": OrderedDict(e=1), "f": 1.5}
    for each in (nlp, other):
        each.get_pipe("batch_ner").model.attrs.update(attrs)  # type: ignore[attr-defined]
    loaded = other.from_bytes(nlp.to_bytes())
    assert loaded("Anna likes Oslo .").to_json() == nlp("Anna likes Oslo .").to_json()


def test_a_script_may_give_itself_as_code(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import spacy_multihash\nfrom tests.helpers.recognizers import trained\n"
        "print(type(spacy_multihash.accelerate(trained('batch_ner'), code=__file__)).__name__)\n"
    )
    call, here = [sys.executable, str(tmp_path / "script.py")], {"PYTHONPATH": str(Path.cwd())}
    done = run(call, capture_output=True, text=True, env={**os.environ, **here})
    assert done.stdout == "Acceleration\n", done.stderr


def test_examples_get_no_predictions(nlp: Language) -> None:
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in wrong_docs()]
    first = multihash.errors(nlp, examples)
    assert first == multihash.errors(nlp, wrong_docs())
    assert not any(eg.predicted.ents for eg in examples)
    assert multihash.errors(nlp, examples) == first
    assert multihash.evaluate(nlp, examples) == multihash.evaluate(nlp, wrong_docs())
    assert multihash.calibrate(nlp, examples).component == nlp.pipe_names[-1]


@Language.component("fails_on_some")
def fails_on_some(doc: Doc) -> Doc:
    if len(doc) == 3:
        raise RuntimeError("It fails")
    return doc


def test_dropped_docs_are_an_error_and_nothing_has_changed(nlp: Language, tmp_path: Path) -> None:
    nlp.add_pipe("fails_on_some")
    nlp.set_error_handler(lambda *error: None)
    docs = [*wrong_docs(), Doc(nlp.vocab, ["Anna", "left", "."], ents=["B-PER", "O", "O"])]
    before = settings_of(nlp)
    functions: list[Callable[..., Any]] = [
        multihash.calibrate,
        multihash.errors,
        multihash.evaluate,
    ]
    for function in functions:
        with pytest.raises(ValueError, match="dropped 1 of"):
            function(nlp, docs)
    assert settings_of(nlp) == before


@pytest.mark.parametrize("factory", CONFIGS)
def test_a_pipeline_that_was_never_trained_is_refused(factory: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    for call in (multihash.errors, multihash.evaluate):
        with pytest.raises(ValueError, match=f"E109.*{factory}"):
            call(nlp, wrong_docs())
    with pytest.raises(ValueError, match="no labels"):
        multihash.estimate(nlp, TEXTS)


def test_results_are_equal_if_they_say_the_same(tmp_path: Path) -> None:
    nlp = trained("batch_ner")
    shown = multihash.show(nlp, TEXTS[0])
    assert shown == pickle.loads(pickle.dumps(shown)) == deepcopy(shown)
    assert shown != multihash.show(nlp, TEXTS[1]) and hash(shown) == hash(deepcopy(shown))
    assert shown != shown.to_json()


def test_code_is_imported_by_functions_too(tmp_path: Path) -> None:
    name = f"made_in_{tmp_path.name.replace('-', '_')}"
    (tmp_path / "code.py").write_text(
        f"from spacy.language import Language\n\n\n@Language.component({name!r})\n"
        "def same(doc):\n    return doc\n"
    )
    nlp = trained("batch_ner")
    nlp.to_disk(tmp_path / "model")
    config = (tmp_path / "model" / "config.cfg").read_text()
    config = config.replace('"batch_ner"]', f'"batch_ner", "{name}"]')
    config += f'\n[components.{name}]\nfactory = "{name}"\n'
    (tmp_path / "model" / "config.cfg").write_text(config)
    done = multihash.compress(
        tmp_path / "model", tmp_path / "small", code=str(tmp_path / "code.py"), loads=0
    )
    assert (
        done.output == tmp_path / "small" and spacy.load(tmp_path / "small").pipe_names[-1] == name
    )


def test_a_text_with_half_a_letter_is_refused() -> None:
    with pytest.raises(ValueError, match="half of a letter"):
        multihash.show(trained("batch_ner"), "a\ud800b")


def test_shards_need_a_positive_number_of_docs(tmp_path: Path) -> None:
    write_corpus(tmp_path / "a.spacy", make_docs(2))
    wrong: list[dict[str, Any]] = [{"batch_size": 0}, {"max_length": 0}, {"workers": -1}]
    for settings in wrong:
        with pytest.raises(ValueError, match="must be an integer of at least 1"):
            multihash.apply("model", tmp_path / "a.spacy", tmp_path / "out", **settings)
    assert not (tmp_path / "out").exists()
