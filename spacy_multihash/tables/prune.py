"""Rows dropped from the tables of trained embeddings, so that their symbols become unknown ones."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, to_numpy

from ..common.checks import check_unit, is_number, refusal
from ..common.registered import MULTI_EMBED
from ..corpus.agreement import entities_kept
from ..corpus.evaluation import predict, score
from ..embed.find import find_tables
from ..embed.symbols import Symbols
from ..embed.table_embed import table_of
from .lookup_tables import params_of, replace_rows

_WHERE = "prune"
# The shares of rows that a search tries to drop, most first.
SHARES: Sequence[float] = tuple(share / 20 for share in range(19, 0, -1))


class PrunedTable(NamedTuple):
    """The size of a table before and after pruning, row 0 of unknown symbols included.

    component (str): Name of the component that has the table.
    attr (str): Name of the attribute or feature.
    rows, rows_after (int): Numbers of rows.
    parameters, parameters_after (int): Numbers of parameters, those of the noise of ARD included.
    """

    component: str
    attr: str
    rows: int
    rows_after: int
    parameters: int
    parameters_after: int


class Effect(NamedTuple):
    """What pruning did to the entities of a corpus.

    f, f_after (Optional[float]): F1 before and after, 0 to 1. None without gold entities.
    same (Optional[float]): The share of the entities found before that are found after, with the
        same extent and label. None if none were found.
    """

    f: Optional[float]
    f_after: Optional[float]
    same: Optional[float]


class _Table:
    """A table that symbols are looked up in, as it was."""

    def __init__(self, component: str, attr: str, lookup: Model, weights: Model) -> None:
        self.component, self.attr = component, attr
        self._lookup, self._weights = lookup, weights
        self._symbols: Symbols = lookup.attrs["symbols"]
        self._params = params_of(weights)
        self._counts = weights.attrs.get("counts")
        self.scores = row_scores(weights)[1:]  # row 0 stays

    def prune(self, threshold: float) -> None:
        """Keep row 0, the row with the highest score, and those whose score reaches a threshold."""
        lowest = min(threshold, self.scores.max())  # a lookup has to have a symbol
        kept = numpy.flatnonzero(numpy.append(True, self.scores >= lowest))
        by_row = numpy.zeros(len(self._symbols) + 1, dtype="uint64")
        by_row[self._symbols.rows] = self._symbols.keys
        self._set(Symbols.from_ordered(by_row[kept[1:]]), kept)

    def restore(self) -> None:
        """Take all rows back."""
        self._set(self._symbols, numpy.arange(len(self._symbols) + 1))

    def report(self) -> PrunedTable:
        """Compare the table with what it was."""
        rows = (len(self._symbols) + 1, self._weights.get_dim("nV"))
        width = sum(param.shape[1] for param in self._params.values())
        return PrunedTable(self.component, self.attr, *rows, *(width * n for n in rows))

    def _set(self, symbols: Symbols, kept: numpy.ndarray) -> None:
        # CuPy takes an index of numpy's.
        params = {name: param[kept] for name, param in self._params.items()}
        counts = None if self._counts is None else self._counts[kept]
        replace_rows(self._lookup, self._weights, symbols, params, counts)


class Pruning:
    """The tables of all MultiEmbed in a trained pipeline, whose rows can be dropped.

    Only tables of vectors are pruned, and not those of importance parameters.

    nlp (Language): The pipeline. Its disabled components are searched too.

    Raises ValueError if there is no such table, or if weights are not finite.
    """

    def __init__(self, nlp: Language) -> None:
        """Score all rows."""
        found = [t for t in find_tables(nlp) if not t.is_hashed and t.part == "vectors"]
        tables = {id(t.weights): _Table(t.component, t.attr, t.layer, t.weights) for t in found}
        self._nlp, self._tables = nlp, list(tables.values())
        if not tables:
            raise ValueError(
                "The pipeline has no table to prune: only MultiEmbed looks rows up, and a hashed "
                f"row belongs to many symbols. Give a pipeline with {MULTI_EMBED}."
            )
        self._scores = numpy.sort(numpy.concatenate([table.scores for table in self._tables]))
        if not numpy.isfinite(self._scores).all():
            raise ValueError("The weights of the tables are not finite. Train anew.")

    def prune(self, threshold: float) -> list[PrunedTable]:
        """Drop all rows whose score is below a threshold, of the tables as they were first.

        A table keeps row 0, and the symbol with the highest score.

        Raises ValueError for a threshold that is no finite number.
        """
        if not (is_number(threshold) and numpy.isfinite(threshold)):
            raise refusal(_WHERE, "threshold", "a finite number", threshold, "Give another one.")
        for table in self._tables:
            table.prune(threshold)
        return [table.report() for table in self._tables]

    def threshold_of(self, keep: float) -> float:
        """Give the threshold that keeps a share of all rows, 0 < keep <= 1; those with ties too.

        Raises ValueError for a share that is out of range.
        """
        if not (is_number(keep) and 0 < keep <= 1):
            raise refusal(_WHERE, "keep", "a share, 0 < keep <= 1", keep, "Give another one.")
        dropped = min(round((1 - keep) * len(self._scores)), len(self._scores) - 1)
        return float(self._scores[dropped])

    def search(self, examples: Sequence[Example], max_loss: float) -> float:
        """Give the threshold that drops most rows, of 19 quantiles, while F1 falls by no more.

        It is the lowest score, which drops no row, if all of them are too high.

        examples (Sequence[Example]): The dev corpus.
        max_loss (float): The most by which F1 may fall, from 0 to 1.

        Raises ValueError for a max_loss that is out of range, and for a corpus without entities.
        """
        check_unit(_WHERE, "max_loss", max_loss, advice="Give another one.")
        self._restore()
        before = score(self._annotate(examples)).f if _has_entities(examples) else None
        if before is None:
            raise ValueError(
                "The corpus has no gold entities, so that no F1 tells how many rows may go. Give a "
                "dev corpus with entities, or a threshold."
            )
        for share in SHARES:
            threshold = self.threshold_of(1 - share)
            self.prune(threshold)
            if before - (score(self._annotate(examples)).f or 0) <= max_loss:
                return threshold
        return float(self._scores[0])

    def effect(self, examples: Sequence[Example], threshold: float) -> Effect:
        """Compare the entities that are found before pruning and after it, and stay pruned."""
        self._restore()
        before = self._annotate(examples)
        self.prune(threshold)
        after = self._annotate(examples)
        same = entities_kept([e.predicted for e in before], [e.predicted for e in after])
        f = [score(each).f if _has_entities(examples) else None for each in (before, after)]
        return Effect(f[0], f[1], same)

    def _restore(self) -> None:
        for table in self._tables:
            table.restore()

    def _annotate(self, examples: Sequence[Example]) -> list[Example]:
        """Find the entities of the docs. The examples stay as they are, for the next time."""
        copies = [Example(example.predicted.copy(), example.reference) for example in examples]
        predict(self._nlp, copies)
        return copies


def row_scores(weights: Model) -> numpy.ndarray:
    """Tell how much the rows of a table weigh: the log of the mean square of each, (nV,) float64.

    With ARD, an entry counts by its mean mu. Kodryan et al. 2019 (equation 9) drop single entries
    by log lambda = log(mu**2 + sigma**2). Its mean over a row would follow sigma.
    """
    squares = to_numpy(table_of(weights)).astype("float64") ** 2
    return numpy.log(numpy.maximum(squares.mean(axis=1), numpy.finfo("float64").tiny))


def _has_entities(examples: Sequence[Example]) -> bool:
    return any(example.reference.ents for example in examples)
