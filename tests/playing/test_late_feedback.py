"""Feedback that comes late: no delay is no change, one state is delayed EXP3-IX, records agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.learners.feedback import Trajectory
from advmdp.playing.late_queue import LateQueue
from tests.reference.contract import DENSE, assert_same_state
from tests.reference.linear_programs import upper_occupancy_lp

N = 300
LOSSES = am.losses.Stochastic(np.random.default_rng(2).random(DENSE.layout.n_rows))
BASE = {
    "reps": (am.UOBREPS, am.DelayedUOBREPS, {"log_scale": 0.01, "eta_scale": 4.0}),
    "ftrl": (am.UOBFTRL, am.DelayedUOBFTRL, {"log_scale": 0.01, "log_barrier": 0.1}),
    "policies": (am.DilatedBonus, am.DAPO, {"log_scale": 0.01, "eta_scale": 20.0}),
}
CURVES = ("regret", "expected_loss", "realised_loss", "mean_width")


def assert_same_run(one: am.Run, other: am.Run) -> None:
    for curve in CURVES:
        assert np.array_equal(getattr(one, curve), getattr(other, curve)), curve
    assert (one.decomposition is None) == (other.decomposition is None)
    for term in ("error", "bias1", "reg", "bias2") if one.decomposition else ():
        mine, theirs = (getattr(run.decomposition, term) for run in (one, other))
        assert np.array_equal(mine, theirs), term


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("late", ["adapted", "own-time", "today", "wait"])
def test_without_delay_it_is_the_base_learner(kind: str, late: str) -> None:
    base, delayed, parameters = BASE[kind]
    plain, learner = (
        base(DENSE.layout, N, **parameters),
        delayed(DENSE.layout, N, late=late, **parameters),
    )
    expected = am.play(DENSE, LOSSES, plain, N, seed=5)
    got = am.play(DENSE, LOSSES, learner, N, seed=5, delays=am.delays.Constant(0))
    assert_same_run(expected, got)
    assert_same_state(plain, learner)
    assert got.feedback_times.total_delay == 0


@pytest.mark.parametrize("kind", BASE)
def test_both_loops_give_the_same_run(kind: str) -> None:
    _, delayed, parameters = BASE[kind]
    learners = [delayed(DENSE.layout, N, **parameters) for _ in range(2)]
    runs = [
        am.play(
            *(DENSE, LOSSES, learner, N),
            seed=5,
            delays=am.delays.Geometric(20, lost=0.1),
            compiled=compiled,
        )
        for learner, compiled in zip(learners, (True, False), strict=True)
    ]
    assert_same_run(*runs)
    assert_same_state(*learners)
    if kind != "policies":  # these have no iterate
        assert np.allclose(runs[0].decomposition.total(), runs[0].regret, atol=1e-8)
    times = runs[0].feedback_times
    assert learners[0].episodes == N - times.lost - times.outstanding
    assert 10 <= times.lost <= 60


@pytest.mark.parametrize("kind", ["reps", "policies"])
def test_a_cut_run_goes_on_with_what_is_in_flight(kind: str) -> None:
    _, delayed, parameters = BASE[kind]
    delays, kept = am.delays.Geometric(15), {}

    def play(**how: Any) -> am.Run:
        learner = delayed(DENSE.layout, N, **parameters)
        return am.play(DENSE, LOSSES, learner, N, seed=5, delays=delays, compiled=False, **how)

    whole = play(keep=lambda episodes, snapshot: kept.setdefault(episodes, snapshot()))
    for compiled in (False, True):
        learner = delayed(DENSE.layout, N, **parameters)
        how = {"seed": 5, "delays": delays, "compiled": compiled, "resume": kept[130]}
        assert_same_run(whole, am.play(DENSE, LOSSES, learner, N, **how))
    spoilt: list[tuple[str, float]] = [
        ("late.path", 10**9),
        ("late.states", -4),
        ("late.losses", 7.0),
        ("late.bound", np.nan),
        ("late.learnt", -1),
    ]
    if kind == "policies":
        spoilt += [("late.policy", 0.9), ("late.upper", -0.1), ("late.lower", np.inf)]
    for name, wrong in spoilt:
        damaged = {**kept[130], name: np.full_like(kept[130][name], wrong)}
        with pytest.raises(am.InvalidInput, match="resume"):
            play(resume=damaged)


def test_one_state_is_delayed_exp3_ix() -> None:
    """One state: u = pi, and the projection is a normalisation."""
    eta, gamma, delay, n, table = 0.3, 0.05, 4, 60, np.array([0.9, 0.2, 0.6])
    layout = am.Layout(layer_sizes=(1, 1), n_actions=3)
    mdp = am.LayeredMDP(layout, [np.ones((1, 3, 1))])
    learner = am.DelayedUOBREPS(layout, n, eta=eta, gamma=gamma)
    policies, actions = [learner.policy()[0][0]], []

    def note_last_action(episode: int, history: am.losses.History) -> Any:
        actions.extend(episode.actions[0] for episode in history[len(actions) :])
        return [table[None, :]]

    def look(moment: am.Moment) -> None:
        policies.append(learner.policy()[0][0])

    how: dict[str, Any] = {"delays": am.delays.Constant(delay), "callback": look, "every": 1}
    am.play(mdp, am.losses.Custom(note_last_action), learner, n, **how)
    weights = np.ones(3) / 3
    for t in range(n - 1):
        if t >= delay:
            action = actions[t - delay]
            bound = max(policies[t - delay][action], weights[action])
            weights[action] *= np.exp(-eta * table[action] / (bound + gamma))
            weights /= weights.sum()
        assert np.allclose(policies[t + 1], weights, rtol=0, atol=1e-12)
    assert learner.episodes == n - delay


def test_the_denominator_is_the_larger_of_both_bounds() -> None:
    learner = am.DelayedUOBREPS(DENSE.layout, N, **BASE["reps"][2])
    am.play(DENSE, LOSSES, learner, 60, seed=1)
    record, then = learner.issue(), _bounds(learner)
    am.play(DENSE, LOSSES, learner, 120, seed=2)
    now = _bounds(learner)
    path = [(0, 1), (1, 0), (0, 1), (2, 0)]
    states, actions = [x for x, _ in path] + [0], [a for _, a in path]
    learner.update(Trajectory(states, actions, [1.0, 0.5, 0.0, 1.0]), record)
    pairs = [(then[k][x, a], now[k][x, a]) for k, (x, a) in enumerate(path)]
    assert any(a > b for a, b in pairs)
    assert any(a < b for a, b in pairs)
    used = learner.upper_occupancy_of_last
    assert np.allclose(used, [max(pair) for pair in pairs], rtol=0, atol=1e-8)


def _bounds(learner: Any) -> Any:
    box = learner.confidence_set()
    return upper_occupancy_lp(learner.policy(), box.lower, box.upper)


def test_many_in_flight_share_one_policy() -> None:
    learner, seen = am.DelayedUOBREPS(DENSE.layout, 64, eta_scale=8.0), []

    def look(moment: am.Moment) -> None:
        seen.append(np.concatenate([table.ravel() for table in learner.policy()]))

    run = am.play(DENSE, LOSSES, learner, 64, in_flight=16, callback=look, every=1)
    moved = [i + 2 for i in range(63) if not np.array_equal(seen[i], seen[i + 1])]
    assert moved == [16, 32, 48, 64]
    assert run.feedback_times.total_delay == 4 * 15 * 16 // 2


def test_a_learner_that_waits_drops_what_was_played_with_older_policies() -> None:
    learner = am.DelayedUOBREPS(DENSE.layout, 100, late="wait")
    am.play(DENSE, LOSSES, learner, 100, delays=am.delays.Constant(9))
    assert learner.episodes == 10


@given(st.lists(st.integers(-1, 12), min_size=1, max_size=30))
def test_every_episode_arrives_once_at_its_time(delays: list[int]) -> None:
    queue = LateQueue(DENSE.layout, am.delays.Given(delays), len(delays), (0, 0))
    first, order = queue.arrivals
    for t in range(len(delays)):
        due = [j for j, d in enumerate(delays) if d >= 0 and j + d == t]
        assert order[first[t] : first[t + 1]].tolist() == due
    times = queue.summary()
    assert times.lost == delays.count(-1)
    assert len(order) + times.lost + times.outstanding == len(delays)


def test_refusals_name_the_remedy() -> None:
    learner = am.DelayedUOBREPS(DENSE.layout, N)
    once = am.delays.Constant(3)
    with pytest.raises(am.InvalidInput, match="such as DelayedUOBREPS"):
        am.play(DENSE, LOSSES, am.UOBREPS(DENSE.layout, N), N, delays=once)
    with pytest.raises(am.InvalidInput, match="leave one of the two out"):
        am.play(DENSE, LOSSES, learner, N, delays=once, in_flight=4)
    with pytest.raises(am.InvalidInput, match=r"am\.delays\.Constant"):
        am.play(DENSE, LOSSES, learner, N, delays=5)  # type: ignore[arg-type]
    with pytest.raises(am.InvalidInput, match="20 delays for 300 episodes"):
        am.play(DENSE, LOSSES, learner, N, delays=am.delays.Given([1] * 20))
    with pytest.raises(am.InvalidInput, match="late"):
        am.DelayedUOBREPS(DENSE.layout, N, late="soon")
    assert learner.episodes == 0
