"""The entities that a recognizer finds, judged."""

import numpy
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.calibration import Calibration
from spacy_multihash.ner.judged import Judged, best_temperature, compare, judge_entities
from tests.helpers import worker_pipes  # noqa: F401 (it registers components)
from tests.helpers.corpora import make_docs
from tests.helpers.recognizers import CONFIGS, trained, wrong_docs


@pytest.mark.parametrize("factory", CONFIGS)
def test_labels_of_both_sides_are_taken_for_others(factory: str) -> None:
    nlp = trained(factory)
    docs = make_docs()
    for doc in docs:  # of another corpus, with labels of its own and no names of places
        people = [ent for ent in doc.ents if ent.label_ == "PER"]
        doc.set_ents([])
        nlp.vocab.strings.add("person")
        doc.ents = [(doc.vocab.strings.add("person"), ent.start, ent.end) for ent in people]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    found = judge_entities(nlp, factory, examples, {"PER": "human", "person": "human"})
    assert found.labels.tolist() == ["human"] * 4  # Rome and Oslo do not count
    assert found.right.all()
    assert found.probabilities(1.0).shape == (4,)


def test_labels_that_both_sides_share_count_as_they_are() -> None:
    nlp = trained("tagger_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    found = judge_entities(nlp, "tagger_ner", examples)
    assert sorted(found.labels.tolist()) == ["GPE"] * 3 + ["PER"] * 4


def test_labels_of_which_none_counts_are_refused() -> None:
    nlp = trained("tagger_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    with pytest.raises(ValueError, match=r'Component "tagger_ner" finds no entity'):
        judge_entities(nlp, "tagger_ner", examples, {"ORG": "ORG"})


def test_comparison_is_the_same_after_a_file() -> None:
    nlp = trained("batch_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in wrong_docs()]
    judged = judge_entities(nlp, "batch_ner", examples)
    found = compare(judged, best_temperature(judged))
    assert Calibration.from_json(found.as_json()) == found
    assert found.former == 1.0
    assert sum(old.entities for old, _ in found.labels.values()) == found.before.entities
    numpy.testing.assert_allclose(
        sum(one.share * one.entities for one in found.bins_after), judged.right.sum()
    )


def test_docs_that_a_component_fails_at_are_left_out() -> None:
    @Language.component("fails_at_anna_met")
    def fail(doc: Doc) -> Doc:
        if doc.text.startswith("Anna met"):
            raise ValueError("no")
        return doc

    nlp = trained("tagger_ner")
    nlp.add_pipe("fails_at_anna_met", first=True)
    nlp.set_error_handler(lambda *error: None)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    found = judge_entities(nlp, "tagger_ner", examples)
    assert len(found.right) == 4  # those of the first doc are not there
    assert found.right.all()


def test_entities_on_tokens_that_do_not_align_do_not_count() -> None:
    nlp = trained("tagger_ner")
    gold = Doc(nlp.vocab, words=["An", "na", "likes", "Oslo", "."], spaces=[False] + [True] * 4)
    gold.set_ents([Span(gold, 3, 4, label="GPE")], missing=[gold[1:2]], default="outside")
    predicted = Doc(nlp.vocab, words=["Anna", "likes", "Oslo", "."])
    found = judge_entities(nlp, "tagger_ner", [Example(predicted, gold)])
    assert found.labels.tolist() == ["GPE"]


@pytest.mark.parametrize(("right", "many"), [(True, "all"), (False, "none")])
def test_no_temperature_is_best_where_all_are_right_or_none(right: bool, many: str) -> None:
    judged = Judged("x", 1.0, numpy.full(3, right), numpy.full(3, "PER"), lambda _: numpy.ones(3))
    with pytest.raises(ValueError, match=f'"x": {many} of the 3 .* right, .* a larger dev corpus'):
        best_temperature(judged)


def with_spaces(nlp: Language) -> list[Example]:
    docs = make_docs()
    texts = [f"  {doc.text}" for doc in docs]
    return [Example(nlp.make_doc(text), doc) for text, doc in zip(texts, docs, strict=True)]


def test_docs_that_a_component_made_are_judged() -> None:
    nlp = trained("tagger_ner")
    nlp.add_pipe("strips_spaces_for_tests", first=True)
    found = judge_entities(nlp, "tagger_ner", with_spaces(nlp))
    assert len(found.right) == 7 and found.right.all()


def test_docs_that_a_component_made_beside_left_out_ones_are_refused() -> None:
    nlp = trained("tagger_ner")
    nlp.add_pipe("fails_at_bob_for_tests", first=True)
    nlp.add_pipe("strips_spaces_for_tests", first=True)
    nlp.set_error_handler(lambda *error: None)
    with pytest.raises(ValueError, match="another doc than it was given, and left out were [1-9]"):
        judge_entities(nlp, "tagger_ner", with_spaces(nlp))
