"""Contexts count together: visits of all of them, an iterate or a policy for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.errors import UncertifiedStep
from advmdp.learners.base import CountsTransitions, offers
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.contract_checks import horizon_of
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.saving.saveable import Saved
from advmdp.learners.tuning import width_log_term
from tests.reference.contract import (
    DENSE,
    assert_same_state,
    drive,
    feedback_of,
    flat,
    losses_of,
    made,
)
from tests.reference.plain_hedge import sample_path
from tests.reference.plain_stochastic import Averages

N = 400
CONTEXTS = np.resize([0, 0, 1, 0, 0, 0, 1, 1], N)
LOSSES = am.losses.Stochastic(losses_of(DENSE, 0))
EAGER = {"log_scale": 0.05, "eta_scale": 4.0}
TOGETHER = sorted(
    name
    for name, entry in LEARNERS.items()
    if offers(entry.make, CountsTransitions) and not entry.knows_transition
)
IN_EPOCHS = ("uob-ftrl", "optimistic-ftrl", "uob-ftrl-aggregate", "apo-mvp", "fpop")
"""Those that begin anew with every epoch."""
BY_SETS = ("dilated-bonus", "dilated-bonus-aggregate", "pomd", "dapo")
ALONE = {
    *("ucbvi-ch", "ucbvi-bf", "ucrl2", "ucrl2-window", "lykouris"),  # N of losses as well
    *("q-learning-h", "q-learning-b", "exp3-ix", "uniform"),  # no estimate of the transition
}


def contexts_of(name: str, n_contexts: int = 2, **given: Any) -> am.PerContext:
    entry = LEARNERS[name]
    if entry.has_horizon:
        given.setdefault("n_episodes", N)
    return am.PerContext(entry.make, DENSE.layout, n_contexts, **given)


def eager(kind: type[MirrorDescent] = am.UOBREPS, n_contexts: int = 2) -> am.PerContext:
    return am.PerContext(kind, DENSE.layout, n_contexts, n_episodes=N, **EAGER)


def played(learner: Any, contexts: Any = CONTEXTS, **given: Any) -> am.Run:
    return am.play(DENSE, LOSSES, learner, N, seed=3, contexts=contexts, **given)


def assert_flat(found: am.layout.Table, expected: am.layout.Table) -> None:
    np.testing.assert_allclose(flat(found), flat(expected), rtol=0, atol=1e-12)


def entered_late(learner: am.PerContext, episodes: int = 150) -> tuple[Any, Averages]:
    """The learner of context 1 after so many episodes of context 0, and what was seen in them."""
    past = drive(learner, DENSE, 0, episodes)
    learner.enter(1)
    return learner.learners[1], past


# ---------------------------------------------------------------------- every learner


def test_who_counts_together() -> None:
    """All that plan, project or bound with what they counted, and nobody else."""
    unknown = {
        name
        for name, entry in LEARNERS.items()
        if issubclass(entry.make, CompiledLearner) and not entry.knows_transition
    }
    assert unknown - set(TOGETHER) == ALONE


@pytest.mark.parametrize("name", TOGETHER)
def test_the_learner_of_every_context_knows_all_visits(name: str) -> None:
    learner = contexts_of(name)
    past, episodes = Averages(DENSE.layout.layer_sizes, DENSE.layout.n_actions), [0, 0]
    for t in range(60):
        context = int(CONTEXTS[t])
        learner.enter(context)
        episodes[context] += 1
        states, actions = sample_path(np.random.default_rng(t), DENSE.transitions, learner.policy())
        learner.update(feedback_of(learner, states, actions, losses_of(DENSE, t)))
        past.add(states, actions, [0.0] * len(actions))
        pairs, triples = learner.learners[context].transition_counts()
        np.testing.assert_array_equal(pairs, flat(past.visits))
        np.testing.assert_array_equal(triples, flat(past.moves))
    assert [part.episodes for part in learner.learners] == episodes


@pytest.mark.parametrize("name", TOGETHER)
def test_both_loops_and_a_resumed_run_agree(name: str) -> None:
    learners, snapshots = [contexts_of(name) for _ in range(3)], {}

    def keep(episodes: int, snapshot: Any) -> None:
        snapshots[episodes] = snapshot()

    fast = played(learners[0])
    slow = played(learners[1], compiled=False, keep=keep)
    again = played(learners[2], resume=snapshots[202])
    assert fast.compiled
    for run in (slow, again):
        assert np.array_equal(run.expected_loss, fast.expected_loss)
    assert_same_state(learners[0], learners[1])
    assert_same_state(learners[0], learners[2])


@pytest.mark.parametrize("name", TOGETHER)
def test_one_context_is_the_learner_itself(name: str) -> None:
    """Also where there is room for the visits of others, who never come."""
    alone = made(name, DENSE, N)
    am.play(DENSE, LOSSES, alone, N, seed=3)
    for learner in (contexts_of(name, 1), contexts_of(name, 3)):
        last = learner.n_contexts - 1
        played(learner, np.full(N, last))
        own = learner.learners[last].state()
        for part, expected in alone.state().items():
            shared = own[part][: len(expected)] if part.endswith("starts") else own[part]
            np.testing.assert_array_equal(shared, expected, err_msg=part)


@pytest.mark.parametrize("name", TOGETHER)
def test_they_are_kept_in_a_file(name: str, tmp_path: Path) -> None:
    learner = contexts_of(name)
    played(learner)
    learner.save(tmp_path / "contexts.am")
    again = am.load(tmp_path / "contexts.am")
    for each in (learner, again):
        each.enter(1 - int(CONTEXTS[-1]))
    assert_same_state(again, learner)


@pytest.mark.parametrize("name", ["uob-ftrl", "pomd", "oppo", "ada-ftrl-estimated"])
def test_a_state_in_which_somebody_else_has_counted_more_is_refused(name: str) -> None:
    learner = contexts_of(name)
    played(learner)
    good, behind = learner.state(), 1 - learner.context
    wrong: Saved = {**good, "clock": np.array([behind, N])}
    with pytest.raises(am.InvalidInput, match=f"context {1 - behind} has counted visits"):
        learner.restore(wrong)
    for part, array in learner.state().items():
        np.testing.assert_array_equal(array, good[part], err_msg=part)


# ---------------------------------------------------------------------- sets of all visits


@pytest.mark.parametrize("name", BY_SETS)
def test_policies_are_bounded_over_the_set_of_all_counts(name: str) -> None:
    learner = contexts_of(name, log_scale=0.05)
    other, past = entered_late(learner)
    assert_flat(other.policy(), [np.full((n, 2), 0.5) for n in DENSE.layout.layer_sizes[:-1]])
    expected = am.BoxSet.from_counts(DENSE.layout, past.visits, past.moves, other.log_term)
    assert_flat(other.confidence_set().lower, expected.lower)
    assert_flat(other.confidence_set().upper, expected.upper)
    most = am.upper_occupancy(other.policy(), expected)
    assert_flat(other.occupancy_bounds()[0], most)  # the columns follow the rows
    assert other.log_term == 0.05 * width_log_term(DENSE.layout, N, 0.1)


def test_the_set_is_that_of_all_counts_and_the_iterate_its_projection() -> None:
    learner = eager()
    played(learner)
    other = learner.learners[1 - learner.context]
    before, log_term = other.occupancy(), other.log_term
    learner.enter(1 - learner.context)
    box = am.BoxSet.from_counts(DENSE.layout, other.visits, other.transitions_seen, log_term)
    found = other.confidence_set()
    for ours, theirs in zip((*found.lower, *found.upper), (*box.lower, *box.upper), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-15)
    projected = am.project(before, box).occupancy
    assert flat(other.occupancy()) == pytest.approx(flat(projected), abs=1e-9)
    assert np.abs(flat(other.occupancy()) - flat(before)).max() > 1e-4  # its own was another set


@pytest.mark.parametrize("observed", [0, 20])
def test_without_a_horizon_the_widths_are_those_of_all_episodes(observed: int) -> None:
    """delta / (t (t + 1)) with t the episodes that anybody has counted, here and in epochs after.

    Episodes that were seen and not played count for their own learner, as they always have.
    """
    learner = contexts_of("ada-uc-o-reps", log_scale=0.002)
    for t in range(observed):
        learner.observe(losses_of(DENSE, t))
    other, past = entered_late(learner)

    def expected(t: int) -> am.BoxSet:
        log_term = np.log(DENSE.layout.n_states * DENSE.layout.n_actions / 0.1 * t * (t + 1.0))
        return am.BoxSet.from_counts(DENSE.layout, past.visits, past.moves, 0.002 * log_term)

    assert_flat(other.confidence_set().upper, expected(150).upper)
    projected = am.project(am.AdaUCOREPS(DENSE.layout).occupancy(), expected(150)).occupancy
    assert flat(other.occupancy()) == pytest.approx(flat(projected), abs=1e-9)
    epoch = other.epoch
    while other.epoch == epoch:  # what was used since has the widths of the episodes until then
        states, actions = sample_path(
            np.random.default_rng(other.episodes), DENSE.transitions, other.policy()
        )
        other.update(feedback_of(other, states, actions, losses_of(DENSE, 0)))
        past.add(states, actions, [0.0] * len(actions))
    first = DENSE.layout.row_start[np.ravel_multi_index((states[0], actions[0]), (1, 2))]
    row = slice(first, first + DENSE.layout.layer_sizes[1])
    renewed = flat(expected(150 + other.episodes).upper)[row]
    assert flat(other.confidence_set().upper)[row] == pytest.approx(renewed, abs=1e-12)
    assert (renewed < 1.0).any()


def test_where_no_measure_is_certified_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise UncertifiedStep("not today")

    for learner in (eager(), contexts_of("uob-ftrl"), contexts_of("ada-uc-o-reps")):
        drive(learner, DENSE, 0, 30)
        context, states = learner.context, [part.state() for part in learner.learners]
        with monkeypatch.context() as patch:
            for name in ("_balance_initial_measure", "_restart", "_move_into_set"):
                patch.setattr(type(learner.learners[0]), name, fails, raising=False)
            with pytest.raises(am.UncertifiedStep, match="set of all visits; lower eta"):
                learner.enter(1 - context)
        assert learner.context == context
        for part, state in zip(learner.learners, states, strict=True):
            assert all(np.array_equal(value, state[name]) for name, value in part.state().items())


# ---------------------------------------------------------------------- epochs that begin anew


@pytest.mark.parametrize("name", IN_EPOCHS)
def test_an_epoch_begins_when_the_visits_of_all_have_doubled(name: str) -> None:
    """Counted by hand: N at the beginning of the learner's own epoch, and N of all now."""
    learner = contexts_of(name)
    now = Averages(DENSE.layout.layer_sizes, DENSE.layout.n_actions)
    opened = [np.zeros(DENSE.layout.n_rows), np.zeros(DENSE.layout.n_rows)]
    epochs, begun = [1, 1], [0, 0]

    def opens(context: int, episodes: int) -> None:
        doubled = flat(now.visits) >= np.maximum(1, 2 * opened[context])
        if doubled.any():
            opened[context] = flat(now.visits).copy()
            epochs[context] += begun[context] < episodes  # else nothing was played in it
            begun[context] = episodes

    for t in range(120):
        context = int(CONTEXTS[t])
        if context != learner.context:
            learner.enter(context)
            opens(context, learner.learners[context].episodes)
        one = learner.learners[context]
        assert one.epoch == epochs[context], t
        states, actions = sample_path(np.random.default_rng(t), DENSE.transitions, learner.policy())
        learner.update(feedback_of(learner, states, actions, losses_of(DENSE, t)))
        now.add(states, actions, [0.0] * len(actions))
        opens(context, one.episodes)
    assert epochs[1] > 10


