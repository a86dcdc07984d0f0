"""Plans are never stale: whatever changes in a model, the next prediction has it."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vectors import Vectors
from thinc.api import Adam, Model, fix_random_seed, to_numpy

from spacy_multihash.common.nodes import find_nodes, forget_weights
from spacy_multihash.compute.dispatch import NONE, kernels
from spacy_multihash.embed.rows import Symbols
from spacy_multihash.tables.set_tables import count_tables, set_tables
from tests.helpers.arrays import assert_all_close
from tests.helpers.corpora import HASH, make_docs
from tests.helpers.kernels import assert_same_with_threads, using_kernels
from tests.helpers.recognizers import trained
from tests.helpers.sections import ours, tok2vec, windows
from tests.helpers.several_vectors import vectors_of
from tests.helpers.weights import params

pytestmark = pytest.mark.skipif(kernels is None, reason="installed without a compiler")

TEXT = "Anna met Bob in Rome . They like Oslo and Anna left Bob ."
FACTORIES = ("batch_ner", "tagger_ner")
MAXOUT_WINDOWS = windows(width=8, depth=2)
OPTIONS = {"window_size": 1, "share": False, "residual": True, "normalize": True}
DILATED = ours("IteratedDilatedEncoder", width=8, repeats=2, dilations=[1, 2], **OPTIONS)


def pipeline(factory: str, encode: dict[str, Any]) -> Language:
    return trained(factory, {"model": {"tok2vec": tok2vec({**HASH, "width": 8}, encode)}})


def numbers(nlp: Language) -> list[numpy.ndarray]:
    """Compute the vectors of tokens, in training as well, and what the recognizer makes of them."""
    pipe: Any = nlp.get_pipe(nlp.pipe_names[0])
    doc = nlp.make_doc(TEXT)
    spans = pipe.score_spans([doc], [[(i, i + 1, pipe.labels[-1]) for i in range(len(doc))]])
    model: Model = pipe.model.get_ref("tok2vec")
    vectors: Any = [*model.predict([doc]), *model.begin_update([doc])[0]]
    labels = [ent.label for ent in pipe(nlp.make_doc(TEXT)).ents]
    return [numpy.concatenate(vectors), spans.probabilities(1.0), numpy.array(labels)]


def assert_current(nlp: Language) -> list[numpy.ndarray]:
    """Compare with array code, which keeps nothing."""
    found = numbers(nlp)
    with using_kernels(NONE):
        expected = numbers(nlp)
    assert_all_close(found, expected, atol=1e-4)
    return found


def model_of(nlp: Language) -> Model:
    return nlp.get_pipe(nlp.pipe_names[0]).model  # type: ignore[attr-defined]


def changed(array: Any) -> Any:
    return array * numpy.float32(-1.5)


def change_in_place(nlp: Language) -> None:
    for node, name in params(model_of(nlp)):
        array: Any = node.get_param(name)
        array *= -1.5


def set_others(model: Model) -> None:
    for node, name in params(model):
        node.set_param(name, changed(node.get_param(name)))


def load_others(nlp: Language) -> None:
    pipe: Any = copy.deepcopy(nlp.get_pipe(nlp.pipe_names[0]))
    set_others(pipe.model)
    nlp.get_pipe(nlp.pipe_names[0]).from_bytes(pipe.to_bytes())  # type: ignore[attr-defined]


def step(nlp: Language) -> None:
    doc = nlp.make_doc(TEXT)
    example = Example.from_dict(doc, {"entities": [(9, 12, nlp.pipe_labels[nlp.pipe_names[0]][0])]})
    nlp.update([example], sgd=Adam(0.5), drop=0.0)


def add_labels(nlp: Language) -> None:
    pipe: Any = nlp.get_pipe(nlp.pipe_names[0])
    for number in range(3):
        pipe.add_label(f"NEW{number}")
    step(nlp)


def swap_layers(nlp: Language) -> None:
    names = ("maxout_window_encoder", "iterated_dilated_encoder")
    (encode,) = [node for node in model_of(nlp).walk() if node.name in names]
    encode.layers[0] = encode.layers[0].copy()
    set_others(encode.layers[0])


def swap_embedding(nlp: Language) -> None:
    (columns,) = find_nodes(model_of(nlp), "multi_embed")
    columns.layers[0] = columns.layers[0].copy()
    set_others(columns.layers[0])


def give_new_ids(nlp: Language) -> None:
    for node in {node for node, _ in params(model_of(nlp))}:
        kept = {name: node.get_param(name) for name in node.param_names}
        forget_weights(node)
        for name, array in kept.items():
            node.set_param(name, changed(array))


def use_other_rows(nlp: Language) -> None:
    """Give the rows of symbols to other symbols, and vectors to other words."""
    for node in find_nodes(model_of(nlp), "lookup_rows"):
        symbols = node.attrs["symbols"]
        node.attrs["symbols"] = Symbols(symbols.keys, symbols.rows[::-1].copy())
    if nlp.vocab.vectors.size:
        nlp.vocab.vectors = Vectors(
            strings=nlp.vocab.strings,
            data=-nlp.vocab.vectors.data,
            keys=list(nlp.vocab.vectors),
            name="others",
        )


def change_rows_in_place(nlp: Language) -> None:
    for node in find_nodes(model_of(nlp), "lookup_rows"):
        rows = node.attrs["symbols"].rows
        rows[:] = rows[::-1].copy()
    nlp.vocab.vectors.data *= -1


WEIGHTED, APPENDED = "MultiWeightedHashEmbed", {"append_importance": True}
EMBEDDINGS = {
    "looked up": ours(
        "MultiEmbed", attrs=["NORM", "SHAPE", "LOWER{2,3}", "ORTH[:2]"], reduce="mean"
    ),
    "weighted": ours(WEIGHTED, attrs=["NORM", "ORTH{2,2}"], rows=[50, 20], **APPENDED),
    "not trained": ours(WEIGHTED, attrs=["NORM"], rows=[50], **APPENDED, train_importance=False),
    "with vectors": ours("MultiEmbed", attrs=["SHAPE"], include_static_vectors=True),
}


def embedding(kind: str) -> Language:
    """Build a tagger with an embedding of this kind, and random weights."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    embed = {"width": 8, "include_static_vectors": False, **EMBEDDINGS[kind]}
    model = {"tok2vec": tok2vec(embed, MAXOUT_WINDOWS)}
    pipe: Any = nlp.add_pipe("tagger_ner", config={"model": model})
    docs = make_docs()
    if embed["include_static_vectors"]:
        nlp.vocab.vectors = vectors_of(nlp, ["Anna", "met", "Bob", "Oslo"], 6)
    if "MultiEmbed" in embed["@architectures"]:
        set_tables(pipe.model, count_tables([pipe.model], docs))
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in docs])
    for node in pipe.model.walk():
        if node.name == "linear":  # whose weights begin as zeros
            node.set_param("W", numpy.random.normal(size=node.get_param("W").shape).astype("f"))
    return nlp


