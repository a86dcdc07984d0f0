"""The probabilities that recognizers give to entities, for the commands that show them."""

import math
from collections.abc import Iterable
from typing import Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..ner.docs import EntityKey
from ..ner.tagger.component import EntityTagger
from ..ner.transition.component import BatchEntityRecognizer

# Where in doc.spans a recognizer puts its probabilities, if its config does not say it.
_SPANS_KEY = "spacy_multihash_show_{}"


def ask_probabilities(nlp: Language, *, threshold: Optional[float] = None) -> list[str]:
    """Let all components give probabilities that can, and list where in doc.spans they go.

    threshold (Optional[float]): The one of components that have a threshold. None leaves theirs.
    """
    keys = [_ask(name, pipe, threshold) for name, pipe in nlp.pipeline]
    return [key for key in keys if key is not None]


def _ask(name: str, pipe: object, threshold: Optional[float]) -> Optional[str]:
    if not isinstance(pipe, (EntityTagger, BatchEntityRecognizer)):
        return None
    if isinstance(pipe, BatchEntityRecognizer) and pipe.cfg["beam_width"] != 1:
        return None  # a beam has no probabilities, and refuses to be asked for them
    if pipe.spans_key is None:
        pipe.spans_key = _SPANS_KEY.format(name)
    if isinstance(pipe, EntityTagger) and threshold is not None:
        pipe.threshold = threshold
    return pipe.spans_key


def probabilities_of(doc: Doc, keys: Iterable[str]) -> dict[EntityKey, float]:
    """Collect the probabilities that components have put into doc.spans.

    keys (Iterable[str]): Where they are.
    """
    known = {}
    for group in (doc.spans[key] for key in keys if key in doc.spans):
        for span, score in zip(group, group.attrs.get("scores", []), strict=False):
            if not math.isnan(score):
                known[span.start, span.end, span.label_] = float(score)
    return known
