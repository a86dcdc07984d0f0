"""Read what `fit` is given: files of any format, docs, or texts with their annotation."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from ..corpus.convert import convert
from ..corpus.read import check_there, items_of, read_docs, stream
from ..corpus.sources import SUFFIXES, Reading
from .options import Options

# Likely problems of a corpus, with details.
Warnings = Sequence[tuple[str, Sequence[str]]]
# A text, and its entities as (start, end, label), its label, or a share for each label.
AnnotatedPair = tuple[str, Union[Sequence[tuple[int, int, str]], str, Mapping[str, float]]]
# A corpus: a file that `convert` reads, a .spacy file, a folder of them, docs, or texts.
Corpus = Union[str, Path, DocBin, Iterable[Doc], Iterable[AnnotatedPair]]

# What a folder of .spacy files may have beside them, by mistake. Other .json files are labels.
_BESIDE = SUFFIXES.keys() - {".json"}
_CONVERT = "use python -m spacy multihash convert, and fit the file that it writes."


class GivenCorpus(NamedTuple):
    """A corpus that was read.

    name (str): What to call it in messages.
    docs (list[Doc]): The docs, with gold annotation.
    groups (list[str]): What names the document of each doc, or nothing.
    warnings (Warnings): The problems of its lines.
    """

    name: str
    docs: list[Doc]
    groups: list[str]
    warnings: Warnings = ()


def read_given(given: Corpus, name: str, options: Options, vocab: Vocab) -> GivenCorpus:
    """Read a corpus.

    name (str): Its split, to name it in messages if it isn't a file.
    vocab (Vocab): The vocab of the docs.

    Raises OSError or ValueError if it can't be read.
    """
    group: Any = options.group if name == "train" else None
    beside = list[str]()
    if isinstance(given, (str, Path)):
        path = Path(given)
        name = str(path)
        check_there(path, "corpus")
        if path.suffix != ".spacy" and not (path.is_dir() and any(path.glob("**/*.spacy"))):
            return _converted(path, name, options, group)
        docs = list(read_docs(path, vocab))
        beside = sorted(str(x) for x in path.glob("**/*") if x.suffix.lower() in _BESIDE)
    elif isinstance(given, DocBin):
        docs = list(items_of(given, vocab, Doc))
    else:
        expected = f"{name} as a path, docs, or texts with their annotation"
        items = [x.reference if isinstance(x, Example) else x for x in stream(given, expected)]
        if not all(isinstance(item, Doc) for item in items):
            return _converted(items, name, options, group)
        made = DocBin(store_user_data=True, docs=items)  # in the vocab of the others
        docs = list(made.get_docs(vocab))
    groups = [str(doc.user_data.get(group, "")) for doc in docs] if group else []
    if group and not any(groups):
        raise ValueError(
            f"{name}: expected {group!r} as --group, found it in no doc.user_data. Name another "
            "key. DocBin keeps them with store_user_data=True."
        )
    title = f"{name}: not read, as there are .spacy files beside them"
    return GivenCorpus(name, docs, groups, [(title, beside)] if beside else [])


def _converted(given: Any, name: str, options: Options, group: Any) -> GivenCorpus:  # noqa: ANN401
    """Read a file, or texts with their annotation, as `convert` does."""
    try:
        done = convert(given, reading=Reading(group=group), lang=options.lang)
    except ValueError as error:
        where = "" if isinstance(given, (str, Path)) else f"{name}: "
        advice = f"To name a format or other options, {_CONVERT}"
        raise ValueError(f"{where}{error}\n{advice}") from error
    (docs,) = done.docs.values()
    short = name.rpartition("/")[2]
    problems = [(f"{short}: {title}", lines) for title, lines in done.problems()]
    return GivenCorpus(name, docs, list(done.groups), problems)
