"""The learning curve: parts of train, and what they show."""

import re
from itertools import pairwise

import pytest
import spacy
from spacy.tokens import Doc

from spacy_multihash.training.curve import Curve, Point, is_enough, nested_parts
from spacy_multihash.training.options import Options
from spacy_multihash.training.splits import Split, split_docs

VOCAB = spacy.blank("xx").vocab


def make_split(groups: list[str], *, textcat: bool = False) -> Split:
    docs = [Doc(VOCAB, words=["word", str(i)]) for i in range(600)]
    return split_docs({"train": docs}, Options("xx", textcat=textcat), groups)


@pytest.mark.parametrize(
    ("groups", "textcat", "by"),
    [
        ([str(i // 6) for i in range(600)], False, "groups"),
        ([], False, "order"),
        ([], True, "chance"),
    ],
)
def test_parts_are_nested_and_whole_groups(groups: list[str], textcat: bool, by: str) -> None:
    split = make_split(groups, textcat=textcat)
    train, parts = split.docs["train"], nested_parts(split, 0)
    assert split.by == by
    place = {id(doc): i for i, doc in enumerate(train)}
    places = [[place[id(doc)] for doc in part] for part in parts]
    largest = [*places[1:], [*range(len(train))]]
    for part, share, larger in zip(places, (0.25, 0.5, 0.75), largest, strict=True):
        assert part == sorted(part) and {*part} <= {*larger}
        assert len(part) == pytest.approx(share * len(train), rel=0.12)
    breaks = sum(b - a > 1 for a, b in pairwise(places[0]))
    assert (breaks > 40) is textcat  # stretches of texts, or single texts
    if groups:
        of_train = [groups[i] for i in split.places["train"]]
        inside = {of_train[i] for i in places[0]}
        assert [i for i, group in enumerate(of_train) if group in inside] == places[0]
    assert nested_parts(split, 1)[0] != parts[0]


def test_given_splits_have_parts_by_named_groups() -> None:
    docs = [Doc(VOCAB, words=["word", str(i)]) for i in range(60)]
    groups = ["", *(str(i // 6) for i in range(1, 60))]
    split = split_docs({"train": docs, "dev": docs}, Options("xx"), groups)
    part = [docs.index(doc) // 6 for doc in nested_parts(split, 0)[1]]
    assert all(part.count(group) >= 5 for group in part)


def test_parts_need_entities_or_two_labels() -> None:
    entity, plain = Doc(VOCAB, words=["Anna"], ents=["B-PER"]), Doc(VOCAB, words=["rain"])
    plain.cats = {"A": 1.0, "B": 0.0}
    entity.cats = {"A": 0.0, "B": 1.0}
    assert is_enough([entity], textcat=False) and not is_enough([plain], textcat=False)
    assert is_enough([entity, plain], textcat=True) and not is_enough([plain], textcat=True)


def curve(*right: int) -> Curve:
    """A curve with a number of right entities of 200 at each point."""
    points = []
    for i, number in enumerate(right):
        counts = [(1, 0, 0)] * number + [(0, 1, 1)] * (200 - number)
        share = (i + 1) / len(right)
        points.append(Point(share, 100 * (i + 1), 9, number / 200, None, counts))
    return Curve("test", "sentences", points)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ((60, 80, 110, 130), "More of them help. "),
        ((150, 150, 150, 150), "hardly help"),
        ((200, 200, 200, 200), "hardly help"),
        ((60, 80, 131, 130), "too few texts to score on"),  # the last quarter brought nothing
        ((60, 122, 121, 123), "too few texts to score on"),
        ((60,), "too small"),
    ],
)
def test_outlook_is_what_the_intervals_allow(right: tuple[int, ...], said: str) -> None:
    found = curve(*right)
    assert said in found.outlook
    if len(right) > 1:
        low, high = found.range
        assert 0 <= low < high <= 100 and low <= 100 * found.points[-1].f <= high
        gain = 100 * (right[3] - right[2]) / 200
        assert re.search(rf"changes by \{gain:+.1f}( \[.*?\])? from 75 to 100 %", str(found))
        json_ = found.to_json()
        assert [point["f"] for point in json_["points"]] == [n / 200 for n in right]
        assert [each["after"] for each in json_["gains"]] == [right[3] / 200] * 3
