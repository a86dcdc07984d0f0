"""The component tagger_ner: settings, labels, entities, probabilities and round trips."""

import pickle
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Adam, Config

from spacy_multihash.ner.biluo import tag_names
from spacy_multihash.ner.entities import EntityKey
from tests.helpers.tagger_ner import (
    CRF,
    DECODERS,
    ITERATED,
    MAXOUT,
    SENTENCES,
    TEXTS,
    Found,
    blank,
    entities_of,
    examples_of,
    fit,
    found,
    gold,
    initialized,
    loss_of,
    pipe_of,
    randomize,
    randomized,
    tagger,
    tok2vec,
    trained,
)


def test_decoder_of_a_trained_component_can_be_changed() -> None:
    nlp = randomized(CRF)
    pipe = pipe_of(nlp)
    found_by = {}
    for decoder in ("crf", "constrained", "greedy", None):
        pipe.decoder = decoder  # type: ignore[assignment]
        found_by[decoder] = entities_of(nlp.pipe(TEXTS))
    assert pipe.decoder == "crf" and found_by[None] == found_by["crf"]
    assert found_by["crf"] != found_by["constrained"]
    assert found_by["crf"] != found_by["greedy"]
    assert pipe_of(blank()).decoder == "constrained"


def test_labels_may_be_added_before_initialization_without_examples(tmp_path: Path) -> None:
    nlp = blank()
    assert [pipe_of(nlp).add_label(label) for label in ("PER", "GPE", "PER")] == [1, 1, 0]
    nlp.to_disk(tmp_path)
    for each in (nlp, spacy.load(tmp_path)):
        each.initialize()
        assert pipe_of(each).labels == ("PER", "GPE")
        assert pipe_of(each).model.get_ref("output_layer").get_param("b").shape == (9,)
        assert all(token.ent_iob for token in each(TEXTS[0]))
    with_labels(other := blank(), iter(["PER", "GPE"]))
    assert pipe_of(other).labels == ("PER", "GPE")


# What it does to docs, as ner does


@pytest.fixture(scope="module")
def taggers() -> dict[str, Language]:
    """Pipelines that find entities of random weights everywhere, spaCy's ner among them."""
    pipelines = {
        name: randomized(model, decoder=decoder, spans_key="found")
        for name, (model, decoder) in DECODERS.items()
    }
    ner = pipelines["ner"] = spacy.blank("en")
    ner.add_pipe("ner", config={"model": {"tok2vec": tok2vec(MAXOUT)}})
    fit(ner, 0)
    randomize(ner.get_pipe("ner").model)  # type: ignore[attr-defined]
    return pipelines


# Preset: (start, length, what), of overlapping ones the first.
PRESETS = st.lists(
    st.tuples(
        st.integers(0, 11), st.integers(1, 3), st.sampled_from(["PER", "GPE", "blocked", "outside"])
    ),
    max_size=4,
)
WORDS = st.lists(st.sampled_from(["Anna", "New", "York", "rain", "\n", " "]), max_size=12)


def make_doc(
    nlp: Language, words: list[str], presets: list[tuple[int, int, str]], sentences: set[int]
) -> Doc:
    starts = [i in sentences for i in range(len(words))] if sentences else None
    doc = Doc(nlp.vocab, words=words, sent_starts=starts)
    taken: set[int] = set()
    spans: dict[str, list[Span]] = {"ents": [], "blocked": [], "outside": []}
    for start, length, what in presets:
        end = min(start + length, len(words))
        if start < end and not taken & set(range(start, end)):
            taken |= set(range(start, end))
            if what in spans:
                spans[what].append(doc[start:end])
            else:
                ent = Span(doc, start, end, label=what, kb_id=f"Q{start}", span_id=f"id{start}")
                spans["ents"].append(ent)
    if taken:
        ents = spans.pop("ents")
        doc.set_ents(ents, default="missing", **spans)
    return doc


