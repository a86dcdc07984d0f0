"""The baseline of the experiments: a linear-chain CRF with handmade features.

The features of a token are the words around it, and their shapes and affixes. The features, IOB2
tags and regularization were chosen in a few trials, on the dev split of conll-es alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from spacy.lang.lex_attrs import word_shape
from spacy.tokens import Doc, Span
from spacy.training import biluo_tags_to_spans, iob_to_biluo

from spacy_multihash.common.files import write_bytes
from spacy_multihash.corpus.conll import to_iob2

if TYPE_CHECKING:
    import pycrfsuite

WINDOW = 2
AFFIX_WINDOW = 1
PREFIXES = (1, 2, 3)
SUFFIXES = (2, 3)
# For CRFsuite's L-BFGS. c1 and c2 are the weights of the L1 norm and of the squared L2 norm.
PARAMS = {"c1": 0.5, "c2": 0.01, "max_iterations": 100}


@dataclass(frozen=True)
class CrfTraining:
    """The cost of training a CRF, and the size of the model.

    seconds, cpu_seconds (float): The wall-clock time and the CPU time.
    features (int): The number of nonzero weights, of features with tags and of tag pairs.
    """

    seconds: float
    cpu_seconds: float
    features: int


@lru_cache(maxsize=2**14)
def word_features(word: str) -> list[list[str]]:
    """Make the features of a word for each position in a window, from first to last."""
    wide = [f"word={word}", f"lower={word.lower()}", f"shape={word_shape(word)}"]
    prefixes = [f"prefix{n}={word[:n]}" for n in PREFIXES]
    near = [*wide, *prefixes, *(f"suffix{n}={word[-n:]}" for n in SUFFIXES)]
    return [
        [f"{offset}:{feature}" for feature in (near if abs(offset) <= AFFIX_WINDOW else wide)]
        for offset in range(-WINDOW, WINDOW + 1)
    ]


def features(words: Sequence[str]) -> list[list[str]]:
    """Make the features of each token of a sentence.

    words (Sequence[str]): The words of the sentence.
    """
    by_word = [word_features(word) for word in words]
    shapes = ["", *map(word_shape, words), ""]
    rows = []
    for i in range(len(words)):
        before, shape, after = shapes[i : i + 3]
        row = ["bias", f"shapes={before}|{shape}|{after}"]
        row += [f"shapes-={before}|{shape}", f"shapes+={shape}|{after}"]
        for j in range(max(0, i - WINDOW), min(len(words), i + WINDOW + 1)):
            row += by_word[j][j - i + WINDOW]
        rows.append(row)
    if rows:
        rows[0].append("first")
        rows[-1].append("last")
    return rows


def sentences(doc: Doc) -> list[Span]:
    """Return the sentences of a doc, or the whole doc if they are unknown."""
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


def gold_tags(sentence: Span) -> list[str]:
    """Return the IOB2 tag of each token. Each part of an entity across sentences is an entity."""
    tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in sentence]
    return repair(tags)


def repair(tags: Sequence[str]) -> list[str]:
    """Return a sentence's tags with B- for each I- that doesn't continue an entity of its label."""
    return to_iob2(tags, [False] * len(tags))


def train_crf(docs: Iterable[Doc], path: Path) -> CrfTraining:
    """Train a CRF and write it to a file, whole or not at all. The same docs give the same bytes.

    docs (Iterable[Doc]): The docs, with gold entities. Sentences are left out if any token lacks
        annotation.
    path (Path): The file of the model.

    Raises ValueError if there are no entities to learn.
    """
    cpu, wall = process_time(), perf_counter()
    import pycrfsuite  # an extra that only the CRF needs

    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.select("lbfgs")
    trainer.set_params(PARAMS)
    seen: Counter[str] = Counter()
    for sentence in (sentence for doc in docs for sentence in sentences(doc)):
        if all(token.ent_iob for token in sentence):
            tags = gold_tags(sentence)
            trainer.append(features([token.text for token in sentence]), tags)
            seen.update(tags)
    if not seen.keys() - {"O"}:
        raise ValueError(
            f"A CRF needs training docs with entities, found none among {seen.total()} annotated "
            "tokens. Check the corpus: sentences with missing annotation are left out."
        )
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        trainer.train(str(model))
        write_bytes(path, model.read_bytes())
    last = trainer.logparser.last_iteration or {"active_features": 0}
    return CrfTraining(perf_counter() - wall, process_time() - cpu, last["active_features"])


def predict_crf(path: Path, docs: Iterable[Doc]) -> Iterator[Doc]:
    """Return an iterator over copies of docs, with the entities that a CRF finds.

    An I- tag that doesn't continue an entity of its label in the sentence opens a new entity.

    path (Path): The file of the model.
    docs (Iterable[Doc]): The docs, which are streamed and don't change.

    Raises FileNotFoundError if the file is missing.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no CRF at {path}.")
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return (_predict(tagger, doc) for doc in docs)


def _predict(tagger: "pycrfsuite.Tagger", doc: Doc) -> Doc:
    predicted, tags = doc.copy(), []
    for sentence in sentences(doc):
        tags += repair(tagger.tag(features([token.text for token in sentence])))
    predicted.set_ents(biluo_tags_to_spans(predicted, iob_to_biluo(tags)))
    return predicted
