"""The settings of `tagger_ner`."""

from dataclasses import dataclass
from typing import Any, Optional, get_args

from ...common.checks import check_choice, check_string, check_unit
from ...common.types import Decoder
from ..recognizer import check_candidates, check_temperature


@dataclass(frozen=True)
class Settings:
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
    spans_key: Optional[str] = None
    candidates_above: Optional[float] = None
    threshold: float = 0.0
    temperature: float = 1.0

    def check(self, component: Any) -> None:  # noqa: ANN401 (an EntityTagger, which is imported later)
        """Raise ValueError if a value is out of range, or the model doesn't support it."""
        where = f'Component "{component.name}"'
        if self.decoder is not None:
            check_choice(where, "decoder", self.decoder, get_args(Decoder))
        check_string(where, "spans_key", self.spans_key)
        check_candidates(where, self.candidates_above, self.spans_key)
        check_unit(where, "threshold", self.threshold)
        check_temperature(where, self.temperature)
        if self.decoder == "crf" and not component.learns_transitions:
            raise ValueError(
                f'{where}: decoder = "crf" needs learned transitions, but the model has none. Set '
                "learn_transitions = true in its [model], or take another decoder: "
                '"constrained" or "greedy".'
            )
