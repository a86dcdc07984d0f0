"""The tables of `explain` on the terminal."""

from collections.abc import Sequence
from typing import Optional

from ..inspection.explain import EVERYWHERE, Effect, Explanation
from ._explain_page import completeness_text
from ._messages import msg
from ._show import show_table, signed, visible


def show_explanations(explanations: Sequence[Explanation]) -> None:
    """Print a table for each entity."""
    if not explanations:
        msg.warn("No entities were found", "Name one to explain: --span TEXT=LABEL")
    for each in explanations:
        found = "" if each.found else ", not found"
        rows = [
            (
                f"[{word}]" if each.start <= token < each.end else word,
                *map(signed, by),
                signed(of),
            )
            for token, word, by, of in zip(
                each.tokens, map(visible, each.words), each.by_feature, each.by_token, strict=True
            )
        ]
        show_table(
            f"{visible(each.text)}, {each.label}: {each.probability:.3f}{found}",
            ("token", *each.features, "all"),
            rows,
            aligns="L",
        )
        msg.text(completeness_text(each))
    if explanations:
        msg.text(
            "Numbers are by how much the probability of the entity falls if the feature of the "
            "token is unknown. Those in brackets are the entity's own tokens."
        )


def show_effects(effects: Sequence[Effect]) -> None:
    """Print a table of features, by label and part."""
    rows: dict[tuple[Optional[str], str, str], dict[str, str]] = {}
    for each in effects:
        row = rows.setdefault((each.label, each.part, each.feature), {"n": f"{each.entities:,}"})
        error = "-" if each.error is None else f"{each.error:.3f}"
        row[each.where] = f"{signed(each.mean)} ± {error}"
    show_table(
        "By how much the probability of gold entities falls",
        ("label", "entities", "number", "unknown feature", "everywhere", "in the entity"),
        [
            (label or "all", part, row["n"], feature, row[EVERYWHERE], row["in the entity"])
            for (label, part, feature), row in rows.items()
        ],
        aligns="llrlrr",
    )
    msg.text("Each mean stands with its standard error, which one entity does not have.")
