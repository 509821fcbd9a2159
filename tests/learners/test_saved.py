"""Learners in files: what is loaded continues with the same bits, or is refused."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.files.archive import read_archive, write_archive
from advmdp.kernels.runtime.storage import Storage, leaves
from advmdp.layout.io import declared_successors
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.saving.saveable import Saveable
from tests.reference.contract import (
    COMPILED,
    DENSE,
    N_EPISODES,
    WORLDS,
    assert_same_state,
    drive,
    flat,
    follow,
    losses_of,
    made,
)

PRUNED = am.Layout(
    (1, 3, 2, 1),
    2,
    successors=[
        [[[2, 0], [2, -1]]],  # state 1 is never reached
        [[[0, 1], [0, -1]], [[1, -1], [1, -1]], [[1, 0], [1, -1]]],
        [[[0], [0]], [[0], [0]]],
    ],
)


POOLED = am.families.river_swim(length=4, horizon=5, pooled=True)


def unusual(name: str, mdp: am.LayeredMDP) -> Any:
    """The learner with every parameter away from its default."""
    entry = LEARNERS[name]
    arguments: dict[str, Any] = {"layout": mdp.layout}
    for key, parameter in inspect.signature(entry.make).parameters.items():
        if key == "transitions":
            arguments[key] = mdp.transitions
        elif key == "n_episodes":
            arguments[key] = np.int64(N_EPISODES + 7)
        elif key == "seed":
            arguments[key] = np.random.SeedSequence(2**100, spawn_key=(3,)).spawn(2)[1]
        elif isinstance(parameter.default, bool):
            arguments[key] = not parameter.default
        elif isinstance(parameter.default, int):
            arguments[key] = 3
        elif isinstance(parameter.default, float) and parameter.default > 0.0:
            arguments[key] = np.float64(parameter.default * 0.7)
        elif key != "layout":
            arguments[key] = parameter.default
    return entry.make(*arguments.values())  # by position: names must be found


# ---------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("name", COMPILED)
def test_only_what_lasts_is_saved_and_it_is_enough(name: str) -> None:
    mdp = WORLDS["dense"]
    learner, again = made(name, mdp), made(name, mdp)
    follow(learner, mdp, 0, 9)
    kept = learner.state()
    declared = {part: storage for part, _, storage in leaves(learner._state)}
    assert {part for part in kept if declared[part] is not Storage.LASTING} == set()
    again.restore(kept)
    for _, array, storage in leaves(again._state):
        if (
            storage in (Storage.SCRATCH, Storage.PRIVATE, Storage.ALONE)
            and array.dtype == np.float64
        ):
            array[...] = np.nan  # whoever reads scratch before writing it meets this
    for one in (learner, again):
        follow(one, mdp, 9, 17)
    assert_same_state(again, learner)
    with pytest.raises(am.InvalidInput, match="other parts"):
        again.restore({**kept, "nobody.knows": np.zeros(1)})


FIRST_VERSION = Path(__file__).parents[1] / "data" / "version_1"


@pytest.mark.parametrize("name", sorted(path.stem for path in FIRST_VERSION.glob("*.am")))
def test_files_of_the_first_version_go_on(name: str) -> None:
    mdp = WORLDS["declared support"]
    later = json.loads((FIRST_VERSION / "policies_ten_episodes_later.json").read_text())[name]
    learner = am.load(FIRST_VERSION / f"{name}.am")
    drive(learner, mdp, learner.episodes, learner.episodes + 10)
    # To the tolerance of a step: such files lack the factors that its first direction comes from.
    assert flat(learner.policy()) == pytest.approx(np.array(later), rel=1e-8)


# ---------------------------------------------------------------------- what comes back


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_loaded_learner_continues_with_the_same_bits(
    name: str, world: str, tmp_path: Path
) -> None:
    mdp = WORLDS[world]
    learner = made(name, mdp) if world != "dense" else unusual(name, mdp)
    follow(learner, mdp, 0, 17)
    path, again = tmp_path / "learner", tmp_path / "again"
    learner.save(path)
    loaded = am.load(path)
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert type(loaded) is type(learner)
    assert loaded.layout == learner.layout
    numbers = {key: value for key, value in vars(learner).items() if isinstance(value, int | float)}
    assert {key: vars(loaded)[key] for key in numbers} == numbers
    assert np.array_equal(follow(loaded, mdp, 17, N_EPISODES), follow(learner, mdp, 17, N_EPISODES))
    assert_same_state(loaded, learner)


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps", "fpop"])
def test_shared_counts_are_shared_after_loading(name: str, tmp_path: Path) -> None:
    learner = made(name, POOLED)
    follow(learner, POOLED, 0, 17)
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner")
    assert loaded.layout.counter_row is not None
    for one in (learner, loaded):
        follow(one, POOLED, 17, 40)
    assert_same_state(learner, loaded)


@pytest.mark.parametrize("make", [am.UOBREPS, am.UOBREPSL1])
def test_wide_layers_and_compiled_episodes_make_no_difference(make: Any, tmp_path: Path) -> None:
    """Layers of more than 12 states are projected onto in another way."""
    mdp = am.families.random_mdp((1, 14, 14, 1), 2, seed=0)
    losses = am.losses.Stochastic(losses_of(mdp, 0))
    learner = make(mdp.layout, 600, log_scale=0.01, eta_scale=8.0)
    am.play(mdp, losses, learner, 300, seed=1)
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner")
    for each in (learner, loaded):
        am.play(mdp, losses, each, 300, seed=2)
    assert_same_state(loaded, learner)


def test_another_process_continues_with_the_same_bits(tmp_path: Path) -> None:
    script = (
        "import sys, advmdp as am\n"
        "from tests.reference.contract import DENSE, follow\n"
        "learner = am.load(sys.argv[1])\n"
        "sys.stdout.write(follow(learner, DENSE, 20, 40).tobytes().hex())\n"
    )
    learner = made("uob-reps", DENSE)
    follow(learner, DENSE, 0, 20)
    learner.save(tmp_path / "learner")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", script, str(tmp_path / "learner")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    assert output.stdout == follow(learner, DENSE, 20, 40).tobytes().hex()


def test_the_file_says_what_it_is_and_has_no_time_in_it(tmp_path: Path) -> None:
    layout = am.Layout((1, 2, 1), 2)
    for name in ("one", "two"):
        am.UOBREPS(layout, 100, log_scale=0.5).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    header, arrays = read_archive(tmp_path / "one", "learner")
    assert header == {
        "version": 2,
        "class": "UOBREPS",
        "arguments": {"n_episodes": 100, "log_scale": 0.5},
        "layout": {"sizes": [1, 2, 1], "n_actions": 2},
    }
    assert not any(name.startswith("layout") for name in arrays)
    assert arrays["state.visits.clock"].dtype == np.int64


def test_transitions_are_kept_as_they_were_given(tmp_path: Path) -> None:
    transitions = [table.copy() for table in DENSE.transitions]
    learner = am.OREPS(DENSE.layout, transitions, 100)
    for table in transitions:
        table[...] = np.nan
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner")
    assert np.array_equal(follow(loaded, DENSE, 0, 9), follow(learner, DENSE, 0, 9))


@pytest.mark.parametrize(
    "layout",
    [*(mdp.layout for mdp in WORLDS.values()), PRUNED, POOLED.layout],
    ids=[*WORLDS, "pruned", "pooled"],
)
def test_a_layout_can_be_declared_again(layout: am.Layout) -> None:
    declared = declared_successors(layout)
    again = am.Layout(layout.declared_sizes, layout.n_actions, declared)
    assert again == layout
    assert (declared is None) == layout.is_dense == again.is_dense
    for ours, theirs in zip(layout.original_state, again.original_state, strict=True):
        assert np.array_equal(ours, theirs)
    for ours, theirs in zip(layout.graph(), again.graph(), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_pruned_layout_comes_back_with_its_names(tmp_path: Path) -> None:
    am.Uniform(PRUNED).save(tmp_path / "learner")
    layout = am.load(tmp_path / "learner").layout
    assert layout.layer_sizes == (1, 2, 2, 1)
    assert [layout.name_of_row(r) for r in range(layout.n_rows)] == [
        PRUNED.name_of_row(r) for r in range(PRUNED.n_rows)
    ]


# ---------------------------------------------------------------------- classes of one's own


class Slower(am.UOBREPS):
    """Somebody's own learner."""

    def __init__(self, layout: am.Layout, pace: Any, n_episodes: int) -> None:
        super().__init__(layout, n_episodes, eta_scale=float(pace))


