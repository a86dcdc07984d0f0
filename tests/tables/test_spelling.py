"""The callbacks that make static vectors and rows of MultiEmbed from spelling."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Union, cast

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import Config, Model, fix_random_seed

from spacy_multihash import count_symbols, make_tables, set_tables
from spacy_multihash.embed.attributes import attr_id
from spacy_multihash.embed.vector_tables import find_table, load_tables
from tests.helpers.corpora import CALLBACK, HASH, LOOKUP, build, small_config, write_corpus
from tests.helpers.pipelines import add_embedding
from tests.helpers.several_vectors import meta_embed, meta_pipeline, save_floret, save_words

STEMS = ["cant", "habl", "com", "viv", "mir", "salt"]
ENDINGS = ["ar", "o", "as", "amos", "aba", "iendo"]
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]  # 36, all in the corpus
LACKING = ["saltiendo", "salto", "comaba"]
WIDTH = 6
KPCA = {"@callbacks": "spacy-multihash.kpca_vectors.v1", "rank": 20}
ROWS = {"@callbacks": "spacy-multihash.kpca_rows.v1"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    docs = [Doc(Vocab(), words=WORDS), Doc(Vocab(), words=[*WORDS[:30], "salto"])]
    return write_corpus(tmp_path / "corpus.spacy", docs)


def vectors_of_endings() -> dict[str, numpy.ndarray]:
    generator = numpy.random.default_rng(1)
    of_ending = {ending: generator.normal(size=WIDTH).astype("f") for ending in ENDINGS}
    return {stem + ending: of_ending[ending] for stem in STEMS for ending in ENDINGS}


def table(**changes: Any) -> dict[str, numpy.ndarray]:
    return {word: v for word, v in vectors_of_endings().items() if word not in LACKING} | changes


def with_vectors(vectors: dict[str, numpy.ndarray]) -> Language:
    nlp = spacy.blank("en")
    data = numpy.stack(list(vectors.values())) if vectors else numpy.zeros((0, WIDTH), "f")
    strings = nlp.vocab.strings
    keys = [strings.add(word) for word in vectors]
    nlp.vocab.vectors = Vectors(strings=strings, data=data, keys=keys, name="small")
    return nlp


def trained_config(corpus: Path, embed: dict[str, Any], after: dict[str, Any]) -> Config:
    """Make a config for `spacy train`, with static vectors."""
    config = small_config(corpus, {**embed, "include_static_vectors": True}, **CALLBACK)
    if embed is HASH:
        config["initialize"]["before_init"] = None
    config["initialize"]["vectors"] = str(corpus.parent / "vectors")
    with_vectors(table()).to_disk(corpus.parent / "vectors")
    config["initialize"]["after_init"] = after
    return config


def callback(name: str) -> Callable[..., Callable[[Language], Language]]:
    return spacy.registry.callbacks.get(f"spacy-multihash.{name}.v1")


def start(
    corpus: Path, vectors: dict[str, numpy.ndarray] | None = None, **settings: Any
) -> Language:
    """Call the callback on a pipeline of its own, which takes less time than a whole config."""
    settings = {"corpora": [corpus], "rank": 20, **settings}
    return callback("kpca_vectors")(**settings)(
        with_vectors(table() if vectors is None else vectors)
    )


# Vectors of words without


def test_words_of_the_corpus_that_the_table_lacks_get_vectors(
    corpus: Path, messages: Callable[[], str]
) -> None:
    nlp = init_nlp(trained_config(corpus, HASH, KPCA))
    assert len(nlp.vocab.vectors) == len(WORDS)
    assert all(nlp.vocab.has_vector(word) for word in LACKING)
    assert not nlp.vocab.has_vector("unheard")
    assert "Predicted the vectors of 3 words" in messages()


def test_predicted_vectors_are_like_those_of_words_that_are_spelled_alike(corpus: Path) -> None:
    nlp = start(corpus)
    truth = vectors_of_endings()
    for word in LACKING:
        found = nlp.vocab.get_vector(word)
        cosines = {
            other: float(found @ vector / numpy.linalg.norm(found) / numpy.linalg.norm(vector))
            for other, vector in truth.items()
        }
        assert cosines[word] == max(cosines.values())


def test_spellings_of_one_row_are_held_out_together(
    corpus: Path, messages: Callable[[], str]
) -> None:
    known = list(table().items())[:29]
    nlp = with_vectors(dict(known))
    for row, (word, _) in enumerate(known):
        nlp.vocab.vectors.add(nlp.vocab.strings.add(word.upper()), row=row)
    callback("kpca_vectors")(corpora=[corpus], rank=20)(nlp)
    assert "Of 4 words that were held out" in messages()


def test_vectors_of_the_table_stay(corpus: Path) -> None:
    nlp = start(corpus)
    for word, vector in table().items():
        assert_array_equal(nlp.vocab.get_vector(word), vector)


def test_rare_words_can_stay_without(corpus: Path) -> None:
    nlp = start(corpus, min_freq=2)
    assert [nlp.vocab.has_vector(word) for word in LACKING] == [False, True, True]


def test_other_corpora_can_be_given(corpus: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["vivaron", " ", "comaba", *WORDS[:20]])]
    other = write_corpus(tmp_path / "other.spacy", docs)
    nlp = start(corpus, corpora=[corpus, other])
    assert nlp.vocab.has_vector("vivaron")
    assert not nlp.vocab.has_vector(" ")
    assert len(nlp.vocab.vectors) == len(WORDS) + 1


def test_predictions_are_warned_of_if_they_are_hardly_better_than_the_mean(
    corpus: Path, messages: Callable[[], str]
) -> None:
    start(corpus)
    assert "WARNING" not in messages()
    generator = numpy.random.default_rng(0)
    noise = {word: generator.normal(size=WIDTH).astype("f") for word in table()}
    start(corpus, noise)
    assert "WARNING" in messages()
    assert "kpca_vectors.v1: the vectors that are predicted are hardly better than" in messages()


def test_table_without_a_gap_stays(corpus: Path, messages: Callable[[], str]) -> None:
    nlp = start(corpus, vectors_of_endings())
    assert len(nlp.vocab.vectors) == len(WORDS)
    assert "All words of the corpus that are frequent enough have vectors" in messages()


def test_predicted_vectors_are_the_same_each_time(corpus: Path) -> None:
    assert_array_equal(start(corpus).vocab.vectors.data, start(corpus).vocab.vectors.data)


def tensor(nlp: Language) -> numpy.ndarray:
    return nlp(Doc(nlp.vocab, words=["salto", "comaba", "unheard"])).tensor


def test_pipeline_with_predicted_vectors_trains_and_is_saved(corpus: Path, tmp_path: Path) -> None:
    nlp = init_nlp(trained_config(corpus, HASH, KPCA))
    examples = [Example.from_dict(nlp.make_doc("salto"), {})]
    losses = nlp.update(examples, sgd=nlp.create_optimizer())
    assert numpy.isfinite([*losses.values()]).all()
    nlp.to_disk(tmp_path / "model")
    expected = tensor(nlp)
    from_bytes = build(Config(nlp.config).copy()).from_bytes(nlp.to_bytes())
    for loaded in (spacy.load(tmp_path / "model"), from_bytes):
        found = tensor(loaded)
        assert_allclose(found, expected, atol=1e-6)
        assert loaded.vocab.has_vector("salto")


def test_words_with_zero_vectors_are_not_learned_from(corpus: Path) -> None:
    zeros = {word: numpy.zeros(WIDTH, "f") for word in WORDS[:3]}
    nlp = start(corpus, table(**zeros))
    expected = start(corpus, {w: v for w, v in table().items() if w not in zeros}, min_freq=1)
    assert_allclose(nlp.vocab.get_vector("salto"), expected.vocab.get_vector("salto"), atol=1e-4)


def test_words_with_zero_vectors_get_rows_of_their_own(corpus: Path) -> None:
    nlp = start(corpus, table(salto=numpy.zeros(WIDTH, "f")))
    expected = start(corpus).vocab
    assert len(nlp.vocab.vectors) == len(WORDS) + 1  # the row of zeros stays
    for word in LACKING:
        assert_allclose(nlp.vocab.get_vector(word), expected.get_vector(word), atol=1e-5)


def keep_table(nlp: Language, tmp_path: Path, words: list[str]) -> Language:
    """Give the vocab another table of vectors, as MetaVectors does."""
    load_tables(nlp.vocab, {"nl": Path(save_words(tmp_path / "nl", words, 4))})
    return nlp


def test_words_that_another_table_has_get_no_vectors(corpus: Path, tmp_path: Path) -> None:
    nlp = keep_table(with_vectors(table()), tmp_path, ["salto", "comaba"])
    find_table(nlp.vocab, "nl").data[1] = 0  # so that it has no vector of the last word
    callback("kpca_vectors")(corpora=[corpus], rank=20)(nlp)
    assert [nlp.vocab.has_vector(word) for word in LACKING] == [True, False, True]


def test_other_tables_find_words_as_in_the_model(corpus: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["SALTO", *WORDS[:20]])]
    other = write_corpus(tmp_path / "other.spacy", docs)
    has_vector = {}
    for attr in ("ORTH", "LOWER"):
        path = save_words(tmp_path / "nl", ["salto"], 4)
        embed = meta_embed({"vocab": None, "nl": path}, key_attrs={"nl": attr})
        nlp = meta_pipeline(embed)
        nlp.vocab.vectors = with_vectors(table()).vocab.vectors
        load_tables(nlp.vocab, {"nl": Path(path)})
        callback("kpca_vectors")(corpora=[other], rank=15)(nlp)
        has_vector[attr] = nlp.vocab.has_vector("SALTO")
    assert has_vector == {"ORTH": True, "LOWER": False}


def test_words_are_those_that_the_layers_look_up(corpus: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["SALTO", "Comaba", *WORDS[:20]])]
    other = write_corpus(tmp_path / "other.spacy", docs)
    nl = {"nl": save_words(tmp_path / "nl", ["Rome"], 4)}
    for attrs, expected in (
        ({"vocab": "LOWER"}, {"salto", "comaba"}),
        ({"nl": "LOWER"}, {"SALTO", "Comaba", "comaba"}),
    ):
        nlp = meta_pipeline(meta_embed({"vocab": None, **nl}, key_attrs=attrs))
        nlp.vocab.vectors = with_vectors(table()).vocab.vectors
        load_tables(nlp.vocab, {"nl": Path(nl["nl"])})
        known = set(nlp.vocab.vectors.key2row)
        callback("kpca_vectors")(corpora=[other], rank=15)(nlp)
        added = set(nlp.vocab.vectors.key2row) - known
        assert {nlp.vocab.strings[key] for key in added} == expected


@pytest.mark.parametrize("lemmas", [None, ["saltix", "Bebo", *WORDS[:20]]])
def test_words_without_a_lemma_are_their_own(
    corpus: Path, tmp_path: Path, lemmas: list[str] | None
) -> None:
    docs = [Doc(Vocab(), words=["SALTO", "Bebo", *WORDS[:20]], lemmas=lemmas)]
    other = write_corpus(tmp_path / "other.spacy", docs)
    nlp = meta_pipeline(meta_embed({"vocab": None}, key_attrs={"vocab": "LEMMA"}))
    nlp.vocab.vectors = with_vectors(table()).vocab.vectors
    callback("kpca_vectors")(corpora=[other], rank=15)(nlp)
    has = [nlp.vocab.has_vector(word) for word in ("SALTO", "saltix", "Bebo")]
    assert has == [lemmas is None, lemmas is not None, True]


def test_words_in_lower_case_whose_forms_another_table_has_get_none(
    corpus: Path, tmp_path: Path
) -> None:
    docs = [Doc(Vocab(), words=["SALTO", "Bebo", "BEBO", *WORDS[:20]])]
    other = write_corpus(tmp_path / "other.spacy", docs)
    nl = save_words(tmp_path / "nl", ["SALTO", "Bebo"], 4)
    embed = meta_embed({"vocab": None, "nl": nl}, key_attrs={"vocab": "LOWER"})
    nlp = meta_pipeline(embed)
    nlp.vocab.vectors = with_vectors(table()).vocab.vectors
    load_tables(nlp.vocab, {"nl": Path(nl)})
    callback("kpca_vectors")(corpora=[other], rank=15)(nlp)
    assert [nlp.vocab.has_vector(word) for word in ("salto", "bebo")] == [False, True]


def test_words_are_those_of_all_layers_that_read_the_table(corpus: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["SALTO", "SALTO", "Salto", *WORDS[:20]])]
    other = write_corpus(tmp_path / "other.spacy", docs)
    nlp = meta_pipeline(meta_embed({"vocab": None}, key_attrs={"vocab": "LOWER"}))
    nlp.get_pipe("tok2vec").model.layers.append(StaticVectors(4))  # type: ignore[attr-defined]
    nlp.vocab.vectors = with_vectors(table()).vocab.vectors
    callback("kpca_vectors")(corpora=[other], rank=15, min_freq=2)(nlp)
    has = {word: nlp.vocab.has_vector(word) for word in ("SALTO", "salto", "Salto")}
    assert has == {"SALTO": True, "salto": True, "Salto": False}


def test_table_of_ngrams_beside_has_all_words(
    corpus: Path, tmp_path: Path, messages: Callable[[], str]
) -> None:
    nlp = with_vectors(table())
    load_tables(nlp.vocab, {"nl": Path(save_floret(tmp_path / "nl", 4))})
    callback("kpca_vectors")(corpora=[corpus], rank=20)(nlp)
    assert "All words of the corpus that are frequent enough have vectors" in messages()


@pytest.mark.parametrize("name", ["kpca_vectors", "kpca_rows"])
def test_empty_list_of_corpora_is_refused(name: str) -> None:
    message = rf"{name}.v1: corpora must be null for the training corpus, or a list .*, was: \[\]"
    with pytest.raises(ValueError, match=message):
        callback(name)(corpora=[])


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({}, r"needs static vectors, but the pipeline has none: its table has the shape \(0, 6\)"),
        ({"cantar": numpy.ones(WIDTH, "f")}, "needs 10 words or more.*was given 1"),
        (
            {word.upper(): row for word, row in vectors_of_endings().items()},
            "none of the 36 words of the corpus has a vector in the table, so .* Check .initialize",
        ),
        ({"other": numpy.zeros(WIDTH, "f")}, "none of the 36 words of the corpus has a vector"),
        (
            table(viviendo=numpy.full(WIDTH, numpy.nan, "f")),
            "finite, but 1 of 33 rows have .* the first is that of the word 'viviendo'",
        ),
    ],
)
def test_table_that_teaches_nothing_is_refused(
    corpus: Path, vectors: dict[str, numpy.ndarray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        start(corpus, vectors)


def test_rank_larger_than_the_table_is_refused(corpus: Path) -> None:
    with pytest.raises(ValueError, match="rank must be at most 29, which is what 30 words allow"):
        start(corpus, rank=500)


def test_table_of_ngrams_is_refused() -> None:
    nlp = spacy.blank("en")
    nlp.vocab.vectors = Vectors(
        data=numpy.ones((10, 3), "f"), mode="floret", minn=2, maxn=3, hash_count=1
    )
    add_vectors = callback("kpca_vectors")()
    with pytest.raises(ValueError, match=r"needs a table with static vectors of words.*floret"):
        add_vectors(nlp)


@pytest.mark.parametrize("max_epochs", [-1, "${vars.epochs}"])
def test_streamed_corpus_is_refused(corpus: Path, max_epochs: Union[int, str]) -> None:
    nlp = with_vectors(table())
    nlp.config["vars"] = {"epochs": -1}
    nlp.config["training"]["max_epochs"] = max_epochs
    with pytest.raises(ValueError, match=r"is streamed.*Give a sample of it as corpora"):
        callback("kpca_vectors")()(nlp)


def test_damaged_corpus_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged.spacy").write_bytes(corpus.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"damaged.spacy is cut off"):
        start(corpus, corpora=[tmp_path / "damaged.spacy"])


def test_min_freq_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="min_freq must be a whole number from 1"):
        callback("kpca_vectors")(min_freq=0)


# Rows of MultiEmbed


def rows_of(nlp: Language, attr: str = "NORM") -> numpy.ndarray:
    return cast(numpy.ndarray, chain_of(nlp, attr).layers[1].get_param("E"))


def chain_of(nlp: Language, attr: str) -> Model:
    model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    (chain,) = (
        node
        for node in model.walk()
        if [layer.name for layer in node.layers] == ["lookup_rows", "table_embed"]
        and node.layers[0].attrs["attr"].value == attr
    )
    return chain


def row_of(nlp: Language, text: str) -> numpy.ndarray:
    symbols = chain_of(nlp, "NORM").layers[0].attrs["symbols"]
    (place,) = numpy.flatnonzero(symbols.keys == nlp.vocab.strings[text])
    return rows_of(nlp)[symbols.rows[place]]


def drawn(embed: dict[str, Any] = LOOKUP) -> Language:
    """Build a pipeline with the rows that initialization draws."""
    nlp = spacy.blank("en")
    add_embedding(nlp, "tok2vec", embed | {"width": 16})
    if embed is LOOKUP:
        doc = Doc(nlp.vocab, words=[*WORDS, "salto"])
        counts = count_symbols([doc], {name: attr_id(name) for name in ("NORM", "SHAPE")})
        set_tables(nlp.get_pipe("tok2vec").model, make_tables(counts, min_freq=1))  # type: ignore[attr-defined]
    fix_random_seed(0)
    nlp.initialize()
    return nlp


def with_rows(corpus: Path, embed: dict[str, Any] = LOOKUP, **settings: Any) -> Language:
    return callback("kpca_rows")(**{"corpora": [corpus], **settings})(drawn(embed))


def cosine(one: numpy.ndarray, other: numpy.ndarray) -> float:
    return float(one @ other / numpy.linalg.norm(one) / numpy.linalg.norm(other))


def test_symbols_that_are_spelled_alike_begin_with_rows_that_are_alike(corpus: Path) -> None:
    nlp = init_nlp(trained_config(corpus, LOOKUP, ROWS))
    alike = cosine(row_of(nlp, "cantar"), row_of(nlp, "cantamos"))
    assert alike > 0.3 > cosine(row_of(nlp, "cantar"), row_of(nlp, "viviendo"))


def test_rows_have_the_size_of_those_that_they_replace_and_row_0_stays(corpus: Path) -> None:
    nlp, before = with_rows(corpus), drawn()
    assert_array_equal(rows_of(nlp)[0], rows_of(before)[0])
    assert_array_equal(rows_of(nlp, "SHAPE"), rows_of(before, "SHAPE"))
    sizes = [numpy.sqrt((rows_of(one)[1:] ** 2).mean()) for one in (nlp, before)]
    assert_allclose(sizes[0], sizes[1], rtol=1e-4)
    assert rows_of(nlp).dtype == "float32"
    assert not numpy.allclose(rows_of(nlp)[1:], rows_of(before)[1:])


def test_whitened_components_have_equal_variances(corpus: Path) -> None:
    variances = rows_of(with_rows(corpus, whiten=True))[1:].var(axis=0)
    assert_allclose(variances, variances.mean(), rtol=1e-3)
    plain = rows_of(with_rows(corpus))[1:].var(axis=0)
    assert plain[0] > 2 * plain[-1]


def test_symbols_that_the_corpora_lack_keep_their_rows(corpus: Path, tmp_path: Path) -> None:
    other = write_corpus(tmp_path / "other.spacy", [Doc(Vocab(), words=WORDS[:30])])
    nlp, whole, before = with_rows(corpus, corpora=[other]), with_rows(corpus), drawn()
    assert_array_equal(row_of(nlp, WORDS[35]), row_of(before, WORDS[35]))
    assert not numpy.allclose(row_of(whole, WORDS[35]), row_of(before, WORDS[35]))


def test_component_that_is_not_initialized_keeps_its_rows(
    corpus: Path, messages: Callable[[], str]
) -> None:
    nlp = with_rows(corpus)
    before = rows_of(nlp).copy()
    draw_rows = callback("kpca_rows")()
    with nlp.select_pipes(disable=["tok2vec"]):
        draw_rows(nlp)
    assert_array_equal(rows_of(nlp), before)
    assert "is not initialized, and keeps its rows" in messages()


@pytest.mark.parametrize(
    ("embed", "settings", "message"),
    [
        (HASH, {}, r"needs a MultiEmbed with NORM.*found: tok2vec.NORM \(hashed\)"),
        (LOOKUP, {"attr": "LOWER"}, "needs a MultiEmbed with LOWER"),
        (LOOKUP, {"component": "parser"}, "there is no component 'parser'"),
        (LOOKUP, {"attr": "SHAPE"}, "more symbols than that must occur in the corpus"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused(
    corpus: Path, embed: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        with_rows(corpus, embed, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attr": "POS"}, "attr must be one of NORM, LOWER"),
        ({"whiten": 2}, "whiten must be true or false"),
        ({"sigma": -1.0}, "sigma must be a number from 0.001 on"),
    ],
)
def test_settings_of_rows_are_checked_when_they_are_read(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        callback("kpca_rows")(**settings)
