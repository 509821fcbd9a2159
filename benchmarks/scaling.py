"""Time for each triple and episode as layers grow: is an episode a few passes at every size?"""

from __future__ import annotations

from collections.abc import Sequence

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


def layers(width: int) -> Shape:
    """Four inner layers of one width."""
    return Shape((1, *[width] * 4, 1), N_ACTIONS)


def largest_growth(times: Sequence[float]) -> float:
    """max over i < j of times[j] / times[i].

    The smallest world pays for every row and state and would hide growth further up.
    """
    return max(times[j] / times[i] for j in range(1, len(times)) for i in range(j))


def run(*, quick: bool) -> Section:
    """The section."""
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
        "theory parameters, vacuous sets; growth is against the cheapest smaller size.\n  Larger worlds "
        "need fewer evaluations, because one path moves less of them.",
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
