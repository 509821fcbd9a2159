"""How long a report over a thousand runs takes to write, and how large the page is."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from advmdp.evaluation.run import log_spaced
from advmdp.evaluation.schema import FINISHED, Level, loss_columns, term_columns
from advmdp.reports.figures.paper_figure import write_figure
from advmdp.reports.html.report_page import write_report
from advmdp.reports.results import Results, run_columns
from advmdp.store.frames import curve_frame, polars_schema
from benchmarks.machine import best_of
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds

LENGTHS = (1000, 10_000, 100_000)
LEARNERS, CELLS, REPLICATES = 10, 10, 10  # a thousand runs; cells are spread over the lengths
REPORT_TARGET = 20.0  # seconds


def made_up_results(n_cells: int) -> Results:
    """Curves of random constants and exponents, all with four terms, epochs and widths."""
    rng = np.random.default_rng(0)
    names = [column.name for column in loss_columns(Level.RUN)]
    terms = [term.name for term in term_columns()]
    schema = polars_schema(run_columns())
    runs, curves = [], []
    for cell in range(n_cells):
        T = LENGTHS[cell % len(LENGTHS)]
        t = log_spaced(T)
        for learner in range(LEARNERS):
            for replicate in range(REPLICATES):
                regret = rng.uniform(1, 5) * t ** rng.uniform(0.5, 0.9)
                losses = dict(zip(names, (regret, t + regret, t + regret, t), strict=True))
                row = {
                    **dict.fromkeys(schema),
                    **{name: float(values[-1]) for name, values in losses.items()},
                    "run": f"learner-{learner}_world-{cell // len(LENGTHS)}_T{T}_s0r{replicate}",
                    "status": FINISHED,
                    "learner": f"learner-{learner}",
                    "mdp": f"world-{cell // len(LENGTHS)}",
                    "losses": "majority",
                    "n_episodes": T,
                    "seed": 0,
                    "replicate": replicate,
                    "spec": "{}",
                    "episodes_per_second": 1e5,
                }
                runs.append(row)
                curve = {
                    "episodes": t,
                    **losses,
                    **{term: regret / len(terms) for term in terms},
                    "epoch": np.arange(1, len(t) + 1),
                    "mean_width": 1.0 / np.sqrt(t),
                }
                curves.append(curve_frame(row["run"], curve))
    return Results(pl.DataFrame(runs, schema=schema), pl.concat(curves))


def run(*, quick: bool) -> Section:
    """The section: a page over all runs, and one figure of it."""
    results = made_up_results(CELLS // 5 if quick else CELLS)
    n_runs = len(results.runs)
    with tempfile.TemporaryDirectory() as folder:
        page, drawing = Path(folder) / "report.html", Path(folder) / "regret.pdf"
        report = best_of(partial(write_report, results, page), 2)
        size = page.stat().st_size
        one = partial(write_figure, results, "regret", drawing, mdp="world-0", n_episodes=1000)
        figure = best_of(one, 2)
    target = None if quick else REPORT_TARGET
    figures = [
        Figure(f"report: {n_runs} runs", report.wall, "s", target, AT_MOST, report.noisy),
        Figure("report: size of the page", size / 2**20, "MiB"),
        Figure("report: one figure as PDF", figure.wall, "s", noisy=figure.noisy),
    ]
    rows = [
        (f"page over {n_runs} runs", seconds(report.wall)),
        ("its size", f"{number(size / 2**20)} MiB"),
        ("one figure as PDF", seconds(figure.wall)),
    ]
    note = f"{LEARNERS} learners x {REPLICATES} replicates in each cell, all with four terms"
    return Section([Grid("Report", ("what", "measured"), rows, note)], figures)
