"""What `fit` tells of a trained pipeline: tables, sentences and the page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Optional

from ..common.result import Table
from ..corpus.evaluation import Scores
from ..corpus.intervals import Interval
from ..corpus.statistics import CorpusStats, SplitStats
from .loop import History
from .scores import SplitScores
from .texts import TextMistakes

MEGA = 10**6
PARTS = "A spurious entity counts against both parts, so both can be lower than the total."
_TEXT_LENGTH = 300  # characters of a text to show
NEW_TEXTS = "new texts"
_PARTS = {"all": "", "seen": ", seen in train", "unseen": ", unseen"}


@dataclass(frozen=True)
class Arm:
    """A trained pipeline, with scores by split.

    settings (Mapping[str, str]): What it was trained with, by name, such as "static vectors".
    bytes (int): The size of its files.
    speed (float): Tokens per second, on this machine.
    """

    name: str
    settings: Mapping[str, str]
    scores: Mapping[str, SplitScores]
    history: History
    bytes: int
    speed: float


def best_split(scores: Mapping[str, SplitScores]) -> str:
    """Return the split whose score counts: test, or dev if there's no test."""
    return "test" if "test" in scores else "dev"


def percent(share: Optional[float]) -> str:
    """Format a score, 0 to 1, in percent."""
    return "-" if share is None else f"{100 * share:.1f}"


def score_rows(scores: Mapping[str, SplitScores]) -> Sequence[tuple[Any, ...]]:
    """List the scores of each split and part: name, gold, P, R, F1 and its interval."""
    rows = []
    for split, of_split in [*scores.items()][::-1]:
        parts = {f"{split}{_PARTS[part]}": of_part for part, of_part in of_split.parts.items()}
        if of_split.expected is not None and split == best_split(scores):
            parts = {NEW_TEXTS: of_split.expected, **parts}
        of_interval = split if of_split.expected is None else NEW_TEXTS
        for name, part in parts.items():
            interval = format_interval(of_split.interval) if name == of_interval else ""
            values = map(percent, (part.p, part.r, part.f))
            rows.append((name, part.entities, *values, interval))
    return rows


def format_interval(interval: Optional[Interval]) -> str:
    """Format an interval of scores, 0 to 1, in percent."""
    return " to ".join(map(percent, interval)) if interval else "-"


def headline(ours: Arm) -> dict[str, str]:
    """Return what people ask first: F1, size, speed and the time of training."""
    split = best_split(ours.scores)
    of_split = ours.scores[split]
    return {
        f"F1 on {NEW_TEXTS if of_split.expected else split}": f"{percent(of_split.best.f)} "
        f"({format_interval(of_split.interval)})",
        "size": f"{ours.bytes / MEGA:,.1f} MB",
        "speed": f"{ours.speed:,.0f} tokens/s",
        "training": duration(ours.history.seconds),
    }


def mistakes_table(mistakes: object, limit: int) -> Optional[Table]:
    """List texts with wrong labels: how sure the model is, predicted and gold labels, the text."""
    if not isinstance(mistakes, TextMistakes):
        return None
    rows = [
        (
            percent(each.confidence),
            *(", ".join(labels) or "-" for labels in (each.predicted, each.gold)),
            shorten(each.text, _TEXT_LENGTH, placeholder=" …"),
        )
        for each in mistakes.mistakes[:limit]
    ]
    return Table("Mistakes", ("sure, in %", "predicted", "gold", "text"), rows, "rlll")


def describe_training(what: str, history: History) -> str:
    """Say how a training went."""
    step, score = history.best
    stopped = ", and was interrupted" if history.interrupted else ""
    return (
        f"{what} {history.step:,} steps in {duration(history.seconds)}{stopped}: F1 "
        f"{percent(score)} on dev at step {step:,}"
    )


