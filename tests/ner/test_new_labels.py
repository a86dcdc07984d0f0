"""Labels that recognizers get while they predict: from docs, other threads, and `moves` alone."""

import copy
import os
import pickle
import random
import threading
from typing import Any

import numpy
import pytest
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.ner.recognizer import LabelLock
from tests.helpers.kernels import using_kernels
from tests.helpers.recognizers import trained

SETTINGS: dict[str, dict[str, Any]] = {
    "batch_ner": {"spans_key": "found"},
    "tagger_ner": {"spans_key": "found", "model": {"learn_transitions": True}},
}
KERNELS = sorted({available_kernels()[0], "none"})
TEXT = "Anna met Bob in Rome . They like Oslo and Anna left Bob ."


def recognizer(factory: str) -> tuple[Language, Any]:
    nlp = trained(factory, SETTINGS[factory])
    return nlp, nlp.get_pipe(factory)


def add_meanwhile(pipe: Any) -> None:
    """Add a label in another thread whenever vectors of tokens are predicted."""
    tok2vec = pipe.model.get_ref("tok2vec").layers[0]
    forward = tok2vec._func

    def interrupted(model: object, docs: list[Doc], is_train: bool) -> object:
        Y = forward(model, docs, is_train)
        thread = threading.Thread(target=pipe.add_label, args=[f"A{len(pipe.labels)}"])
        thread.start()
        thread.join()
        return Y

    tok2vec._func = interrupted


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("factory", SETTINGS)
def test_labels_added_meanwhile_change_no_prediction(factory: str, kernels: str) -> None:
    nlp, pipe = recognizer(factory)
    expected = nlp(TEXT)
    number = len(pipe.labels)
    add_meanwhile(pipe)
    with using_kernels(kernels):
        docs = [nlp(TEXT) for _ in range(3)]
        spans = pipe.score_spans(nlp.make_doc(TEXT))
    assert len(expected.ents) > 2 and len(pipe.labels) == number + 4
    found = [(ent.start, ent.end, ent.label_) for ent in expected.ents]
    for doc in docs:
        assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == found
        scores, others = (of.spans["found"].attrs["scores"] for of in (doc, expected))
        numpy.testing.assert_allclose(scores, others, rtol=1e-4)
    assert [key for _, key in spans.keys] == found


@pytest.mark.parametrize("factory", SETTINGS)
def test_threads_whose_docs_bring_labels_keep_these_entities(factory: str) -> None:
    nlp, pipe = recognizer(factory)
    wrong: list[str] = []

    def work(thread: int) -> None:
        rng = random.Random(thread)
        for number in range(15):
            doc = nlp.make_doc(TEXT * rng.randint(1, 4))
            label = f"L{thread}_{number}"
            doc.set_ents([Span(doc, 0, 2, label=label)], default="missing")
            try:
                if factory == "tagger_ner" and number % 3 == 0:
                    pipe.update([Example(nlp.make_doc(doc.text), doc)])
                elif factory == "batch_ner" and number % 5 == 0:
                    pipe.update([Example(doc.copy(), doc)])
                if pipe(doc).ents[0].label_ != label:
                    wrong.append(label)
            except Exception as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(pipe.labels) >= 20


@pytest.mark.parametrize("kernels", KERNELS)
def test_actions_added_to_moves_alone_get_weights(kernels: str) -> None:
    nlp, pipe = recognizer("batch_ner")
    expected = [str(ent) for ent in nlp(TEXT).ents]
    for number in range(200):
        for action in (1, 2, 3, 4):
            pipe.moves.add_action(action, f"L{number}")
    with using_kernels(kernels):
        assert [str(ent) for ent in nlp(TEXT).ents] == expected
    assert pipe.model.get_ref("upper").get_param("b").size == pipe.moves.n_moves


def test_weights_of_other_labels_are_refused() -> None:
    nlp, pipe = recognizer("batch_ner")
    upper = pipe.model.get_ref("upper")
    upper.set_param("W", numpy.vstack([upper.get_param("W")] * 2))
    example = Example.from_dict(nlp.make_doc(TEXT), {"entities": [(0, 4, "PER")]})
    for do in (lambda: nlp(TEXT), lambda: pipe.update([example])):
        with pytest.raises(ValueError, match="actions"):
            do()


def test_locks_are_copied_as_new_locks() -> None:
    lock = LabelLock()
    with lock, lock:
        for other in (copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert not is_held(other)
        assert is_held(lock)
    assert not is_held(lock)


def is_held(lock: LabelLock) -> bool:
    """Check if another thread would have to wait."""
    done = threading.Event()

    def take() -> None:
        with lock:
            done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return not done.wait(0.2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forked_processes_do_not_wait_for_a_lock_of_another_thread() -> None:
    lock, taken, release = LabelLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            release.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(int(is_held(lock)))
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
