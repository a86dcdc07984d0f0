"""Make the tables of static vectors, and the pretrained weights, that experiments compare."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Optional

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.pretrain import pretrain as spacy_pretrain
from spacy.vectors import Vectors
from wasabi import msg

from experiments.arms.tasks import HASH_EMBED, NER
from experiments.arms.vectors import (
    ALIGNED,
    CENTRE,
    MERGES,
    OTHER,
    PREFIX,
    PRETRAINED,
    QUANTIZED,
    TRANSFORMS,
    WORD2VEC,
)
from experiments.runs.grid import CORPUS, Run, lacks, run_config
from experiments.runs.vector_files import (
    CENTRED_SETS,
    FOREIGN,
    SMALL_SETS,
    VECTOR_SETS,
    VECTORS,
    made_path,
    vectors_path,
)
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.vectors.files import open_table, write_table
from spacy_multihash.vectors.table import MappedRows, VectorTable

# The width of word2vec's vectors. A word needs this count, and texts are read as often.
WIDTH, MIN_COUNT, EPOCHS = 100, 2, 20
# The command of each transform. The widths of the others are those of the table.
COMMANDS: dict[str, Sequence[str]] = {
    "centre": ("centre",),
    "drop_top": ("drop-top", "--number", "7"),
    "pca": ("pca", "--width", "150"),
    "ppa_pca_ppa": ("pca", "--width", "143", "--drop-top", "14"),
    "z_norm": ("z-norm",),
    "unit": ("unit",),
    "morty": ("morty",),
    "quantize_float16": ("quantize", "--method", "float16"),
    "quantize_int8": ("quantize", "--method", "int8"),
    "quantize_pq": ("quantize", "--method", "pq"),
    "merge_pca": ("merge", "--method", "pca"),
    "merge_gcca": ("merge", "--method", "gcca"),
    "procrustes": ("align", "--method", "procrustes"),
    "cca": ("align", "--method", "cca"),
}
# The width of the tables that are compared with those of merged ones.
MERGED_WIDTH = 300


def made_names(dataset: str) -> list[str]:
    """Name what is made for a data set, in the order in which one needs the other."""
    others = [OTHER] if dataset in FOREIGN else []
    aligned = ALIGNED if dataset in FOREIGN else ()
    pretrained = [PRETRAINED] if dataset in SMALL_SETS else []
    transforms = [name for name in TRANSFORMS if name != CENTRE or dataset in CENTRED_SETS]
    return [*others, WORD2VEC, *transforms, *MERGES, *QUANTIZED, *aligned, *pretrained]


def make(dataset: str, name: str) -> None:
    """Make a table, or the pretrained weights, of a data set. It appears when it is complete.

    dataset (str): One of `VECTOR_SETS`, with its corpus.
    name (str): One of `made_names` that is not there yet.

    Raises ImportError without gensim, and ValueError if a command fails.
    """
    with _making(made_path(dataset, name)) as path:
        lang, own = NER.langs[dataset], vectors_path(VECTORS[dataset])
        others = (OTHER, WORD2VEC) if dataset in FOREIGN else (WORD2VEC,)
        tables = [str(made_path(dataset, other)) for other in others]
        if name == OTHER:
            source = vectors_path(VECTORS[FOREIGN[dataset]])
            with open_table(source) as table:
                write_table(path, replace(table, lang=lang))
        elif name == WORD2VEC:
            docs = read_docs(CORPUS / dataset / "train.spacy", spacy.blank(lang).vocab)
            train_word2vec(docs, lang).to_disk(path)
        elif name == PRETRAINED:
            pretrain(dataset, path)
        elif name in ALIGNED:
            _vectors(COMMANDS[name], tables[0], own, path)
        else:
            sources = [own, *tables] if name in MERGES else [own]
            width = ("--width", str(MERGED_WIDTH)) if name in MERGES else ()
            whole, pruned = path.with_name("whole"), path.with_name("pruned")
            _vectors((*COMMANDS[name], *width), *sources, whole, "--lang", lang)
            # words of no text change no score, and every trained pipeline has a copy
            _vectors(("prune",), whole, pruned, "--words", CORPUS / dataset)
            if name in QUANTIZED:  # for a model that knows the table as it was
                pruned.rename(path)
            else:
                rescale(pruned, own, path)


def rescale(source: Path, own: str, path: Path) -> None:
    """Write a table times a number, so that its words are as long as before, in the mean.

    Recognizers would otherwise learn from vectors of other lengths, however they were transformed.

    source (Path): The table, with the words of a corpus alone.
    own (str): The table of the language, which it was made of. The words of both count.
    path (Path): The folder to write.

    Raises ValueError if there are no such words.
    """
    with open_table(source) as table, open_table(own) as before:
        places = before.find(table.keys)
        shared = places >= 0
        lengths = _lengths(before, before.rows[places[shared]])
        new_lengths = _lengths(table, table.rows[shared])
        there = (lengths > 0) & (new_lengths > 0)
        if not there.any():
            raise ValueError(
                f"The corpus has no word that {own} has, so that vectors that are made of it have "
                "no length to keep. Give vectors of words in the language of the corpus."
            )
        factor = float(lengths[there].mean() / new_lengths[there].mean())
        rows = MappedRows(table.data, lambda X: X * factor, table.width)
        write_table(path, replace(table, data=rows))


def _lengths(table: VectorTable, rows: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(numpy.linalg.norm(table.data[rows], axis=1))


def train_word2vec(docs: Iterable[Doc], lang: str) -> Language:
    """Train word2vec (skip-gram) on the words of docs, as they are written.

    Returns a pipeline without components, with the vectors of words that occur twice or more.
    """
    from gensim.models import Word2Vec

    texts = [[token.text for token in doc] for doc in docs]
    # with one worker, the same vectors each time
    model = Word2Vec(
        texts, vector_size=WIDTH, sg=1, min_count=MIN_COUNT, epochs=EPOCHS, seed=0, workers=1
    )
    nlp = spacy.blank(lang)
    words = model.wv.index_to_key
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=model.wv.vectors, keys=words, name=WORD2VEC
    )
    return nlp


def pretrain(dataset: str, path: Path) -> None:
    """Pretrain the tok2vec of the arms that begin with it, on the training texts alone."""
    config = run_config(Run(dataset, f"{PREFIX}tuned"))
    config["paths"]["init_tok2vec"] = None
    with TemporaryDirectory() as folder:
        spacy_pretrain(config.interpolate(), Path(folder), silent=True)
        shutil.copyfile(Path(folder) / "model-last.bin", path)


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """Yield another path, which becomes this one if nothing is raised."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f"{path.name}-") as folder:
        unfinished = Path(folder) / path.name
        yield unfinished
        unfinished.replace(path)


