"""Corpora: of a file, and of a config with the vocab that the pipeline is going to have."""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable, Union, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.corpus import walk_corpus
from spacy.util import dot_to_object, load_model_from_config, registry
from spacy.vocab import Vocab
from thinc.api import Config
from thinc.types import Ints2d


def read_docs(path: Union[str, Path], vocab: Vocab) -> Iterator[Doc]:
    """Stream the docs of a .spacy file, or of all such files in a folder.

    path (Union[str, Path]): The file or the folder.
    vocab (Vocab): The vocab of the docs.

    Raises FileNotFoundError if there is none, and ValueError for a file that cannot be read or if
    there are no docs.
    """
    path = Path(path)
    files = walk_corpus(path, ".spacy") if path.exists() else []
    if not files:
        raise FileNotFoundError(
            f"There is no corpus at {path}: expected a .spacy file, or a folder of them. Check the "
            "path, or make one with: python -m spacy convert"
        )
    empty = True
    for file_ in files:
        for doc in _open_doc_bin(Path(file_)).get_docs(vocab):
            empty = False
            yield doc
    if empty:
        raise ValueError(f"The corpus at {path} has no documents. Check the path.")


def model_docs(nlp: Language, path: Union[str, Path]) -> Iterator[Doc]:
    """Stream the docs of a corpus with the tokens that a pipeline meets in training on it.

    Texts are cut into tokens anew, as `spacy.Corpus.v1` does, unless their spaces are unknown. Docs
    whose tokens stay the same keep their annotation, but have the NORM that the pipeline computes:
    a file holds the one of whatever made it.

    nlp (Language): The pipeline.
    path (Union[str, Path]): A .spacy file, or a folder of them.

    Raises what `read_docs` raises.
    """
    for example in Corpus(path).make_examples(nlp, read_docs(path, nlp.vocab)):
        met, doc = example.x, example.y
        if [token.orth for token in met] == [token.orth for token in doc]:
            norms = cast(Ints2d, met.to_array(["NORM"]).reshape(-1, 1))
            yield doc.from_array(["NORM"], norms)
        else:
            yield met


def _open_doc_bin(path: Path) -> DocBin:
    try:
        return DocBin().from_disk(path)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(
            f"{path} is cut off, or no .spacy file at all ({error}). Copy or convert it again."
        ) from error


def write_corpora(folder: Path, corpora: Mapping[str, DocBin]) -> None:
    """Write corpora as FOLDER/NAME.spacy: each file whole, and none if one cannot be made.

    folder (Path): The folder, made if missing. Files of the same name are replaced.
    corpora (Mapping[str, DocBin]): The documents of each corpus, by its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Within the folder, so that the move stays on one file system and is atomic.
    with TemporaryDirectory(prefix=".staging-", dir=folder) as staging:
        for name, doc_bin in corpora.items():
            doc_bin.to_disk(Path(staging) / f"{name}.spacy")
        for name in corpora:
            os.replace(Path(staging) / f"{name}.spacy", folder / f"{name}.spacy")


def training_docs(nlp: Language) -> Iterator[Doc]:
    """Stream the docs that the components of a pipeline will be trained on.

    They are made in a pipeline of their own, without components. [initialize.before_init] runs
    before lookups are loaded, and a vocab keeps the NORM that it computed first in each lexeme:
    reading the corpus with nlp.vocab would fix the wrong norms for good.

    nlp (Language): The pipeline, whose config names the corpus.

    Raises ValueError if the corpus cannot be read once and to its end, or has no docs.
    """
    scratch = _make_scratch(nlp)
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
    scratch.initialize(lambda: islice(corpus(scratch), 10))
    empty = True
    for example in corpus(scratch):
        empty = False
        yield example.predicted
    if empty:
        raise ValueError(
            f"The tables cannot be counted: the corpus [{name}] has no documents. Check its path."
        )


def _resolve_corpus(config: Config, name: str) -> Callable[[Language], Iterable[Example]]:
    section = name.split(".")[0]
    corpora = config
    if section in config and registry.is_promise(config[section]):
        # One function makes all corpora.
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
    # Only this one is resolved: another may be without a path.
    return registry.resolve({"corpus": corpus})["corpus"]


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
    if hasattr(nlp.tokenizer, "to_bytes"):  # rules that were added in code
        rules = nlp.tokenizer.to_bytes(exclude=["vocab"])
        scratch.tokenizer.from_bytes(rules)  # type: ignore[union-attr]
    return scratch
