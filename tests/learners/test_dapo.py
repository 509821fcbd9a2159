"""Delay-adapted policy optimisation: a plain copy, one state in closed form, orders, by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.playing import late_queue
from tests.reference.contract import DENSE, flat, losses_of
from tests.reference.plain_policy_optimisation import PlainDAPO
from tests.reference.plain_uob_reps import Episode
from tests.reference.tables import greatest_difference

SIZES, N = DENSE.layout.layer_sizes, 80
IN_ORDER = late_queue._arrivals
EAGER: dict[str, Any] = {"eta_scale": 20.0, "log_scale": 0.01}


def played(learner: Any, mdp: am.LayeredMDP, delays: Any, n: int) -> tuple[list[Any], list[Any]]:
    """The policies after each episode, and the episodes but the last, by the protocol loop."""
    policies, episodes = [learner.policy()], []

    def note(t: int, history: am.losses.History) -> Any:
        episodes.extend(history[len(episodes) :])
        return losses_of(mdp, t)

    def look(moment: am.Moment) -> None:
        policies.append(learner.policy())

    how: dict[str, Any] = {"delays": delays, "callback": look, "every": 1}
    am.play(mdp, am.losses.Custom(note), learner, n, **how)
    return policies, episodes


def test_it_is_the_plain_copy_whatever_comes_when() -> None:
    delays = np.random.default_rng(3).integers(-1, 12, size=N)
    learner = am.DAPO(DENSE.layout, N, **EAGER)
    plain = PlainDAPO(SIZES, 2, learner.eta, learner.gamma, learner.log_term)
    policies, episodes = played(learner, DENSE, am.delays.Given(delays.tolist()), N)
    departures, most = [], 0
    for t, seen in enumerate(episodes):
        departures.append(plain.depart())
        due = [j for j in range(t + 1) if delays[j] >= 0 and j + delays[j] == t]
        if due:
            plain.arrive([(departures[j], _plain(episodes[j])) for j in due])
        most = max(most, len(due))
        assert len(seen.losses) == 4
        assert greatest_difference(policies[t + 1], plain.policy) < 1e-11
    assert most >= 3  # several at once
    assert policies[-1][0].std() > 1e-3  # something was learnt
    assert 1 < plain.counters.epoch <= learner.epoch


def _plain(episode: Any) -> Episode:
    return Episode([*episode.states, 0], list(episode.actions), list(episode.losses))


@pytest.mark.parametrize("late", ["adapted", "own-time", "today"])
def test_one_state_is_delayed_exponential_weights(late: str) -> None:
    """One state: u = pi, and the bonus is the same for all actions."""
    eta, gamma, delay, n = 0.3, 0.05, 4, 60
    mdp = am.families.random_mdp((1, 1), 3, seed=2)
    learner = am.DAPO(mdp.layout, n, eta=eta, gamma=gamma, late=late)
    policies, episodes = played(learner, mdp, am.delays.Constant(delay), n)
    total, held_back = np.zeros(3), 0
    for t in range(n - 1):
        if t >= delay:
            then, now, episode = policies[t - delay][0][0], policies[t][0][0], episodes[t - delay]
            action = episode.actions[0]
            share = now[action] if late == "today" else then[action]
            ratio = share / max(share, now[action]) if late == "adapted" else 1.0
            held_back += ratio < 1.0
            total[action] += ratio * episode.losses[0] / (share + gamma)
        weights = np.exp(-eta * (total - total.min()))
        assert np.allclose(policies[t + 1][0][0], weights / weights.sum(), rtol=0, atol=1e-12)
    assert (held_back > 5) == (late == "adapted")


@pytest.mark.parametrize("compiled", [True, False])
def test_the_order_of_what_arrives_together_does_not_matter(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores and counts add up before anything moves; all that differs is the order of sums."""
    losses = am.losses.Switching([losses_of(DENSE, 0), losses_of(DENSE, 5)], period=7)
    found: dict[bool, Any] = {}
    for turned in (False, True):
        if turned:
            monkeypatch.setattr(late_queue, "_arrivals", _last_first)
        learner = am.DAPO(DENSE.layout, N, **EAGER)
        how: dict[str, Any] = {"seed": 1, "compiled": compiled, "delays": am.delays.Geometric(6)}
        run = am.play(DENSE, losses, learner, N, **how)
        found[turned] = (run.regret, learner.state())
    assert np.allclose(found[True][0], found[False][0], rtol=0, atol=1e-11)
    one, two = found[False][1], found[True][1]
    for name in one:
        if name.startswith("belief.visits.changed"):  # a list without an order
            assert sorted(one[name]) == sorted(two[name])
        elif not name.startswith("seen.") and name != "belief.visits.clock":  # of the last one
            assert np.allclose(one[name], two[name], rtol=0, atol=1e-10), name
    assert not np.array_equal(one["seen.estimate"], two["seen.estimate"])


