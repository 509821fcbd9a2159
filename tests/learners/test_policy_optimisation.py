"""Policy optimisation: plain copies, linear programs, enumeration, closed forms, MDP-E."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.brute_force import all_trajectories, extreme_kernels
from tests.reference.contract import flat, follow, knowing, losses_of
from tests.reference.instances import random_kernel
from tests.reference.linear_programs import lower_occupancy_lp, upper_occupancy_lp
from tests.reference.plain_hedge import (
    PlainMDPE,
    masses,
    q_values,
    random_losses,
    sample_path,
)
from tests.reference.plain_policy_optimisation import (
    PlainAPOMVP,
    PlainDilated,
    PlainOPPO,
    PlainPOMD,
    state_bounds,
)
from tests.reference.plain_uob_reps import Episode, random_episodes
from tests.reference.tables import Table, greatest_difference, occupancy, pair_sums

SHAPES = [((1, 1), 3), ((1, 3, 1), 2), ((1, 3, 2, 4, 1), 3)]
T = 120


def bounds_of(learner: Any) -> tuple[Table, Table]:
    """The confidence set of the coming episode as tables, zero where the layout has no entry."""
    rows, layout = learner.confidence_set().rows, learner.layout
    return layout.triples(rows.lower), layout.triples(rows.upper)


def trajectory(episode: Episode) -> am.Trajectory:
    return am.Trajectory(episode.states, episode.actions, episode.losses)


# ---------------------------------------------------------------------- plain copies


@pytest.mark.parametrize(("make", "copy"), [(am.DilatedBonus, PlainDilated), (am.POMD, PlainPOMD)])
@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES)
def test_bandit_policies_equal_the_plain_copy(
    make: Any, copy: Any, sizes: tuple[int, ...], n_actions: int
) -> None:
    kernel = random_kernel(np.random.default_rng(0), sizes, n_actions)
    fast = make(am.Layout(sizes, n_actions), T, eta_scale=20.0, log_scale=0.01)
    plain = copy(sizes, n_actions, fast.eta, fast.gamma, fast.log_term)
    for episode in random_episodes(1, kernel, T):
        fast.update(trajectory(episode))
        plain.update(episode)
        assert greatest_difference(fast.policy(), plain.policy) < 1e-11
    assert (fast.episodes, fast.epoch) == (T, plain.counters.epoch)
    assert greatest_difference(fast.visits, plain.counters.visits) == 0
    assert len(fast.epoch_starts) == fast.epoch
    assert fast.epoch_starts[1] == 1  # every first visit opens an epoch
    if max(sizes) > 1:
        assert 0.0 < fast.mean_width < 1.0
        assert fast.policy()[0].std() > 1e-3  # something was learnt


@pytest.mark.parametrize(("sizes", "n_actions"), SHAPES[1:])
def test_full_information_policies_equal_the_plain_copy(
    sizes: tuple[int, ...], n_actions: int
) -> None:
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, sizes, n_actions)
    layout, n_layers = am.Layout(sizes, n_actions), len(sizes) - 1
    log_term = np.log(T * layout.n_states * n_actions / 0.1)
    oppo = am.OPPO(layout, T, eta_scale=3.0, bonus_scale=0.02)
    apo = am.APOMVP(layout, T, bonus_scale=0.05)
    wide = 0.02 * n_layers * np.sqrt(np.array(sizes[1:]) * log_term)
    to_come = np.arange(n_layers - 1, -1, -1)
    pairs = [
        (oppo, PlainOPPO(sizes, n_actions, wide, oppo.eta)),
        (apo, PlainAPOMVP(sizes, n_actions, 0.05 * to_come * np.sqrt(log_term / 2), apo.eta)),
    ]
    for losses in random_losses(rng, kernel, T):
        for fast, plain in pairs:
            states, actions = sample_path(rng, kernel, plain.policy)
            fast.update(am.FullInformation(states, actions, losses))
            plain.update(Episode(states, actions, []), losses)
            assert greatest_difference(fast.policy(), plain.policy) < 1e-11
    assert apo.epoch == pairs[1][1].counters.epoch
    assert greatest_difference(oppo.visits, pairs[0][1].counters.visits) == 0


# ---------------------------------------------------------------------- the bounds


WORLDS = {
    "dense": am.families.random_mdp((1, 3, 2, 3, 1), 2, seed=0),
    "declared support": am.families.random_mdp((1, 5, 5, 4, 1), 2, seed=1, n_successors=2),
    "some rows known": knowing(am.families.random_mdp((1, 3, 2, 3, 1), 2, seed=0), 0.4),
}


@pytest.mark.parametrize("world", WORLDS)
def test_occupancy_bounds_are_those_of_the_linear_programs(world: str) -> None:
    mdp = WORLDS[world]
    learner = am.DilatedBonus(mdp.layout, 400, eta_scale=30.0, log_scale=0.02)
    follow(learner, mdp, 0, 300)
    policy, (lower, upper) = learner.policy(), bounds_of(learner)
    u, low = learner.occupancy_bounds()
    assert greatest_difference(u, upper_occupancy_lp(policy, lower, upper)) < 1e-9
    assert greatest_difference(low, lower_occupancy_lp(policy, lower, upper)) < 1e-9
    assert greatest_difference(u, am.upper_occupancy(policy, learner.confidence_set())) < 1e-12
    assert max(float((a - b).max()) for a, b in zip(u, low, strict=True)) > 0.01
    truth = pair_sums(occupancy(mdp.transitions, policy))  # the set contains P with this seed
    for most, least, q in zip(u, low, truth, strict=True):
        assert (least <= q + 1e-12).all()
        assert (q <= most + 1e-12).all()


def test_with_a_known_transition_the_bounds_are_the_occupancy() -> None:
    mdp = knowing(am.families.random_mdp((1, 4, 3, 4, 1), 3, seed=3), 1.1)
    learner = am.DilatedBonus(mdp.layout, 60, eta_scale=30.0)
    follow(learner, mdp, 0, 50)
    truth = pair_sums(occupancy(mdp.transitions, learner.policy()))
    for bound in learner.occupancy_bounds():
        assert greatest_difference(bound, truth) < 1e-14
    assert (learner.epoch, learner.mean_width) == (1, 0.0)


def test_the_bound_that_divided_the_losses_is_that_of_the_episode() -> None:
    mdp = WORLDS["dense"]
    for make in (am.DilatedBonus, am.POMD):
        learner = make(mdp.layout, 100, log_scale=0.02)
        follow(learner, mdp, 0, 60)
        u, _ = learner.occupancy_bounds()
        learner.update(am.Trajectory([0, 2, 1, 0, 0], [1, 0, 1, 0], [0.5, 0.0, 1.0, 0.25]))
        path = [(0, 1), (2, 0), (1, 1), (0, 0)]
        wanted = np.array([u[k][pair] for k, pair in enumerate(path)])
        assert np.allclose(learner.upper_occupancy_of_last, wanted, rtol=1e-14, atol=0)
        seen = {am.DilatedBonus: [1.75, 1.25, 1.25, 0.25], am.POMD: [0.5, 0.0, 1.0, 0.25]}[make]
        estimate = np.array(seen) / (wanted + learner.gamma)
        assert np.allclose(learner.estimate_of_last, estimate, rtol=1e-14, atol=0)


# ---------------------------------------------------------------------- the bonus


def test_the_bonus_is_the_dilated_value_in_the_worst_of_all_transitions() -> None:
    # By enumeration of the vertices: B(x, a) = max over P of sum_j (1 + 1/L)^j E[b(x_{k+j})].
    mdp = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)
    learner = am.DilatedBonus(mdp.layout, 200, eta_scale=30.0, log_scale=0.02)
    follow(learner, mdp, 0, 150)
    policy, (lower, upper) = learner.policy(), bounds_of(learner)
    kernels = list(extreme_kernels(lower, upper))
    assert len(kernels) >= 16
    reach = [masses(kernel, policy) for kernel in kernels]
    n_layers, gamma = 3, learner.gamma
    local = []
    for k, share in enumerate(policy):
        u, low = (
            share * best(layer[k] for layer in reach)[:, None]
            for best in (lambda of: np.max(list(of), axis=0), lambda of: np.min(list(of), axis=0))
        )
        b = (share * (3 * gamma * n_layers + n_layers * (u - low)) / (u + gamma)).sum(axis=1)
        assert (b >= 0.0).all()
        assert (b <= 4 * n_layers).all()
        local.append(b)
    bonus = [np.full_like(share, -np.inf) for share in policy]
    for kernel in kernels:
        costs, _ = q_values(
            [(1 + 1 / n_layers) * layer for layer in kernel],
            [np.repeat(b[:, None], 2, axis=1) for b in local],
            policy,
        )
        bonus = [np.maximum(a, b) for a, b in zip(bonus, costs, strict=True)]
    learner.update(am.Trajectory([0, 1, 0, 0], [0, 1, 1], [0.0, 0.0, 0.0]))  # nothing but B
    for before, after, b in zip(policy, learner.policy(), bonus, strict=True):
        wanted = before * np.exp(learner.eta * b)
        assert np.allclose(after, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-10, atol=0)
    assert max(np.ptp(layer, axis=1).max() for layer in bonus) > 0.01


@pytest.mark.parametrize("log_scale", [1.0, 0.01])
def test_with_the_constants_of_the_theory_no_step_is_large(log_scale: float) -> None:
    sizes, n_layers = (1, 3, 2, 3, 1), 4
    learner = am.DilatedBonus(am.Layout(sizes, 2), 500, log_scale=log_scale)
    plain = PlainDilated(sizes, 2, learner.eta, learner.gamma, learner.log_term)
    kernel = random_kernel(np.random.default_rng(2), sizes, 2)
    for t, episode in enumerate(random_episodes(3, kernel, 40)):
        if t % 8 == 0:
            assert max(b.max() for b in plain.local_bonus()) <= 4 * n_layers
            most = max(layer.max() for layer in plain.dilated_bonus())
            assert 0.0 < learner.eta * most <= 1 / (2 * n_layers)
        learner.update(trajectory(episode))
        assert learner.eta * learner.estimate_of_last.max() <= 0.5
        plain.update(episode)


# ---------------------------------------------------------------------- the estimator


def test_the_estimates_average_to_the_q_values() -> None:
    # E_t of Q^(x, a) = q_t(x, a) Q^{pi_t}(x, a) / (u_t(x, a) + gamma), over all trajectories.
    mdp = am.families.random_mdp((1, 2, 2, 1), 2, seed=4)

    def some_way() -> am.DilatedBonus:
        learner = am.DilatedBonus(mdp.layout, 100, log_scale=0.02, eta_scale=20.0, bonus_scale=0)
        follow(learner, mdp, 0, 60)
        return learner

    learner = some_way()
    policy, losses = learner.policy(), losses_of(mdp, 0)
    u = state_bounds(policy, *bounds_of(learner), 1)
    q = pair_sums(occupancy(mdp.transitions, policy))
    mean = [np.zeros_like(layer) for layer in policy]
    state = learner.state()
    for states, actions, chance in all_trajectories(mdp.transitions, policy):
        learner.restore(state)
        seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
        learner.update(am.Trajectory(states, actions, seen))
        for k, a in enumerate(actions):
            mean[k][states[k], a] += chance * learner.estimate_of_last[k]
    costs, _ = q_values(mdp.transitions, losses, policy)
    for k, cost in enumerate(costs):
        wanted = q[k] * cost / (policy[k] * u[k][:, None] + learner.gamma)
        assert np.allclose(mean[k], wanted, rtol=1e-9, atol=0)


# ---------------------------------------------------------------------- special cases


@pytest.mark.parametrize("make", [am.DilatedBonus, am.POMD])
def test_one_layer_is_exp3_in_closed_form(make: Any) -> None:
    # The bonus b(x_0) + 0 is the same for all actions: it takes no part.
    rng, n_actions, n_episodes = np.random.default_rng(3), 4, 300
    learner = make(am.Layout((1, 1), n_actions), n_episodes, eta_scale=2.0)
    total = np.zeros(n_actions)
    for _ in range(n_episodes):
        weights = np.exp(-learner.eta * total)
        policy = weights / weights.sum()
        assert np.allclose(learner.policy()[0][0], policy, rtol=1e-11, atol=0)
        action, loss = int(rng.choice(n_actions, p=policy)), float(rng.random())
        total[action] += loss / (policy[action] + learner.gamma)
        learner.update(am.Trajectory([0, 0], [action], [loss]))


@pytest.mark.parametrize("n_successors", [None, 2])
def test_with_a_known_transition_and_all_losses_it_is_mdp_e(n_successors: int | None) -> None:
    mdp = am.families.random_mdp((1, 4, 3, 1), 3, seed=5, n_successors=n_successors)
    knows, rng = knowing(mdp, 1.1), np.random.default_rng(6)
    known = am.MDPE(mdp.layout, mdp.transitions, T, eta_scale=4.0)
    plain = PlainMDPE(mdp.transitions, T)
    plain.rates = [0.07] * 3
    apo = am.APOMVP(knows.layout, T, eta=known.eta)
    oppo = am.OPPO(knows.layout, T, eta=0.07)
    for losses in random_losses(rng, mdp.transitions, T):
        states, actions = sample_path(rng, mdp.transitions, known.policy())
        for learner in (known, apo, oppo):
            learner.update(am.FullInformation(states, actions, losses))
        plain.update(losses)
        assert greatest_difference(apo.policy(), known.policy()) < 1e-12
        assert greatest_difference(oppo.policy(), plain.policy) < 1e-12
    assert apo.epoch == 1


def test_where_there_is_nothing_to_choose_every_loss_is_seen_as_it_is() -> None:
    # One state in each layer and one action: every pair is visited, and u = 1.
    learner = am.POMD(am.Layout((1, 1, 1, 1), 1), 10, gamma=1e-12)
    learner.update(am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.1, 0.2, 0.4]))
    assert np.allclose(learner.estimate_of_last, [0.1, 0.2, 0.4], rtol=1e-9)
    assert np.allclose(learner.upper_occupancy_of_last, 1.0, rtol=1e-15)


def test_without_a_bonus_only_visited_states_change() -> None:
    mdp = WORLDS["dense"]
    learner = am.DilatedBonus(mdp.layout, 50, bonus_scale=0, eta_scale=10.0)
    before = learner.policy()
    learner.update(am.Trajectory([0, 2, 1, 0, 0], [1, 0, 1, 0], [1.0, 1.0, 1.0, 1.0]))
    moved = [np.abs(a - b).max(axis=1) > 0 for a, b in zip(learner.policy(), before, strict=True)]
    assert [np.flatnonzero(layer).tolist() for layer in moved] == [[0], [2], [1], [0]]


# ---------------------------------------------------------------------- learning


def test_in_the_deep_sea_the_bonus_finds_what_lies_deep() -> None:
    # 1,024 random dives find the treasure once; without a bonus the policy has turned by then.
    mdp, n_episodes = am.families.deep_sea(10), 20_000
    losses = am.losses.Stochastic(mdp.natural_loss)
    regret = {}
    for bonus in (0.0, 1.0):
        scales = {"eta_scale": 10.0, "gamma_scale": 0.001, "log_scale": 0.001}
        learner = am.DilatedBonus(mdp.layout, n_episodes, bonus_scale=bonus, **scales)
        regret[bonus] = am.play(mdp, losses, learner, n_episodes, seed=0).regret[-1] / n_episodes
    assert regret[0.0] > 0.98
    assert regret[1.0] < 0.75


# ---------------------------------------------------------------------- counts that are kept


def test_adopted_counts_give_the_set_and_the_estimate_of_the_earlier_learner() -> None:
    mdp = WORLDS["declared support"]
    for make, scale in ((am.DilatedBonus, {"log_scale": 0.02}), (am.APOMVP, {}), (am.OPPO, {})):
        earlier, heir = (make(mdp.layout, 300, **scale) for _ in range(2))
        follow(earlier, mdp, 0, 256)
        heir.adopt_counts(earlier)
        assert heir.episodes == 0
        assert greatest_difference(heir.visits, earlier.visits) == 0
        assert np.array_equal(flat(heir.policy()), flat(make(mdp.layout, 300).policy()))
        if make is am.DilatedBonus:
            heir.restore(heir.state())  # its columns fit its set, or this would refuse
            assert 0.0 < heir.mean_width <= earlier.mean_width
        elif make is am.OPPO:
            mine, theirs = heir.state(), earlier.state()
            for part in ("estimate.chance", "estimate.bonus"):
                assert np.array_equal(mine[part], theirs[part])


def test_rows_that_share_their_counts_have_one_set_and_one_estimate() -> None:
    mdp = am.families.river_swim(4, 6, pooled=True)
    layout, counter = mdp.layout, mdp.layout.counter_row
    pooled = np.flatnonzero(counter != np.arange(layout.n_rows))
    assert len(pooled) > 5
    dilated, oppo = am.DilatedBonus(layout, 100, log_scale=0.01), am.OPPO(layout, 100)
    for learner, part in ((dilated, "belief.rows.upper"), (oppo, "estimate.chance")):
        follow(learner, mdp, 0, 60)
        table, start = learner.state()[part], layout.row_start
        for r in pooled:
            first = counter[r]
            mine, theirs = (table[start[i] : start[i + 1]] for i in (r, first))
            assert np.array_equal(mine, theirs)
        assert len(np.unique(table)) > 4
    u, _ = dilated.occupancy_bounds()
    assert (
        greatest_difference(u, am.upper_occupancy(dilated.policy(), dilated.confidence_set()))
        < 1e-12
    )


# ---------------------------------------------------------------------- refusals


def test_refusals_name_the_argument() -> None:
    layout = am.Layout((1, 2, 1), 2)
    cases = [
        (lambda: am.DilatedBonus(layout, 0), "n_episodes"),
        (lambda: am.DilatedBonus(layout, 10, delta=1.0), "delta"),
        (lambda: am.DilatedBonus(layout, 10, eta=-1.0), "eta"),
        (lambda: am.DilatedBonus(layout, 10, gamma=0.0), "gamma"),
        (lambda: am.DilatedBonus(layout, 10, bonus_scale=-0.1), "bonus_scale"),
        (lambda: am.DilatedBonus(layout, 10, width_scale=np.nan), "width_scale"),
        (lambda: am.DilatedBonus(layout, 10, dilation=-1.0), "dilation"),
        (lambda: am.POMD(layout, 10, gamma_scale=0.0), "gamma_scale"),
        (lambda: am.POMD(layout, 10, log_scale=0.0), "log_scale"),
        (lambda: am.OPPO(layout, 10, eta_scale=0.0), "eta_scale"),
        (lambda: am.APOMVP(layout, 10, bonus_scale=-1.0), "bonus_scale"),
    ]
    for call, message in cases:
        with pytest.raises(am.InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [am.DilatedBonus, am.OPPO])
def test_an_episode_beyond_the_horizon_is_refused(make: Any) -> None:
    mdp = WORLDS["dense"]
    learner = make(mdp.layout, 5)
    follow(learner, mdp, 0, 5)
    with pytest.raises(am.InvalidInput, match="all 5 episodes are played"):
        follow(learner, mdp, 5, 6)
