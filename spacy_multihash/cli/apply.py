"""`python -m spacy multihash apply`: apply a pipeline to a large corpus in shards."""

from ..scale.apply import apply
from ._util import command_of

apply_cli = command_of(
    apply,
    "Cannot apply the pipeline",
    "nlp data output",
)
