"""Start states that the adversary chooses: views, reductions to single starts, exact regret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.brute_force import best_deterministic_loss
from tests.reference.contract import flat
from tests.reference.start_worlds import N_EPISODES, WORLDS, changing, eager, starts_of
from tests.reference.tables import inner, occupancy, pair_sums

every_world = pytest.mark.parametrize("world", WORLDS)


# ---------------------------------------------------------------------- views


@every_world
def test_a_view_is_the_world_from_there(world: str) -> None:
    """The occupancy of a policy from the start, in the view and in the whole MDP."""
    mdp = WORLDS[world]
    rng = np.random.default_rng(1)
    policy = [rng.dirichlet(np.ones(2), n) for n in mdp.layout.layer_sizes[:-1]]
    for view in am.start_views(mdp.layout):
        forced = [table.copy() for table in mdp.transitions]
        forced[0][:] = np.arange(mdp.layout.layer_sizes[1]) == view.start
        whole = flat(pair_sums(occupancy(forced, policy)))
        seen = am.LayeredMDP(view.layout, np.array(mdp.flat)[view.entries])
        mine = view.layout.pairs(flat(policy)[view.rows])
        part = flat(pair_sums(occupancy(seen.transitions, mine)))
        assert np.allclose(whole[view.rows], part, rtol=0, atol=1e-15)
        outside = np.setdiff1d(np.arange(mdp.layout.n_rows), view.rows)[2:]  # but for the opening
        assert np.allclose(whole[outside], 0.0, rtol=0, atol=0)
    if world == "sparse":
        assert len({view.layout.layer_sizes for view in am.start_views(mdp.layout)}) > 1


# ---------------------------------------------------------------------- reductions


def test_one_start_state_is_the_learner_itself() -> None:
    mdp = am.families.random_mdp((1, 1, 3, 3, 1), n_actions=2, seed=0)
    (view,) = am.start_views(mdp.layout)
    alone = am.LayeredMDP(view.layout, np.array(mdp.flat)[view.entries])
    table = np.random.default_rng(0).random(mdp.layout.n_rows)
    learners = am.PerStart(mdp.layout, eager)
    losses = am.losses.Switching([table, 1.0 - table], period=7)
    run = am.play_starts(mdp, losses, learners, np.zeros(N_EPISODES, int), N_EPISODES, seed=3)
    shorter = am.losses.Switching([table[view.rows], 1.0 - table[view.rows]], period=7)
    learner = eager(view)
    expected = am.play(alone, shorter, learner, N_EPISODES, seed=3)
    assert np.array_equal(run.regret, expected.regret)
    assert np.array_equal(flat(learners[0].policy()), flat(learner.policy()))
    assert learners[0].epoch == learner.epoch


@every_world
def test_with_a_known_transition_they_are_independent(world: str) -> None:
    mdp = WORLDS[world]
    chance = np.array(mdp.flat)

    def make(view: am.StartView) -> am.OREPSBandit:
        return am.OREPSBandit(view.layout, chance[view.entries], N_EPISODES, eta_scale=3.0)

    together = am.PerStart(mdp.layout, make)
    apart = [make(view) for view in am.start_views(mdp.layout)]
    runs = [
        am.play_starts(mdp, changing(mdp), learners, starts_of(mdp), N_EPISODES, seed=6)
        for learners in (together, apart)
    ]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    for one, other in zip(together, apart, strict=True):
        assert np.array_equal(flat(one.policy()), flat(other.policy()))


# ---------------------------------------------------------------------- the account


@every_world
def test_regret_against_enumeration(world: str) -> None:
    """Sum over starts of the best deterministic policy, and the expectation of every episode."""
    mdp = WORLDS[world]
    if world != "dense":  # enumeration needs few policies
        step = np.random.default_rng(1).dirichlet(np.ones(2), (2, 2))
        mdp = am.time_expand(step, 3, [0.5, 0.5], pooled=world == "pooled")
    starts, process = starts_of(mdp), changing(mdp)
    learners = am.PerStart(mdp.layout, eager)
    original = am.UOBREPS.update
    tables = np.random.default_rng(2).random((N_EPISODES, mdp.layout.n_rows))
    seen: list[float] = []

    def watch(self: Any, feedback: Any) -> None:
        start = list(learners).index(self)
        view = learners.views[start]
        chances = view.layout.triples(np.array(mdp.flat)[view.entries])
        losses = view.layout.pairs(tables[len(seen)][view.rows])
        seen.append(inner(pair_sums(occupancy(chances, self.policy())), losses))
        original(self, feedback)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(am.UOBREPS, "update", watch)
        run = am.play_starts(mdp, process, learners, starts, N_EPISODES, seed=1)
    expected = sum(seen)
    best = 0.0
    for view in learners.views:
        total = tables[starts == view.start].sum(axis=0)[view.rows]
        chances = view.layout.triples(np.array(mdp.flat)[view.entries])
        best += best_deterministic_loss(chances, view.layout.pairs(total))
    assert run.expected_loss[-1] == pytest.approx(expected)
    assert run.best_loss[-1] == pytest.approx(best)
    assert run.regret[-1] == pytest.approx(expected - best)
    assert run.decomposition is not None
    assert np.allclose(run.decomposition.total(), run.regret)
    assert np.array_equal(run.starts, starts)
    assert sum(int(part.episodes[-1]) for part in run.by_start) == N_EPISODES


def test_sharing_helps_and_an_adversary_may_look_at_the_past() -> None:
    mdp = am.families.random_mdp((1, 4, 4, 4, 1), n_actions=2, seed=3)
    mean = np.random.default_rng(0).random(mdp.layout.n_rows)
    n_episodes = 2000

    def make(view: am.StartView) -> am.UOBREPS:
        return am.UOBREPS(view.layout, n_episodes, log_scale=0.05)

    def least_played(episode: int, history: Any) -> int:
        recent = [played.states[1] for played in history[-3:]]
        return int(np.argmin(np.bincount(recent, minlength=4)))

    regret = []
    for learners in (
        am.PerStart(mdp.layout, make),
        [make(view) for view in am.start_views(mdp.layout)],
    ):
        run = am.play_starts(
            mdp, am.losses.Stochastic(mean), learners, least_played, n_episodes, seed=2
        )
        assert np.bincount(run.starts).tolist() == [500] * 4
        regret.append(float(run.regret[-1]))
    assert regret[0] < 0.97 * regret[1]


def test_what_is_refused() -> None:
    mdp = WORLDS["dense"]
    losses = am.losses.Stochastic(np.zeros(mdp.layout.n_rows))
    learners = am.PerStart(mdp.layout, eager)

    def play(starts: Any, chosen: Any = learners) -> None:
        am.play_starts(mdp, losses, chosen, starts, 3)

    with pytest.raises(am.InvalidInput, match="starts: give 3 whole numbers"):
        play([0, 1])
    with pytest.raises(am.InvalidInput, match=r"starts: 3 in episode 0 is not in 0\.\.2"):
        play([3, 0, 0])
    with pytest.raises(am.InvalidInput, match=r"starts: 'a' in episode 0 is not in 0\.\.2"):
        play(lambda episode, history: "a")
    with pytest.raises(am.InvalidInput, match="learners: 2 for 3 start states"):
        play([0, 0, 0], learners[:2])
    with pytest.raises(am.InvalidInput, match="start state 0 has another layout"):
        play([0, 0, 0], [am.Uniform(mdp.layout)] * 3)
    with pytest.raises(am.InvalidInput, match="were made for n_episodes=120"):
        am.play_starts(mdp, losses, learners, np.zeros(121, int), 121)
    with pytest.raises(am.InvalidInput, match="no layer of start states"):
        am.start_views(am.Layout((1, 1), 2))
    with pytest.raises(am.InvalidInput, match="start state 1 has another layout or n_episodes"):
        am.PerStart(mdp.layout, lambda view: am.UOBREPS(view.layout, 5 + view.start))
    view = learners.views[0]
    alone = am.LayeredMDP(view.layout, np.array(mdp.flat)[view.entries])
    with pytest.raises(am.InvalidInput, match="shares its counts; use play_starts"):
        am.play(alone, am.losses.Stochastic(np.zeros(view.layout.n_rows)), learners[0], 3)