def chances(past: Averages, prior: float = 0.0) -> Any:
    """M / (N + prior) by triples."""
    visits = np.repeat(flat(past.visits) + prior, DENSE.layout.row_sizes())
    return flat(past.moves) / np.maximum(visits, 1.0)


@pytest.mark.parametrize("name", ["uob-ftrl", "uob-ftrl-aggregate"])
def test_leaders_begin_anew_on_the_mean_of_all_visits(name: str) -> None:
    other, past = entered_late(contexts_of(name))
    seen = np.repeat(flat(past.visits), DENSE.layout.row_sizes()) > 0
    own = other._state.step.measure.chance
    np.testing.assert_allclose(own[seen], chances(past)[seen], rtol=0, atol=1e-12)
    assert other.episodes == 0
    twin = made(name, DENSE, N)
    twin.adopt_counts(other)
    np.testing.assert_array_equal(flat(other.policy()), flat(twin.policy()))


def test_the_optimistic_leader_begins_anew_on_lower_bounds_of_all_visits() -> None:
    other, past = entered_late(contexts_of("optimistic-ftrl", log_scale=0.01))
    box = am.BoxSet.from_counts(DENSE.layout, past.visits, past.moves, other.log_term)
    size = DENSE.layout.row_sizes()
    lower, learnt = flat(box.lower), np.repeat(size > 1, size)
    assert lower[learnt].max() > 0.1
    own = other._state.step.measure.chance
    np.testing.assert_allclose(own[learnt], lower[learnt], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "prior"), [("oppo", 1.0), ("apo-mvp", 0.0)])
