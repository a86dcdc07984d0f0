"""Explanations of entities as HTML."""

from collections.abc import Iterator, Sequence
from html import escape

from .explain import Explanation
from .page import Html, html_table, join, render_page, tag

# The colours of effects for and against an entity.
_FOR, _AGAINST = "0, 114, 178", "230, 159, 0"
# How many tokens to show on each side of the explained tokens.
TOKENS_AROUND = 300
_STYLE = Html("""<style>
.text { white-space: pre-wrap; }
.token { display: inline-flex; flex-direction: column; align-items: center; margin: .1em 0;
  padding: .1em .3em; border-radius: .3em; border: 2px solid transparent; }
.own { border-color: currentColor; }
.token span { font-size: .75em; font-variant-numeric: tabular-nums; }
</style>""")


def signed(value: float, digits: int) -> str:
    """Format a number with its sign, or without sign if it's rounded to 0."""
    return f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def visible(word: str) -> str:
    """Return a word as it is, or its repr if it's blank or not printable."""
    return word if word.strip() and word.isprintable() else repr(word)


def render_explanations(explanations: Sequence[Explanation]) -> bytes:
    """Render explanations as an HTML page."""
    return render_page(
        "What made the model find these entities",
        _STYLE,
        "The text is shown once per entity, with the entity framed. The number below a token is by "
        "how much the log-odds of the entity fall if the token is unknown: blue tokens (+) speak "
        "for the entity, orange tokens (-) against it. The strongest colour has the number "
        "farthest from 0. Tokens without a number were not looked at.",
        *(map(_section, explanations) if explanations else ["No entities were found."]),
    )


def completeness_text(each: Explanation) -> str:
    """Say how much of the fall of log-odds all tokens explain together."""
    verb = "rise" if signed(each.together, 2).startswith("-") else "fall"
    text = (
        f"With all of these unknown, the log-odds {verb} by {abs(each.together):.2f}. The tokens, "
        f"unknown one at a time, add up to {signed(sum(each.by_token), 2)}"
    )
    share = each.completeness
    return f"{text}." if share is None else f"{text}, {share:.0%} of it."


def token_effects(each: Explanation) -> Iterator[tuple[str, list[float]]]:
    """Yield each token, the entity's in brackets, and its effects: by feature, and of all."""
    columns = (each.tokens, each.words, each.by_feature, each.by_token)
    for token, word, by_feature, of_token in zip(*columns, strict=True):
        name = f"[{visible(word)}]" if each.start <= token < each.end else visible(word)
        yield name, [*by_feature, of_token]


def explanation_table(each: Explanation) -> Html:
    """Make a table of tokens and features, coloured by their effects."""
    scale = _scale(each)

    def cell(value: float) -> Html:
        return Html(f'<span style="{_colour(value, scale)}">{signed(value, 2)}</span>')

    rows = [[name, *map(cell, values)] for name, values in token_effects(each)]
    return html_table(["token", *each.features, "all"], rows)


def _section(each: Explanation) -> Html:
    found = "" if each.found else ", not found"
    title = (
        f"{each.text}: {each.label}, probability {each.probability:.3f} (log-odds "
        f"{signed(each.log_odds, 2)}){found}"
    )
    return join(
        tag("h2", title),
        tag("p", _text_of(each), class_="text"),
        explanation_table(each),
        tag("p", completeness_text(each)),
    )


def _text_of(each: Explanation) -> Html:
    """Write the text of the doc, with the numbers of the explained tokens."""
    scale, first, behind = _scale(each), each.tokens[0], each.tokens[-1] + 1
    before = each.texts[max(first - TOKENS_AROUND, 0) : first]
    after = each.texts[behind:][:TOKENS_AROUND]
    tokens = [
        Html(
            f'<span class="token{" own" if each.start <= token < each.end else ""}" '
            f'style="{_colour(value, scale)}">{escape(visible(word))}'
            f"<span>{signed(value, 2)}</span></span>"
            f"{escape(each.texts[token].removeprefix(word))}"
        )
        for token, word, value in zip(each.tokens, each.words, each.by_token, strict=True)
    ]
    more_before, more_after = first > TOKENS_AROUND, len(each.texts) > behind + TOKENS_AROUND
    return join("… " * more_before, "".join(before), *tokens, "".join(after), "…" * more_after)


def _scale(each: Explanation) -> float:
    numbers = [*each.by_token, *(value for row in each.by_feature for value in row)]
    return max(map(abs, numbers), default=0.0) or 1.0


def _colour(value: float, scale: float) -> str:
    return f"background:rgba({_FOR if value >= 0 else _AGAINST},{0.6 * abs(value) / scale:.2f})"
