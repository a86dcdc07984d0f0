"""Rows of MultiEmbed for symbols that training never met, predicted from the trained ones.

The idea is that of POSTLE (Kamath, Pfeiffer, Ponti, Glavaš and Vulić 2019): what training made of
the words that it met is learned, and applied to those that it did not meet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Optional, cast

import numpy
from spacy.language import Language
from spacy.vocab import Vocab
from thinc.api import to_numpy

from ..common.memory import check_memory
from ..embed.ard_table_embed import LOG_SIGMA
from ..embed.attributes import attr_id
from ..embed.find import EmbeddingTable
from ..embed.symbols import Symbols
from ..embed.table_embed import table_of
from ..vectors.from_spelling import fit_from_spelling
from ..vectors.kernel_pca import SpellingSettings
from ..vectors.ridge import HeldOut, choose_ridge
from ..vectors.vocab import value_getter
from .lookup_tables import find_lookup_tables, ordered_keys, params_of, replace_rows
from .words import check_vectors, named_words, vectors_of

_WHERE = "extend-tables"
# Attributes that tell words apart, so that a symbol has a static vector of its own.
WORD_ATTRS = ("NORM", "LOWER", "ORTH")
Source = Literal["vectors", "spelling"]


@dataclass(frozen=True)
class Extension:
    """What was added to a table.

    table (str): Name of the embedding.
    rows (int): Number of rows before, row 0 included.
    added (int): Number of new rows.
    fitted (int): Number of trained rows that the regression was fitted to.
    held_out (HeldOut): How good predictions of trained rows are.
    """

    table: str
    rows: int
    added: int
    fitted: int
    held_out: HeldOut


@dataclass(frozen=True)
class _NewRows:
    keys: numpy.ndarray  # (M,) uint64 symbols
    rows: numpy.ndarray  # (M, nO) float32
    fitted: int
    held_out: HeldOut


def extend_tables(
    nlp: Language,
    symbols: Optional[Sequence[str]] = None,
    *,
    attr: str = "NORM",
    component: Optional[str] = None,
    source: Source = "vectors",
    settings: Optional[SpellingSettings] = None,
    counts: Optional[Counter[str]] = None,
    min_freq: int = 1,
) -> list[Extension]:
    """Add symbols to the tables of an attribute, with rows that are predicted.

    All rows that are there stay, and so do predictions for words that were known.

    nlp (Language): A trained pipeline.
    symbols (Optional[Sequence[str]]): Texts of the symbols to add. Those that a table has already
        are left out. None is for all words of the table of static vectors whose text is known.
    attr (str): The attribute: NORM, LOWER or ORTH.
    component (Optional[str]): Name of the component. None is for all that look the attribute up.
    source (Source): What rows are predicted from: static vectors, those of the vocab's own table,
        or spelling.
    settings (Optional[SpellingSettings]): How spelling becomes vectors. None is for the defaults.
    counts (Optional[Counter[str]]): Frequencies of symbols in training. None: not known.
    min_freq (int): With counts, the regression is fitted to rows of symbols that are at least as
        frequent.

    Raises ValueError, and changes nothing, if there is no such table, no vector, too few trained
    rows, nothing to add, or a number that is not finite.
    """
    tables = find_lookup_tables(nlp, attr, component, _WHERE)
    found = []
    by_symbol = None
    if source == "vectors":
        symbol_of = symbol_getter(nlp.vocab, attr)
        by_symbol = _static_vectors(nlp.vocab, symbols or (), symbol_of)
    for table in tables:
        fit_to = _rows_to_fit(nlp.vocab, table, counts, min_freq)
        if by_symbol is not None:
            wanted = list(by_symbol) if symbols is None else symbols
            new = _predict_from_vectors(nlp.vocab, table, wanted, fit_to, by_symbol)
        else:
            new = _predict_from_spelling(
                nlp.vocab, table, symbols or (), fit_to, settings or SpellingSettings()
            )
        found.append(new)
    extensions = []
    for table, new in zip(tables, found, strict=True):
        before = len(table.layer.attrs["symbols"]) + 1
        _append_rows(table, new)
        extensions.append(Extension(table.name, before, len(new.keys), new.fitted, new.held_out))
    return extensions


def symbol_getter(vocab: Vocab, attr: str) -> Callable[[str], str]:
    """Return the function that gives a word's value of an attribute, as a lexeme has it."""
    return value_getter(vocab, attr_id(attr))


def _rows_to_fit(
    vocab: Vocab, table: EmbeddingTable, counts: Optional[Counter[str]], min_freq: int
) -> dict[int, int]:
    """Map the symbols whose rows training has seen often enough to their rows, in this order."""
    rows = {key: row for row, key in enumerate(ordered_keys(table).tolist(), 1)}
    if counts is None:
        return rows
    frequent = {vocab.strings[text] for text, count in counts.items() if count >= min_freq}
    return {key: row for key, row in rows.items() if key in frequent}


