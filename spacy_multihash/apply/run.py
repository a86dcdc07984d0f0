"""Shards that are done on workers, and what came of them."""

import sys
from functools import partial
from typing import NamedTuple

from tqdm import tqdm

from ..cluster.workers import ItemError, Workers
from .shard import Application, Applied, Shard, apply_shard


class Plan(NamedTuple):
    """What is to be done.

    application: What is done with each shard.
    todo: The shards that are to be done.
    before: The number of shards that were done before.
    """

    application: Application
    todo: list[Shard]
    before: int


class Result(NamedTuple):
    """What came of a corpus.

    before: The number of shards that were done before.
    done: What each shard gave that was done now.
    errors: Those of the shards that failed.
    """

    before: int
    done: list[Applied]
    errors: list[ItemError]


def apply_on(workers: Workers, plan: Plan) -> Result:
    """Write what a pipeline finds, on workers that are open.

    Raises OSError if the disk is full, and what `Workers.imap` raises.
    """
    result = Result(plan.before, [], [])
    total = plan.before + len(plan.todo)
    with tqdm(total=total, initial=plan.before, unit=" shards", disable=None) as bar:

        def note(error: ItemError) -> None:
            result.errors.append(error)
            bar.write(str(error), file=sys.stderr)
            bar.update()

        for i, applied in workers.imap(
            partial(apply_shard, plan.application),
            plan.todo,
            names=[str(shard.source) for shard in plan.todo],
            on_error=note,
        ):
            if isinstance(applied, OSError):
                raise OSError(
                    f"{plan.todo[i].source} failed: {applied}. {len(result.done):,} shards were "
                    "written. Make room, and start the command again: it goes on there."
                ) from applied
            result.done.append(applied)
            bar.update()
    return result
