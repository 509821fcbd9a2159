"""Learners that know some rows of the transition: none, a part, all of them.

With all rows known they are the learners for a known transition.  With a part known the bounds,
the iterate and the epochs are held against linear programs, a conic solver and a plain count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.model.row_status import BOUND, FREE, KNOWN
from advmdp.layout import Table
from advmdp.learners.fpop import FPL
from tests.reference.conic import project_conic, project_conic_l1
from tests.reference.contract import flat, knowing
from tests.reference.instances import box_from_counts, l1_from_counts
from tests.reference.linear_programs import (
    best_row_of,
    upper_occupancy_lp,
    upper_occupancy_lp_l1,
)
from tests.reference.shadow import optimal_values, random_mean, worlds
from tests.reference.tables import divergence, greatest_difference

T = 300
# Steps end below a flow residual of 1e-10.  What that leaves grows more than tenfold in a hundred
# episodes of learners that divide losses by their own probabilities.
AFTER_EACH_THIRD = (1e-8, 1e-7, 1e-6)


def known_entries(mdp: am.LayeredMDP) -> Any:
    known, _ = mdp.layout.known or (np.zeros(mdp.layout.n_rows, bool), None)
    return np.repeat(known, mdp.layout.row_sizes())


# ---------------------------------------------------------------------- everything known

Make = Callable[[am.LayeredMDP], Any]
RATES: dict[str, float] = {"eta": 0.1}
BANDIT: dict[str, float] = {"eta": 0.1, "gamma": 0.05}
TWINS: dict[str, tuple[Make, Make]] = {
    "uob-reps": (
        lambda mdp: am.UOBREPS(mdp.layout, T, **BANDIT),
        lambda mdp: am.OREPSBandit(mdp.layout, mdp.transitions, T, **BANDIT),
    ),
    "uob-reps-l1": (
        lambda mdp: am.UOBREPSL1(mdp.layout, T, **BANDIT),
        lambda mdp: am.OREPSBandit(mdp.layout, mdp.transitions, T, **BANDIT),
    ),
    "uc-o-reps": (
        lambda mdp: am.UCOREPS(mdp.layout, T, **RATES),
        lambda mdp: am.OREPS(mdp.layout, mdp.transitions, T, **RATES),
    ),
    "uc-o-reps-box": (
        lambda mdp: am.UCOREPSBox(mdp.layout, T, **RATES),
        lambda mdp: am.OREPS(mdp.layout, mdp.transitions, T, **RATES),
    ),
    "bandit-uc-o-reps": (
        lambda mdp: am.BanditUCOREPS(mdp.layout, T, alpha=1e-12, **RATES),
        lambda mdp: am.OREPSBandit(mdp.layout, mdp.transitions, T, **RATES),
    ),
    "fpop, fresh noise": (
        lambda mdp: am.FPOP(mdp.layout, T, fresh=True, seed=5, **RATES),
        lambda mdp: FPL(mdp.layout, mdp.transitions, T, seed=5, **RATES),
    ),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("world", worlds())
@pytest.mark.parametrize("name", TWINS)
def test_with_all_rows_known_it_is_the_learner_for_a_known_transition(
    name: str, world: str, compiled: bool
) -> None:
    mdp = worlds()[world]
    told = knowing(mdp, 1.1)
    losses = am.losses.Switching([random_mean(mdp, 1), random_mean(mdp, 2)], period=9)
    learner, twin = TWINS[name][0](told), TWINS[name][1](mdp)
    for part, limit in enumerate(AFTER_EACH_THIRD):  # the same trajectories, all the time
        runs = [
            am.play(on, losses, each, T // 3, seed=part, compiled=compiled)
            for on, each in ((told, learner), (mdp, twin))
        ]
        assert greatest_difference(learner.policy(), twin.policy()) <= limit
        assert np.array_equal(runs[0].realised_loss, runs[1].realised_loss)
        assert np.allclose(runs[0].regret, runs[1].regret, rtol=0, atol=10 * limit)
    assert learner.epoch == 1
    assert getattr(learner, "mean_width", 0.0) == 0.0


def test_with_all_rows_known_fpop_draws_its_noise_once() -> None:
    """No epoch opens, so it is the leader of one phase as long as the run."""
    mdp = worlds()["dense"]
    told, losses = knowing(mdp, 1.1), am.losses.Stochastic(random_mean(mdp, 1))
    learner, costs = am.FPOP(told.layout, T, seed=5, eta=0.1), np.zeros(mdp.layout.n_rows)
    noise = flat(learner.perturbation)
    am.play(told, losses, learner, T, seed=1)
    assert np.array_equal(flat(learner.perturbation), noise)
    costs = learner._state.total - noise
    values = optimal_values(mdp, mdp.layout.pairs(costs))
    assert greatest_difference(mdp.layout.pairs(learner._state.q), values) <= 1e-9


@pytest.mark.parametrize("make", [am.UCRL2, am.SlidingWindowUCRL2])
@pytest.mark.parametrize("world", worlds())
def test_with_all_rows_known_ucrl2_plans_in_the_true_mdp(world: str, make: Any) -> None:
    """Optimism is left about the losses only; epochs open for them as before."""
    mdp = worlds()[world]
    learner = make(knowing(mdp, 1.1).layout, loss_scale=0.01)
    am.play(mdp, am.losses.Stochastic(random_mean(mdp)), learner, T)
    values = optimal_values(mdp, mdp.layout.pairs(learner._state.costs))
    assert greatest_difference(learner.lower_values, values) <= 1e-12
    assert learner.epoch > 5
    assert learner.optimistic_loss > 0.0


# ---------------------------------------------------------------------- a part known


def box_by_hand(mdp: am.LayeredMDP, visits: Table, seen: Table, log_term: float) -> Any:
    """The formula on the counts, and the known rows as they are."""
    known = mdp.layout.triples(known_entries(mdp).astype(float))
    return [
        [np.where(k > 0.0, p, b) for k, p, b in zip(known, mdp.transitions, bounds, strict=True)]
        for bounds in box_from_counts(visits, seen, log_term)
    ]


def ball_by_hand(mdp: am.LayeredMDP, visits: Table, seen: Table, log_term: float) -> Any:
    known = mdp.layout.triples(known_entries(mdp).astype(float))
    centre, width = l1_from_counts(visits, seen, log_term)
    return [
        [np.where(k > 0.0, p, c) for k, p, c in zip(known, mdp.transitions, centre, strict=True)],
        [np.where(k[:, :, 0] > 0.0, 0.0, w) for k, w in zip(known, width, strict=True)],
    ]


@pytest.mark.parametrize("share", [0.3, 1.1])
@pytest.mark.parametrize("world", ["dense", "river"])
def test_the_initial_measure_counts_a_known_row_as_one_triple(world: str, share: float) -> None:
    """q_1 is the projection of ones over triples, and of P itself in known rows."""
    mdp = knowing(worlds()[world], share, seed=6)
    known = known_entries(mdp)
    weights = mdp.layout.triples(np.where(known, mdp.flat, 1.0))
    lower = mdp.layout.triples(np.where(known, mdp.flat, 0.0))
    upper = mdp.layout.triples(np.where(known, mdp.flat, 1.0))
    expected = project_conic(weights, lower, upper)
    found = am.UOBREPS(mdp.layout, T).occupancy()
    assert greatest_difference(found, expected) <= 1e-5  # the conic solver's accuracy


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize(
    ("make", "by_hand", "bound", "project"),
    [
        (am.UOBREPS, box_by_hand, upper_occupancy_lp, project_conic),
        (am.UOBREPSL1, ball_by_hand, upper_occupancy_lp_l1, project_conic_l1),
    ],
)
def test_bounds_and_iterates_are_those_of_the_mixed_set(
    make: Any, by_hand: Any, bound: Any, project: Any, share: float
) -> None:
    mdp = knowing(am.families.random_mdp((1, 3, 3, 1), 2, seed=7), share)
    learner = make(mdp.layout, 60, log_scale=0.02, eta=0.5)
    rng, shrank = np.random.default_rng(1), 0
    sets = by_hand(mdp, *empty_counts(mdp), learner.log_term)
    for _ in range(60):
        weights, policy = learner.occupancy(), learner.policy()
        u, epoch = bound(policy, *sets), learner.epoch
        for q, most in zip(weights, u, strict=True):
            assert (q.sum(axis=2) <= most + 1e-9).all()
        states, actions = trajectory(mdp, policy, rng)
        learner.update(am.Trajectory(states, actions, rng.random(3)))
        visited = [u[k][states[k], actions[k]] for k in range(3)]
        assert np.allclose(learner.upper_occupancy_of_last, visited, rtol=0, atol=1e-7)
        if learner.epoch > epoch:
            counts = learner.visits, learner.transitions_seen
            sets = by_hand(mdp, *counts, learner.log_term)
            shrank += 1
        if learner.epoch > epoch and shrank % 3 == 0:
            for k, estimate in enumerate(learner.estimate_of_last):
                weights[k][states[k], actions[k]] *= np.exp(-learner.eta * estimate)
            expected = project(weights, *sets)
            found = learner.occupancy()
            assert divergence(found, weights) == pytest.approx(
                divergence(expected, weights), abs=1e-7
            )
            assert greatest_difference(found, expected) <= 3e-5  # the conic solver's accuracy
    assert shrank > 8
    rows = learner.confidence_set().rows
    assert np.array_equal(rows.status == KNOWN, mdp.layout.known[0])


def empty_counts(mdp: am.LayeredMDP) -> tuple[Table, Table]:
    layout = mdp.layout
    return layout.pairs(np.zeros(layout.n_rows)), layout.triples(np.zeros(layout.n_entries))


def trajectory(mdp: am.LayeredMDP, policy: Table, rng: np.random.Generator) -> Any:
    states, actions = [0], []
    for step, choice in zip(mdp.transitions, policy, strict=True):
        actions.append(int(rng.choice(len(choice[0]), p=choice[states[-1]])))
        states.append(int(rng.choice(step.shape[2], p=step[states[-1], actions[-1]])))
    return states, actions


@pytest.mark.parametrize("world", [*worlds(), "pooled"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.1])
def test_the_invariants_hold_in_every_episode(world: str, share: float) -> None:
    every = worlds() | {"pooled": am.families.river_swim(4, 6, pooled=True)}
    mdp = knowing(every[world], share, seed=3)
    learner = am.UOBREPS(mdp.layout, 150, log_scale=0.01, eta_scale=4.0)
    am.play(mdp, am.losses.Stochastic(random_mean(mdp)), learner, 150, check=True)


@pytest.mark.parametrize("make", [am.UOBREPS, am.UCOREPS, am.FPOP])
def test_known_rows_open_no_epoch(make: Any) -> None:
    """A plain count of the doublings of the other rows."""
    mdp = knowing(worlds()["dense"], 0.6, seed=2)
    learner, losses = make(mdp.layout, T), random_mean(mdp)
    known, rng = mdp.layout.pairs(mdp.layout.known[0].astype(float)), np.random.default_rng(0)
    visits, opened, epoch, quiet = *(empty_counts(mdp)[0] for _ in range(2)), 1, 0
    for _ in range(T):
        states, actions = trajectory(mdp, learner.policy(), rng)
        if learner.feedback == "full":
            learner.update(am.FullInformation(states, actions, losses))
        else:
            learner.update(am.Trajectory(states, actions, rng.random(len(actions))))
        doubled, anyway = False, False
        for k, (x, a) in enumerate(zip(states, actions, strict=False)):
            visits[k][x, a] += 1
            reached = visits[k][x, a] >= max(1, 2 * opened[k][x, a])
            doubled |= bool(reached and known[k][x, a] == 0.0)
            anyway |= bool(reached)
        quiet += anyway and not doubled
        if doubled:
            epoch, opened = epoch + 1, [n.copy() for n in visits]
        assert learner.epoch == epoch
    assert quiet > 5


@pytest.mark.parametrize("world", worlds())
def test_fpop_and_ucrl2_plan_over_the_mixed_set(world: str) -> None:
    """Q by one linear program for each row, over simplices, balls and points."""
    mdp = knowing(worlds()[world], 0.5, seed=4)
    layout, successors, known = mdp.layout, mdp.layout.entry_successors(), known_entries(mdp)
    for learner in (am.FPOP(layout, T, log_scale=0.02), am.UCRL2(layout, 0.1, 0.01, 0.01)):
        am.play(mdp, am.losses.Stochastic(random_mean(mdp)), learner, T)
        state = learner._state
        assert np.array_equal(state.rows.status == KNOWN, layout.known[0])
        assert np.array_equal(state.rows.centre[known], mdp.flat[known])
        assert {FREE, BOUND, KNOWN} == set(state.rows.status.tolist())
        width = np.where(state.rows.status == FREE, 2.0, state.rows.width)
        value = np.zeros(layout.n_states)
        for r in reversed(range(layout.n_rows)):
            row = slice(*layout.row_start[r : r + 2])
            f, centre = -value[successors[row]], state.rows.centre[row]
            best = best_row_of(f, 0.0 * f, 0.0 * f + 1.0, centre, float(width[r]))
            assert state.q[r] == pytest.approx(state.costs[r] - best, abs=1e-6)
            x = r // layout.n_actions
            value[x] = state.q[x * layout.n_actions : (x + 1) * layout.n_actions].min()
