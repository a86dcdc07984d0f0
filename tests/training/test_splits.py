"""Splits that keep apart what belongs together."""

from collections import Counter, defaultdict
from random import Random

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_multihash.corpus.evaluation import VERBATIM
from spacy_multihash.corpus.splits import (
    FOLDS,
    MOST_RELATED,
    group_related,
    is_shuffled,
    make_folds,
    split_groups,
    split_regions,
)
from spacy_multihash.corpus.statistics import CorpusStats, Repeats
from spacy_multihash.training.options import Options
from spacy_multihash.training.splits import split_docs, split_folds, unknown_documents

SHARES = (0.75, 0.1, 0.15)
VOCAB = spacy.blank("xx").vocab


def options(seed: int = 0, *, textcat: bool = False) -> Options:
    return Options("xx", textcat=textcat, seed=seed)


def make_docs(words: list[str]) -> list[Doc]:
    return [Doc(VOCAB, words=["word", word]) for word in words]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=400), st.integers(0, 9))
def test_groups_stay_in_one_split_with_dev_around_test(sizes: list[int], seed: int) -> None:
    groups = [i for i, size in enumerate(sizes) for _ in range(size)]
    names, regions = split_regions(groups, SHARES, seed)
    assert len(names) == len(regions) == len(groups)
    assert (names, regions) == split_regions(groups, SHARES, seed)
    of_group = dict(zip(groups, names, strict=True))
    assert [of_group[group] for group in groups] == names
    in_order = list(of_group.values())
    for one, other in zip(in_order, in_order[1:], strict=False):
        is_large = max(sizes) > 0.25 * len(groups)  # then it's in train wherever it is
        assert {one, other} != {"train", "test"} or is_large


def make_articles(number: int = 60, length: int = 6) -> list[tuple[int, Doc]]:
    """Make docs of articles. The words of an article are in it alone, and its name in each doc."""
    made, random = [], Random(0)
    for i in range(number):
        for j in range(length):
            words = ["on", f"day{random.randrange(number)}", f"Anna{i}", "met", f"Bob{i}-{j // 2}"]
            ents = ["O", "O", "B-PER", "O", "B-PER"]
            made.append((i, Doc(VOCAB, words=words, ents=ents)))
    return made


def shuffled_articles() -> list[tuple[int, Doc]]:
    articles = make_articles()
    Random(1).shuffle(articles)
    return articles


def test_rare_words_show_whether_a_corpus_was_shuffled() -> None:
    for articles, expected in ((make_articles(), False), (shuffled_articles(), True)):
        assert is_shuffled([tuple(doc.text.split()) for _, doc in articles]) is expected
    assert not is_shuffled([("a",), ("b",)] * 5)  # too few to tell


def test_texts_that_share_rare_names_are_in_one_group() -> None:
    articles = shuffled_articles()
    groups = group_related([[ent.text for ent in doc.ents] for _, doc in articles])
    of_article = defaultdict(set)
    for (article, _), group in zip(articles, groups, strict=True):
        of_article[article].add(group)
    assert len(set(groups)) == 60 and all(len(found) == 1 for found in of_article.values())


def test_groups_of_related_texts_do_not_grow_too_large() -> None:
    chain = [[str(i), str(i + 1)] for i in range(3000)]
    assert 40 < max(Counter(group_related(chain)).values()) <= MOST_RELATED


def test_shuffled_corpus_is_split_by_names() -> None:
    articles = shuffled_articles()
    of_doc = {id(doc): article for article, doc in articles}
    split = split_docs({"train": [doc for _, doc in articles]}, options())
    parts = [{of_doc[id(doc)] for doc in part} for part in split.docs.values()]
    assert split.by == "words" and sum(map(len, parts)) == 60
    assert len(set(split.regions["test"])) == len(parts[2])
    assert [len(part) for part in split.docs.values()] == pytest.approx([270, 36, 54], abs=6)


@given(st.lists(st.integers(1, 9), min_size=20, max_size=100), st.integers(0, 9))
def test_groups_are_drawn_for_splits_of_their_shares(sizes: list[int], seed: int) -> None:
    groups = [i for i, size in enumerate(sizes) for _ in range(size)]
    splits = split_groups(groups, SHARES, seed)
    assert len({*zip(groups, splits, strict=True)}) == len(sizes)
    for name, share in zip(("train", "dev", "test"), SHARES, strict=True):
        assert splits.count(name) == pytest.approx(share * len(groups), abs=10)


