"""One contract for every learner in the catalogue: new ones are found here by themselves."""

from __future__ import annotations

import inspect
import io
import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.base import CAPABILITIES, offers
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.contract_checks import takes_any_losses
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from tests.reference.contract import (
    COMPILED,
    DENSE,
    GRID,
    N_EPISODES,
    WORLDS,
    assert_same_state,
    feedback_of,
    flat,
    follow,
    losses_of,
    made,
)
from tests.reference.plain_hedge import sample_path

every_learner = pytest.mark.parametrize("name", LEARNERS)
HINTED = [n for n, entry in LEARNERS.items() if "hint" in inspect.signature(entry.make).parameters]


# ---------------------------------------------------------------------- what it is


@every_learner
def test_the_catalogue_tells_the_truth(name: str) -> None:
    entry, learner = LEARNERS[name], made(name, DENSE)
    parameters = inspect.signature(entry.make).parameters
    assert entry.knows_transition == ("transitions" in parameters)
    assert entry.has_horizon == ("n_episodes" in parameters)
    assert isinstance(learner, am.Learner)
    assert learner.feedback in ("bandit", "full", "aggregate")
    assert learner.layout == DENSE.layout


@every_learner
def test_the_docstring_says_what_it_is_for(name: str) -> None:
    entry = LEARNERS[name]
    text = inspect.getdoc(entry.make) or ""
    assert ">>> " in text
    if entry.setting == "naive":  # nothing to learn, nothing to cite
        return
    words = "full information" if made(name, DENSE).feedback == "full" else "bandit"
    known = "known transition" if entry.knows_transition else "unknown transition"
    for needed in (words, rf"\b{known}", "Reference: "):
        assert re.search(needed, text, re.IGNORECASE), needed


# ---------------------------------------------------------------------- what it plays


@pytest.mark.parametrize("world", WORLDS)
@every_learner
def test_policies_are_distributions_in_every_state(name: str, world: str) -> None:
    mdp = WORLDS[world]
    learner = made(name, mdp)
    policies = follow(learner, mdp, 0, N_EPISODES).reshape(N_EPISODES + 1, -1, mdp.layout.n_actions)
    assert (policies >= 0.0).all()
    assert np.allclose(policies.sum(axis=2), 1.0, rtol=0, atol=1e-9)
    assert [layer.shape for layer in learner.policy()] == [
        (n, mdp.layout.n_actions) for n in mdp.layout.layer_sizes[:-1]
    ]


@every_learner
def test_same_seed_same_run(name: str) -> None:
    one, two = (follow(made(name, DENSE), DENSE, 0, N_EPISODES) for _ in range(2))
    assert np.array_equal(one, two)
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    runs = [am.play(DENSE, losses, made(name, DENSE), N_EPISODES, seed=4) for _ in range(2)]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert np.array_equal(runs[0].realised_loss, runs[1].realised_loss)


@every_learner
def test_what_it_hands_out_and_takes_in_is_not_shared(name: str) -> None:
    learner, twin = made(name, DENSE), made(name, DENSE)
    for t in range(20):
        states, actions = sample_path(np.random.default_rng(t), DENSE.transitions, twin.policy())
        twin.update(feedback_of(twin, states, actions, losses_of(DENSE, t)))
        seen = feedback_of(learner, np.array(states), np.array(actions), losses_of(DENSE, t))
        learner.update(seen)
        for array in [seen.states, seen.actions, *learner.policy(), *learner.state().values()]:
            array[...] = 0
    assert_same_state(learner, twin)
    assert np.array_equal(flat(learner.policy()), flat(twin.policy()))


