"""A run that is cut and resumed gives the same bits as one that is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.catalogue import LEARNERS
from tests.reference.contract import COMPILED

T = 120


class _Cut(Exception):
    """Raised by ``keep`` to end a run."""


def _world() -> tuple[am.LayeredMDP, Any]:
    mdp = am.families.random_mdp((1, 3, 2, 1), 2, seed=3)
    base = np.random.default_rng(0).random(mdp.layout.n_rows)
    return mdp, am.losses.Adaptive(base, strength=0.5, memory=0.9)  # a process with a memory


def _learner(name: str, mdp: am.LayeredMDP) -> Any:
    entry = LEARNERS[name]
    given: dict[str, Any] = {"n_episodes": T} if entry.has_horizon else {}
    if entry.knows_transition:
        given["transitions"] = mdp.flat
    return entry.make(mdp.layout, **given)


def _cut(mdp, losses, learner, at, **options) -> dict[str, Any]:  # type: ignore[no-untyped-def]
    """The snapshot of a run that was ended at the first look after ``at`` episodes."""
    taken = {}

    def keep(episodes: int, snapshot: Any) -> None:
        if episodes >= at:
            taken.update(snapshot())
            raise _Cut

    with pytest.raises(_Cut):
        am.play(mdp, losses, learner, T, seed=7, keep=keep, **options)
    return taken


def _assert_same(one: am.Run, other: am.Run) -> None:
    for name in ("episodes", "regret", "expected_loss", "realised_loss", "best_loss",
                 "epoch", "mean_width", "epoch_starts"):  # fmt: skip
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert np.array_equal(mine, theirs), name
    assert one.solver == other.solver
    assert (one.decomposition is None) == (other.decomposition is None)
    if one.decomposition is not None:
        assert np.array_equal(one.decomposition.total(), other.decomposition.total())  # type: ignore[union-attr]
    assert np.array_equal(one.best.occupancy, other.best.occupancy)


@pytest.mark.parametrize("name", sorted(LEARNERS))
@pytest.mark.parametrize("compiled", [True, False])
def test_resumed_run_is_the_same(name: str, compiled: bool) -> None:
    mdp, losses = _world()
    may_compile = name in COMPILED
    compiled = compiled and may_compile
    whole = am.play(mdp, losses, _learner(name, mdp), T, seed=7, compiled=compiled)
    for at in (1, 50, T):
        snapshot = _cut(mdp, losses, _learner(name, mdp), at, compiled=compiled)
        assert all(isinstance(value, np.ndarray) for value in snapshot.values())
        other_loop = am.play(
            *(mdp, losses, _learner(name, mdp), T),
            seed=7,
            compiled=may_compile and not compiled,
            resume=snapshot,
        )
        _assert_same(other_loop, whole)


def test_progress_goes_on_from_the_snapshot() -> None:
    mdp, losses = _world()
    snapshot = _cut(mdp, losses, _learner("uob-reps", mdp), 60)
    seen: list[int] = []
    am.play(mdp, losses, _learner("uob-reps", mdp), T, seed=7, resume=snapshot,
            progress=lambda progress: seen.append(progress.episodes))  # fmt: skip
    assert seen[0] > 60
    assert seen[-1] == T


def test_snapshots_of_other_runs_are_refused() -> None:
    mdp, losses = _world()
    snapshot = _cut(mdp, losses, _learner("uob-reps", mdp), 60)
    wider = am.families.random_mdp((1, 3, 3, 1), 2, seed=3)
    flat = am.losses.Stochastic(np.full(wider.layout.n_rows, 0.5))

    def refused(
        message: str, world: am.LayeredMDP, process: Any, horizon: int = T, **options: Any
    ) -> None:
        learner = am.UOBREPS(world.layout, n_episodes=horizon)
        before = learner.state()
        with pytest.raises(am.InvalidInput, match=message):
            am.play(world, process, learner, T, **({"seed": 7, "resume": snapshot} | options))
        after = learner.state()
        assert all(np.array_equal(before[key], after[key]) for key in before)

    refused("resume: ledger.total has shape", wider, flat)
    refused("has other checkpoints", mdp, losses, checkpoints=[10, 20])
    refused("has no 'episodes'", mdp, losses, resume={})
    refused("of a run with another seed; resume with", mdp, losses, seed=8)
    refused("with another n_episodes of its learner", mdp, losses, horizon=2 * T)


def test_a_snapshot_from_before_seeds_were_kept_is_resumed() -> None:
    mdp, losses = _world()
    snapshot = _cut(mdp, losses, _learner("uob-reps", mdp), 60)
    for name in ("run.seed", "run.horizon"):
        del snapshot[name]
    run = am.play(mdp, losses, _learner("uob-reps", mdp), T, seed=7, resume=snapshot)
    _assert_same(run, am.play(mdp, losses, _learner("uob-reps", mdp), T, seed=7))


def test_a_learner_without_state_cannot_be_kept() -> None:
    mdp, losses = _world()

    class Mine:
        def policy(self) -> Any:
            return [np.full((n, 2), 0.5) for n in (1, 3, 2)]

        def update(self, feedback: Any) -> None: ...

    with pytest.raises(am.InvalidInput, match=r"Mine has no state\(\) and restore\(\)"):
        am.play(mdp, losses, Mine(), 10, keep=lambda episodes, snapshot: snapshot())
