"""The command line of the experiments: python -m experiments COMMAND, from the project's root."""

import typer

from spacy_multihash.common.lazy_commands import LazyCommand, lazy_group

# The module of each command, and its summary. Only the module of the called command is imported,
# since each of them needs other packages.
_MODULES = {
    "make-sample": ("corpora.sample", "Make the sample corpus for entity recognition."),
    "make-topics": ("corpora.topics", "Make the sample corpus for text classification."),
    "convert": ("corpora.convert", "Convert a published corpus for entity recognition."),
    "convert-textcat": (
        "corpora.convert_textcat",
        "Convert AG News, a published corpus for text classification.",
    ),
    "make-configs": ("arms.configs", "Make every config in configs/."),
    "make-vectors": (
        "runs.make_vectors",
        "Make the tables and pretrained weights of experiments on vectors.",
    ),
    "run-grid": ("runs.run", "Run the experiments that have no results yet."),
    "run-one": ("runs.one", "Train and evaluate one run."),
    "halve": ("runs.halve", "Choose a recipe among candidates, by successive halving."),
    "compare-recommended": (
        "runs.recommended",
        "Compare what recommend writes for each corpus with the recipe.",
    ),
    "crf": ("runs.crf", "Train and evaluate the baseline, a CRF with handmade features."),
    "calibration": ("runs.calibration", "Measure how true the probabilities of entities are."),
    "candidates": ("runs.candidates", "Count entities below the best, for several thresholds."),
    "compare-ner": ("runs.compare_ner", "Compare the entities of batch_ner with those of ner."),
    "show-run": ("runs.show", "Show the scores of a run, and how to use its pipeline."),
    "collate": ("collate", "Make the tables and figures of docs/."),
}
COMMANDS = {
    name: LazyCommand(f"experiments.{module}", summary)
    for name, (module, summary) in _MODULES.items()
}


app = typer.Typer(
    cls=lazy_group(COMMANDS), add_completion=False, no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def experiments_cli() -> None:
    """Make corpora, run experiments, and make the tables and figures of docs/.

    DOCS: docs/results.md
    """


if __name__ == "__main__":
    app(prog_name="python -m experiments")
