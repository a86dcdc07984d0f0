"""Turn a pipeline with our parts into one of spaCy's own, with the same weights."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Union

from spacy.language import Language
from spacy.util import registry
from spacy.vectors import Vectors
from thinc.api import Model

from ..common.arguments import checked
from ..common.load import loaded
from ..common.outputs import check_folder_output, paths_in, write_pipeline
from ..common.result import Result, Table
from ..compute.ops import use_thinc_ops
from ..vectors.compressed import CompressedVectors
from .change import OUT_OF_REACH, Change, Replaced, models_of
from .config import (
    ARCHITECTURES,
    FACTORY_PATH,
    Keys,
    is_ours,
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
    component_of,
    layer_of,
    why_not_restored,
)
from .weights import Swaps
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


@dataclass(frozen=True, eq=False)
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


@checked
def restore(
    nlp: Union[Language, str, Path],
    output: Union[str, Path, None] = None,
    *,
    force: bool = False,
) -> Restored:
    """Turn a pipeline into one that needs spaCy alone, with the same weights.

        print(restore("fast_md", "core_web_md"))

    batch_ner becomes ner, batch_parser becomes parser, and indexed_attribute_ruler becomes
    attribute_ruler. MultiHashEmbed with four hashes and spaCy's attributes, and
    MaxoutWindowEncoder, become spaCy's layers of the same names. Compressed weights and vectors are
    unpacked. Callbacks, and the optimizer, become spaCy's own or are left out. Predictions stay the
    same, up to the rounding of float32, and what accelerate has written gets its original weights
    back. If a part has no counterpart, such as tagger_ner, it's named with the reason, and nothing
    is written.

    nlp (Union[Language, str, Path]): The pipeline, which changes in place, with its config, or a
        package's name, or a path.
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
    change, done = Change(nlp), Restored(nlp)
    writer = _Writer(nlp, done)
    new_config = writer.write(change.config)
    for name, pipe in nlp.components:
        old, new = change.config["components"][name], new_config["components"][name]
        if not any(path.split(".")[:2] == ["components", name] for path, *_ in writer.problems):
            try:
                _restore_layers(change, pipe, old, new)
            except ValueError as error:
                names = dict.fromkeys(our_names(old)) or [old[FACTORY_PATH]]
                writer.problems.append(Lost(f"components.{name}", ", ".join(names), str(error)))
        part = component_of(pipe)
        if part is not None and isinstance(pipe, part.kind):
            change.replace_component(name, pipe, part, part.spacy_kind, new[FACTORY_PATH])
    if writer.problems:
        problems = [f"    {path} ({name}): {why}" for path, name, why in writer.problems]
        raise ValueError(
            "\n".join(["spaCy has nothing that computes the same as:", *problems])
            + "\nKeep the pipeline, and install spacy-multihash where it runs. To train one that "
            "can be restored, use: python -m spacy multihash fit --config batch_ner"
        )
    if done.replaced:
        change.apply(new_config)
        _leave_memory(nlp, change, new_config)
        forget_package(nlp)
    return done


def _restore_layers(
    change: Change,
    pipe: Any,  # noqa: ANN401 (any component)
    config: dict[str, Any],
    new_config: dict[str, Any],
) -> None:
    """Plan to replace the layers of a component. Raises ValueError if that's not possible."""
    model = getattr(pipe, "model", None)
    sections = [s.path for s in list_sections(config) if layer_of(s.name) and is_ours(s.name)]
    if isinstance(model, Model) and all(path[0] == "model" for path in sections):
        change.replace_nodes(pipe, config, new_config, lambda model: _convert(change, model))
    elif sections:
        raise ValueError(OUT_OF_REACH)


def _convert(change: Change, model: Model) -> Swaps:
    """Convert our nodes in a model. Raises ValueError for a node that spaCy has no layer for."""
    swaps: Swaps = []
    inside = set[int]()
    for node in model.walk():
        if id(node) not in inside:
            layer = next((layer for layer in LAYERS if node.name in layer.nodes), None)
            if layer is not None:
                swaps.append(change.convert(node, layer.to_spacy))
                inside.update(id(below) for below in node.walk())
            elif is_our_node(node):
                raise ValueError(f"its layer '{node.name}' is ours, and not in its config")
    return swaps


def _leave_memory(nlp: Language, change: Change, new_config: dict[str, Any]) -> None:
    """Let a pipeline in memory be as it will be loaded: its layers, scorers, vectors, methods."""
    for pipe, swaps in change.swaps:  # thinc makes the names of layers from those inside
        for old, new in swaps:
            for node in pipe.model.walk():
                node.name = node.name.replace(old.name, new.name, 1)
    for model in models_of(nlp):
        use_thinc_ops(model)
    pipes: list[tuple[str, Any]] = nlp.components
    for name, pipe in pipes:
        scorer = new_config["components"][name].get("scorer")
        if scorer != change.config["components"][name].get("scorer"):
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
        reason = None if name is None else why_not_restored(name, value)
        if name is None or reason is not None:
            if reason:
                self.problems.append(Lost(".".join(path), str(name), reason))
            return new
        if name in OTHERS:
            write, lost = OTHERS[name]
            new = write(new)
            if lost:
                self.done.lost.append(Lost(".".join(path), name, lost))
            after = next((str(v) for k, v in (new or {}).items() if k.startswith("@")), "")
        elif layer := layer_of(name):
            after = layer.spacys[-1]
            new = {ARCHITECTURES: after, **{key: new[key] for key in layer.settings}}
        else:
            new, path = self._component(path, new, name), (*path, FACTORY_PATH)
            after = new[FACTORY_PATH]
        of_component = path[:1] == ("components",)
        component, place = (path[1], path[2:]) if of_component else ("", path)
        self.done.replaced.append(Replaced(component, ".".join(place), name, after))
        return new

    def _component(self, path: Keys, section: dict[str, Any], name: str) -> dict[str, Any]:
        """Write the config of spaCy's component, whose settings are fewer."""
        part = next(component for component in COMPONENTS if component.factory == name)
        beam = any(section.get(key, value) != value for key, value in _BEAM.items())
        factory = part.spacy_factories[-1 if beam else 0]
        for key, default in NER_SETTINGS.items() if part is NER else ():
            value = section.get(key, default)
            if value != default:
                self.done.lost.append(Lost(".".join(path), f"{key} = {value}", _LOST[key]))
        settings = self.nlp.get_factory_meta(factory).default_config or {}
        return {FACTORY_PATH: factory} | {k: v for k, v in section.items() if k in settings}
