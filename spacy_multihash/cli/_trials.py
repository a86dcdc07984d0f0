"""The trials of `recommend`: options, progress and results on the terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from thinc.api import Config
from tqdm import tqdm

from ..inspection.halving import plan_rounds
from ..inspection.trials import Trials, run_trials
from ..inspection.variations import RECOMMENDED
from ._messages import msg
from ._show import show_table
from ._util import check_folder

DEFAULT_BUDGET = 30.0  # minutes
INTERRUPTED = 130  # what shells make of Ctrl-C


def check_trials(trials: int, budget: Optional[float], folder: Optional[Path]) -> Optional[float]:
    """Check the options of trials, and return the seconds for them, None without trials.

    Raises ValueError.
    """
    if trials < 0 or trials == 1:
        raise ValueError(
            f"Expected 2 or more candidates as --trials, or 0 for none, was: {trials}. One of them "
            "is the recommendation."
        )
    for name, value in (("--budget", budget), ("--trials-dir", folder)):
        if value is not None and not trials:
            raise ValueError(
                f"Expected {name} only beside --trials, which was not given. Add --trials 8, or "
                f"leave {name} out."
            )
    if budget is not None and not 0 < budget < float("inf"):
        raise ValueError(f"Expected minutes above 0 as --budget, was: {budget:g}. Give more.")
    return 60 * (DEFAULT_BUDGET if budget is None else budget) if trials else None


def trials_folder(folder: Optional[Path], output: Path) -> Path:
    """Return the folder of finished trials, beside the config if none is given.

    folder (Optional[Path]): The folder that was given.
    output (Path): The config to write.

    Raises ValueError if it cannot be made.
    """
    folder = folder or output.with_name(f"{output.stem}-trials")
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"Expected a folder as --trials-dir, was a file: {folder}. Give another --trials-dir."
        )
    check_folder(folder, "--trials-dir")
    return folder


def train_candidates(
    configs: Mapping[str, Config],
    train: Path,
    folder: Path,
    *,
    num_docs: int,
    digest: str,
    seconds: float,
) -> Trials:
    """Train candidates, with progress on stderr.

    configs (Mapping[str, Config]): The config of each candidate, the recommendation among them.
    num_docs (int): The documents of the training corpus. The other arguments are those of
        `run_trials`.

    Exits with 130 if it is interrupted. Finished trials stay in the folder.
    """
    rounds = plan_rounds(len(configs), num_docs)
    total = sum(each.candidates * each.steps for each in rounds)
    try:
        with tqdm(total=total, unit="step") as bar:

            def on_steps(steps: int, label: str) -> None:
                bar.set_description(label, refresh=False)
                bar.update(steps)

            found = run_trials(
                configs,
                RECOMMENDED,
                rounds,
                train,
                folder,
                digest=digest,
                seconds=seconds,
                on_steps=on_steps,
            )
    except KeyboardInterrupt:
        msg.fail(
            "Interrupted",
            f"Finished trials stay in {folder}. The same command goes on from there.",
            exits=INTERRUPTED,
        )
    return found


def show_trials(trials: Trials) -> None:
    """Print a table of trials, and what was left out of them."""
    names = sorted(
        trials.scores[0],
        key=lambda name: [each.get(name, -1.0) for each in reversed(trials.scores)],
        reverse=True,
    )
    header = ["candidate", *(f"round {i}" for i in range(1, len(trials.scores) + 1))]
    rows = [
        [name, *(f"{each[name]:.3f}" if name in each else "-" for each in trials.scores)]
        for name in names
    ]
    show_table("Trials, F1 on DEV", header, rows)
    for number, each in enumerate(trials.rounds, start=1):
        part = "all" if each.every == 1 else f"1 of {each.every} documents"
        msg.text(f"Round {number}: {each.steps:,} steps on {part} of TRAIN.")
    if trials.kept:
        msg.text(f"Trials finished by an earlier call: {trials.kept}.")
    if trials.outdated:
        msg.warn(
            f"Trained again, since the corpus, a setting or a version has changed: "
            f"{', '.join(trials.outdated)}"
        )
    if trials.left_out:
        number, of = len(trials.scores), len(trials.rounds)
        msg.warn(
            f"The budget ended in round {number} of {of}, without {', '.join(trials.left_out)}. "
            "Nothing was concluded. The same command, with --force, goes on from there."
        )
        if not trials.trained:
            msg.warn("Not one trial fitted into the budget. Give a larger --budget.")
