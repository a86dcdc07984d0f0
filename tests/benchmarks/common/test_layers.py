from typing import cast

import pytest
from thinc.api import Linear

from benchmarks.common.layers import (
    check_same_vectors,
    count_parameters,
    our_layers,
    random_gradients,
    spacy_layers,
    training_step,
)
from benchmarks.common.text import Text


def test_our_layers_predict_the_vectors_of_those_of_spacy(text: Text) -> None:
    theirs = spacy_layers(16, depth=1, sample=text.docs)
    ours = our_layers(theirs)
    for name in ("embed", "tok2vec"):
        check_same_vectors([theirs[name], ours[name]], text.docs)
    other = spacy_layers(16, depth=1, sample=text.docs)
    with pytest.raises(AssertionError, match="Not equal"):
        check_same_vectors([theirs["embed"], other["embed"]], text.docs)


def test_training_steps_take_the_batches_in_turn_and_leave_weights_as_they_are(text: Text) -> None:
    model = spacy_layers(16, depth=1, sample=text.docs)["tok2vec"]
    before = model.to_bytes()
    batches = [text.docs[:1], text.docs[1:3]]
    step = training_step(model, batches, [random_gradients(batch, 16) for batch in batches])
    for i, size in enumerate([1, 2, 1]):
        vectors, _ = cast(tuple[list, object], step(i)())
        assert len(vectors) == size
    assert model.to_bytes() == before


def test_parameters_of_initialized_models_are_counted() -> None:
    assert count_parameters(Linear(2, 3).initialize(), Linear(3, 4).initialize()) == 8 + 15
