"""Start states that the adversary chooses: reductions to single starts, counts, exact regret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.projection import project
from advmdp.layout import Table
from advmdp.learners import per_start
from tests.reference.brute_force import best_deterministic_loss
from tests.reference.contract import flat
from tests.reference.instances import box_from_counts
from tests.reference.tables import inner, occupancy, pair_sums

WORLDS = {
    "dense": am.families.random_mdp((1, 3, 2, 2, 1), n_actions=2, seed=4),
    # not every start state reaches every state
    "sparse": am.families.random_mdp((1, 3, 6, 5, 1), n_actions=2, seed=1, n_successors=2),
    # the same places at every step, counted together
    "pooled": am.time_expand(
        np.random.default_rng(0).dirichlet(np.ones(3), (3, 2)), 4, [0.2, 0.3, 0.5], pooled=True
    ),
}
N_EPISODES = 120
every_world = pytest.mark.parametrize("world", WORLDS)


def starts_of(mdp: am.LayeredMDP, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(mdp.layout.layer_sizes[1], size=N_EPISODES)


def changing(mdp: am.LayeredMDP) -> am.losses.LossProcess:
    tables = np.random.default_rng(2).random((N_EPISODES, mdp.layout.n_rows))
    return am.losses.Replayed(list(tables))


def eager(view: am.StartView) -> am.UOBREPS:
    return am.UOBREPS(view.layout, N_EPISODES, log_scale=0.01, eta_scale=4.0)


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


# ---------------------------------------------------------------------- the shared set


@every_world
def test_counts_epochs_and_sets_are_shared(world: str) -> None:
    """A plain copy of the counters in the whole layout, and the box formula on them."""
    mdp = WORLDS[world]
    layout = mdp.layout
    pool = np.arange(layout.n_rows) if layout.row_pool is None else layout.row_pool
    learners = am.PerStart(layout, eager)
    pairs, triples = np.zeros(layout.n_rows), np.zeros(layout.n_entries)
    opened, epoch = pairs.copy(), 1
    rng = np.random.default_rng(5)
    for start in starts_of(mdp):
        view = learners.views[start]
        states, actions, doubled = [0], [], False
        for k in range(view.layout.n_layers):
            actions.append(int(rng.choice(2, p=learners[start].policy()[k][states[-1]])))
            row = int(view.layout.layer_start[k] + states[-1]) * 2 + actions[-1]
            begin, end = view.layout.row_start[row : row + 2]
            x = int(rng.choice(end - begin, p=mdp.flat[view.entries[begin:end]]))
            flat_state = view.layout.entry_successors()[begin + x]
            states.append(int(flat_state - view.layout.layer_start[k + 1]))
            counter = pool[view.rows[row]]
            pairs[counter] += 1
            triples[layout.row_start[counter] + x] += 1
            doubled |= bool(pairs[counter] >= max(1, 2 * opened[counter]))
        learners[start].update(am.Trajectory(states, actions, rng.random(len(actions))))
        if doubled:
            epoch += 1
            opened = pairs.copy()
        members = np.concatenate(
            [np.arange(layout.row_start[r], layout.row_start[r + 1]) for r in pool]
        )
        visits, seen = layout.pairs(pairs[pool]), layout.triples(triples[members])
        for view, learner in zip(learners.views, learners, strict=True):
            assert learner.epoch == epoch
            assert np.array_equal(flat(learner.visits), flat(visits)[view.rows])
            if doubled:
                lower, upper = box_from_counts(visits, seen, learner.log_term)
                rows = learner.confidence_set().rows
                inside = layout.flat_triples(lower)[view.entries]
                assert np.allclose(rows.lower, inside, rtol=0, atol=1e-14)
                # the formula gives 1 outside the support of rows never visited
                high = np.concatenate([u[s != 0] for u, s in zip(upper, support(mdp), strict=True)])
                assert np.allclose(rows.upper, high[view.entries], rtol=0, atol=1e-14)
                assert in_the_set(learner)
    assert epoch > 10


def support(mdp: am.LayeredMDP) -> Table:
    return mdp.layout.triples(np.ones(mdp.layout.n_entries))


def in_the_set(learner: Any) -> bool:
    """Whether the learner's own measure has its transition in its confidence set."""
    rows, measure = learner.confidence_set().rows, learner.measure
    chance = np.where(measure.chance < 0.0, 0.0, measure.chance)  # negative: a tiny one's logarithm
    return bool((chance >= rows.lower - 1e-9).all() and (chance <= rows.upper + 1e-9).all())


