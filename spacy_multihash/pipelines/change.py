"""Change the layers, components and config of a pipeline, all at once.

Nothing is changed until all is planned: nodes are converted, components made, and the config
written. So if a step fails, the pipeline stays as it was.
"""

from collections.abc import Callable, Iterator
from textwrap import shorten
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.util import registry
from thinc.api import Config, Model

from .config import keep_variables, set_config
from .meta import check_meta
from .parts import Component, Convert
from .weights import Swaps, layout_of, swap_nodes, why_not_swapped

OUT_OF_REACH = "it does not belong to a thinc model that the component has as `model`"


class Replaced(NamedTuple):
    """A layer, component or setting that was replaced.

    component (str): Name of the component.
    path (str): Path of the section of its config, or "factory" for the whole component.
    before, after (str): The registered names of both.
    """

    component: str
    path: str
    before: str
    after: str


class Change:
    """A planned change of a pipeline.

    config (dict[str, Any]): The config before, with the values of its variables.
    """

    def __init__(self, nlp: Language) -> None:
        """Plan no change yet.

        Raises ValueError if a variable of the config has no value, or for the errors of its meta.
        """
        check_meta(nlp.meta)
        self.nlp, self.config = nlp, nlp.config.interpolate()
        self.swaps: list[tuple[Any, Swaps]] = []  # components, and the nodes of their models
        self._components: list[tuple[str, Any, str]] = []  # names, components and factories
        # By the id of the old node: components may share nodes.
        self._converted: dict[int, tuple[Model, Model]] = {}

    def convert(self, node: Model, convert: Convert) -> tuple[Model, Model]:
        """Convert a node once, and return both nodes."""
        if id(node) not in self._converted:
            self._converted[id(node)] = (node, convert(node))
        return self._converted[id(node)]

    def replace_nodes(
        self,
        pipe: Any,  # noqa: ANN401 (any component)
        config: dict[str, Any],
        new_config: dict[str, Any],
        convert: Callable[[Model], Swaps],
    ) -> None:
        """Plan to replace nodes of a component's model.

        To see whether the new config builds the model to save, both models are built without
        weights, which is fast.

        config, new_config (dict[str, Any]): The component's config before and after.
        convert (Callable[[Model], Swaps]): Converts the nodes of any model of the former config.

        Raises ValueError with the reason if they can't be replaced.
        """
        swaps = convert(pipe.model)
        if any(old is pipe.model for old, _ in swaps):
            try:
                pipe.model = pipe.model
            except (AttributeError, TypeError) as error:
                why = "the component does not let its attribute `model` be set"
                raise ValueError(why) from error
        reason = why_not_swapped(pipe.model, swaps)
        if reason:
            raise ValueError(reason)
        if swaps or config.get("model") != new_config.get("model"):
            try:
                old, new = (registry.resolve({"m": c["model"]})["m"] for c in (config, new_config))
            except Exception as error:  # third-party code may raise anything
                why = f"its model cannot be built with the new layer: {error}"
                raise ValueError(shorten(why, 200)) from error
            if layout_of(swap_nodes(old, convert(old))) != layout_of(new):
                raise ValueError(
                    "its model has another structure when it is built with the new layer"
                )
        self.swaps.append((pipe, swaps))

    def replace_component(
        self, name: str, pipe: object, part: Component, kind: type, factory: str
    ) -> None:
        """Plan to replace a component by one of another kind. The old one doesn't change."""
        self._components.append((name, part.copy(kind, pipe), factory))

    def apply(self, config: dict[str, Any]) -> None:
        """Change the pipeline, and set its new config, with the variables that still apply."""
        config = keep_variables(self.nlp.config, self.config, config)
        for pipe, swaps in self.swaps:
            if swaps:
                model = swap_nodes(pipe.model, swaps)
                if model is not pipe.model:
                    pipe.model = model
        # spaCy's replace_pipe builds a component, and forgets listeners, and disabled pipes.
        for name, pipe, factory in self._components:
            self.nlp._components[self.nlp.component_names.index(name)] = (name, pipe)
            self.nlp._pipe_meta[name] = self.nlp.get_factory_meta(factory)
            self.nlp._pipe_configs[name] = Config(config["components"][name])
        set_config(self.nlp, config)


def models_of(nlp: Language) -> Iterator[Model]:
    """Yield the models of all components."""
    for _, pipe in nlp.components:
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            yield model