def test_own_classes_are_made_only_when_they_are_named(tmp_path: Path) -> None:
    learner = Slower(DENSE.layout, 0.25, n_episodes=N_EPISODES)
    follow(learner, DENSE, 0, 9)
    learner.save(tmp_path / "learner")
    with pytest.raises(am.InvalidInput, match=r"holds a Slower, .* load\(path, Slower\)"):
        am.load(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner", Slower)
    assert type(loaded) is Slower
    assert loaded.eta == learner.eta
    assert np.array_equal(flat(loaded.policy()), flat(learner.policy()))


class Repeating(Saveable):
    """A learner that shares nothing with the built-in ones but the file."""

    feedback = "bandit"

    def __init__(self, layout: am.Layout, stubbornness: float = 0.5) -> None:
        self.layout, self.stubbornness = layout, stubbornness
        self._actions = np.zeros(layout.n_layers, dtype=np.int64)

    def policy(self) -> Any:
        share = (1.0 - self.stubbornness) / self.layout.n_actions
        tables = self.layout.pairs(np.full(self.layout.n_rows, share))
        for table, action in zip(tables, self._actions, strict=True):
            table[:, action] += self.stubbornness
        return tables

    def update(self, feedback: am.Trajectory) -> None:
        self._actions[:] = feedback.actions

    def state(self) -> dict[str, Any]:
        return {"actions": self._actions.copy()}

    def restore(self, saved: Any) -> None:
        self._actions[:] = saved["actions"]


def test_a_learner_of_ones_own_can_be_kept_and_served(tmp_path: Path) -> None:
    learner = Repeating(DENSE.layout, 0.8)
    follow(learner, DENSE, 0, 9)
    learner.save(tmp_path / "learner")
    loaded = am.load(tmp_path / "learner", Repeating)
    assert np.array_equal(follow(loaded, DENSE, 9, 19), follow(learner, DENSE, 9, 19))
    am.Service(learner).save(tmp_path / "service")
    served = am.Service.load(tmp_path / "service", Repeating).learner
    assert np.array_equal(flat(served.policy()), flat(learner.policy()))


def test_arguments_that_cannot_be_kept_are_named(tmp_path: Path) -> None:
    class Pace:
        def __float__(self) -> float:
            return 0.5

    with pytest.raises(am.InvalidInput, match="save: the argument pace is a Pace"):
        Slower(DENSE.layout, Pace(), 10).save(tmp_path / "learner")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- what is refused


def spoilt(path: Path, **changes: Any) -> None:
    """The same file with other values in its header, and a checksum that fits."""
    header, arrays = read_archive(path, "learner")
    write_archive(path, "learner", header | changes, arrays)


BAD_HEADERS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "newer": ({"version": 3}, am.InvalidInput, "of version 3, .* up to version 2"),
    "no number": ({"version": None}, am.DamagedFile, "do not make a learner"),
    "unknown class": ({"class": "os"}, am.InvalidInput, "holds a os, which is not in the"),
    "another class": ({"class": "Exp3IX"}, am.InvalidInput, "restore: .*same class"),
    "no arguments": ({"arguments": {}}, am.DamagedFile, "do not make a learner .*n_episodes"),
    "odd argument": ({"arguments": {"n_episodes": 40, "x": 1}}, am.DamagedFile, "unexpected"),
    "bad argument": ({"arguments": {"n_episodes": -1}}, am.InvalidInput, "n_episodes: -1"),
    "argument of text": ({"arguments": {"n_episodes": 40, "eta": "1"}}, am.InvalidInput, "eta: "),
    "arguments of text": ({"arguments": "n_episodes"}, am.DamagedFile, "do not make a learner"),
    "no layout": ({"layout": {}}, am.DamagedFile, "do not make a learner .*sizes"),
    "another layout": (
        {"layout": {"sizes": [1, 4, 1], "n_actions": 2}}, am.InvalidInput, "restore: .*same layout",
    ),
    "a layout of text": ({"layout": {"sizes": "1", "n_actions": 2}}, am.InvalidInput, "layer_si"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_a_file_that_makes_no_learner_is_refused(case: str, tmp_path: Path) -> None:
    changes, error, message = BAD_HEADERS[case]
    path = tmp_path / "learner"
    made("uob-reps", DENSE).save(path)
    spoilt(path, **changes)
    with pytest.raises(error, match=message) as caught:
        am.load(path)
    assert "\n" not in str(caught.value)


def test_a_missing_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "learner"
    made("uob-reps", DENSE).save(path)
    header, arrays = read_archive(path, "learner")
    del arrays["state.step.measure.policy"]
    write_archive(path, "learner", header, arrays)
    with pytest.raises(am.InvalidInput, match="restore: the saved state has other parts"):
        am.load(path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(json.dumps({"class": "UOBREPS"}))
    with pytest.raises(am.DamagedFile, match="not a file of advmdp"):
        am.load(tmp_path / "text")
    write_archive(tmp_path / "run", "run", {}, {})
    with pytest.raises(am.InvalidInput, match="holds a run, not a learner"):
        am.load(tmp_path / "run")
