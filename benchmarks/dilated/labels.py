"""Texts with more labels."""

from collections.abc import Sequence

from spacy.tokens import Doc, Span


def split_labels(docs: Sequence[Doc], number: int) -> list[Doc]:
    """Copy docs, and split the labels of their entities into a given number.

    Each label is split into about equally many parts, by the first letters of its entities, which a
    model can learn.

    Raises ValueError if the docs have more labels than that, or if a label has more parts than
    first letters.
    """
    letters: dict[str, set[str]] = {}
    for ent in (ent for doc in docs for ent in doc.ents):
        letters.setdefault(ent.label_, set()).add(ent.text[0])
    names: dict[tuple[str, str], str] = {}
    for i, label in enumerate(sorted(letters)):
        parts = number // len(letters) + (i < number % len(letters))
        if not 0 < parts <= len(letters[label]):
            raise ValueError(
                f"{len(letters)} labels cannot be split into {number}: {label} would be split into "
                f"{parts}, and its entities have {len(letters[label])} first letters. Take a "
                "text with more entities, or another number."
            )
        for rank, letter in enumerate(sorted(letters[label])):
            names[label, letter] = f"{label}{rank % parts}"
    copies = []
    for doc in docs:
        copy = doc.copy()
        labels = [names[ent.label_, ent.text[0]] for ent in doc.ents]
        pairs = zip(doc.ents, labels, strict=True)
        copy.set_ents([Span(copy, ent.start, ent.end, label=label) for ent, label in pairs])
        copies.append(copy)
    return copies