def test_the_others_are_projected_and_nothing_else() -> None:
    """q^{s'} after an epoch opened elsewhere is the projection of q^{s'} before."""
    mdp = WORLDS["dense"]
    learners = am.PerStart(mdp.layout, eager)
    rng, moved = np.random.default_rng(3), 0
    for t in range(60):
        before = [learner.occupancy() for learner in learners]
        epoch, active = learners[0].epoch, t % 2
        states = [0, int(rng.integers(2)), int(rng.integers(2)), 0]
        actions = rng.integers(2, size=3).tolist()
        learners[active].update(am.Trajectory(states, actions, rng.random(3)))
        for s, learner in enumerate(learners):
            if s == active:
                continue
            if learner.epoch == epoch:
                assert np.array_equal(flat(learner.occupancy()), flat(before[s]))
            else:
                answer = am.project(before[s], learner.confidence_set())
                assert np.allclose(
                    flat(learner.occupancy()), flat(answer.occupancy), rtol=0, atol=1e-9
                )
                moved += bool(abs(flat(learner.occupancy()) - flat(before[s])).max() > 1e-4)
    assert moved > 5


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


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_an_episode_is_taken_back_for_all(fails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The projection of learner ``fails`` fails in an episode of learner 1 that opens an epoch."""
    mdp = WORLDS["dense"]
    learners, twins = (am.PerStart(mdp.layout, eager) for _ in range(2))
    rng = np.random.default_rng(7)

    def drawn() -> am.Trajectory:
        states = [0, int(rng.integers(2)), int(rng.integers(2)), 0]
        return am.Trajectory(states, rng.integers(2, size=3).tolist(), rng.random(3).tolist())

    for t in range(40):
        trajectory = drawn()
        for group in (learners, twins):
            group[t % 3].update(trajectory)
    while True:  # until an episode opens an epoch
        trajectory = drawn()
        before = twins[1].epoch
        twins[1].update(trajectory)
        if twins[1].epoch > before:
            break
        learners[1].update(trajectory)
    broken = learners[fails]._state.measure.chance

    def failing(graph: Any, measure: Any, *rest: Any) -> bool:
        return measure.chance is not broken and project(graph, measure, *rest)

    held = [learner.state() for learner in learners]
    with monkeypatch.context() as patch:
        patch.setattr(per_start, "project", failing)
        with pytest.raises(am.UncertifiedStep, match="the episode was taken back"):
            learners[1].update(trajectory)
    for learner, old in zip(learners, held, strict=True):
        now = learner.state()
        for name in now:
            if name.startswith(("measure.", "rows.")) or name in (
                *("visits.pairs", "visits.opened", "visits.triples", "visits.marked"),
                "visits.starts",
            ):
                assert np.array_equal(now[name], old[name]), name
        assert learner.epoch == before
    learners[1].update(trajectory)
    for one, other in zip(learners, twins, strict=True):
        assert np.allclose(flat(one.policy()), flat(other.policy()), rtol=0, atol=1e-9)
        assert one.epoch == other.epoch


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
    with pytest.raises(am.InvalidInput, match="no layer of start states"):
        am.start_views(am.Layout((1, 1), 2))
    with pytest.raises(am.InvalidInput, match="start state 1 has another layout or n_episodes"):
        am.PerStart(mdp.layout, lambda view: am.UOBREPS(view.layout, 5 + view.start))
    view = learners.views[0]
    alone = am.LayeredMDP(view.layout, np.array(mdp.flat)[view.entries])
    with pytest.raises(am.InvalidInput, match="shares its counts; use play_starts"):
        am.play(alone, am.losses.Stochastic(np.zeros(view.layout.n_rows)), learners[0], 3)
