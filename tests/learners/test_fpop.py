"""FPOP and FPL: transcription, perturbations, follow-the-leader, optimism, hard sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.kernels.model.row_status import FREE
from advmdp.learners.fpop import FPL, FPOP
from tests.reference.plain_fpop import PlainFPOP
from tests.reference.shadow import (
    Shadow,
    assert_greedy,
    assert_resumes,
    assert_same_both_ways,
    optimal_values,
    random_mean,
    worlds,
)
from tests.reference.tables import greatest_difference


def support(layout: am.Layout) -> Any:
    return [layer > 0 for layer in layout.triples(np.ones(layout.n_entries))]


def flat(table: Any) -> Any:
    return np.concatenate([layer.ravel() for layer in table])


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("log_scale", [0.01, 1.0])
@pytest.mark.parametrize("name", worlds())
def test_three_hundred_episodes_against_the_transcription(
    name: str, log_scale: float, fresh: bool
) -> None:
    mdp = worlds()[name]
    layout = mdp.layout
    learner = FPOP(layout, 300, eta=0.5, log_scale=log_scale, fresh=fresh)
    plain = PlainFPOP(
        layout.layer_sizes,
        layout.n_actions,
        support=support(layout),
        log_term=learner.log_term,
    )

    def compare(learner: FPOP, plain: PlainFPOP) -> None:
        assert learner.epoch == plain.epoch
        expected = plain.values(learner.perturbation)
        assert greatest_difference(layout.pairs(learner._state.q), expected) <= 1e-9
        assert_greedy(learner.policy(), expected)

    losses = am.losses.Switching([random_mean(mdp, 1), random_mean(mdp, 2)], period=9)
    shadow = Shadow(learner, plain, compare)
    am.play(mdp, losses, shadow, 300, seed=2)
    compare(learner, plain)
    assert learner.episodes == 300


@pytest.mark.parametrize("name", worlds())
@pytest.mark.parametrize("kind", ["epoch", "episode", "known", "lazy"])
def test_compiled_protocol_and_resumed_runs_are_the_same(name: str, kind: str) -> None:
    mdp = worlds()[name]
    losses = am.losses.Stochastic(random_mean(mdp))

    def make() -> Any:
        if kind in ("known", "lazy"):
            return FPL(mdp.layout, mdp.transitions, 500, phase=1 if kind == "known" else 7)
        return FPOP(mdp.layout, 500, log_scale=0.01, fresh=kind == "episode", seed=3)

    assert_same_both_ways(mdp, losses, make, 500)
    assert_resumes(mdp, losses, make, 500)


# ---------------------------------------------------------------- perturbations


def test_perturbations_are_exponential_and_last_as_long_as_they_should() -> None:
    """Kolmogorov-Smirnov against Exp(mean 1 / eta), p >= 1e-4: an error rate of 1e-4 over seeds,
    and the seed is fixed."""
    mdp = worlds()["dense"]
    losses = mdp.layout.pairs(np.full(mdp.layout.n_rows, 0.5))
    feedback = am.FullInformation([0] * 5, [0] * 4, losses)
    learners = {
        "epoch": FPOP(mdp.layout, 400, eta=0.2),
        "episode": FPOP(mdp.layout, 400, eta=0.2, fresh=True),
        "phase": FPL(mdp.layout, mdp.transitions, 400, eta=0.2, phase=5),
    }
    drawn: dict[str, list[Any]] = {name: [] for name in learners}
    for t in range(400):
        for name, learner in learners.items():
            noise, epoch = flat(learner.perturbation), getattr(learner, "epoch", 0)
            new = not drawn[name] or not np.array_equal(drawn[name][-1], noise)
            if name == "phase":
                assert new == (t % 5 == 0)
            elif name == "epoch":
                assert len(drawn[name]) + new == epoch
            else:
                assert new
            if new:
                drawn[name].append(noise)
            learner.update(feedback)
    for samples in (np.concatenate(drawn["episode"]), np.concatenate(drawn["phase"])):
        assert len(np.unique(samples)) == len(samples)
        assert kstest(samples, "expon", args=(0, 5.0)).pvalue > 1e-4
    other = FPOP(mdp.layout, 400, eta=0.2, seed=1)
    assert not np.array_equal(flat(other.perturbation), drawn["epoch"][0])
    assert np.allclose(flat(FPOP(mdp.layout, 400, eta=0.1).perturbation), 2 * drawn["epoch"][0])


# ---------------------------------------------------------------- without perturbations


@pytest.mark.parametrize("name", worlds())
def test_without_perturbation_fpl_is_the_best_fixed_policy_so_far(name: str) -> None:
    mdp = worlds()[name]
    learner = FPL(mdp.layout, mdp.transitions, 200, noise_scale=0.0)
    total = np.zeros(mdp.layout.n_rows)

    class Watch:
        feedback = "full"

        def policy(self) -> Any:
            best = best_fixed_policy(mdp, mdp.layout.pairs(total))
            assert greatest_difference(learner.policy(), best.policy) == 0.0
            return learner.policy()

        def update(self, feedback: am.FullInformation) -> None:
            nonlocal total
            learner.update(feedback)
            total = total + feedback.losses

    tables = [random_mean(mdp, seed) for seed in range(3)]
    am.play(mdp, am.losses.Switching(tables, period=3), Watch(), 200)


def test_without_perturbation_fpop_is_optimistic_while_its_sets_hold_the_truth() -> None:
    """extDP <= DP under the true transition; the event is checked exactly."""
    mdp = am.families.random_mdp((1, 3, 3, 3, 1), 2, seed=3)
    layout = mdp.layout
    learner = FPOP(layout, 3000, noise_scale=0.0, log_scale=0.2)
    losses = am.losses.Switching([random_mean(mdp, 1), random_mean(mdp, 2)], period=50)
    good = 0
    for part in range(60):
        am.play(mdp, losses, learner, 50, seed=part)
        state = learner._state
        off = np.add.reduceat(np.abs(state.rows.centre - mdp.flat), layout.row_start[:-1])
        if ((state.rows.status == FREE) | (off <= state.rows.width)).all():
            good += 1
            truth = optimal_values(mdp, layout.pairs(state.total))
            values = layout.pairs(state.q)
            assert all((q <= s + 1e-9 * s).all() for q, s in zip(values, truth, strict=True))
    assert good == 60
    assert learner._state.value[0] > 0.5 * truth[0].min()  # and not because it is empty


# ---------------------------------------------------------------- regret


def leader_trap(n_episodes: int) -> tuple[am.LayeredMDP, am.losses.LossProcess]:
    """Losses (1/2, 0), (0, 1), (1, 0), (0, 1), ...: the leader of the past loses every time."""
    layout = am.Layout(layer_sizes=(1, 1), n_actions=2)
    tables = np.zeros((n_episodes, 2))
    tables[0, 0] = 0.5
    tables[np.arange(1, n_episodes), np.arange(n_episodes - 1) % 2 ^ 1] = 1.0
    return am.LayeredMDP(layout, [np.ones((1, 2, 1))]), am.losses.Replayed(tables)


def test_perturbations_are_what_saves_the_leader() -> None:
    """Follow-the-leader pays 1 an episode, a fixed action 1/2; perturbed, it keeps the bound.

    The bound (about 430) is for the expectation.  With fresh draws the regret is a sum of
    independent terms in [-1, 1], so by Hoeffding the mean of five runs is more than 150 above its
    expectation with probability below exp(-2 * 750**2 / (20_000 * 4)) < 1e-6; it was within 60 of
    zero, so the limits leave room for more than that.
    """
    n_episodes = 4000
    mdp, losses = leader_trap(n_episodes)

    def regret(learner: Any) -> float:
        return float(am.play(mdp, losses, learner, n_episodes).regret[-1])

    layout, transitions = mdp.layout, mdp.transitions
    assert regret(FPL(layout, transitions, n_episodes, noise_scale=0.0)) > 0.49 * n_episodes
    assert regret(FPOP(layout, n_episodes, noise_scale=0.0)) > 0.49 * n_episodes
    sides = 2.0 * math.sqrt((math.e - 1.0) * n_episodes * 1 * 2 * 2 * (1.0 + math.log(2.0)))
    known = [regret(FPL(layout, transitions, n_episodes, seed=seed)) for seed in range(5)]
    fresh = [regret(FPOP(layout, n_episodes, fresh=True, seed=seed)) for seed in range(5)]
    assert np.mean(known) < sides < 0.15 * n_episodes
    assert np.mean(fresh) < 0.15 * n_episodes


def test_fpop_learns_the_transition_where_uniform_play_is_lost() -> None:
    """A twentieth of the uniform policy's regret on river swim, in each of three seeds.

    The sets are narrow (log_scale 0.01).  In seeds 0-9 the ratio was between 0.009 and 0.012, so
    an error by chance is far below one in a thousand.
    """
    mdp = am.families.river_swim(length=5, horizon=12)
    losses = am.losses.Stochastic(mdp.natural_loss)
    for seed in range(3):
        learner = FPOP(mdp.layout, 10_000, log_scale=0.01, seed=seed)
        learnt = am.play(mdp, losses, learner, 10_000, seed=seed).regret[-1]
        uniform = am.play(mdp, losses, am.Uniform(mdp.layout), 10_000, seed=seed).regret[-1]
        assert learnt < 0.05 * uniform


# ---------------------------------------------------------------- refusals


def test_refusals_name_the_parameter() -> None:
    layout = am.Layout(layer_sizes=(1, 1), n_actions=2)
    known = [np.ones((1, 2, 1))]
    cases: list[tuple[Any, str]] = [
        (lambda: FPOP(layout, 0), "n_episodes"),
        (lambda: FPOP(layout, 10, delta=1.0), "delta"),
        (lambda: FPOP(layout, 10, eta=0.0), "eta"),
        (lambda: FPOP(layout, 10, noise_scale=-1.0), "noise_scale"),
        (lambda: FPOP(layout, 10, log_scale=0.0), "log_scale"),
        (lambda: FPOP(layout, 10, seed=-1), "seed"),
        (lambda: FPL(layout, known, 10, phase=0), "phase"),
        (lambda: FPL(layout, known, 10, eta=np.inf), "eta"),
        (lambda: FPL(layout, [np.full((1, 2, 1), 0.5)], 10), "transitions"),
    ]
    for call, name in cases:
        with pytest.raises(am.InvalidInput, match=name):
            call()


def test_no_episode_beyond_the_horizon() -> None:
    layout = am.Layout(layer_sizes=(1, 1), n_actions=2)
    learner = FPOP(layout, 1)
    feedback = am.FullInformation([0, 0], [0], [np.zeros((1, 2))])
    learner.update(feedback)
    with pytest.raises(am.InvalidInput, match="larger n_episodes"):
        learner.update(feedback)
