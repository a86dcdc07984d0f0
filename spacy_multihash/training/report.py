"""The report of a fitted pipeline: one HTML page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Optional

from ..corpus.evaluation import Scores
from ..corpus.statistics import CorpusStats, SplitStats
from ..inspection.page import (
    Html,
    code_block,
    details,
    html_table,
    join,
    line_chart,
    render_page,
    section,
    share_bar,
    tag,
)
from .scores import SplitScores, TextMistake, difference_interval
from .training import History

_MEGA = 10**6
_ABOUT_MISTAKES = (
    "These are the mistakes on dev. Don't look at the mistakes on test: once you've corrected the "
    "corpus or the settings by them, the score on test is too high."
)
# Likely problems of a corpus, with details.
Warnings = Sequence[tuple[str, Sequence[str]]]
PARTS = (
    "An entity that the model made up counts against both parts, so both can be lower than the "
    "total."
)
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


def render_report(
    title: str,
    about: str,
    arms: Sequence[Arm],
    *,
    stats: CorpusStats,
    warnings: Warnings,
    reasons: Sequence[str],
    notes: Sequence[str],
    mistakes: Html,
    commands: Mapping[str, str],
) -> bytes:
    """Render the page.

    about (str): The versions, the settings and the language.
    arms (Sequence[Arm]): Our pipeline, and maybe spaCy's.
    warnings (Warnings): Likely problems of the corpus.
    reasons (Sequence[str]): The reasons for the settings.
    notes (Sequence[str]): Further steps, such as calibration.
    commands (Mapping[str, str]): Commands to run next, by their purpose.
    """
    ours = arms[0]
    return render_page(
        title,
        Html(tag("p", about, class_="soft")),
        _headline(ours),
        section(
            "Scores",
            html_table(SCORES_HEADER, score_rows(ours.scores)),
            *about_scores(ours.scores, stats),
        ),
        _comparison(arms) if len(arms) > 1 else "",
        section("Training", _curve(arms), *notes),
        section("Labels", labels_table(ours.scores, stats)),
        section("Corpus", html_table(*corpus_table(stats)), *map(_warning, warnings)),
        details("Why these settings", tag("ul", *(tag("li", reason) for reason in reasons))),
        section(
            "Go on",
            *(join(tag("p", what), code_block(command)) for what, command in commands.items()),
        ),
        section("Where it's wrong", _ABOUT_MISTAKES),
        mistakes,
    )


def render_text_mistakes(mistakes: Sequence[TextMistake], *, limit: int) -> Html:
    """Render the first texts with wrong labels, as a section of a page."""
    if not mistakes:
        return section("Mistakes", "There are no mistakes.")
    shown = mistakes[:limit]
    rows = [
        (
            percent(mistake.confidence),
            ", ".join(mistake.found) or "-",
            ", ".join(mistake.gold) or "-",
            shorten(mistake.text, _TEXT_LENGTH, placeholder=" …"),
        )
        for mistake in shown
    ]
    return section(
        "Mistakes",
        f"{len(mistakes):,} texts have wrong labels. The {len(shown):,} that the model is most "
        "confident of come first, with how sure it is in percent. Some may be mistakes of the "
        "annotation.",
        html_table(("sure", "found", "gold", "text"), rows, aligns="rlll"),
    )


def best_split(scores: Mapping[str, SplitScores]) -> str:
    """Return the split whose score counts: test, or dev if there's no test."""
    return "test" if "test" in scores else "dev"


def percent(share: Optional[float]) -> str:
    """Format a score, 0 to 1, in percent."""
    return "-" if share is None else f"{100 * share:.1f}"


def score_rows(scores: Mapping[str, SplitScores]) -> Sequence[tuple[str, ...]]:
    """List the scores of each split and part: name, gold, P, R, F1 and its interval."""
    rows = []
    for split, of_split in [*scores.items()][::-1]:
        parts = {f"{split}{_PARTS[part]}": of_part for part, of_part in of_split.parts.items()}
        if of_split.expected is not None and split == best_split(scores):
            parts = {NEW_TEXTS: of_split.expected, **parts}
        with_interval = split if of_split.expected is None else NEW_TEXTS
        for name, of_part in parts.items():
            rows.append(
                (
                    name,
                    f"{of_part.entities:,}",
                    *(percent(value) for value in (of_part.p, of_part.r, of_part.f)),
                    _interval(of_split) if name == with_interval else "",
                )
            )
    return rows


def _interval(scores: SplitScores) -> str:
    return " to ".join(map(percent, scores.interval)) if scores.interval else "-"


SCORES_HEADER = ("", "gold", "P", "R", "F1", "95 % interval")


