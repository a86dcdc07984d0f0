"""Replace spaCy's layers, ner and parser in a trained pipeline with ours, with the same weights."""

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
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.ty import ListenedToComponent
from thinc.api import Model, noop

from ..common.arguments import Amount, Count, checked
from ..common.load import import_code, loaded
from ..common.outputs import check_folder_output, paths_in, write_pipeline
from ..common.progress import Progress, no_progress
from ..common.registered import USE_PRODUCT_OPS
from ..common.result import Result, Table
from ..common.templates import in_notebook, render
from ..compute.ops import use_kernel_ops
from ..corpus.shards import read_bare_docs
from ..ner.settings import check_cfg
from .change import OUT_OF_REACH, Change, Replaced, models_of
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
    kind_of,
    list_sections,
    replace_sections,
    require_package,
)
from .measure import Machine, compare_loads, compare_speed, count_tokens, show_value
from .meta import mark_accelerated, package_name
from .parts import EMBED, ENCODER, LAYERS, NER, PARSER, Component, Layer, component_of, layer_of
from .weights import Swaps, is_built_like, is_same


class Unchanged(NamedTuple):
    """A layer or component that stays: `component` and `path` as in `Replaced`.

    name (str): Its registered name.
    reason (str): Why it isn't replaced, "" if it's ours.
    """

    component: str
    path: str
    name: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Acceleration(Result):
    """A faster pipeline, and what was replaced in it.

    nlp (Language): The pipeline.
    replaced (list[Replaced]): The layers and components that were replaced.
    already (list[Unchanged]): The layers and components that were already ours.
    left (list[Unchanged]): The layers and components that weren't replaced, and why.
    gain (Optional[Gain]): Speed, load time, memory and annotations, before and after. None without
        texts.
    """

    nlp: Language = field(repr=False)
    replaced: list[Replaced] = field(default_factory=list)
    already: list[Unchanged] = field(default_factory=list)
    left: list[Unchanged] = field(default_factory=list)
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
            rows = [(f"{e.component}.{e.path}", *e[2:][: len(header) - 1]) for e in entries]
            yield Table(f"{title}: {len(rows)}", header, rows, "lll")

    def notes(self) -> Iterator[str]:
        """Whether nothing was replaced, how the gain was measured, and what's missing."""
        if not self.replaced:
            yield "Nothing was replaced."
        yield from self.gain.notes() if self.gain else ()
        yield from filter(None, [(self.gain.machine if self.gain else Machine()).advice])

    def page(self, title: str = "") -> str:
        """Return the gain, to show to others, as a complete HTML page. Without a gain, the tables.

        It has bars for speed, load time and memory, and all tables.
        """
        if self.gain is None:
            return super().page(title)
        meta = self.nlp.meta
        title = title or f"{meta['lang']}_{meta['name']} {meta['version']}, accelerated"
        return render("gain.html", title=title, gain=self.gain, result=self, show_value=show_value)

    def _repr_html_(self) -> str:
        return in_notebook(self.page()) if self.gain else super()._repr_html_()


