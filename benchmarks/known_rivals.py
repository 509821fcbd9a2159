"""What an episode of O-REPS would take with another solver: a known transition, all losses seen.

The step is  argmin D(q || q_t e^{-eta l})  over the measures of one transition.  Rivals are given
the best model that we know for it, a variable for every pair:

    minimise  sum kl(q(x,a) | w(x,a))   with   sum_a q(x',a) = sum_{x,a} P(x'|x,a) q(x,a),

conic solvers through CVXPY, as a new problem in every episode, and L-BFGS-B on its dual, which is
smooth and has one variable for every state between the first and the last layer.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import advmdp as am
from benchmarks.hard_cases import known_episode, known_world
from benchmarks.report import Figure, Grid, Section, number, seconds

Table = list[NDArray[np.float64]]
MOMENTS = (100, 500, 1_000, 2_000, 4_000)  # episodes before each instance
HORIZON = 5_000
LINE_SEARCH = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}


class Step(NamedTuple):
    """One step of a run, as pair tables."""

    weights: Table
    transitions: Table
    known: am.KnownTransition

    @property
    def triples(self) -> Table:
        """The weights of the triples, which is what ``am.project`` takes."""
        return [w[:, :, None] * p for w, p in zip(self.weights, self.transitions, strict=True)]


Solver = Callable[[Step], Table]


def steps_of_a_run(moments: Sequence[int]) -> list[Step]:
    """The steps that O-REPS makes after some episodes, with coin flips as losses."""
    world = known_world(declared=True)
    transitions = [np.asarray(p) for p in world.mdp.transitions]
    known = am.KnownTransition(world.layout, transitions)
    learner = am.OREPS(world.layout, transitions=transitions, n_episodes=HORIZON)
    rng, found = np.random.default_rng(5), []
    for moment in moments:
        am.play(world.mdp, world.losses, learner, moment - learner.episodes, 3, checkpoints=[1])
        measure = [np.asarray(q).sum(axis=2) for q in learner.occupancy()]
        losses = [rng.integers(0, 2, size=q.shape) for q in measure]
        weights = [q * np.exp(-learner.eta * c) for q, c in zip(measure, losses, strict=True)]
        found.append(Step(weights, transitions, known))
    return found


def conic(step: Step, solver: str) -> Table:
    """A problem of its own with exponential cones."""
    masses = [cp.Variable(w.shape) for w in step.weights]
    constraints: list[Any] = [cp.sum(masses[0]) == 1.0]
    for p, here, there in zip(step.transitions, masses, masses[1:], strict=False):
        flow = p.reshape(-1, p.shape[2]).T @ cp.vec(here, order="C")
        constraints.append(cp.sum(there, axis=1) == flow)
    terms = [cp.sum(cp.kl_div(m, w)) for m, w in zip(masses, step.weights, strict=True)]
    problem = cp.Problem(cp.Minimize(sum(terms)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the accuracy is measured, not announced
        problem.solve(solver=solver)
    return [np.asarray(m.value) for m in masses]


def dual(step: Step) -> Table:
    """L-BFGS-B on  sum_k ln sum w e^{<P, b> - b(x)},  b a number for every state."""
    sizes = [len(w) for w in step.weights]
    ends = np.cumsum(sizes[1:])

    def masses_at(free: NDArray[np.float64]) -> tuple[float, Table]:
        b = [np.zeros(1), *np.split(free, ends[:-1]), np.zeros(1)]
        value, masses = 0.0, []
        for k, w in enumerate(step.weights):
            gain = step.transitions[k] @ b[k + 1] - b[k][:, None]
            top = gain.max()
            raised = w * np.exp(gain - top)
            value += top + float(np.log(raised.sum()))
            masses.append(raised / raised.sum())
        return value, masses

    def value_and_gradient(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, masses = masses_at(free)
        net = [
            np.einsum("xa,xay->y", m, p) - after.sum(axis=1)
            for m, p, after in zip(masses, step.transitions, masses[1:], strict=False)
        ]
        return value, np.concatenate(net)

    answer = minimize(
        value_and_gradient, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options=LINE_SEARCH
    )
    return masses_at(answer.x)[1]


SOLVERS: dict[str, Solver] = {
    "Clarabel": partial(conic, solver="CLARABEL"),
    "ECOS": partial(conic, solver="ECOS"),
    "L-BFGS-B": dual,
}


def divergence(masses: Table, weights: Table) -> float:
    """D(q || w) of pair tables."""
    total = 0.0
    for m, w in zip(masses, weights, strict=True):
        q = np.maximum(m, 0.0)
        safe = np.where(q > 0.0, q, 1.0)
        total += float((q * np.log(safe / w) - q + w).sum())
    return total


def flow_error(masses: Table, transitions: Table) -> float:
    """The largest difference of what enters a state and what leaves it."""
    pairs = zip(masses, transitions, masses[1:], strict=False)
    return max(
        float(np.abs(np.einsum("xa,xay->y", m, p) - n.sum(axis=1)).max()) for m, p, n in pairs
    )


def times_of(action: Callable[[], object], rounds: int) -> float:
    """Processor seconds of one call, the least of ``rounds`` readings."""
    readings = []
    for _ in range(rounds):
        begin = time.process_time()
        action()
        readings.append(time.process_time() - begin)
    return min(readings)


def run_rivals(section: Section, episode: float, *, quick: bool) -> None:
    """All solvers on the same steps; ``episode`` is what a whole episode of ours takes."""
    steps = steps_of_a_run(MOMENTS[:2] if quick else MOMENTS)
    projector = am.Projector(steps[0].known.layout)
    answers, ours = [], []
    for step in steps:
        triples = step.triples
        answers.append(projector.project(triples, step.known))
        many = partial(_repeat, partial(projector.project, triples, step.known), 50)
        ours.append(times_of(many, 3) / 50)
    reference = [[np.asarray(q).sum(axis=2) for q in answer.occupancy] for answer in answers]
    rows = [_cells("Projector.project", ours, reference, reference, steps, episode)]
    for name, solve in SOLVERS.items():
        solved = [solve(step) for step in steps]
        each = [times_of(partial(solve, step), 1 if quick else 3) for step in steps]
        rows.append(_cells(name, each, solved, reference, steps, episode))
        text = f"a step of O-REPS by {name} over a whole episode of ours, 19 layers"
        section.figures.append(Figure(text, median(each) / episode, "times as long"))
    columns = ("method", "time", "over our episode", "flow error", "D - ours")
    note = "processor time; medians of the steps, worst errors"
    section.grids.append(Grid("One step over the known transition", columns, rows, note))


def _repeat(action: Callable[[], object], n: int) -> None:
    for _ in range(n):
        action()


def _cells(
    name: str,
    each: Sequence[float],
    solved: Sequence[Table],
    reference: Sequence[Table],
    steps: Sequence[Step],
    episode: float,
) -> tuple[str, ...]:
    """One line of the table."""
    flow = max(flow_error(m, s.transitions) for m, s in zip(solved, steps, strict=True))
    worse = max(
        (
            divergence(m, s.weights) - divergence(own, s.weights)
            for m, own, s in zip(solved, reference, steps, strict=True)
        ),
        key=abs,
    )
    middle = median(each)
    return name, seconds(middle), number(middle / episode), f"{flow:.0e}", f"{worse:.0e}"


def run(*, quick: bool) -> Section:
    """The section."""
    section = Section()
    n_episodes = 500 if quick else HORIZON
    timing, _ = known_episode(known_world(declared=True), n_episodes)
    run_rivals(section, timing.cpu / n_episodes, quick=quick)
    return section
