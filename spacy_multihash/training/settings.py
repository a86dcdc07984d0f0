"""Choose the settings of a pipeline, and make its config."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Optional, Union

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_package_path, is_package, load_config, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config

from ..common.arguments import checked
from ..common.files import read_json_map
from ..common.outputs import spacy_command
from ..common.result import Result
from ..corpus.read import model_examples, tokens_of
from ..corpus.statistics import has_vectors
from ..embed.features import parse_feature
from ..pipelines.config import drop_removed_settings, require_package
from ..pipelines.parts import EMBED
from ..tables.set_tables import count_corpus
from ..vectors.files import load_vectors

# The pipelines that have a config.
Pipeline = Literal["ner", "batch_ner", "textcat", "textcat_multilabel"]
MAX_SIZE = "10M"
BASE = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
_HASHED_ROWS = (5000, 1000, 2500, 2500)  # as in spaCy's own config
FEW_TOKENS = 25_000
# Most n-grams are rare, and each row takes time in training.
MAX_ROWS = 30_000
MIN_ROWS = 100
# Static vectors pay if they have this share of the words.
MIN_WORDS_WITH_VECTOR = 0.5

_TEMPLATES = Path(__file__).parents[1] / "templates"
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([KMG]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
# The section of each pipeline's embedding, where vectors are switched on.
_EMBED = {
    "ner": "components.tagger_ner.model.tok2vec.embed",
    "batch_ner": "components.tok2vec.model.embed",
    "textcat": "components.textcat.model.tok2vec.embed",
    "textcat_multilabel": "components.textcat.model.tok2vec.embed",
}


class Settings(NamedTuple):
    """Settings for the entities of a corpus.

    attrs (Sequence[str]): The features.
    batch_words (int): The final batch size.
    patience (int): The steps to go on without a better score.
    learn_transitions (bool): Whether the recognizer learns scores of neighbouring tags.
    """

    attrs: Sequence[str]
    batch_words: int
    patience: int
    learn_transitions: bool


# The best on the dev sets of corpora of 300 and 1,000 sentences, and of whole corpora
# (docs/results.md).
FEW = Settings((*BASE, "LOWER[:2]", "LOWER[:3]", "LOWER[-2:]", "LOWER[-4:]"), 200, 600, True)
MANY = Settings((*BASE, "LOWER{3,5}"), 1000, 1600, False)


def settings_for(tokens: int) -> Settings:
    """Choose the settings for a training corpus of so many tokens."""
    return FEW if tokens <= FEW_TOKENS else MANY


@dataclass(frozen=True, eq=False)
class InitConfig(Result):
    """A complete config, ready to train.

    config (Config): The config.
    reasons (Sequence[str]): Why its settings were chosen.
    """

    config: Config = field(repr=False)
    reasons: Sequence[str]

    def notes(self) -> Sequence[str]:
        """What it is, and the reasons."""
        pipeline = ", ".join(self.config["nlp"]["pipeline"])
        about = (
            f"A config for {self.config['nlp']['lang']}: {pipeline}. Write it with .config.to_disk"
        )
        return [about, *self.reasons]

    def to_str(self, *comments: str) -> str:
        """Return the config as text, with comments and the reasons at its top."""
        header = "".join(f"# {line}\n" for line in (*comments, *self.reasons))
        return f"{header}\n{self.config.to_str(interpolate=False)}\n"


@checked
def init_config(
    pipeline: Pipeline,
    lang: str,
    *,
    train: Union[str, Path, None] = None,
    dev: Union[str, Path, None] = None,
    vectors: Union[str, Path, None] = None,
    max_size: Optional[str] = None,
) -> InitConfig:
    """Make a complete config, for entities or texts.

    For example, `init_config("ner", "en").config.to_disk("my.cfg")`.

    pipeline (str): "ner", "batch_ner", "textcat" or "textcat_multilabel".
    lang (str): The language, such as "en", or "xx" for any.
    train (Union[str, Path, None]): The training corpus, a .spacy file or a folder, to choose
        settings by. Only for ner.
    dev (Union[str, Path, None]): The development corpus.
    vectors (Union[str, Path, None]): Static vectors: a package's name, or the path of a pipeline.
        With `train`, they're used if they have most of its words.
    max_size (Optional[str]): The most parameters of the embedding's tables, such as 500K or 5M.
        Only with `train`.
    RETURNS (InitConfig): The config, with a reason for each choice.

    Raises ImportError for an unknown language, FileNotFoundError or ValueError for corpora without
    entities, for vectors that can't be used, and for options that don't apply.
    """
    if train is None and (dev is not None or max_size is not None):
        raise ValueError("--dev and --max-size need --train, which settings are chosen by.")
    if train is not None and pipeline != "ner":
        raise ValueError(f"--train is for ner only, got {pipeline}. Leave it out.")
    vectors = None if vectors is None else str(vectors)
    _check_given(train, dev, vectors)
    _check_vectors_language(lang, vectors)
    if train is None:
        return InitConfig(_make_config(pipeline, lang, vectors), ())
    most = parse_size(max_size or MAX_SIZE)
    nlp = spacy.blank(lang)
    if vectors is not None:
        nlp.vocab.vectors = load_vectors(vectors, or_vocab=False).vectors
    for name, corpus in (("train", train), ("dev", dev)):
        if corpus is not None:
            _check_entities(nlp, name, corpus)
    tokens = sum(map(len, _docs(nlp, train)))
    settings = settings_for(tokens)
    tables = count_corpus(_docs(nlp, train), {name: parse_feature(name) for name in settings.attrs})
    rows, reasons = choose_rows(tokens, {name: len(table) for name, table in tables.items()}, most)
    if vectors is None:
        reasons.append("no static vectors were given")
    else:
        share = words_with_vector(_docs(nlp, train), nlp.vocab)
        given, vectors = vectors, vectors if share >= MIN_WORDS_WITH_VECTOR else None
        words = f"{given} has {100 * share:.1f} % of the words of train"
        reasons.append(f"{'' if vectors else 'no '}static vectors: {words}")
    config = _make_config("ner", lang, vectors)
    model = config["components"]["tagger_ner"]["model"]
    model["tok2vec"]["embed"]["attrs"] = list(settings.attrs)
    model["learn_transitions"] = settings.learn_transitions
    config["initialize"]["before_init"]["max_rows"] = rows
    _set_training(config, settings)
    config["paths"].update(train=str(train), dev=None if dev is None else str(dev))
    return InitConfig(config, reasons)


def init_restorable(lang: str, tokens: int, vectors: Union[str, Path, None] = None) -> InitConfig:
    """Make the config of a pipeline that `restore` can turn into one of spaCy's own.

    It's the config of batch_ner, with hashed values in place of looked up values, as spaCy has
    them.

    tokens (int): The tokens of the training corpus.
    """
    vectors = None if vectors is None else str(vectors)
    _check_vectors_language(lang, vectors)
    config, settings = _make_config("batch_ner", lang, vectors), settings_for(tokens)
    model = config["components"]["tok2vec"]["model"]
    former = model["embed"]
    model["embed"] = {
        "@architectures": EMBED.names[0],
        "width": former["width"],
        "attrs": [*BASE],
        "rows": [*_HASHED_ROWS],
        "include_static_vectors": former["include_static_vectors"],
        **EMBED.added({"attrs": BASE}),
    }
    config["initialize"]["before_init"] = None
    _set_training(config, settings)
    reasons = [
        "batch_ner on MultiHashEmbed with four hashes, which spaCy has too: `restore` can turn the "
        "pipeline into spaCy's own",
        f"train has {tokens:,} tokens: batches of {settings.batch_words:,} words; patience of "
        f"{settings.patience:,} steps",
    ]
    return InitConfig(_filled(config), reasons)


def choose_rows(
    tokens: int, symbols: Mapping[str, int], max_size: int, width: int = 96
) -> tuple[int, list[str]]:
    """Choose the most rows of a table, and give the reasons for the settings of a corpus.

    Each value of a feature has a row, as far as there's room.

    tokens (int): The tokens of the training corpus.
    symbols (Mapping[str, int]): The number of different values of each feature.
    max_size (int): The most parameters of all tables.
    width (int): The parameters of a row.

    Raises ValueError if max_size is too small for tables.
    """
    settings = settings_for(tokens)
    rows = largest_table([*symbols.values()], max_size // width)
    if rows < min(MIN_ROWS, max(symbols.values()) + 1):
        least = width * sum(min(number + 1, MIN_ROWS) for number in symbols.values())
        raise ValueError(
            f"--max-size must be at least {least:,} parameters, got {max_size:,}: the smallest "
            f"tables of {', '.join(symbols)} have that many at width {width}."
        )
    sizes = {name: min(number + 1, rows) for name, number in symbols.items()}
    listed = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    reasons = [
        f"train has {tokens:,} tokens, {'at most' if settings is FEW else 'more than'} "
        f"{FEW_TOKENS:,}: features {', '.join(settings.attrs)}; batches of "
        f"{settings.batch_words:,} words; patience of {settings.patience:,} steps"
        f"{'; learned transitions' * settings.learn_transitions}",
        f"rows {listed}: {width * sum(sizes.values()):,} of {max_size:,} parameters",
    ]
    cut = [name for name, number in symbols.items() if number >= rows]
    if cut:
        reasons.append(f"at most {rows:,} rows: the rare values of {', '.join(cut)} are unknown")
    return rows, reasons


def largest_table(symbols: Sequence[int], total: int) -> int:
    """Return the most rows of a table, at most 30,000, so that all tables have `total` at most.

    symbols (Sequence[int]): The symbols of each table, which has a row more, for unknown symbols.
    """
    left, rows = total, 0
    for i, number in enumerate(sorted(symbols)):
        rows = left // (len(symbols) - i)
        if number + 1 > rows:
            return min(rows, MAX_ROWS)
        left -= number + 1
    return MAX_ROWS


def words_with_vector(docs: Iterable[Doc], vocab: Vocab) -> float:
    """Return the share of different words of docs that have a vector in their vocab."""
    words = numpy.unique(numpy.concatenate([doc.to_array(vocab.vectors.attr) for doc in docs]))
    return float(has_vectors(vocab.vectors, words).mean())


def parse_size(text: str) -> int:
    """Read a number of parameters, such as 5M. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(str(text).strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1:
        raise ValueError(f"--max-size must be like 500K, 5M or 1G, got {text!r}.")
    return size


def _docs(nlp: Language, path: Union[str, Path]) -> Iterable[Doc]:
    return tokens_of(model_examples(nlp, path))


def _check_entities(nlp: Language, name: str, path: Union[str, Path]) -> None:
    examples = model_examples(nlp, path)
    if not any(example.get_aligned_spans_y2x(example.y.ents) for example in examples):
        raise ValueError(
            f"The {name} corpus {path} has no entities that align with the tokens of {nlp.lang}. "
            "Check its path, its annotation and --lang, with: python -m spacy multihash "
            "corpus-stats"
        )


def _make_config(pipeline: Pipeline, lang: str, vectors: Optional[str]) -> Config:
    template: str = "textcat" if pipeline == "textcat_multilabel" else pipeline
    if vectors is not None and template == "textcat":
        template = "textcat_vectors"
    overrides: dict[str, Any] = {"nlp.lang": lang}
    if pipeline == "textcat_multilabel":
        overrides["components.textcat.factory"] = pipeline
        overrides["components.textcat.model.exclusive_classes"] = False
    if vectors is not None:
        overrides[f"{_EMBED[pipeline]}.include_static_vectors"] = True
    config = _filled(load_config(_TEMPLATES / f"{template}.cfg", overrides=overrides))
    config["paths"]["vectors"] = vectors
    require_package(config)
    return config


def _filled(config: Config) -> Config:
    config = load_model_from_config(config, auto_fill=True).config
    drop_removed_settings(config)
    return config


def _set_training(config: Config, settings: Settings) -> None:
    size = config["training"]["batcher"]["size"]
    size.update(start=min(size["start"], settings.batch_words), stop=settings.batch_words)
    config["training"]["patience"] = settings.patience


def _check_vectors_language(lang: str, vectors: Optional[str]) -> None:
    """Raise ValueError for vectors of another language, as spaCy does in training."""
    if vectors is None:
        return
    path = folder = Path(vectors)
    if not path.exists() and is_package(vectors):
        folder = get_package_path(vectors)
    meta = read_json_map(folder / "meta.json", lang=str) if (folder / "meta.json").is_file() else {}
    if (theirs := meta.get("lang") or lang) != lang:
        raise ValueError(
            f"--lang is {lang}, but the vectors of {vectors} are of the language {theirs}, which "
            "spaCy refuses. Give other vectors, or write them again with: "
            + spacy_command("multihash", "vectors", "COMMAND", path, "OUT", "--lang", lang)
        )


def _check_given(*paths: object) -> None:
    """Raise ValueError for a path with a $, which starts a variable in configs."""
    for path in paths:
        if "$" in str(path):
            raise ValueError(
                f"{path} cannot be in a config, because a $ starts a variable there. Rename it."
            )
