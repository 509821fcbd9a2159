"""Losses outside [0, 1]: refused, or clipped and counted; runs are those of the clipped tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.contract import DENSE, made

TABLES = np.random.default_rng(3).normal(0.5, 0.6, (7, DENSE.layout.n_rows))
WILD = am.losses.Replayed(TABLES, repeat=True, any_losses=True)
TAME = am.losses.Replayed(np.clip(TABLES, 0.0, 1.0), repeat=True)
OUTSIDE = np.count_nonzero((TABLES < 0.0) | (TABLES > 1.0), axis=1)
N_EPISODES = 25


@pytest.mark.parametrize("compiled", [True, False])
def test_a_clipped_run_is_that_of_the_clipped_tables(compiled: bool) -> None:
    learners = [made("uob-reps", DENSE) for _ in range(2)]
    clipped, tame = (
        am.play(DENSE, losses, learner, N_EPISODES, 2, compiled=compiled, losses_outside="clip")
        for losses, learner in zip((WILD, TAME), learners, strict=True)
    )
    assert np.array_equal(clipped.regret, tame.regret)
    assert np.array_equal(clipped.realised_loss, tame.realised_loss)
    assert clipped.clipped == sum(OUTSIDE[t % 7] for t in range(N_EPISODES)) > 0
    assert tame.clipped == 0
    assert "clipped" in repr(clipped)
    assert "clipped" not in repr(tame)


def test_functions_are_clipped_too_and_resumed_runs_count_all() -> None:
    losses = am.losses.Custom(lambda episode, history: TABLES[episode % 7], any_losses=True)
    kept: dict[str, Any] = {}

    def keep(episodes: int, snapshot: Any) -> None:
        if episodes == 11:
            kept.update(snapshot())

    def play(**options: Any) -> am.Run:
        learner = made("uob-reps", DENSE)
        return am.play(DENSE, losses, learner, N_EPISODES, 2, losses_outside="clip", **options)

    whole = play(keep=keep)
    again = play(resume=kept)
    tame = am.play(DENSE, TAME, made("uob-reps", DENSE), N_EPISODES, 2, compiled=False)
    assert np.array_equal(whole.regret, tame.regret)
    assert whole.clipped == again.clipped == sum(OUTSIDE[t % 7] for t in range(N_EPISODES))


def test_without_a_choice_they_are_refused_with_the_remedies() -> None:
    with pytest.raises(am.InvalidInput, match="losses_outside='clip' or 'adapt', or choose"):
        am.play(DENSE, WILD, made("uob-reps", DENSE), 5)
    with pytest.raises(am.InvalidInput, match="losses_outside: 'cut' is none of 'refuse', 'clip'"):
        am.play(DENSE, WILD, made("uob-reps", DENSE), 5, losses_outside="cut")


def test_a_service_clips_and_counts(tmp_path: Path) -> None:
    layout = am.Layout((1, 2, 1), 2)
    services = [
        am.Service(am.UOBREPS(layout, 10), tmp_path / "service.am", losses_outside="clip"),
        am.Service(am.UOBREPS(layout, 10)),
    ]
    for service, losses in zip(services, ([1.5, -0.25], [1.0, 0.0]), strict=True):
        service.finish(service.begin(), am.Trajectory([0, 1, 0], [0, 1], losses))
    assert all(map(np.array_equal, *(service.learner.policy() for service in services)))
    assert [service.clipped for service in services] == [2, 0]
    services[0].close()
    again = am.Service.load(tmp_path / "service.am")
    assert (again.clipped, again.losses_outside) == (2, "clip")
    ticket = again.begin()
    with pytest.raises(am.InvalidInput, match="is not finite"):
        again.finish(ticket, am.Trajectory([0, 1, 0], [0, 1], [np.nan, 2.0]))
    assert (again.clipped, again.finished) == (2, 1)
    full = am.Service(am.UCOREPS(layout, 10), losses_outside="clip")
    table = [np.array([[2.0, 0.5]]), np.full((2, 2), -1.0)]
    full.finish(full.begin(), am.FullInformation([0, 1, 0], [0, 1], table))
    assert full.clipped == 5
    refusing = services[1].begin()
    with pytest.raises(am.InvalidInput, match=r"loss 1.5 at step 0 is outside \[0, 1\]"):
        services[1].finish(refusing, am.Trajectory([0, 1, 0], [0, 1], [1.5, 0.0]))
