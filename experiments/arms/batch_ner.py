"""The arms of the experiments on recognizers: spaCy's `ner`, and `batch_ner` that trains otherwise.

The base config takes `batch_ner` with spaCy's gradient. That is the same function as `ner`, in
training too, and takes less time.
"""

from collections.abc import Mapping
from typing import Any

from experiments.arms.arm import Arm, load_base

COMPONENT = "components.ner"
# What spaCy's factory takes of the component in base.cfg.
NER_SETTINGS = (
    "factory",
    "incorrect_spans_key",
    "moves",
    "update_with_oracle_cut_size",
    "model",
    "scorer",
)


def ner_section(component: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section of spaCy's `ner` that is the same function as a `batch_ner`.

    component (Mapping[str, Any]): The section of `batch_ner`, with spaCy's gradient.
    """
    return {name: component[name] for name in NER_SETTINGS} | {"factory": "ner"}


def _batch_ner(**values: Any) -> Arm:  # noqa: ANN401 (values of a config)
    """Take the true gradient, and other values of `batch_ner`."""
    values = {"spacy_gradient": False, **values}
    return Arm({f"{COMPONENT}.{name}": value for name, value in values.items()})


SPACY_NER = {COMPONENT: ner_section(load_base(Arm())["components"]["ner"])}
# The best on dev, by the mean of conll-es, wnut17 and turku-one (docs/ner-results.md).
BEST_NER = _batch_ner(state_dropout=0.3)
STATE_DROPOUTS = {
    "batch_ner_state_dropout_0": _batch_ner(state_dropout=0.0),
    "batch_ner_state_dropout_0.3": BEST_NER,
}
RECOGNIZERS = {"ner": Arm(sections=SPACY_NER), "batch_ner": _batch_ner(), **STATE_DROPOUTS}
