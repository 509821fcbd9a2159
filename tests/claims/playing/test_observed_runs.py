"""The observer changes nothing, and its sums are those of the definitions, episode by episode."""

from __future__ import annotations

import numpy as np
import pytest

import advmdp as am
from advmdp.claims.playing.observed_runs import observe_run
from advmdp.kernels.model.row_status import BOUND
from advmdp.kernels.sets.interface import contains_row
from tests.reference.linear_programs import upper_occupancy_lp


def instance() -> tuple[am.LayeredMDP, am.losses.Stochastic]:
    mdp = am.families.random_mdp((1, 2, 3, 1), 2, seed=1)
    mean = mdp.layout.pairs(np.random.default_rng(0).random(mdp.layout.n_rows))
    return mdp, am.losses.Stochastic(mean)


@pytest.mark.parametrize("bounds", [True, False])
def test_an_observed_run_has_the_same_bits(bounds: bool) -> None:
    mdp, losses = instance()
    settings = {"eta_scale": 4.0, "log_scale": 0.05}
    plain = am.play(mdp, losses, am.UOBREPS(mdp.layout, 500, **settings), 500, seed=2)
    learner = am.UOBREPS(mdp.layout, 500, **settings)
    observed = observe_run(mdp, losses, learner, 500, 2, checkpoints=[100], bounds=bounds)
    assert observed.run.regret[-1] == plain.regret[-1]
    assert sorted(observed.at) == [100, 500]


@pytest.mark.parametrize("make", [am.UOBREPS, am.UOBREPSL1])
def test_the_sums_are_those_of_the_definitions(make: type[am.UOBREPS]) -> None:
    mdp, losses = instance()
    layout, n_episodes = mdp.layout, 120
    settings = {"eta_scale": 4.0, "log_scale": 0.05}
    seen = observe_run(mdp, losses, make(layout, n_episodes, **settings), n_episodes, 2).last
    learner = make(layout, n_episodes, **settings)
    sums = {name: np.zeros(layout.n_rows) for name in ("spread", "excess", "bare", "estimates")}
    inverse, root, hedge = np.zeros(3), np.zeros(3), np.zeros(2)
    opened, epoch, missed = np.zeros(layout.n_rows), 0, 0
    stream = losses.begin(layout, 2)

    class Slow:
        """The same learner through its public methods only."""

        def __init__(self) -> None:
            self.layout = layout

        def policy(self) -> object:
            return learner.policy()

        def update(self, trajectory: am.Trajectory) -> None:
            nonlocal opened, epoch, missed, hedge
            t, policy, box = learner.episodes, learner.policy(), learner.confidence_set()
            if learner.epoch > epoch:
                epoch, opened = learner.epoch, layout.flat_pairs(learner.visits)
                missed += not holds(box, mdp)
            flat = layout.flat_pairs(policy)
            measure = am.occupancy_measure(mdp.transitions, policy, layout)
            q = np.concatenate([table.sum(axis=2).ravel() for table in measure])
            guess = np.concatenate([table.sum(axis=2).ravel() for table in learner.occupancy()])
            u = layout.flat_pairs(am.upper_occupancy(policy, box))
            least = least_occupancy(learner, policy, flat)
            table = stream.table(t)
            learner.update(trajectory)
            rows = [
                (layout.layer_start[k] + trajectory.states[k]) * 2 + a
                for k, a in enumerate(trajectory.actions)
            ]
            estimate, visited = np.zeros(layout.n_rows), np.zeros(layout.n_rows)
            estimate[rows], visited[rows] = learner.estimate_of_last, 1.0
            if least is not None:
                sums["spread"] += np.maximum(u - q, q - least)
            sums["excess"] += estimate - q / u * table
            sums["bare"] += visited * table / u - q / u * table
            sums["estimates"] += estimate
            hedge += [guess @ estimate, guess @ estimate**2]
            for k in range(3):
                here = layout.layer_rows(k)
                inverse[k] += (q / np.maximum(1, opened))[here].sum()
                root[k] += (q / np.sqrt(np.maximum(1, opened)))[here].sum()

    am.play(mdp, losses, Slow(), n_episodes, seed=2)
    if learner.epoch > epoch:  # the set of an epoch that the last episode opened
        epoch, missed = learner.epoch, missed + (not holds(learner.confidence_set(), mdp))
    for name, value in sums.items():
        if name != "spread" or make is am.UOBREPS:
            assert np.allclose(getattr(seen, name), value, atol=1e-9), name
    assert np.allclose(seen.inverse, inverse)
    assert np.allclose(seen.root, root)
    assert np.allclose([seen.hedge_inner, seen.hedge_square], hedge)
    assert seen.epochs == epoch
    assert seen.epochs_missed == missed


