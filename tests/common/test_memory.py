"""Weights that the machine cannot hold are refused before anything is allocated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Linear, Model

from spacy_multihash import (
    build_iterated_dilated_encoder_v1,
    build_maxout_window_encoder_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    build_textcat_hash_embed_v1,
    build_token_tagger_v1,
)
from spacy_multihash.common import memory
from spacy_multihash.common.memory import available_memory, check_memory
from spacy_multihash.embed.embed_docs import require_vectors

LARGEST = 2**31 - 1


BEYOND: dict[str, tuple[Callable[[], Any], str]] = {
    "table": (
        lambda: build_multi_hash_embed_v1(300, ["NORM"], [LARGEST], False),
        r"'table_embed': .* shape 2147483647 x 300, need 7,730\.9 GB .*Take fewer rows, or a small",
    ),
    "weighted table": (
        lambda: build_multi_weighted_hash_embed_v1(9000, ["NORM"], [LARGEST // 10], False),
        "Layer 'weighted_table_embed': initial weights, .* shape 214748364 x 9000",
    ),
    "windows": (
        lambda: build_maxout_window_encoder_v1(LARGEST, 1, 3, 2),
        "Layer 'maxout_norm': .* Take a smaller width, or fewer maxout pieces",
    ),
    "dilated": (
        lambda: build_iterated_dilated_encoder_v1(LARGEST),
        "Layer 'iterated_dilated_encoder': .* Take a smaller width or window_size",
    ),
    "labels": (
        lambda: build_textcat_hash_embed_v1(True, width=300, rows=9, nO=LARGEST),
        "Classifier of TextCatHashEmbed: .* shape 2147483647 x 300, .* Take a smaller width or nO",
    ),
    "tags": (
        lambda: build_token_tagger_v1(Linear(300, 300), nO=LARGEST),
        "Layer 'token_tagger': .* shape 2147483647 x 300, .* Take a smaller width or nO",
    ),
    "transitions": (
        lambda: build_token_tagger_v1(Linear(1, 1), learn_transitions=True, nO=10**7),
        "Layer 'token_tagger': .* shape 10000000 x 10000000, .* or learn_transitions = false",
    ),
}


@pytest.mark.parametrize(("build", "message"), BEYOND.values(), ids=BEYOND)
def test_weights_beyond_the_memory_are_refused(build: Callable[[], Model], message: str) -> None:
    model = build()
    with pytest.raises(ValueError, match=message):
        model.initialize()


def test_projection_of_static_vectors_beyond_the_memory_is_refused() -> None:
    vocab = Vocab()
    vocab.reset_vectors(width=300)
    vocab.set_vector("word", numpy.ones(300, "float32"))
    layer = require_vectors(StaticVectors(LARGEST))
    with pytest.raises(ValueError, match="Static vectors: .* shape 2147483647 x 300, .* width"):
        layer.initialize(X=[Doc(vocab, ["word"])])


def test_weights_of_layers_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 12 * 100)
    check_memory("Layer", [(5, 10), (10, 5)], "Take less.")
    with pytest.raises(ValueError, match="^Layer: .* largest of shape 10 x 5, need .* Take less.$"):
        check_memory("Layer", [(5, 9), (10, 5), (6,)], "Take less.")


def test_available_memory_is_that_of_meminfo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  900 kB\nMemAvailable:  512 kB\nHugePages_Total:  0\n")
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    assert available_memory() == 512 * 1024
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "none")
    total = available_memory()
    assert total is None or total > 2**20
