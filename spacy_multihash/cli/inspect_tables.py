"""`python -m spacy multihash inspect-tables`: the size of tables, and how a corpus fills them."""

from ..inspection.tables import inspect_tables
from ._util import command_of

inspect_tables_cli = command_of(
    inspect_tables,
    "Cannot inspect the tables",
    "nlp",
    settings={"data": {"help": "Corpus to count values in: a file, or a folder of shards"}},
    page=True,
)
