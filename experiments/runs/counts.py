"""How many predictions of each sentence are right: what the error of a test set is computed from.

They are kept with the results of a run, as compressed text.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence

import numpy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_multihash.corpus.entities import KnownEntities
from spacy_multihash.corpus.evaluation import masked_parts

# True positives, false positives and false negatives of each sentence or doc. Shape: (units, 3).
Counts = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.uint16]]
COLUMNS = 3
DTYPE = "<u2"
ALL = "all"


def entity_counts(examples: Sequence[Example]) -> Counts:
    """Count the entities of each gold sentence that are found, made up and missed.

    An entity belongs to the sentence of its first token. A doc without sentences is one sentence.
    Docs, and entities with tokens, that lack gold annotation do not count, as in spaCy's scores.

    examples (Sequence[Example]): Predicted and gold docs.

    Returns true positives, false positives and false negatives. Shape: (sentences, 3).
    """
    counts = [_of_doc(example) for example in examples if example.y.has_annotation("ENT_IOB")]
    return numpy.concatenate([numpy.zeros((0, COLUMNS), dtype=DTYPE), *counts])


def part_counts(examples: Sequence[Example], known: KnownEntities) -> dict[str, Counts]:
    """Count all, seen and unseen entities as `entity_counts` does, by the name of the part.

    The entities of the other part are masked, as in the scores of parts.
    """
    parts = {ALL: examples, **masked_parts(examples, known)}
    return {name: entity_counts(part) for name, part in parts.items()}


def name_counts(split: str, part: str) -> str:
    """Name the counts of a part of a split, as results and tables do."""
    return split if part == ALL else f"{split}, {part}"


def pack_parts(split: str, counts: Mapping[str, Counts]) -> dict[str, str]:
    """Write the counts of the parts of a split as text, by their names."""
    return {name_counts(split, part): pack(of_part) for part, of_part in counts.items()}


def category_counts(examples: Sequence[Example]) -> Counts:
    """Count the categories of each doc, which has one, that are found, made up and missed.

    Returns true positives, false positives and false negatives. Shape: (docs, 3).
    """
    right = [best_category(e.predicted) == best_category(e.reference) for e in examples]
    return numpy.array([(r, not r, not r) for r in right], dtype=DTYPE).reshape(-1, COLUMNS)


def best_category(doc: Doc) -> str:
    """Return the category of a doc with the highest score."""
    return max(doc.cats, key=lambda label: doc.cats[label])


def pack(counts: Counts) -> str:
    """Write counts as text. Shape: (units, 3)."""
    return base64.b64encode(zlib.compress(counts.astype(DTYPE).tobytes(), 9)).decode("ascii")


def unpack(text: str) -> Counts:
    """Read counts from text. Shape: (units, 3).

    Raises ValueError for damaged text.
    """
    try:
        flat = numpy.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), DTYPE)
    except zlib.error as error:
        raise ValueError(f"Counts of sentences cannot be decompressed ({error})") from error
    return flat.reshape(-1, COLUMNS)


def _of_doc(example: Example) -> Counts:
    gold = example.y
    starts = [token.is_sent_start is True for token in gold]
    sentence = numpy.cumsum([0, *starts[1:]]) if len(gold) else numpy.zeros(0, dtype="i")
    golds = {(ent.label_, ent.start, ent.end) for ent in gold.ents}
    found = _aligned_entities(example)
    counts = numpy.zeros((len(gold) and int(sentence[-1]) + 1, COLUMNS), dtype=DTYPE)
    for column, entities in enumerate((found & golds, found - golds, golds - found)):
        for _, start, _ in entities:
            counts[sentence[start], column] += 1
    return counts


def _aligned_entities(example: Example) -> set[tuple[str, int, int]]:
    """Return the label, the start and the end of predicted entities, in tokens of the gold doc."""
    entities = set()
    for ent in example.x.ents:
        covered = example.alignment.x2y[ent.start : ent.end]
        if len(covered) and all(t.ent_iob for t in example.y[covered[0] : covered[-1] + 1]):
            entities.add((ent.label_, int(covered[0]), int(covered[-1]) + 1))
    return entities
