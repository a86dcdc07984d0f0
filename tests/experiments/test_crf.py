from pathlib import Path

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from experiments.crf import features, gold_tags, predict_crf, sentences, train_crf
from tests.helpers.corpora import make_docs


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crf") / "model"
    train_crf(make_docs(5), path)
    return path


def entities(doc: Doc) -> list[tuple[int, int, str]]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


# Features


def test_features_of_a_token_are_those_of_the_window() -> None:
    rows = features(["The", "old", "Anna", "ran", "home", "fast"])
    near = [
        ("-1", "old", "old", "xxx", ["o", "ol", "old"], ["ld", "old"]),
        ("0", "Anna", "anna", "Xxxx", ["A", "An", "Ann"], ["na", "nna"]),
        ("1", "ran", "ran", "xxx", ["r", "ra", "ran"], ["an", "ran"]),
    ]
    far = [("-2", "The", "the", "Xxx", [], []), ("2", "home", "home", "xxxx", [], [])]
    expected = {"bias", "shapes-=xxx|Xxxx", "shapes+=Xxxx|xxx", "shapes=xxx|Xxxx|xxx"}
    for offset, word, lower, shape, prefixes, suffixes in near + far:
        expected |= {f"{offset}:word={word}", f"{offset}:lower={lower}", f"{offset}:shape={shape}"}
        expected |= {f"{offset}:prefix{len(prefix)}={prefix}" for prefix in prefixes}
        expected |= {f"{offset}:suffix{len(suffix)}={suffix}" for suffix in suffixes}
    assert set(rows[2]) == expected
    assert len(rows[2]) == len(expected)


# Tags


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


# Training


def test_train_crf_learns_its_sentences(model: Path) -> None:
    docs = make_docs()
    assert list(map(entities, predict_crf(model, docs))) == list(map(entities, docs))


def test_train_crf_leaves_out_sentences_with_missing_annotation(
    model: Path, tmp_path: Path
) -> None:
    partly = Doc(Vocab(), words=["Cleo", "left"], ents=["B-PER", ""])
    train_crf([*make_docs(5), partly, Doc(Vocab(), words=["Rome"])], tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == model.read_bytes()


# Prediction


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


def test_predict_crf_without_a_file_is_refused_before_the_first_doc(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no CRF at .*nothing"):
        predict_crf(tmp_path / "nothing", [])


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
