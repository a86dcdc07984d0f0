"""Replace spaCy's layers, ner and parser in a trained pipeline with ours, with the same weights.

If a step fails, the pipeline stays as it was: first, nodes are found and converted, configs
rewritten, and models built from them, without any change. The assignments to the pipeline come
last.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple, Optional, Union

import spacy
from spacy.language import Language
from spacy.ml.models.parser import build_tb_parser_model
from spacy.ml.models.tok2vec import (
    MaxoutWindowEncoder,
    MultiHashEmbed,
    build_hash_embed_cnn_tok2vec,
)
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.ty import ListenedToComponent
from thinc.api import Model, noop

from ..common.checks import check_flag, check_whole, is_list, is_number, setting_error
from ..common.load import loaded
from ..common.outputs import check_folder_output, paths_in, write_pipeline
from ..common.progress import Progress, no_progress
from ..common.registered import USE_PRODUCT_OPS
from ..common.result import Result, Table
from ..common.templates import in_notebook, render
from ..compute.ops import use_kernel_ops
from ..corpus.shards import read_bare_docs
from .change import Change, NewComponent, Replaced, why_not_built, why_root_stays
from .compare import Gain, compare_docs
from .config import (
    ARCHITECTURES,
    CNNS,
    FACTORY_PATH,
    TOK2VEC_OF,
    TOK2VEC_V1,
    TOK2VEC_V2,
    Keys,
    Section,
    is_ours,
    is_unknown,
    keep_variables,
    kind_of,
    list_sections,
    replace_sections,
    require_package,
)
from .measure import compare_loads, compare_speed, count_tokens, show_value, this_machine
from .meta import mark_accelerated, package_name
from .parts import EMBED, ENCODER, NER, PARSER, Component, Convert, component_of, layer_of
from .weights import Swaps, is_built_like, why_not_swapped


class Already(NamedTuple):
    """A layer or component that was already ours: `component` and `path` as in `Replaced`."""

    component: str
    path: str
    name: str


class Left(NamedTuple):
    """A layer or component that isn't replaced, and the reason."""

    component: str
    path: str
    name: str
    reason: str


@dataclass(frozen=True)
class Acceleration(Result):
    """A faster pipeline, and what was replaced in it.

    nlp (Language): The pipeline.
    replaced (list[Replaced]): The layers and components that were replaced.
    already (list[Already]): The layers and components that were already ours.
    left (list[Left]): The layers and components that weren't replaced, and why.
    gain (Optional[Gain]): Speed, load time, memory and annotations, before and after. None without
        texts.
    """

    nlp: Language = field(repr=False)
    replaced: list[Replaced] = field(default_factory=list)
    already: list[Already] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    gain: Optional[Gain] = None

    def tables(self) -> Iterator[Table]:
        """What was replaced, and the gain."""
        yield from self.changes()
        yield from self.gain.tables() if self.gain else ()

    def changes(self) -> Iterator[Table]:
        """What was replaced, what was ours already, and what's left."""
        for title, header, entries in (
            ("Replaced", ("section", "before", "after"), self.replaced),
            ("Ours already", ("section", "name"), self.already),
            ("Left as they are", ("section", "name", "reason"), self.left),
        ):
            rows = [(f"{component}.{path}", *rest) for component, path, *rest in entries]
            yield Table(f"{title}: {len(rows)}", header, rows, "lll")

    def notes(self) -> Iterator[str]:
        """Whether nothing was replaced, how the gain was measured, and what's missing."""
        if not self.replaced:
            yield "Nothing was replaced."
        yield from self.gain.notes() if self.gain else ()
        machine = self.gain.machine if self.gain else this_machine()
        yield from filter(None, [machine.advice])

    def page(self) -> str:
        """Return the gain, to show to others, as a complete HTML page. Without a gain, the tables.

        It has bars for speed, load time and memory, and all tables.
        """
        if self.gain is None:
            return super().page()
        meta = self.nlp.meta
        title = f"{meta['lang']}_{meta['name']} {meta['version']}, accelerated"
        return render("gain.html", title=title, gain=self.gain, result=self, show_value=show_value)

    def _repr_html_(self) -> str:
        return in_notebook(self.page()) if self.gain else super()._repr_html_()


# Old and new nodes, by the id of the old node.
Made = dict[int, tuple[Model, Model]]


class Part(NamedTuple):
    """The nodes built by a section, or by another section with the same settings."""

    nodes: list[Model]
    convert: Convert


