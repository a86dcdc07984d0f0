"""What `fit` is going to do with a corpus: its splits, its warnings and the config."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

from spacy.tokens import DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from ..common.result import Result, Table
from ..corpus.read import write_corpora
from ..corpus.splits import SPLITS
from ..corpus.statistics import CorpusStats, corpus_stats
from .corpora import Corpus, Warnings, read_given
from .options import Options, options_of
from .report import corpus_table
from .settings import init_config, init_restorable
from .splits import (
    Split,
    check_docs,
    few_entities,
    shared_texts,
    split_docs,
    unknown_documents,
)
from .texts import has_exclusive_labels


@dataclass(frozen=True, eq=False)
class FitPlan(Result):
    """What `fit` is going to do with a corpus.

    options (Options): How.
    split (Split): The docs of train, dev and test.
    config (Config): The config to train.
    stats (CorpusStats): The counts of the splits.
    warnings (Warnings): What looks wrong in the corpus, with details.
    reasons (Sequence[str]): Why the settings were chosen.
    """

    options: Options
    split: Split = field(repr=False)
    config: Config = field(repr=False)
    name: str
    stats: CorpusStats
    warnings: Warnings
    reasons: Sequence[str]

    @property
    def settings(self) -> str:
        """The settings in a line."""
        if self.options.textcat:
            return describe_settings(self.config)["model"]
        embed = next(s for s in _sections(self.config["components"]) if "attrs" in s)
        return f"{embed['@architectures'].split('.')[1]} of {', '.join(embed['attrs'])}"

    def tables(self) -> Iterator[Table]:
        """The splits."""
        yield corpus_table(self.stats)

    def notes(self) -> Iterator[str]:
        """The warnings, and the settings."""
        for title, lines in self.warnings:
            yield "\n".join((title, *lines))
        yield f"Settings: {self.settings}"


def plan_fit(
    train: Corpus,
    dev: Optional[Corpus] = None,
    test: Optional[Corpus] = None,
    **options: Any,  # noqa: ANN401
) -> FitPlan:
    """Read and split a corpus, look for mistakes in it, and choose settings, without training.

    The arguments are the same as for `fit`.
    """
    how, vocab = options_of(**options), Vocab()
    if how.group is not None and dev is not None and test is not None:
        raise ValueError("--group is for splitting. Leave it out, or give no --dev or --test.")
    if train is None:
        raise ValueError("Expected a corpus to train on, got None.")
    given = {
        name: read_given(corpus, name, how, vocab)
        for name, corpus in (("train", train), ("dev", dev), ("test", test))
        if corpus is not None
    }
    docs = {name: corpus.docs for name, corpus in given.items()}
    names = {name: corpus.name for name, corpus in given.items()}
    split = split_docs(docs, how, given["train"].groups, names["train"])
    check_docs(split.docs, names, how)
    with TemporaryDirectory() as folder:
        write_corpora(Path(folder), {name: DocBin(docs=of) for name, of in split.docs.items()})
        paths = {name: Path(folder, f"{name}.spacy") for name in split.docs}
        others = map(paths.get, SPLITS[1:])
        stats = corpus_stats(paths["train"], *others, lang=how.lang)
        config, reasons = _choose_config(how, paths, stats.splits["train"].tokens)
    titles = stats.warnings()
    titles += shared_texts(split.docs)
    if not how.textcat:
        titles += [*few_entities(stats), *unknown_documents(stats, split.by)]
    warnings = [*chain(*(corpus.warnings for corpus in given.values()))]
    warnings += [(title, ()) for title in titles]
    config = complete_config(config, how.settings, how.seed)
    return FitPlan(how, split, config, Path(names["train"]).name, stats, warnings, reasons)


def _choose_config(
    options: Options, paths: Mapping[str, Path], tokens: int
) -> tuple[Config, Sequence[str]]:
    """Choose the settings for corpora, of which train has so many tokens, and give the reasons."""
    lang, vectors, more = options.lang, options.vectors, list[str]()
    if options.config != "ner":
        chosen = init_restorable(lang, tokens, vectors)
    elif not options.textcat:
        corpora: Any = {"train": paths["train"], "dev": paths["dev"]}
        chosen = init_config("ner", lang, **corpora, vectors=vectors, max_size=options.max_size)
    else:
        docs = DocBin().from_disk(paths["train"]).get_docs(Vocab())
        is_exclusive = has_exclusive_labels(doc.cats for doc in docs)
        kind: Any = "textcat" if is_exclusive else "textcat_multilabel"
        number = "one label" if is_exclusive else "any number of labels"
        more.append(f"{kind}: each text of train has {number}")
        if vectors is None:
            more.append("TextCatBOW, spaCy's: as good on AG News as our n-grams, a third the size")
        chosen = init_config(kind, lang, vectors=vectors)
    return chosen.config, [*chosen.reasons, *more]


def complete_config(config: Config, settings: Mapping[str, Any], seed: int) -> Config:
    """Set the seed and other settings. Raises ValueError for settings that there aren't."""
    config["system"]["seed"] = seed
    names = list(_names(config))
    for name in settings:
        if name not in names:
            near = [f" Did you mean --{other}?" for other in get_close_matches(name, names, 1)]
            raise ValueError(f"There's no option or setting --{name}.{''.join(near)}")
    text = config.to_str(interpolate=False)
    config = Config().from_str(text, interpolate=False, overrides=dict(settings))
    training = config.interpolate()["training"]
    if 0 < training["max_steps"] < training["eval_frequency"]:  # the last step would go unscored
        config["training"]["eval_frequency"] = training["max_steps"]
    return config


def _names(section: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the names of all sections and settings, such as training.seed."""
    for name, value in section.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _names(value, f"{prefix}{name}.")


def describe_settings(config: Config) -> dict[str, str]:
    """Name the settings of a config that matter in a comparison."""
    config = config.interpolate()
    names = [name for name in config["nlp"]["pipeline"] if name != "tok2vec"]
    components = [config["components"][name] for name in names]
    sections = [s for s in _sections(config["components"]) if "@architectures" in s]
    chosen = [
        s["@architectures"] for s in sections if "attrs" in s or ".TextCat" in s["@architectures"]
    ]
    architectures = dict.fromkeys(name.split(".")[1] for name in chosen)
    patience = config["training"]["patience"]
    return {
        "model": ", ".join([*(component["factory"] for component in components), *architectures]),
        "static vectors": config["paths"]["vectors"] or "none",
        "patience": f"{patience:,} steps" if patience else "none",
    }


def _sections(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a section and all that are in it, the outer ones first."""
    yield config
    for section in config.values():
        if isinstance(section, dict):
            yield from _sections(section)
