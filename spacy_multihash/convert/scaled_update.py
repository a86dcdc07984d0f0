"""One update of a model, with a learning rate of its own for each layer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, SupportsIndex, cast

from thinc.api import Model, Optimizer
from thinc.types import FloatsXd

Key = tuple[int, str]


@dataclass(frozen=True)
class LayerRate:
    """How a layer is updated.

    nodes (Sequence[Model]): The nodes of the layer.
    factor (float): What the learning rate is multiplied by. 0 changes nothing: neither the
        parameters, nor what the optimizer keeps of them.
    starts_late (bool): Whether the layer was frozen before. Its averages then begin with the
        parameters as they are, and not with zeros.
    """

    nodes: Sequence[Model]
    factor: float
    starts_late: bool


RatesOf = Callable[[Model], Sequence[LayerRate]]
# What gives the rates of the models whose next update is scaled. They go by the `id` of the object:
# a new label may change `model.id`.
_NEXT: dict[int, RatesOf] = {}


def scale_next_update(model: Model, rates_of: RatesOf) -> None:
    """Let the next `finish_update` of a model have a learning rate for each layer.

    spaCy gives the optimizer to nothing but `finish_update`. Neither models nor spaCy's parsers can
    have a method of their own, so the model is of a class with another one for this update. It is
    of its own class again afterwards: nothing stays in a trained pipeline. Copies and pickles of
    the model are of its own class, and their next update is a plain one.

    If something raises before `finish_update`, the rates wait. They hold for the next
    `finish_update` of the model, whoever calls it, unless this function gives others before.

    model (Model): The model of a component.
    rates_of (RatesOf): Tells how layers of the model are updated. It is called when they are: a new
        label may replace nodes before. Other nodes are updated as they are.
    """
    _NEXT[id(model)] = rates_of
    if not isinstance(model, _Scaled):
        model.__class__ = _scaled_class(type(model))  # type: ignore[arg-type]


class _Scaled:
    """Marks the classes of models whose next update is scaled."""

    __slots__ = ()


@cache
def _scaled_class(original: type) -> type:
    def finish_update(model: Model, optimizer: Optimizer) -> None:
        model.__class__ = original
        scaled = _ScaledOptimizer(optimizer, _NEXT.pop(id(model))(model))
        model.finish_update(cast(Optimizer, scaled))

    def reduce_ex(model: Model, protocol: SupportsIndex) -> tuple[Any, ...]:
        scaled, model.__class__ = model.__class__, original
        try:
            reduced = cast(tuple[Any, ...], model.__reduce_ex__(protocol))
        finally:
            model.__class__ = scaled
        make, args, *rest = reduced
        return partial(make, *args), (), *rest  # pickle lets nothing else make another class

    members = {"__slots__": (), "finish_update": finish_update, "__reduce_ex__": reduce_ex}
    return type(original.__name__, (_Scaled, original), members)


class _ScaledOptimizer:
    """Calls an optimizer, with a learning rate that depends on the parameter.

    Scaling the gradient would change nothing with Adam, whose steps do not depend on its size. All
    rules of thinc's optimizer multiply their steps, and the decay of weights, by its `learn_rate`.
    """

    def __init__(self, optimizer: Optimizer, rates: Sequence[LayerRate]) -> None:
        self.optimizer = optimizer
        self.of_params: Mapping[Key, LayerRate] = {
            (node.id, name): rate
            for rate in rates
            for node in rate.nodes
            for name in node.param_names
        }
        # Keys of parameters of other libraries begin with the id of what holds them.
        self.of_shims: Mapping[int, LayerRate] = {
            shim.id: rate for rate in rates for node in rate.nodes for shim in node.shims
        }

    def __call__(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd
    ) -> tuple[FloatsXd, FloatsXd]:
        rate = self.of_params.get(key, self.of_shims.get(key[0]))
        if rate is None:
            return self.optimizer(key, weights, gradient)
        if rate.factor == 0:
            gradient.fill(0)
            return weights, gradient
        averages = self.optimizer.averages
        if rate.starts_late and averages is not None and key not in averages:
            averages[key] = weights.copy()
        learn_rate = self.optimizer.learn_rate
        self.optimizer.learn_rate = learn_rate * rate.factor
        try:
            return self.optimizer(key, weights, gradient)
        finally:
            self.optimizer.learn_rate = learn_rate
