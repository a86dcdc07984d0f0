"""The command that gives a trained MultiEmbed rows for words that training never met."""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import Model
from typer.testing import CliRunner, Result

from spacy_multihash import count_symbols, make_tables, set_tables
from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.embed.attributes import attr_id
from tests.helpers.cli import said
from tests.helpers.corpora import write_corpus
from tests.helpers.pipelines import add_embedding

STEMS = ["Cant", "habl", "com", "viv", "mir", "salt"]
ENDINGS = ["ar", "o", "as", "amos", "aba", "iendo"]
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS]
NEW = ["escribar", "Escribamos", "escribiendo"]
ATTRS = ["NORM", "SHAPE"]
SPELLING = ("--from", "spelling", "--rank", "10")


def vector(word: str) -> numpy.ndarray:
    """Make a vector of an ending, with noise of the word."""
    ending = ENDINGS.index(max((one for one in ENDINGS if word.endswith(one)), key=len))
    noise = numpy.random.default_rng(len(word)).normal(size=8)
    return (10 * numpy.eye(8)[ending] + noise).astype("f")


def pipeline(embed: str = "MultiEmbed") -> Language:
    """Train a pipeline that tells endings apart, with static vectors that its model ignores."""
    nlp = spacy.blank("en")
    settings: dict[str, Any] = {"attrs": ATTRS}
    settings |= {"@architectures": f"spacy-multihash.{embed}.v1"}
    add_embedding(
        nlp, "tok2vec", settings if embed == "MultiEmbed" else settings | {"rows": [50, 9]}
    )
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": model})
    docs = [Doc(nlp.vocab, words=WORDS, tags=[str(i % len(ENDINGS)) for i in range(len(WORDS))])]
    if embed == "MultiEmbed":
        counts = count_symbols(docs, {name: attr_id(name) for name in ATTRS})
        set_tables(nlp.get_pipe("tok2vec").model, make_tables(counts, min_freq=1))  # type: ignore[attr-defined]
    examples = [Example(Doc(nlp.vocab, words=WORDS), doc) for doc in docs]
    sgd = nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples, sgd=sgd)
    keys = [nlp.vocab.strings.add(word) for word in WORDS + NEW]
    data = numpy.stack([vector(word) for word in WORDS + NEW])
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, keys=keys)
    return nlp


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "model"
    pipeline().to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def before(trained: Path) -> Language:
    return spacy.load(trained)


@pytest.fixture(scope="module")
def extended(trained: Path) -> tuple[Language, Any]:
    """Extend the pipeline by static vectors, and load it."""
    (found,) = succeed(trained, trained.parent / "extended")
    return spacy.load(trained.parent / "extended"), found


@pytest.fixture(scope="module")
def after(extended: tuple[Language, Any]) -> Language:
    return extended[0]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("\n".join([*NEW, "", "cantar"]), "utf8")
    return tmp_path / "words.txt"


def invoke(*args: Any) -> Result:
    return CliRunner().invoke(multihash_cli, ["extend-tables", *map(str, args)])


def succeed(*args: Any) -> Any:
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def fail(out: Path, *args: Any) -> str:
    """Call the command, which must fail and write nothing."""
    result = invoke(*args)
    assert result.exit_code == 1, result.output
    assert not out.exists()
    return said(result)


def lookup(nlp: Language, attr: str = "NORM") -> Model:
    model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    (chain,) = (
        node
        for node in model.walk()
        if [layer.name for layer in node.layers] == ["lookup_rows", "table_embed"]
        and node.layers[0].attrs["attr"].value == attr
    )
    return chain


def embedded(nlp: Language, words: list[str]) -> numpy.ndarray:
    """Embed words by their NORM alone."""
    norms = [nlp.vocab[word].norm for word in words]
    return lookup(nlp).predict(numpy.array(norms, dtype="uint64"))


def tensor(nlp: Language, words: list[str]) -> numpy.ndarray:
    return nlp(Doc(nlp.vocab, words=words)).tensor


