"""The settings of `batch_ner`."""

from dataclasses import dataclass
from typing import Any, Optional

from ...common.checks import (
    check_flag,
    check_share,
    check_string,
)
from ..recognizer import check_candidates, check_temperature


@dataclass(frozen=True)
class Settings:
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
    spans_key: Optional[str] = None
    candidates_above: Optional[float] = None
    temperature: float = 1.0

    def check(self, component: Any) -> None:  # noqa: ANN401 (a BatchEntityRecognizer)
        """Raise ValueError for values out of range, and candidates without a spans_key."""
        where = f'Component "{component.name}"'
        check_share(where, "state_dropout", self.state_dropout)
        check_flag(where, "spacy_gradient", self.spacy_gradient)
        check_string(where, "spans_key", self.spans_key)
        check_temperature(where, self.temperature)
        check_candidates(where, self.candidates_above, self.spans_key)

    def check_beam(self, component: str, beam_width: int) -> None:
        """Check that no settings are set that spaCy's beam ignores.

        component (str): The name of the component, for messages.

        Raises ValueError otherwise.
        """
        if self.spans_key is not None:
            raise ValueError(
                f'Component "{component}": spans_key = "{self.spans_key}" has no effect with '
                f"beam_width = {beam_width}. {without_beam(component)}, or set spans_key = null."
            )


def without_beam(component: str) -> str:
    """Write how to turn a beam off. The files of a trained component override its config."""
    return f'Set nlp.get_pipe("{component}").cfg["beam_width"] = 1'
