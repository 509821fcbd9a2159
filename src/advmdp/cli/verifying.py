"""``advmdp verify``: measure the paper's claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advmdp.cli import options as opt

if TYPE_CHECKING:
    from advmdp.claims.lab import Lab
    from advmdp.claims.verify import Findings


def verify(
    full: Annotated[
        bool, typer.Option("--full", help="Longer and more runs: hours instead of minutes.")
    ] = False,
    claim: Annotated[
        list[str] | None, typer.Option(help="Only this claim; may be repeated.")
    ] = None,
    store: opt.StoreOption = Path("results/verify"),
    engine: opt.EngineOption = opt.DEFAULT_ENGINE,
    workers: opt.WorkersOption = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the page goes; JSON is put beside it.")
    ] = Path("verify.html"),
    figures: Annotated[
        Path | None, typer.Option(help="A folder for the figures in a paper's style (SVG).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what there is to play, and how long it is.")
    ] = False,
    quiet: opt.QuietOption = False,
    as_json: opt.JSONOption = False,
) -> None:
    """Measure the claims of the paper; the exit code counts those that fail or have no verdict.

    Stored runs are not played twice, and a cut command goes on where it was; the claims about
    lemmas, a few minutes of the whole, are measured anew. With --engine cuda the runs that are many
    enough for a batch go to the GPU and the others to the cores.
    """
    from advmdp.claims.verify import checked_names, n_failures, verify
    from advmdp.cli.terminal.sweep_progress import following
    from advmdp.experiments.engines.registry import check_engine_name
    from advmdp.reports.output_path import checked_path
    from advmdp.store import Store
    from advmdp.store.log import attach_log, detach_log

    names = checked_names(claim or ())
    check_engine_name(engine)
    checked_path(output, (".html",), "output")
    n_workers = workers or os.cpu_count() or 1
    if dry_run:
        _tell_plan(names, store, quick=not full, workers=n_workers, as_json=as_json)
        return
    where = _engines(engine, workers)
    there = Store(store, create=True)
    handler = attach_log(there.path)
    try:
        with following(quiet=quiet, as_json=as_json) as watcher:
            lab = _lab(there, full, n_workers, watcher, quiet or as_json, where)
            findings = verify(lab, names)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: checkpoints are written; to go on: {opt.command_line()}", err=True
        )
        raise typer.Exit(opt.INTERRUPTED) from None
    finally:
        detach_log(handler)
    _tell(findings, lab, output, figures, as_json)
    missing = [name for name in names if name not in findings]
    if missing:
        typer.echo(
            f"not measured: {', '.join(missing)}; the reasons are in {store / 'log.txt'}", err=True
        )
    if n_failures(findings) or missing:
        raise typer.Exit(n_failures(findings) + len(missing))


def _engines(name: str, workers: int | None) -> dict[str, Any]:
    """Which of a lab's places the engine is: a batched one only gets what is worth a batch."""
    from advmdp.cli.playing import engine_maker
    from advmdp.experiments.engines.interface import EngineOptions
    from advmdp.experiments.engines.registry import find_engine

    make = engine_maker(name, EngineOptions(workers=workers))
    return {"card" if find_engine(name).batched else "engine": make}


def _lab(
    store: Any, full: bool, workers: int, watcher: Any, silent: bool, where: dict[str, Any]
) -> Lab:
    from advmdp.claims.lab import Lab, nothing

    say = nothing if silent else watcher.say
    return Lab(store, quick=not full, workers=workers, watcher=watcher, say=say, **where)


def _tell_plan(names: list[str], store: Path, *, quick: bool, workers: int, as_json: bool) -> None:
    import json

    from rich.console import Console

    from advmdp.claims.plan import plan, plan_summary, plan_table
    from advmdp.store import Store

    planned = plan(names, Store(store) if store.exists() else None, quick=quick)
    if as_json:
        for name, part in planned.items():
            typer.echo(json.dumps({"event": "planned", "name": name, **part._asdict()}))
        return
    console = Console(highlight=False)
    console.print(plan_table(planned))
    console.print(plan_summary(planned, workers), soft_wrap=True)


def _tell(findings: Findings, lab: Lab, output: Path, figures: Path | None, as_json: bool) -> None:
    import json

    from rich.console import Console

    from advmdp.claims.page import write_page
    from advmdp.claims.table import findings_table, summary_line
    from advmdp.claims.verify import as_data, write_json

    page = write_page(findings, output, command=opt.command_line(), store=str(lab.store.path))
    beside = write_json(findings, output.with_suffix(".json"))
    written = [page, beside]
    if figures is not None:
        from advmdp.claims.figures import write_figures

        written += write_figures(findings, figures)
    if as_json:
        for name, found in findings.items():
            typer.echo(json.dumps({"event": "finding", "name": name, **as_data(found)}))
        return
    console = Console(highlight=False)
    console.print(findings_table(findings))
    console.print(summary_line(findings))
    console.print("Written: " + ", ".join(map(str, written)), soft_wrap=True)
