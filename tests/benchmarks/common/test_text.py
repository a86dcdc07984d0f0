from pathlib import Path

import pytest

from benchmarks.common import text as text_module
from benchmarks.common.text import Text, merge_docs


def test_merge_docs_keeps_words_in_order_and_leaves_a_rest_out(text: Text) -> None:
    words = [token.text for doc in text.docs for token in doc]
    merged = merge_docs(text.docs, 60)
    assert all(len(doc) >= 60 for doc in merged)
    joined = [token.text for doc in merged for token in doc]
    assert joined == words[: len(joined)]
    assert len(words) - len(joined) < 60


def test_load_text_makes_the_sample_where_no_corpus_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "experiments").symlink_to(text_module.ROOT / "experiments")
    monkeypatch.setattr(text_module, "ROOT", tmp_path)
    monkeypatch.setattr(text_module, "SHARED", tmp_path / "shared")
    sample = text_module.load_text()
    assert sample.lang == "en"
    assert len(sample.docs) == 3000
