"""The callback that gives the layers of other packages our matrix products."""

from typing import Callable

from spacy.language import Language
from thinc.api import Model

from ..compute.matmul import use_product_ops


def make_use_product_ops_v1() -> Callable[[Language], Language]:
    """Make the callback for [nlp.after_pipeline_creation] that gives all layers our products.

    Our own layers use our matrix products anyway. Other layers, such as the parser's, use thinc's,
    which may be several times slower (docs/performance.md). Layers on a GPU stay as they are.
    """

    def set_ops(nlp: Language) -> Language:
        for _, pipe in nlp.components:
            model = getattr(pipe, "model", None)
            if isinstance(model, Model):
                use_product_ops(model)
        return nlp

    return set_ops
