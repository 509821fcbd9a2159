"""``advmdp rm``, ``merge`` and ``gc``: look after a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from advmdp.cli import options as opt
from advmdp.display.counted import counted
from advmdp.errors import InvalidInput
from advmdp.plain_text import plain_text

MOST_NAMED = 20  # runs that are listed before they are removed


def remove(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Ids of runs, or the beginnings of them.")
    ] = None,
    learner: opt.LearnerFilter = None,
    mdp: opt.MDPFilter = None,
    losses: opt.LossesFilter = None,
    status: opt.StatusFilter = None,
    episodes: opt.EpisodesFilter = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them; without it, list them.")] = False,
    store: opt.StoreOption = opt.DEFAULT_STORE,
) -> None:
    """Remove runs from a store, by name or by the filters of 'ls'."""
    from advmdp.store import Store
    from advmdp.store.housekeeping import remove_runs
    from advmdp.store.selection import Selection

    there, selection = Store(store), Selection(learner, mdp, losses, status, episodes)
    if not runs and selection.is_everything:
        raise InvalidInput("rm: name runs, or choose them by --learner, --mdp, --losses, --status")
    named = {there.manifest(run)["run"] for run in runs or ()}
    chosen = [run for run in selection.of(there.runs())["run"] if not runs or run in named]
    if not yes:
        for run in chosen[:MOST_NAMED]:
            typer.echo(plain_text(run))
        typer.echo(f"{counted(len(chosen), 'run')} would be removed; to remove them, add --yes")
        return
    typer.echo(f"{counted(remove_runs(there, chosen), 'run')} removed")


def merge(
    others: Annotated[list[Path], typer.Argument(help="Stores to copy finished runs from.")],
    store: opt.StoreOption = opt.DEFAULT_STORE,
) -> None:
    """Copy the finished runs of other stores into one, which is created if it is missing."""
    from advmdp.store import Store
    from advmdp.store.housekeeping import merge_stores

    sources = [Store(other) for other in others]  # all of them, before anything is created
    there = Store(store, create=True)
    for source in sources:
        merged = merge_stores(there, source)
        typer.echo(
            plain_text(
                f"{source.path}: {counted(merged.added, 'run')} added, {merged.found:,} already "
                f"there, {merged.left_out:,} left out (not finished, or damaged)"
            )
        )


def collect(store: opt.StoreArgument = None, same: opt.SameStoreOption = None) -> None:
    """Remove damaged runs, abandoned drafts and what finished runs left behind."""
    from advmdp.store import Store
    from advmdp.store.housekeeping import collect_garbage

    typer.echo(f"{collect_garbage(Store(opt.store_of(store, same))):,} bytes freed")
