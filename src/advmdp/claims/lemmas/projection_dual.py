"""Lemma 7, the dual of the projection: equal to other solvers, and certified over whole runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from advmdp.claims.claim import Claim, Description, Judgement
from advmdp.claims.finding import verdict_of
from advmdp.claims.lab import Lab
from advmdp.claims.playing.random_instances import shape_name, switching_instance
from advmdp.claims.references import oracles
from advmdp.claims.references.optimality import active_share, first_order_gap, infeasibility
from advmdp.layout import Floats, Layout
from advmdp.learners.mirror.uob_reps import UOBREPS
from advmdp.play import play
from advmdp.steps.confidence import BoxSet, ConfidenceSet
from advmdp.steps.mirror_descent import Projection, project

Project = Callable[[Any, ConfidenceSet], Projection]
SHAPES = (((1, 2, 1), 2), ((1, 3, 3, 1), 2), ((1, 4, 4, 4, 1), 2))
GAP_TOLERANCE = 1e-9  # duality gaps of the package
VALUE_TOLERANCE = 1e-6  # values of the other solvers: theirs may be worse than ours, not better
# The first-order gap is linear in what is left of the flow residual, where the excess of D that it
# bounds is quadratic: 1e-9 at a residual of 1e-10, for an excess of 1e-18.
FIRST_ORDER_TOLERANCE = 1e-8
RUNS = ({"log_scale": 1.0}, {"log_scale": 0.01}, {"log_scale": 0.01, "eta_scale": 16.0})


class Effort(NamedTuple):
    """Projections on each shape, and the length of the certified runs."""

    n_projections: int
    n_episodes: int


class Measurement(NamedTuple):
    """The largest difference of each kind over all projections, and certificates of runs."""

    effort: Effort
    absent: dict[str, str]
    """Why a solver (``conic``, ``dual``) was not compared; empty if it was."""
    n_problems: int
    gave_up: int
    """Problems on which the conic solver failed."""
    largest: dict[str, float]
    """``infeasible``, ``first_order``, ``clipped``; ``conic`` and ``conic_above``; ``dual``,
    ``entries`` and ``printed``."""
    runs: list[dict[str, float]]
    """Settings and worst certificates of each run."""


class ProjectionProblem(NamedTuple):
    """Weights to project, and a set around counts: bounds, and P-bar with epsilon."""

    layout: Layout
    weights: Floats
    box: BoxSet
    centre: Floats
    width: Floats


def measure(lab: Lab, effort: Effort, solve: Project = project) -> Measurement:
    """Compare single projections with the other solvers, then collect certificates of runs."""
    rng = lab.rng("projection dual")
    absent = {"conic": oracles.missing("cvxpy", "clarabel"), "dual": oracles.missing("scipy")}
    largest: dict[str, float] = {}
    n_problems = gave_up = 0
    for sizes, n_actions in SHAPES:
        for _ in range(effort.n_projections):
            problem = problem_from_run(Layout(sizes, n_actions), rng)
            compared = _compare(problem, solve, absent)
            n_problems += 1
            gave_up += "conic" not in compared and not absent["conic"]
            for name, value in compared.items():
                largest[name] = max(largest.get(name, value), value)
    runs = [_certificates(effort.n_episodes, rng, **settings) for settings in RUNS]
    return Measurement(effort, absent, n_problems, gave_up, largest, runs)


def judge(measurement: Measurement) -> Judgement:
    """Every gap and difference is within its tolerance, on sets that bind somewhere."""
    largest, runs, absent = measurement.largest, measurement.runs, measurement.absent
    gap = max(largest["infeasible"], *(run["gap"] for run in runs))
    values = max(largest.get(name, 0.0) for name in ("conic", "dual", "printed"))
    first_order = largest["first_order"]
    sound = (
        gap <= GAP_TOLERANCE and first_order <= FIRST_ORDER_TOLERANCE and values <= VALUE_TOLERANCE
    )
    return Judgement(
        verdict_of(sound, can_fail=largest["clipped"] > 0.0),
        figures={
            **measurement.effort._asdict(),
            "others": "; ".join(
                (
                    absent["conic"] or _clarabel_text(measurement),
                    absent["dual"] or _paper_dual_text(largest),
                )
            ),
            "n_certified": int(sum(run["projections"] for run in runs)),
            "clipped": largest["clipped"],
            "infeasible": largest["infeasible"],
            "first_order": first_order,
            "gap": max(run["gap"] for run in runs),
            "residual": max(run["residual"] for run in runs),
            "gap_share": gap / GAP_TOLERANCE,
            "first_order_share": first_order / FIRST_ORDER_TOLERANCE,
            "value_share": values / VALUE_TOLERANCE,
        },
        data={**largest, "absent": absent, "runs": runs},
    )


CLAIM = Claim(
    "projection-dual",
    Description(
        statement="dual of the projection",
        reference="Lemma 7, Eq. (project_update)",
        checked=(
            "the divergence against a conic solver and against the paper's own dual in (mu, beta); "
            "the first-order condition by a backward recursion; the duality gap of every "
            "projection of whole runs"
        ),
        instances=(
            "{n_projections} steps taken from runs on each of "
            f"{', '.join(shape_name(*shape) for shape in SHAPES)}; {len(RUNS)} runs of "
            "{n_episodes} episodes on 1,4,4,1 x2 ({n_certified} projections), learning "
            "rate and log term as in the theorem, log term x 0.01, and that with the rate x 16"
        ),
        measured=(
            "{others}; up to {clipped:.0%} of the triples on a bound; infeasible by "
            "{infeasible:.1e}, first-order gap {first_order:.1e}; largest duality gap of a run "
            "{gap:.1e}, flow residual {residual:.1e}"
        ),
        bound=(
            f"0 up to {VALUE_TOLERANCE:.0e} for the others' values, {GAP_TOLERANCE:.0e} for our "
            f"gaps, {FIRST_ORDER_TOLERANCE:.0e} for the first-order one"
        ),
        margin=(
            "gaps {gap_share:.1e}, first order {first_order_share:.1e} and values "
            "{value_share:.1e} of what is allowed"
        ),
    ),
    quick=Effort(3, 10_000),
    full=Effort(40, 1_000_000),
    measure_at=measure,
    judge=judge,
)


def problem_from_run(layout: Layout, rng: np.random.Generator) -> ProjectionProblem:
    """The iterate of a run, re-weighted, and the set of the counts so far with a small log term."""
    mdp, losses, seed = switching_instance(layout.layer_sizes, layout.n_actions, rng, period=50)
    n_episodes = int(rng.choice([20, 200, 1000]))
    learner = UOBREPS(layout, n_episodes, log_scale=0.1, eta_scale=4.0)
    play(mdp, losses, learner, n_episodes, seed)
    tilt = np.where(rng.random(layout.n_rows) < 0.5, rng.exponential(1.0, layout.n_rows), 0.0)
    weights = layout.flat_triples(learner.occupancy()) * np.exp(-tilt[layout.entry_rows()])
    log_term = 0.05 * learner.log_term / 0.1
    visits = layout.flat_pairs(learner.visits)[layout.entry_rows()]
    triples = layout.flat_triples(learner.transitions_seen)
    centre = triples / np.maximum(1.0, visits)
    rate = log_term / np.maximum(1.0, visits - 1.0)
    width = np.where(visits > 0, 2.0 * np.sqrt(centre * rate) + 14.0 / 3.0 * rate, 1.0)  # Eq. width
    box = BoxSet(layout, np.maximum(0.0, centre - width), np.minimum(1.0, centre + width))
    return ProjectionProblem(layout, np.maximum(weights, 1e-12), box, centre, width)


def _compare(
    problem: ProjectionProblem, solve: Project, absent: dict[str, str]
) -> dict[str, float]:
    """Differences of optimal values; none of the conic solver where it fails."""
    layout, weights, box, centre, width = problem
    q = layout.flat_triples(solve(weights, box).occupancy)
    value = oracles.divergence(q, weights)
    found = {
        "first_order": first_order_gap(layout, q, weights, box),
        "infeasible": infeasibility(layout, q, box),
        "clipped": active_share(layout, q, box),
    }
    other = None if absent["conic"] else oracles.conic_projection(layout, weights, box)
    if other is not None:
        found["conic"] = value - oracles.divergence(other, weights)
        found["conic_above"] = -found["conic"]
    if not absent["dual"]:
        free = oracles.paper_dual(layout, weights, centre, width, free_beta=True)
        printed = oracles.paper_dual(layout, weights, centre, width, free_beta=False)
        found["dual"] = abs(free.value - value)
        found["entries"] = float(abs(free.occupancy - q).max())
        found["printed"] = abs(printed.value - value)
    return found


def _certificates(n_episodes: int, rng: np.random.Generator, **settings: Any) -> dict[str, float]:
    mdp, losses, seed = switching_instance((1, 4, 4, 1), 2, rng, period=500)
    learner = UOBREPS(mdp.layout, n_episodes, **settings)
    solver = play(mdp, losses, learner, n_episodes, seed).solver
    assert solver is not None
    return {
        "projections": float(solver.projections),
        "gap": solver.worst_gap,
        "residual": solver.worst_residual,
        "safe_paths": float(solver.safe_paths),
        **settings,
    }


def _clarabel_text(measurement: Measurement) -> str:
    """The comparison with the conic solver, and the number of problems on which it failed."""
    largest, gave_up = measurement.largest, measurement.gave_up
    silent = f"Clarabel gave up on {gave_up} of {measurement.n_problems}" if gave_up else ""
    if "conic" not in largest:
        return silent
    return (
        f"no value of Clarabel below ours by more than {max(largest['conic'], 0.0):.1e} (above by "
        f"up to {largest['conic_above']:.1e}){', ' + silent if silent else ''}"
    )


def _paper_dual_text(largest: dict[str, float]) -> str:
    return (
        f"the paper's dual within {largest['dual']:.1e}, with beta >= 0 as printed within "
        f"{largest['printed']:.1e}, entries within {largest['entries']:.1e}"
    )
