"""O-REPS, UC-O-REPS, Bandit UC-O-REPS and the L1 variants: each against an oracle of its own."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners.mirror.mirror_descent import OWN, UPPER
from advmdp.kernels.model.row_status import BOUND
from advmdp.layout import Layout, Table
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import width_log_term
from advmdp.steps.confidence import KnownTransition, L1Set
from tests.reference.brute_force import all_trajectories
from tests.reference.tables import greatest_difference

SIZES, ACTIONS = (1, 3, 3, 1), 2


def world(seed: int) -> tuple[am.LayeredMDP, list[Table]]:
    mdp = am.families.random_mdp(SIZES, ACTIONS, seed=seed)
    rng = np.random.default_rng(seed)
    return mdp, [mdp.layout.pairs(rng.random(mdp.layout.n_rows)) for _ in range(3)]


def against_the_leader(episode: int, history: am.losses.History) -> Table:
    """An adversary that hits what was played most: loss 1 on the most visited action."""
    counts = [np.zeros((n, ACTIONS)) for n in SIZES[:-1]]
    for played in history[-50:]:
        for k, a in enumerate(played.actions):
            counts[k][played.states[k], a] += 1
    return [(c == c.max(axis=1, keepdims=True)).astype(float) for c in counts]


@pytest.mark.parametrize("kind", ["stochastic", "switching", "adaptive", "leader"])
@pytest.mark.parametrize("seed", range(3))
def test_full_information_o_reps_keeps_its_bound_on_every_sequence(kind: str, seed: int) -> None:
    mdp, (one, two, _) = world(seed)
    losses = {
        "stochastic": am.losses.Stochastic(one),
        "switching": am.losses.Switching([one, two], 37),
        "adaptive": am.losses.Adaptive(one, strength=1.0, memory=0.9),
        "leader": am.losses.Custom(against_the_leader),
    }[kind]
    n_episodes = 300 if kind == "leader" else 2000
    learner = am.OREPS(mdp.layout, mdp.transitions, n_episodes)
    run = am.play(mdp, losses, learner, n_episodes, seed=seed)
    layers, pairs = mdp.layout.n_layers, mdp.layout.n_states * ACTIONS
    bound = 2 * layers * np.sqrt(n_episodes * np.log(pairs / layers))
    assert run.regret[-1] <= bound
    assert run.decomposition is not None
    assert np.allclose(run.decomposition.error, 0, atol=1e-8)  # P is known: q^_t = q_t
    assert np.allclose(run.decomposition.bias1, 0, atol=1e-8)


def test_the_first_measure_of_o_reps_has_the_largest_entropy() -> None:
    mdp, _ = world(5)
    q = [t.sum(axis=2) for t in am.OREPS(mdp.layout, mdp.transitions, 10).occupancy()]
    pairs = [cp.Variable(t.shape, nonneg=True) for t in q]
    constraints = [cp.sum(pairs[0]) == 1]
    for k in range(len(q) - 1):
        inflow = sum(mdp.transitions[k][:, a, :].T @ pairs[k][:, a] for a in range(ACTIONS))
        constraints.append(inflow == cp.sum(pairs[k + 1], axis=1))
    objective = cp.Maximize(sum(cp.sum(cp.entr(p)) for p in pairs))
    cp.Problem(objective, constraints).solve(solver=cp.CLARABEL)
    for ours, theirs in zip(q, pairs, strict=True):
        assert np.allclose(ours, theirs.value, atol=1e-5)


@pytest.mark.parametrize("n_episodes", [0, 3, 150])
def test_the_bandit_estimator_of_o_reps_is_unbiased(n_episodes: int) -> None:
    mdp, (mean, losses, _) = world(1)

    def played() -> am.OREPSBandit:
        learner = am.OREPSBandit(mdp.layout, mdp.transitions, 1000)
        if n_episodes:
            am.play(mdp, am.losses.Stochastic(mean), learner, n_episodes, seed=3)
        return learner

    expectation = [np.zeros_like(table) for table in losses]
    for states, actions, chance in all_trajectories(mdp.transitions, played().policy()):
        learner = played()
        seen = [losses[k][states[k], a] for k, a in enumerate(actions)]
        learner.update(am.Trajectory(states, actions, seen))
        for k, (a, value) in enumerate(zip(actions, learner.estimate_of_last, strict=True)):
            expectation[k][states[k], a] += chance * value
    assert greatest_difference(expectation, losses) <= 1e-10


def test_with_a_known_transition_upper_bounds_are_the_occupancy_itself() -> None:
    # u = q_t over a set of one element: UOB-REPS on it is bandit O-REPS with gamma.
    mdp, (mean, _, _) = world(2)
    regrets = []
    for estimator in (UPPER, OWN):
        learner = MirrorDescent(
            mdp.layout,
            400,
            eta=0.1,
            gamma=0.05,
            log_term=1.0,
            estimator=estimator,
            confidence=KnownTransition(mdp.layout, mdp.transitions),
        )
        regrets.append(am.play(mdp, am.losses.Stochastic(mean), learner, 400, seed=1).regret)
    assert np.allclose(regrets[0], regrets[1], rtol=0, atol=1e-6)


def test_one_layer_of_o_reps_is_hedge() -> None:
    layout = Layout(layer_sizes=(1, 1), n_actions=4)
    learner = am.OREPS(layout, [np.ones((1, 4, 1))], 50, eta=0.3)
    rng = np.random.default_rng(0)
    total = np.zeros(4)
    for _ in range(50):
        table = rng.random((1, 4))
        learner.update(am.FullInformation([0, 0], [0], [table]))
        total += table[0]
        weights = np.exp(-0.3 * (total - total.min()))
        assert np.allclose(learner.policy()[0][0], weights / weights.sum(), atol=1e-12)


def steps_by_hand(
    learner: MirrorDescent, scale: float, estimate: Callable[..., np.ndarray], seed: int
) -> None:
    """Replay random episodes with the public steps alone and compare every policy."""
    layout = learner.layout
    mdp, (mean, _, _) = world(seed)
    rng = np.random.default_rng(seed)
    visits = [np.zeros((n, ACTIONS)) for n in SIZES[:-1]]
    moved = [np.zeros_like(t) for t in mdp.transitions]
    opened = [n.copy() for n in visits]
    log_term = width_log_term(layout, learner.n_episodes, 0.1) * scale
    everything = L1Set.from_counts(layout, visits, moved, log_term)
    current, q = everything, learner.occupancy()
    for _ in range(60):
        policy = am.policy_of(q, layout)
        assert greatest_difference(policy, learner.policy()) <= 1e-7
        states, actions = [0], []
        for k in range(layout.n_layers):
            actions.append(int(rng.choice(ACTIONS, p=policy[k][states[-1]])))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        losses = [mean[k][states[k], a] for k, a in enumerate(actions)]
        fed = estimate(policy, current, q, states, actions, losses)
        weights = [t.copy() for t in q]
        doubled = False
        for k, a in enumerate(actions):
            visits[k][states[k], a] += 1
            moved[k][states[k], a, states[k + 1]] += 1
            weights[k][states[k], a] *= np.exp(-learner.eta * fed[k])
            start = opened[k][states[k], a]
            doubled = doubled or visits[k][states[k], a] >= max(1, 2 * start)
        if doubled:
            opened = [n.copy() for n in visits]
            current = L1Set.from_counts(layout, visits, moved, log_term)
        q = am.project(weights, current).occupancy
        learner.update(am.Trajectory(states, actions, losses))


def test_the_l1_learner_is_its_steps_one_after_the_other() -> None:
    learner = am.UOBREPSL1(Layout(SIZES, ACTIONS), 1000, eta=0.4, gamma=0.05, log_scale=0.02)

    def upper(policy, current, q, states, actions, losses):  # type: ignore[no-untyped-def]
        u = am.upper_occupancy(policy, current)
        return [
            x / (u[k][states[k], a] + 0.05)
            for k, (a, x) in enumerate(zip(actions, losses, strict=False))
        ]

    steps_by_hand(learner, 0.02, upper, seed=7)
    assert (learner._state.rows.status == BOUND).any()  # some ball was narrower than the simplex


def test_bandit_uc_o_reps_is_its_steps_one_after_the_other() -> None:
    learner = am.BanditUCOREPS(Layout(SIZES, ACTIONS), 1000, eta=0.05, alpha=0.2, log_scale=0.02)

    def own(policy, current, q, states, actions, losses):  # type: ignore[no-untyped-def]
        return [
            x / (max(q[k][states[k]].sum(), 0.2) * policy[k][states[k], a])
            for k, (a, x) in enumerate(zip(actions, losses, strict=False))
        ]

    steps_by_hand(learner, 0.02, own, seed=8)
    assert learner.episodes == 60


def test_the_printed_bound_errs_where_it_is_said_to() -> None:
    mdp = am.families.random_mdp((1, 3, 1, 3, 1), 2, seed=0)
    mean = mdp.layout.pairs(np.full(mdp.layout.n_rows, 0.5))
    right = am.UOBREPSL1(mdp.layout, 400, log_scale=0.05)
    printed = am.UOBREPSL1Printed(mdp.layout, 400, log_scale=0.05)
    above = below = 0
    rng = np.random.default_rng(0)
    for _ in range(400):
        states, actions = [0], []
        for k in range(mdp.layout.n_layers):
            actions.append(int(rng.integers(2)))
            row = mdp.transitions[k][states[-1], actions[-1]]
            states.append(int(rng.choice(len(row), p=row)))
        losses = [mean[k][states[k], a] for k, a in enumerate(actions)]
        # same data; the policies differ only through u, so compare u / pi
        pi = [learner.policy() for learner in (right, printed)]
        for learner in (right, printed):
            learner.update(am.Trajectory(states, actions, losses))
        for k, a in enumerate(actions):
            ours = right.upper_occupancy_of_last[k] / pi[0][k][states[k], a]
            theirs = printed.upper_occupancy_of_last[k] / pi[1][k][states[k], a]
            above += theirs > ours + 0.01
            below += theirs < ours - 0.01
    assert above > 0  # widths between 1 and 2
    assert below > 0  # behind the layer with a single state


def test_shifted_transitions_keep_every_state_alive() -> None:
    mdp, (mean, _, _) = world(3)
    learner = am.ShiftedBanditUCOREPS(mdp.layout, 2000, log_scale=0.01)
    for episode in range(0, 2000, 200):
        am.play(mdp, am.losses.Stochastic(mean), learner, 200, seed=episode)
        for table in learner.occupancy()[1:]:
            assert table.sum(axis=(1, 2)).min() >= learner.alpha * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_projection_onto_a_ball_with_a_floor_against_a_conic_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout, alpha = Layout((1, 3, 4, 1), 2), 0.11
    size, row = layout.row_sizes(), layout.entry_rows()
    centre = rng.gamma(0.5, size=layout.n_entries)
    centre = (1 - alpha * size[row]) * centre / np.bincount(row, centre)[row] + alpha
    width = (1 - alpha * size) * rng.choice([2.0, 0.6, 0.2], size=layout.n_rows)
    weights = rng.gamma(0.4, size=layout.n_entries) + 1e-4
    ours = layout.flat_triples(
        am.project(weights, L1Set(layout, centre, width, floor=alpha)).occupancy
    )
    q, gap = cp.Variable(layout.n_entries, nonneg=True), cp.Variable(layout.n_entries)
    rows = np.zeros((layout.n_rows, layout.n_entries))
    rows[row, np.arange(layout.n_entries)] = 1
    per_row = rows @ q
    spread = rows.T @ per_row
    successor = layout.entry_successors()
    constraints = [
        cp.abs(q - cp.multiply(centre, spread)) <= gap,
        rows @ gap <= cp.multiply(np.where(size == 1, 2.0, width), per_row),
        q >= cp.multiply(np.where(size[row] == 1, 0.0, alpha), spread),
        cp.sum(q[layout.layer_entries(0)]) == 1,
    ]
    for x in range(1, layout.n_states - 1):
        out = slice(int(layout.row_start[x * 2]), int(layout.row_start[x * 2 + 2]))
        constraints.append(cp.sum(q[np.flatnonzero(successor == x)]) == cp.sum(q[out]))
    cp.Problem(cp.Minimize(cp.sum(cp.kl_div(q, weights))), constraints).solve(solver=cp.CLARABEL)
    assert np.allclose(ours, q.value, atol=1e-4)  # what the conic solver gives


@pytest.mark.parametrize("make", [am.UCOREPS, am.UCOREPSBox])
def test_uc_o_reps_learns_without_bias_terms(make: Callable[..., am.UCOREPS]) -> None:
    mdp, (mean, _, _) = world(4)
    learner = make(mdp.layout, 3000, log_scale=0.05)
    run = am.play(mdp, am.losses.Stochastic(mean), learner, 3000)
    uniform = am.play(mdp, am.losses.Stochastic(mean), am.Uniform(mdp.layout), 3000)
    assert run.regret[-1] < 0.25 * uniform.regret[-1]
    assert run.decomposition is not None
    assert np.allclose(run.decomposition.bias1, 0, atol=1e-9)
    assert np.allclose(run.decomposition.bias2, 0, atol=1e-9)
    assert np.allclose(run.decomposition.total(), run.regret, atol=1e-8)