def duration(seconds: float) -> str:
    """Format a time, such as 1:05 min or 2:03:09 h."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02} h"
    return f"{minutes}:{rest:02} min" if minutes else f"{rest} s"


def about_scores(scores: Mapping[str, SplitScores], stats: CorpusStats) -> list[str]:
    """Say which texts the best score is for, and what its interval means."""
    split = best_split(scores)
    of_split = scores[split]
    number = f"{of_split.units:,} {of_split.unit}"
    kind = (
        "from other documents of the same kind as the corpus. Texts of another source or topic "
        "score lower"
    )
    if of_split.folds:
        lines = [
            f"The row {NEW_TEXTS} is for texts {kind}. It comes from {of_split.folds} more "
            "trainings, each scored on another fifth of the corpus, away from train."
        ]
    elif of_split.expected is not None:
        share = stats.repeats.distant_share if stats.repeats else None
        seen = stats.seen[split].seen_share
        lines = [
            f"The row {NEW_TEXTS} is for texts {kind}. It comes from {number} of {split}, whose "
            f"neighbours aren't in train. Train has {percent(seen)} % of its entities, and "
            f"{percent(share)} % of the entities of distant parts, and probably of new texts. "
            "So seen entities are weighted to that share."
        ]
    elif of_split.unit == "groups":
        lines = [
            f"{split} is for texts {kind}. It comes from {number} of texts that share names. The "
            "file doesn't show other texts of one document, so the score is too high for new texts "
            "if there are any."
        ]
    else:
        lines = [f"The scores are from {number}."]
    if not of_split.interval:
        pass
    elif of_split.unit in ("regions", "groups"):
        lines[0] += " The interval allows for other parts, and for another share of seen entities."
    else:
        lines[0] += (
            " If they were drawn at random, F1 on all texts that they were drawn from is in the "
            f"interval 19 times out of 20. F1 on another {number} varies as well, and is in it "
            "about 17 times out of 20."
        )
    if "seen" in of_split.parts:
        lines.append(
            "An entity is seen if train has an entity with the same text. The larger the gap "
            "between seen and unseen, the more the model relies on names instead of context. "
            f"{PARTS}"
        )
    if "test" not in scores:
        lines.append("The best step was chosen on dev, so new texts may score lower.")
    return lines


def scores_table(scores: Mapping[str, SplitScores]) -> Table:
    """Show the scores of each split and part."""
    what = "labels" if scores["dev"].unit == "texts" else "entities"
    header = ("", what, "precision", "recall", "F1", "95 % interval")
    return Table("Scores", header, score_rows(scores))


def labels_table(scores: Mapping[str, SplitScores], stats: CorpusStats) -> Table:
    """Show the labels, the frequent ones first: their counts in train, and their scores."""
    split = best_split(scores)
    per_label = scores[split].parts["all"].per_label
    in_train = Counter(labels_of(stats.splits["train"]))
    rows = []
    for label in sorted({*per_label, *in_train}, key=lambda name: (-in_train[name], name)):
        of_label = per_label.get(label, Scores(0))
        values = map(percent, (of_label.f, of_label.p, of_label.r))
        rows.append((label, *values, in_train[label], of_label.entities))
    return Table("Labels", ("", "F1", "precision", "recall", "in train", f"in {split}"), rows)


def labels_of(split: SplitStats) -> Mapping[str, int]:
    """Return the counts of a split's entity labels, or else of its text labels."""
    return split.labels or split.cats


def corpus_table(stats: CorpusStats) -> Table:
    """Show the size of each split, and the share of its entities that are in train."""
    what = ["entities", "% seen in train"] if stats.splits["train"].labels else ["labels"]
    rows = []
    for name, split in stats.splits.items():
        seen = stats.seen.get(name)
        share = percent(seen.seen_share) if seen else ""
        labelled = sum(labels_of(split).values())
        row = (name, split.docs, split.tokens, labelled, share)
        rows.append(row[: 3 + len(what)])
    return Table("Corpus", ("", "documents", "tokens", *what), rows)
