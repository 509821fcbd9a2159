"""States with the right names and shapes and wrong values: refused, or harmless.

The fuzz is by structure: one array of a valid state is altered at a time, in every way that its
type allows, for every learner of the catalogue and for doubling.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import advmdp as am
from advmdp.files.archive import read_archive, write_archive
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.saving.state_checks import CHECKS
from tests.fuzz.mutations import altered
from tests.reference.contract import (
    DENSE,
    GRID,
    N_EPISODES,
    assert_same_state,
    doubling,
    drive,
    flat,
    follow,
    knowing,
    losses_of,
    made,
)

PLAYED = 17
DOUBLED = ("uob-reps", "fpop", "exp3-ix")
CASES = [*LEARNERS, *(f"doubling {name}" for name in DOUBLED)]
WITH_KNOWN_ROWS = (
    *("uob-reps", "uob-reps-l1", "uc-o-reps", "uob-ftrl", "uob-log-barrier", "ada-uc-o-reps"),
    *("fpop", "ucrl2", "ucrl2-window", "ucbvi-bf", "dilated-bonus", "oppo", "delayed-uob-reps"),
)  # one of each kind of set and step
WORLDS = {"dense": DENSE, "known rows": knowing(GRID, 0.3)}
Saved = dict[str, NDArray[Any]]


def fresh(case: str, mdp: am.LayeredMDP) -> Any:
    if case.startswith("doubling "):
        return doubling(case.removeprefix("doubling "), mdp)
    if case == "ucrl2-window":  # short enough to run full
        return am.SlidingWindowUCRL2(mdp.layout, window=11)
    return made(case, mdp)


def is_proper(policy: NDArray[np.float64], mdp: am.LayeredMDP) -> bool:
    rows = policy.reshape(-1, mdp.layout.n_actions)
    return bool((rows >= 0.0).all() and np.allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-6))


def survives(learner: Any, mdp: am.LayeredMDP) -> bool:
    """Whether the learner goes on with proper policies; a loud refusal is as good."""
    try:
        policies = follow(learner, mdp, PLAYED, PLAYED + 8)
    except am.AdvMDPError:
        return is_proper(flat(learner.policy()), mdp)
    return all(is_proper(policy, mdp) for policy in policies)


@pytest.mark.parametrize(
    ("case", "world"),
    [*((case, "dense") for case in CASES), *((case, "known rows") for case in WITH_KNOWN_ROWS)],
)
def test_a_wrong_value_is_refused_or_harmless(case: str, world: str) -> None:
    mdp = WORLDS[world]
    learner = fresh(case, mdp)
    follow(learner, mdp, 0, PLAYED)
    state = learner.state()
    refused = 0
    for what, wrong in altered(state, np.random.default_rng(CASES.index(case))):
        other = fresh(case, mdp)
        follow(other, mdp, 0, 3)
        before = other.state()
        message = ""
        try:
            other.restore(wrong)
        except am.InvalidInput as problem:
            message = str(problem)
        if message:
            assert message.startswith("restore: ")
            assert "\n" not in message
            for name, array in other.state().items():
                np.testing.assert_array_equal(array, before[name], err_msg=f"{what} changed {name}")
            refused += 1
        else:
            assert survives(other, mdp), what
    assert refused >= 3
    again = fresh(case, mdp)
    again.restore(state)
    assert_same_state(again, learner)


def test_every_record_with_lasting_arrays_has_a_check() -> None:
    unchecked = {"KLStep", "Solver", "Dual", "Certificate", "Window", "MirrorState"}

    def records(record: Any) -> Iterator[type]:
        yield type(record)
        for part in record:
            if hasattr(part, "_fields"):
                yield from records(part)

    for name in LEARNERS:
        learner = made(name, DENSE)
        if not isinstance(learner, CompiledLearner):
            continue  # its parts are learners
        for kind in records(learner._state):
            lasting = any("Lasting" in str(hint) for hint in kind.__annotations__.values())
            assert not lasting or kind in CHECKS or kind.__name__ in unchecked, kind


# ---------------------------------------------------------------------- the cases that crashed


CRASHES = [
    ("uob-reps", "visits.clock", (1,), 10**7),
    ("uob-reps", "visits.clock", (0,), 10**7),
    ("uob-reps", "visits.changed", (0,), 10**7),
    ("fpop", "visits.clock", (1,), 10**7),
    ("ucrl2-window", "window.path", (7, 1), 10**7),
    ("ucrl2-window", "window.entries", (7, 1), 10**7),
    ("ucrl2-window", "clock", (1,), -(10**7)),
]


@pytest.mark.parametrize(("case", "name", "place", "value"), CRASHES)
def test_a_file_with_a_wrong_index_is_refused(
    case: str, name: str, place: tuple[int, ...], value: int, tmp_path: Path
) -> None:
    learner = fresh(case, DENSE)
    follow(learner, DENSE, 0, PLAYED)
    learner.save(tmp_path / "learner")
    header, arrays = read_archive(tmp_path / "learner", "learner")
    arrays[f"state.{name}"][place] = value
    write_archive(tmp_path / "learner", "learner", header, arrays)
    with pytest.raises(am.InvalidInput, match="restore it from a copy"):
        am.load(tmp_path / "learner")


def test_epochs_that_would_not_fit_are_refused() -> None:
    """A consistent list of epochs, but every counter may double again and again."""
    layout = am.Layout((1, 1), 1)
    learner = am.UOBREPS(layout, 10_000)
    state = learner.state()
    room = len(state["visits.starts"])
    state["visits.clock"][:] = [room, 0, 0, 0, room, 0]
    state["visits.starts"][:] = np.arange(room)
    state["visits.pairs"][:] = state["visits.opened"][:] = state["visits.triples"][:] = room
    with pytest.raises(am.InvalidInput, match=r"visits\.starts has no room"):
        learner.restore(state)


@pytest.mark.parametrize("clock", [[10**9, 0, 0], [0, 0, 0], [2, 99, 5], [2, 3, 4], [1, -1, 0]])
def test_an_impossible_clock_of_rounds_is_refused(clock: list[int]) -> None:
    learner = doubling("uob-reps", DENSE)
    drive(learner, DENSE, 0, 8)
    state = learner.state()
    assert state["clock"].tolist() == [2, 3, 5]
    with pytest.raises(am.InvalidInput, match="clock"):
        learner.restore({**state, "clock": np.array(clock)})
    with pytest.raises(am.InvalidInput, match="clock"):
        learner.restore({**state, "clock": np.array([1e30, 3.0, 5.0])})
    learner.restore(state)


# ---------------------------------------------------------------------- snapshots of runs


def snapshot_of(learner: Any, losses: Any) -> Saved:
    taken: list[Saved] = []
    am.play(
        DENSE,
        losses,
        learner,
        N_EPISODES,
        checkpoints=[10],
        compiled=False,
        keep=lambda done, take: taken.append(take()) if done == PLAYED else None,
    )
    return taken[0]


@pytest.mark.parametrize("case", ["uob-reps", "ucrl2", "exp3-ix"])
def test_a_wrong_snapshot_is_refused_or_harmless(case: str) -> None:
    """All parts of a snapshot but the learner's, which have tests of their own."""
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    snapshot = snapshot_of(fresh(case, DENSE), losses)
    others = {name: a for name, a in snapshot.items() if not name.startswith("learner.")}
    refused = 0
    for what, wrong in altered(others, np.random.default_rng(5)):
        learner = fresh(case, DENSE)
        before = learner.state()
        try:
            run = am.play(
                DENSE, losses, learner, N_EPISODES, checkpoints=[10], resume={**snapshot, **wrong}
            )
        except am.InvalidInput:
            refused += 1
            for name, array in learner.state().items():
                np.testing.assert_array_equal(array, before[name], err_msg=what)
        else:
            assert np.isfinite(run.expected_loss).all(), what
    assert refused > 20


