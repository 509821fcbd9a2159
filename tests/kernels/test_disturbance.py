"""The flows after one path has been re-weighted, and projections that begin with them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.kernels.kl.disturbance import LEAST_LEFT, flows_after_path, note_disturbance
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.steps.interface import SAFE
from advmdp.layout import Layout
from advmdp.steps.workspace import new_solver
from tests.reference.contract import follow
from tests.reference.instances import modest

Array = np.ndarray[Any, Any]


def some_measure(sizes: list[int], seed: int) -> tuple[Layout, Measure, list[Array], list[Array]]:
    """A measure, and its policy and transition as tables; some weights are below all floats."""
    rng = np.random.default_rng(seed)
    layout = Layout(layer_sizes=(1, *sizes, 1), n_actions=3)
    policy, chance, mass = [], [], [np.ones(1)]
    for n, after in pairwise(layout.layer_sizes):
        policy.append(rng.dirichlet(np.full(3, 0.3), size=n))
        chance.append(rng.dirichlet(np.full(after, 0.5), size=(n, 3)))
        mass.append(np.einsum("x,xa,xay->y", mass[-1], policy[-1], chance[-1]))
    flat = [np.concatenate([part.ravel() for part in table]) for table in (chance, policy, mass)]
    return layout, Measure(*flat), policy, chance


@modest
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 9999))
def test_flows_are_those_of_the_weights(sizes: list[int], seed: int) -> None:
    """Against tables: q~ of the new weights, divided by its sum in every layer."""
    layout, measure, policy, chance = some_measure(sizes, seed)
    rng = np.random.default_rng(seed + 1)
    states = [int(rng.integers(n)) for n in layout.layer_sizes[:-1]]
    actions = rng.integers(3, size=layout.n_layers)
    path = (layout.layer_start[:-2] + states) * 3 + actions
    old = measure.policy.copy()
    factors = np.exp(-rng.exponential(2.0, size=len(path)))
    factors[rng.random(len(path)) < 0.2] = 1.0
    measure.policy[path] *= factors
    solver = new_solver(layout, keeps=True)
    note_disturbance(solver.disturbance, path.astype(np.int64), old, measure.policy)
    value = flows_after_path(layout.graph(), measure, solver.disturbance, solver.dual)

    inflow, outflow, expected, mass = [np.zeros(1)], [], 0.0, np.ones(1)
    for k, (pi, p) in enumerate(zip(policy, chance, strict=True)):
        weights = mass[:, None, None] * pi[:, :, None] * p
        mass = weights.sum(axis=(0, 1))
        weights[states[k], actions[k]] *= factors[k]
        expected += np.log(weights.sum())
        weights /= weights.sum()
        inflow.append(weights.sum(axis=(0, 1)))
        outflow.append(weights.sum(axis=(1, 2)))
    assert value == pytest.approx(expected, abs=1e-13)
    inner = slice(1, -1)
    assert solver.dual.flows.inflow[inner] == pytest.approx(
        np.concatenate(inflow)[inner], abs=1e-14
    )
    assert solver.dual.flows.outflow[:-1] == pytest.approx(np.concatenate(outflow), abs=1e-14)


def a_learner(n_episodes: int) -> tuple[am.LayeredMDP, am.losses.Stochastic, am.UOBREPS]:
    mdp = am.families.random_mdp((1, 6, 6, 6, 1), 3, seed=2)
    mean = np.random.default_rng(3).random(mdp.layout.n_rows)
    learner = am.UOBREPS(mdp.layout, n_episodes, log_scale=0.01, eta=0.05, gamma=0.02)
    return mdp, am.losses.Stochastic(mean), learner


def test_episodes_inside_an_epoch_are_spared_a_sweep() -> None:
    """A sweep for every step, and one more only where bounds are new or a step was refused."""
    mdp, losses, learner = a_learner(6_000)
    am.play(mdp, losses, learner, 5_000, seed=0)
    run = am.play(mdp, losses, learner, 1_000, seed=1)
    assert run.solver is not None
    assert run.solver.projections > 500  # where something was lost
    assert run.solver.evaluations < run.solver.iterations + 0.2 * run.solver.projections


def test_every_step_is_the_projection_from_scratch() -> None:
    """Against ``am.project``, which knows nothing of earlier steps, at moments of a run."""
    mdp, losses, learner = a_learner(3_000)
    for moment in range(12):
        am.play(mdp, losses, learner, 200, seed=moment)
        rng = np.random.default_rng(moment)
        weights, policy = [part.copy() for part in learner.occupancy()], learner.policy()
        states, actions = [0], []
        for pi, p in zip(policy, mdp.transitions, strict=True):
            actions.append(int(rng.choice(3, p=pi[states[-1]] / pi[states[-1]].sum())))
            row = p[states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        learner.update(am.Trajectory(states, actions, np.ones(len(actions))))
        for k, estimate in enumerate(learner.estimate_of_last):
            weights[k][states[k], actions[k]] *= np.exp(-learner.eta * estimate)
        expected = am.project(weights, learner.confidence_set()).occupancy
        for ours, theirs in zip(learner.occupancy(), expected, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-10)


def test_an_episode_that_was_taken_back_leaves_no_path() -> None:
    """Noted paths that were never solved for do not become part of a later step."""
    mdp, losses, learner = a_learner(2_000)
    am.play(mdp, losses, learner, 1_000, seed=0)
    twin = am.UOBREPS(mdp.layout, 2_000, log_scale=0.01, eta=0.05, gamma=0.02)
    nothing_lost = am.Trajectory([0, 1, 2, 3, 0], [0, 1, 2, 0], np.zeros(4))
    learner.update(nothing_lost)
    twin.restore(learner.state())
    for each in (learner, twin):
        am.play(mdp, losses, each, 50, seed=5)
    for ours, theirs in zip(learner.policy(), twin.policy(), strict=True):
        assert (ours == theirs).all()


def test_a_path_of_which_next_to_nothing_is_left_is_not_noted() -> None:
    """The flow that is left would be a difference of nearly equal numbers."""
    layout, measure, *_ = some_measure([3, 3], 5)
    solver, old = new_solver(layout, keeps=True), measure.policy.copy()
    path = np.array([0, 3, 12], dtype=np.int64)
    old[path] = measure.policy[path] = 0.5
    for factor, length in ((0.9, 3), (0.5 * LEAST_LEFT, 0), (0.9, 3)):
        measure.policy[path[1]] = factor * old[path[1]]
        note_disturbance(solver.disturbance, path, old, measure.policy)
        assert solver.disturbance.n_rows[0] == length
    measure.policy[path[1]] = old[path[1]] = -500.0  # a logarithm, which weighs nothing
    note_disturbance(solver.disturbance, path, old, measure.policy)
    assert solver.disturbance.n_rows[0] == 3


@pytest.mark.parametrize(("depth", "width", "scale"), [(20, 8, 1e4), (60, 4, 100.0)])
def test_rates_far_beyond_theory_need_no_safe_path(depth: int, width: int, scale: float) -> None:
    """Neither where next to nothing is left of a path nor where a first step is refused."""
    mdp = am.families.random_mdp((1, *[width] * depth, 1), 2, seed=depth)
    learner = am.UOBREPS(mdp.layout, n_episodes=3_000, eta_scale=scale, gamma_scale=0.01)
    for t in range(150):
        follow(learner, mdp, t, t + 1)
        assert learner.kernel_state.step.solver.certificate.counts[SAFE] == 0
