"""What a GPU has to do for a batch: launches, copies to the device and waits, whatever its size."""

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Ops

from spacy_multihash import accelerate

WORDS = "Anna met Bob in Rome and the old man lives near Oslo now again today".split()
TEXTCAT = {
    "@architectures": "spacy-multihash.TextCatHashEmbed.v1",
    "exclusive_classes": True,
    "rows": 100,
    "ngram_orders": [1, 2],
}
# CuPy sums up long arrays in further launches.
CUMULATIVE_SUM = 4
CONFIGS = {"ner": {}, "tagger_ner": {}, "textcat": {"model": TEXTCAT}}


def make_examples(nlp: Language, number: int) -> list[Example]:
    """Make docs of 15 tokens, with entities and classes."""
    examples = []
    for i in range(number):
        words = [f"{word}{(i * k) % 7}" for k, word in enumerate(WORDS)]
        gold = Doc(nlp.vocab, words=words, ents=["B-PER", "O", "B-PER", "I-PER", *["O"] * 11])
        gold.cats = {"A": float(i % 2), "B": float(1 - i % 2)}
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    return examples


def count(work: Callable[[], object]) -> Counter[str]:
    """Count launches (products too), copies to the device and waits, when everything is warm."""
    for _ in range(2):
        work()
    with import_module("fake_cuda_meter").Meter() as meter:
        work()
    counts = meter.counts
    return Counter(launch=counts["launch"] + counts["gemm"], h2d=counts["h2d"], wait=counts["wait"])


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "predict", "update"),
    [
        ("ner", (40, 12, 3), (250, 10)),
        ("tagger_ner", (220, 20, 3), (580, 10)),
        ("textcat", (80, 5, 5), (110, 10)),
    ],
)
def test_what_a_gpu_does_for_a_batch_does_not_grow_with_its_docs(
    name: str, predict: tuple[int, int, int], update: tuple[int, int], gpu: Ops
) -> None:
    if find_spec("fake_cuda_meter") is None:
        pytest.skip("launches are counted on an emulated CUDA alone")
    nlp = spacy.blank("xx")
    nlp.add_pipe(name, config=CONFIGS[name])
    examples = make_examples(nlp, 48)
    nlp.initialize(lambda: examples)
    accelerate(nlp)
    pipe: Any = nlp.get_pipe(name)
    predicted, updated = [], []
    for number in (12, 48):
        few = examples[:number]
        docs = [example.x for example in few]
        predicted.append(count(lambda docs=docs: pipe.predict(docs)))
        updated.append(count(lambda few=few: pipe.update(few, drop=0.1, sgd=None)))
    for of_few, of_many in (predicted, updated):
        assert of_many["launch"] <= of_few["launch"] + CUMULATIVE_SUM
        assert (of_many["h2d"], of_many["wait"]) == (of_few["h2d"], of_few["wait"])
    most = Counter(dict(zip(("launch", "h2d", "wait"), predict, strict=True)))
    assert predicted[1] <= most, predicted
    assert updated[1]["launch"] <= update[0] and updated[1]["wait"] <= update[1], updated
