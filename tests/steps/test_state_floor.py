"""Projections with a floor under the occupancy of every state: a conic solver, and the floor."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Floats, Layout
from advmdp.steps.confidence import ConfidenceSet

WIDE = (1, 14, 14, 1)  # conjugate gradients
NARROW = (1, 3, 4, 3, 1)  # blocks


def random_set(layout: Layout, kind: str, rng: np.random.Generator) -> ConfidenceSet:
    row = layout.entry_rows()
    centre = rng.gamma(1.0, size=layout.n_entries)
    centre /= np.bincount(row, centre)[row]
    if kind == "any":
        return am.AnyTransition(layout)
    if kind == "known":
        return am.KnownTransition(layout, centre)
    return am.BoxSet(layout, np.maximum(centre - 0.1, 0.0), np.minimum(centre + 0.1, 1.0))


class ConicProblem:
    """The measures of a set as linear constraints, for a general solver."""

    def __init__(self, confidence: ConfidenceSet, kind: str) -> None:
        layout = confidence.layout
        self.q = q = cp.Variable(layout.n_entries, nonneg=True)
        row, successor = layout.entry_rows(), layout.entry_successors()
        rows = np.zeros((layout.n_rows, layout.n_entries))
        rows[row, np.arange(layout.n_entries)] = 1.0
        spread = rows.T @ (rows @ q)
        self.constraints = [cp.sum(q[layout.layer_entries(0)]) == 1]
        self.outflows = []
        for x in range(1, layout.n_states - 1):
            begin, end = x * layout.n_actions, (x + 1) * layout.n_actions
            outflow = cp.sum(q[int(layout.row_start[begin]) : int(layout.row_start[end])])
            self.constraints.append(cp.sum(q[np.flatnonzero(successor == x)]) == outflow)
            self.outflows.append(outflow)
        if kind == "box":
            self.constraints += [
                q >= cp.multiply(confidence.rows.lower, spread),
                q <= cp.multiply(confidence.rows.upper, spread),
            ]
        if kind == "known":
            self.constraints.append(q == cp.multiply(confidence.rows.transition, spread))

    def largest_floor(self) -> float:
        """The largest floor that some measure keeps."""
        floor = cp.Variable()
        above = [outflow >= floor for outflow in self.outflows]
        return float(
            cp.Problem(cp.Maximize(floor), self.constraints + above).solve(solver=cp.SCIPY)
        )

    def project(self, weights: Floats, least: float) -> Floats:
        """The KL projection with a floor."""
        above = [outflow >= least for outflow in self.outflows]
        objective = cp.Minimize(cp.sum(cp.kl_div(self.q, weights)))
        cp.Problem(objective, self.constraints + above).solve(solver=cp.CLARABEL)
        return np.asarray(self.q.value)


@pytest.mark.parametrize("kind", ["any", "box", "known"])
@pytest.mark.parametrize("sizes", [NARROW, WIDE])
@pytest.mark.parametrize("seed", range(2))
def test_against_a_conic_solver(kind: str, sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout(sizes, 2)
    confidence = random_set(layout, kind, rng)
    problem = ConicProblem(confidence, kind)
    weights = rng.gamma(0.5, size=layout.n_entries) + 0.02
    plain = am.project(weights, confidence)
    before = min(float(q.sum(axis=(1, 2)).min()) for q in plain.occupancy)
    # violated by the plain projection, yet feasible with room to spare
    least = before + 0.3 * (problem.largest_floor() - before)
    result = am.project(weights, confidence.with_least_occupancy(least))
    assert min(float(q.sum(axis=(1, 2)).min()) for q in result.occupancy) >= least - 1e-11
    assert -1e-10 <= result.duality_gap <= 1e-9  # q(x) may fall short of the floor by rounding
    assert result.divergence > plain.divergence
    expected = problem.project(weights, least)
    assert np.allclose(layout.flat_triples(result.occupancy), expected, atol=5e-5)


def test_without_effect_the_floor_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    layout = Layout(NARROW, 2)
    confidence = random_set(layout, "box", rng)
    weights = rng.random(layout.n_entries) + 0.5
    plain = am.project(weights, confidence)
    floored = am.project(weights, confidence.with_least_occupancy(1e-6))
    for ours, theirs in zip(floored.occupancy, plain.occupancy, strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-10)


def test_a_floor_that_cannot_hold_is_refused() -> None:
    layout = Layout((1, 2, 1), 1)
    known = am.KnownTransition(layout, [np.array([[[0.9, 0.1]]]), np.ones((2, 1, 1))])
    weights = np.ones(layout.n_entries)
    with pytest.raises(am.UncertifiedStep):
        am.project(weights, known.with_least_occupancy(0.2))
    with pytest.raises(am.InvalidInput, match="least"):
        known.with_least_occupancy(0.7)


def test_the_floored_learner_keeps_every_state_alive() -> None:
    mdp = am.families.random_mdp((1, 3, 3, 1), 2, seed=3)
    mean = mdp.layout.pairs(np.random.default_rng(3).random(mdp.layout.n_rows))
    learner = am.FlooredBanditUCOREPS(mdp.layout, 2000, alpha=0.05, log_scale=0.01)
    for episode in range(0, 2000, 250):
        am.play(mdp, am.losses.Stochastic(mean), learner, 250, seed=episode)
        for table in learner.occupancy():
            assert table.sum(axis=(1, 2)).min() >= 0.05 - 1e-10
