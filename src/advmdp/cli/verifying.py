"""``advmdp verify``: measure the paper's claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from advmdp.cli import options as opt
from advmdp.plain_text import plain_text

if TYPE_CHECKING:
    from advmdp.claims.finding import Findings


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
        Path, typer.Option("--output", "-o", help="File of the page; JSON is written beside it.")
    ] = Path("verify.html"),
    figures: Annotated[
        Path | None, typer.Option(help="Folder for the figures in a paper's style (SVG).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be played, and about how long.")
    ] = False,
    quiet: opt.QuietOption = False,
    as_json: opt.JSONOption = False,
) -> None:
    """Measure the claims of the paper; the exit code counts those that fail or have no verdict.

    Stored runs are played once, and an interrupted command continues where it stopped; the claims
    about lemmas, a few minutes of the whole, are measured anew. With --engine cuda the runs that
    fill a batch are played on the GPU and the others on the CPU.
    """
    from advmdp.claims.verify import checked_names, n_failures
    from advmdp.experiments.engines.registry import check_engine_name
    from advmdp.reports.output_path import checked_path

    names = checked_names(claim or ())
    check_engine_name(engine)
    checked_path(output, (".html",), "output")
    n_workers = workers or os.cpu_count() or 1
    if dry_run:
        _print_plan(names, store, quick=not full, workers=n_workers, as_json=as_json)
        return
    settings = {"quick": not full, "workers": n_workers, **_engines(engine, workers)}
    findings = _measure(names, store, settings, quiet=quiet, as_json=as_json)
    written = _write(findings, store, output, figures)
    _print(findings, written, as_json=as_json)
    missing = [name for name in names if name not in findings]
    if missing:
        typer.echo(
            f"not measured: {', '.join(missing)}; the reasons are in "
            f"{plain_text(str(store / 'log.txt'))}",
            err=True,
        )
    if n_failures(findings) or missing:
        raise typer.Exit(n_failures(findings) + len(missing))


def _measure(
    names: list[str], folder: Path, settings: dict[str, Any], *, quiet: bool, as_json: bool
) -> Findings:
    """Measure the claims in a lab with these settings; the store's log has every error in full."""
    from advmdp.claims.lab import Lab, silent
    from advmdp.claims.verify import verify
    from advmdp.cli.terminal.sweep_progress import following
    from advmdp.store import Store
    from advmdp.store.log import attach_log, detach_log

    store = Store(folder, create=True)
    handler = attach_log(store.path)
    try:
        with following(quiet=quiet, as_json=as_json) as watcher:
            say = silent if quiet or as_json else watcher.say
            return verify(Lab(store, watcher=watcher, say=say, **settings), names)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: checkpoints are written; to go on: {opt.command_line()}", err=True
        )
        raise typer.Exit(opt.INTERRUPTED) from None
    finally:
        detach_log(handler)


def _engines(name: str, workers: int | None) -> dict[str, Any]:
    """The engine of the lab; one that plays batches gets only the runs that fill one."""
    from advmdp.cli.engine_choice import engine_maker
    from advmdp.experiments.engines.interface import EngineOptions
    from advmdp.experiments.engines.registry import find_engine

    make = engine_maker(name, EngineOptions(workers=workers))
    return {"gpu_engine" if find_engine(name).batched else "engine": make}


def _print_plan(names: list[str], store: Path, *, quick: bool, workers: int, as_json: bool) -> None:
    import json

    from rich.console import Console

    from advmdp.claims.plan import plan_claims, plan_summary, plan_table
    from advmdp.store import Store

    planned = plan_claims(names, Store(store) if store.exists() else None, quick=quick)
    if as_json:
        for name, claim in planned.items():
            typer.echo(json.dumps({"event": "planned", "name": name, **claim._asdict()}))
        return
    console = Console(highlight=False)
    console.print(plan_table(planned))
    console.print(plan_summary(planned, workers), soft_wrap=True)


def _write(findings: Findings, store: Path, output: Path, figures: Path | None) -> list[Path]:
    """Write the page, the JSON beside it and the figures asked for; return their paths."""
    from advmdp.claims.output.findings_json import write_json
    from advmdp.claims.output.findings_page import write_page

    page = write_page(findings, output, command=opt.command_line(), store=str(store))
    written = [page, write_json(findings, output.with_suffix(".json"))]
    if figures is not None:
        from advmdp.claims.output.findings_figures import write_figures

        written += write_figures(findings, figures)
    return written


def _print(findings: Findings, written: list[Path], *, as_json: bool) -> None:
    import json

    from rich.console import Console

    from advmdp.claims.output.findings_json import as_data
    from advmdp.claims.output.findings_table import findings_table, summary_line

    if as_json:
        for name, found in findings.items():
            typer.echo(json.dumps({"event": "finding", "name": name, **as_data(found)}))
        return
    console = Console(highlight=False)
    console.print(findings_table(findings))
    console.print(summary_line(findings))
    files = plain_text(", ".join(map(str, written)))
    console.print(f"Written: {files}", soft_wrap=True, markup=False)