@checked
def accelerate(
    nlp: Union[Language, str, Path],
    output: Union[str, Path, None] = None,
    *,
    keep_ner: bool = False,
    keep_parser: bool = False,
    texts: Union[Sequence[str], str, Path, None] = None,
    seconds: Amount = 20.0,
    loads: Count = 3,
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

    If a component was sourced from a pipeline in memory, both pipelines share it, and its layers
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

    Raises ValueError if its config refers to a missing value, if seconds or loads is negative, or
    if texts have no tokens. Then nothing has changed, and neither if the pipeline can't annotate
    the texts.
    """
    if output is not None:
        check_folder_output(Path(output), *paths_in(nlp, texts), force=force)
    import_code(code)
    source, nlp = nlp, loaded(nlp)
    to_keep = [part for part, keep in ((NER, keep_ner), (PARSER, keep_parser)) if keep]
    for part in to_keep:
        if not any(_is_spacys(pipe, part) for _, pipe in nlp.components):
            kind = part.state_type
            raise ValueError(f"There's no {kind} of spaCy's to keep. Leave keep_{kind} out.")
    if name is not None:
        package_name(name, nlp.lang)  # checks it
    run = partial(_accelerate, nlp, to_keep, name)
    if texts is None:
        done = run()
    else:
        if isinstance(texts, (str, Path)):
            texts = [doc.text for doc in read_bare_docs(texts, nlp)]
        texts = [str(text) for text in texts if text.strip()]
        compare = partial(compare_loads, rounds=loads, code=code, progress=progress)
        done = _measured(nlp, source, run, texts, seconds, compare, progress)
    if output is not None:
        write_pipeline(nlp, Path(output))
    return done


def _measured(
    nlp: Language,
    source: Union[Language, str, Path],
    run: Callable[[], Acceleration],
    texts: Sequence[str],
    seconds: float,
    compare: Callable[..., tuple[list[Any], str]],
    progress: Progress,
) -> Acceleration:
    """Accelerate a pipeline, and compare it with a copy of what it was."""
    count_tokens(nlp, texts)
    with TemporaryDirectory() as name:
        if isinstance(source, Language):
            source = Path(name) / "before"
            nlp.to_disk(source)
        before = spacy.load(source)
        start = perf_counter()
        count = {"total": len(texts), "unit": " texts"}
        docs = list(progress(before.pipe(texts), desc="Annotating as before", **count))
        all_seconds = perf_counter() - start
        done = run()
        pairs = zip(docs, nlp.pipe(texts), strict=True)
        agreement = compare_docs(progress(pairs, desc="Annotating faster", **count))
        figures = compare_speed(before, nlp, texts, seconds, all_seconds, progress)
        nlp.to_disk(Path(name) / "after")
        loads, why = compare(source, Path(name) / "after")
    gain = Gain(Machine(), [*figures, *loads], agreement, median(map(len, docs)), why)
    return replace(done, gain=gain)


def _is_spacys(pipe: object, part: Component) -> bool:
    return isinstance(pipe, part.spacy_kind) and not isinstance(pipe, part.kind)


def _accelerate(
    nlp: Language, to_keep: Sequence[Component], new_name: Optional[str]
) -> Acceleration:
    change, done = Change(nlp), Acceleration(nlp)
    new_config = deepcopy(change.config)
    for name, pipe in nlp.components:
        config = change.config["components"][name]
        sections = list(list_sections(config))
        new, reasons = _replace_layers(change, pipe, config, [s for s in sections if _after(s)])
        for section in sections:
            path = ".".join(section.path)
            if is_ours(section.name):
                done.already.append(Unchanged(name, path, section.name))
            elif is_unknown(section, isinstance(pipe, ListenedToComponent)):
                reason = "there is no layer of ours for it"
                done.left.append(Unchanged(name, path, section.name, reason))
            elif section.path in reasons:
                done.left.append(Unchanged(name, path, section.name, reasons[section.path]))
            elif after := _after(section):
                done.replaced.append(Replaced(name, path, section.name, after))
        new = _replace_component(change, done, name, pipe, config, new, to_keep)
        new_config["components"][name] = new
    if done.replaced:
        callback = new_config["nlp"].get("after_pipeline_creation")
        new_config["nlp"]["after_pipeline_creation"] = callback or {"@callbacks": USE_PRODUCT_OPS}
        require_package(new_config)
    change.apply(new_config)
    if done.replaced:
        make_use_product_ops_v1()(nlp)
    mark_accelerated(nlp, new_name, bool(done.replaced))
    return done


# Layers


def _after(section: Section) -> str:
    """Return what replaces a section of spaCy's; "" for any other."""
    if section.kind in CNNS:
        return f"{EMBED.names[0]} + {ENCODER.names[0]}"
    layer = layer_of(section.kind)
    return layer.names[0] if layer is not None and section.kind in layer.spacys else ""


def _layers_of(section: Section) -> list[tuple[Layer, dict[str, Any]]]:
    """Return the layers that a section of spaCy's builds, with their settings."""
    layer, settings = layer_of(section.kind), section.settings
    if layer is not None:
        return [(layer, {name: settings[name] for name in layer.settings})]
    # A HashEmbedCNN: the layers that spaCy's build_hash_embed_cnn_tok2vec builds.
    attrs, size = ["NORM"], settings["embed_size"]
    if settings["subword_features"]:
        attrs += ["PREFIX", "SUFFIX", "SHAPE"]
    embed = {
        "width": settings["width"],
        "attrs": attrs,
        "rows": [size] + [size // 2] * (len(attrs) - 1),
        "include_static_vectors": bool(settings["pretrained_vectors"]),
    }
    return [(EMBED, embed), (ENCODER, {name: settings[name] for name in ENCODER.settings})]


def _new_sections(sections: Sequence[Section]) -> dict[Keys, Any]:
    """Write the sections of our layers, by path in the config of a component."""
    new: dict[Keys, Any] = {}
    for section in sections:
        ours = [
            {ARCHITECTURES: layer.names[0], **settings, **layer.added(settings)}
            for layer, settings in _layers_of(section)
        ]
        if section.kind in CNNS:
            new[section.path] = {ARCHITECTURES: TOK2VEC_V2, "embed": ours[0], "encode": ours[1]}
        else:
            new[section.path] = ours[0]
        if TOK2VEC_OF.get(section.kind) == TOK2VEC_V1:
            new[section.path[:-1] + (ARCHITECTURES,)] = TOK2VEC_V2
    return new


def _replace_layers(
    change: Change,
    pipe: Any,  # noqa: ANN401 (any component)
    config: dict[str, Any],
    sections: Sequence[Section],
) -> tuple[dict[str, Any], dict[Keys, str]]:
    """Plan to replace the layers of spaCy's sections, wherever that's possible.

    Returns the component's new config, and why sections stay, by path.
    """
    model = getattr(pipe, "model", None)
    inside = [s for s in sections if s.path[0] == "model" and isinstance(model, Model)]
    reasons = {s.path: OUT_OF_REACH for s in sections if s not in inside}
    if model is None or not inside:
        return config, reasons
    matched, not_matched = _match(model, inside)
    reasons |= not_matched
    inside = [section for section in inside if section.path in matched]
    new = replace_sections(config, _new_sections(inside))

    def convert(model: Model) -> Swaps:
        nodes = [pair for pairs in _match(model, inside)[0].values() for pair in pairs]
        return [change.convert(node, layer.from_spacy) for layer, node in nodes]

    try:
        change.replace_nodes(pipe, config, new, convert)
    except ValueError as error:  # also settings that our layer doesn't support
        return config, reasons | {section.path: str(error) for section in inside}
    return new, reasons


def _match(
    model: Model, sections: Sequence[Section]
) -> tuple[dict[Keys, list[tuple[Layer, Model]]], dict[Keys, str]]:
    """Find the nodes of each section, or the reason why there are none.

    Sections with equal settings build equal nodes. It doesn't matter which section built which
    node, if there are as many nodes as sections and all are replaced.
    """
    nodes = [(layer, layer.settings_of(n), n) for n in model.walk() for layer in LAYERS]
    matched: dict[Keys, list[list[tuple[Layer, Model]]]] = {}
    reasons: dict[Keys, str] = {}
    for section in sections:
        of_section = [
            [(layer, node) for layer, settings, node in nodes if (layer, settings) == wanted]
            for wanted in _layers_of(section)
        ]
        outer = TOK2VEC_OF.get(section.kind)
        has_vectors = {"include_static_vectors", "pretrained_vectors"} & {
            key for key, value in section.settings.items() if value
        }
        if outer is not None and outer != kind_of(section.parent or ""):
            reasons[section.path] = f"it is not part of a {outer}"
        elif all(of_section):
            matched[section.path] = of_section
        elif section.name.endswith("v1") and has_vectors:
            reasons[section.path] = "tokens without a vector get that of another token in v1"
        else:
            reasons[section.path] = "the model has no such layer"
    while True:
        claims = Counter(id(ns[0][1]) for of_section in matched.values() for ns in of_section)
        wrong = [
            path
            for path, of_section in matched.items()
            if any(claims[id(ns[0][1])] != len(ns) for ns in of_section)
        ]
        if not wrong:
            return {path: sum(nodes, []) for path, nodes in matched.items()}, reasons
        for path in wrong:
            del matched[path]
            reasons[path] = "the model has more such layers than the config"


# Components


def _replace_component(
    change: Change,
    done: Acceleration,
    name: str,
    pipe: Any,  # noqa: ANN401 (any component)
    config: dict[str, Any],
    new: dict[str, Any],
    to_keep: Sequence[Component],
) -> dict[str, Any]:
    """Plan to replace a recognizer, parser or attribute ruler, and return its new config."""
    part, factory = component_of(pipe), config[FACTORY_PATH]
    if part is not None and isinstance(pipe, part.kind):
        done.already.append(Unchanged(name, FACTORY_PATH, factory))
    elif part is not None and part not in to_keep:
        if reason := why_not_replaced(pipe, config):
            done.left.append(Unchanged(name, FACTORY_PATH, factory, reason))
        else:
            done.replaced.append(Replaced(name, FACTORY_PATH, factory, part.factory))
            change.replace_component(name, pipe, part, part.kind, part.factory)
            defaults = deepcopy(change.nlp.get_factory_meta(part.factory).default_config or {})
            return {**defaults, **new, FACTORY_PATH: part.factory}
    return new


_MODELS = ("spacy.TransitionBasedParser.v1", "spacy.TransitionBasedParser.v2")


def why_not_replaced(
    pipe: Union[EntityRecognizer, DependencyParser], config: dict[str, Any]
) -> Optional[str]:
    """Say why our component can't replace spaCy's, or wouldn't help; None if it can.

    config (dict[str, Any]): The component's config, without variables.
    """
    part: Any = component_of(pipe)
    kind, expected = type(pipe), part.spacy_kind
    if kind is not expected:
        return f"it is a {kind.__module__}.{kind.__qualname__}, and not spaCy's {expected.__name__}"
    if config[FACTORY_PATH] not in part.spacy_factories:
        return f"its factory is another than spaCy's {' and '.join(part.spacy_factories)}"
    if not part.state_type:
        return None
    try:
        check_cfg(pipe.name, pipe.cfg)
    except ValueError as error:
        return str(error)
    width = pipe.cfg["beam_width"]
    if width != 1:
        return (
            f"with beam_width = {width}, {part.factory} predicts by spaCy's code, and is no faster"
        )
    settings = dict(config["model"])
    if kind_of(settings.pop(ARCHITECTURES, "")) not in _MODELS:
        return "its model is not a spacy.TransitionBasedParser"
    model: Any = pipe.model
    reference = build_tb_parser_model(**{**settings, "tok2vec": noop(), "nO": None})
    if not isinstance(model, Model) or not (
        model._func is reference._func
        and is_same(model.attrs.get("has_upper"), reference.attrs["has_upper"])
        and isinstance(model.attrs.get("unseen_classes"), set)
        and callable(model.attrs.get("resize_output"))
        and all(
            model.has_ref(name) and is_built_like(reference.get_ref(name), model.get_ref(name))
            for name in ("lower", "upper")
        )
    ):
        return "its model is not built as the config says"
    features = model.get_ref("lower").get_dim("nF")
    if features not in part.num_features:
        possible = " or ".join(map(str, part.num_features))
        return (
            f"it scores states by {features} tokens, and {part.factory} by {possible} "
            f"(state_type = {part.state_type})"
        )
    return None


def make_use_product_ops_v1() -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_pipeline_creation] that gives all layers our products.

    Our own layers use our matrix products anyway. Without the callback, other layers, such as the
    tagger's, use thinc's, which can be several times slower (docs/performance.md). Layers on a GPU
    stay as they are.
    """

    def set_ops(nlp: Language) -> Language:
        for model in models_of(nlp):
            use_kernel_ops(model)
        return nlp

    return set_ops
