"""q_1: the measure of largest entropy on what is declared; from there none is too far."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import advmdp as am
from advmdp.layout import Floats
from tests.reference.tables import Table, greatest_difference, pair_sums


def trap(n_layers: int, n_actions: int) -> am.Layout:
    """Two states a layer: one action of state 0 stays on the track, all else leads to state 1."""
    first = np.ones((1, n_actions, 1), np.int64)
    first[0, 0] = 0
    inner = np.ones((2, n_actions, 1), np.int64)
    inner[0, 0] = 0
    last = np.zeros((2, n_actions, 1), np.int64)
    return am.Layout(
        layer_sizes=(1, *[2] * (n_layers - 1), 1),
        n_actions=n_actions,
        successors=[first, *[inner] * (n_layers - 2), last],
    )


DECLARED = {
    "trap": trap(10, 10),
    "deep sea": am.families.deep_sea(20).layout,
    "lock": am.families.combination_lock(20, 4, seed=0).layout,
    "river": am.families.river_swim(6, horizon=20).layout,
    "random": am.families.random_mdp((1, 8, 9, 8, 1), 3, seed=0, n_successors=2).layout,
}
LEARNERS = {
    "uob-reps": am.UOBREPS,
    "uob-reps-l1": am.UOBREPSL1,
    "uc-o-reps": am.UCOREPS,
    "bandit-uc-o-reps": am.BanditUCOREPS,
}


def farthest(layout: am.Layout, measure: Table) -> float:
    """max of D(q || measure) over all occupancy measures: it is convex, so at a single path."""
    q: Floats = layout.flat_triples(measure)
    row, to = layout.entry_rows(), layout.entry_successors()
    length = np.full(layout.n_states, -math.inf)
    length[0] = 0.0
    for k in range(layout.n_layers):
        entries = np.arange(layout.n_entries)[layout.layer_entries(k)]
        reached = length[row[entries] // layout.n_actions] - np.log(q[entries])
        np.maximum.at(length, to[entries], reached)
    return float(length[-1])


def triples_of_layers(layout: am.Layout) -> list[int]:
    ends = [layout.layer_entries(k) for k in range(layout.n_layers)]
    return [part.stop - part.start for part in ends]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("world", DECLARED)
def test_no_measure_is_farther_than_the_proof_allows(world: str, name: str) -> None:
    # Lemmas 12 and 13 need D(q* || q_1) <= sum over layers of ln(triples) <= L ln(|X|^2 |A|).
    layout = DECLARED[world]
    first = LEARNERS[name](layout, 100).occupancy()
    limit = sum(math.log(n) for n in triples_of_layers(layout))
    assert farthest(layout, first) <= limit + 1e-9
    assert limit <= layout.n_layers * math.log(layout.n_states**2 * layout.n_actions)


@pytest.mark.parametrize("world", DECLARED)
def test_it_has_the_largest_entropy(world: str) -> None:
    # Against the projection of the uniform table, whose own tests use conic solvers.
    layout = DECLARED[world]
    uniform = np.repeat([1.0 / n for n in triples_of_layers(layout)], triples_of_layers(layout))
    expected = am.project(layout.triples(uniform), am.AnyTransition(layout)).occupancy
    assert greatest_difference(am.UOBREPS(layout, 100).occupancy(), expected) <= 1e-9


def test_where_everything_is_possible_it_is_the_printed_one() -> None:
    layout = am.Layout(layer_sizes=(1, 3, 4, 1), n_actions=2)
    first = am.UOBREPS(layout, 100).occupancy()
    for layer, (n, m) in zip(first, itertools.pairwise((1, 3, 4, 1)), strict=True):
        assert layer == pytest.approx(np.full((n, 2, m), 1.0 / (n * 2 * m)), abs=1e-15)


def test_the_hedge_bound_on_a_long_track() -> None:
    # Lemma 13, certain under full information: REG <= L ln(|X|^2 |A|) / eta + eta sum <q^, l^2>.
    # Losses are 0 or 1 and the best policy has none, so that sum is REG itself.  From the measure
    # of the uniform policy REG was 2,533 here, and the right side 1,785; now it is 495.
    layout, n_episodes, eta = DECLARED["trap"], 20_000, 0.05
    possible = [np.zeros((n, 10, m)) for n, m in itertools.pairwise(layout.layer_sizes)]
    for table in possible:
        table[0, 0, 0] = 1.0
        table[0, 1:, -1] = 1.0
        table[1:, :, -1] = 1.0
    mdp = am.LayeredMDP(layout, possible)
    losses = [np.zeros((n, 10)) for n in layout.layer_sizes[:-1]]
    losses[-1][:] = 1.0
    losses[-1][0, 0] = 0.0
    learner = am.UCOREPSBox(layout, n_episodes, eta=eta)
    run = am.play(mdp, am.losses.Replayed([losses], repeat=True), learner, n_episodes, seed=0)
    assert run.decomposition is not None
    reg = float(run.decomposition.reg[-1])
    assert run.best_loss[-1] == 0.0
    assert reg >= 100.0, "the comparison could not have failed"
    size = layout.n_layers * math.log(layout.n_states**2 * layout.n_actions)
    assert reg <= size / eta + eta * reg


def test_a_floor_holds_from_the_first_episode() -> None:
    layout = trap(12, 2)
    learner = am.FlooredBanditUCOREPS(layout, 100)
    mass = [pairs.sum(axis=1).min() for pairs in pair_sums(learner.occupancy())]
    assert min(mass) >= learner.alpha * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_states_that_a_known_transition_never_reaches(seed: int) -> None:
    # Oracle: the same learner on the layout that declares what is possible and prunes the others.
    rng = np.random.default_rng(seed)
    sizes = (1, 4, 4, 4, 1)
    known = [np.eye(m)[rng.integers(m, size=(n, 3))] for n, m in itertools.pairwise(sizes)]
    whole = am.Layout(sizes, 3)
    pruned = am.Layout(sizes, 3, successors=[layer > 0.0 for layer in known])
    missing = np.split(am.KnownTransition(whole, known).unreached(), np.cumsum(sizes)[:-1])
    kept = [np.flatnonzero(~part) for part in missing]
    few = [layer[x][:, :, y] for layer, x, y in zip(known, kept, kept[1:], strict=False)]
    ours = am.OREPS(whole, known, 100).policy()
    expected = am.OREPS(pruned, few, 100).policy()
    for policy, smaller, x in zip(ours, expected, kept, strict=False):
        assert policy[x] == pytest.approx(smaller, abs=1e-9)