def _static_vectors(
    vocab: Vocab, symbols: Iterable[str], symbol_of: Callable[[str], str]
) -> dict[str, numpy.ndarray]:
    """Map symbols to their static vectors: each is the mean of those of all words that have it."""
    check_vectors(vocab, f"{_WHERE} --from vectors")
    words = named_words(vocab, symbols)
    of_words = vectors_of(vocab, words)
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(symbol_of(word), len(numbers)) for word in words]
    sums = numpy.zeros((len(numbers), of_words.shape[1]), dtype="float64")
    numpy.add.at(sums, places, of_words)
    sums /= numpy.bincount(places, minlength=len(numbers))[:, None]
    return dict(zip(numbers, sums.astype("float32"), strict=True))


def _predict_from_vectors(
    vocab: Vocab,
    table: EmbeddingTable,
    symbols: Sequence[str],
    fit_to: dict[int, int],
    by_symbol: dict[str, numpy.ndarray],
) -> _NewRows:
    by_key = {vocab.strings[symbol]: vector for symbol, vector in by_symbol.items()}
    trained = [key for key in fit_to if key in by_key]
    if not trained:
        raise ValueError(
            f"{_WHERE}: none of the {len(fit_to)} trained symbols of {table.name} has a static "
            "vector, so there is nothing to learn from. Check the vectors of the pipeline, or take "
            "--from spelling."
        )
    with_vectors = [symbol for symbol in symbols if symbol in by_symbol]
    if not with_vectors:
        raise ValueError(
            f"{_WHERE}: none of the {len(symbols)} symbols that are given has a static vector to "
            "learn a row from. Give other words, or take --from spelling."
        )
    new = _lacking(vocab, table, with_vectors)
    E = to_numpy(table_of(table.weights))
    inputs = numpy.stack([by_key[key] for key in trained])
    ridge, held_out = choose_ridge(inputs, E[[fit_to[key] for key in trained]])
    predicted = ridge(numpy.stack([by_symbol[symbol] for symbol in new]))
    return _NewRows(_add_keys(vocab, new), _finite(predicted), len(trained), held_out)


def _predict_from_spelling(
    vocab: Vocab,
    table: EmbeddingTable,
    symbols: Sequence[str],
    fit_to: dict[int, int],
    settings: SpellingSettings,
) -> _NewRows:
    strings: Any = vocab.strings  # its stub knows no ids
    text_of = {key: strings[key] for key in fit_to if key and key in strings}
    new = _lacking(vocab, table, symbols)
    E = to_numpy(table_of(table.weights))
    trained = E[[fit_to[key] for key in text_of]]
    fitted = fit_from_spelling(list(text_of.values()), trained, settings)
    predicted = _finite(fitted.predict(new))
    return _NewRows(_add_keys(vocab, new), predicted, len(text_of), fitted.held_out)


def _lacking(vocab: Vocab, table: EmbeddingTable, symbols: Sequence[str]) -> list[str]:
    """List the symbols that a table lacks, each once. Raises ValueError if it lacks none."""
    present = set(table.layer.attrs["symbols"].keys.tolist())
    lacking = [text for text in dict.fromkeys(symbols) if vocab.strings[text] not in present]
    if not lacking:
        raise ValueError(
            f"{_WHERE}: {table.name} lacks none of the symbols that could be added: "
            f"it has all {len(symbols)} already. Give other words, by --words or --data."
        )
    shape = (len(present) + len(lacking) + 1, table.weights.get_dim("nO"))
    check_memory(_WHERE, [shape] * len(table.weights.param_names), "Give fewer words.")
    return lacking


def _add_keys(vocab: Vocab, texts: Sequence[str]) -> numpy.ndarray:
    return numpy.array([vocab.strings.add(text) for text in texts], dtype="uint64")


def _finite(rows: numpy.ndarray) -> numpy.ndarray:
    """Return predicted rows, or raise ValueError if some are not finite."""
    if not numpy.isfinite(rows).all():
        bad = int((~numpy.isfinite(rows).all(axis=1)).sum())
        raise ValueError(
            f"{_WHERE}: {bad} of {len(rows)} predicted rows have NaN or infinity, as the static "
            "vectors of their words do. Mend the vectors, or leave the words out."
        )
    return rows


def _append_rows(table: EmbeddingTable, new: _NewRows) -> None:
    """Give a table further symbols, with the rows after its last one."""
    keys = numpy.concatenate([ordered_keys(table), new.keys])
    weights = table.weights
    added = {"E": new.rows, "log_sigma": numpy.full_like(new.rows, LOG_SIGMA)}
    params = {
        name: weights.ops.asarray2f(cast(Any, numpy.concatenate([to_numpy(param), added[name]])))
        for name, param in params_of(weights).items()
    }
    counts = weights.attrs.get("counts")
    if counts is not None:
        never_met = numpy.full(len(new.keys), numpy.inf, dtype="float32")  # no KL, as for row 0
        counts = numpy.concatenate([counts, never_met])
    replace_rows(table.layer, weights, Symbols.from_ordered(keys), params, counts)
