"""HTML by jinja2's templates, in spacy_multihash/templates.

All values are escaped; only what a template or `markup` made is HTML. Pages load nothing from
elsewhere and run no scripts, whatever a corpus contains.
"""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> Markup:  # noqa: ANN401 (whatever a template shows)
    """Fill in a template, such as "page.html". A page is HTML, and isn't escaped again."""
    text = _ENVIRONMENT.get_template(template).render(values)
    # A lone surrogate, as in broken input, has no UTF-8.
    return Markup(text.encode("utf8", "xmlcharrefreplace").decode("utf8"))


def in_notebook(page: str) -> Markup:
    """Put a page into a frame, so that its style doesn't change the notebook that shows it."""
    return Markup(
        '<iframe srcdoc="{}" sandbox style="border:0;height:40rem;width:100%"></iframe>'
    ).format(str(page))
