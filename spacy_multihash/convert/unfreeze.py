"""The callback that unfreezes the layers of a component one after the other."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, Callable, Dict, List, Literal, Optional, Union

from spacy.language import Language
from thinc.api import Model

from ..common.checks import (
    CHANGE_IT,
    check_choice,
    check_unit,
    check_whole,
    is_list,
    refusal,
)
from ..common.registered import UNFREEZE
from .model_layers import layers_of
from .scaled_update import LayerRate, scale_next_update

UNITS = ("epoch", "step")


def make_unfreeze_v1(
    component: Union[str, List[str]] = "tok2vec",
    unit: Literal["epoch", "step"] = "epoch",
    start: int = 0,
    every: int = 1,
    factor: float = 1.0,
    starts: Optional[Dict[str, int]] = None,
    factors: Optional[Dict[str, float]] = None,
) -> Callable[[Language, Dict[str, Any]], None]:
    """Make the callback for [training.before_update] that unfreezes layers from the top down.

    It is for weights that were trained before: those of `spacy pretrain`, or of a sourced
    component. A layer that is frozen stays as it is, bit by bit. Its averages begin, and the
    moments of Adam, when it is unfrozen (Peters et al. 2019, appendix A.2).

    The layers of a component are named from its output to its input, such as output, encode4,
    encode3, encode2, encode1 and embed.

    If something raises between the callback and the end of the update, what the callback decided
    holds for the next update of the component, unless the callback is called again before.

    component (Union[str, List[str]]): Name of the component that holds the layers, or of several.
        Each is unfrozen from its own top down.
    unit (str): What start, every and starts count: "epoch" or "step", from 0 on.
    start (int): When the first layer is unfrozen.
    every (int): How much later each further layer is unfrozen. 0 unfreezes all at once.
    factor (float): The learning rate of each layer, divided by that of the layer above, 0 to 1. The
        first layer has the learning rate of the optimizer. Recommended values are 0.4 to 1.
    starts (Optional[Dict[str, int]]): When a layer is unfrozen, by its name, in the place of what
        start and every say.
    factors (Optional[Dict[str, float]]): The learning rate of a layer by its name, divided by that
        of the optimizer, in the place of what factor says. 0 keeps a layer frozen.

    Raises ValueError for wrong settings; when training begins, it is raised for components and
    layers that the pipeline does not have, and for components that are not trained.
    """
    names = _check_components(component)
    _check_settings(unit, start, every, factor)
    starts, factors = starts or {}, factors or {}
    for layer, value in starts.items():
        check_whole(UNFREEZE, f"starts.{layer}", value, 0)
    for layer, share in factors.items():
        check_unit(UNFREEZE, f"factors.{layer}", share)

    def before_update(nlp: Language, args: Dict[str, Any]) -> None:
        models = {name: _find_model(nlp, name) for name in names}
        components = {name: layers_of(model) for name, model in models.items()}
        _check_layers(components, [*starts, *factors])
        for model in models.values():
            scale_next_update(model, partial(rates_of, now=args[unit]))

    def rates_of(model: Model, now: int) -> list[LayerRate]:
        rates = []
        for place, (layer, nodes) in enumerate(layers_of(model).items()):
            begin = starts.get(layer, start + place * every)
            scale = factors.get(layer, factor**place)
            rates.append(LayerRate(nodes, scale if now >= begin else 0, begin > 0))
        return rates

    return before_update


def _check_components(component: object) -> list[str]:
    names = [component] if isinstance(component, str) else component
    if not (is_list(names) and names and all(isinstance(name, str) for name in names)):
        expected = "the name of a component, or a list of names"
        raise refusal(UNFREEZE, "component", expected, component)
    return [str(name) for name in names]


def _check_settings(unit: str, start: int, every: int, factor: float) -> None:
    check_choice(UNFREEZE, "unit", unit, UNITS)
    check_whole(UNFREEZE, "start", start, 0)
    check_whole(UNFREEZE, "every", every, 0)
    check_unit(UNFREEZE, "factor", factor)


def _find_model(nlp: Language, name: str) -> Model:
    if name not in nlp.component_names:
        raise ValueError(
            f"{UNFREEZE}: the pipeline has no component {name!r}; it has: "
            f"{', '.join(nlp.component_names) or 'none'}. {CHANGE_IT}"
        )
    if name in _frozen_components(nlp):
        raise ValueError(
            f"{UNFREEZE}: the component {name!r} is never updated, since [training] "
            "frozen_components has it. Remove it there, or from the callback."
        )
    if name in nlp.disabled:
        raise ValueError(
            f"{UNFREEZE}: the component {name!r} is never updated, since [nlp] disabled has it. "
            "Remove it there, or from the callback."
        )
    model = getattr(nlp.get_pipe(name), "model", None)
    if not isinstance(model, Model):
        raise _nothing_to_train(name)
    return model


def _frozen_components(nlp: Language) -> Collection[str]:
    found: Any = nlp.config["training"].get("frozen_components", [])
    if "${" in str(found):  # which takes time, and is asked in every step
        found = nlp.config.interpolate()["training"]["frozen_components"]
    return found or []


def _check_layers(components: Mapping[str, Collection[str]], names: Iterable[str]) -> None:
    there = [layer for layers in components.values() for layer in layers]
    for component, layers in components.items():
        if not layers:
            raise _nothing_to_train(component)
    for name in names:
        if name not in there:
            of = ", ".join(repr(component) for component in components)
            raise ValueError(
                f"{UNFREEZE}: there is no layer {name!r} in {of}; there are: "
                f"{', '.join(dict.fromkeys(there))}. {CHANGE_IT}"
            )


def _nothing_to_train(name: str) -> ValueError:
    return ValueError(f"{UNFREEZE}: the component {name!r} has no parameters to train. {CHANGE_IT}")
