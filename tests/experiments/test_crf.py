from pathlib import Path

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from experiments.crf import gold_tags, predict_crf, sentences, train_crf
from tests.helpers.corpora import make_docs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crf") / "model"
    train_crf(make_docs(5), path)
    return path


def entities(doc: Doc) -> list[tuple[int, int, str]]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def test_gold_tags_part_neighbours_and_open_anew_in_a_sentence() -> None:
    doc = Doc(
        Vocab(),
        words=list("abcdef"),
        ents=["B-X", "B-X", "I-X", "I-X", "O", "B-Y"],
        sent_starts=[True, False, False, True, False, False],
    )
    assert [gold_tags(sentence) for sentence in sentences(doc)] == [
        ["B-X", "B-X", "I-X"],
        ["B-X", "O", "B-Y"],
    ]


def test_train_crf_learns_its_sentences(model: Path) -> None:
    docs = make_docs()
    assert list(map(entities, predict_crf(model, docs))) == list(map(entities, docs))


def test_train_crf_leaves_out_sentences_with_missing_annotation(
    model: Path, tmp_path: Path
) -> None:
    partly = Doc(Vocab(), words=["Cleo", "left"], ents=["B-PER", ""])
    train_crf([*make_docs(5), partly, Doc(Vocab(), words=["Rome"])], tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == model.read_bytes()


def test_predict_crf_takes_sentences_one_by_one(model: Path) -> None:
    docs = make_docs()
    words = [token.text for doc in docs for token in doc]
    starts = [token.i == 0 for doc in docs for token in doc]
    (together,) = predict_crf(model, [Doc(Vocab(), words=words, sent_starts=starts)])
    offsets = [sum(map(len, docs[:i])) for i in range(len(docs))]
    assert entities(together) == [
        (start + offset, end + offset, label)
        for doc, offset in zip(predict_crf(model, docs), offsets, strict=True)
        for start, end, label in entities(doc)
    ]


@pytest.mark.parametrize(
    ("docs", "error"),
    [
        ([Doc(Vocab(), words=["Anna"])], "found none among 0 annotated"),
        ([Doc(Vocab(), words=["rain"], ents=["O"])], "found none among 1 annotated"),
    ],
    ids=["missing", "outside"],
)
def test_train_crf_without_entities_is_an_error(
    docs: list[Doc], error: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=error):
        train_crf(docs, tmp_path / "model")
    assert not (tmp_path / "model").exists()