@settings(max_examples=40)
@given(words=WORDS, presets=PRESETS, sentences=st.sets(st.integers(1, 11), max_size=3))
def test_entities_of_others_blocked_tokens_whitespace_and_sentences_are_respected(
    taggers: dict[str, Language],
    words: list[str],
    presets: list[tuple[int, int, str]],
    sentences: set[int],
) -> None:
    for name, nlp in taggers.items():
        doc = make_doc(nlp, words, presets, sentences)
        before = doc.copy()
        preset = found(doc)
        blocked = [t.i for t in doc if t.ent_iob == 3 and not t.ent_type]
        _, pipe = nlp.components[0]
        pipe(doc)
        assert all(ent in found(doc) for ent in preset), name
        assert [t.i for t in doc if t.ent_iob == 3 and not t.ent_type] == blocked, name
        assert all(token.ent_iob for token in doc), name
        new = [ent for ent, key in zip(doc.ents, found(doc), strict=True) if key not in preset]
        for ent in new:
            assert ent.label_ in ("GPE", "PER"), name
            assert not ent[0].is_space, name
            assert not any(token.is_sent_start for token in ent[1:]), name
            assert not any(before[t.i].ent_iob in (1, 3) for t in ent), name
        if name != "ner":
            spans = doc.spans["found"]
            assert list(spans) == [e for e in doc.ents if e.label_ in ("GPE", "PER")], name
            assert spans.attrs["scores"].shape == (len(spans),), name
            assert spans.attrs["scores"].dtype == "float32", name
            assert ((spans.attrs["scores"] >= 0) & (spans.attrs["scores"] <= 1)).all(), name


@pytest.mark.parametrize("name", DECODERS)
def test_batches_give_what_docs_give_one_by_one(name: str, taggers: dict[str, Language]) -> None:
    nlp = taggers[name]
    one_by_one = [nlp(text) for text in TEXTS]
    assert sum(len(doc.ents) for doc in one_by_one) > 5
    for batch_size in (1, 2, 5, 100):
        docs = list(nlp.pipe(TEXTS, batch_size=batch_size))
        assert entities_of(docs) == entities_of(one_by_one)
        for doc, alone in zip(docs, one_by_one, strict=True):
            scores = [d.spans["found"].attrs["scores"] for d in (doc, alone)]
            assert_allclose(*scores, atol=1e-5)


def test_empty_docs_alone_are_annotated() -> None:
    nlp = initialized(spans_key="found")
    docs = list(nlp.pipe(["", ""]))
    assert [len(doc.ents) for doc in docs] == [0, 0]
    assert [len(doc.spans["found"].attrs["scores"]) for doc in docs] == [0, 0]
    assert list(pipe_of(nlp).pipe([])) == []
    assert len(blank()("")) == 0


@pytest.mark.parametrize("name", DECODERS)
def test_entities_that_are_there_are_scored_as_if_the_model_found_them(
    name: str, taggers: dict[str, Language]
) -> None:
    nlp = taggers[name]
    whole = nlp(TEXTS[0])
    doc = nlp.make_doc(TEXTS[0])
    second = whole.ents[1]
    doc.set_ents([Span(doc, second.start, second.end, second.label)], default="missing")
    pipe_of(nlp)(doc)
    assert found(whole)[1] in found(doc)
    at = found(doc).index(found(whole)[1])
    scores = [d.spans["found"].attrs["scores"] for d in (doc, whole)]
    assert_allclose(scores[0][at], scores[1][1], rtol=1e-5)


@pytest.mark.parametrize("name", DECODERS)
def test_new_entities_are_scored_given_those_that_are_there(
    name: str, taggers: dict[str, Language]
) -> None:
    nlp = taggers[name]
    free = nlp(TEXTS[0]).spans["found"]
    doc = nlp.make_doc(TEXTS[0])
    doc.set_ents([Span(doc, 0, 1, label="OTHER", kb_id="Q1")], default="missing")
    asked = pipe_of(nlp).score_spans(doc.copy())
    pipe_of(nlp)(doc)
    new = [ent for ent in doc.ents if ent.label_ != "OTHER"]
    spans = doc.spans["found"]
    assert list(spans) == new
    assert [key[1][:2] for key in asked.keys] == [(ent.start, ent.end) for ent in new]
    assert_allclose(spans.attrs["scores"], asked.probabilities(1.0), rtol=1e-5)
    assert free.attrs["scores"].tolist() != spans.attrs["scores"].tolist()


def test_blocked_tokens_are_in_no_entity_when_others_are_scored() -> None:
    nlp = randomized(CRF, spans_key="found")
    free, blocked = nlp.make_doc(TEXTS[0]), nlp.make_doc(TEXTS[0])
    free.set_ents([Span(free, 0, 1, label="PER")], default="missing")
    blocked.set_ents([Span(blocked, 0, 1, label="PER")], blocked=[blocked[1:]], default="missing")
    scores = [pipe_of(nlp)(doc).spans["found"].attrs["scores"][0] for doc in (free, blocked)]
    assert scores[1] > scores[0]


