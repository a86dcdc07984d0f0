import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.embed.features import Feature, parse_feature


def parsed(name: str, *, repeats: bool = True) -> Feature:
    feature = parse_feature(name, repeats=repeats)
    assert feature is not None
    return feature


NAMES = {
    "ORTH[0:2]": "ORTH[:2]",
    "orth[ : 2 ]": "ORTH[:2]",
    " LOWER [-4:] ": "LOWER[-4:]",
    "NORM[1:3]": "NORM[1:3]",
    "LEMMA[:]": "LEMMA[:]",
    "ORTH[-0:]": "ORTH[:]",
    "ORTH[2:-2]": "ORTH[2:-2]",
    "ORTH[-2:1]": "ORTH[-2:1]",
    "LOWER{3, 5}": "LOWER{3,5}",
    "lower{3}": "LOWER{3,3}",
    "LOWER{1,20}": "LOWER{1,20}",
    "MORPH[Case]": "MORPH[Case]",
    "morph[ Number[psor] ]": "MORPH[Number[psor]]",
    " _.gazetteer": "_.gazetteer",
}


@pytest.mark.parametrize(("name", "canonical"), NAMES.items())
def test_names_have_one_canonical_form(name: str, canonical: str) -> None:
    assert parsed(name).name == canonical
    assert parsed(canonical) == parsed(name)


@pytest.mark.parametrize("name", ["NORM", "ENT_TYPE", "NROM", "", 67, None, "_gazetteer"])
def test_other_names_are_left_to_attributes(name: object) -> None:
    assert parse_feature(name) is None


REFUSED = {
    "ORTH[": "a name such as ORTH",
    "ORTH[:2}": "a name such as ORTH",
    "SHAPE[:2]": "a slice or n-grams of ORTH, LOWER, NORM, LEMMA, or a value of MORPH",
    "MORPH{3,5}": "a slice or n-grams of ORTH",
    "ORTH[2]": "a slice with a colon and without a step",
    "ORTH[:2:]": "a slice with a colon and without a step",
    "ORTH[a:]": "a slice with a colon",
    "ORTH[²:]": "a slice with a colon",
    "ORTH[3:3]": "a slice that has characters",
    "ORTH[:0]": "a slice that has characters",
    "ORTH[-2:-4]": "a slice that has characters",
    "LOWER{0,3}": "the shortest and the longest n-grams, 1 to 20 characters",
    "LOWER{3,21}": "the shortest and the longest n-grams",
    "LOWER{3,}": "the shortest and the longest n-grams",
    "MORPH[]": "the name of one morphological feature",
    "MORPH[Case=Nom]": "the name of one morphological feature",
    "_": "the name of an extension attribute",
    "_.not_an identifier": "the name of an extension attribute",
    "_gazetteer[:2]": "the name of an extension attribute",
}


@pytest.mark.parametrize(("name", "message"), REFUSED.items(), ids=REFUSED.keys())
def test_names_of_no_feature_are_refused_where_they_were_given(name: str, message: str) -> None:
    given_to = re.escape(f", got {name!r} (my-command). Give another name.")
    with pytest.raises(ValueError, match=f"^--names must be {message}.*{given_to}$"):
        parse_feature(name, where="my-command", setting="--names", advice="Give another name.")


ENDS = st.one_of(st.none(), st.integers(-12, 12))
WORDS = st.one_of(st.text(max_size=12), st.sampled_from(["", "a", "ab" * 5000, "👩‍👧é", "<>"]))


@given(word=WORDS, start=ENDS, stop=ENDS)
def test_slices_are_those_of_python(word: str, start: int | None, stop: int | None) -> None:
    def end(number: int | None) -> str:
        return "" if number is None else str(number)

    name = f"ORTH[{end(start)}:{end(stop)}]"
    # Whether some word has characters in the slice.
    if any("x" * n and ("x" * n)[start:stop] for n in range(30)):
        assert parsed(name).pieces(word) == [word[start:stop]]
        assert parsed(parsed(name).name) == parsed(name)
    else:
        with pytest.raises(ValueError, match="a slice that has characters"):
            parse_feature(name)


@given(word=WORDS, low=st.integers(1, 20), more=st.integers(0, 19))
def test_ngrams_are_all_substrings(word: str, low: int, more: int) -> None:
    high = min(low + more, 20)
    marked = f"<{word}>"
    expected = sorted(
        marked[i:j]
        for i in range(len(marked))
        for j in range(i + low, min(i + high, len(marked)) + 1)
    )
    found = parsed(f"LOWER{{{low},{high}}}").pieces(word)
    assert sorted(found) == (expected or [marked])
    once = parsed(f"LOWER{{{low},{high}}}", repeats=False).pieces(word)
    assert len(once) == len(set(once))
    assert set(once) == set(found)


@pytest.mark.parametrize(
    ("analysis", "values"),
    [
        ("Case=Acc,Nom|Number[psor]=Sing", ["Acc,Nom", "Sing"]),
        ("Number=Plur", ["", ""]),
        ("_", ["", ""]),
        ("", ["", ""]),
        ("Case", ["", ""]),
        ("Casexx=Nom", ["", ""]),
    ],
)
def test_values_of_morphology(analysis: str, values: list[str]) -> None:
    features = [parsed("MORPH[Case]"), parsed("MORPH[Number[psor]]")]
    assert [feature.pieces(analysis) for feature in features] == [[value] for value in values]
