"""The command line of the experiments: python -m experiments COMMAND, from the project's root."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Optional

import typer
from spacy.cli._util import parse_config_overrides
from tqdm import tqdm
from wasabi import msg, table

from experiments.corpora.convert import convert_cli
from experiments.corpora.cut import cut_cli
from experiments.corpora.sample import make_sample_cli
from experiments.corpora.topics import make_topics_cli
from experiments.results import OWN, RESULTS, RUNS
from spacy_multihash.common.files import write_bytes

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
app.command("make-sample")(make_sample_cli)
app.command("make-topics")(make_topics_cli)
app.command("convert")(convert_cli)
app.command("cut")(cut_cli)

Results = Annotated[Path, typer.Option(help="The folder of results")]
Own = Annotated[Path, typer.Option(help="The folder of your results, where new runs are added")]
NoTest = Annotated[bool, typer.Option("--no-test", help="Only score dev")]


@app.callback()
def experiments_cli() -> None:
    """Make corpora, run experiments, and make the tables and figures of results/.

    DOCS: results/README.md
    """


@app.command("run", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_cli(
    context: typer.Context,
    arm: Annotated[str, typer.Argument(help="An arm, or a config")],
    corpus: Annotated[Path, typer.Argument(help="Folder with train, dev and test.spacy")],
    seed: Annotated[int, typer.Option(help="Seed of weights and batches")] = 0,
    vectors: Annotated[str, typer.Option(help="Static vectors: a path, or a package")] = "",
    lang: Annotated[str, typer.Option(help="The language's code in spaCy")] = "",
    name: Annotated[str, typer.Option(help="The arm's name in the results")] = "",
    no_test: NoTest = False,
    again: Annotated[bool, typer.Option("--again", help="Train a run that has results")] = False,
    results: Own = OWN,
) -> None:
    """Train an arm on a corpus, score it, add it to your results, and compare it.

    Its scores are printed beside the paper's and those of results/, if these have its settings.
    You can change settings of the config, as in `spacy train`: --training.dropout 0.2 --name NAME.
    If your results have the run, they are read, and nothing is trained. If it lacks test scores,
    its model is scored on test.
    """
    from experiments.paper import HEADER, compare
    from experiments.runs import Run, find_row, is_done, train_and_score

    try:
        overrides = parse_config_overrides(context.args, env_var=None)
        if overrides and not name:
            raise ValueError("Settings are changed: give the arm another name with --name.")
        run = Run(corpus, arm, seed, vectors, lang, name, overrides)
        earlier = None if again else find_row(run, results)
        row = train_and_score(run, test=not no_test, results=results, again=again)
    except (ImportError, KeyError, OSError, ValueError) as error:
        msg.fail(f"Could not run {arm} on {corpus}", str(error), exits=1)
    scores = {key: row.get(key) for key in ("dev_f", "test_f", "dev_accuracy", "test_accuracy")}
    shown = ", ".join(f"{key} {float(value):.4f}" for key, value in scores.items() if value)
    if not overrides and (lines := compare(row, arm)):
        typer.echo(table(lines, header=HEADER, divider=True, max_col=80))
    if earlier is None:
        msg.good(f"Trained {run.folder}: {shown}")
        return
    what = "Nothing was trained: read" if is_done(earlier, test=not no_test) else "Scored test of"
    msg.info(
        f"{what} the run of {earlier['date']} in {results / RUNS}: {shown}",
        "To train it, add --again.",
    )


@app.command("config")
def config_cli(
    arm: Annotated[str, typer.Argument(help="An arm")],
    output: Annotated[Path, typer.Argument(help="The file to write, or - for the terminal")] = Path(
        "-"
    ),
    corpus: Annotated[
        Optional[Path],
        typer.Option(help="Folder with train and dev.spacy, to set paths, language and rows"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights and batches")] = 0,
    vectors: Annotated[str, typer.Option(help="Static vectors: a path, or a package")] = "",
    lang: Annotated[str, typer.Option(help="The language's code in spaCy")] = "",
) -> None:
    """Write the config of an arm, which `spacy train` takes."""
    from experiments.arms import configure, find_arm
    from experiments.configs import config_text

    try:
        text = config_text(configure(find_arm(arm), corpus, seed, vectors, lang))
        if output == Path("-"):
            typer.echo(text, nl=False)
            return
        output.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(output, text.encode("utf8"))
    except (KeyError, OSError, ValueError) as error:
        msg.fail(f"Could not write the config of {arm}", str(error), exits=1)
    msg.good(f"Wrote {output}. To train it: python -m spacy train {output} --output training")


@app.command("configs")
def configs_cli() -> None:
    """Write configs/report and configs/ablations from the arms."""
    from experiments.configs import SOURCES, write_configs

    changed = write_configs()
    msg.good(f"Wrote {len(SOURCES)} configs, {len(changed)} of them new")


@app.command("grid")
def grid_cli(
    arm: Annotated[Optional[list[str]], typer.Option(help="An arm, or a config")] = None,
    corpus: Annotated[
        Optional[list[str]], typer.Option(help="Folder of a corpus, or FOLDER=LANGUAGE")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0")] = 3,
    vectors: Annotated[str, typer.Option(help="Static vectors: a path, or a package")] = "",
    no_test: NoTest = False,
    workers: Annotated[int, typer.Option(help="How many runs go on at once")] = 1,
    minutes: Annotated[float, typer.Option(help="The time in which runs are started")] = 1e6,
    results: Own = OWN,
    dry: Annotated[bool, typer.Option("--list", help="List missing runs, and run nothing")] = (
        False
    ),
) -> None:
    """Run all given arms on all given corpora, unless your results have them.

    You can repeat --arm and --corpus. Without --arm, it repeats the runs of the project's results
    (results/runs.csv) on the corpora in corpus/. It can be interrupted, and goes on.
    """
    from experiments.arms import is_arm
    from experiments.results import read_rows
    from experiments.runs import Run, missing, run_grid

    if arm:
        places = [folder.partition("=") for folder in corpus or []]
        runs = [
            Run(Path(folder), each, seed, vectors, lang)
            for seed in range(seeds)
            for folder, _, lang in places
            for each in arm
        ]
    else:
        runs = [
            Run(Path("corpus") / dataset, name, seed)
            for seed in range(seeds)
            for dataset, name in sorted({(row["dataset"], row["arm"]) for row in read_rows()})
            if (Path("corpus") / dataset).is_dir() and is_arm(name)
        ]
    todo = missing(runs, test=not no_test, results=results)
    if dry:
        for run in todo:
            typer.echo(run.folder)
        return
    if find_spec("threadpoolctl") is None:
        msg.fail("A grid needs threadpoolctl: python -m pip install threadpoolctl", exits=1)
    errors = trained = 0
    with tqdm(total=len(todo), unit="run", disable=None) as bar:
        ended = run_grid(todo, workers, test=not no_test, results=results, minutes=minutes)
        for run, error in ended:
            bar.update()
            if error:
                errors += 1
                bar.write(f"failed  {run.folder}  {error}")
            else:
                trained += 1
    left = len(todo) - trained
    msg.good(
        f"{trained} of {len(runs)} runs were done now, {len(runs) - len(todo)} are read from "
        f"{results / RUNS}, {left} are left"
    )
    if errors:
        msg.fail(f"{errors} runs failed", exits=1)


@app.command("merge")
def merge_cli(
    source: Annotated[Path, typer.Argument(help="A folder of results, of another machine")],
    results: Results = RESULTS,
) -> None:
    """Add the runs of another folder of results: its runs.csv and counts.npz.

    Runs that are in both folders are replaced.
    """
    from experiments.results import merge_runs

    try:
        number = merge_runs(source, results)
    except (OSError, ValueError) as error:
        msg.fail(f"Could not merge {source}", str(error), exits=1)
    msg.good(f"{number} runs are new or other")


@app.command("new-texts")
def new_texts_cli(
    assets: Annotated[Path, typer.Argument(help="Folder of the published files")],
    learner: Annotated[str, typer.Option(help="fit, or crf as a quick stand-in")] = "fit",
    size: Annotated[Optional[list[int]], typer.Option(help="Sentences of a place")] = None,
    minutes: Annotated[float, typer.Option(help="The time in which runs are started")] = 1e6,
    results: Results = Path("results"),
) -> None:
    """Compare the score of fit with F1 on corpora's own test sets. It can be interrupted."""
    from experiments.new_texts import RESULTS, SIZES, run_all

    number = run_all(assets, results / RESULTS, learner, size or SIZES, minutes)
    msg.good(f"Added {number} runs to {results / RESULTS}")