def holds(confidence: object, mdp: am.LayeredMDP) -> bool:
    layout = mdp.layout
    if isinstance(confidence, am.BoxSet):
        low, high = layout.flat_triples(confidence.lower), layout.flat_triples(confidence.upper)
        return bool(((mdp.flat >= low - 1e-12) & (mdp.flat <= high + 1e-12)).all())
    assert isinstance(confidence, am.L1Set)
    away = np.add.reduceat(abs(mdp.flat - confidence.known_transition()), layout.row_start[:-1])
    return bool((away <= confidence.rows.width + 1e-12).all())


def least_occupancy(
    learner: am.UOBREPS, policy: list[np.ndarray], flat: np.ndarray
) -> np.ndarray | None:
    """min q(x, a) over the box: one minus the most that can reach the other states of the layer.

    With at most three states in a layer the most is found by merging the others into one target:
    a linear programme on a layout where the rest of the layer is a single state.
    """
    box = learner.confidence_set()
    if not isinstance(box, am.BoxSet):
        return None
    layout = learner.layout
    least = np.ones(layout.n_states - 1)
    for k in (1, 2):
        for x in range(layout.layer_sizes[k]):
            others = [y for y in range(layout.layer_sizes[k]) if y != x]
            least[layout.layer_start[k] + x] = 1.0 - most_elsewhere(box, policy, k, others)
    return flat * np.repeat(least, 2)


def most_elsewhere(box: am.BoxSet, policy: list[np.ndarray], k: int, others: list[int]) -> float:
    """max over the box of the chance to be in ``others`` at layer k, by backward recursion."""
    value = np.zeros(box.lower[k - 1].shape[2])
    value[others] = 1.0
    for here in range(k - 1, -1, -1):
        low, high = box.lower[here], box.upper[here]
        order = np.argsort(-value)
        new = np.zeros(low.shape[0])
        for y, b in np.ndindex(low.shape[:2]):
            p, left = low[y, b].copy(), 1.0 - low[y, b].sum()
            for j in order:
                step = min(left, high[y, b, j] - low[y, b, j])
                p[j] += step
                left -= step
            new[y] += policy[here][y, b] * (p @ value)
        value = new
    return float(value[0])


def test_the_bounds_are_the_maxima_over_the_set() -> None:
    mdp, losses = instance()
    learner = am.UOBREPS(mdp.layout, 200, log_scale=0.05)
    seen = observe_run(mdp, losses, learner, 199, seed=2).last
    before = am.UOBREPS(mdp.layout, 200, log_scale=0.05)
    am.play(mdp, losses, before, 198, seed=2)
    box = before.confidence_set()
    exact = upper_occupancy_lp(before.policy(), box.lower, box.upper)
    assert np.allclose(seen.upper, mdp.layout.flat_pairs(exact), atol=1e-9)


@pytest.mark.parametrize(("side", "step"), [("lower", 0.01), ("upper", -0.01)])
def test_a_box_misses_the_truth_on_either_side(side: str, step: float) -> None:
    mdp, _ = instance()
    state = am.UOBREPS(mdp.layout, 10).compiled_loop().state[0]
    truth, graph = np.array(mdp.flat), mdp.layout.graph()
    state.rows.status[0] = BOUND
    assert contains_row(graph, 0, truth, state.rows, 1e-12)
    getattr(state.rows, side)[1] = truth[1] + step
    assert not contains_row(graph, 0, truth, state.rows, 1e-12)
