"""Which of several tables of vectors the tokens of a corpus lean on.

A MetaVectors with attention weights the vectors that a token has in its tables. The weights of a
token add up to 1. Where each entry of a vector has a weight of its own (mode = "mme"), the weight
of the table is their mean.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import Model

from ..common.checks import check_whole
from ..common.nodes import find_nodes
from ..embed.find import component_models
from ..embed.read_vectors import NAME, find_weights, has_attention, keys_of, mode_of

# Docs that are embedded at once.
_BATCH = 128


@dataclass(frozen=True)
class MeanWeights:
    """The mean weight of each table over some of the tokens.

    group (str): Which tokens: "all tokens", "seen", "unseen", or the tables that have them, as in
        "es + nl".
    by_tables (bool): Whether they are the tokens that these tables have, and no others.
    tokens (int): How many tokens there are.
    weights (tuple[Optional[float], ...]): The mean weight of each table, over the tokens that some
        table has. None if there are no such tokens.
    """

    group: str
    by_tables: bool
    tokens: int
    weights: tuple[Optional[float], ...]


@dataclass(frozen=True)
class DocAttention:
    """The weights of each token of a doc.

    words (tuple[str, ...]): Its N tokens.
    weights (tuple[tuple[float, ...], ...]): For each of them, the weight of each table.
    present (tuple[tuple[bool, ...], ...]): For each of them, whether each table has it.
    """

    words: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    present: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class Attention:
    """The weights of the tables of one MetaVectors.

    component (str): The component that it is in.
    mode (str): "mme" or "scalar".
    tables (tuple[str, ...]): Names of the n tables.
    groups (tuple[MeanWeights, ...]): Mean weights over all tokens, and over parts of them.
    docs (tuple[DocAttention, ...]): The first docs.
    """

    component: str
    mode: str
    tables: tuple[str, ...]
    groups: tuple[MeanWeights, ...]
    docs: tuple[DocAttention, ...]


class _Group(NamedTuple):
    """Some of the tokens. A table may have the name of another group, such as "seen"."""

    name: str
    by_tables: bool = False


@dataclass
class _Sums:
    """What adds up over a corpus, by group of tokens."""

    sums: dict[_Group, numpy.ndarray] = field(default_factory=dict)
    tokens: dict[_Group, int] = field(default_factory=dict)
    having: dict[_Group, int] = field(default_factory=dict)

    def add(self, group: _Group, weights: numpy.ndarray, present: numpy.ndarray) -> None:
        """Add the weights of tokens (n, T), and whether each table has them."""
        self.sums[group] = self.sums.get(group, 0) + weights.sum(axis=1, dtype="float64")
        self.tokens[group] = self.tokens.get(group, 0) + weights.shape[1]
        self.having[group] = self.having.get(group, 0) + int(present.any(axis=0).sum())

    def mean(self, group: _Group) -> MeanWeights:
        """Give the mean weights of a group."""
        sums, having = self.sums[group].tolist(), self.having[group]
        means = tuple(each / having if having else None for each in sums)
        return MeanWeights(*group, self.tokens[group], means)


def find_attention(nlp: Language, component: Optional[str] = None) -> list[tuple[str, Model]]:
    """Find the nodes of a pipeline that read several tables with attention, by their components.

    component (Optional[str]): Name of the component to look into. None for all.

    Raises ValueError if there are none.
    """
    models = component_models(nlp)
    if component is not None and component not in models:
        raise ValueError(
            f"There is no component '{component}' with a model in the pipeline. It has: "
            f"{', '.join(models) or 'none'}."
        )
    names = [component] if component is not None else list(models)
    nodes = [(name, node) for name in names for node in find_nodes(models[name], NAME)]
    if not nodes:
        raise ValueError(
            "The pipeline has no MetaVectors: looked for the setting `vectors` of an embedding in "
            f"{', '.join(names) or 'no components'}. Give a pipeline that has one."
        )
    found = [(name, node) for name, node in nodes if has_attention(node)]
    if not found:
        modes = ", ".join(sorted({mode_of(node) for _, node in nodes}))
        raise ValueError(
            f"There is no attention: the pipeline's MetaVectors has mode = {modes}, in which no "
            "weights depend on the token. Train with mode = mme or scalar to see some."
        )
    return found


def vector_attention(
    nlp: Language,
    docs: Iterable[Doc],
    *,
    component: Optional[str] = None,
    seen: Optional[Set[int]] = None,
    num_docs: int = 3,
) -> list[Attention]:
    """Measure the weights of tables for the tokens of docs.

    nlp (Language): The pipeline. Its disabled components are searched too.
    docs (Iterable[Doc]): The docs, with what the tables' attributes need.
    component (Optional[str]): Name of the component to look into. None for all.
    seen (Optional[Set[int]]): The ORTH of the words that training has seen. None does not tell them
        apart.
    num_docs (int): Of how many docs the weights of each token are given.

    Raises ValueError if there is no MetaVectors with attention, or if there are no tokens.
    """
    check_whole("vector_attention", "num_docs", num_docs, 0)
    nodes = find_attention(nlp, component)
    sums = [_Sums() for _ in nodes]
    first: list[list[DocAttention]] = [[] for _ in nodes]
    batches = minibatch((doc for doc in docs if len(doc)), _BATCH)
    for batch in batches:
        for i, (_, node) in enumerate(nodes):
            weights, present = find_weights(node, batch)
            _add(sums[i], keys_of(node).names, weights, present, _known(batch, seen))
            start = 0
            for doc in batch[: max(num_docs - len(first[i]), 0)]:
                part = slice(start, start + len(doc))
                first[i].append(_of_doc(doc, weights[:, part], present[:, part]))
                start += len(doc)
    if not sums[0].tokens:
        raise ValueError("There is no token in the corpus. Give another one.")
    return [
        Attention(
            name,
            mode_of(node),
            keys_of(node).names,
            tuple(added.mean(group) for group in added.sums),
            tuple(found),
        )
        for (name, node), added, found in zip(nodes, sums, first, strict=True)
    ]


def _known(docs: list[Doc], seen: Optional[Set[int]]) -> Optional[numpy.ndarray]:
    """Tell which tokens training has seen, (N,) bool."""
    if seen is None:
        return None
    return numpy.array([token.orth in seen for doc in docs for token in doc])


def _add(
    sums: _Sums,
    names: tuple[str, ...],
    weights: numpy.ndarray,
    present: numpy.ndarray,
    known: Optional[numpy.ndarray],
) -> None:
    sums.add(_Group("all tokens"), weights, present)
    if known is not None:
        for group, mask in (("seen", known), ("unseen", ~known)):
            sums.add(_Group(group), weights[:, mask], present[:, mask])
    for having in sorted({tuple(column) for column in present.T.tolist()}, key=sum, reverse=True):
        mask = (present.T == having).all(axis=1)
        group = " + ".join(name for name, has in zip(names, having, strict=True) if has)
        sums.add(_Group(group or "no table", by_tables=True), weights[:, mask], present[:, mask])


def _of_doc(doc: Doc, weights: numpy.ndarray, present: numpy.ndarray) -> DocAttention:
    return DocAttention(
        tuple(token.text for token in doc),
        tuple(map(tuple, weights.T.tolist())),
        tuple(map(tuple, present.T.tolist())),
    )
