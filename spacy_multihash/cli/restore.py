"""`python -m spacy multihash restore`: turn a pipeline into one that needs spaCy alone."""

from ..pipelines.restore import restore
from ._util import REPLACE, command_of

restore_cli = command_of(
    restore,
    "Cannot restore the pipeline",
    "nlp output",
    written={"output": "the pipeline"},
    settings={"output": {"help": "Folder to write"}, "force": REPLACE},
)
