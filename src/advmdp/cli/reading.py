"""``advmdp ls``, ``show`` and ``export``: look at what a store holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from advmdp.cli import options as opt
from advmdp.errors import InvalidInput, StorageFailure
from advmdp.plain_text import plain_text


def list_runs(
    store: opt.StoreArgument = None,
    learner: opt.LearnerFilter = None,
    mdp: opt.MDPFilter = None,
    losses: opt.LossesFilter = None,
    status: opt.StatusFilter = None,
    episodes: opt.EpisodesFilter = None,
    totals: Annotated[
        bool, typer.Option("--totals", help="Numbers of runs, episodes and hours alone.")
    ] = False,
    as_json: opt.JSONOption = False,
    same: opt.SameStoreOption = None,
) -> None:
    """List the runs of a store, or some of them."""
    from advmdp.cli.terminal.listing import runs_lines, totals_lines
    from advmdp.store import Store
    from advmdp.store.progress.under_way import positions
    from advmdp.store.selection import Selection

    there = Store(opt.store_of(store, same))
    frame = Selection(learner, mdp, losses, status, episodes).of(there.runs())
    if totals:
        typer.echo("\n".join(totals_lines(frame, positions(there, frame))))
        return
    if as_json:
        for row in frame.iter_rows(named=True):
            typer.echo(json.dumps(row))
        return
    typer.echo("\n".join(runs_lines(frame, positions(there, frame))))


def show(
    run: Annotated[str, typer.Argument(help="Id of a run, or the beginning of it.")],
    store: opt.StoreOption = opt.DEFAULT_STORE,
    as_json: opt.JSONOption = False,
) -> None:
    """Show one run: its spec, its figures, where and when it was played."""
    from rich.console import Console

    from advmdp.cli.terminal.listing import run_page
    from advmdp.store import Store

    there = Store(store)
    manifest = there.manifest(run)
    if as_json:
        typer.echo(json.dumps(manifest))
        return
    console = Console(highlight=False)
    for part in run_page(manifest, there.curves([manifest["run"]])):
        console.print(part)


def export(
    store: Annotated[
        Path | None, typer.Argument(help="The folder that keeps the runs; without -o, the file.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the file goes: .csv or .parquet.")
    ] = None,
    same: opt.SameStoreOption = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV, whatever the name ends in.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Parquet, likewise.")] = False,
    runs: Annotated[
        bool, typer.Option("--runs", help="One row per run, instead of one per checkpoint.")
    ] = False,
) -> None:
    """Write the curves of all finished runs (or a row per run) into one file.

    'export STORE -o x.csv' or 'export x.csv --store STORE'.  Beside the figures there is a column
    for every parameter of the specs.
    """
    from advmdp.files.atomic import write_atomically
    from advmdp.store import Store
    from advmdp.store.frames import as_bytes, with_identity, with_parameters

    if output is None:
        store, output = None, store
    if output is None or output.is_dir():
        raise InvalidInput("export: say where the file goes, such as -o curves.csv")
    if not csv and not parquet:
        csv, parquet = output.suffix == ".csv", output.suffix == ".parquet"
    if csv == parquet:
        raise InvalidInput(
            f"export: {output.name} does not say which form; end it in .csv or .parquet, or give "
            "one of --csv and --parquet"
        )
    if not output.parent.is_dir():
        raise StorageFailure(f"export: there is no folder {output.parent}; create it first")
    there = Store(opt.store_of(store, same))
    listed = there.runs()
    frame = with_parameters(listed if runs else with_identity(there.curves(), listed), listed)
    write_atomically(output, [as_bytes(frame, csv=csv)])
    typer.echo(plain_text(f"{frame.height:,} rows: {output}"))
