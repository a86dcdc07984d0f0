"""Labels that are added to a trained tagger_ner, as to spaCy's ner."""

import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.training import Example
from thinc.api import Adam, fix_random_seed

from spacy_multihash import EntityTagger
from spacy_multihash.ner.biluo import tag_names
from tests.helpers.tagger_ner import (
    CRF,
    DECODERS,
    SENTENCES,
    TEXTS,
    blank,
    entities_of,
    examples_of,
    fit,
    gold,
    initialized,
    loss_of,
    pipe_of,
    randomized,
    tagger,
    trained,
)

NEW = ("They like rain .", [(10, 14, "DRINK")])
MODELS = {"independent": tagger(), "crf": CRF}


def examples_with_new(nlp: Language) -> list[Example]:
    known = [sentence for sentence in SENTENCES if sentence[0] != NEW[0]]
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": ents}) for text, ents in [*known, NEW]
    ]


def parameters(nlp: Language) -> dict[str, numpy.ndarray]:
    model = pipe_of(nlp).model
    output = model.get_ref("output_layer")
    found = {name: output.get_param(name).copy() for name in ("W", "b")}
    if pipe_of(nlp).learns_transitions:
        found["transitions"] = model.get_param("transitions").copy()
    return found


def outcomes(nlp: Language) -> list[Any]:
    docs = list(nlp.pipe(TEXTS))
    scores = [doc.spans["found"].attrs["scores"].round(4).tolist() for doc in docs]
    return [entities_of(docs), scores]


@pytest.mark.parametrize("name", DECODERS)
def test_a_new_label_leaves_trained_weights_and_predictions_as_they_are(name: str) -> None:
    model, decoder = DECODERS[name]
    nlp = randomized(model, decoder=decoder, spans_key="found")
    before, expected = parameters(nlp), outcomes(nlp)
    pipe = pipe_of(nlp)
    assert [pipe.add_label(label) for label in ("PER", "AAA", "NEW", "NEW")] == [0, 1, 1, 0]
    assert pipe.labels == ("GPE", "PER", "AAA", "NEW")
    assert nlp.pipe_labels["tagger_ner"] == list(pipe.labels)
    names = tag_names(pipe.labels)
    assert pipe.model.get_dim("nO") == len(names)
    old = [i for i, tag in enumerate(names) if tag[2:] not in ("AAA", "NEW")]
    new = sorted(set(range(len(names))) - set(old))
    for key, values in parameters(nlp).items():
        kept = values[numpy.ix_(old, old)] if key == "transitions" else values[old]
        assert_array_equal(kept, before[key], err_msg=key)
        assert not values[new].any()
    assert outcomes(nlp) == expected


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("how", ["resumed", "added", "sourced", "loaded"])
def test_training_goes_on_with_a_new_label(name: str, how: str, tmp_path: Path) -> None:
    nlp = trained(MODELS[name], 60)
    if how == "added":
        pipe_of(nlp).add_label("DRINK")
    elif how == "sourced":
        source, nlp = nlp, spacy.blank("en")
        nlp.add_pipe("tagger_ner", source=source)
    elif how == "loaded":
        pipe_of(nlp).add_label("DRINK")
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
    assert entities_of(nlp.pipe(TEXTS[:4])) == gold()
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.01
    for _ in range(40):
        nlp.update(examples_with_new(nlp), sgd=sgd)
    assert entities_of(nlp.pipe(TEXTS[:4])) == [*gold()[:3], [("rain", "DRINK")]]
    assert pipe_of(nlp).cfg == {"labels": ["GPE", "PER", "DRINK"]}


def test_examples_may_have_labels_that_were_not_given_at_initialization() -> None:
    """As with spaCy's ner, where training adds them."""
    nlp = blank()
    ner = spacy.blank("en")
    ner.add_pipe("ner")
    pipe_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=["GPE"])
    for each in (nlp, ner):
        if each is ner:
            each.initialize(lambda: examples_of(ner)[1:2])
        each.update(examples_with_new(each), sgd=each.create_optimizer())
        assert set(each.pipe_labels[each.pipe_names[0]]) == {"DRINK", "GPE", "PER"}


def test_an_optimizer_goes_on_with_a_larger_model() -> None:
    """Its moments have the shape of the parameters that it has met."""
    nlp = blank(CRF)
    sgd = nlp.initialize(lambda: examples_of(nlp), sgd=Adam(0.01, use_averages=True))
    assert sgd.averages is not None
    for examples in (examples_of(nlp), examples_with_new(nlp)) * 2:
        for _ in range(30):
            nlp.update(examples, sgd=sgd)
    with nlp.use_params(sgd.averages):
        assert len(nlp(TEXTS[0]).ents) == 3


def test_gradients_of_steps_before_are_kept() -> None:
    """With [training] accumulate_gradient, a new label may come in the second of two batches."""
    nlp, other = randomized(CRF), randomized(CRF)
    pipe_of(other).add_label("DRINK")
    for each in (nlp, other):
        pipe_of(each).update(examples_of(each)[:1])
    pipe_of(nlp).add_label("DRINK")
    for each in (nlp, other):
        model = pipe_of(each).model
        grads = [model.get_ref("output_layer").get_grad("W"), model.get_grad("transitions")]
        assert [len(grad) for grad in grads] == [13, 13]
    names = tag_names(["GPE", "PER", "DRINK"])
    kept = [i for i, tag in enumerate(names) if not tag.endswith("DRINK")]
    grads = [pipe_of(each).model.get_ref("output_layer").get_grad("W") for each in (nlp, other)]
    assert grads[0][kept].any() and not numpy.delete(grads[0], kept, axis=0).any()


