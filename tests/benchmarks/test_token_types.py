import json
from pathlib import Path

import numpy
from pytest import approx
from spacy.tokens import DocBin

from benchmarks import token_types
from benchmarks.common.layers import SPACY
from benchmarks.common.text import Text


def test_token_types_writes_its_results(tmp_path: Path, text: Text) -> None:
    corpus, output = tmp_path / "text.spacy", tmp_path / "out" / "token_types.json"
    DocBin(docs=text.docs * 8).to_disk(corpus)
    token_types.token_types_cli(corpus, "en", 2, 0, False, output)
    data = json.loads(output.read_text("utf8"))
    assert data["settings"] == {"corpus": str(corpus), "lang": "en", "rounds": 2, "seed": 0}
    assert [item["step"] for item in data["results"]] == ["predict", "train"] * 2
    for item in data["results"]:
        for times in (item["spacy"], item["every_token"], item["per_token"]):
            assert 0 < times["low"] <= times["median"] <= times["high"]


def test_token_types_compares_times_and_counts(text: Text) -> None:
    first, case = token_types.Case("first", text.docs[:5]), token_types.Case("case", text.docs)
    ones = numpy.ones(3)
    times = {"case/with types/train": 2 * ones, "case/every token/train": 6 * ones}
    times |= {f"case/{SPACY}/train": 8 * ones, "first/with types/train": ones}
    found = token_types.make_comparison(case, "train", times, first=first)
    tokens, of_first = (sum(map(len, docs)) for docs in (text.docs, text.docs[:5]))
    types = {(t.norm, t.prefix, t.suffix, t.shape) for doc in text.docs for t in doc}
    assert (found.docs, found.tokens, found.types) == (40, tokens, len(types))
    assert found.spacy is not None
    assert (found.every_token.median, found.spacy.median) == (3, 4)
    assert found.per_token.median == approx(2 / tokens * of_first)
