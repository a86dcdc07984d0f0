"""Names and ids of token attributes."""

from typing import List, Union

from spacy.attrs import IDS, intify_attr

from ..common.checks import is_list, is_whole, setting_error
from ..common.features import parse_feature

# Part of registered signatures, which are written with typing's generics.
Attrs = Union[List[str], List[int], List[Union[str, int]]]

_WHERE = "Embedding layer"  # in messages
_EACH_OF_ATTRS = "each of attrs"
_OR_A_FEATURE = ", or a feature such as ORTH[:2], LOWER{3,5}, MORPH[Case] or _.gazetteer"

# spaCy's NAMES does not invert its IDS, which have gaps. The id 0 is that of "", no attribute.
_NAME_OF = {attr: name for name, attr in IDS.items() if attr}


def attr_id(attr: Union[str, int], *, setting: str = _EACH_OF_ATTRS) -> int:
    """Find the id of a token attribute that is given by name or by id.

    setting (str): Name of the setting in the config, for messages.

    Raises ValueError for an attribute that spaCy does not know.
    """
    found = intify_attr(attr) if isinstance(attr, str) or is_whole(attr, 1) else None
    if found is None or found not in _NAME_OF:
        expected = (
            "the name or id of an attribute of spaCy's Token, such as NORM, PREFIX, SUFFIX, SHAPE, "
            "ORTH, LOWER, POS or SPACY" + _OR_A_FEATURE * (setting == _EACH_OF_ATTRS)
        )
        raise setting_error(_WHERE, setting, expected, attr)
    return int(found)


def attr_names(attrs: Attrs) -> list[str]:
    """List the names of attributes that are given by name or by id, and of features.

    The name of a feature beyond spaCy's attributes is in its shortest form: see `Feature`.

    Raises ValueError for what is no list, for an empty list, and for a name that is neither.
    """
    if not is_list(attrs) or not attrs:
        advice = 'Recommended: ["NORM", "PREFIX", "SUFFIX", "SHAPE"].'
        raise setting_error(
            _WHERE, "attrs", "a list of one or more token attributes", attrs, advice
        )
    features = map(parse_feature, attrs)
    return [
        attr_name(attr) if feature is None else feature.name
        for attr, feature in zip(attrs, features, strict=True)
    ]


def attr_name(attr: Union[str, int], *, setting: str = _EACH_OF_ATTRS) -> str:
    """Find the name of a token attribute; arguments and errors are those of attr_id."""
    return _NAME_OF[attr_id(attr, setting=setting)]