@pytest.mark.parametrize("world", ["dense", "declared support"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_and_protocol_loop_agree_to_the_last_bit(name: str, world: str) -> None:
    mdp, n_episodes = WORLDS[world], 200
    tables = [losses_of(mdp, t) for t in (0, 5)]
    for losses in (
        am.losses.Switching(tables, period=7, noisy=True),
        am.losses.Adaptive(tables[0]),
    ):
        learners = [made(name, mdp, n_episodes) for _ in range(2)]
        fast, slow = (
            am.play(mdp, losses, learner, n_episodes, seed=5, compiled=compiled)
            for learner, compiled in zip(learners, (True, False), strict=True)
        )
        assert fast.compiled
        assert not slow.compiled
        for field in ("episodes", "regret", "expected_loss", "realised_loss", "best_loss"):
            assert np.array_equal(getattr(fast, field), getattr(slow, field)), field
        assert_same_state(*learners)


@pytest.mark.parametrize("name", HINTED)
def test_hints_in_both_loops_and_from_a_state(name: str) -> None:
    table = flat(losses_of(DENSE, 3))
    losses = am.losses.Switching([losses_of(DENSE, t) for t in (0, 5)], period=7, noisy=True)
    for hint in ("last", table):
        learners = [made(name, DENSE, hint=hint) for _ in range(3)]
        fast, slow = (
            am.play(DENSE, losses, learner, N_EPISODES, seed=5, compiled=compiled)
            for learner, compiled in zip(learners, (True, False), strict=False)
        )
        assert np.array_equal(fast.regret, slow.regret)
        assert_same_state(*learners[:2])
        plain = am.play(DENSE, losses, made(name, DENSE), N_EPISODES, seed=5)
        assert not np.array_equal(plain.expected_loss, fast.expected_loss)
        first, whole, second = (made(name, DENSE, hint=hint) for _ in range(3))
        follow(first, DENSE, 0, 15)
        second.restore(first.state())
        assert np.array_equal(follow(second, DENSE, 15, 25)[-1], follow(whole, DENSE, 0, 25)[-1])


def test_the_whole_family_takes_hints() -> None:
    family = {
        name for name, entry in LEARNERS.items() if isinstance(made(name, DENSE), MirrorDescent)
    }
    without = {"uob-reps-baseline", "tsallis-ftrl-aggregate", "uob-ftrl-aggregate"}
    adaptive = {"ada-ftrl", "ada-ftrl-estimated", "ada-o-reps", "ada-uc-o-reps"}
    assert set(HINTED) == family - without | adaptive


@pytest.mark.parametrize("name", [name for name in LEARNERS if LEARNERS[name].has_horizon])
def test_the_horizon_is_kept(name: str) -> None:
    learner = made(name, DENSE, n_episodes=10)
    assert (learner.n_episodes, learner.episodes) == (10, 0)
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    am.play(DENSE, losses, learner, 6)
    assert learner.episodes == 6
    with pytest.raises(am.InvalidInput, match="n_episodes=10"):
        am.play(DENSE, losses, learner, 5)
    assert learner.episodes == 6


@every_learner
def test_losses_in_any_unit_are_for_those_who_declare_it(name: str) -> None:
    tables = np.random.default_rng(3).normal(50.0, 400.0, (30, DENSE.layout.n_rows))
    losses = am.losses.Replayed(tables, any_losses=True)
    if not takes_any_losses(made(name, DENSE)):
        with pytest.raises(am.InvalidInput, match=r"play: .* needs losses in \[0, 1\]"):
            am.play(DENSE, losses, made(name, DENSE), 30)
        return
    learners = [made(name, DENSE), made(name, DENSE)]
    fast = am.play(DENSE, losses, learners[0], 30, seed=5)
    slow = am.play(DENSE, losses, learners[1], 30, seed=5, compiled=False)
    assert np.array_equal(fast.expected_loss, slow.expected_loss)
    assert_same_state(*learners)


# ---------------------------------------------------------------------- what it refuses


def undeclared_path() -> tuple[list[int], list[int]]:
    """A path of the grid whose middle step goes where the layout says it cannot."""
    x, a, y = np.argwhere(GRID.layout.triples(np.ones(GRID.layout.n_entries))[1] == 0)[0]
    return [0, int(x), int(y), 0], [0, int(a), 0]


def with_loss(value: float) -> Callable[[Any], Any]:
    """The same feedback with one loss replaced."""

    def change(good: Any) -> Any:
        if isinstance(good, am.Aggregate):  # of three losses
            return replace(good, total=3.0 * value)
        losses = [np.array(part) for part in good.losses]
        losses[1][...] = value
        return type(good)(good.states, good.actions, losses)

    return change


def with_states(*states: int) -> Callable[[Any], Any]:
    return lambda good: replace(good, states=list(states))


def with_actions(*actions: int) -> Callable[[Any], Any]:
    return lambda good: replace(good, actions=list(actions))


def other_type(good: Any) -> Any:
    if isinstance(good, am.Aggregate):
        return am.Trajectory(good.states, good.actions, [0.5, 0.5, 0.5])
    other = am.FullInformation if isinstance(good, am.Trajectory) else am.Trajectory
    return other(good.states, good.actions, good.losses)


def with_too_few_losses(good: Any) -> Any:
    if isinstance(good, am.Aggregate):
        return replace(good, total=[1.0])
    return replace(good, losses=good.losses[:-1])


def with_undeclared_path(good: Any) -> Any:
    states, actions = undeclared_path()
    return replace(good, states=states, actions=actions)


# For each: how good feedback is spoilt (the grid's layers have 1, 3, 4, 1 states; 5 actions).
BAD: dict[str, Callable[[Any], Any]] = {
    "too few states": with_states(0, 0, 0),
    "too many states": with_states(0, 0, 0, 0, 0),
    "state beyond its layer": with_states(0, 3, 0, 0),
    "negative state": with_states(0, -1, 0, 0),
    "too few actions": with_actions(0, 0),
    "action beyond the last": with_actions(0, 5, 0),
    "negative action": with_actions(0, -1, 0),
    "too few losses": with_too_few_losses,
    "loss is nan": with_loss(math.nan),
    "loss below zero": with_loss(-1e-9),
    "loss above one": with_loss(1.0 + 1e-9),
    "loss beyond all units": with_loss(1e101),
    "undeclared transition": with_undeclared_path,
    "another kind of feedback": other_type,
    "a tuple": lambda good: tuple(getattr(good, part.name) for part in fields(good)),
    "nothing": lambda good: None,
}


@pytest.mark.parametrize("case", BAD)
@every_learner
def test_bad_feedback_is_refused_without_a_trace(name: str, case: str) -> None:
    learner, twin = made(name, GRID), made(name, GRID)
    for each in (learner, twin):
        follow(each, GRID, 0, 8)
    good = feedback_of(learner, [0, 0, 0, 0], [4, 4, 4], losses_of(GRID, 0))
    if case in ("loss below zero", "loss above one") and takes_any_losses(learner):
        learner.update(BAD[case](good))  # it has declared that it takes them
        return
    with pytest.raises(am.InvalidInput) as caught:
        learner.update(BAD[case](good))
    assert "\n" not in str(caught.value)
    if case == "another kind of feedback":
        wanted = "FullInformation" if learner.feedback == "full" else "Trajectory"
        assert wanted in str(caught.value)
    assert_same_state(learner, twin)
    assert np.array_equal(follow(learner, GRID, 8, 16), follow(twin, GRID, 8, 16))
    learner.update(good)  # unspoilt it is accepted, so the refusal had the right reason


# ---------------------------------------------------------------------- how it is kept


@pytest.mark.parametrize("world", WORLDS)
@every_learner
def test_a_saved_learner_continues_as_if_nothing_had_happened(name: str, world: str) -> None:
    mdp = WORLDS[world]
    learner = made(name, mdp)
    follow(learner, mdp, 0, 17)
    disk = io.BytesIO()
    np.savez(disk, **learner.state())  # arrays only: read back without pickle
    disk.seek(0)
    future = follow(learner, mdp, 17, N_EPISODES)
    fresh = made(name, mdp)
    with np.load(disk, allow_pickle=False) as saved:
        fresh.restore(dict(saved))
    assert np.array_equal(follow(fresh, mdp, 17, N_EPISODES), future)
    assert_same_state(fresh, learner)


@every_learner
def test_a_state_that_does_not_fit_is_refused_without_a_trace(name: str) -> None:
    learner, twin, other = made(name, DENSE), made(name, DENSE), made(name, GRID)
    for each in (learner, twin):
        follow(each, DENSE, 0, 8)
    follow(other, GRID, 0, 8)
    whole = learner.state()
    some = dict(list(whole.items())[1:])
    for saved in (other.state(), some, {**whole, "surplus": np.zeros(1)}):
        with pytest.raises(am.InvalidInput, match="restore") as caught:
            learner.restore(saved)
        assert "\n" not in str(caught.value)
    assert_same_state(learner, twin)
    assert np.array_equal(follow(learner, DENSE, 8, 20), follow(twin, DENSE, 8, 20))


# ---------------------------------------------------------------------- what it declares


@pytest.mark.parametrize("protocol", CAPABILITIES, ids=lambda protocol: protocol.__name__)
@every_learner
def test_what_it_declares_is_there_and_nothing_else(name: str, protocol: type) -> None:
    """A built-in learner names the protocols that it offers among its base classes."""
    learner = made(name, DENSE)
    assert (protocol in type(learner).__mro__) == offers(learner, protocol)


def test_members_of_learners_are_asked_for_in_one_place() -> None:
    """Elsewhere ``offers(learner, protocol)`` is asked, not ``hasattr(learner, name)``."""
    package = Path(am.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\b(has|get)attr\((self\.)?(_?recorder\.)?_?learner\b", path.read_text())
    }
    stand_for_another = {"learners/doubling.py", "learners/adaptive/range_follower.py"}
    assert found <= {"learners/base.py"} | stand_for_another


@pytest.mark.parametrize("name", ["exp3-ix", "uc-o-reps-box", "uob-reps-l1"])
def test_invariants_are_verified_only_where_they_are_claimed(name: str) -> None:
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    with pytest.raises(am.InvalidInput, match="check=True"):
        am.play(DENSE, losses, made(name, DENSE), N_EPISODES, check=True)
