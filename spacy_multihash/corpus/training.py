"""The training corpus of a config, read with the future vocab of the pipeline."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Callable, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import dot_to_object, load_model_from_config, registry
from spacy.vocab import Vocab
from thinc.api import Config

from .read import DOCS, list_shards, open_doc_bin, read_docs, tokens_of

CORPUS = "spacy.Corpus.v1"


def training_docs(nlp: Language) -> Iterator[Doc]:
    """Stream the docs that a pipeline's components will be trained on, without augmentation.

    An augmenter of `spacy.Corpus.v1` is left out: its noise would be counted as words. Other
    readers are used as they are.

    The docs are made with a separate pipeline without components. [initialize.before_init] runs
    before lookups are loaded, and a vocab keeps the first NORM that it computes for a word, so
    reading the corpus with nlp.vocab would keep wrong norms. Docs keep their annotation instead of
    the annotation of earlier components.

    Raises ValueError if the corpus can't be read once to its end, or has no docs.
    """
    config = nlp.config.interpolate()
    name = config["training"]["train_corpus"]
    if config["training"]["max_epochs"] == -1:
        raise ValueError(
            f"The tables cannot be counted from {name}: the corpus is streamed "
            "([training] max_epochs = -1) and may have no end. Count a finite sample with: "
            "python -m spacy multihash init-tables, with --training.max_epochs 0 "
            "and the sample's path, and give its file as [initialize.before_init] path."
        )
    corpus = _resolve_corpus(config, name)
    scratch = _make_scratch(nlp)
    empty = True
    try:
        scratch.initialize(lambda: islice(corpus(scratch), 10))
        for doc in tokens_of(corpus(scratch)):
            empty = False
            yield doc
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        _check_files(config, name)
        raise
    if empty:
        raise ValueError(
            f"The tables cannot be counted: the corpus [{name}] has no documents. Check its path."
        )


def shard_pipeline(nlp: Language) -> Language:
    """Make a pipeline that reads the shards of a training corpus, as `training_docs` would."""
    scratch = _make_scratch(nlp)
    scratch.initialize()
    return scratch


def _resolve_corpus(config: Config, name: str) -> Callable[[Language], Iterable[Example]]:
    section = name.split(".")[0]
    corpora = config
    if section in config and registry.is_promise(config[section]):
        # A single function makes all corpora.
        corpora = cast(Config, registry.resolve({section: config[section]}))
    try:
        corpus = dot_to_object(corpora, name)
    except KeyError:
        raise ValueError(
            f"The tables cannot be counted: the config has no [{name}], which [training] "
            "train_corpus names. Add the corpus, or give a file of tables as "
            "[initialize.before_init] path."
        ) from None
    if corpora is not config:
        return corpus
    if _is_spacys(corpus):
        corpus = {**corpus, "augmenter": None}
    # Other corpora aren't resolved, since they may have no path.
    return registry.resolve({"corpus": corpus})["corpus"]


def _check_files(config: Config, name: str) -> None:
    """Raise an error that names the missing or first damaged file of a spaCy corpus."""
    if registry.is_promise(config[name.split(".")[0]]):
        return  # a single function makes all corpora
    corpus = dot_to_object(config, name)
    if _is_spacys(corpus) and corpus["path"] is not None:
        read_docs(corpus["path"], Vocab())
        for path in list_shards(Path(corpus["path"]), (DOCS,))[0]:
            open_doc_bin(path)


def _is_spacys(corpus: Any) -> bool:  # noqa: ANN401 (whatever a config holds)
    return registry.is_promise(corpus) and corpus.get("@readers") == CORPUS


def _make_scratch(nlp: Language) -> Language:
    """Build a pipeline with the language, tokenizer and lookups of another, and no components."""
    config = Config(nlp.config).copy()
    config["components"] = {}
    config["nlp"].update(pipeline=[], disabled=[], after_pipeline_creation=None)
    config["initialize"].update(
        before_init=None, after_init=None, init_tok2vec=None, vectors=None, components={}
    )
    config["training"].update(frozen_components=[], annotating_components=[])
    scratch = load_model_from_config(config, auto_fill=True)
    if hasattr(nlp.tokenizer, "to_bytes"):  # may have rules that were added in code
        rules = nlp.tokenizer.to_bytes(exclude=["vocab"])
        scratch.tokenizer.from_bytes(rules)  # type: ignore[union-attr]
    return scratch