def _vectors(command: Sequence[str], *arguments: object) -> None:
    """Run a command of `multihash vectors`, as users do."""
    name, *options = command
    line = [sys.executable, "-m", "spacy", "multihash", "vectors", name]
    done = subprocess.run(
        [*line, *map(str, arguments), *options], capture_output=True, check=False, text=True
    )
    if done.returncode:
        raise ValueError(f"{' '.join(line[1:])} failed: {done.stdout[-500:]}{done.stderr[-500:]}")


def make_vectors_cli(
    datasets: Annotated[
        Optional[list[str]], typer.Argument(help=f"Data sets: {', '.join(VECTOR_SETS)}")
    ] = None,
) -> None:
    """Make the tables and the pretrained weights that arms of vectors need.

    What is there already is left. Delete assets/vectors-made/ to make all of it anew.

    DOCS: docs/vectors-results.md
    """
    try:
        for dataset in datasets or VECTOR_SETS:
            _check(dataset)
            for name in made_names(dataset):
                if not made_path(dataset, name).exists():
                    make(dataset, name)
                    msg.good(f"Made {made_path(dataset, name)}")
    except ImportError as error:
        advice = "Install the package: python -m pip install -e '.[experiments]'"
        msg.fail("Could not make the vectors", f"{error}. {advice}", exits=1)
    except (OSError, ValueError) as error:
        msg.fail("Could not make the vectors", str(error), exits=1)


def _check(dataset: str) -> None:
    """Raise ValueError unless a data set has experiments on vectors, a corpus and its tables."""
    if dataset not in VECTOR_SETS:
        raise ValueError(f"Unknown data set {dataset!r}. Choose one of: {', '.join(VECTOR_SETS)}.")
    for each in filter(None, (dataset, FOREIGN.get(dataset))):
        if what := lacks(Run(each, HASH_EMBED, VECTORS[each])):
            raise ValueError(f"{dataset} needs {what}")
