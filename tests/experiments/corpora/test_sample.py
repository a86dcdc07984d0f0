import random
from pathlib import Path

import pytest

from experiments.corpora import sample_words
from experiments.corpora.sample import Sentence, make_sample, make_sentences

Splits = dict[str, list[Sentence]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return make_sentences(0)


@pytest.fixture(scope="module")
def sample_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    return folder


def test_same_seed_gives_same_bytes(sample_dir: Path, tmp_path: Path) -> None:
    make_sample(tmp_path, seed=0)
    names = sorted(path.name for path in sample_dir.iterdir())
    assert names == ["dev.spacy", "test.spacy", "train.spacy"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (sample_dir / name).read_bytes()


@pytest.mark.parametrize("held_out", ["dev", "test"])
def test_held_out_names_occur_in_their_split_only(splits: Splits, held_out: str) -> None:
    pool = sample_words.make_pools(random.Random(0))[held_out]
    own = {word.lower() for words in pool.values() for word in words}
    for split, sentences in splits.items():
        found = own.intersection(word.lower() for s in sentences for word in s.words)
        assert bool(found) == (split == held_out)
