"""Where a step is most expensive: a known transition, and a projection from far away.

The episodes in which confidence sets bind are lines of ``episodes``.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import numpy as np

import advmdp as am
from benchmarks.machine import Timing, stopwatch
from benchmarks.report import AT_MOST, Figure, Grid, Section, seconds
from benchmarks.worlds import BROAD, World

KNOWN_SIZES, N_ACTIONS, N_SUCCESSORS = (1, *[10] * 18, 1), 2, 2
KNOWN_TARGET = 25e-6  # seconds an episode
MOST_VISITS, LOG_TERM, DEVIATION = 20_000, 18.0, 0.5
COLD_TARGET = 0.3e-3  # seconds a projection


def known_world(*, declared: bool) -> World:
    """Rows with two successors, which the layout declares or not."""
    mdp = am.families.random_mdp(KNOWN_SIZES, N_ACTIONS, 0, n_successors=N_SUCCESSORS)
    if not declared:
        full = am.Layout(mdp.layout.layer_sizes, N_ACTIONS)
        mdp = am.LayeredMDP(full, mdp.transitions)
    mean = np.random.default_rng(1).random(mdp.layout.n_rows)
    return World(mdp, am.losses.Stochastic(mean))


def known_episode(world: World, n_episodes: int) -> tuple[Timing, am.Run]:
    """O-REPS with full information, after a tenth of the episodes; the fastest of three."""
    learner = am.OREPS(world.layout, transitions=world.mdp.transitions, n_episodes=2 * n_episodes)
    am.play(world.mdp, world.losses, learner, n_episodes // 10, seed=3, checkpoints=[1])

    def stretch() -> am.Run:
        fresh = copy.deepcopy(learner, {id(learner.layout): learner.layout})
        return am.play(world.mdp, world.losses, fresh, n_episodes, seed=1, checkpoints=[n_episodes])

    return min((stopwatch(stretch) for _ in range(3)), key=lambda timed: timed[0].wall)


def cold_instance(
    seed: int,
) -> tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]], am.BoxSet]:
    """Weights of a random policy, every triple off by a factor, and a box of random counts."""
    rng = np.random.default_rng(seed)
    mdp = am.families.random_mdp(BROAD.sizes, BROAD.n_actions, seed)
    visits = [rng.integers(0, MOST_VISITS + 1, size=p.shape[:2]) for p in mdp.transitions]
    counts = [rng.multinomial(n, p) for n, p in zip(visits, mdp.transitions, strict=True)]
    box = am.BoxSet.from_counts(mdp.layout, visits, counts, LOG_TERM)
    mass, weights = np.ones(1), []
    for p in mdp.transitions:
        policy = rng.dirichlet(np.ones(BROAD.n_actions), size=len(p))
        q = mass[:, None, None] * policy[:, :, None] * p
        weights.append(q * np.exp(rng.normal(0.0, DEVIATION, size=q.shape)))
        mass = q.sum(axis=(0, 1))
    return weights, box


def per_call(action: Callable[[], object], n_calls: int) -> float:
    """Processor seconds of one call, the least of five rounds."""
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        for _ in range(n_calls):
            action()
        best = min(best, (time.process_time() - begin) / n_calls)
    return float(best)


def run_known(section: Section, *, quick: bool) -> None:
    """Both ways to say which successors a row has."""
    rows = []
    for declared in (True, False):
        world = known_world(declared=declared)
        n_episodes = 500 if quick else 5_000
        timing, played = known_episode(world, n_episodes)
        assert played.solver is not None
        what = "declared" if declared else "not declared"
        each, steps = timing.cpu / n_episodes, max(played.solver.projections, 1)
        rows.append(
            (
                what,
                seconds(each),
                f"{played.solver.iterations / steps:.1f}",
                f"{played.solver.evaluations / steps:.1f}",
            )
        )
        text = f"O-REPS, 19 layers of up to 10 states, 2 successors {what}"
        section.figures.append(Figure(text, each, "s", KNOWN_TARGET, AT_MOST, timing.noisy))
    columns = ("support", "episode", "Newton steps", "evaluations")
    section.grids.append(Grid("Known transition, full information", columns, rows))


def run_cold(section: Section, *, quick: bool) -> None:
    """Projections from far away, with the work space kept and made anew."""
    rows = []
    for seed in range(2 if quick else 4):
        weights, box = cold_instance(seed)
        projector = am.Projector(box.layout)
        answer = projector.project(weights, box)
        kept = per_call(lambda w=weights, b=box, p=projector: p.project(w, b), 50)  # type: ignore[misc]
        anew = per_call(lambda w=weights, b=box: am.project(w, b), 50)  # type: ignore[misc]
        rows.append((str(seed), seconds(kept), seconds(anew), str(answer.iterations)))
        text = f"one am.project at {BROAD}, cold, instance {seed}"
        section.figures.append(Figure(text, anew, "s", COLD_TARGET, AT_MOST))
    columns = ("instance", "Projector.project", "am.project", "Newton steps")
    note = (
        f"up to {MOST_VISITS:,} visits a pair, log term {LOG_TERM:g}, factors e^N(0, {DEVIATION:g})"
    )
    section.grids.append(Grid(f"Cold projections at {BROAD}", columns, rows, note))


def run(*, quick: bool) -> Section:
    """The section."""
    section = Section()
    run_known(section, quick=quick)
    run_cold(section, quick=quick)
    return section
