"""How small pipelines become, and how much of what they find is the same: the bars."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc

from experiments.corpora.sample import make_sample
from spacy_multihash.cli.compress import compare
from spacy_multihash.corpus.read import model_examples
from spacy_multihash.pipelines.compare import shares_kept
from spacy_multihash.pipelines.compress import Precisions, compress
from tests.helpers.paths import ROOT


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


def test_hash_embeddings_keep_their_score(tmp_path: Path) -> None:
    make_sample(tmp_path)
    files = {name: tmp_path / f"{name}.spacy" for name in ("train", "dev", "test")}
    paths = {f"paths.{name}": str(files[name]) for name in ("train", "dev")}
    steps = {"nlp.lang": "en", "training.max_steps": 80, "training.eval_frequency": 80}
    train(ROOT / "configs" / "report.cfg", tmp_path / "model", overrides={**paths, **steps})
    nlp = spacy.load(tmp_path / "model" / "model-last")
    compress(nlp, tmp_path / "small", Precisions(weights="int8"))
    assert size(tmp_path / "small") < 0.3 * size(Path(nlp.path))
    # On dev alone, two entities are more than the bar. So the 5,000 of all splits are compared.
    examples = [one for file_ in files.values() for one in model_examples(nlp, file_)]
    f = compare(nlp, spacy.load(tmp_path / "small"), examples).f
    assert f.before is not None and f.before > 0.2
    assert f.after == pytest.approx(f.before, abs=0.002)
