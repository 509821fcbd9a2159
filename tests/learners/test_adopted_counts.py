"""What a learner takes over from an earlier one: its counts, and the sets that they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.learners.fpop import begin_fpop
from advmdp.kernels.model.row_status import FREE
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.tuning import width_log_term
from tests.reference.contract import DENSE, GRID, WORLDS, doubling, drive, flat, follow
from tests.reference.plain_fpop import PlainFPOP
from tests.reference.plain_stochastic import PlainUCBVI
from tests.reference.tables import greatest_difference


@pytest.mark.parametrize("name", ["uob-reps", "uc-o-reps", "uob-reps-l1", "uc-o-reps-box"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_set_of_a_new_round_is_that_of_all_counts(name: str, world: str) -> None:
    """Against the set built from tables of counts, and the projection of the usual start."""
    mdp = WORLDS[world]
    layout = mdp.layout
    learner = doubling(name, mdp, 100, log_scale=0.01)
    past = drive(learner, mdp, 0, 100)
    seen, moved = past.visits, past.moves
    assert learner.round == 1  # a round begins with its first policy
    usual_start = LEARNERS[name].make(layout, 10).occupancy()
    learner.policy()
    second = learner.learner
    assert (learner.round, second.episodes, second.epoch) == (2, 0, 1)
    for ours, theirs in ((second.visits, seen), (second.transitions_seen, moved)):
        assert np.array_equal(flat(ours), flat(theirs))
    assert second.log_term == 0.01 * width_log_term(layout, 200, 0.1 / 12)
    family = am.BoxSet if name in ("uob-reps", "uc-o-reps-box") else am.L1Set
    expected = family.from_counts(layout, seen, moved, second.log_term)
    rows = second.confidence_set().rows
    if max(layout.layer_sizes) > 1:
        assert (rows.status != FREE).any()  # the counts do say something
    for ours, theirs in zip(rows[:5], expected.rows[:5], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    projected = am.project(usual_start, expected)
    assert projected.converged
    assert greatest_difference(second.occupancy(), projected.occupancy) < 1e-9
    follow(learner, mdp, 100, 140)
    assert [table.sum() for table in second.visits] == [140] * layout.n_layers


def test_epochs_double_the_counts_taken_along() -> None:
    world = am.families.random_mdp((1, 1), 1, seed=0)
    learner = doubling("uob-reps", world, 8)
    follow(learner, world, 0, 8)
    epochs = []
    for t in range(8, 23):
        follow(learner, world, t, t + 1)
        epochs.append(learner.learner.epoch)
    assert epochs == [1] * 7 + [2] * 8  # 8 visits at the start, doubled after 8 more


def test_fpop_keeps_its_balls_and_forgets_the_losses() -> None:
    learner = doubling("fpop", DENSE, 50, log_scale=0.01, noise_scale=0.0)
    past = drive(learner, DENSE, 0, 50)
    sizes = DENSE.layout.layer_sizes
    support = [np.ones(table.shape, bool) for table in DENSE.transitions]
    learner.policy()
    fresh = learner.learner
    oracle = PlainFPOP(sizes, 2, support=support, log_term=fresh.log_term)
    oracle.frozen = past
    costs = DENSE.layout.pairs(np.random.default_rng(0).random(DENSE.layout.n_rows))
    oracle.total = costs
    assert not fresh._state.total.any()
    fresh._state.total[:] = flat(costs)  # without any costs all values are zero
    begin_fpop(fresh._graph, fresh._state, False)
    values = oracle.values([np.zeros_like(c) for c in costs])
    assert greatest_difference(DENSE.layout.pairs(fresh._state.q), values) < 1e-12


@pytest.mark.parametrize("name", ["ucbvi-ch", "ucbvi-bf"])
def test_ucbvi_plans_anew_from_all_it_has_counted(name: str) -> None:
    learner = doubling(name, DENSE, 30, bonus_scale=0.003)
    oracle = PlainUCBVI(
        DENSE.layout.layer_sizes, 2, 60, bernstein=name == "ucbvi-bf", delta=0.1 / 12,
        bonus_scale=0.003,
    )  # fmt: skip
    oracle.past = drive(learner, DENSE, 0, 30)
    learner.policy()
    oracle.past.add = lambda *episode: None  # type: ignore[method-assign]
    oracle.update([], [], np.zeros(0))
    assert max(q.max() for q in oracle.q) > 0.1
    assert learner.learner.episodes == 30
    assert greatest_difference(learner.learner.lower_values, oracle.q) < 1e-12


def test_counts_can_be_adopted_between_equals_only() -> None:
    learner = am.UOBREPS(DENSE.layout, 10)
    for other in (am.UOBREPSL1(DENSE.layout, 10), am.UOBREPS(GRID.layout, 10)):
        with pytest.raises(am.InvalidInput, match=r"adopt_counts: .* between equals only"):
            learner.adopt_counts(other)
    follow(learner, DENSE, 0, 1)
    with pytest.raises(am.InvalidInput, match="adopt_counts: this learner has played"):
        learner.adopt_counts(am.UOBREPS(DENSE.layout, 10))


def test_the_unknown_transition_is_paid_for_once() -> None:
    """ERROR, the term of the regret that it causes, beside a tuned run and forgetful rounds."""

    class Forgetful(am.UOBREPS):
        def _adopt(self, earlier: Any) -> None:
            pass

    error = np.zeros(3)
    for seed in range(4):
        mdp = am.families.random_mdp((1, 6, 6, 1), 2, seed=seed)
        table = np.random.default_rng(seed).random(mdp.layout.n_rows)
        preset = am.PRACTICAL["uob-reps"]
        learners = [
            am.UOBREPS(mdp.layout, 3000, **preset),
            am.Doubling(am.UOBREPS, mdp.layout, **preset),
            am.Doubling(Forgetful, mdp.layout, **preset),
        ]
        for place, learner in enumerate(learners):
            run = am.play(mdp, am.losses.Stochastic(table), learner, 3000, seed=seed)
            error[place] += run.decomposition.error[-1]
    tuned, kept, forgotten = error
    assert kept < 1.5 * tuned
    assert kept < 0.6 * forgotten