def test_words_with_static_vectors_get_rows(
    before: Language, extended: tuple[Language, Any]
) -> None:
    after, found = extended
    assert found["table"] == "tok2vec.NORM"
    assert (found["rows"], found["added"], found["fitted"]) == (37, 3, 36)
    assert found["held_out"]["words"] == 3
    rows = [lookup(nlp).layers[1].get_param("E") for nlp in (before, after)]
    assert_array_equal(rows[1][:37], rows[0])
    assert len(lookup(after).layers[0].attrs["symbols"]) == 39
    assert lookup(after).layers[1].get_dim("nV") == 40
    unknown = embedded(after, ["unheard"])
    assert (embedded(before, NEW) == unknown).all()
    assert (embedded(after, NEW) != unknown).any(axis=1).all()


def test_known_words_are_parsed_as_before_and_new_ones_are_not(
    before: Language, after: Language
) -> None:
    known = [*WORDS, "unheard"]
    assert_array_equal(tensor(after, known), tensor(before, known))
    assert not numpy.allclose(tensor(after, NEW), tensor(before, NEW))


def test_new_rows_follow_from_vectors_as_trained_ones_do(
    trained: Path, out: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(trained)
    chain, turn = lookup(nlp), numpy.random.default_rng(0).normal(size=(8, 16)).astype("f")
    rows = chain.layers[0].predict(numpy.array([nlp.vocab[word].norm for word in WORDS], "uint64"))
    E = chain.layers[1].get_param("E").copy()
    E[rows.ravel()] = [vector(word) @ turn + 1 for word in WORDS]
    chain.layers[1].set_param("E", E)
    nlp.to_disk(tmp_path / "linear")
    (found,) = succeed(tmp_path / "linear", out)
    expected = [vector(word) @ turn + 1 for word in NEW]
    assert_allclose(embedded(spacy.load(out), NEW), expected, atol=1e-2)
    assert found["held_out"]["r2"] > 0.999
    result = invoke(tmp_path / "linear", out, "--force")
    assert "hardly better" not in said(result)


def test_extended_pipeline_survives_bytes(after: Language) -> None:
    fresh = spacy.util.load_model_from_config(after.config, auto_fill=True)
    fresh.from_bytes(after.to_bytes())
    assert_allclose(tensor(fresh, NEW), tensor(after, NEW))


def test_words_of_a_file_get_rows_by_their_spelling(trained: Path, out: Path, words: Path) -> None:
    (found,) = succeed(trained, out, *SPELLING, "--words", words)
    assert found["added"] == 3
    nlp = spacy.load(out)
    assert len({row.tobytes() for row in embedded(nlp, [*NEW, "unheard"])}) == 4


def test_words_of_a_corpus_get_rows(trained: Path, out: Path, tmp_path: Path) -> None:
    docs = [Doc(Vocab(), words=["Escribamos", "unheard", " ", "cantar"])]
    data = write_corpus(tmp_path / "data.spacy", docs)
    assert succeed(trained, out, "--data", data)[0]["added"] == 1
    assert succeed(trained, out, "--data", data, "--force", *SPELLING)[0]["added"] == 2
    result = invoke(trained, tmp_path, "--data", data, "--force")
    assert "data.spacy is read, and OUTPUT at" in said(result)
    assert data.exists()


def test_regression_is_fitted_to_frequent_rows_if_asked(
    trained: Path, out: Path, tmp_path: Path
) -> None:
    train = write_corpus(tmp_path / "train.spacy", [Doc(Vocab(), words=WORDS + WORDS[:20])])
    assert succeed(trained, out, "--train", train)[0]["fitted"] == 36
    found = succeed(trained, out, "--train", train, "--min-freq", 2, "--force")
    assert found[0]["fitted"] == 20


def test_symbol_has_the_mean_vector_of_its_words(
    trained: Path, after: Language, tmp_path: Path
) -> None:
    nlp = spacy.load(trained)
    vectors = nlp.vocab.vectors
    upper = {word.upper(): vectors[nlp.vocab.strings[word]] for word in NEW}
    for word, values in upper.items():
        nlp.vocab.set_vector(word, 3 * values)
        nlp.vocab.set_vector(word.title(), values)
        nlp.vocab.set_vector(word.lower(), -values)
    nlp.to_disk(tmp_path / "upper")
    succeed(tmp_path / "upper", tmp_path / "other")
    # (3 + 1 - 1) / 3 = 1
    assert_allclose(embedded(spacy.load(tmp_path / "other"), NEW), embedded(after, NEW), atol=1e-5)


def test_table_tells_how_good_predictions_are(trained: Path, out: Path) -> None:
    output = said(invoke(trained, out))
    assert "tok2vec.NORM 37 3 36" in output
    assert "Wrote the pipeline to" in output


def test_predictions_hardly_better_than_the_mean_are_warned_of(
    trained: Path, out: Path, tmp_path: Path
) -> None:
    nlp = spacy.load(trained)
    nlp.vocab.vectors.data[:] = 1
    nlp.to_disk(tmp_path / "equal")
    assert "hardly better than the mean of the trained rows" in said(
        invoke(tmp_path / "equal", out)
    )


def test_hashed_embedding_is_refused(out: Path, tmp_path: Path) -> None:
    pipeline("MultiHashEmbed").to_disk(tmp_path / "hashed")
    message = fail(out, tmp_path / "hashed", out)
    assert "needs a MultiEmbed with NORM, whose rows are looked up and not hashed" in message


def test_pipeline_without_vectors_is_refused(trained: Path, out: Path, tmp_path: Path) -> None:
    nlp = spacy.load(trained)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, shape=(0, 8))
    nlp.to_disk(tmp_path / "bare")
    assert "needs static vectors, but the pipeline has none" in fail(out, tmp_path / "bare", out)


