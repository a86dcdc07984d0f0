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
from .scores import SplitScores, TextMistake
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
_PARTS = {"all": "", "seen": ", seen in train", "unseen": ", unseen"}


@dataclass(frozen=True)
class Arm:
    """A trained pipeline, with scores by split.

    bytes (int): The size of its files.
    speed (float): Tokens per second, on this machine.
    """

    name: str
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
    arms (Sequence[Arm]): Our pipeline, and maybe spaCy's, trained for as many steps.
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
            _about_scores(ours.scores),
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
        for part, of_part in of_split.parts.items():
            rows.append(
                (
                    f"{split}{_PARTS[part]}",
                    f"{of_part.entities:,}",
                    *(percent(value) for value in (of_part.p, of_part.r, of_part.f)),
                    _interval(of_split) if part == "all" else "",
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
        f"F1 on {split}": f"{percent(of_split.parts['all'].f)} ({_interval(of_split)})",
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


def _about_scores(scores: Mapping[str, SplitScores]) -> str:
    of_split = scores[best_split(scores)]
    others = f"{of_split.units:,} {of_split.unit}"
    text = f"With another {others} of the same kind, F1 would be different"
    text += ": 19 times out of 20, it would be in the interval." if of_split.interval else "."
    if "seen" in of_split.parts:
        text += (
            " An entity is seen if train has an entity with the same text. The larger the gap "
            "between seen and unseen, the more the model relies on names instead of context. "
            f"{PARTS}"
        )
    if "test" not in scores:
        text += " The best step was chosen on dev, so new texts may score lower."
    return text


COMPARISON_HEADER = ("", "F1", "95 % interval", "training", "MB", "tokens/s")


def comparison_rows(arms: Sequence[Arm]) -> Sequence[tuple[str, ...]]:
    """List the scores, times and sizes of pipelines."""
    rows = []
    for arm in arms:
        scores = arm.scores[best_split(arm.scores)]
        rows.append(
            (
                arm.name,
                percent(scores.parts["all"].f),
                _interval(scores),
                duration(arm.history.seconds),
                f"{arm.bytes / _MEGA:,.1f}",
                f"{arm.speed:,.0f}",
            )
        )
    return rows


def _comparison(arms: Sequence[Arm]) -> Html:
    return section(
        "Beside spaCy's own",
        html_table(COMPARISON_HEADER, comparison_rows(arms)),
        f"F1 is on {best_split(arms[0].scores)}. The baseline is spaCy's config for efficiency "
        "(spacy init config --optimize efficiency), trained on the same corpus for as many steps, "
        f"{arms[1].history.step:,}. Both keep the best step on dev. The speeds were measured in "
        "turns.",
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
