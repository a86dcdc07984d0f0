"""What the commands that make corpora of texts share: docs with a label."""

from collections.abc import Iterable

from spacy.language import Language
from spacy.tokens import Doc


def labelled(nlp: Language, text: str, label: str, labels: Iterable[str]) -> Doc:
    """Make a doc of a text with a value for each label: 1 for its own, 0 for the others."""
    doc = nlp.make_doc(text)
    doc.cats = {name: float(name == label) for name in labels}
    return doc
