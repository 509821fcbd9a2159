"""Episodes in a second, compiled and through the protocol, beside a streaming pass."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from benchmarks.machine import streaming_pass
from benchmarks.report import Figure, Grid, Section, number, seconds
from benchmarks.worlds import (
    LARGE,
    MIDDLE,
    SMALL,
    Shape,
    World,
    make_world,
    seasoned,
    timed_stretch,
)

EFFORT = ("evaluations", "products", "stream", "passes")
COLUMNS = ("world", "widths", "after", "mean width", "episodes/s", "time", *EFFORT)


@dataclass(frozen=True)
class Rate:
    """One line: where in which run the stretch lies, and what it has to reach."""

    shape: Shape
    log_scale: float
    warm_up: int
    n_episodes: int
    target: float | None = None
    compiled: bool = True

    @property
    def widths(self) -> str:
        """Which confidence widths."""
        return "theory" if self.log_scale == 1.0 else f"log_scale {self.log_scale:g}"


THEORY, BITING = 1.0, 0.01

RATES = (
    Rate(SMALL, THEORY, 1_000, 200_000, target=100_000),
    Rate(SMALL, THEORY, 200_000, 200_000, target=100_000),
    Rate(SMALL, BITING, 20_000, 200_000),
    Rate(MIDDLE, THEORY, 1_000, 20_000, target=60_000),
    Rate(MIDDLE, THEORY, 50_000, 20_000, target=35_000),
    Rate(MIDDLE, BITING, 10_000, 10_000, target=25_000),
    Rate(LARGE, THEORY, 50, 500, target=3_000),
    Rate(LARGE, BITING, 8_000, 500, target=2_000),
)
PROTOCOL = (
    Rate(SMALL, THEORY, 1_000, 20_000, target=40_000, compiled=False),
    Rate(SMALL, BITING, 20_000, 20_000, compiled=False),
)


def measure(rate: Rate, world: World, *, quick: bool) -> tuple[tuple[str, ...], float, bool]:
    """Cells of one line, the seconds of an episode, and whether the machine was disturbed."""
    shrink = 10 if quick else 1
    warm_up, n_episodes = max(rate.warm_up // shrink, 4), max(rate.n_episodes // shrink, 10)
    # The horizon is that of a run in which this stretch lies, not longer.
    learner = seasoned(world, warm_up + n_episodes, rate.log_scale, [warm_up])
    width = learner.mean_width
    timing, run = timed_stretch(world, learner, n_episodes, compiled=rate.compiled)
    assert run.solver is not None
    each, stream = timing.wall / n_episodes, streaming_pass(world.layout.n_entries)
    projections = max(run.solver.projections, 1)
    cells = (
        str(rate.shape),
        rate.widths,
        f"{warm_up:,}",
        f"{width:.2f}",
        f"{'~' if timing.noisy else ''}{number(1 / each)}",
        seconds(each),
        f"{run.solver.evaluations / projections:.1f}",
        f"{run.solver.products / projections:.1f}",
        seconds(stream),
        f"{each / stream:,.0f}",
    )
    return cells, each, timing.noisy


def run(*, quick: bool) -> Section:
    """Compiled episodes and the protocol loop."""
    section = Section()
    note = "stream: one pass a[i] = b[i] + c[i] over the triples; passes: an episode in this unit"
    for rates, title, remark in (
        (RATES, "Compiled episodes", note),
        (PROTOCOL, "Protocol loop", "policy() and update() from Python, the same numbers"),
    ):
        rows = []
        for shape, group in groupby(rates, key=lambda rate: rate.shape):
            world = make_world(shape)
            for rate in group:
                cells, each, noisy = measure(rate, world, quick=quick)
                rows.append(cells)
                what = f"{title.lower()}, {shape}, {rate.widths}, after {cells[2]}"
                figure = Figure(what, 1 / each, "episodes/s", rate.target, noisy=noisy)
                section.figures.append(figure)
        section.grids.append(Grid(title, COLUMNS, rows, remark))
    return section
