"""The settings that `batch_ner` has besides those of spaCy's ner."""

from dataclasses import dataclass
from typing import Optional, get_args

from ...common.checks import (
    check_choice,
    check_flag,
    check_share,
    check_string,
    is_number,
    refusal,
)
from ...common.types import TransitionConfidence, TransitionDecoder
from ..calibration import check_temperature


@dataclass(frozen=True)
class Settings:
    """The settings of a component. `BatchEntityRecognizer` tells what they do."""

    state_dropout: float = 0.1
    spacy_gradient: bool = False
    decoder: TransitionDecoder = "greedy"
    spans_key: Optional[str] = None
    confidence: TransitionConfidence = "exact"
    candidates_above: Optional[float] = None
    temperature: float = 1.0

    def check(self, component: str) -> None:
        """Check each setting, and that candidates have a place to go to.

        component (str): The name of the component, for messages.

        Raises ValueError for a value out of range.
        """
        where = f'Component "{component}"'
        check_share(where, "state_dropout", self.state_dropout)
        check_flag(where, "spacy_gradient", self.spacy_gradient)
        check_choice(where, "decoder", self.decoder, get_args(TransitionDecoder))
        check_choice(where, "confidence", self.confidence, get_args(TransitionConfidence))
        check_string(where, "spans_key", self.spans_key)
        check_temperature(where, self.temperature)
        above = self.candidates_above
        if above is None:
            return
        if not (is_number(above) and 0 < above <= 1):
            raise refusal(where, "candidates_above", "a probability above 0, or null", above)
        if self.spans_key is None:
            raise ValueError(
                f"{where}: candidates_above = {above} has no effect without spans_key, which says "
                "where in doc.spans the candidates go. Set spans_key, or candidates_above = null."
            )

    def check_beam(self, component: str, beam_width: int) -> None:
        """Check that no setting is without effect on spaCy's beam, which finds the entities.

        component (str): The name of the component, for messages.

        Raises ValueError for one that is.
        """
        for name, default in (("decoder", "greedy"), ("spans_key", None)):
            value = getattr(self, name)
            if value != default:
                raise ValueError(
                    f'Component "{component}": {name} = "{value}" has no effect with beam_width = '
                    f"{beam_width}. {without_beam(component)}, or set {name} to its default."
                )


def without_beam(component: str) -> str:
    """Write what to do about a beam. The files of a trained component win over its config."""
    return f'Set nlp.get_pipe("{component}").cfg["beam_width"] = 1'
