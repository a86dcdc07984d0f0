"""Tags of entities: names, numbers, and which may follow which, against their names."""

from itertools import pairwise

import numpy
from hypothesis import example, given
from hypothesis import strategies as st

from spacy_multihash.ner.biluo import are_entities, entities_of, tag_names

LABELS = ["GPE", "ORG", "PERSON"]


def follows(before: str, after: str) -> bool:
    """Tell from the names of two tags whether one may follow the other."""
    if before[0] in "BI":
        return after in (f"I{before[1:]}", f"L{before[1:]}")
    return after[0] in "OBU"


def test_tags_are_named_kind_by_kind() -> None:
    assert tag_names(["A", "B"]) == ["O", "B-A", "B-B", "I-A", "I-B", "L-A", "L-B", "U-A", "U-B"]


@given(st.lists(st.lists(st.integers(-2, 5), max_size=3), max_size=3), st.booleans())
@example([[1], [3]], True)  # from the end of a doc to the beginning of the next
@example([[0, 4], [], [1, 2, 3]], True)
def test_tags_are_entities_if_they_follow_from_end_to_end_of_each_doc(
    docs: list[list[int]], all_known: bool
) -> None:
    if all_known:
        docs = [[max(0, min(tag, 4)) for tag in doc] for doc in docs]
    names = tag_names(LABELS[:1])
    expected = all(
        all(0 <= tag < 5 for tag in doc)
        and all(follows(*pair) for pair in pairwise(["O", *(names[tag] for tag in doc), "O"]))
        for doc in docs
    )
    flat = numpy.array([tag for doc in docs for tag in doc], dtype="int64")
    assert are_entities(flat, numpy.array([len(doc) for doc in docs], dtype="int64"), 5) == expected


def test_entities_are_read_off_tags() -> None:
    names = ["U-ORG", "O", "B-GPE", "I-GPE", "L-GPE", "B-PERSON", "L-PERSON", "U-GPE", "O"]
    numbers = {name: number for number, name in enumerate(tag_names(LABELS))}
    tags = numpy.array([numbers[name] for name in names])
    found = numpy.array(entities_of(tags, len(numbers))).T.tolist()
    assert found == [[0, 1, 1], [2, 5, 0], [5, 7, 2], [7, 8, 0]]