def accelerate(
    nlp: Union[Language, str, Path],
    output: Union[str, Path, None] = None,
    *,
    keep_ner: bool = False,
    keep_parser: bool = False,
    texts: Union[Sequence[str], str, Path, None] = None,
    seconds: float = 20.0,
    loads: int = 3,
    code: Union[str, Path, None] = None,
    name: Optional[str] = None,
    force: bool = False,
    progress: Progress = no_progress,
) -> Acceleration:
    """Make layers and components of a trained pipeline faster, keeping the weights.

        print(accelerate("en_core_web_md", "fast_md"))

    It replaces spaCy's MultiHashEmbed, MaxoutWindowEncoder and HashEmbedCNN in all components, even
    disabled components. ner becomes batch_ner and parser becomes batch_parser, with the same name,
    model and settings. attribute_ruler becomes indexed_attribute_ruler, with the same patterns.
    Predictions stay the same, up to the rounding of float32. The result lists what couldn't be
    replaced, and why.

    The pipeline and its config change in place. Save it, and load it wherever this package is
    installed. All other layers, such as the tagger's, use our faster matrix products, also after
    loading, unless the config has another callback as nlp.after_pipeline_creation.

    If you've sourced a component from a pipeline in memory, both pipelines share it, and its layers
    change in both, while the other pipeline keeps spaCy's ner, parser and attribute_ruler. To avoid
    that, accelerate before sourcing, or load the other pipeline again. An optimizer starts over on
    the replaced layers, so save averaged weights before you accelerate.

    nlp (Union[Language, str, Path]): The pipeline, or a package's name, or a path.
    output (Union[str, Path, None]): The folder to write the pipeline to. None writes nothing.
    keep_ner (bool): Whether to keep spaCy's ner.
    keep_parser (bool): Whether to keep spaCy's parser.
    texts (Union[Sequence[str], str, Path, None]): Texts to annotate before and after, as a list, or
        as the path of a .txt file (a text on each line), a .jsonl file (objects with a "text"), a
        .spacy file, or a folder of them. The result's `gain` has the speed, load time and memory of
        both pipelines, and how many annotations stay the same.
    seconds (float): How long to measure speed. More seconds give a more certain gain.
    loads (int): How often to load each pipeline in a new process, to measure time and memory.
    code (Union[str, Path, None]): Python file that these processes import first.
    name (Optional[str]): The new name of the pipeline, in its meta and so in a package of it. By
        default, "_fast" is added to the name.
    force (bool): Whether to replace a pipeline at `output`.
    progress (Progress): Shows how far the measurement is, as tqdm does.
    RETURNS (Acceleration): What was replaced, what was already ours, and what wasn't replaced. Its
        `nlp` is the pipeline.

    Raises ValueError if its config refers to a missing value, if keep_ner or keep_parser isn't a
    bool, if seconds or loads is negative, or if texts aren't a list or have no tokens. Then nothing
    has changed, and neither if the pipeline can't annotate the texts.
    """
    check_flag("accelerate", "keep_ner", keep_ner)
    check_flag("accelerate", "keep_parser", keep_parser)
    check_whole("accelerate", "loads", loads, 0, advice="0 doesn't load pipelines again.")
    if not is_number(seconds) or seconds < 0:
        raise setting_error("accelerate", "seconds", "a number of 0 or more", seconds, "Give 20.")
    kept = [part for part, keep in ((NER, keep_ner), (PARSER, keep_parser)) if keep]
    if output is not None:
        check_folder_output(Path(output), *paths_in(nlp, texts), force=force)
    source, nlp = nlp, loaded(nlp)
    for part in kept:
        if not any(_is_spacys(pipe, part) for _, pipe in nlp.components):
            what = part.state_type
            raise ValueError(f"There's no {what} of spaCy's to keep. Leave keep_{what} out.")
    if name is not None:
        package_name(name, nlp.lang)  # checks it
    run = partial(_accelerate, nlp, kept, name)
    if isinstance(texts, (str, Path)):
        texts = [doc.text for doc in read_bare_docs(texts, nlp)]
    if texts is None:
        done = run()
    elif is_list(texts):
        done = _accelerate_and_measure(nlp, source, run, texts, seconds, loads, code, progress)
    else:
        raise setting_error("accelerate", "texts", "a list of texts", texts, 'Give ["a text"].')
    if output is not None:
        write_pipeline(nlp, Path(output))
    return done


