"""`python -m spacy multihash compress`: make the files of a trained pipeline small."""

from ..pipelines.compress import compress
from ._util import REPLACE, command_of

compress_cli = command_of(
    compress,
    "Cannot compress the pipeline",
    "nlp output",
    written={"output": "the pipeline"},
    settings={
        "vectors": {"help": "Precision of static vectors"},
        "tables": {"help": "Precision of embedding tables"},
        "weights": {"help": "Precision of all other weights"},
        "data": {
            "help": "Corpus to compare predictions on: a .spacy, .jsonl or .txt file, or a folder"
        },
        "force": REPLACE,
    },
)
