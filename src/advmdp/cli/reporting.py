"""``advmdp report`` and ``figure``: draw what a store holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advmdp.cli import options as opt
from advmdp.plain_text import plain_text

if TYPE_CHECKING:
    from advmdp.reports.results import Results


def report(
    store: opt.StoreArgument = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    baseline: opt.BaselineOption = None,
    same: opt.SameStoreOption = None,
) -> None:
    """Write one HTML page about all finished runs; it opens offline."""
    from advmdp.reports.html.report_page import write_report

    path = write_report(_results(opt.store_of(store, same)), output, title, baseline)
    typer.echo(plain_text(f"Report: {path}"))


def figure(
    kind: Annotated[
        str,
        typer.Argument(
            help="regret, rate, terms, epochs, realised; intervals of many: ranking, comparisons."
        ),
    ],
    output: Annotated[Path, typer.Argument(help="Where the figure goes: .pdf, .svg or .png.")],
    store: opt.StoreOption = opt.DEFAULT_STORE,
    mdp: Annotated[str | None, typer.Option(help="Part of the MDP's label.")] = None,
    losses: Annotated[str | None, typer.Option(help="Part of the losses' label.")] = None,
    episodes: Annotated[int | None, typer.Option(help="Length of the runs.")] = None,
    units: Annotated[
        str | None, typer.Option(help="Part of the units: losses, or rewards from ... to ...")
    ] = None,
    learner: Annotated[
        list[str] | None, typer.Option(help="Only these learners; may be repeated.")
    ] = None,
    baseline: opt.BaselineOption = None,
    titles: Annotated[bool, typer.Option(help="Titles above the axes.")] = True,
    by_setting: Annotated[
        bool, typer.Option("--by-setting", help="A panel for all who know and see the same.")
    ] = False,
    width: Annotated[float, typer.Option(help="Of the figure, in inches.")] = 3.3,
    height: Annotated[float, typer.Option(help="Of a panel, in inches.")] = 2.1,
    x_axis: Annotated[str | None, typer.Option(help="linear or log.")] = None,
    y_axis: Annotated[str | None, typer.Option(help="linear or log.")] = None,
    x_label: Annotated[str | None, typer.Option(help="In place of the usual one.")] = None,
    y_label: Annotated[str | None, typer.Option(help="In place of the usual one.")] = None,
) -> None:
    """Write one figure of the report in a paper's style."""
    from advmdp.reports.figures.figure_look import FigureLook
    from advmdp.reports.figures.paper_figure import write_figure

    look = FigureLook(width, height, x_axis, y_axis, x_label, y_label, titles, by_setting)
    path = write_figure(
        _results(store),
        kind,
        output,
        mdp=mdp,
        losses=losses,
        n_episodes=episodes,
        units=units,
        learners=tuple(learner or ()),
        baseline=baseline,
        look=look,
    )
    typer.echo(plain_text(f"Figure: {path}"))


def _results(store: Path) -> Results:
    from advmdp.reports.from_store import results_from_store
    from advmdp.store import Store

    return results_from_store(Store(store))
