"""The settings of recognizers. The factories, which spaCy always imports, need nothing else."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional, get_args

from thinc.api import Model

from ..common.checks import (
    check_choice,
    check_flag,
    check_share,
    check_string,
    check_unit,
    check_whole,
    is_list,
    is_number,
    setting_error,
)
from ..common.types import Decoder


@dataclass(frozen=True)
class SpanSettings:
    """Where a recognizer puts probabilities, as fields of its own settings describe them."""

    spans_key: Optional[str] = None
    candidates_above: Optional[float] = None
    temperature: float = 1.0
    threshold = 0.0  # not a setting of all

    def check(self, component: Any) -> None:  # noqa: ANN401 (of either class)
        """Raise ValueError for values out of range, and candidates without a spans_key."""
        where, above = f'Component "{component.name}"', self.candidates_above
        check_string(where, "spans_key", self.spans_key)
        if not (is_number(self.temperature) and 0 < self.temperature < math.inf):
            raise setting_error(where, "temperature", "a number above 0", self.temperature)
        if above is None:
            return
        if not (is_number(above) and 0 < above <= 1):
            raise setting_error(where, "candidates_above", "a probability above 0, or null", above)
        if self.spans_key is None:
            raise ValueError(
                f"{where}: candidates_above = {above} has no effect without spans_key, which says "
                "where in doc.spans the candidates go. Set spans_key, or candidates_above = null."
            )


@dataclass(frozen=True)
class BatchSettings(SpanSettings):
    """The settings that `BatchEntityRecognizer` adds to spaCy's ner.

    state_dropout (float): Dropout of the hidden layer in training, drawn for each state. It has no
        effect on a model without `upper`.
    spacy_gradient (bool): Whether to compute the gradient as spaCy does, including its error: for
        missing features, it takes the last token of the batch.
    spans_key (Optional[str]): Where in doc.spans to put the entities as well, with their
        probabilities in `attrs["scores"]`, (number of entities,) float32. A probability is the
        share of all sequences of actions that have the entity. Entities that the doc had before
        have probability 1, and the probabilities of others are conditional on them. Null puts none
        there.
    candidates_above (Optional[float]): Also put other possible entities into doc.spans[spans_key],
        if their probability is at least this. Null adds none.
    temperature (float): Divides the scores before they become probabilities. It changes no entity.
    """

    state_dropout: float = 0.1
    spacy_gradient: bool = False

    def check(self, component: Any) -> None:  # noqa: ANN401 (a BatchEntityRecognizer)
        """Raise ValueError for values out of range, and candidates without a spans_key."""
        where = f'Component "{component.name}"'
        check_share(where, "state_dropout", self.state_dropout)
        check_flag(where, "spacy_gradient", self.spacy_gradient)
        super().check(component)


@dataclass(frozen=True)
class TaggerSettings(SpanSettings):
    """The settings of `EntityTagger`.

    decoder (Optional[str]): How scores become tags. "greedy" takes the best tag of each token, and
        drops entities that aren't whole. "constrained" takes the best sequence of tags that may
        follow each other. "crf" does the same with learned transitions. Null is "crf" if the model
        has them, otherwise "constrained".
    spans_key (Optional[str]): Where in doc.spans to put the entities as well, with their
        probabilities in `attrs["scores"]`, (number of entities,) float32. A probability is the
        share of all valid sequences of tags that have the entity. Scores of existing entities
        ignore that they were given, and scores of new entities are conditional on them. Null puts
        none there.
    candidates_above (Optional[float]): Also put other possible entities into doc.spans[spans_key],
        if their probability is at least this. Null adds none.
    threshold (float): Only set new entities in doc.ents if their probability is at least this, 0 to
        1. With a `spans_key`, the others are in doc.spans. 0 sets all.
    temperature (float): Divides scores and transitions before they become probabilities.
    """

    decoder: Optional[Decoder] = None
    threshold: float = 0.0

    def check(self, component: Any) -> None:  # noqa: ANN401 (an EntityTagger)
        """Raise ValueError if a value is out of range, or the model doesn't support it."""
        where = f'Component "{component.name}"'
        if self.decoder is not None:
            check_choice(where, "decoder", self.decoder, get_args(Decoder))
        check_unit(where, "threshold", self.threshold)
        super().check(component)
        if self.decoder == "crf" and not component.learns_transitions:
            raise ValueError(
                f'{where}: decoder = "crf" needs learned transitions, but the model has none. Set '
                "learn_transitions = true in its [model], or take another decoder: "
                '"constrained" or "greedy".'
            )


def check_cfg(component: str, cfg: Mapping[str, Any]) -> None:
    """Check the settings that spaCy's ner and parser keep in `cfg`, and so in a file.

    Other keys, which other versions of spaCy have, have no effect.
    """
    where, density = f'Component "{component}"', cfg.get("beam_density")
    check_whole(where, "beam_width", cfg.get("beam_width"), 1)
    if not (is_number(density) and density >= 0):
        raise setting_error(where, "beam_density", "a number of 0 or more", density)
    check_unit(where, "beam_update_prob", cfg.get("beam_update_prob"))
    for name in ("update_with_oracle_cut_size", "min_action_freq"):
        check_whole(where, name, cfg.get(name), 0)
    check_flag(where, "learn_tokens", cfg.get("learn_tokens"))
    check_string(where, "incorrect_spans_key", cfg.get("incorrect_spans_key"))
    if not is_list(cfg.get("multitasks")):
        raise setting_error(where, "multitasks", "a list", cfg.get("multitasks"))
    if not (cfg.get("moves") is None or hasattr(cfg.get("moves"), "n_moves")):
        raise setting_error(where, "moves", "null", cfg.get("moves"))


def other_architecture(component: str, expected: str, model: Model) -> ValueError:
    """Make the error for a model of another architecture than expected."""
    given = getattr(model, "name", repr(model))
    return ValueError(
        f"The model must be of the architecture {expected}, got '{given}' (component "
        f'"{component}"). Set it in [components.{component}.model].'
    )