def test_estimates_are_those_of_all_visits(name: str, prior: float) -> None:
    learner = contexts_of(name)
    first = learner.learners[1]._state.estimate.width.copy()
    other, past = entered_late(learner)
    estimate, size = other._state.estimate, DENSE.layout.row_sizes()
    expected = np.where(np.repeat(size > 1, size), chances(past, prior), 1.0)
    np.testing.assert_allclose(estimate.chance, expected, rtol=0, atol=1e-12)
    bonus = first / np.sqrt(np.maximum(flat(past.visits) + prior, 1.0))
    np.testing.assert_allclose(estimate.bonus, bonus, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "begins_anew"), [("oppo", False), ("apo-mvp", True)])
def test_who_rules_by_epochs_forgets_its_losses_with_them(name: str, begins_anew: bool) -> None:
    learner = contexts_of(name, bonus_scale=0.0)
    learner.enter(1)
    drive(learner, DENSE, 0, 30)
    learner.enter(0)
    before = flat(learner.learners[1].policy())
    assert (before != 0.5).any()
    drive(learner, DENSE, 30, 250)
    learner.enter(1)
    uniform = bool((flat(learner.policy()) == 0.5).all())
    assert uniform == begins_anew
    assert begins_anew or np.array_equal(flat(learner.policy()), before)