@pytest.mark.parametrize("name", MODELS)
def test_an_added_label_is_not_predicted_before_an_example_has_it(name: str) -> None:
    nlp = initialized(MODELS[name], spans_key="found")
    pipe_of(nlp).add_label("NEW")
    output = pipe_of(nlp).model.get_ref("output_layer")
    output.get_param("b")[3] = 100.0  # B-NEW
    output.get_param("b")[-1] = 100.0  # U-NEW
    copies = [nlp, pickle.loads(pickle.dumps(nlp)), blank(MODELS[name]).from_bytes(nlp.to_bytes())]
    for each in copies:
        each.update(examples_of(each)[:1])
        assert "NEW" not in {ent.label_ for doc in each.pipe(TEXTS) for ent in doc.ents}
        new = Example.from_dict(each.make_doc("Anna"), {"entities": [(0, 4, "NEW")]})
        each.update([new])
        assert {ent.label_ for doc in each.pipe(TEXTS) for ent in doc.ents} == {"NEW"}


def test_initialization_after_adding_labels_predicts_all_of_them() -> None:
    nlp = trained(steps=1)
    pipe_of(nlp).add_label("NEW")
    fix_random_seed(0)
    nlp.initialize(lambda: examples_of(nlp))
    assert pipe_of(nlp).cfg == {"labels": ["GPE", "PER", "NEW"]}
    assert entities_of(fit(nlp).pipe(TEXTS[:4])) == gold()


def test_labels_may_be_added_where_the_config_has_the_number_of_tags(tmp_path: Path) -> None:
    nlp = randomized(tagger(nO=9), spans_key="found")
    pipe_of(nlp).add_label("NEW")
    nlp.to_disk(tmp_path)
    assert outcomes(spacy.load(tmp_path)) == outcomes(nlp)


def test_larger_weights_are_loaded_into_a_component_with_fewer_labels() -> None:
    nlp, other = randomized(CRF, spans_key="found"), randomized(CRF, spans_key="found")
    pipe_of(nlp).add_label("NEW")
    other.from_bytes(nlp.to_bytes())
    assert pipe_of(other).labels == ("GPE", "PER", "NEW")
    assert outcomes(other) == outcomes(nlp)


def test_a_loss_of_other_labels_is_refused() -> None:
    nlp = initialized()
    with pytest.raises(ValueError, match=r"does not have: DRINK\. .*for: GPE, PER.*add_label"):
        loss_of(nlp, examples_with_new(nlp))


def test_components_say_that_they_can_be_resized() -> None:
    pipe = pipe_of(randomized())
    assert pipe.is_resizable
    pipe.set_output(13)
    assert pipe.model.predict([spacy.blank("en")("Anna")]).shape == (1, 1, 13)
    with pytest.raises(ValueError, match="expected at least the 13 tags .* was: 9"):
        pipe.set_output(9)


def test_confidences_do_not_change_with_an_added_label() -> None:
    nlp = randomized(CRF, spans_key="found")
    before = [doc.spans["found"].attrs["scores"] for doc in nlp.pipe(TEXTS)]
    pipe_of(nlp).add_label("NEW")
    for doc, scores in zip(nlp.pipe(TEXTS), before, strict=True):
        assert_allclose(doc.spans["found"].attrs["scores"], scores, rtol=1e-6)


def test_a_load_that_fails_leaves_labels_and_predictions(tmp_path: Path) -> None:
    nlp = trained()
    tagger = nlp.get_pipe("tagger_ner")
    assert isinstance(tagger, EntityTagger)
    labels, entities = tagger.labels, [(e.text, e.label_) for e in nlp(TEXTS[0]).ents]
    with pytest.raises(ValueError, match="Can.t read file"):
        tagger.from_disk(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="unpack|msgpack|Unpack|trailing|extra|bytes"):
        tagger.from_bytes(b"garbage")
    assert tagger.labels == labels and entities
    assert [(e.text, e.label_) for e in nlp(TEXTS[0]).ents] == entities


@pytest.mark.parametrize("labels", ["PERSON", {"0": {}, "1": {"PERSON": 1}}, ["PERSON", 3]])
def test_labels_that_are_no_list_of_strings_are_refused(labels: Any) -> None:
    nlp = blank()
    tagger = pipe_of(nlp)
    with pytest.raises(ValueError, match="labels must be a list of strings, as spacy init labels"):
        tagger.initialize(lambda: examples_of(nlp), nlp=nlp, labels=labels)
    assert tagger.labels == ()
    tagger.initialize(lambda: examples_of(nlp), nlp=nlp, labels=iter(["PERSON", "GPE"]))
    assert tagger.labels == ("PERSON", "GPE")


@pytest.mark.parametrize("model", [None, CRF])
def test_no_temperature_is_too_extreme(model: Any) -> None:
    nlp = randomized(model, spans_key="found")
    tagger = pipe_of(nlp)

    def scores(temperature: float) -> numpy.ndarray:
        tagger.temperature = temperature
        return numpy.concatenate([d.spans["found"].attrs["scores"] for d in nlp.pipe(TEXTS)])

    for temperature in (5e-324, 1e-39, 1e-31):
        assert_allclose(scores(temperature), scores(1e-6), atol=1e-6)
    assert_allclose(scores(1e300), scores(1e30), rtol=1e-5)
