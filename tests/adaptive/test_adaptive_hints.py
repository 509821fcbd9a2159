"""Hints of the learners that need no rate: functions, tables, certificates, contexts, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.adaptive.test_ada_ftrl import WILD, feed, wild
from tests.adaptive.test_ada_o_reps import PlainAdaOREPS
from tests.reference.contract import DENSE, GRID, assert_same_state, feedback_of, flat, made
from tests.reference.plain_hedge import sample_path

LAYOUT = DENSE.layout
ROWS = LAYOUT.n_rows
TABLES = 300.0 * np.random.default_rng(3).normal(size=(40, ROWS)) - 100.0
NAMES = ("ada-ftrl", "ada-ftrl-estimated", "ada-o-reps", "ada-uc-o-reps")
CERTIFIED = (am.AdaFTRL, am.AdaOREPS)

every_name = pytest.mark.parametrize("name", NAMES)


def last(history: Any) -> Any:
    return history[-1].losses if history else np.zeros(ROWS)


def play(learner: Any, start: int, stop: int) -> Any:
    """Paths that depend on the policies, and now and then an episode that is only seen."""
    policies = [flat(learner.policy())]
    for t in range(start, stop):
        if t % 5 == 2:
            learner.observe(TABLES[t])
        else:
            rng = np.random.default_rng([11, t])
            states, actions = sample_path(rng, DENSE.transitions, learner.policy())
            learner.update(feedback_of(learner, states, actions, LAYOUT.pairs(TABLES[t])))
        policies.append(flat(learner.policy()))
    return np.array(policies)


@every_name
def test_a_function_that_says_the_last_losses_is_last(name: str) -> None:
    asked, told = (made(name, DENSE, hint=hint, hint_weight=3.0) for hint in (last, "last"))
    np.testing.assert_allclose(play(asked, 0, 30), play(told, 0, 30), atol=1e-8)
    assert asked.gap_sum == pytest.approx(told.gap_sum)
    assert np.array_equal(flat(asked.hint_table()), TABLES[29])


@pytest.mark.parametrize("forgetting", [1.0, 0.8])
def test_a_function_turns_the_regularised_leader(forgetting: float) -> None:
    """Hints that have nothing to do with the losses, so that every term of the step shows."""
    hints = 500.0 * np.random.default_rng(8).normal(size=(26, ROWS))
    given = {"forgetting": forgetting, "hint_weight": 2.0}
    learner = am.AdaOREPS(
        LAYOUT, DENSE.transitions, hint=lambda history: hints[len(history)], **given
    )
    plain = PlainAdaOREPS(DENSE, forgetting, 2.0)
    plain.hint = hints[0]
    for t in range(25):
        ours = np.concatenate([layer.sum(axis=2).ravel() for layer in learner.occupancy()])
        np.testing.assert_allclose(ours, plain.occupancy(), atol=1e-6)
        learner.observe(TABLES[t])
        plain.update(TABLES[t])
        plain.hint = hints[t + 1]
        assert forgetting * learner.gap_sum == pytest.approx(plain.gaps, rel=1e-5)


@pytest.mark.parametrize("world", [DENSE, GRID], ids=["dense", "declared support"])
@pytest.mark.parametrize("make", CERTIFIED)
@pytest.mark.parametrize("kind", WILD)
def test_the_certificate_stands_whatever_the_hints_are(
    kind: str, make: Any, world: am.LayeredMDP
) -> None:
    tables = wild(world.layout, kind, 60)
    hints = np.random.default_rng(2).permutation(tables)
    learner = make(world.layout, world.transitions, hint=lambda history: hints[len(history) % 60])
    losses = am.losses.Replayed(tables, any_losses=True)
    run = am.play(world, losses, learner, 60, checkpoints=range(1, 61))
    assert run.regret_bound is not None
    rounding = 1e-11 * np.abs(tables).max(axis=1).cumsum() * world.layout.n_layers
    assert (run.regret <= run.regret_bound + rounding).all()


def test_over_confidence_sets_promises_exceed_no_policy_by_more_than_twice_the_gaps() -> None:
    """With a good hint, a bad one, and one that is another every time."""
    rng = np.random.default_rng(5)
    mean = rng.normal(size=ROWS)
    for hint in (mean, -5.0 * mean, lambda history: np.cos(np.arange(ROWS) * len(history))):
        learner = am.AdaUCOREPS(LAYOUT, log_scale=0.3, hint=hint)
        promised, total = 0.0, np.zeros(ROWS)
        for table in mean + rng.normal(size=(120, ROWS)):
            q = np.concatenate([layer.sum(axis=2).ravel() for layer in learner.occupancy()])
            promised += q @ table
            total += table
            states, actions = sample_path(rng, DENSE.transitions, learner.policy())
            learner.update(am.FullInformation(states, actions, table))
            best = am.best_fixed_policy(DENSE, total).loss
            assert promised - best <= 2.0 * learner.gap_sum + 1e-8
        assert learner.epoch > 5


@every_name
def test_foresight_lowers_what_is_left_to_regret(name: str) -> None:
    def foresight(history: Any) -> Any:
        return TABLES[len(history) % 40]

    plain, told = made(name, DENSE), made(name, DENSE, hint=foresight)
    feed(plain, TABLES)
    feed(told, TABLES)
    assert told.gap_sum < 0.6 * plain.gap_sum


@every_name
def test_a_restored_history_goes_on_with_the_same_bits(name: str) -> None:
    first, second, whole = (made(name, DENSE, hint=last) for _ in range(3))
    policies = play(whole, 0, 30)
    play(first, 0, 18)
    second.restore(first.state())
    assert np.array_equal(play(second, 18, 30), policies[18:])
    assert_same_state(second, whole)
    with pytest.raises(am.InvalidInput, match=r"history\.path is not of 18 episodes"):
        second.restore({**first.state(), "history.path": np.zeros((3, 4), dtype=np.int64)})
    assert_same_state(second, whole)


@every_name
def test_a_function_that_fails_changes_nothing(name: str) -> None:
    learner = made(
        name, DENSE, hint=lambda history: np.full(ROWS, 9.0 if len(history) < 6 else np.nan)
    )
    play(learner, 0, 5)
    before = learner.state()
    with pytest.raises(am.InvalidInput, match="hint"):
        learner.observe(TABLES[5])
    assert all(np.array_equal(array, before[part]) for part, array in learner.state().items())


def test_a_mixture_takes_back_who_has_learnt_before_a_function_failed() -> None:
    asking = am.AdaFTRL(
        LAYOUT, DENSE.transitions, hint=lambda history: np.zeros(ROWS + (len(history) > 2))
    )
    mixture = am.Mixture(LAYOUT, [am.AdaFTRL(LAYOUT, DENSE.transitions), asking], DENSE.transitions)
    feed(mixture, TABLES[:2])
    before = mixture.state()
    with pytest.raises(am.InvalidInput, match="hint"):
        mixture.observe(TABLES[2])
    assert all(np.array_equal(array, before[part]) for part, array in mixture.state().items())


def test_every_context_has_a_mean_of_its_own() -> None:
    learner = am.PerContext(am.AdaOREPS, LAYOUT, 2, transitions=DENSE.transitions, hint=2)
    for context, value in ((0, 25.0), (1, -100.0), (0, 75.0)):
        learner.enter(context)
        learner.observe(np.full(ROWS, value))
    assert [each.hint_table()[0][0, 0] for each in learner.learners] == [50.0, -100.0]


@every_name
def test_tables_in_any_unit_are_kept_in_files(name: str, tmp_path: Path) -> None:
    learner = made(name, DENSE, hint=LAYOUT.pairs(TABLES[39]))
    play(learner, 0, 8)
    learner.save(tmp_path / "learner.am")
    again = am.load(tmp_path / "learner.am")
    assert np.array_equal(play(again, 8, 16), play(learner, 8, 16))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hint": "next"}, "hint: 'next' is not 'last', a whole number, a table or a function"),
        ({"hint": "last", "hint_window": 3}, "hint, hint_window: give one of them"),
        ({"hint": np.full(ROWS, np.inf)}, "hint: inf at"),
        ({"hint": "last", "hint_weight": -1.0}, "hint_weight: -1.0"),
    ],
)
@every_name
def test_bad_hints_are_named(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        made(name, DENSE, **given)


# ---------------------------------------------------------------------- late feedback


@pytest.mark.parametrize(
    ("late", "base"), [("delayed-uob-reps", "uob-reps"), ("delayed-uob-ftrl", "uob-ftrl")]
)
@pytest.mark.parametrize("hint", ["last", 3, "table"])
def test_late_learners_hear_hints(late: str, base: str, hint: Any) -> None:
    given = np.random.default_rng(0).random(ROWS) if hint == "table" else hint
    losses = am.losses.Stochastic(np.random.default_rng(1).random(ROWS))
    at_once = made(base, DENSE, 80, hint=given)
    am.play(DENSE, losses, at_once, 80, seed=5)
    learners = [made(late, DENSE, 80, hint=given) for _ in range(3)]
    am.play(DENSE, losses, learners[0], 80, seed=5, delays=am.delays.Constant(0))
    assert np.array_equal(flat(learners[0].policy()), flat(at_once.policy()))
    for learner, compiled in zip(learners[1:], (True, False), strict=True):
        delays = am.delays.Geometric(5)
        am.play(DENSE, losses, learner, 80, seed=5, delays=delays, compiled=compiled)
    assert_same_state(*learners[1:])
    with pytest.raises(am.InvalidInput, match="hint: a function of the history is not asked"):
        made(late, DENSE, 80, hint=lambda history: np.zeros(ROWS))