def scores_of(doc: Doc) -> dict[EntityKey, float]:
    spans = doc.spans["found"]
    scores = spans.attrs["scores"].tolist()
    return {(s.start, s.end, s.label_): score for s, score in zip(spans, scores, strict=True)}


def listed_by(nlp: Language) -> dict[tuple[int, EntityKey], float]:
    docs = enumerate(nlp.pipe(TEXTS))
    return {(i, key): score for i, doc in docs for key, score in scores_of(doc).items()}


@pytest.mark.parametrize("name", DECODERS)
def test_probabilities_are_asked_for_of_any_entities(name: str) -> None:
    model, decoder = DECODERS[name]
    nlp = randomized(model, decoder=decoder, spans_key="found")
    docs = [nlp.make_doc(text) for text in TEXTS]
    spans = [[*combinations(range(len(doc) + 1), 2)] for doc in docs]
    keys = [
        [(*span, label) for label in pipe_of(nlp).labels for span in of_doc] for of_doc in spans
    ]
    asked = pipe_of(nlp).score_spans(docs, keys)
    assert asked.keys == [(i, key) for i, of_doc in enumerate(keys) for key in of_doc]
    probable = dict(zip(asked.keys, asked.probabilities(1.0).tolist(), strict=True))
    expected = listed_by(nlp)
    assert 0 < len(expected) < len(probable)
    assert {key: probable[key] for key in expected} == pytest.approx(expected, rel=1e-4)
    pipe_of(nlp).candidates_above = 0.01
    listed = listed_by(nlp)
    wanted = {key: p for key, p in probable.items() if p >= 0.01 or key in expected}
    assert len(wanted) > len(expected) and listed == pytest.approx(wanted, rel=1e-4)
    with pytest.raises(ValueError, match="no label 'X'"):
        pipe_of(nlp).score_spans(docs[:1], [[(0, 1, "X")]])


@pytest.mark.parametrize("name", DECODERS)
def test_entities_below_the_threshold_are_left_out_and_their_scores_stay(name: str) -> None:
    model, decoder = DECODERS[name]
    nlp = randomized(model, decoder=decoder)
    pipe = pipe_of(nlp)
    pipe.spans_key = "found"
    docs = list(nlp.pipe(TEXTS))
    scores = numpy.concatenate([doc.spans["found"].attrs["scores"] for doc in docs])
    median = numpy.sort(scores)[len(scores) // 2]
    # The confidences are float64, and the scores that are kept float32.
    threshold = pipe.threshold = float(numpy.nextafter(median, numpy.float32(0)))
    assert 0 < sum(scores < threshold) < len(scores)
    for doc, sure in zip(docs, nlp.pipe(TEXTS), strict=True):
        assert scores_of(sure) == scores_of(doc)
        expected = [key for key, score in scores_of(doc).items() if score >= threshold]
        assert [ent[:3] for ent in found(sure)] == expected
    expected_without_spans = [found(doc) for doc in nlp.pipe(TEXTS)]
    pipe.spans_key = None
    assert [found(doc) for doc in nlp.pipe(TEXTS)] == expected_without_spans


def test_threshold_leaves_entities_that_are_there_already() -> None:
    nlp = randomized(threshold=1.0, spans_key="found")
    doc = nlp.make_doc(TEXTS[0])
    doc.set_ents([Span(doc, 0, 1, label="PER")], default="missing")
    pipe_of(nlp)(doc)
    assert entities_of([doc]) == [[("Anna", "PER")]]
    assert all(token.ent_iob for token in doc)


# Round trips


def outcomes(nlp: Language) -> list[tuple[Found, list[float]]]:
    docs = nlp.pipe(TEXTS)
    return [(found(doc), doc.spans["found"].attrs["scores"].round(4).tolist()) for doc in docs]


@pytest.mark.parametrize("name", ["constrained", "greedy, of a crf"])
def test_pipeline_goes_to_bytes_and_disk_and_back(name: str, tmp_path: Path) -> None:
    model, decoder = DECODERS[name]
    nlp = randomized(model, decoder=decoder, spans_key="found")
    expected = outcomes(nlp)
    nlp.to_disk(tmp_path)
    assert outcomes(spacy.load(tmp_path)) == expected
    others = trained(model, 1, decoder=decoder, spans_key="found")
    assert outcomes(others) != expected
    assert outcomes(others.from_bytes(nlp.to_bytes())) == expected
    fresh = load_model_from_config(Config().from_str(nlp.config.to_str()))
    assert outcomes(fresh.from_bytes(nlp.to_bytes())) == expected
    assert outcomes(pickle.loads(pickle.dumps(nlp))) == expected


NEW = ("They like rain .", [(10, 14, "DRINK")])
MODELS = {"independent": tagger(), "crf": CRF, "of 9 tags": tagger(nO=9)}


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


def test_an_optimizer_goes_on_with_a_larger_model() -> None:
    """Its moments have the shape of the parameters that it has met."""
    nlp = blank(CRF)
    sgd = nlp.initialize(lambda: examples_of(nlp), sgd=Adam(0.01, use_averages=True))
    assert sgd.averages is not None
    for examples in (examples_of(nlp), examples_with_new(nlp)) * 2:
        for _ in range(15):
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


@pytest.mark.parametrize("name", ["independent", "crf"])
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


def test_a_load_that_fails_leaves_labels_and_predictions(tmp_path: Path) -> None:
    nlp = trained()
    tagger = pipe_of(nlp)
    labels, entities = tagger.labels, entities_of([nlp(TEXTS[0])])
    with pytest.raises(ValueError, match="Can.t read file"):
        tagger.from_disk(tmp_path / "nowhere")
    with pytest.raises(ValueError):
        tagger.from_bytes(b"garbage")
    assert tagger.labels == labels and entities_of([nlp(TEXTS[0])]) == entities == gold()[:1]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("independent", "resumed"),
        ("of 9 tags", "loaded"),
        *(("crf", how) for how in ("resumed", "added", "sourced", "loaded")),
    ],
)
def test_training_goes_on_with_a_new_label(name: str, how: str, tmp_path: Path) -> None:
    nlp = trained(MODELS[name])
    if how == "sourced":
        source, nlp = nlp, spacy.blank("en")
        nlp.add_pipe("tagger_ner", source=source)
    elif how != "resumed":
        pipe_of(nlp).add_label("DRINK")
    if how == "loaded":
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
    assert entities_of(nlp.pipe(TEXTS[:4])) == gold()
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.01
    for _ in range(20):
        nlp.update(examples_with_new(nlp), sgd=sgd)
    assert entities_of(nlp.pipe(TEXTS[:4])) == [*gold()[:3], [("rain", "DRINK")]]
    assert pipe_of(nlp).cfg == {"labels": ["GPE", "PER", "DRINK"]}


