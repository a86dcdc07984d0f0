"""Change the layers, components and config of a pipeline, all at once.

Nothing is changed until all is planned: nodes are converted, components made, and the config
written. So if a step fails, the pipeline stays as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, NamedTuple, Optional

from spacy.language import FactoryMeta, Language
from spacy.util import registry
from thinc.api import Config, Model

from .config import set_config
from .weights import Swaps, layout_of, swap_nodes


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


class NewComponent(NamedTuple):
    """A component to put in the place of another, with its name and factory meta."""

    name: str
    pipe: Any
    meta: FactoryMeta


@dataclass
class Change:
    """A planned change.

    swaps (list[tuple[Any, Swaps]]): Components, each with the nodes to replace in its model.
    components (list[NewComponent]): New components.
    """

    swaps: list[tuple[Any, Swaps]] = field(default_factory=list)
    components: list[NewComponent] = field(default_factory=list)

    def apply(self, nlp: Language, config: dict[str, Any]) -> None:
        """Change a pipeline, and set its new config."""
        for pipe, swaps in self.swaps:
            if swaps:
                model = swap_nodes(pipe.model, swaps)
                if model is not pipe.model:
                    pipe.model = model
        # spaCy's replace_pipe builds a component, and forgets listeners, and disabled pipes.
        for name, pipe, meta in self.components:
            nlp._components[nlp.component_names.index(name)] = (name, pipe)
            nlp._pipe_meta[name] = meta
            nlp._pipe_configs[name] = Config(config["components"][name])
        set_config(nlp, config)


def why_root_stays(pipe: Any, swaps: Swaps) -> Optional[str]:  # noqa: ANN401
    """Say why a component's whole model can't be replaced, if it should be; None if it can."""
    if any(old is pipe.model for old, _ in swaps):
        try:
            pipe.model = pipe.model
        except (AttributeError, TypeError):
            return "the component does not let its attribute `model` be set"
    return None


def why_not_built(
    config: dict[str, Any], new_config: dict[str, Any], plan: Callable[[Model], Optional[Swaps]]
) -> Optional[str]:
    """Say why a model's new config doesn't build the model to save; None if it does.

    Builds both models without weights, which is fast.

    plan (Callable[[Model], Optional[Swaps]]): Plans the swaps in a model of the config; None if
        that's not possible.
    """
    try:
        old, new = (registry.resolve({"model": c})["model"] for c in (config, new_config))
    except Exception as error:  # third-party code may raise anything
        return shorten(f"its model cannot be built with the new layer: {error}", 200)
    swaps = plan(old)
    if swaps is None or layout_of(swap_nodes(old, swaps)) != layout_of(new):
        return "its model has another structure when it is built with the new layer"
    return None
