"""Text classifiers: n-grams, the model against a loop, and whole pipelines."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mmh3
import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.cli.train import train as train_cli
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config, Model, Ops, fix_random_seed, to_numpy

from spacy_multihash.common.nodes import find_nodes
from spacy_multihash.compute.ops import operations
from spacy_multihash.layers import default_seeds, importance_seed
from spacy_multihash.textcat.architectures import build_textcat_hash_embed_v1
from spacy_multihash.textcat.ngrams import extract_ngrams
from tests.helpers.fake_docs import FakeDoc
from tests.helpers.features import reference_rows
from tests.helpers.paths import ROOT
from tests.helpers.sections import ours
from tests.helpers.weights import check_param_gradients, randomize

CORPUS = {
    "SPORT": [
        "The team won the final by two goals .",
        "She scored a goal in the last minute .",
        "The coach praised his players after the match .",
    ],
    "FOOD": [
        "Stir the soup and add some salt .",
        "Bake the bread until it is brown .",
        "She fried onions with garlic and butter .",
    ],
    "MONEY": [
        "The bank raised its interest rate .",
        "Shares of the company fell by five percent .",
        "Investors sold their bonds .",
    ],
    "WEATHER": [
        "Heavy rain and wind are expected .",
        "The storm brought snow to the north .",
        "It will be sunny and warm tomorrow .",
    ],
}
LABELS = list(CORPUS)
# Four texts of the corpus, then one of unknown words, one token, no token, and white space.
TEXTS = [CORPUS[label][0] for label in LABELS] + ["Zoë 's 7th 😀 naïve co-op", "goal", "", "  "]

SMALL = {"rows": 200, "width": 12}
APPENDED: dict[str, Any] = {**SMALL, "append_importance": True, "attr": "NORM"}


def architecture(exclusive: bool, **settings: Any) -> dict[str, Any]:
    return ours("TextCatHashEmbed", exclusive_classes=exclusive, **settings)


def blank(model: dict[str, Any], component: str = "textcat") -> Language:
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe(component, name="textcat", config={"model": model})
    return nlp


def examples_of(nlp: Language, labels: list[str] = LABELS) -> list[Example]:
    return [
        Example.from_dict(nlp.make_doc(text), {"cats": {each: each == label for each in LABELS}})
        for label in labels
        for text in CORPUS[label]
    ]


def trained(
    model: dict[str, Any],
    component: str = "textcat",
    examples: Callable[[Language], list[Example]] = examples_of,
    epochs: int = 25,
) -> Language:
    nlp = blank(model, component)
    batch = examples(nlp)
    sgd = nlp.initialize(lambda: batch)
    sgd.learn_rate = 0.02
    for _ in range(epochs):
        for start in range(4):
            nlp.update(batch[start::4], sgd=sgd, drop=0.1)
    return nlp


def probabilities_of(nlp: Language) -> numpy.ndarray:
    textcat: Any = nlp.get_pipe("textcat")
    return to_numpy(textcat.model.predict([nlp.make_doc(text) for text in TEXTS]))


def best(cats: dict[str, float]) -> str:
    return max(cats, key=cats.__getitem__)


def param(node: Model, name: str) -> Any:
    return node.get_param(name)


@pytest.fixture(scope="module")
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    return [nlp.make_doc(text) for text in ("Rain , rain and sun", "", "Sun", "the sun and rain")]


def build(exclusive_classes: bool = True, **settings: Any) -> Model:
    given: dict[str, Any] = {"width": 3, "rows": 7, "importance_rows": 11, "nO": 4}
    return build_textcat_hash_embed_v1(exclusive_classes, **(given | settings))


# The model against a loop


def ngrams_of(doc: Doc, orders: list[int]) -> list[int]:
    ids = [token.lower for token in doc]
    ngrams = []
    for start in range(len(ids)):
        for order in orders:
            key = numpy.array(ids[start : start + order], dtype="uint64").tobytes()
            if len(key) == 8 * order:
                hashed = mmh3.hash64(key, 0, x64arch=True, signed=False)[0]
                ngrams.append(ids[start] if order == 1 else hashed)
    return ngrams


def reference(model: Model, doc: Doc, orders: list[int], reduce: str) -> numpy.ndarray:
    """Give the scores of the labels, one n-gram and one component vector at a time."""
    E = param(find_nodes(model, "weighted_table_embed")[0], "E")
    P = param(find_nodes(model, "table_embed")[0], "E")
    seed = default_seeds(1)[0]
    pooled = numpy.zeros(E.shape[1])
    ngrams = ngrams_of(doc, orders)
    for ngram in ngrams:
        ((row_of_P,),) = reference_rows([ngram], len(P), 1, [importance_seed(seed)])
        (rows,) = reference_rows([ngram], len(E), P.shape[1], [seed])
        for i, row in enumerate(rows):
            pooled += P[row_of_P, i] * E[row]
    X = pooled / max(len(ngrams), 1) if reduce == "mean" else pooled
    output = model.get_ref("output_layer")
    return param(output, "W") @ X + param(output, "b")


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("orders", [[1, 2], [2, 3]])
def test_probabilities_equal_a_loop(
    exclusive: bool, reduce: str, orders: list[int], docs: list[Doc]
) -> None:
    model = randomize(build(exclusive, reduce=reduce, ngram_orders=orders).initialize())
    scores = numpy.vstack([reference(model, doc, orders, reduce) for doc in docs])
    if exclusive:
        shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        expected = shares / shares.sum(axis=1, keepdims=True)
    else:
        expected = 1 / (1 + numpy.exp(-scores))
    assert_allclose(model.predict(docs), expected, atol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reduce": "mean", "ngram_orders": [2]},
        {"append_importance": True},
        {"train_importance": False, "importance_rows": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("exclusive", [True, False])
def test_gradients_equal_central_differences(
    exclusive: bool, settings: dict[str, Any], docs: list[Doc]
) -> None:
    model = randomize(build(exclusive, **settings).initialize())
    if exclusive:
        # Backprop takes the gradient of the scores, so that these are predicted.
        model.get_ref("output_layer").attrs["softmax_normalize"] = False
    check_param_gradients(model, docs, lambda Y: Y, eps=1e-3, atol=1e-2)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("settings", [SMALL, {**SMALL, "reduce": "mean"}], ids=["sum", "mean"])
def test_docs_without_ngrams_go_there_and_back(
    ops: Ops, exclusive: bool, settings: dict[str, Any], docs: list[Doc]
) -> None:
    model = build_textcat_hash_embed_v1(exclusive, nO=3, **{**settings, "ngram_orders": [10]})
    for batch in (docs, docs[1:2], []):
        model.initialize(X=batch)
        probabilities, backprop = model.begin_update(batch)
        assert probabilities.shape == (len(batch), 3)
        expected = 1 / 3 if exclusive else 1 / 2
        assert_allclose(to_numpy(probabilities), expected, atol=1e-6)
        assert backprop(ops.xp.ones_like(probabilities)) == []
        assert all(ops.xp.isfinite(n.get_grad(p)).all() for n in model.walk() for p in n.grad_names)


# Pipelines


@pytest.mark.parametrize("settings", [SMALL, APPENDED], ids=["linear", "appended"])
def test_training_learns_the_topics(settings: dict[str, Any]) -> None:
    nlp = trained(architecture(True, **settings))
    for label, texts in CORPUS.items():
        assert [best(doc.cats) for doc in nlp.pipe(texts)] == [label] * len(texts)


def test_pipeline_goes_to_bytes_and_disk_and_back(tmp_path: Path) -> None:
    nlp = trained(architecture(True, **APPENDED), epochs=2)
    expected = probabilities_of(nlp)
    nlp.to_disk(tmp_path)
    assert_array_equal(probabilities_of(spacy.load(tmp_path)), expected)
    others = trained(architecture(True, **APPENDED), epochs=1)
    assert (probabilities_of(others) != expected).any()
    assert_array_equal(probabilities_of(others.from_bytes(nlp.to_bytes())), expected)
    fresh = load_model_from_config(Config().from_str(nlp.config.to_str()))
    assert_array_equal(probabilities_of(fresh.from_bytes(nlp.to_bytes())), expected)
    assert_array_equal(probabilities_of(pickle.loads(pickle.dumps(nlp))), expected)


def test_exclusive_classes_and_texts_of_several_labels_do_not_go_together() -> None:
    model = architecture(True, rows=50)
    nlp = spacy.blank("en")
    nlp.add_pipe("textcat_multilabel", config={"model": model})
    cats = [{"SPORT": 1.0, "FOOD": 0.0}, {"SPORT": 1.0, "FOOD": 1.0}]
    examples = [Example.from_dict(nlp.make_doc("A good goal ."), {"cats": each}) for each in cats]
    with pytest.raises(ValueError, match="Set exclusive_classes = false in the model of textcat_m"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize("component", ["textcat", "textcat_multilabel"])
def test_a_label_added_later_leaves_the_others_alone_and_is_learnt(component: str) -> None:
    model = architecture(component == "textcat", **SMALL)

    def first_three(nlp: Language) -> list[Example]:
        examples = examples_of(nlp, LABELS[:3])
        for example in examples:
            del example.reference.cats["WEATHER"]
        return examples

    nlp = trained(model, component, first_three)
    before = probabilities_of(nlp)
    assert nlp.get_pipe("textcat").add_label("WEATHER")  # type: ignore[attr-defined]
    after = probabilities_of(nlp)
    assert after.shape == (len(TEXTS), 4)
    assert_allclose(after[:, :3], before, atol=1e-6)
    sgd = nlp.resume_training()
    sgd.learn_rate = 0.05
    batch = examples_of(nlp)
    for _ in range(60):
        nlp.update(batch, sgd=sgd)
    for label, texts in CORPUS.items():
        assert [best(doc.cats) for doc in nlp.pipe(texts)] == [label] * len(CORPUS[label])


def test_spacy_train_learns_several_labels_at_once_by_the_config_for_them(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.spacy"
    docs = [example.reference for example in examples_of(spacy.blank("en"))]
    for doc in docs:
        doc.cats = {**doc.cats, "THE": float(any(token.lower_ == "the" for token in doc))}
    assert max(sum(doc.cats.values()) for doc in docs) == 2
    DocBin(docs=docs).to_disk(corpus)
    paths = {"paths.train": str(corpus), "paths.dev": str(corpus)}
    training = {"max_steps": 60, "eval_frequency": 20, "optimizer.learn_rate": 0.05}
    overrides = {**paths, **{f"training.{key}": v for key, v in training.items()}}
    train_cli(ROOT / "configs" / "textcat" / "multilabel.cfg", tmp_path, overrides=overrides)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.meta["performance"]["cats_micro_f"] > 0.9
    texts = [text for text in TEXTS if text]  # spaCy's TextCatBOW raises IndexError for no token
    sums = [sum(doc.cats.values()) for doc in nlp.pipe(texts)]
    assert any(abs(total - 1) > 0.1 for total in sums)


# From docs to n-grams


LOWER, SHAPE = 66, 67


def extract(*orders: int, attr: int = LOWER) -> Model:
    return extract_ngrams(attr, orders, attr_name="LOWER")


def test_extract_ngrams_of_the_attribute_with_lengths(ops: Ops) -> None:
    docs = [FakeDoc({SHAPE: ids}) for ids in ([7, 8, 9], [], [7])]
    ngrams = extract(1, 2, attr=SHAPE).predict(docs)
    ids = numpy.array([7, 8, 9], "uint64")
    hashed, _ = operations(ids).hash_ngrams(ids, numpy.array([3], "int32"), [1, 2])
    assert to_numpy(ngrams.dataXd).tolist() == [*hashed.tolist(), 7]
    assert to_numpy(ngrams.lengths).tolist() == [5, 0, 1]
    assert ngrams.dataXd.dtype == "uint64"
    assert ngrams.lengths.dtype == "int32"


def test_spans_have_the_ngrams_of_their_tokens() -> None:
    doc = Doc(Vocab(), words=["one", "apple", "two", "apple"])
    of_span, of_doc = (extract(1, 2).predict([each]) for each in (doc[1:4], doc[1:4].as_doc()))
    assert of_span.lengths.tolist() == of_doc.lengths.tolist() == [5]
    assert of_span.dataXd.tolist() == of_doc.dataXd.tolist()
