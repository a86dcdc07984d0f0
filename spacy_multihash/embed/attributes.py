"""Names and ids of token attributes."""

from typing import List, Union

from spacy.attrs import IDS, intify_attr

# Part of registered signatures, which are written with typing's generics.
Attrs = Union[List[str], List[int], List[Union[str, int]]]

# spaCy's NAMES does not invert its IDS, which have gaps. The id 0 is that of "", no attribute.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}


def attr_id(attr: Union[str, int]) -> int:
    """Find the id of a token attribute that is given by name or by id.

    Raises ValueError for an attribute that spaCy does not know.
    """
    found = intify_attr(attr)
    if found not in _NAME_OF:
        raise ValueError(
            f"Unknown token attribute of an embedding layer: {attr!r}. "
            "Expected the name or id of an attribute of spaCy's Token, such as NORM, PREFIX, "
            "SUFFIX, SHAPE, ORTH, LOWER, POS or SPACY."
        )
    return int(found)


def attr_names(attrs: Attrs) -> list[str]:
    """List the names of attributes that are given by name or by id.

    Raises ValueError for an empty list, and for an attribute that spaCy does not know.
    """
    if not attrs:
        raise ValueError(
            "The attrs of an embedding layer must name at least one token attribute, was empty. "
            'Recommended: ["NORM", "PREFIX", "SUFFIX", "SHAPE"].'
        )
    return [_NAME_OF[attr_id(attr)] for attr in attrs]