CHANGES: list[Callable[[Language], None]] = [
    *(change_in_place, lambda nlp: set_others(model_of(nlp)), load_others),
    *(step, add_labels, give_new_ids),
]


@pytest.mark.parametrize("change", [*CHANGES, use_other_rows, change_rows_in_place])
@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_predictions_have_every_change_of_an_embedding(
    kind: str, change: Callable[[Language], None]
) -> None:
    nlp = embedding(kind)
    before = assert_current(nlp)
    change(nlp)
    after = assert_current(nlp)
    has_rows = kind in ("looked up", "with vectors")
    assert (numpy.abs(before[0] - after[0]).max() > 1e-3) == (
        has_rows or change not in (use_other_rows, change_rows_in_place)
    )


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_embeddings_are_the_same_for_many_tokens(kind: str) -> None:
    nlp = embedding(kind)
    model = model_of(nlp).get_ref("tok2vec")
    docs = [nlp.make_doc(f"{TEXT} number{i}" * (i % 4)) for i in range(200)]

    def compute() -> list[Any]:
        found = nlp.pipe([doc.copy() for doc in docs], batch_size=1000)
        entities = [(ent.start, ent.end, ent.label) for doc in found for ent in doc.ents]
        assert entities
        return [numpy.concatenate(model.predict(docs)), entities]

    assert_same_with_threads(compute)
    trained_on, _ = model.begin_update(docs)
    assert_allclose(numpy.concatenate(trained_on), compute()[0], atol=1e-4)


def test_settings_of_a_tagger_hold_at_once() -> None:
    nlp = pipeline("tagger_ner", MAXOUT_WINDOWS)
    pipe: Any = nlp.get_pipe("tagger_ner")
    assert pipe.predict([nlp.make_doc(TEXT)]).probabilities is None
    pipe.spans_key = "entities"
    assert pipe.predict([nlp.make_doc(TEXT)]).probabilities is not None
    assert nlp(TEXT).spans["entities"]
    pipe.spans_key, pipe.decoder = None, "greedy"
    assert_current(nlp)


