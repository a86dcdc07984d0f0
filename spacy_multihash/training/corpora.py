"""Read what `fit` is given: files of any format, docs, or texts with their annotation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Union

import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..corpus.convert import Reading, read_source, summarize_problems
from ..corpus.read import read_docs
from .options import Options

# Likely problems of a corpus, with details.
Warnings = Sequence[tuple[str, Sequence[str]]]
# A text, and its entities as (start, end, label), its label, or a share for each label.
AnnotatedPair = tuple[str, Union[Sequence[tuple[int, int, str]], str, Mapping[str, float]]]
# A corpus: a file that `convert` reads, a .spacy file, a folder of them, docs, or texts.
Corpus = Union[str, Path, DocBin, Iterable[Doc], Iterable[AnnotatedPair]]

_CONVERT = "use python -m spacy multihash convert, and fit the file that it writes."


@dataclass(frozen=True)
class GivenCorpus:
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
    group = options.group if name == "train" else None
    if isinstance(given, (str, Path)):
        path = Path(given)
        if path.suffix == ".spacy" or (path.is_dir() and any(path.glob("**/*.spacy"))):
            docs = list(read_docs(path, vocab))
            return GivenCorpus(str(path), docs, groups_of(docs, str(path), group))
        if not path.exists():
            raise FileNotFoundError(f"There is no corpus at {path}. Check the path.")
        return _read_file(path, str(path), options, group)
    if isinstance(given, DocBin):
        docs = list(given.get_docs(vocab))
        return GivenCorpus(name, docs, groups_of(docs, name, group))
    items: list[Any] = list(given)
    if not items:
        raise ValueError(f"{name} has no texts. Give docs, or texts with their annotation.")
    if all(isinstance(item, Doc) for item in items):
        made = DocBin(store_user_data=True, docs=items)  # in the vocab of the others
        docs = list(made.get_docs(vocab))
        return GivenCorpus(name, docs, groups_of(docs, name, group))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        srsly.write_jsonl(path, [_as_json(item, f"{name}[{i}]") for i, item in enumerate(items)])
        return _read_file(path, name, options, group)


def _as_json(item: Any, where: str) -> dict[str, Any]:  # noqa: ANN401 (whatever is given)
    """Write a text with its annotation as JSON lines have it."""
    expected = (
        f"{where}: expected a Doc, or a text with its annotation: ('Anna met Bob', [(0, 4, 'PER')])"
        f" or ('It rains', 'weather'), got {item!r:.80}."
    )
    if not isinstance(item, (tuple, list)) or len(item) != 2 or not isinstance(item[0], str):
        raise ValueError(expected)
    text, annotation = item
    if isinstance(annotation, str):
        return {"text": text, "label": annotation}
    if isinstance(annotation, Mapping):
        return {"text": text, "cats": dict(annotation)}
    spans = []
    for span in annotation:
        if len(span) != 3 or not isinstance(span[2], str):
            raise ValueError(expected)
        spans.append(dict(zip(("start", "end", "label"), span, strict=True)))
    return {"text": text, "spans": spans}


def _read_file(path: Path, name: str, options: Options, group: Any) -> GivenCorpus:  # noqa: ANN401
    """Read a file as `convert` does."""
    nlp = spacy.blank(options.lang)
    try:
        source = read_source(path, Reading(group=group))
        docs = [source.make_doc(i, nlp) for i in range(len(source))]
    except ValueError as error:
        said = str(error).replace(str(path), name)
        raise ValueError(f"{said}\nTo name a format or other options, {_CONVERT}") from error
    problems = [
        (f"{name.rpartition('/')[2]}: {title}", [line.replace(str(path), name) for line in lines])
        for title, lines in summarize_problems(source)
    ]
    if source.problems and (hint := source.hint(nlp)):
        problems.append((hint, [f"To give that option, {_CONVERT}"]))
    return GivenCorpus(name, docs, source.groups(), problems)


def groups_of(docs: Sequence[Doc], name: str, key: Any) -> list[str]:  # noqa: ANN401
    """Return the groups of docs by a key of their user_data. Raises ValueError if none has it."""
    groups = [str(doc.user_data.get(key, "")) for doc in docs] if key else []
    if key and not any(groups):
        raise ValueError(
            f"{name}: expected {key!r} as --group, found it in no doc.user_data. Name another key. "
            "DocBin keeps them with store_user_data=True."
        )
    return groups
