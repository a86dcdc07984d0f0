"""Turn a pipeline with our parts into one of spaCy's own, with the same weights.

If any part has no counterpart, nothing changes: the config is written, nodes are converted and
components made first, and the assignments to the pipeline come last.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from spacy.language import Language
from spacy.util import registry
from spacy.vectors import Vectors
from thinc.api import Model

from ..common.load import loaded
from ..common.outputs import check_folder_output, paths_in, write_pipeline
from ..common.result import Result, Table
from ..compute.ops import use_thinc_ops
from ..vectors.compressed import CompressedVectors
from .change import Change, NewComponent, Replaced, why_not_built, why_root_stays
from .config import (
    ARCHITECTURES,
    FACTORY_PATH,
    Keys,
    is_ours,
    keep_variables,
    list_sections,
    our_name,
    our_names,
)
from .meta import forget_package
from .parts import (
    COMPONENTS,
    LAYERS,
    NER,
    NER_SETTINGS,
    OTHERS,
    Component,
    component_of,
    layer_of,
    why_not_restored,
)
from .weights import Swaps, why_not_swapped
from .weights import is_ours as is_our_node

# The settings of a beam, with the values at which there's none.
_BEAM = {"beam_width": 1, "beam_density": 0.0, "beam_update_prob": 0.0}
_LOST = {
    "state_dropout": "in training, spaCy's is 0.1",
    "spacy_gradient": "in training, spaCy has its own gradient",
    "spans_key": "spaCy's ner sets doc.ents, and no doc.spans with probabilities",
    "candidates_above": "spaCy's ner has no candidates",
    "temperature": "spaCy's ner has no probabilities; its entities don't depend on it",
}


class Lost(NamedTuple):
    """What a pipeline of spaCy's doesn't have, and what that means. Its predictions don't change.

    path (str): The place in the config.
    name (str): A registered name, or a setting and its value.
    effect (str): What's lost.
    """

    path: str
    name: str
    effect: str


@dataclass(frozen=True)
class Restored(Result):
    """A pipeline of spaCy's own parts, and what was replaced in it.

    nlp (Language): The pipeline.
    replaced (list[Replaced]): What was replaced. `after` is "" for what has no effect in spaCy.
    lost (list[Lost]): What was lost. It isn't needed for the predictions of doc.ents and so on.
    """

    nlp: Language = field(repr=False)
    replaced: list[Replaced] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def tables(self) -> Iterator[Table]:
        """What was replaced, and what was lost."""
        rows = [
            (".".join(filter(None, (component, path))), before, after or "-")
            for component, path, before, after in self.replaced
        ]
        yield Table(f"Restored: {len(rows)}", ("section", "before", "after"), rows, "lll")
        yield Table(f"Lost: {len(self.lost)}", ("section", "name", "effect"), self.lost, "lll")

    def notes(self) -> Iterator[str]:
        """Whether nothing was replaced."""
        if not self.replaced:
            yield "The pipeline has no parts of this package. It stays as it is."


def restore(
    nlp: Union[Language, str, Path],
    output: Union[str, Path, None] = None,
    *,
    force: bool = False,
) -> Restored:
    """Turn a pipeline into one that spaCy loads without this package, keeping the weights.

        print(restore("fast_md", "core_web_md"))

    batch_ner becomes ner, batch_parser becomes parser, and indexed_attribute_ruler becomes
    attribute_ruler. MultiHashEmbed with four hashes and spaCy's attributes, and
    MaxoutWindowEncoder, become spaCy's layers of the same names. Compressed weights and vectors are
    unpacked. Callbacks, and the optimizer, become spaCy's own or are left out. Predictions stay the
    same, up to the rounding of float32, and what `accelerate` has written gets its original weights
    back. The pipeline and its config change in place.

    nlp (Union[Language, str, Path]): The pipeline, or a package's name, or a path.
    output (Union[str, Path, None]): The folder to write the pipeline to. None writes nothing.
    force (bool): Whether to replace a pipeline at `output`.
    RETURNS (Restored): What was replaced, and what was lost, such as probabilities. Its `nlp` is
        the pipeline.

    Raises ValueError if a part has no counterpart in spaCy, and names each with the reason. Then
    nothing has changed, and nothing is written.
    """
    if output is not None:
        check_folder_output(Path(output), *paths_in(nlp), force=force)
    nlp = loaded(nlp)
    done = _restore(nlp)
    if output is not None:
        write_pipeline(nlp, Path(output))
    return done


def _restore(nlp: Language) -> Restored:
    config, done = nlp.config.interpolate(), Restored(nlp)
    writer = _Writer(nlp, done)
    new_config, change = writer.write(config), Change()
    for name, pipe in nlp.components:
        old, new = config["components"][name], new_config["components"][name]
        if not writer.has_problem(name):
            swaps, reason = _plan(pipe, old, new)
            if reason is not None:
                names = dict.fromkeys(our_names(old)) or [old[FACTORY_PATH]]
                writer.refuse(("components", name), ", ".join(names), reason)
            change.swaps.append((pipe, swaps))
        part = component_of(pipe)
        if part is not None and isinstance(pipe, part.kind):
            meta = nlp.get_factory_meta(new[FACTORY_PATH])
            change.components.append(NewComponent(name, part.copy(part.spacy_kind, pipe), meta))
    writer.check()
    if done.replaced:
        change.apply(nlp, keep_variables(nlp.config, config, new_config))
        _leave_memory(nlp, change, config, new_config)
        forget_package(nlp)
    return done


def _leave_memory(
    nlp: Language, change: Change, config: dict[str, Any], new_config: dict[str, Any]
) -> None:
    """Let a pipeline in memory be as it will be loaded: its layers, scorers, vectors, methods."""
    for pipe, swaps in change.swaps:  # thinc makes the names of layers from those inside
        for old, new in swaps:
            for node in pipe.model.walk():
                node.name = node.name.replace(old.name, new.name, 1)
    pipes: list[tuple[str, Any]] = nlp.components
    for name, pipe in pipes:
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            use_thinc_ops(model)
        scorer = new_config["components"][name].get("scorer")
        if scorer != config["components"][name].get("scorer"):
            pipe.scorer = registry.resolve({"scorer": scorer})["scorer"]
    for method in ("to_disk", "from_disk"):
        vars(nlp).pop(method, None)
    former = nlp.vocab.vectors
    if isinstance(former, CompressedVectors):
        vectors = Vectors(strings=nlp.vocab.strings, name=former.name)
        nlp.vocab.vectors = vectors.from_bytes(former.to_bytes())


class _Writer:
    """Writes a config without our names.

    problems (list[Lost]): The parts that spaCy has nothing for, and why.
    """

    def __init__(self, nlp: Language, done: Restored) -> None:
        self.nlp, self.done = nlp, done
        self.problems: list[Lost] = []

    def write(self, value: Any, path: Keys = ()) -> Any:  # noqa: ANN401
        """Copy a value of the config, with spaCy's parts in the place of ours."""
        if isinstance(value, list):
            return [self.write(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        new: Any = {key: self.write(item, (*path, key)) for key, item in value.items()}
        name = our_name(value)
        if name is None:
            return new
        reason = why_not_restored(name, value)
        if reason is not None:
            self.refuse(path, name, reason)
            return new
        if name in OTHERS:
            new, lost = OTHERS[name].write(new), OTHERS[name].lost
            if lost:
                self.lose(path, name, lost)
            self._note(path, name, our_after(new))
            return new
        layer = layer_of(name)
        if layer is not None:
            new = {ARCHITECTURES: layer.spacys[-1], **{k: new[k] for k in layer.settings}}
            self._note(path, name, layer.spacys[-1])
            return new
        return self._component(path, new, next(c for c in COMPONENTS if c.factory == name))

    def check(self) -> None:
        """Raise ValueError if there are parts without a counterpart."""
        if not self.problems:
            return
        parts = [f"    {path} ({name}): {why}" for path, name, why in self.problems]
        raise ValueError(
            "\n".join(["spaCy has nothing that computes the same as:", *parts])
            + "\nKeep the pipeline, and install spacy-multihash where it runs. To train one that "
            "can be restored, use: python -m spacy multihash fit --config batch_ner"
        )

    def has_problem(self, component: str) -> bool:
        """Return whether a component has a part without a counterpart."""
        return any(path.split(".")[:2] == ["components", component] for path, *_ in self.problems)

    def refuse(self, path: Keys, name: str, reason: str) -> None:
        """Note a part that has no counterpart."""
        self.problems.append(Lost(".".join(path), name, reason))

    def lose(self, path: Keys, name: str, effect: str) -> None:
        """Note what is lost."""
        self.done.lost.append(Lost(".".join(path), name, effect))

    def _note(self, path: Keys, before: str, after: str) -> None:
        component, rest = "", path
        if path[:1] == ("components",):
            component, rest = path[1], path[2:]
        self.done.replaced.append(Replaced(component, ".".join(rest), before, after))

    def _component(self, path: Keys, section: dict[str, Any], part: Component) -> dict[str, Any]:
        """Write the config of spaCy's component, whose settings are fewer."""
        beam = any(section.get(key, value) != value for key, value in _BEAM.items())
        factory = part.spacy_factories[-1 if beam else 0]
        known = self.nlp.get_factory_meta(factory).default_config or {}
        if part is NER:
            for key, default in NER_SETTINGS.items():
                value = section.get(key, default)
                if value != default:
                    self.lose(path, f"{key} = {value}", _LOST[key])
        self._note((*path, FACTORY_PATH), part.factory, factory)
        kept = {key: value for key, value in section.items() if key in known}
        return {FACTORY_PATH: factory, **kept}


def our_after(section: object) -> str:
    """Return the registered name of a section; "" for a section that's left out."""
    names = section.items() if isinstance(section, dict) else ()
    return next((str(value) for key, value in names if key.startswith("@")), "")


def _plan(
    pipe: Any,  # noqa: ANN401
    config: dict[str, Any],
    new_config: dict[str, Any],
) -> tuple[Swaps, Optional[str]]:
    """Convert the nodes of a component's model, or say why that's not possible."""
    sections = [s.path for s in list_sections(config) if layer_of(s.name) and is_ours(s.name)]
    model = getattr(pipe, "model", None)
    if not isinstance(model, Model) or any(path[0] != "model" for path in sections):
        outside = "it does not belong to a thinc model that the component has as `model`"
        return [], outside if sections else None
    try:
        swaps = convert(model)
        reason = why_root_stays(pipe, swaps) or why_not_swapped(model, swaps)
        if reason is None and (swaps or sections):
            reason = why_not_built(config["model"], new_config["model"], convert)
    except ValueError as error:
        return [], str(error)
    return swaps, reason


def convert(model: Model) -> Swaps:
    """Convert our nodes in a model to spaCy's, on the device of their weights.

    Raises ValueError for a node that no layer of spaCy's can replace.
    """
    swaps: Swaps = []
    inside = set[int]()
    for node in model.walk():
        if id(node) in inside:
            continue
        layer = next((layer for layer in LAYERS if node.name in layer.nodes), None)
        if layer is not None:
            new = layer.to_spacy(node)
            for each in new.walk():
                each.ops = node.ops
            swaps.append((node, new))
            inside.update(id(each) for each in node.walk())
        elif is_our_node(node):
            raise ValueError(f"its layer '{node.name}' is ours, and not in its config")
    return swaps
