"""Removed parts and settings that configs of earlier versions may still name."""

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, TypeVar, cast

from .registered import KPCA_ROWS, KPCA_VECTORS, TEXTCAT_ENSEMBLE, TEXTCAT_HASH_EMBED, UNFREEZE

FunctionT = TypeVar("FunctionT", bound=Callable)


class RemovedPart:
    """A registered part that was removed: configs that name it raise an error.

    name (str): Its registered name.
    advice (str): What to use instead, as a sentence.
    """

    def __init__(self, name: str, advice: str) -> None:
        """Keep the message."""
        self.name = name
        self.message = f"{name} was removed. {advice}"

    @property
    def __signature__(self) -> Signature:
        """Raise ValueError: configs are checked against the signature before anything is built."""
        raise ValueError(self.message)

    def __call__(self, *args: object, **settings: object) -> None:
        """Raise ValueError."""
        raise ValueError(self.message)


class RemovedSetting(NamedTuple):
    """A setting that was removed from a registered function.

    off (object): The value with which the setting did nothing. Configs may still have it.
    advice (str): What to do with another value, as a sentence.
    in_training_only (bool): Whether trained pipelines predict the same without the setting. Other
        values then give a warning instead of an error.
    """

    off: object
    advice: str
    in_training_only: bool = False


textcat_ensemble_v1 = RemovedPart(TEXTCAT_ENSEMBLE, f"Train a single {TEXTCAT_HASH_EMBED}.")
unfreeze_v1 = RemovedPart(
    UNFREEZE,
    "Name the components in frozen_components of [training], or train them from the start.",
)
kpca_rows_v1 = RemovedPart(
    KPCA_ROWS,
    "For unknown words, set unk_dropout in MultiEmbed, and add n-grams, LOWER{3,5}, to attrs.",
)
kpca_vectors_v1 = RemovedPart(
    KPCA_VECTORS, "For words without vectors, add n-grams such as LOWER{3,5} to attrs."
)


def with_removed_settings(
    where: str, **settings: RemovedSetting
) -> Callable[[FunctionT], FunctionT]:
    """Let a registered function accept settings that it had in earlier versions.

    Saved configs list all settings. The function itself doesn't get removed settings.

    where (str): What the function builds, for messages.
    settings (RemovedSetting): The settings by their names.
    """

    def decorate(function: FunctionT) -> FunctionT:
        @wraps(function)
        def without_removed(*args: object, **kwargs: object) -> Any:  # noqa: ANN401
            for name, setting in settings.items():
                value = kwargs.pop(name, setting.off)
                if value != setting.off:
                    _complain(where, name, value, setting)
            return function(*args, **kwargs)

        own = signature(function)
        removed = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=setting.off, annotation=Any)
            for name, setting in settings.items()
        ]
        parameters = [*own.parameters.values(), *removed]
        without_removed.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        without_removed.removed_settings = settings  # type: ignore[attr-defined]
        return cast(FunctionT, without_removed)

    return decorate


def _complain(where: str, name: str, value: object, setting: RemovedSetting) -> None:
    if setting.in_training_only:
        message = f"{where}: {name} = {value!r} is ignored, because the setting was removed."
        warnings.warn(f"{message} {setting.advice}", stacklevel=4)
    else:
        raise ValueError(f"{where}: {name} was removed, was: {value!r}. {setting.advice}")