@app.command("estimate")
def estimate_cli(
    assets: Annotated[Path, typer.Argument(help="Folder of the published files")],
    models: Annotated[Path, typer.Option(help="Folder of the trained models")] = OWN / "estimate",
    minutes: Annotated[float, typer.Option(help="The time in which runs are started")] = 1e6,
    results: Results = RESULTS,
) -> None:
    """Compare scores estimated without gold with the truth. It can be interrupted."""
    from experiments.estimate import RESULTS, run_all

    number = run_all(assets, models, results / RESULTS, minutes)
    msg.good(f"Added {number} rows to {results / RESULTS}")


@app.command("annotate")
def annotate_cli(
    assets: Annotated[Path, typer.Argument(help="Folder of the published files")],
    minutes: Annotated[float, typer.Option(help="The time in which simulations are started")] = 1e6,
    results: Results = RESULTS,
) -> None:
    """Simulate annotation in rounds: texts chosen by estimate --next, against random ones."""
    from experiments.annotate import RESULTS, run_all

    number = run_all(assets, results / RESULTS, minutes)
    msg.good(f"Added {number} simulations to {results / RESULTS}")


@app.command("collate")
def collate_cli(results: Results = RESULTS, docs: Path = Path("docs")) -> None:
    """Make the tables of results/tables and the figures of docs/figures from results/.

    In docs/results.md, the block between <!-- begin: NAME 1 --> and <!-- end: NAME 1 --> gets the
    first table of that name.
    """
    from experiments.collate import collate

    try:
        changed = collate(results, docs)
    except ImportError as error:
        msg.fail(f"{error}. Install what it needs: python -m pip install -e '.[plots]'", exits=1)
    msg.good(f"Made all tables and figures, {len(changed)} of them new")


if __name__ == "__main__":
    app(prog_name="python -m experiments")
