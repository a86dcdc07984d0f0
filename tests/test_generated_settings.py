"""Settings of all registered parts: good ones build, and others are refused by name and value.

The suite tries 40 generated settings of each part. For more, set HYPOTHESIS_EXAMPLES:

    HYPOTHESIS_EXAMPLES=10000 python -m pytest tests/test_generated_settings.py
"""

import importlib.metadata
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Optional

import pytest
import spacy
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from spacy.vocab import Vocab

from spacy_multihash.common import removed as removed_parts
from spacy_multihash.common.removed import RemovedPart
from spacy_multihash.ner.tagger.component import EntityTagger
from spacy_multihash.ner.transition.component import BatchEntityRecognizer
from tests.helpers.settings import (
    COMPONENTS,
    PARSER,
    PREFIX,
    RULES,
    Offence,
    Settings,
    offences,
    resolve,
    section,
    settings_of,
)

EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "40"))
NLP = spacy.blank("en")


def test_there_are_rules_for_all_registered_parts() -> None:
    entry_points = importlib.metadata.distribution("spacy-multihash").entry_points
    architectures = {each.name for each in entry_points if each.group == "spacy_architectures"}
    factories = {each.name for each in entry_points if each.group == "spacy_factories"}
    removed = {part.name for part in vars(removed_parts).values() if isinstance(part, RemovedPart)}
    ours = {name for name in architectures - removed if name.startswith(PREFIX)}
    factories -= {"indexed_attribute_ruler"}  # which has the settings of spaCy's own
    assert set(RULES) == ours | factories


@pytest.mark.parametrize("name", RULES)
@hypothesis_settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_good_settings_build_and_others_are_refused(name: str, data: st.DataObject) -> None:
    settings = data.draw(settings_of(name))
    wrong = offences(name, settings)
    for build in (call, build_from_config):
        check(refusal_of(partial(build, name, settings)), wrong)
    if name in COMPONENTS and not {"model", "scorer"} & {key for key, _ in wrong}:
        set_later(name, settings)


def set_later(name: str, settings: Settings) -> None:
    """Set what a component is built with on a trained one: a refusal changes nothing."""
    model = settings.get("model", PARSER)
    needed = {"model": model} if name == "tagger_ner" else {}
    pipe = call(name, needed)
    for key in settings.keys() - {"model", "scorer", "candidates_above"}:
        before = getattr(pipe, key)
        wrong = offences(name, {**needed, key: settings[key]})
        check(refusal_of(partial(setattr, pipe, key, settings[key])), wrong)
        if wrong:
            assert getattr(pipe, key) == before


def check(message: Optional[str], wrong: list[Offence]) -> None:
    if not wrong:
        assert message is None, f"refused although nothing is wrong: {message}"
        return
    assert message is not None, f"taken although wrong: {wrong}"
    assert any(name in message and value in message for name, value in wrong), (
        f"none of {wrong} is named: {message}"
    )


def refusal_of(build: Callable[[], Any]) -> Optional[str]:
    """Return the message of a setting_error, None if there is none. No other error may come."""
    try:
        build()
    except ValueError as error:  # confection's ConfigValidationError is one
        return str(error)
    return None


def call(name: str, settings: Settings) -> Any:
    """Call the function without a config."""
    arguments = {key: resolve(value) for key, value in settings.items()}
    if name == "tagger_ner":
        return EntityTagger(Vocab(), arguments.pop("model"), **arguments)
    if name == "batch_ner":
        return BatchEntityRecognizer(Vocab(), resolve(PARSER), **arguments)
    return spacy.registry.architectures.get(name)(**arguments)


def build_from_config(name: str, settings: Settings) -> None:
    """Let spaCy read a config, check it, and call the function."""
    config = {key: section(value) for key, value in settings.items()}
    if name == "batch_ner":
        config["model"] = PARSER.section
    if name in COMPONENTS:
        NLP.create_pipe(name, config=config)
    else:
        spacy.registry.resolve({"model": {"@architectures": name, **config}})
