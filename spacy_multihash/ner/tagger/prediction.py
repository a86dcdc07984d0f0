"""What tagger_ner finds in a batch of docs, before it is set."""

from typing import NamedTuple, Optional

import numpy

from ..biluo import Entities
from ..confidence import Confidences


class Prediction(NamedTuple):
    """The entities of a batch of D docs.

    lengths (D,) int64: The number of tokens of each doc.
    entities: The new entities.
    confidences: Of each doc, how sure the model is of the new entities, and of those with labels of
        the component that are there already. None if nobody asked.
    """

    lengths: numpy.ndarray
    entities: Entities
    confidences: Optional[list[Confidences]]
