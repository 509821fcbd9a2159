"""Episodes in a second, compiled and through the protocol, beside a streaming pass."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.machine import streaming_pass
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
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

COLUMNS = ("world", "widths", "after", "mean width", "episodes/s", "time")
EFFORT = ("evaluations", "products", "stream", "passes")


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
    Rate(MIDDLE, THEORY, 1_000, 20_000, target=12_000),
    Rate(MIDDLE, THEORY, 50_000, 20_000, target=12_000),
    Rate(MIDDLE, BITING, 10_000, 10_000),
    Rate(LARGE, THEORY, 50, 500, target=150),
    Rate(LARGE, BITING, 8_000, 500),
)
PROTOCOL = (
    Rate(SMALL, THEORY, 1_000, 20_000, target=12_000, compiled=False),
    Rate(SMALL, BITING, 20_000, 20_000, compiled=False),
)

SPARSE = Shape((1, *[1000] * 10, 1), 6)
N_SUCCESSORS = 4
SPARSE_RATES = (Rate(SPARSE, THEORY, 5, 40), Rate(SPARSE, BITING, 2_000, 40))
SPARSE_TARGET = 0.1  # seconds


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


def _stretches(
    rates: tuple[Rate, ...], title: str, note: str, *, quick: bool
) -> tuple[Grid, list[Figure]]:
    rows, figures = [], []
    worlds: dict[Shape, World] = {}
    for rate in rates:
        if rate.shape not in worlds:
            n_successors = N_SUCCESSORS if rate.shape == SPARSE else None
            worlds = {rate.shape: make_world(rate.shape, n_successors)}  # one at a time
        cells, each, noisy = measure(rate, worlds[rate.shape], quick=quick)
        rows.append(cells)
        what = f"{title.lower()}, {rate.shape}, {rate.widths}, after {cells[2]}"
        if rate.shape == SPARSE:
            target = SPARSE_TARGET
            figures.append(Figure(what, each, "s an episode", target, AT_MOST, noisy))
        else:
            figures.append(Figure(what, 1 / each, "episodes/s", rate.target, noisy=noisy))
    return Grid(title, (*COLUMNS, *EFFORT), rows, note), figures


def run(*, quick: bool) -> Section:
    """Compiled episodes and the protocol loop."""
    section = Section()
    note = "stream: one pass a[i] = b[i] + c[i] over the triples; passes: an episode in this unit"
    for rates, title, remark in (
        (RATES, "Compiled episodes", note),
        (PROTOCOL, "Protocol loop", "policy() and update() from Python, the same numbers"),
    ):
        grid, figures = _stretches(rates, title, remark, quick=quick)
        section.grids.append(grid)
        section.figures += figures
    return section


def run_sparse(*, quick: bool) -> Section:
    """Ten thousand states with a declared support."""
    note = f"{N_SUCCESSORS} declared successors for every state and action"
    grid, figures = _stretches(SPARSE_RATES, "Declared support", note, quick=quick)
    return Section([grid], figures)
