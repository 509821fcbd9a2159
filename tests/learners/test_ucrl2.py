"""UCRL2 and its sliding window: transcription, optimism, forgetting, easy and hard worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.kernels.model.row_status import FREE
from advmdp.learners.stochastic.ucrl2 import UCRL2, SlidingWindowUCRL2
from tests.reference.plain_stochastic import PlainUCRL2
from tests.reference.shadow import (
    Shadow,
    assert_greedy,
    assert_resumes,
    assert_same_both_ways,
    optimal_values,
    random_mean,
    worlds,
)
from tests.reference.tables import greatest_difference

# With the theory's constants nothing is known after a few hundred episodes.
EAGER = {"loss_scale": 0.02, "transition_scale": 0.01}


def support(layout: am.Layout) -> Any:
    return [layer > 0 for layer in layout.triples(np.ones(layout.n_entries))]


@pytest.mark.parametrize("scales", [EAGER, {}])
@pytest.mark.parametrize("name", worlds())
@pytest.mark.parametrize("window", [None, 60])
def test_four_hundred_episodes_against_the_transcription(
    window: int | None, name: str, scales: dict[str, float]
) -> None:
    mdp = worlds()[name]
    layout = mdp.layout
    plain = PlainUCRL2(
        layout.layer_sizes, layout.n_actions, support=support(layout), window=window, **scales
    )

    def compare(learner: Any, plain: PlainUCRL2) -> None:
        assert learner.epoch == plain.epoch
        assert greatest_difference(learner.lower_values, plain.q) <= 1e-9
        assert learner.optimistic_loss == pytest.approx(plain.loss, abs=1e-9)
        assert_greedy(learner.policy(), plain.q)

    learner = UCRL2(layout, **scales)
    if window is not None:
        learner = SlidingWindowUCRL2(layout, window, **scales)
    losses = am.losses.Stochastic(random_mean(mdp))
    am.play(mdp, losses, Shadow(learner, plain, compare), 400, seed=2)
    compare(learner, plain)
    assert learner.episodes == 400
    assert (learner.optimistic_loss > 0.001) == bool(scales)  # the sets mattered


@pytest.mark.parametrize("window", [None, 70])
@pytest.mark.parametrize("name", worlds())
def test_compiled_protocol_and_resumed_runs_are_the_same(name: str, window: int | None) -> None:
    mdp = worlds()[name]
    losses = am.losses.Stochastic(random_mean(mdp))

    def make() -> UCRL2:
        if window is None:
            return UCRL2(mdp.layout, **EAGER)
        return SlidingWindowUCRL2(mdp.layout, window, **EAGER)

    assert_same_both_ways(mdp, losses, make, 500)
    assert_resumes(mdp, losses, make, 500)


def test_a_window_longer_than_the_run_changes_nothing() -> None:
    mdp = worlds()["dense"]
    losses = am.losses.Stochastic(random_mean(mdp))
    learners = [UCRL2(mdp.layout, **EAGER), SlidingWindowUCRL2(mdp.layout, 1001, **EAGER)]
    runs = [am.play(mdp, losses, learner, 1000, seed=0) for learner in learners]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert learners[0].epoch == learners[1].epoch
    assert greatest_difference(learners[0].policy(), learners[1].policy()) == 0.0


def test_the_window_holds_exactly_the_last_episodes() -> None:
    mdp = worlds()["dense"]
    learner = SlidingWindowUCRL2(mdp.layout, 37, **EAGER)
    am.play(mdp, am.losses.Stochastic(random_mean(mdp)), learner, 500, seed=0)
    model = learner._state.model
    assert model.pairs.min() >= 0
    assert model.triples.min() >= 0
    assert model.pairs.sum() == 37 * mdp.layout.n_layers
    starts = mdp.layout.row_start[:-1]
    assert np.array_equal(np.add.reduceat(model.triples, starts), model.pairs)


def test_values_are_optimistic_while_the_sets_hold_the_truth() -> None:
    """The event (mean losses and transition inside their widths, from the counters at the start
    of the epoch) is checked exactly, so that the implication has no error rate."""
    mdp = am.families.random_mdp((1, 3, 3, 3, 1), 2, seed=3)
    layout, mean = mdp.layout, random_mean(mdp, 3)
    best = optimal_values(mdp, mean)
    flat_mean = layout.flat_pairs(mean)
    learner = UCRL2(layout, loss_scale=0.2, transition_scale=0.05)
    good = 0
    for part in range(60):
        am.play(mdp, am.losses.Stochastic(mean), learner, 100, seed=part)
        state = learner._state
        off = np.add.reduceat(np.abs(state.rows.centre - mdp.flat), layout.row_start[:-1])
        inside = (state.rows.status == FREE) | (off <= state.rows.width)
        if inside.all() and (state.costs <= flat_mean).all():
            good += 1
            values = learner.lower_values
            assert all((q <= s + 1e-9).all() for q, s in zip(values, best, strict=True))
            assert learner.optimistic_loss <= best[0].min() + 1e-9
    assert good == 60
    assert learner.optimistic_loss > 0.2 * best[0].min()  # and not because it is empty


def test_deep_sea_and_river_swim_are_solved_where_uniform_play_is_lost() -> None:
    """A tenth of the uniform policy's regret, in each of three seeds, with small widths.

    Over seeds 0-9 the ratio was below 0.04 and hardly varied, so an error by chance is far below
    one in a thousand.
    """
    for mdp in (am.families.deep_sea(8), am.families.river_swim(length=5, horizon=12)):
        losses = am.losses.Stochastic(mdp.natural_loss)
        for seed in range(3):
            learner = UCRL2(mdp.layout, **EAGER)
            learnt = am.play(mdp, losses, learner, 20_000, seed=seed).regret[-1]
            uniform = am.play(mdp, losses, am.Uniform(mdp.layout), 20_000, seed=seed).regret[-1]
            assert learnt < 0.1 * uniform


def test_a_window_follows_a_switch_that_ucrl2_does_not_see() -> None:
    """(0.5, 0.4) in the first half, (0.0, 0.5) in the second: the negative control of UCRL2.

    Action 1 has the better average of all episodes to the end: UCRL2 pays 0.2 an episode more than
    action 0 would have.  A window of a twentieth of the run tries action 0 again and finds it good.
    """
    layout = am.Layout(layer_sizes=(1, 1), n_actions=2)
    mdp = am.LayeredMDP(layout, [np.ones((1, 2, 1))])
    tables = [[np.array([[0.5, 0.4]])], [np.array([[0.0, 0.5]])]]
    for n_episodes in (4_000, 16_000):
        losses = am.losses.Switching(tables, period=n_episodes // 2)
        learner = UCRL2(layout, loss_scale=1e-6)
        misled = am.play(mdp, losses, learner, n_episodes).regret[-1]
        assert misled == pytest.approx(0.2 * n_episodes, rel=0.02)  # linear
        window = SlidingWindowUCRL2(layout, n_episodes // 20, loss_scale=1e-6)
        assert am.play(mdp, losses, window, n_episodes).regret[-1] < 0.0


def test_refusals_name_the_parameter() -> None:
    layout = am.Layout(layer_sizes=(1, 2, 1), n_actions=2)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (UCRL2, {"delta": 2.0}, "delta"),
        (UCRL2, {"loss_scale": -1.0}, "loss_scale"),
        (UCRL2, {"transition_scale": np.inf}, "transition_scale"),
        (SlidingWindowUCRL2, {"window": 0}, "window"),
        (SlidingWindowUCRL2, {"window": 2.0}, "window"),
    ]
    for make, arguments, name in cases:
        with pytest.raises(am.InvalidInput, match=name):
            make(layout, **arguments)