def _accelerate_and_measure(
    nlp: Language,
    source: Union[Language, str, Path],
    run: Callable[[], Acceleration],
    texts: Sequence[Any],
    seconds: float,
    loads: int,
    code: Union[str, Path, None],
    progress: Progress,
) -> Acceleration:
    """Accelerate a pipeline, and compare it with a copy of what it was."""
    texts = [text for text in texts if text.strip()]
    count_tokens(nlp, texts)
    with TemporaryDirectory() as name:
        former, faster = Path(name) / "before", Path(name) / "after"
        if isinstance(source, Language):
            nlp.to_disk(former)
            source = former
        before = spacy.load(source)
        start = perf_counter()
        count = {"total": len(texts), "unit": " texts"}
        docs = list(progress(before.pipe(texts), desc="Annotating as before", **count))
        all_seconds = perf_counter() - start
        done = run()
        pairs = zip(docs, nlp.pipe(texts), strict=True)
        agreement = compare_docs(progress(pairs, desc="Annotating faster", **count))
        figures = compare_speed(before, nlp, texts, seconds, all_seconds, progress)
        nlp.to_disk(faster)
        loaded_in, why = compare_loads(source, faster, loads, code=code, progress=progress)
    tokens = median(map(len, docs))
    gain = Gain(this_machine(), [*figures, *loaded_in], agreement, tokens, why)
    return replace(done, gain=gain)


def _is_spacys(pipe: object, part: Component) -> bool:
    return isinstance(pipe, part.spacy_kind) and not isinstance(pipe, part.kind)


def _accelerate(nlp: Language, kept: Sequence[Component], new_name: Optional[str]) -> Acceleration:
    config = nlp.config.interpolate()
    done, change, made = Acceleration(nlp), Change(), Made()
    sections_of: dict[Keys, dict[str, Any]] = {}
    for name, pipe in nlp.components:
        settings = config["components"][name]
        sections = list(list_sections(settings))
        spacys = [section for section in sections if _after(section)]
        swaps, reasons = _plan(pipe, spacys, settings, made)
        change.swaps.append((pipe, swaps))
        replaced = [section for section in spacys if section.path not in reasons]
        new = _new_sections(replaced)
        sections_of |= {("components", name, *path): section for path, section in new.items()}
        listened_to = isinstance(pipe, ListenedToComponent)
        unknown = [s.path for s in sections if is_unknown(s, listened_to)]
        reasons |= dict.fromkeys(unknown, "there is no layer of ours for it")
        _report(name, sections, reasons, done)
        change.components += _plan_component(nlp, name, pipe, settings, done, kept)
    new_config = replace_sections(config, sections_of)
    for name, _, meta in change.components:
        defaults = deepcopy(meta.default_config or {})
        old = new_config["components"][name]
        new_config["components"][name] = {**defaults, **old, FACTORY_PATH: meta.factory}
    if done.replaced:
        callback = new_config["nlp"].get("after_pipeline_creation")
        new_config["nlp"]["after_pipeline_creation"] = callback or {"@callbacks": USE_PRODUCT_OPS}
        require_package(new_config)
    change.apply(nlp, keep_variables(nlp.config, config, new_config))
    if done.replaced:
        make_use_product_ops_v1()(nlp)
    mark_accelerated(nlp, new_name, bool(done.replaced))
    return done


def _after(section: Section) -> str:
    """Return what replaces a section of spaCy's; "" for any other."""
    if section.kind in CNNS:
        return f"{EMBED.names[0]} + {ENCODER.names[0]}"
    layer = layer_of(section.kind)
    return layer.names[0] if layer is not None and section.kind in layer.spacys else ""


def _new_sections(replaced: list[Section]) -> dict[Keys, Any]:
    """Write the sections of our layers, by path in the config of a component."""
    new: dict[Keys, Any] = {s.path: _new_section(s.settings) for s in replaced}
    old_wrappers = [s.path[:-1] for s in replaced if TOK2VEC_OF.get(s.kind) == TOK2VEC_V1]
    return new | {(*path, ARCHITECTURES): TOK2VEC_V2 for path in old_wrappers}


