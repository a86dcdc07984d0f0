"""How small pipelines become, and how much of what they find is the same: the bars."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_multihash.pipelines.compare import shares_kept
from spacy_multihash.pipelines.compress import Precisions, compress


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def found(nlp: Language, texts: Sequence[Sequence[str]]) -> list[Doc]:
    with nlp.select_pipes(enable="ner"):
        return list(nlp.pipe([Doc(nlp.vocab, words) for words in texts]))


@pytest.mark.filterwarnings(r"ignore:\[W095\]:UserWarning")
def test_english_pipeline_keeps_its_entities(
    english: Language, shared: Path, tmp_path: Path
) -> None:
    file_ = shared / "datasets" / "wnut17" / "emerging.dev.conll"
    blocks = re.split(r"\n\s*\n", file_.read_text("utf8").strip())
    texts = [re.findall(r"^\S+", block, re.M) for block in blocks]
    compress(english, tmp_path / "small", Precisions())
    assert size(tmp_path / "small") < 0.35 * size(Path(english.path))
    before = found(english, texts)
    assert sum(len(doc.ents) for doc in before) > 1000
    assert shares_kept(before, found(spacy.load(tmp_path / "small"), texts))["entities"] >= 0.995
