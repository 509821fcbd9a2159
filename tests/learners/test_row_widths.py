"""The widths that a box set keeps for every row are those of its bounds, whatever has happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am


def widths_of(learner: Any) -> Any:
    rows = learner._state.rows
    return np.add.reduceat(rows.upper - rows.lower, learner.layout.row_start[:-1])


def played(n_episodes: int) -> tuple[Any, Any, Any]:
    mdp = am.families.random_mdp((1, 5, 6, 1), 3, seed=2)
    losses = am.losses.Stochastic(np.random.default_rng(3).random(mdp.layout.n_rows))
    learner = am.UOBREPS(mdp.layout, 400, log_scale=0.01)
    am.play(mdp, losses, learner, n_episodes, seed=4)
    return mdp, losses, learner


def test_rows_that_are_rebuilt_keep_their_widths() -> None:
    _, _, learner = played(200)
    assert learner.mean_width < 0.9
    assert learner._state.rows.widths == pytest.approx(widths_of(learner), abs=1e-14)
    mean = widths_of(learner).sum() / learner.layout.n_entries
    assert learner.mean_width == pytest.approx(mean, rel=1e-14)


def test_the_mean_width_has_the_same_bits_after_restoring() -> None:
    mdp, losses, learner = played(150)
    again = am.UOBREPS(mdp.layout, 400, log_scale=0.01)
    again.restore(learner.state())
    curves = [
        am.play(mdp, losses, each, 100, seed=5, checkpoints=list(range(1, 101))).mean_width
        for each in (learner, again)
    ]
    assert np.array_equal(*curves)


def test_a_state_without_widths_takes_them_from_its_bounds() -> None:
    mdp, _, learner = played(150)
    saved = learner.state()
    assert saved.pop("rows.widths").sum() > 0.0
    again = am.UOBREPS(mdp.layout, 400, log_scale=0.01)
    again.restore(saved)
    assert again.mean_width == pytest.approx(learner.mean_width, rel=1e-14)


def test_widths_that_do_not_fit_the_bounds_are_refused() -> None:
    mdp, _, learner = played(150)
    saved = learner.state()
    saved["rows.widths"][3] += 0.1
    with pytest.raises(am.InvalidInput, match="widths"):
        am.UOBREPS(mdp.layout, 400, log_scale=0.01).restore(saved)