def test_the_perturbed_leader_has_new_bonuses_with_new_balls() -> None:
    learner = contexts_of("fpop", log_scale=0.01)
    learner.enter(1)
    drive(learner, DENSE, 0, 25)
    learner.enter(0)
    one = learner.learners[1]
    assert one._state.visits.starts[one.epoch - 1] < 25  # its bonuses were played with
    noise, total = flat(one.perturbation), one._state.total.copy()
    drive(learner, DENSE, 25, 250)
    learner.enter(1)
    assert (flat(one.perturbation) != noise).all()
    np.testing.assert_array_equal(one._state.total, total)  # losses are not forgotten
    twin = am.FPOP(DENSE.layout, N, log_scale=0.01)
    twin.adopt_counts(one)
    for ours, theirs in zip(one._state.rows[:3], twin._state.rows[:3], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    seen = np.repeat(one._state.visits.pairs > 0, DENSE.layout.row_sizes())
    n = np.maximum(np.repeat(one._state.visits.pairs, DENSE.layout.row_sizes()), 1)
    bound = np.repeat(one._state.rows.status, DENSE.layout.row_sizes()) == 1
    mean = one._state.visits.triples / n
    checked = seen & bound
    assert checked.any()
    np.testing.assert_allclose(one._state.rows.centre[checked], mean[checked], rtol=0, atol=1e-12)


# ---------------------------------------------------------------------- what it is worth


PRESETS = {name: am.PRACTICAL.get(name, {}) for name in (*IN_EPOCHS, *BY_SETS[:3], "oppo")}


@pytest.mark.parametrize("name", PRESETS)
def test_two_contexts_with_the_same_losses_do_no_worse_together(name: str) -> None:
    """Seeds are fixed: with other worlds than these the figures are in docs/adaptive.md."""
    lost = [0.0, 0.0]
    for seed in range(3):
        mdp = am.families.random_mdp((1, 3, 4, 3, 1), 3, seed=seed)
        losses = am.losses.Stochastic(np.random.default_rng(seed).random(mdp.layout.n_rows))
        for j in (0, 1):
            learner = am.PerContext(
                LEARNERS[name].make, mdp.layout, 2, n_episodes=1500, **PRESETS[name]
            )
            assert horizon_of(learner.learners[0]) == 1500
            learner._shares = j == 0
            contexts = np.resize([0, 0, 0, 0, 0, 1, 1], 1500)
            lost[j] += float(am.play(mdp, losses, learner, 1500, contexts=contexts).regret[-1])
    assert lost[0] <= 1.05 * lost[1]


def test_known_transitions_count_for_nobody() -> None:
    known = {"n_episodes": N, "transitions": DENSE.transitions}
    for kind in (am.OREPSBandit, am.TsallisFTRL):
        together, alone = (am.PerContext(kind, DENSE.layout, 2, **known) for _ in range(2))
        alone._shares = False
        runs = [played(learner) for learner in (together, alone)]
        assert np.array_equal(runs[0].expected_loss, runs[1].expected_loss)


def test_a_model_of_losses_is_of_one_context() -> None:
    """Why UCBVI counts alone: with the visits of a context that loses elsewhere, its N claims to
    know losses that it has never seen, and the lower bounds are none."""
    layout = am.Layout((1, 1), 2)
    there, here = (am.UCBVICH(layout, 500, bonus_scale=0.001) for _ in range(2))
    for t in range(200):
        action = t % 2
        there.update(am.Trajectory([0, 0], [action], [1.0 - action]))
    here.adopt_counts(there)
    here.update(am.Trajectory([0, 0], [1], [1.0]))
    optimal = 0.0  # of action 0, here
    assert here.lower_values[0][0, 0] > optimal + 0.5


def test_a_step_on_the_safe_path_is_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loop leaves a step that the fast path cannot certify to Python."""
    finished: list[Any] = []
    finish = am.PerContext._finish
    monkeypatch.setattr(
        am.PerContext, "_finish", lambda *given: (finished.append(given), finish(*given))
    )
    mdp = am.families.random_mdp((1, 3, 4, 3, 1), 3, seed=0)
    rng = np.random.default_rng(50)
    mean = np.random.default_rng(0).random(mdp.layout.n_rows)
    losses = am.losses.Replayed((rng.random((3000, mdp.layout.n_rows)) < mean).astype(float))
    contexts = (np.arange(3000) >= 2400).astype(int)
    learners = [am.PerContext(am.AdaUCOREPS, mdp.layout, 2) for _ in range(2)]
    runs = [
        am.play(mdp, losses, learner, 3000, seed=3, contexts=contexts, compiled=compiled)
        for learner, compiled in zip(learners, (True, False), strict=True)
    ]
    assert finished
    assert np.array_equal(runs[0].regret, runs[1].regret)


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_that_share_their_visits_share_those_of_all_contexts(name: str) -> None:
    """A step that is the same in two layers is counted in one place, whoever plays it."""
    rng = np.random.default_rng(4)
    first, step = rng.dirichlet([1.0, 1.0], (1, 2)), rng.dirichlet([1.0, 1.0], (2, 2))
    alike = np.arange(4).reshape(2, 2)
    apart = np.full((2, 2), -1)
    layout = am.Layout((1, 2, 2, 2, 1), 2, shared_rows=[apart[:1], alike, alike, apart])
    mdp = am.LayeredMDP(layout, [first, step, step, np.ones((2, 2, 1))])
    entry = LEARNERS[name]
    horizon = {"n_episodes": 80} if entry.has_horizon else {}
    learner = am.PerContext(entry.make, layout, 2, **horizon)
    losses = am.losses.Stochastic(rng.random(layout.n_rows))
    am.play(mdp, losses, learner, 80, contexts=CONTEXTS[:80])
    learner.enter(1 - learner.context)
    one, other = (part.transition_counts() for part in learner.learners)
    assert layout.counter_row is not None
    counters = np.bincount(layout.counter_row, minlength=layout.n_rows) > 0
    for pairs, triples in (one, other):
        assert not pairs[~counters].any()
        assert (pairs.sum(), triples.sum()) == (80 * layout.n_layers, 80 * layout.n_layers)
    np.testing.assert_array_equal(one[0], other[0])
