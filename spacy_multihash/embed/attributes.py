"""Names and ids of token attributes."""

from typing import List, Union

from spacy.attrs import IDS, intify_attr

from ..common.checks import is_list, is_whole, refusal

# Part of registered signatures, which are written with typing's generics.
Attrs = Union[List[str], List[int], List[Union[str, int]]]

_WHERE = "Embedding layer"  # in messages

# spaCy's NAMES does not invert its IDS, which have gaps. The id 0 is that of "", no attribute.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}


def attr_id(attr: Union[str, int], *, setting: str = "each of attrs") -> int:
    """Find the id of a token attribute that is given by name or by id.

    setting (str): Name of the setting in the config, for messages.

    Raises ValueError for an attribute that spaCy does not know.
    """
    found = intify_attr(attr) if isinstance(attr, str) or is_whole(attr, 1) else None
    if found is None or found not in _NAME_OF:
        expected = (
            "the name or id of an attribute of spaCy's Token, such as NORM, PREFIX, SUFFIX, SHAPE, "
            "ORTH, LOWER, POS or SPACY"
        )
        raise refusal(_WHERE, setting, expected, attr)
    return int(found)


def attr_names(attrs: Attrs) -> list[str]:
    """List the names of attributes that are given by name or by id.

    Raises ValueError for what is no list, for an empty list, and for an attribute that spaCy does
    not know.
    """
    if not is_list(attrs) or not attrs:
        advice = 'Recommended: ["NORM", "PREFIX", "SUFFIX", "SHAPE"].'
        raise refusal(_WHERE, "attrs", "a list of one or more token attributes", attrs, advice)
    return [attr_name(attr) for attr in attrs]


def attr_name(attr: Union[str, int], *, setting: str = "each of attrs") -> str:
    """Find the name of a token attribute; arguments and errors are those of attr_id."""
    return _NAME_OF[attr_id(attr, setting=setting)]
