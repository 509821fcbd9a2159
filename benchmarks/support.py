"""Ten thousand states of which every pair leads to four: a world that only a support makes small."""

from __future__ import annotations

from benchmarks.episodes import COLUMNS, Rate, measure
from benchmarks.report import AT_MOST, Figure, Grid, Section
from benchmarks.worlds import Shape, make_world

# The first state leads to 24 others at most, so pruning leaves little of the first two inner
# layers; the others make up for it.
SPARSE = Shape((1, *[1000] * 12, 1), 6)
N_SUCCESSORS = 4
N_STATES = 10_000
TARGET = 0.1  # seconds an episode

# A pair is visited once in thousands of episodes: only very small widths bite this early.
RATES = (
    Rate(SPARSE, 1.0, 5, 40),
    Rate(SPARSE, 1e-4, 1_000, 40),
)


def run(*, quick: bool) -> Section:
    """The section."""
    world = make_world(SPARSE, N_SUCCESSORS)
    layout = world.layout
    assert layout.n_states >= N_STATES, f"pruning left {layout.n_states} states"
    rows, figures = [], []
    for rate in RATES:
        cells, each, noisy = measure(rate, world, quick=quick)
        rows.append(cells)
        what = f"declared support, {rate.widths}, after {cells[2]}"
        figures.append(Figure(what, each, "s an episode", TARGET, AT_MOST, noisy))
    note = (
        f"{layout.n_states:,} states after pruning, {layout.n_actions} actions, {N_SUCCESSORS} "
        f"declared successors for every pair, {layout.n_entries:,} triples "
        f"(dense it would be {dense_triples(layout.layer_sizes, layout.n_actions):,})"
    )
    return Section([Grid("Declared support", COLUMNS, rows, note)], figures)


def dense_triples(sizes: tuple[int, ...], n_actions: int) -> int:
    """How many triples the same layers have without a declared support."""
    return n_actions * sum(n * m for n, m in zip(sizes, sizes[1:], strict=False))
