"""The settings of `tagger_ner`, and which models can follow them."""

from dataclasses import dataclass, replace
from typing import Optional, get_args

from thinc.api import Model

from ...common.checks import check_choice, check_string, is_number, refusal
from ...common.types import Decoder
from ..calibration import check_temperature
from ..setting import Setting
from .token_tagger import learns_transitions


@dataclass(frozen=True)
class Settings:
    """The settings of a component, as its config has them. `EntityTagger` tells what they do."""

    decoder: Optional[Decoder]
    spans_key: Optional[str]
    threshold: float = 0.0
    temperature: float = 1.0

    def check(self, component: str, model: Model) -> None:
        """Check each setting by itself, and then whether the model can follow them.

        component (str): The name of the component, for messages.

        Raises ValueError for a value out of range, and for one that the model cannot follow.
        """
        where = f'Component "{component}"'
        if self.decoder is not None:
            check_choice(where, "decoder", self.decoder, get_args(Decoder))
        if not (is_number(self.threshold) and 0 <= self.threshold <= 1):
            raise refusal(where, "threshold", "a probability, from 0 to 1", self.threshold)
        check_temperature(where, self.temperature)
        check_string(where, "spans_key", self.spans_key)
        self._check_model(where, model)

    def _check_model(self, where: str, model: Model) -> None:
        if self.decoder == "crf" and not learns_transitions(model):
            raise ValueError(
                f'{where}: decoder = "crf" needs learned transitions, but the '
                "model has none. Set learn_transitions = true in its [model], or take another "
                'decoder: "constrained" or "greedy".'
            )

    def decoder_of(self, model: Model) -> Decoder:
        """Return the decoder; by default the one that fits the model."""
        if self.decoder is None:
            return "crf" if learns_transitions(model) else "constrained"
        return self.decoder


class WithSettings:
    """The settings of a component as its attributes. They can be set on a trained component.

    to_disk saves the settings of the config: for others, load with them, and save.

    Setting one raises ValueError if it is out of range, or if the model cannot follow it.
    """

    name: str
    model: Model
    _settings: Settings

    spans_key = Setting[Optional[str]]()
    threshold = Setting[float]()
    temperature = Setting[float]()

    @property
    def settings(self) -> Settings:
        """All settings."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        settings.check(self.name, self.model)
        self._settings = settings

    @property
    def learns_transitions(self) -> bool:
        """Whether the model scores tags that follow each other."""
        return learns_transitions(self.model)

    @property
    def decoder(self) -> Decoder:
        """From scores to tags. None sets the one that fits the model."""
        return self._settings.decoder_of(self.model)

    @decoder.setter
    def decoder(self, decoder: Optional[Decoder]) -> None:
        self.settings = replace(self._settings, decoder=decoder)
