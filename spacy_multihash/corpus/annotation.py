"""What annotates a text: the keys of JSON and the columns that are read, and the parts of a Doc.

Whatever looks like annotation and isn't read is named, by `unread_keys` and `other_annotation`.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from spacy.tokens import Doc

# Keys of entities, of tags of tokens, and of labels of a text, in the order in which they count.
# "label" and "labels" have entities if their value is a list of lists or objects.
ENTITY_KEYS = ("spans", "ents", "entities", "label", "labels")
TAG_KEYS = ("ner_tags", "tags", "labels")
LABEL_KEYS = ("cats", "label", "labels", "accept")
ANSWER = "answer"
ACCEPT, REJECT = "accept", "reject"
NOT_ACCEPTED = f'Left out: text whose "answer" is not "{ACCEPT}"'
# What may name the document that a text is from, in an object, its "meta" or "data", or a header.
GROUP_KEYS = ("doc_id", "document_id", "article_id", "document", "article", "source")
# Names of keys and columns that suggest annotation, whatever they hold.
_SUSPECT = re.compile(
    r"(.*[_ -])?(annotations?|categor(y|ies)|class(es)?|entit(y|ies)|gold|intents?|kb_?ids?|"
    r"labels?|ner|predictions?|relations?|sentiments?|tags?|targets?|topics?)[_ -]?[0-9]*",
    re.IGNORECASE,
)
# Labels that may stand for no label, in lower case.
_NO_LABELS = ("-", "_", "?", "-1", "#n/a", "<na>", "n/a", "na", "nan", "nil", "none", "null", "o")
TAG_PREFIXES = "BILUESMW"
# The keys of entities and tokens that are read, or that tell what labels they may have.
_OF_ENTITIES = ("label", "labels", ANSWER)
# Tags whose annotation is missing: of spaCy, and of tables where no cell is empty.
MISSING_TAGS = ("-", "_")


def answer_of(record: Mapping[str, Any]) -> str:
    """Return the annotator's answer to a text or an entity: "accept" if there's none, or null."""
    answer = record.get(ANSWER)
    return ACCEPT if answer is None else str(answer)


# Several tags, as of entities within entities: B-LOC|I-ORG.
_TAGS = re.compile(rf"O|[{TAG_PREFIXES}]-\S+?([|,;]([{TAG_PREFIXES}]-\S+|O))?")


def is_tag(text: str) -> bool:
    """Return whether a text is O, or a prefix and a label. Several tags aren't a tag."""
    found = _TAGS.fullmatch(text)
    return found is not None and not found[1]


def are_entities(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a JSON value is a list of entities, with at least one."""
    return isinstance(value, list) and bool(value) and all(map(_is_entity, value))


def _is_entity(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    if isinstance(value, dict):
        return bool({"start", "start_offset", "token_start"} & value.keys())
    is_list = isinstance(value, list) and len(value) == 3
    return is_list and [*map(type, value)] == [int, int, str]


@lru_cache(maxsize=4096)
def is_suspect(name: str) -> bool:
    """Return whether the name of a key or column suggests annotation."""
    return _SUSPECT.fullmatch(name) is not None


def _looks_like_annotation(name: str, value: Any, record: Mapping[str, Any]) -> bool:  # noqa: ANN401
    if value in (None, "", [], {}):
        return False
    if isinstance(value, dict):
        are_shares = all(type(x) in (bool, int, float) and 0 <= x <= 1 for x in value.values())
        return are_shares or any(map(are_entities, value.values())) or is_suspect(name)
    tokens, text = record.get("tokens"), record.get("text")
    if not isinstance(value, list) or is_suspect(name) or are_entities(value):
        return is_suspect(name) or are_entities(value)
    if isinstance(tokens, list) and len(value) == len(tokens):
        is_each = all(type(each) in (int, str) for each in value)  # as parts of speech
        if is_each and (len(value) > 1 or is_tag(str(value[0]))):
            return True
    return isinstance(text, str) and all(  # two numbers each, as offsets have
        isinstance(each, dict)
        and sum(type(x) is int and 0 <= x <= len(text) for x in each.values()) > 1
        for each in value
    )


def unread_keys(record: Mapping[str, Any], read: Collection[str]) -> list[str]:
    """List the keys of an object that look like annotation, other than those that were read.

    The keys of objects in "tokens", and of entities that were read, are listed as tokens[].tag.
    """
    rest = ("text", "tokens", "meta", "data", "options", ANSWER)
    names = [name for name in record if name not in read and name not in rest]
    unread = [name for name in names if _looks_like_annotation(name, record[name], record)]
    for key in ("tokens", *read):
        for item in record[key] if isinstance(record.get(key), list) else ():
            for name in item if isinstance(item, dict) else ():
                if name not in _OF_ENTITIES and _looks_like_annotation(name, item[name], {}):
                    unread.append(f"{key}[].{name}")
    return [*dict.fromkeys(unread)]


def flags_of(record: Mapping[str, Any], read: Collection[str]) -> dict[str, bool]:
    """Return the keys or columns that weren't read and have 0 or 1, as a column a label has."""
    return {
        name: str(value).lower() in ("1", "true")
        for name, value in record.items()
        if name not in read and str(value).lower() in ("0", "1", "false", "true")
    }


def name_no_labels(labels: Mapping[str, int], what: str) -> list[str]:
    """Name labels that may stand for an unknown one. what (str): What has the labels."""
    return [
        f"{number:,} {what} have the label {label!r}. If it stands for an unknown label, or for "
        "none, leave it out."
        for label, number in labels.items()
        if label.lower() in _NO_LABELS
    ]


def other_annotation(doc: Doc) -> Counter[str]:
    """Count the annotation of a doc that entity recognizers and classifiers don't learn from."""
    counts = Counter({f"doc.spans[{key!r}]": len(doc.spans[key]) for key in doc.spans})
    if doc.user_data and any(key[0] == "._." for key in doc.user_data if isinstance(key, tuple)):
        counts["extension attributes (doc._)"] += 1
    return +counts


def name_other(counts: Mapping[str, int]) -> str:
    """Say what annotation there is that isn't read, and what to do, or return ""."""
    if not counts:
        return ""
    parts = ", ".join(f"{number:,} in {name}" for name, number in counts.items())
    advice = ""
    if groups := [name for name in counts if name.startswith("doc.spans")]:
        spans = f"spacy.util.filter_spans({groups[0]})"
        advice = f" To learn entities from it, set doc.ents = {spans} in each doc."
    return f"There is annotation that isn't read: {parts}.{advice}"