def load_without_cfg(nlp: Language) -> None:
    with TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        (Path(folder) / "tagger_ner" / "cfg").unlink()
        spacy.load(folder)


def with_labels(nlp: Language, labels: Any) -> None:
    pipe_of(nlp).initialize(lambda: examples_of(nlp), nlp=nlp, labels=labels)


LABELS_REFUSED = "labels must be a list of strings, as spacy init labels"
NO_TOK2VEC = r"must be a tok2vec, .* got the encoder '{}.* as its `encode`"
MISH = {"@architectures": "spacy.MishWindowEncoder.v2", "width": 8, "window_size": 1, "depth": 1}
# What is done with a pipeline that isn't initialized, and with one that is.
REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda nlp: nlp.initialize(), "E143.*'tagger_ner'.* No example has an entity"),
    (lambda nlp: nlp("Anna met Bob"), r"E109.*'tagger_ner'.*initialize"),
    (lambda nlp: initialized(tagger(nO=5)), "2 labels need 9 tags, but its model has nO = 5"),
    (lambda nlp: blank(tagger(ITERATED)), NO_TOK2VEC.format("iterated_dilated_encoder")),
    (lambda nlp: blank(tagger(MISH)), NO_TOK2VEC.format(r"with_array\(")),
    (lambda nlp: nlp.update(examples_of(nlp)), r"E109.*'tagger_ner'.*initialize"),
    (lambda nlp: with_labels(nlp, "PERSON"), LABELS_REFUSED),
    (lambda nlp: with_labels(nlp, ["PERSON", 3]), LABELS_REFUSED),
    (lambda nlp: pipe_of(nlp).from_bytes(pipe_of(randomized(CRF)).to_bytes()), "transitions"),
]
REFUSED_WHEN_TRAINED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda nlp: loss_of(nlp, examples_with_new(nlp)), r"does not have: DRINK\. .*GPE, PER"),
    (load_without_cfg, r"tagger_ner/model .* the weights are for 2 labels, .* has 0"),
]


@pytest.mark.parametrize(("do", "message"), [*REFUSED, *REFUSED_WHEN_TRAINED])
def test_refusals(do: Callable[[Any], Any], message: str) -> None:
    nlp = blank() if (do, message) in REFUSED else randomized(spans_key="found")
    with pytest.raises((TypeError, ValueError), match=message):
        do(nlp)