def _headline(ours: Arm) -> Html:
    split = best_split(ours.scores)
    of_split = ours.scores[split]
    facts = {
        f"F1 on {NEW_TEXTS if of_split.expected else split}": f"{percent(of_split.best.f)} "
        f"({_interval(of_split)})",
        "size": f"{ours.bytes / _MEGA:,.1f} MB",
        "speed": f"{ours.speed:,.0f} tokens/s",
        "training": duration(ours.history.seconds),
    }
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items()]
    return tag("dl", *items, class_="facts")


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
            f"neighbours aren't in train. Still, train has {percent(seen)} % of its entities, but "
            f"only {percent(share)} % of the entities of distant parts, and probably of new texts. "
            "So seen entities are weighted to that share."
        ]
    elif of_split.unit == "groups":
        lines = [
            f"{split} is for texts {kind}. It comes from {number} of texts that share names. The "
            "file doesn't show other texts of one document, so the score is too high for new texts "
            "if there are any."
        ]
    else:
        lines = [f"The scores are those of {number}."]
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


def comparison_table(arms: Sequence[Arm]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return header and rows: a column for each pipeline, with its settings and its results."""
    settings = {name: [arm.settings[name] for arm in arms] for name in arms[0].settings}
    split = best_split(arms[0].scores)
    scores = [arm.scores[split] for arm in arms]
    rows = {
        **settings,
        "training steps": [f"{arm.history.step:,}" for arm in arms],
        "training": [duration(arm.history.seconds) for arm in arms],
        f"F1 on {split}": [percent(of_arm.parts["all"].f) for of_arm in scores],
        "MB": [f"{arm.bytes / _MEGA:,.1f}" for arm in arms],
        "tokens/s": [f"{arm.speed:,.0f}" for arm in arms],
    }
    return ("", *(arm.name for arm in arms)), [[name, *values] for name, values in rows.items()]


def describe_difference(arms: Sequence[Arm]) -> str:
    """Say by how much F1 differs, with its interval, and whether that's a win."""
    split = best_split(arms[0].scores)
    ours, theirs = (arm.scores[split] for arm in arms)
    points = 100 * ((ours.parts["all"].f or 0) - (theirs.parts["all"].f or 0))
    interval = difference_interval(ours.counts, theirs.counts)
    if interval is None:
        return f"F1 of ours minus spaCy's: {points:+.1f} points. There's no interval, so no win."
    low, high = (100 * bound for bound in interval)
    verdict = "no win, as the interval contains 0"
    if low > 0:
        verdict = "a win for ours"
    elif high < 0:
        verdict = "a win for spaCy's"
    return (
        f"F1 of ours minus spaCy's: {points:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f} "
        f"(both on the same samples of {ours.units:,} {ours.unit} of {split}). That's {verdict}. "
        "With another --seed, both trainings differ."
    )


def _comparison(arms: Sequence[Arm]) -> Html:
    return section(
        "Beside spaCy's own",
        html_table(*comparison_table(arms)),
        describe_difference(arms),
        "spaCy's is the config that spacy init config writes, with the same static vectors, and "
        "trained with its own patience. Both keep the best step on dev. The speeds were measured "
        "in turns.",
    )


def _curve(arms: Sequence[Arm]) -> Html:
    series = {arm.name: [(step, 100 * score) for step, score in arm.history.curve] for arm in arms}
    step, score = arms[0].history.best
    return line_chart(
        series,
        x_label="steps",
        description=f"F1 on dev by step of training. The best is {percent(score)}, at step "
        f"{step:,} of {arms[0].history.step:,}.",
    )


def labels_table(scores: Mapping[str, SplitScores], stats: CorpusStats) -> Html:
    """Make a table of the labels: their counts in train, and their scores."""
    split = best_split(scores)
    per_label = scores[split].parts["all"].per_label
    in_train = Counter(labels_of(stats.splits["train"]))
    rows = []
    for label in sorted({*per_label, *in_train}, key=lambda name: (-in_train[name], name)):
        of_label = per_label.get(label, Scores(0))
        values = (percent(value) for value in (of_label.p, of_label.r, of_label.f))
        rows.append(
            (
                label,
                f"{in_train[label]:,}",
                f"{of_label.entities:,}",
                *values,
                share_bar(of_label.f or 0),
            )
        )
    header = ("", "in train", f"in {split}", "P", "R", "F1", "")
    return html_table(header, rows)


def labels_of(split: SplitStats) -> Mapping[str, int]:
    """Return the counts of a split's entity labels, or else of its text labels."""
    return split.labels or split.cats


def corpus_table(stats: CorpusStats) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return header and rows: the size of each split, and the share of entities seen in train."""
    what = "entities" if stats.splits["train"].labels else "labels"
    rows = []
    for name, split in stats.splits.items():
        seen = stats.seen.get(name)
        share = percent(seen.seen_share) if seen and split.labels else ""
        labelled = sum(labels_of(split).values())
        rows.append((name, f"{split.docs:,}", f"{split.tokens:,}", f"{labelled:,}", share))
    return ("", "documents", "tokens", what, "% seen in train"), rows


def _warning(warning: tuple[str, Sequence[str]]) -> Html:
    title, lines = warning
    parts = [tag("p", title), *(tag("p", line, class_="soft") for line in lines)]
    return tag("div", *parts, class_="warn")
