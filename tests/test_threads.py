"""One projector or learner in several threads: right answers or a refusal, never a wrong one."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.one_thread import OneThread
from tests.reference.contract import DENSE, doubling, feedback_of, follow, losses_of, made


def inside(owner: Any, act: Callable[[], Any]) -> str:
    """What ``act`` says while another thread is inside ``owner``."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with owner._one_thread:
            entered.set()
            leave.wait(30)

    other = threading.Thread(target=stay)
    other.start()
    assert entered.wait(30)
    try:
        with pytest.raises(am.InvalidInput) as refusal:
            act()
    finally:
        leave.set()
        other.join()
    return str(refusal.value)


def episode_for(learner: Any) -> Any:
    return feedback_of(learner, [0, 1, 0, 2, 0], [0, 1, 0, 1], losses_of(DENSE, 0))


@pytest.mark.parametrize("name", ["uob-reps", "ucrl2", "exp3-ix", "fpop", "doubling"])
def test_a_learner_refuses_a_second_thread_and_stays_as_it_is(name: str) -> None:
    learner = doubling("uob-reps", DENSE) if name == "doubling" else made(name, DENSE)
    follow(learner, DENSE, 0, 4)
    before = learner.state()
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    acts: list[Callable[[], Any]] = [
        learner.policy,
        lambda: learner.update(episode_for(learner)),
        lambda: am.play(DENSE, losses, learner, 5),
        lambda: am.play(DENSE, losses, learner, 5, compiled=False),
    ]
    for act in acts:
        assert "in use by another thread" in inside(learner, act)
    for part, array in learner.state().items():
        np.testing.assert_array_equal(array, before[part], err_msg=part)
    learner.update(episode_for(learner))  # afterwards it goes on


def test_feedback_with_a_record_is_guarded_too() -> None:
    learner = made("uob-reps", DENSE)
    record = learner.issue()
    act = lambda: learner.update(episode_for(learner), record)  # noqa: E731
    assert "in use" in inside(learner, act)
    act()
    assert learner.episodes == 1


def test_a_projector_refuses_a_second_thread() -> None:
    projector, weights = am.Projector(DENSE.layout), np.ones(DENSE.layout.n_entries)
    known = am.KnownTransition(DENSE.layout, DENSE.transitions)
    assert inside(projector, lambda: projector.project(weights, known)).startswith("project: ")
    assert projector.project(weights, known).converged


def test_an_error_inside_leaves_the_door_open() -> None:
    projector = am.Projector(DENSE.layout)
    known = am.KnownTransition(DENSE.layout, DENSE.transitions)
    for _ in range(2):
        with pytest.raises(am.InvalidInput, match="not positive"):
            projector.project(np.zeros(DENSE.layout.n_entries), known)
    learner = made("uob-reps", DENSE)
    for _ in range(2):
        with pytest.raises(am.InvalidInput, match=r"trajectory|states"):
            learner.update(am.Trajectory([0, 9, 0, 0, 0], [0, 0, 0, 0], [0.0] * 4))


def test_threads_at_full_speed_never_get_a_wrong_answer() -> None:
    """Wide enough that a projection leaves the interpreter for a while."""
    mdp = am.families.random_mdp((1, 14, 14, 1), 2, seed=0)
    known = am.KnownTransition(mdp.layout, mdp.transitions)
    projector = am.Projector(mdp.layout)
    inputs = [np.random.default_rng(i).random(mdp.layout.n_entries) + 0.1 for i in range(4)]

    def through_one(i: int) -> am.Projection | None:
        try:
            return projector.project(inputs[i], known)
        except am.InvalidInput:
            return None

    assert_same_in_threads(through_one)


def test_functions_that_keep_work_space_never_share_it() -> None:
    """A kernel leaves the interpreter: two calls on one layout are inside at the same time."""
    mdp = am.families.random_mdp((1, 14, 14, 1), 2, seed=0)
    known = am.KnownTransition(mdp.layout, mdp.transitions)
    weights = [np.random.default_rng(i).random(mdp.layout.n_entries) + 0.1 for i in range(4)]
    costs = [9.0 * np.random.default_rng(i).random(mdp.layout.n_rows) for i in range(4)]
    assert_same_in_threads(lambda i: am.project(weights[i], known))
    assert_same_in_threads(lambda i: am.minimise(costs[i], known, am.Tsallis(0.3)))


def assert_same_in_threads(call: Callable[[int], Any]) -> None:
    """Calls 0 to 3 have the answers of one thread in four at full speed, or are refused: None."""
    right = [call(i) for i in range(4)]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(200):
            found = call(i)
            if found is None:
                continue
            if not all(map(np.array_equal, found.occupancy, right[i].occupancy)):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_copies_have_guards_of_their_own() -> None:
    learner = made("exp3-ix", DENSE)
    with learner._one_thread:
        twin = copy.deepcopy(learner)
        twin.update(episode_for(twin))
        assert isinstance(pickle.loads(pickle.dumps(learner._one_thread)), OneThread)
