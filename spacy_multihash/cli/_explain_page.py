"""Explanations of entities as an HTML page that needs no script, and no colour to be read."""

from collections.abc import Sequence
from html import escape

from ..inspection.explain import Explanation
from ._show import signed, visible

# Of what speaks for an entity, and against it.
_FOR, _AGAINST = "0, 114, 178", "230, 159, 0"
# Tokens of the text that are shown on each side of those that were looked at.
AROUND = 300
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60em; margin: 2em auto;
       padding: 0 1em; }
h2 { margin-top: 2.5em; font-size: 1.2em; }
.text { white-space: pre-wrap; }
.token { display: inline-flex; flex-direction: column; align-items: center; margin: .1em 0;
         padding: .1em .3em; border-radius: .3em; border: 2px solid transparent; }
.own { border-color: #222; }
.number { font-size: .75em; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child { text-align: left; }
"""


def render_explanations(explanations: Sequence[Explanation]) -> bytes:
    """Render explanations as an HTML page.

    Letters beyond ASCII are written as references, which browsers read in any encoding.
    """
    sections = "".join(map(_section, explanations)) or "<p>No entities were found.</p>"
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Explained entities</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        "<h1>What made the model find these entities</h1>\n"
        "<p>The text is shown anew for each entity, which is framed. Below each token around it "
        "stands by how much the probability of the entity falls if the token is unknown. A blue "
        "token with + speaks for the entity, an orange one with - against it. The number "
        "farthest from 0 has the strongest colour. Tokens without a number were not looked at."
        f"</p>\n{sections}</body>\n</html>\n"
    )
    return page.encode("ascii", "xmlcharrefreplace")


def completeness_text(each: Explanation) -> str:
    """Say how much of the fall all tokens explain together."""
    verb = "rises" if signed(each.together).startswith("-") else "falls"
    text = (
        f"With all of these unknown, the probability {verb} by {abs(each.together):.3f}. The "
        f"tokens, unknown one at a time, add up to {signed(sum(each.by_token))}"
    )
    share = each.completeness
    return f"{text}." if share is None else f"{text}, {share:.0%} of it."


def _section(each: Explanation) -> str:
    numbers = [*each.by_token, *(value for row in each.by_feature for value in row)]
    scale = max(map(abs, numbers), default=0.0) or 1.0
    words = [escape(visible(word)) for word in each.words]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("token", *each.features, "all"))
    rows = "".join(
        f"<tr><th>{word}</th>"
        + "".join(f'<td style="{_colour(v, scale)}">{signed(v)}</td>' for v in (*row, of_token))
        + "</tr>\n"
        for word, row, of_token in zip(words, each.by_feature, each.by_token, strict=True)
    )
    found = "" if each.found else ", not found"
    return (
        f"<h2>{escape(each.text)}: {escape(each.label)}, "
        f"probability {each.probability:.3f}{found}</h2>\n"
        f'<p class="text">{_text(each, words, scale)}</p>\n'
        f'<div class="scroll"><table>\n<tr>{head}</tr>\n{rows}</table></div>\n'
        f"<p>{completeness_text(each)}</p>\n"
    )


def _text(each: Explanation, words: Sequence[str], scale: float) -> str:
    """Write the text of the doc, with the numbers of the tokens that were looked at.

    words (Sequence[str]): Their texts, escaped.
    """
    first, behind = each.tokens[0], each.tokens[-1] + 1
    before, after = each.texts[max(first - AROUND, 0) : first], each.texts[behind:][:AROUND]
    tokens = "".join(
        f'<span class="token{" own" if each.start <= token < each.end else ""}" '
        f'style="{_colour(value, scale)}">{word}'
        f'<span class="number">{signed(value)}</span></span>'
        f"{escape(each.texts[token].removeprefix(raw))}"
        for token, raw, word, value in zip(
            each.tokens, each.words, words, each.by_token, strict=True
        )
    )
    return (
        f"{'… ' if first > AROUND else ''}{escape(''.join(before))}{tokens}"
        f"{escape(''.join(after))}{'…' if len(each.texts) > behind + AROUND else ''}"
    )


def _colour(value: float, scale: float) -> str:
    return f"background: rgba({_FOR if value >= 0 else _AGAINST}, {0.7 * abs(value) / scale:.2f})"
