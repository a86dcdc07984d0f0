"""`python -m spacy multihash fit`: from a corpus to a trained pipeline and a report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import spacy
import typer
from tqdm import tqdm

from ..training.fit import check_output, fit_plan, plan_fit
from ..training.options import Options
from ._util import GPU_ID, command, msg, parse_overrides, show, with_options

BAR = "{desc} {bar} {n_fmt} of {total_fmt}, {remaining} left{postfix}"


class Bar(tqdm):
    """A bar in a terminal, and lines in the log of a server."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401
        """Make the bar."""
        super().__init__(
            *args, **settings, bar_format=BAR, leave=False, disable=None, smoothing=0.1
        )
        self.settings = settings

    def __iter__(self) -> Iterator[Any]:
        """Yield the items, which a log has a line of each, but not of each step of training."""
        if not self.disable or "total" in self.settings:
            yield from super().__iter__()
            return
        items = list(self.iterable)
        for i, item in enumerate(items, 1):
            typer.echo(f"{self.settings['desc']}: {i} of {len(items)}", err=True)
            yield item

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:  # noqa: FBT001, FBT002
        """Show the score."""
        if self.disable:
            typer.echo(s, err=True)
        else:
            super().set_postfix_str(s, refresh)


@command(
    "Cannot fit a pipeline to {data}",
    excludes={"cross_validate": ["dev", "test", "textcat"], "max_size": ["textcat"]},
)
@with_options(Options)
def fit_cli(
    ctx: typer.Context,
    data: Path = typer.Argument(
        ..., help="Corpus: a .spacy file, or a file that convert reads", exists=True
    ),
    dev: Optional[Path] = typer.Option(
        None, help="Corpus to choose the best step on. Default: a part of DATA", exists=True
    ),
    test: Optional[Path] = typer.Option(
        None,
        help="Corpus to score at the end. Default: a part of DATA, or none with --dev",
        exists=True,
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False),
    force: bool = typer.Option(False, "--force", "-f", help="Replace an earlier run at OUTPUT"),
    gpu_id: int = GPU_ID,
    **options: Any,  # noqa: ANN401
) -> None:
    """Train a pipeline on your own corpus, and report how good it is.

    Converts and splits DATA, points out what looks wrong in it, chooses settings, trains, scores
    on dev and test, and calibrates. OUTPUT gets the pipeline (model), its config.cfg, the corpus,
    scores.json, and report.html, which opens in any browser.

    Ctrl-C ends training, and goes on with the best model so far. To override settings of the
    config, add them, as in --training.max_steps 1000.
    """
    if gpu_id >= 0:
        spacy.require_gpu(gpu_id)
    check_output(output, [path for path in (data, dev, test) if path is not None], force=force)
    plan = plan_fit(data, dev, test, settings=parse_overrides(ctx), **options)
    show(plan)
    fitted = fit_plan(plan, output=output, progress=Bar)
    show(fitted)
    if fitted.wheel is not None:
        msg.good(f"Built {fitted.wheel}")
    msg.good(f"Wrote {output / 'report.html'}, and the pipeline to {output / 'model'}")
    msg.commands("Go on with:", *fitted.next_commands().values())
