"""The callbacks that make vectors of how words are spelled."""

from collections import Counter
from pathlib import Path
from typing import Any, Callable, List, Optional, cast

import numpy
from spacy.language import Language
from spacy.util import logger
from spacy.vocab import Vocab
from thinc.api import get_array_module, to_numpy

from ..common.checks import check_choice, check_flag, check_whole
from ..common.registered import KPCA_ROWS, KPCA_VECTORS
from ..embed.attributes import attr_id
from ..embed.find import EmbeddingTable
from ..embed.table_embed import table_of
from ..embed.vector_tables import VOCAB
from ..vectors.from_spelling import fit_from_spelling
from ..vectors.kernel_pca import SpellingSettings, fit_kernel_pca
from .lookup_tables import find_lookup_tables, ordered_keys
from .other_tables import attrs_of_table, in_no_other_table
from .words import (
    by_frequency,
    check_corpora,
    check_vectors,
    count_keys,
    count_texts,
    docs_of_corpora,
    named_words,
    present_rows,
    rows_of,
    vector_attr,
    vectors_of,
)

# Attributes whose values are texts.
TEXT_ATTRS = ("NORM", "LOWER", "ORTH", "PREFIX", "SUFFIX", "SHAPE")
# The regression is fitted to this many words at most.
_MOST_WORDS = 40_000


def make_kpca_vectors_v1(
    corpora: Optional[List[Path]] = None,
    min_freq: int = 1,
    anchors: int = 3000,
    rank: int = 500,
    sigma: float = 0.5,
    orders: List[int] = [2, 3, 4],  # noqa: B006 (never changed; a config shows it)
) -> Callable[[Language], Language]:
    """Make the callback for [initialize.after_init] that gives vectors to words without.

    Such words have no vector, or one of zeros, in the vocab's own table, and none in any other
    table of vectors that the vocab keeps for MetaVectors. Their vectors are predicted from
    spelling: ridge regression from kernel PCA of character n-grams to the vectors of the vocab's
    own table. The predictions become rows of this table, which is saved with the pipeline. Words
    are the values of the attribute by which the layers find them in this table: that of the table,
    or another one in `key_attrs` of MetaVectors.

    corpora (Optional[List[Path]]): Corpora whose words get vectors, .spacy files or folders. Null
        is the training corpus.
    min_freq (int): A word gets a vector if it occurs at least this often.
    anchors (int): The most words that others are compared with, 10,000 or less. Recommended values
        are between 1,000 and 5,000.
    rank (int): Number of principal components. Recommended values are between 300 and 1,000.
    sigma (float): Width of the Gaussian kernel. Recommended values are between 0.3 and 0.7.
    orders (List[int]): Lengths of the n-grams.
    """
    settings = SpellingSettings(anchors, rank, sigma, tuple(orders))
    check_whole(KPCA_VECTORS, "min_freq", min_freq, 1)
    check_corpora(corpora, KPCA_VECTORS)

    def add_vectors(nlp: Language) -> Language:
        vectors = check_vectors(nlp.vocab, KPCA_VECTORS)
        docs = docs_of_corpora(nlp, corpora, KPCA_VECTORS)
        keys = count_keys(docs, attrs_of_table(nlp, VOCAB, vector_attr(vectors)))
        counts: Counter[str] = Counter()
        for (word, _), count in keys.items():
            counts[word] += count
        words = by_frequency(counts)
        present = present_rows(nlp.vocab, words)
        # A word of this table may stand for several of another one, such as in lower case.
        absent = [(word, other) for word, other in keys if word not in present]
        others = set(in_no_other_table(nlp, [other for _, other in absent]))
        asked = {word for word, other in absent if other in others and word.strip()}
        lacking = [word for word in words if counts[word] >= min_freq and word in asked]
        if not lacking:
            logger.info("All words of the corpus that are frequent enough have vectors")
            return nlp
        if not present:
            raise ValueError(
                f"{KPCA_VECTORS}: none of the {len(words)} words of the corpus has a vector in the "
                "table, so there is nothing to learn from. Check [initialize] vectors."
            )
        known = named_words(nlp.vocab, words)[:_MOST_WORDS]
        rows = rows_of(nlp.vocab, known)
        fitted = fit_from_spelling(known, vectors_of(nlp.vocab, known), settings, rows)
        append_vectors(nlp.vocab, lacking, fitted.predict(lacking))
        logger.info(
            "Predicted the vectors of %d words. Of %d words that were held out, the mean cosine is "
            "%.3f (%.3f if the mean is predicted), R2 %.3f",
            len(lacking),
            fitted.held_out.words,
            fitted.held_out.cosine,
            fitted.held_out.cosine_of_mean,
            fitted.held_out.r2,
        )
        if fitted.held_out.is_hardly_better:
            logger.warning(
                "%s: the vectors that are predicted are hardly better than the mean of those of "
                "the table (R2 %.3f). Words without a vector may do better without them: compare "
                "both on dev.",
                KPCA_VECTORS,
                fitted.held_out.r2,
            )
        return nlp

    return add_vectors


