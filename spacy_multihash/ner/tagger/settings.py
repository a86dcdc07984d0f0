"""The settings of `tagger_ner`, and which models can follow them."""

from dataclasses import dataclass, replace
from typing import Optional, get_args

from thinc.api import Model

from ...common.checks import check_choice, check_number, check_string, is_number, refusal
from ...common.types import Confidence, Decoder
from ..calibration import check_temperature
from ..setting import Setting
from .token_tagger import learns_transitions
from .vectors_of_tokens import listens


@dataclass(frozen=True)
class Settings:
    """The settings of a component, as its config has them. `EntityTagger` tells what they do."""

    decoder: Optional[Decoder]
    dropout_penalty: float
    spans_key: Optional[str]
    confidence: Confidence
    threshold: float = 0.0
    incorrect_spans_key: Optional[str] = None
    temperature: float = 1.0

    def check(self, component: str, model: Model) -> None:
        """Check each setting by itself, and then whether the model can follow them.

        component (str): The name of the component, for messages.

        Raises ValueError for a value out of range, and for one that the model cannot follow.
        """
        where = f'Component "{component}"'
        if self.decoder is not None:
            check_choice(where, "decoder", self.decoder, get_args(Decoder))
        check_choice(where, "confidence", self.confidence, get_args(Confidence))
        check_number(where, "dropout_penalty", self.dropout_penalty, 0)
        if not (is_number(self.threshold) and 0 <= self.threshold <= 1):
            raise refusal(where, "threshold", "a probability, from 0 to 1", self.threshold)
        check_temperature(where, self.temperature)
        for name in ("spans_key", "incorrect_spans_key"):
            check_string(where, name, getattr(self, name))
        self._check_model(where, model)

    def _check_model(self, where: str, model: Model) -> None:
        if self.decoder == "crf" and not learns_transitions(model):
            raise ValueError(
                f'{where}: decoder = "crf" needs learned transitions, but the '
                "model has none. Set learn_transitions = true in its [model], or take another "
                'decoder: "constrained" or "greedy".'
            )
        if self.dropout_penalty and listens(model):
            raise ValueError(
                f"{where}: dropout_penalty must be 0 where model.tok2vec is a "
                "listener, whose dropout belongs to another component, was: "
                f"{self.dropout_penalty}. Set it to 0.0, or give the model a spacy.Tok2Vec.v2."
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

    dropout_penalty = Setting[float]()
    spans_key = Setting[Optional[str]]()
    confidence = Setting[Confidence]()
    threshold = Setting[float]()
    incorrect_spans_key = Setting[Optional[str]]()
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


def refuse_settings_of_ner(component: str, **settings: object) -> None:
    """Raise ValueError for settings of spaCy's ner that have no meaning here, unless all are None.

    component (str): The name of the component, for the message.
    settings (object): The settings by name.
    """
    given = [name for name, value in settings.items() if value is not None]
    if given:
        raise ValueError(
            f'Component "{component}": {" and ".join(given)} must not be set, as tagger_ner tags '
            "all tokens at once. Only spaCy's ner goes through states one by one, and can be given "
            f"that. Delete {' and '.join(given)} from [components.{component}]."
        )
