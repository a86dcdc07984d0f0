"""The size of a pipeline's embedding tables, and how a corpus fills them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Optional, Union

import numpy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from thinc.api import Model

from ..common.arguments import checked
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..compute.ops import distinct_rows
from ..corpus.read import items_of
from ..corpus.shards import choose_shards, model_shard
from ..tables.find import EmbeddingTable, Part, find_tables, rows_of
from ..tables.set_tables import Extractor, count_corpus


class Size(NamedTuple):
    """Number of parameters, and bytes of all arrays."""

    parameters: int
    bytes: int


@dataclass(frozen=True)
class TableUse:
    """How a corpus uses a table.

    num_values (int): The distinct values of the feature, V.
    load_factor (float): V * k / n, the average number of values per row.
    indistinguishable (int): The values with the same k rows as another value, in any order. The
        model can't tell them apart by this feature.
    """

    num_values: int
    load_factor: float
    indistinguishable: int

    @property
    def share(self) -> float:
        """The share of indistinguishable values."""
        return self.indistinguishable / self.num_values


@dataclass(frozen=True)
class InspectedTable:
    """The table of a feature.

    part (Part): The content of its rows. A weighted hash embedding has a table of B "components" of
        width d, and a table of K rows of "importance" parameters of width k. Others are "vectors".
    num_rows, width, num_hashes (int): The sizes n, W and k.
    seed (Optional[int]): The hash seed. None for a lookup.
    use (Optional[TableUse]): How a corpus uses the table. None without a corpus.
    """

    component: str
    feature: str
    part: Part
    rows_by: Literal["hash", "lookup"]
    num_rows: int
    width: int
    num_hashes: int
    seed: Optional[int]
    use: Optional[TableUse]

    @property
    def name(self) -> str:
        """The component, the feature, and the part if there are two."""
        part = "" if self.part == "vectors" else f" ({self.part})"
        return f"{self.component}.{self.feature}{part}"


@dataclass(frozen=True, eq=False)
class InspectedTables(Result):
    """The tables of a pipeline, and how a corpus fills them.

    Its page has a bar for each load factor and each share.
    """

    template, heading = "tables.html", "Tables"

    inspected: Sequence[InspectedTable]

    def tables(self) -> Iterable[Table]:
        """A row for each table."""
        header = ["table", "rows", "width", "hashes", "parameters"]
        used = any(table.use for table in self.inspected)
        if used:
            header += ["values", "load factor", "indistinguishable"]
        rows = []
        for table in self.inspected:
            size, use = table.num_rows * table.width, table.use
            row: list[Any] = [table.name, table.num_rows, table.width, table.num_hashes, size]
            if use:
                share = f"{use.indistinguishable:,} ({use.share:.1%})"
                row += [use.num_values, f"{use.load_factor:.2f}", share]
            rows.append(row)
        yield Table("Tables", header, rows)

    def notes(self) -> Iterable[str]:
        """What the numbers of a corpus mean."""
        if any(table.use for table in self.inspected):
            yield (
                "The load factor is the number of values in a row on average. Indistinguishable "
                "values have all their rows in common with another value: add rows or a hash."
            )


@checked
def inspect_tables(
    nlp: Union[Language, str, Path],
    data: Union[str, Path, DocBin, Iterable[Doc], None] = None,
    *,
    progress: Progress = no_progress,
) -> InspectedTables:
    """Show the size of a pipeline's embedding tables, and how full they are.

        print(inspect_tables("training/model-best", "corpus/train.spacy"))

    With a corpus, it also counts how the distinct values fill each table. The load factor is values
    times hashes, divided by rows. Indistinguishable values share all their rows with another value.
    The page draws both.

    nlp (Union[Language, str, Path]): The pipeline.
    data (Union[str, Path, DocBin, Iterable[Doc], None]): The corpus: a file, a folder of shards, or
        docs.

    Raises ValueError if the pipeline has no tables, or if the corpus has no tokens.
    """
    nlp = loaded(nlp)
    tables = find_tables(nlp)
    values: dict[EmbeddingTable, numpy.ndarray] = {}
    if isinstance(data, (str, Path)):  # docs as a model gets them
        shards, _ = choose_shards(Path(data))
        watched = progress(shards, desc="Reading", unit=" shards")
        data = (doc for shard in watched for doc in model_shard(shard, nlp))
    elif data is not None:
        data = items_of(data, nlp.vocab, Doc)
    if data is not None:
        values = distinct_values(data, tables)
    inspected = []
    for table in tables:
        attrs, use = table.layer.attrs, None
        num_rows, width = (table.weights.get_dim(name) for name in ("nV", "nO"))
        if table in values:
            rows = rows_of(table.layer, values[table])  # (V, K)
            use = TableUse(len(rows), rows.size / num_rows, count_indistinguishable(rows))
        inspected.append(
            InspectedTable(
                component=table.component,
                feature=table.attr,
                part=table.part,
                rows_by="hash" if table.is_hashed else "lookup",
                num_rows=num_rows,
                width=width,
                num_hashes=attrs["num_hashes"].value if table.is_hashed else 1,
                seed=attrs["seed"].value if table.is_hashed else None,
                use=use,
            )
        )
    return InspectedTables(inspected)


def distinct_values(
    docs: Iterable[Doc], tables: Iterable[EmbeddingTable]
) -> dict[EmbeddingTable, numpy.ndarray]:
    """List the distinct values of each table's feature, (V,) uint64, the most frequent first.

    Raises ValueError if docs have no value for a table.
    """
    tables = list(tables)
    extractors: dict[str, Extractor] = {t.attr: t.ngrams or t.feature for t in tables}
    counted = count_corpus(docs, extractors)
    for name, counts in counted.items():
        if not len(counts):
            raise ValueError(
                f"The corpus has no tokens to inspect, or none that make a value of {name}. Give "
                "a corpus with text."
            )
    return {table: counted[table.attr].keys for table in tables}


@checked
def model_size(*models: Model) -> Optional[Size]:
    """Add up the parameters of models, counting shared layers once.

    Static vectors belong to the vocab and aren't counted. Returns None if a model isn't
    initialized.
    """
    nodes = {id(node): node for model in models for node in model.walk()}.values()
    named = [(node, name) for node in nodes for name in node.param_names]
    if not all(node.has_param(name) for node, name in named):
        return None
    params = [node.get_param(name) for node, name in named]
    return Size(sum(p.size for p in params), sum(p.nbytes for p in params))


def count_indistinguishable(rows: numpy.ndarray) -> int:
    """Count the values whose rows (V, K), in any order, are the rows of another value, too."""
    _, group_of = distinct_rows(numpy.sort(rows, axis=1).astype("uint64"))
    return int((numpy.bincount(group_of)[group_of] > 1).sum())