def _new_section(settings: dict[str, Any]) -> dict[str, Any]:
    """Write the section of our layer, or our two layers, that replaces spaCy's section."""
    layer = layer_of(kind_of(settings[ARCHITECTURES]))
    if layer is not None:
        return {**settings, ARCHITECTURES: layer.names[0], **layer.added(settings)}
    # A HashEmbedCNN: the layers that spaCy's build_hash_embed_cnn_tok2vec builds.
    attrs, size = ["NORM"], settings["embed_size"]
    if settings["subword_features"]:
        attrs += ["PREFIX", "SUFFIX", "SHAPE"]
    embed = {
        ARCHITECTURES: EMBED.spacys[-1],
        "width": settings["width"],
        "attrs": attrs,
        "rows": [size] + [size // 2] * (len(attrs) - 1),
        "include_static_vectors": bool(settings["pretrained_vectors"]),
    }
    encode = {name: settings[name] for name in ENCODER.settings}
    return {
        ARCHITECTURES: TOK2VEC_V2,
        "embed": _new_section(embed),
        "encode": {ARCHITECTURES: ENCODER.names[0], **encode},
    }


def _report(
    name: str, sections: list[Section], reasons: dict[Keys, str], done: Acceleration
) -> None:
    """Add the sections of a component to the report."""
    for section in sections:
        path = ".".join(section.path)
        if is_ours(section.name):
            done.already.append(Already(name, path, section.name))
        elif section.path in reasons:
            done.left.append(Left(name, path, section.name, reasons[section.path]))
        elif after := _after(section):
            done.replaced.append(Replaced(name, path, section.name, after))


def _plan(
    pipe: Any,  # noqa: ANN401
    sections: list[Section],
    config: dict[str, Any],
    made: Made,
) -> tuple[Swaps, dict[Keys, str]]:
    """Plan which nodes of a component to replace, and say why other sections are left, by path.

    made (Made): The nodes converted so far, which components may share. New nodes are added.
    """
    model: Any = getattr(pipe, "model", None)
    inside = [s for s in sections if s.path[0] == "model" and isinstance(model, Model)]
    reasons = {
        section.path: "it does not belong to a thinc model that the component has as `model`"
        for section in sections
        if section not in inside
    }
    if not inside:
        return [], reasons
    parts, not_matched = _match(model, inside)
    reasons |= not_matched
    matched = [section for section in inside if section.path in parts]
    try:
        swaps = _convert(parts, made)
        reason = (
            why_root_stays(pipe, swaps)
            or why_not_swapped(model, swaps)
            or _why_not_built(matched, config)
        )
    except ValueError as error:  # settings that our layer doesn't support
        reason = str(error)
    if reason:
        return [], reasons | dict.fromkeys(parts, reason)
    return swaps, reasons


def _match(model: Model, sections: list[Section]) -> tuple[dict[Keys, list[Part]], dict[Keys, str]]:
    """Find the nodes of each section, or the reason why there are none.

    Sections with equal settings build equal nodes. It doesn't matter which section built which
    node, if there are as many nodes as sections and all are replaced.
    """
    nodes = list(model.walk())
    parts: dict[Keys, list[Part]] = {}
    reasons = {}
    for section in sections:
        found = [
            Part([node for node in nodes if is_built_like(layer, node)], convert)
            for layer, convert in _references(section)
        ]
        outer = TOK2VEC_OF.get(section.kind)
        if outer is not None and outer != kind_of(section.parent or ""):
            reasons[section.path] = f"it is not part of a {outer}"
        elif all(part.nodes for part in found):
            parts[section.path] = found
        elif section.name.endswith("v1") and _has_vectors(section):
            reasons[section.path] = "tokens without a vector get that of another token in v1"
        else:
            reasons[section.path] = "the model has no such layer"
    while wrong := _miscounted(parts):
        reasons.update(dict.fromkeys(wrong, "the model has more such layers than the config"))
        parts = {path: found for path, found in parts.items() if path not in wrong}
    return parts, reasons


def _references(section: Section) -> list[tuple[Model, Convert]]:
    """Build the layers of a section, in the version that our layers compute."""
    settings = {key: value for key, value in section.settings.items() if key != ARCHITECTURES}
    layer = layer_of(section.kind)
    if layer is EMBED:
        return [(MultiHashEmbed(**settings), EMBED.from_spacy)]
    if layer is ENCODER:
        return [(MaxoutWindowEncoder(**settings), ENCODER.from_spacy)]
    cnn = build_hash_embed_cnn_tok2vec(**settings)
    return [
        (cnn.get_ref("embed"), EMBED.from_spacy),
        (cnn.get_ref("encode"), ENCODER.from_spacy),
    ]


def _has_vectors(section: Section) -> bool:
    keys = ("include_static_vectors", "pretrained_vectors")
    return any(section.settings.get(key) for key in keys)


def _miscounted(parts: dict[Keys, list[Part]]) -> list[Keys]:
    """List the sections whose settings have more or fewer nodes than sections."""
    claims = Counter(id(node) for found in parts.values() for part in found for node in part.nodes)
    return [
        path
        for path, found in parts.items()
        if any(claims[id(part.nodes[0])] != len(part.nodes) for part in found)
    ]


def _convert(parts: dict[Keys, list[Part]], made: Made) -> Swaps:
    """Build our layer for each node, once, on the device of its weights."""
    swaps = []
    for part in (part for found in parts.values() for part in found):
        for old in part.nodes:
            if id(old) not in made:
                new = part.convert(old)
                for node in new.walk():
                    node.ops = old.ops
                made[id(old)] = (old, new)
            swaps.append(made[id(old)])
    return swaps


def _why_not_built(sections: list[Section], config: dict[str, Any]) -> Optional[str]:
    """Say why the new config of a component doesn't build the model to save; None if it does."""
    if not sections:
        return None

    def plan(model: Model) -> Optional[Swaps]:
        parts, reasons = _match(model, sections)
        swaps = _convert(parts, {})
        return None if reasons or why_not_swapped(model, swaps) else swaps

    new = replace_sections(config, _new_sections(sections))
    return why_not_built(config["model"], new["model"], plan)


def _plan_component(
    nlp: Language,
    name: str,
    pipe: Any,  # noqa: ANN401
    config: dict[str, Any],
    done: Acceleration,
    kept: Sequence[Component],
) -> list[NewComponent]:
    """Make our component for a recognizer, parser or attribute ruler; an empty list for others.

    The old component doesn't change. The outcome is added to the report.
    """
    part, factory = component_of(pipe), config[FACTORY_PATH]
    if part is None:
        return []
    if isinstance(pipe, part.kind):
        done.already.append(Already(name, FACTORY_PATH, factory))
        return []
    if part in kept:
        return []
    reason = why_not_replaced(pipe, config)
    if reason is not None:
        done.left.append(Left(name, FACTORY_PATH, factory, reason))
        return []
    done.replaced.append(Replaced(name, FACTORY_PATH, factory, part.factory))
    return [NewComponent(name, part.copy(part.kind, pipe), nlp.get_factory_meta(part.factory))]


_MODELS = ("spacy.TransitionBasedParser.v1", "spacy.TransitionBasedParser.v2")


def _why_not_spacys(
    pipe: object, expected: type, factory: str, factories: Sequence[str]
) -> Optional[str]:
    """Say why a component isn't spaCy's own; None if it is."""
    kind = type(pipe)
    if kind is not expected:
        return f"it is a {kind.__module__}.{kind.__qualname__}, and not spaCy's {expected.__name__}"
    if factory not in factories:
        return f"its factory is another than spaCy's {' and '.join(factories)}"
    return None


def why_not_replaced(
    pipe: Union[EntityRecognizer, DependencyParser], config: dict[str, Any]
) -> Optional[str]:
    """Say why our component can't replace spaCy's, or wouldn't help; None if it can.

    config (dict[str, Any]): The component's config, without variables.
    """
    part: Any = component_of(pipe)
    reason = _why_not_spacys(pipe, part.spacy_kind, config[FACTORY_PATH], part.spacy_factories)
    if reason is not None or not part.state_type:
        return reason
    if pipe.cfg["beam_width"] != 1:
        width = pipe.cfg["beam_width"]
        return (
            f"with beam_width = {width}, {part.factory} predicts by spaCy's code, and is no faster"
        )
    settings = dict(config["model"])
    if kind_of(settings.pop(ARCHITECTURES, "")) not in _MODELS:
        return "its model is not a spacy.TransitionBasedParser"
    if not _is_parser(pipe.model, settings):
        return "its model is not built as the config says"
    features = pipe.model.get_ref("lower").get_dim("nF")
    if features not in part.num_features:
        possible = " or ".join(map(str, part.num_features))
        return (
            f"it scores states by {features} tokens, and {part.factory} by {possible} "
            f"(state_type = {part.state_type})"
        )
    return None


def _is_parser(model: object, settings: dict[str, Any]) -> bool:
    """Return whether the layers above the token vectors are those in the settings."""
    if not isinstance(model, Model):
        return False
    reference = build_tb_parser_model(**{**settings, "tok2vec": noop(), "nO": None})
    return model._func is reference._func and all(
        model.has_ref(name) and is_built_like(reference.get_ref(name), model.get_ref(name))
        for name in ("lower", "upper")
    )


def make_use_product_ops_v1() -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_pipeline_creation] that gives all layers our products.

    Our own layers use our matrix products anyway. Without the callback, other layers, such as the
    tagger's, use thinc's, which can be several times slower (docs/performance.md). Layers on a GPU
    stay as they are.
    """

    def set_ops(nlp: Language) -> Language:
        for _, pipe in nlp.components:
            model = getattr(pipe, "model", None)
            if isinstance(model, Model):
                use_kernel_ops(model)
        return nlp

    return set_ops
