"""Large worlds: the cost of a triple as layers grow, and ten thousand states with a support."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.episodes import COLUMNS as RATE_COLUMNS
from benchmarks.episodes import Rate, measure
from benchmarks.machine import streaming_pass
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
from benchmarks.worlds import Shape, make_world, seasoned, timed_stretch

N_ACTIONS = 10
WIDTHS = (5, 10, 18, 32, 57, 102, 182, 365)  # 850 to four million triples
QUICK_WIDTHS = (5, 18, 57, 182)
HORIZON = 10_000
TRIPLES_TO_TOUCH = 4e8  # decides how many episodes a measurement lasts
GROWTH_TARGET = 2.0
COLUMNS = ("world", "triples", "episode", "per triple", "and evaluation", "growth")

# The first state leads to 24 others at most, so pruning leaves little of the first two inner
# layers; the others make up for it.
SPARSE = Shape((1, *[1000] * 12, 1), 6)
N_SUCCESSORS = 4
N_STATES = 10_000
SUPPORT_TARGET = 0.1  # seconds an episode

# A pair is visited once in thousands of episodes: only very small widths bite this early.
SUPPORT_RATES = (
    Rate(SPARSE, 1.0, 5, 40),
    Rate(SPARSE, 1e-4, 1_000, 40),
)


def layers(width: int) -> Shape:
    """Four inner layers of one width."""
    return Shape((1, *[width] * 4, 1), N_ACTIONS)


def largest_growth(times: Sequence[float]) -> float:
    """max over i < j of times[j] / times[i].

    The smallest world pays for every row and state and would hide growth further up.
    """
    return max(times[j] / times[i] for j in range(1, len(times)) for i in range(j))


def run_growth(*, quick: bool) -> Section:
    """Dense layers from a thousand triples to four million."""
    rows, per_triple, noisy = [], [], False
    for width in QUICK_WIDTHS if quick else WIDTHS:
        shape = layers(width)
        world = make_world(shape)
        n_entries = world.layout.n_entries
        touched = TRIPLES_TO_TOUCH / (10 if quick else 1)
        n_episodes = int(min(max(touched / n_entries / 10, 30), 4000))
        learner = seasoned(world, HORIZON, 1.0, [20])
        timing, played = timed_stretch(world, learner, n_episodes)
        assert played.solver is not None
        each = timing.wall / n_episodes
        projections = max(played.solver.projections, 1)
        per_triple.append(each / n_entries)
        noisy = noisy or timing.noisy
        rows.append(
            (
                str(shape),
                f"{n_entries:,}",
                f"{'~' if timing.noisy else ''}{seconds(each)}",
                f"{1e9 * per_triple[-1]:.2f} ns",
                f"{1e9 * per_triple[-1] / (played.solver.evaluations / projections):.2f} ns",
                number(per_triple[-1] / min(per_triple)),
                f"{played.solver.evaluations / projections:.1f}",
                f"{played.solver.products / projections:.1f}",
                f"{1e9 * streaming_pass(n_entries) / n_entries:.2f} ns",
            )
        )
    grid = Grid(
        "Time per triple and episode",
        (*COLUMNS, "evaluations", "products", "stream per triple"),
        rows,
        "theory parameters, vacuous sets; growth is against the cheapest smaller size.\n"
        "  Larger worlds need fewer evaluations, because one path moves less of them.",
    )
    growth = Figure(
        "time per triple, largest growth from one size to a larger one",
        largest_growth(per_triple),
        "times",
        GROWTH_TARGET,
        AT_MOST,
        noisy,
    )
    return Section([grid], [growth])


def run_support(*, quick: bool) -> Section:
    """A world that only its declared support makes small."""
    world = make_world(SPARSE, N_SUCCESSORS)
    layout = world.layout
    assert layout.n_states >= N_STATES, f"pruning left {layout.n_states} states"
    rows, figures = [], []
    for rate in SUPPORT_RATES:
        cells, each, noisy = measure(rate, world, quick=quick)
        rows.append(cells)
        what = f"declared support, {rate.widths}, after {cells[2]}"
        figures.append(Figure(what, each, "s an episode", SUPPORT_TARGET, AT_MOST, noisy))
    note = (
        f"{layout.n_states:,} states after pruning, {layout.n_actions} actions, {N_SUCCESSORS} "
        f"declared successors for every pair, {layout.n_entries:,} triples "
        f"(dense it would be {dense_triples(layout.layer_sizes, layout.n_actions):,})"
    )
    return Section([Grid("Declared support", RATE_COLUMNS, rows, note)], figures)


def dense_triples(sizes: tuple[int, ...], n_actions: int) -> int:
    """How many triples the same layers have without a declared support."""
    return n_actions * sum(n * m for n, m in pairwise(sizes))