def test_a_snapshot_whose_learner_has_played_more_is_refused() -> None:
    """The compiled loop would run past the horizon, and past the room for epochs."""
    losses = am.losses.Stochastic(losses_of(DENSE, 0))
    snapshot = snapshot_of(fresh("uob-reps", DENSE), losses)
    finished = fresh("uob-reps", DENSE)
    follow(finished, DENSE, 0, N_EPISODES)
    wrong = {**snapshot, **{f"learner.{k}": a for k, a in finished.state().items()}}
    learner = fresh("uob-reps", DENSE)
    with pytest.raises(am.InvalidInput, match="resume: 23 episodes"):
        am.play(DENSE, losses, learner, N_EPISODES, checkpoints=[10], resume=wrong)
    assert learner.episodes == 0


# ---------------------------------------------------------------------- with bounds checked

SCRIPT = """
import numpy as np
from tests.fuzz.mutations import altered
from tests.learners.test_hostile_states import DENSE, fresh, survives
from tests.reference.contract import follow
import advmdp as am
harmless = 0
for case in ("uob-reps-l1", "ucrl2-window", "ucbvi-bf", "q-learning-b"):
    learner = fresh(case, DENSE)
    follow(learner, DENSE, 0, 17)
    for what, wrong in altered(learner.state(), np.random.default_rng(3)):
        other = fresh(case, DENSE)
        try:
            other.restore(wrong)
        except am.InvalidInput:
            continue
        harmless += 1
        assert survives(other, DENSE), (case, what)
assert harmless > 10
print("harmless", harmless)
"""


def test_what_is_accepted_stays_within_its_arrays() -> None:
    """The kernels as plain Python, where an index beyond an array is an error."""
    command = [sys.executable, "-c", SCRIPT]
    root = Path(__file__).parents[2]
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=plain)
    assert done.returncode == 0, done.stderr[-2000:]
