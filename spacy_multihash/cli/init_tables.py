"""`python -m spacy multihash init-tables`: count a corpus, and write the tables of MultiEmbed."""

from ..tables.init import init_tables
from ._util import command_of

init_tables_cli = command_of(
    init_tables,
    "Cannot make the tables",
    "config output",
    written={"output": "the tables"},
    settings={
        "config": {"exists": True, "dir_okay": False},
        "shards": {"exists": True},
        "component": {
            "help": "Component with a MultiEmbed. Repeat the option for several. Default: from "
            "[initialize.before_init], or tok2vec"
        },
    },
    needs={"workers": ["shards"], "dask": ["shards"]},
)