@pytest.mark.parametrize("change", [*CHANGES, swap_layers, swap_embedding])
@pytest.mark.parametrize("encode", [MAXOUT_WINDOWS, DILATED], ids=["windows", "dilated"])
@pytest.mark.parametrize("factory", FACTORIES)
def test_the_next_prediction_has_every_change(
    factory: str, encode: dict[str, Any], change: Callable[[Language], None]
) -> None:
    nlp = pipeline(factory, encode)
    before = assert_current(nlp)
    change(nlp)
    after = assert_current(nlp)
    assert numpy.abs(before[0] - after[0]).max() > 1e-3


def test_numpy_gives_no_other_memory_to_what_plans_keep() -> None:
    nlp = pipeline("batch_ner", MAXOUT_WINDOWS)
    nlp(TEXT)
    for node, name in params(model_of(nlp)):
        array: Any = node.get_param(name)
        with pytest.raises(ValueError, match="resize"):
            array.resize(array.size + 10**6)


@pytest.mark.parametrize("factory", FACTORIES)
def test_averages_are_used_and_given_back(factory: str) -> None:
    nlp = pipeline(factory, MAXOUT_WINDOWS)
    before = assert_current(nlp)
    nodes = params(model_of(nlp))
    averages = {(node.id, name): changed(node.get_param(name)) for node, name in nodes}
    with nlp.use_params(averages):
        within = assert_current(nlp)
    after = assert_current(nlp)
    assert numpy.abs(before[0] - within[0]).max() > 1e-3
    assert_all_close(before, after)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda nlp: pickle.loads(pickle.dumps(nlp))])
@pytest.mark.parametrize("factory", FACTORIES)
def test_copies_have_plans_of_their_own(factory: str, copied: Callable) -> None:
    nlp = pipeline(factory, MAXOUT_WINDOWS)
    before = numbers(nlp)
    copy_of_it = copied(nlp)
    change_in_place(copy_of_it)
    assert numpy.abs(assert_current(copy_of_it)[0] - before[0]).max() > 1e-3
    assert_all_close(before, assert_current(nlp))


def test_copies_of_a_model_share_no_plan() -> None:
    nlp = pipeline("batch_ner", MAXOUT_WINDOWS)
    model = model_of(nlp).get_ref("tok2vec")
    copied, docs = model.copy(), [nlp.make_doc(TEXT)]
    set_others(copied)
    for _ in range(2):
        assert numpy.abs(model.predict(docs) - copied.predict(docs)).max() > 1e-3


def test_removed_weights_are_missed() -> None:
    nlp = pipeline("batch_ner", MAXOUT_WINDOWS)
    nlp(TEXT)
    (table, *_) = find_nodes(model_of(nlp), "table_embed")
    table.set_param("E", None)
    with pytest.raises(ValueError, match="E109"):
        nlp(TEXT)


def test_a_parameter_elsewhere_is_read_each_time() -> None:
    nlp = pipeline("batch_ner", MAXOUT_WINDOWS)
    nlp(TEXT)

    class Elsewhere:
        """Ray's workers keep parameters in another process."""

        asked = 0

        def get_param(self, model_id: int, name: str) -> Any:
            Elsewhere.asked += 1
            return kept[model_id, name]

        def set_param(self, model_id: int, name: str, value: Any) -> None:
            kept[model_id, name] = value

    kept: dict[tuple[int, str], Any] = {}
    for node in {node for node, _ in params(model_of(nlp))}:
        kept |= node._params._params
        node._params.proxy = Elsewhere()
    nlp(TEXT)
    first = Elsewhere.asked
    nlp(TEXT)
    assert first > 0 and Elsewhere.asked == 2 * first


@pytest.mark.gpu
def test_models_move_to_a_gpu_and_back(request: pytest.FixtureRequest) -> None:
    nlp = pipeline("batch_ner", MAXOUT_WINDOWS)
    model = model_of(nlp).get_ref("tok2vec")
    docs: list[Doc] = [nlp.make_doc(TEXT)]
    before: Any = model.predict(docs)
    request.getfixturevalue("gpu")
    model.to_gpu(0)
    moved: Any = model.predict(docs)
    assert not isinstance(moved, numpy.ndarray)
    assert_allclose(to_numpy(moved), before, atol=1e-4)
    model.to_cpu()
    assert_allclose(to_numpy(cast(Any, model.predict(docs))), before, atol=1e-4)
