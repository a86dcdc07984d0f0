"""en_core_web_md, the published pipeline that recognizers are measured with."""

from collections.abc import Mapping
from typing import Any, Optional

import spacy
from spacy.language import Language
from spacy.vocab import Vocab

ENGLISH = "en_core_web_md"
NER = "ner"


def load_english(
    path: str, settings: Optional[Mapping[str, Any]] = None, vocab: Optional[Vocab] = None
) -> Language:
    """Load en_core_web_md, with batch_ner in the place of ner.

    path (str): Its path, or the name of its package.
    settings (Optional[Mapping[str, Any]]): Settings of batch_ner.
    vocab (Optional[Vocab]): The vocab to load it with, if not its own.

    Raises OSError if there is none.
    """
    config = {"components": {NER: {"factory": "batch_ner", **(settings or {})}}}
    return spacy.load(path, config=config, vocab=True if vocab is None else vocab)
