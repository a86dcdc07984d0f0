"""What batch_ner finds in a batch of docs, before it is set."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy

from ..biluo import Entities
from .exact import Exact


class Prediction(NamedTuple):
    """The entities of a batch of D docs.

    lengths (D,) int64: The number of tokens of each doc.
    entities: Those that a recognizer found, and those that docs have already.
    labels: What the entities' labels are the numbers of.
    exact: How sure the recognizer is. None if nobody asked.
    """

    lengths: numpy.ndarray
    entities: Entities
    labels: Sequence[str]
    exact: Optional[Exact] = None
