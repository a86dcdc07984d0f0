"""spaCy's ner replaced by batch_ner: the same model, actions, labels and settings."""

from copy import deepcopy
from typing import Any, NamedTuple, Optional

from spacy.language import FactoryMeta, Language
from spacy.ml.models.parser import build_tb_parser_model
from spacy.pipeline import EntityRecognizer
from thinc.api import Config, Model, noop

from ..ner.transition.component import BatchEntityRecognizer
from ..ner.transition.states import NUM_FEATURES
from .config import ARCHITECTURES, kind_of
from .nodes import is_built_like
from .report import Acceleration, Already, Left, Replaced

FACTORY = "batch_ner"
# Where the config of a component says what it is.
FACTORY_PATH = "factory"
_SPACYS = ("ner", "beam_ner")
_MODELS = ("spacy.TransitionBasedParser.v1", "spacy.TransitionBasedParser.v2")


class NewRecognizer(NamedTuple):
    """A batch_ner that is to take the place of spaCy's ner.

    name: The name of both in the pipeline.
    old, new: The components. The new one gets its model when it takes the place.
    meta: What spaCy keeps of the new one's factory.
    """

    name: str
    old: EntityRecognizer
    new: BatchEntityRecognizer
    meta: FactoryMeta

    @property
    def defaults(self) -> dict[str, Any]:
        """The default settings of the new one."""
        return deepcopy(self.meta.default_config or {})


def find_hindrance(pipe: EntityRecognizer, config: dict[str, Any]) -> Optional[str]:
    """Say why batch_ner cannot take the place of a recognizer, or is of no use; None if it can.

    config (dict[str, Any]): The component's config, without variables.
    """
    kind = type(pipe)
    if kind is not EntityRecognizer:
        return f"it is a {kind.__module__}.{kind.__qualname__}, and not spaCy's EntityRecognizer"
    if config[FACTORY_PATH] not in _SPACYS:
        return f"its factory is another than spaCy's {' and '.join(_SPACYS)}"
    if pipe.cfg["beam_width"] != 1:
        width = pipe.cfg["beam_width"]
        return f"with beam_width = {width}, batch_ner predicts by spaCy's code, and is no faster"
    settings = dict(config["model"])
    if kind_of(settings.pop(ARCHITECTURES, "")) not in _MODELS:
        return "its model is not a spacy.TransitionBasedParser"
    if not _is_parser(pipe.model, settings):
        return "its model is not built as the config says"
    features = pipe.model.get_ref("lower").get_dim("nF")
    if features not in NUM_FEATURES:
        return f"it scores states by {features} tokens, and batch_ner by 3 or 6 (state_type = ner)"
    return None


def plan_recognizer(
    nlp: Language,
    name: str,
    pipe: object,
    config: dict[str, Any],
    done: Acceleration,
) -> list[NewRecognizer]:
    """Make the batch_ner for a component, if it is a recognizer that can be replaced.

    The component stays as it is.

    config (dict[str, Any]): The component's config, without variables.
    done (Acceleration): The report, to which recognizers are added.
    """
    if not isinstance(pipe, EntityRecognizer):
        return []
    factory = config[FACTORY_PATH]
    if isinstance(pipe, BatchEntityRecognizer):
        done.already.append(Already(name, FACTORY_PATH, factory))
        return []
    hindrance = find_hindrance(pipe, config)
    if hindrance is not None:
        done.left.append(Left(name, FACTORY_PATH, factory, hindrance))
        return []
    done.replaced.append(Replaced(name, FACTORY_PATH, factory, FACTORY))
    return [_make_recognizer(nlp, name, pipe)]


def new_config(recognizer: NewRecognizer, config: dict[str, Any]) -> dict[str, Any]:
    """Write the config of a recognizer anew: its settings stay, those of batch_ner are added."""
    return {**recognizer.defaults, **config, FACTORY_PATH: FACTORY}


def put_in_place(nlp: Language, recognizer: NewRecognizer, config: dict[str, Any]) -> None:
    """Let a batch_ner take the place of spaCy's ner in a pipeline, with a config of its own.

    spaCy's replace_pipe builds a component, and forgets who listens to whom, and what is disabled.
    """
    name = recognizer.name
    recognizer.new.model = recognizer.old.model
    nlp._components[nlp.component_names.index(name)] = (name, recognizer.new)
    nlp._pipe_meta[name] = recognizer.meta
    nlp._pipe_configs[name] = Config(config)


def _make_recognizer(nlp: Language, name: str, pipe: EntityRecognizer) -> NewRecognizer:
    # spaCy's constructor gives the model as many outputs as there are actions, and new layers even
    # if there are as many already. So the new component gets the model when it is in place.
    stand_in: Model = noop()
    stand_in.attrs["resize_output"] = lambda model, nO: model
    cfg = pipe.cfg
    new = BatchEntityRecognizer(
        pipe.vocab,
        stand_in,
        pipe.name,
        pipe.moves,
        update_with_oracle_cut_size=cfg["update_with_oracle_cut_size"],
        beam_width=cfg["beam_width"],
        beam_density=cfg["beam_density"],
        beam_update_prob=cfg["beam_update_prob"],
        incorrect_spans_key=cfg["incorrect_spans_key"],
        scorer=pipe.scorer,
    )
    new.cfg = cfg
    new._multitasks = pipe._multitasks
    new._rehearsal_model = pipe._rehearsal_model
    return NewRecognizer(name, pipe, new, nlp.get_factory_meta(FACTORY))


def _is_parser(model: object, settings: dict[str, Any]) -> bool:
    """Tell whether the layers above the vectors of tokens are those that settings describe."""
    if not isinstance(model, Model):
        return False
    reference = build_tb_parser_model(**{**settings, "tok2vec": noop(), "nO": None})
    return model._func is reference._func and all(
        model.has_ref(name) and is_built_like(reference.get_ref(name), model.get_ref(name))
        for name in ("lower", "upper")
    )
