"""The group `multihash` of spaCy's command line, and its commands."""

from ._util import make_group
from .accelerate import accelerate_cli
from .calibrate import calibrate_cli
from .convert import convert_cli
from .corpus_stats import corpus_stats_cli
from .evaluate import evaluate_cli
from .explain import explain_cli
from .importance import importance_cli
from .init_config import init_config_cli
from .init_tables import init_tables_cli
from .inspect_rows import inspect_rows_cli
from .show import show_cli

multihash_cli = make_group()
multihash_cli.command("accelerate")(accelerate_cli)
multihash_cli.command("calibrate")(calibrate_cli)
multihash_cli.command("convert")(convert_cli)
multihash_cli.command("corpus-stats")(corpus_stats_cli)
multihash_cli.command("evaluate")(evaluate_cli)
multihash_cli.command("explain")(explain_cli)
multihash_cli.command("importance")(importance_cli)
multihash_cli.command("init-config")(init_config_cli)
multihash_cli.command(
    "init-tables",
    # Overrides of the config, such as --training.seed 1, are further arguments.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(init_tables_cli)
multihash_cli.command("inspect-rows")(inspect_rows_cli)
multihash_cli.command("show")(show_cli)

__all__ = ["multihash_cli"]
