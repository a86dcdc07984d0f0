"""What annotates a text: the keys of JSON and the columns that are read, and the parts of a Doc.

Whatever looks like annotation and isn't read is named, by `unread_keys` and `other_annotation`.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from spacy.tokens import Doc

# Keys of entities, of tags of tokens, and of labels of a text, in the order in which they count.
# "label" and "labels" have entities if their value is a list of lists or objects.
ENTITY_KEYS = ("spans", "ents", "entities", "label", "labels")
TAG_KEYS = ("ner_tags", "tags", "labels")
LABEL_KEYS = ("cats", "label", "labels", "accept")
ANSWER = "answer"
ACCEPT, REJECT = "accept", "reject"
# What may name the document that a text is from, in an object, its "meta" or "data", or a header.
GROUP_KEYS = ("doc_id", "document_id", "article_id", "document", "article", "source")
# Names of keys and columns that suggest annotation, whatever they hold.
_SUSPECT = re.compile(
    r"(.*[_ -])?(annotations?|categor(y|ies)|class(es)?|entit(y|ies)|intents?|labels?|ner|"
    r"ner[_-]tags|predictions?|relations?|sentiments?|tags?|topics?)",
    re.IGNORECASE,
)
_PREFIXES = "BILUESMW"
# Tags whose annotation is missing: of spaCy, and of tables where no cell is empty.
MISSING_TAGS = ("-", "_")


def is_tag(text: str) -> bool:
    """Return whether a text is O, or a prefix and a label."""
    return re.fullmatch(rf"O|[{_PREFIXES}]-\S+", text) is not None


def are_entities(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a JSON value is a list of entities, with at least one."""
    return isinstance(value, list) and bool(value) and all(map(_is_entity, value))


def _is_entity(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    if isinstance(value, dict):
        return bool({"start", "start_offset", "token_start"} & value.keys())
    is_list = isinstance(value, list) and len(value) == 3
    return is_list and [type(each) for each in value] == [int, int, str]


def _looks_like_annotation(name: str, value: Any, tokens: Any) -> bool:  # noqa: ANN401
    if isinstance(value, dict) and value:
        are_shares = all(
            type(each) in (bool, int, float) and 0 <= each <= 1 for each in value.values()
        )
        return (
            are_shares or any(map(are_entities, value.values())) or bool(_SUSPECT.fullmatch(name))
        )
    if isinstance(value, list) and value and isinstance(tokens, list) and value is not tokens:
        are_tags = all(isinstance(each, str) and is_tag(each) for each in value)
        if are_tags and len(value) == len(tokens):
            return True
    return are_entities(value) or bool(value not in (None, "", []) and _SUSPECT.fullmatch(name))


def unread_keys(record: Mapping[str, Any], read: Collection[str]) -> list[str]:
    """List the keys of an object that look like annotation, other than those that were read."""
    tokens = record.get("tokens")
    return [
        name
        for name, value in record.items()
        if name not in read and name not in ("text", "tokens", "meta", "data", "options", ANSWER)
        if _looks_like_annotation(name, value, tokens)
    ]


def suspect_columns(names: Iterable[str], read: Collection[str]) -> list[str]:
    """List the columns of a table that may be annotation, other than those that are read."""
    return [name for name in names if name not in read and _SUSPECT.fullmatch(name)]


def other_annotation(doc: Doc) -> Counter[str]:
    """Count the annotation of a doc that entity recognizers and classifiers don't learn from."""
    found = Counter({f"doc.spans[{key!r}]": len(doc.spans[key]) for key in doc.spans})
    if doc.user_data and any(key[0] == "._." for key in doc.user_data if isinstance(key, tuple)):
        found["extension attributes (doc._)"] += 1
    return +found


def name_other(found: Mapping[str, int]) -> str:
    """Say what annotation there is that isn't read, and what to do, or return ""."""
    if not found:
        return ""
    parts = ", ".join(f"{number:,} in {name}" for name, number in found.items())
    advice = ""
    if groups := [name for name in found if name.startswith("doc.spans")]:
        advice = (
            f" To learn entities from it, set doc.ents = spacy.util.filter_spans({groups[0]}) in "
            "each doc."
        )
    return f"There is annotation that isn't read: {parts}.{advice}"