def append_vectors(vocab: Vocab, words: List[str], rows: numpy.ndarray) -> None:
    """Add words and their vectors (N, W) to the table of static vectors."""
    vectors = vocab.vectors
    first, width = vectors.shape
    vectors.resize((first + len(words), width))
    vectors.data[first:] = get_array_module(vectors.data).asarray(rows)
    for row, word in enumerate(words, first):
        vectors.add(vocab.strings.add(word), row=row)


def make_kpca_rows_v1(
    component: str = "tok2vec",
    attr: str = "NORM",
    corpora: Optional[List[Path]] = None,
    anchors: int = 3000,
    sigma: float = 0.5,
    orders: List[int] = [2, 3, 4],  # noqa: B006 (never changed; a config shows it)
    whiten: bool = False,
) -> Callable[[Language], Language]:
    """Make the callback for [initialize.after_init] that draws rows of MultiEmbed from spelling.

    Symbols that are spelled alike then begin with rows that are alike. The rows have the root mean
    square of those that they replace. Row 0 stays, and so do rows of symbols that the corpora do
    not have. A component that is not initialized (frozen, or sourced) keeps its rows.

    component (str): Name of the component that holds MultiEmbed.
    attr (str): The attribute whose table gets the rows.
    corpora (Optional[List[Path]]): Corpora that the texts of symbols are read from. Null is the
        training corpus.
    anchors (int): The most symbols that others are compared with, 10,000 or less.
    sigma (float): Width of the Gaussian kernel.
    orders (List[int]): Lengths of the n-grams.
    whiten (bool): Whether all components have the same variance. False leaves the first ones the
        largest.
    """
    check_choice(KPCA_ROWS, "attr", attr, TEXT_ATTRS)
    check_flag(KPCA_ROWS, "whiten", whiten)
    check_corpora(corpora, KPCA_ROWS)
    SpellingSettings(anchors, 1, sigma, tuple(orders))

    def draw_rows(nlp: Language) -> Language:
        tables = find_lookup_tables(nlp, attr, component, KPCA_ROWS)
        if component not in nlp.pipe_names:
            logger.info("MultiEmbed of '%s' is not initialized, and keeps its rows", component)
            return nlp
        texts = count_texts(docs_of_corpora(nlp, corpora, KPCA_ROWS), attr_id(attr))
        drawn = []
        for table in tables:
            width = table_of(table.weights).shape[1]
            settings = SpellingSettings(anchors, width, sigma, tuple(orders))
            drawn.append(_rows_from_spelling(nlp.vocab, table, list(texts), settings, whiten))
        for table, E in zip(tables, drawn, strict=True):
            table.weights.set_param("E", table.weights.ops.asarray2f(cast(Any, E)))
            logger.info("Drew the rows of %s from spelling", table.name)
        return nlp

    return draw_rows


def _rows_from_spelling(
    vocab: Vocab,
    table: EmbeddingTable,
    texts: List[str],
    settings: SpellingSettings,
    whiten: bool,
) -> numpy.ndarray:
    """Make the table E (nV, nO) of a lookup, with rows from spelling for the texts it knows."""
    E = to_numpy(table_of(table.weights)).copy()
    text_of = {vocab.strings[text]: text for text in texts}
    rows = {row: text_of.get(key) for row, key in enumerate(ordered_keys(table).tolist(), 1)}
    known = {row: text for row, text in rows.items() if text is not None}
    if len(known) <= settings.rank:
        raise ValueError(
            f"{KPCA_ROWS}: {table.name} has rows of width {settings.rank}, for which more symbols "
            f"than that must occur in the corpus, but {len(known)} of its {len(rows)} do. Take a "
            "smaller width, or a larger corpus."
        )
    spelling = fit_kernel_pca(list(known.values()), settings)
    vectors = spelling.vectors(list(known.values()))
    if whiten:
        vectors /= numpy.sqrt(spelling.variances).astype("float32")
    places = numpy.fromiter(known, dtype="int64")
    E[places] = vectors * (_root_mean_square(E[places]) / _root_mean_square(vectors))
    return E


def _root_mean_square(values: numpy.ndarray) -> float:
    return float(numpy.sqrt((values.astype("float64") ** 2).mean()))