@given(st.lists(st.integers(1, 9), min_size=30, max_size=100), st.integers(0, 9), st.booleans())
def test_each_item_is_in_test_once_with_dev_around(
    sizes: list[int], seed: int, by_order: bool
) -> None:
    groups = [i for i, size in enumerate(sizes) for _ in range(size)]
    texts = [(str(i),) for i in range(len(groups))]
    folds, regions = make_folds(groups, texts, seed, by_order=by_order)
    assert sorted(i for fold in folds for i in fold["test"]) == list(range(len(groups)))
    assert len(folds) == FOLDS and (by_order or regions == groups)
    for fold in folds:
        of_splits = [{groups[i] for i in places} for places in fold.values()]
        assert sum(map(len, of_splits)) == len(sizes)
        train, _, test = of_splits
        assert not by_order or not {group + 1 for group in test} & train
        assert len(fold["dev"]) == pytest.approx(0.1 * len(groups), abs=20)


def test_folds_need_entities_and_equals_are_not_tested_twice() -> None:
    docs = [doc for _, doc in make_articles()]
    split = split_docs({"train": docs}, options())
    assert split.by == "order" and len(split.groups) == len(docs)
    assert split.is_for_folds and split.corpus == docs
    folds = split_folds(split, 0)
    assert len(folds) == FOLDS
    for fold in folds:
        assert fold.docs["test"] == [docs[i] for i in fold.places]
        assert len(fold.regions) == len(fold.places)
    empty = [*docs[:-72], *(Doc(VOCAB, words=[str(i)]) for i in range(72))]  # the last fifth
    some = split_docs({"train": empty}, options())
    assert len(split_folds(some, 0)) == FOLDS - 1
    equal, _ = make_folds(range(20), [("same",)] * 20, 0, by_order=True)
    assert all(len(fold["train"]) == 20 for fold in equal)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=10, max_size=300),
    st.integers(0, 9),
)
def test_all_docs_are_in_one_split_and_equals_in_the_same(words: list[str], seed: int) -> None:
    docs = make_docs(words)
    try:
        split = split_docs({"train": docs}, options(seed))
    except ValueError as error:  # such as if all texts are the same
        assert "would be empty" in str(error)
        return
    found = [id(doc) for part in split.docs.values() for doc in part]
    assert sorted(found) == sorted(map(id, docs))
    texts = [{doc.text for doc in part} for part in split.docs.values()]
    assert sum(map(len, texts)) == len(set(words))
    assert split.by in (("order", "words") if split.regions else ("chance",))
    for name, regions in split.regions.items():
        assert len(regions) == len(split.docs[name])


@given(st.integers(10, 60), st.integers(0, 9), st.booleans())
def test_named_groups_stay_together(number: int, seed: int, textcat: bool) -> None:
    docs = make_docs([str(i % 7) for i in range(3 * number)])
    groups = [str(i % number) for i in range(3 * number)]  # scattered
    split = split_docs({"train": docs}, options(seed, textcat=textcat), groups)
    of_doc = {id(doc): group for doc, group in zip(docs, groups, strict=True)}
    parts = [{of_doc[id(doc)] for doc in part} for part in split.docs.values()]
    assert sum(map(len, parts)) == number and split.by == "groups"
    assert sum(map(len, split.docs.values())) == len(docs)


@pytest.mark.parametrize("groups", [["a", "b"] * 30, [str(i) for i in range(60)], [""] * 60])
def test_few_groups_or_one_for_each_doc_say_nothing(groups: list[str]) -> None:
    docs = make_docs([str(i) for i in range(60)])
    named, unnamed = (split_docs({"train": docs}, options(), of) for of in (groups, ()))
    assert named == unnamed and named.by == "order"


def test_group_that_names_too_few_documents_is_refused() -> None:
    docs = make_docs([str(i) for i in range(60)])
    asked = Options("xx", group="page")
    with pytest.raises(ValueError, match="--group page names 2 documents"):
        split_docs({"train": docs}, asked, ["a", "b"] * 30)


def test_single_document_and_few_are_refused() -> None:
    for number in (1, 9):
        with pytest.raises(ValueError, match=rf"{number} document"):
            split_docs({"train": make_docs(["a"] * number)}, options())


def test_given_splits_stay_as_they_are() -> None:
    docs = {"train": make_docs(["a"]), "dev": make_docs(["a"])}
    split = split_docs(docs, options())
    assert split.docs == docs and split.by is None and not split.regions


@pytest.mark.parametrize(
    ("by", "is_shuffled", "warns"),
    [
        ("order", True, True),
        ("order", False, False),
        ("order", None, False),
        ("words", None, True),
        ("groups", True, False),
        ("chance", False, True),
        (None, True, False),
    ],
)
def test_shuffled_corpus_without_groups_is_a_warning(
    by: str | None, is_shuffled: bool | None, warns: bool
) -> None:
    stats = CorpusStats({}, {}, VERBATIM, "xx", Repeats([(0, 1)] * 10, is_shuffled))
    assert ["--group" in warning for warning in unknown_documents(stats, by)] == [True] * warns