def _last_first(delays: Any) -> Any:
    """What arrives after an episode, the latest episode first."""
    first, order = IN_ORDER(delays)
    for begin, end in pairwise(first):
        order[begin:end] = order[begin:end][::-1].copy()
    return late_queue.Arrivals(first, order)


@pytest.mark.parametrize("bonus", [1.0, 0.0])
def test_records_by_hand_are_what_play_delivers(bonus: float) -> None:
    delay, n = 3, 40
    learner, by_hand = (am.DAPO(DENSE.layout, n, bonus_scale=bonus, **EAGER) for _ in range(2))
    policies, episodes = played(learner, DENSE, am.delays.Constant(delay), n)
    records = []
    for t in range(n - 1):
        records.append(by_hand.issue())
        if t >= delay:
            seen = episodes[t - delay]
            feedback = am.Trajectory([*seen.states, 0], seen.actions, seen.losses)
            by_hand.update(feedback, records[t - delay])
        assert np.array_equal(flat(by_hand.policy()), flat(policies[t + 1]))
    assert by_hand.episodes == n - 1 - delay
    with pytest.raises(am.InvalidInput, match="another learner"):
        by_hand.update(feedback, am.UOBREPS(DENSE.layout, n).issue())
    with pytest.raises(am.InvalidInput, match="record"):
        by_hand.update(feedback, "yesterday")  # type: ignore[arg-type]


def test_an_open_episode_of_a_service_is_saved_with_its_record(tmp_path: Any) -> None:
    learner = am.DAPO(DENSE.layout, N, **EAGER)
    service = am.Service(learner)
    tickets = [service.begin() for _ in range(2)]
    answer = {"states": [0, 1, 0, 2, 0], "actions": [0, 1, 1, 0], "losses": [0.5, 1.0, 0.0, 1.0]}
    service.finish(tickets[0], answer)
    late = service.begin()
    service.finish(tickets[1], answer)
    service.save(tmp_path / "service.npz")
    again = am.Service.load(tmp_path / "service.npz")
    for each in (service, again):
        each.finish(late, answer)
    assert np.array_equal(flat(again.learner.policy()), flat(learner.policy()))
    assert learner.episodes == again.learner.episodes == 3


def test_a_learner_that_waits_takes_all_that_was_played_with_its_policy() -> None:
    learner = am.DAPO(DENSE.layout, 64, late="wait", **EAGER)
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    am.play(DENSE, losses, learner, 64, in_flight=16)
    assert learner.episodes == 64
    learner = am.DAPO(DENSE.layout, 64, late="wait", **EAGER)
    am.play(DENSE, losses, learner, 60, delays=am.delays.Constant(9))
    assert learner.episodes == 6


def test_the_rate_falls_with_the_total_delay() -> None:
    few, many = (am.DAPO(DENSE.layout, 10**7, total_delay=d) for d in (0, 10**9))
    assert few.eta == am.DilatedBonus(DENSE.layout, 10**7).eta
    pairs, n_layers = DENSE.layout.n_states * 2, 4
    assert np.isclose(many.eta, (pairs * n_layers * 10**7 + n_layers**2 * 10**9) ** -0.5)
    assert np.isclose(many.gamma, 2 * many.eta * n_layers)