@pytest.mark.parametrize(
    ("place", "message"),
    [(0, "inputs must be finite, but 1 of 36"), (-1, "1 of 3 predicted rows have NaN")],
)
def test_vectors_with_nan_are_refused(
    trained: Path, out: Path, tmp_path: Path, place: int, message: str
) -> None:
    nlp = spacy.load(trained)
    nlp.vocab.vectors.data[place, 2] = numpy.nan
    nlp.to_disk(tmp_path / "nan")
    assert message in fail(out, tmp_path / "nan", out)


def test_vectors_of_other_words_are_refused(trained: Path, out: Path, tmp_path: Path) -> None:
    nlp = spacy.load(trained)
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=numpy.ones((1, 8), "f"))
    nlp.vocab.vectors.add(nlp.vocab.strings.add("unheard"), row=0)
    nlp.to_disk(tmp_path / "others")
    message = fail(out, tmp_path / "others", out)
    assert "none of the 36 trained symbols of tok2vec.NORM has a static vector" in message


def test_table_that_lacks_nothing_is_refused(trained: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text("cantar\nhablo\n")
    message = fail(out, trained, out, "--words", tmp_path / "known.txt")
    assert "tok2vec.NORM lacks none of the symbols that could be added: it has all 2" in message


def test_words_without_static_vectors_are_refused(trained: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "unheard.txt").write_text("unheard\nunseen\n")
    message = fail(out, trained, out, "--words", tmp_path / "unheard.txt")
    assert "none of the 2 symbols that are given has a static vector to learn a row" in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "must be UTF-8, with one word a line"),
        (b"\n\n", "There are no words in"),
        (None, "There is no file of words, and no corpus, at"),
    ],
)
def test_file_of_words_that_cannot_be_read_is_refused(
    trained: Path, out: Path, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    assert message in fail(out, trained, out, "--words", path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "spelling"], "name the words, by --words or --data"),
        (["--attr", "SHAPE"], "--attr must be one of NORM, LOWER, ORTH"),
        (["--attr", "LOWER"], "needs a MultiEmbed with LOWER"),
        (["--component", "tagger"], "found: no embedding"),
        (["--component", "ner"], "there is no component 'ner'"),
        (["--min-freq", 2], "needs the training corpus"),
        (["--min-freq", 0], "--min-freq must be a whole number from 1"),
        (["--sigma", 0], "sigma must be a number from 0.001 on"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    trained: Path, out: Path, options: list[Any], message: str
) -> None:
    assert message in fail(out, trained, out, *options)


def test_rank_larger_than_the_trained_rows_is_refused(
    trained: Path, out: Path, words: Path
) -> None:
    message = fail(out, trained, out, "--from", "spelling", "--words", words)
    assert "rank must be at most 32, which is what 33 words allow, was: 500" in message


def test_output_that_is_there_is_kept(trained: Path, out: Path) -> None:
    out.mkdir()
    (out / "mine").write_text("x")
    result = invoke(trained, out)
    assert result.exit_code == 1
    assert [path.name for path in out.iterdir()] == ["mine"]
