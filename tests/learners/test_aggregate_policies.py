"""Policy optimisation on the U-function: enumeration, plain copies, one layer, a known twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.brute_force import all_trajectories
from tests.reference.contract import DENSE, assert_same_state, feedback_of, follow, knowing
from tests.reference.instances import random_kernel
from tests.reference.plain_hedge import q_values
from tests.reference.plain_policy_optimisation import PlainAggregate, state_bounds
from tests.reference.plain_uob_reps import random_episodes
from tests.reference.tables import greatest_difference, occupancy, pair_sums

EAGER: dict[str, Any] = {"eta_scale": 20.0}
TINY = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
LOSSES = [np.random.default_rng(5).random((n, 2)) for n in (1, 2, 2)]


def unknown(mdp: am.LayeredMDP, n: int, **more: Any) -> am.AggregateDilatedBonus:
    return am.AggregateDilatedBonus(mdp.layout, n, log_scale=0.01, **{**EAGER, **more})


def known(mdp: am.LayeredMDP, n: int, **more: Any) -> am.KnownAggregateDilatedBonus:
    return am.KnownAggregateDilatedBonus(mdp.layout, mdp.transitions, n, **{**EAGER, **more})


@pytest.mark.parametrize("make", [known, unknown])
def test_it_is_the_plain_copy(make: Any) -> None:
    sizes, n = (1, 3, 2, 4, 1), 60
    kernel = random_kernel(np.random.default_rng(0), sizes, 3)
    mdp = am.LayeredMDP(am.Layout(sizes, 3), kernel)
    fast = make(mdp, n)
    plain = PlainAggregate(
        *(sizes, 3, fast.eta, fast.gamma, fast.log_term), known=kernel if make is known else None
    )
    for episode in random_episodes(1, kernel, n):
        fast.update(am.Aggregate(episode.states, episode.actions, sum(episode.losses)))
        plain.update(episode)
        assert greatest_difference(fast.policy(), plain.policy) < 1e-11
    assert fast.policy()[0].std() > 1e-3


@pytest.mark.parametrize("make", [known, unknown])
def test_the_estimates_average_to_the_u_function(make: Any) -> None:
    """E_t of U^ = q U / (u + gamma); U and the way to it by enumeration of all trajectories."""
    learner = make(TINY, 100)
    follow(learner, TINY, 0, 60)
    policy, state = learner.policy(), learner.state()
    rows = learner.confidence_set().rows
    bounds = (TINY.layout.triples(rows.lower), TINY.layout.triples(rows.upper))
    most = state_bounds(policy, *bounds, 1)
    q = pair_sums(occupancy(TINY.transitions, policy))
    mean, whole = ([np.zeros_like(layer) for layer in policy] for _ in range(2))
    for states, actions, chance in all_trajectories(TINY.transitions, policy):
        learner.restore(state)
        feedback = feedback_of(learner, states, actions, LOSSES)
        learner.update(feedback)
        for k, a in enumerate(actions):
            mean[k][states[k], a] += chance * learner.estimate_of_last[k]
            whole[k][states[k], a] += chance * feedback.total
    for k in range(3):
        bound = policy[k] * most[k][:, None]
        assert (q[k] <= bound + 1e-12).all()
        if make is known:  # the bias is that of gamma alone
            assert np.allclose(bound, q[k], rtol=1e-12, atol=0)
        u_function = whole[k] / q[k]
        wanted = u_function * q[k] / (bound + learner.gamma)
        assert np.allclose(mean[k], wanted, rtol=1e-9, atol=0)
    costs, _ = q_values(TINY.transitions, LOSSES, policy)
    for total, share, cost in zip(whole, q, costs, strict=True):
        before = total / share - cost  # U - Q, what was lost before x
        assert np.ptp(before, axis=1).max() < 1e-12
    assert before.min() > 0.1


@pytest.mark.parametrize("make", [known, unknown])
def test_with_one_layer_it_is_dilated_bonus_to_the_last_bit(make: Any) -> None:
    mdp = am.families.random_mdp((1, 1), 3, seed=2)
    one = make(mdp, 200)
    two = am.DilatedBonus(mdp.layout, 200, log_scale=0.01, **EAGER)
    losses = am.losses.Stochastic(np.array([0.2, 0.5, 0.9]))
    for learner in (one, two):
        am.play(mdp, losses, learner, 150, seed=1)
    assert np.array_equal(one.policy()[0], two.policy()[0])
    assert np.array_equal(one.state()["score"], two.state()["score"])
    assert one.policy()[0].max() > 0.4


def test_with_all_rows_known_it_is_the_known_learner() -> None:
    all_known = knowing(DENSE, 1.1)
    twins = [unknown(all_known, 120), known(DENSE, 120)]
    for learner, mdp in zip(twins, (all_known, DENSE), strict=True):
        follow(learner, mdp, 0, 100)
    assert_same_state(*twins)
    assert (twins[1].epoch, twins[1].mean_width) == (1, 0.0)
    truth = pair_sums(occupancy(DENSE.transitions, twins[1].policy()))
    for bound in twins[1].occupancy_bounds():
        assert greatest_difference(bound, truth) < 1e-14
    other = am.families.random_mdp((1, 2, 1), 2, seed=0)
    with pytest.raises(am.InvalidInput, match="transitions"):
        am.KnownAggregateDilatedBonus(DENSE.layout, other.transitions, 10)


def test_it_learns_and_losses_of_the_path_are_refused() -> None:
    losses = am.losses.Stochastic([np.where(t > 0.5, 0.8, 0.2) for t in LOSSES])
    small = {"eta_scale": 10.0, "gamma_scale": 0.001, "bonus_scale": 0.1}
    uniform = am.play(TINY, losses, am.Uniform(TINY.layout), 4000, seed=2).regret[-1]
    for make in (known, unknown):
        learner = make(TINY, 4001, **small)
        run = am.play(TINY, losses, learner, 4000, seed=2, feedback="aggregate")
        assert run.regret[-1] < 0.6 * uniform
    with pytest.raises(am.InvalidInput, match="give it an Aggregate, not a Trajectory"):
        learner.update(am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.5, 0.5, 0.5]))
