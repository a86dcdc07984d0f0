"""Contexts of docs that a component replaces or drops."""

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash.corpus.contexts import pipe_with_contexts


@Language.component("replaces_docs_and_fails_at_bob_for_tests")
def replace_docs(doc: Doc) -> Doc:
    if doc.text == "Bob":
        raise ValueError("no")
    return Doc(doc.vocab, words=[doc.text.lower()])


def test_replaced_docs_keep_their_contexts_unless_others_are_dropped() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("replaces_docs_and_fails_at_bob_for_tests")
    nlp.set_error_handler(lambda *error: None)
    pairs = [(nlp.make_doc(text), text) for text in ("Anna", "Rome", "Bob")]
    found = [(doc.text.strip(), text) for doc, text in pipe_with_contexts(nlp, pairs[:2], "Here")]
    assert found == [("anna", "Anna"), ("rome", "Rome")]
    with pytest.raises(ValueError, match="Here: a component .* left out 1"):
        list(pipe_with_contexts(nlp, pairs, "Here"))
