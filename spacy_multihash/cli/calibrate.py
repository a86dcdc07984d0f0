"""`python -m spacy multihash calibrate`: correct a recognizer's probabilities."""

from ..ner.calibration import calibrate
from ._util import command_of

calibrate_cli = command_of(
    calibrate,
    "Cannot calibrate the pipeline",
    "nlp data output",
    written={"output": "the pipeline", "plot": "the reliability diagram"},
    settings={
        "data": {"help": "Dev corpus: a .spacy file, or a folder"},
        "output": {"help": "Folder to write"},
        "force": {"help": "Replace OUTPUT and PLOT if they exist"},
    },
)
