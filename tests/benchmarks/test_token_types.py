import json
from pathlib import Path

from spacy.tokens import DocBin

from benchmarks import token_types
from benchmarks.common.text import Text


def test_token_types_writes_its_results(tmp_path: Path, text: Text) -> None:
    corpus, output = tmp_path / "text.spacy", tmp_path / "out" / "token_types.json"
    DocBin(docs=text.docs * 8).to_disk(corpus)
    token_types.token_types_cli(corpus, "en", 2, 0, False, output)
    data = json.loads(output.read_text("utf8"))
    assert data["settings"] == {"corpus": str(corpus), "lang": "en", "rounds": 2, "seed": 0}
    assert [item["step"] for item in data["results"]] == ["predict", "train"] * 2
    assert all(item["spacy"]["median"] > 0 for item in data["results"])
