"""COMP-UOB and GREEDY: u_t is the maximum over the confidence set, and it bounds both measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.observed_runs import observe_run
from advmdp.claims.playing.random_instances import LearnerFactory, shape_name, switching_instance
from advmdp.claims.references import oracles
from advmdp.layout import Layout, Table
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.steps.confidence import BoxSet
from advmdp.steps.upper_occupancy import upper_occupancy

UpperBounds = Callable[[Any, BoxSet], Table]
SHAPES = (((1, 2, 1), 3), ((1, 3, 3, 1), 2), ((1, 2, 4, 3, 1), 2))
PROGRAMME_TOLERANCE = 1e-9  # of the linear programmes
OCCUPANCY_TOLERANCE = 1e-12  # rounding
LOG_SCALES = (1.0, 0.05, 0.002)
"""Log terms: the printed one, one that restricts the rows, and one so small that P is lost."""


class Effort(NamedTuple):
    """Linear programmes for each shape, single rows, and runs for each log term."""

    n_programmes: int
    n_rows: int
    n_runs: int
    n_episodes: int


class Measurement(NamedTuple):
    """Largest differences to the linear programmes, and largest violations over runs."""

    effort: Effort
    absent: str
    """Why there was no comparison with linear programmes; empty if there was one."""
    programmes: float | None
    """Largest difference to a linear programme."""
    iterate: float
    """Largest q^_t - u_t."""
    truth_covered: float
    """Largest q_t - u_t in episodes whose set contains P."""
    truth_lost: float
    """Largest q_t - u_t in the other episodes."""
    covered: float
    """Episodes whose set contains P."""
    lost: float
    """The other episodes."""


def measure(
    lab: Lab,
    effort: Effort,
    make: LearnerFactory = UOBREPS,
    bounds: UpperBounds = upper_occupancy,
) -> Measurement:
    """Compare with linear programmes, then observe whole runs."""
    rng = lab.rng("upper bounds")
    absent = oracles.missing("scipy")
    programmes = None if absent else _against_programmes(effort, rng, bounds)
    seen = []
    for scale in LOG_SCALES:
        for _ in range(effort.n_runs):
            mdp, losses, seed = switching_instance((1, 4, 4, 1), 2, rng, period=100)
            learner = make(mdp.layout, effort.n_episodes, log_scale=scale, eta_scale=4.0)
            seen.append(observe_run(mdp, losses, learner, effort.n_episodes, seed).last)
    return Measurement(
        effort,
        absent,
        programmes,
        iterate=max(one.iterate_above for one in seen),
        truth_covered=max(one.truth_above for one in seen),
        truth_lost=max(one.truth_above_uncovered for one in seen),
        covered=float(sum(effort.n_episodes - one.episodes_missed for one in seen)),
        lost=float(sum(one.episodes_missed for one in seen)),
    )


def judge(measurement: Measurement) -> Judgement:
    """All differences are those of the solver or rounding; uncovered episodes show the power."""
    programmes = measurement.programmes
    sound = (
        (programmes is None or programmes <= PROGRAMME_TOLERANCE)
        and measurement.iterate <= OCCUPANCY_TOLERANCE
        and measurement.truth_covered <= OCCUPANCY_TOLERANCE
    )
    violations = {
        name: getattr(measurement, name)
        for name in ("iterate", "truth_covered", "truth_lost", "covered", "lost")
    }
    compared = f"largest difference to the linear programmes {programmes or 0.0:.1e}"
    return Judgement(
        verdict_of(sound, can_fail=measurement.truth_lost > OCCUPANCY_TOLERANCE),
        figures={
            **measurement.effort._asdict(),
            **violations,
            "compared": measurement.absent or compared,
        },
        data={"programmes": programmes, **violations},
    )


CLAIM = Claim(
    "upper-occupancy",
    Description(
        statement="upper occupancy bounds",
        reference="Eqs. (UOB), (DP), algorithms COMP-UOB and GREEDY",
        checked=(
            "u against one linear programme for each state, GREEDY against one for each row "
            "(never visited rows included); q^_t <= u_t for every pair in every episode; "
            "q_t <= u_t in every episode whose set holds P"
        ),
        instances=(
            "{n_programmes} random sets on each of "
            f"{', '.join(shape_name(*shape) for shape in SHAPES)}; "
            "{n_rows} single rows; {n_runs} runs of {n_episodes} episodes on 1,4,4,1 x2 with the "
            f"log term x {', '.join(str(scale) for scale in LOG_SCALES)}"
        ),
        measured=(
            "{compared}; largest q^_t - u_t {iterate:.1e}; largest q_t - u_t {truth_covered:.1e} "
            "over {covered:.0f} covered episodes"
        ),
        bound=(
            f"{PROGRAMME_TOLERANCE:.0e} (accuracy of the solver); "
            f"{OCCUPANCY_TOLERANCE:.0e} (rounding)"
        ),
        margin=(
            "without coverage ({lost:.0f} episodes) q_t exceeds u_t by up to {truth_lost:.2f}: the "
            "comparison could have failed"
        ),
    ),
    quick=Effort(8, 200, 6, 4000),
    full=Effort(100, 5000, 20, 100_000),
    measure_at=measure,
    judge=judge,
)


def random_box(layout: Layout, rng: np.random.Generator) -> BoxSet:
    """The printed set of random counts, from never visited to well known."""
    visits = np.floor(2000.0 ** rng.random(layout.n_rows) - 1.0)
    start = layout.row_start
    triples = np.concatenate(
        [
            rng.multinomial(int(n), rng.dirichlet(np.ones(start[r + 1] - start[r])))
            for r, n in enumerate(visits)
        ]
    ).astype(np.float64)
    return BoxSet.from_counts(layout, visits, triples, log_term=float(rng.choice([0.1, 1.0, 5.0])))


def random_policy(layout: Layout, rng: np.random.Generator) -> Table:
    """A policy that may be nearly deterministic."""
    flat = rng.dirichlet(np.full(layout.n_actions, 0.5), layout.n_states - 1).ravel()
    return layout.pairs(flat)


def _against_programmes(effort: Effort, rng: np.random.Generator, bounds: UpperBounds) -> float:
    worst = 0.0
    for sizes, n_actions in SHAPES:
        layout = Layout(sizes, n_actions)
        for _ in range(effort.n_programmes):
            box, policy = random_box(layout, rng), random_policy(layout, rng)
            flat = layout.flat_pairs(policy)
            exact = oracles.upper_occupancy(layout, flat, box)
            worst = max(worst, float(abs(layout.flat_pairs(bounds(policy, box)) - exact).max()))
    for _ in range(effort.n_rows):
        worst = max(worst, _one_row(rng, bounds))
    return worst


def _one_row(rng: np.random.Generator, bounds: UpperBounds) -> float:
    """GREEDY alone: from x_0 one row leads to n states, which reach the target with chance f.

    The chances f are those of a known second step, so that u of the target is the maximum.
    """
    n = int(rng.integers(2, 9))
    layout = Layout((1, n, 2, 1), 1)
    first = random_box(Layout((1, n, 1), 1), rng)
    f = rng.random(n) * rng.integers(0, 2, n)  # ties at zero
    second = np.stack([f, 1.0 - f], axis=1)[:, None, :]
    last = np.ones((2, 1, 1))
    low, high = first.lower[0], first.upper[0]
    box = BoxSet(layout, [low, second, last], [high, second, last])
    ones = [np.ones((1, 1)), np.ones((n, 1)), np.ones((2, 1))]
    greedy = float(bounds(ones, box)[2][0, 0])
    return abs(greedy - oracles.best_row(f, low.ravel(), high.ravel()))
