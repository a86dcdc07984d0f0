"""Settings of 1.0 that were removed since, and that its saved pipelines still name."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

from .registered import MULTI_EMBED, MULTI_WEIGHTED_HASH_EMBED, TEXTCAT_HASH_EMBED, TOKEN_TAGGER

FunctionT = TypeVar("FunctionT", bound=Callable)

_WEIGHTED: dict[str, object] = {
    "aggregate": "sum",
    "importance_by": "hash",
    "independent": True,
    "embed_init": None,
    "importance_init": None,
}
# The removed settings of registered functions, with the values at which they did nothing.
REMOVED: dict[str, dict[str, object]] = {
    "batch_ner": {"confidence": "exact", "decoder": "greedy"},
    "tagger_ner": {
        "dropout_penalty": 0.0,
        "confidence": "marginal",
        "incorrect_spans_key": None,
        "moves": None,
        "update_with_oracle_cut_size": None,
    },
    MULTI_EMBED: {"ard": None, "ard_warmup": 1000},
    MULTI_WEIGHTED_HASH_EMBED: _WEIGHTED,
    TEXTCAT_HASH_EMBED: {**_WEIGHTED, "hidden": [], "input_dropout": None},
    TOKEN_TAGGER: {"word_dropout": 0.0},
}


def accept_removed_settings(name: str) -> Callable[[FunctionT], FunctionT]:
    """Let a registered function accept its removed settings, at the values that did nothing.

    spaCy saves a config with all settings. The function doesn't get the removed settings, and calls
    with other values raise ValueError.

    name (str): The function's registered name, a key of `REMOVED`.
    """
    removed = REMOVED[name]

    def decorate(function: FunctionT) -> FunctionT:
        @wraps(function)
        def without_removed(*args: object, **settings: object) -> Any:  # noqa: ANN401
            for key, off in removed.items():
                value = settings.pop(key, off)
                if value != off:
                    raise ValueError(f"{name}: {key} = {value!r} was removed. Delete the setting.")
            return function(*args, **settings)

        own = signature(function)
        more = [
            Parameter(key, Parameter.KEYWORD_ONLY, default=off, annotation=Any)
            for key, off in removed.items()
        ]
        parameters = [*own.parameters.values(), *more]
        without_removed.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return cast(FunctionT, without_removed)

    return decorate
