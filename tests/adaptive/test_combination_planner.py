"""Planners for combined forecasts: against least squares made anew from all that was foreseen."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.learners.mixtures.ada_mixture import COMBINED
from advmdp.learners.planners.combination import MEMORIES, OF_REGRESSIONS
from tests.reference.contract import DENSE, GRID, assert_same_state, flat

RNG = np.random.default_rng(5)
KINDS = RNG.integers(2, size=30)
TABLES = {
    world.layout: RNG.normal(size=(30, world.layout.n_rows)).cumsum(axis=0)
    for world in (DENSE, GRID)
}


def planner(world: am.LayeredMDP = DENSE) -> am.planners.KnownCombinationPlanner:
    return am.planners.KnownCombinationPlanner(world.layout, world.transitions, 2)


def fading(tables: Any, g: float) -> Any:
    return np.average(tables, axis=0, weights=g ** np.arange(len(tables), 0, -1))


def foreseen(world: am.LayeredMDP, n: int, kind: int) -> Any:
    """What each of the parts says of the episode after the first n, one by one."""
    tables, layout = TABLES[world.layout][:n], world.layout
    own = tables[KINDS[:n] == kind]
    found = [fading(tables, g) for g in MEMORIES]
    found += [fading(own if len(own) else tables, g) for g in MEMORIES]
    for g in OF_REGRESSIONS:
        part = am.planners.KnownRegressionPlanner(layout, world.transitions, 2, forgetting=g)
        for table, each in zip(tables, KINDS, strict=False):
            part.enter(int(each))
            part.observe(table)
        part.enter(kind)
        found.append(layout.flat_pairs(part.forecast))
    return np.array(found)


def broad(world: am.LayeredMDP) -> Any:
    """The occupancy measure of largest entropy."""
    layout = world.layout
    known = am.KnownTransition(layout, world.transitions)
    return am.project(layout.triples(np.ones(layout.n_entries)), known).occupancy


BROAD = {world.layout: [part.sum(axis=2) for part in broad(world)] for world in (DENSE, GRID)}


def advantages(world: am.LayeredMDP, table: Any) -> Any:
    """sqrt(q) (Q - V) under broad play, state by state."""
    layout, value = world.layout, np.zeros(1)
    found: list[Any] = []
    for k in reversed(range(layout.n_layers)):
        total = layout.pairs(table)[k] + world.transitions[k] @ value
        visits = BROAD[layout][k]
        value = (visits * total).sum(axis=1) / visits.sum(axis=1)
        found.insert(0, total - value[:, np.newaxis])
    return layout.flat_pairs([np.sqrt(q) * a for q, a in zip(BROAD[layout], found, strict=True)])


def by_hand(world: am.LayeredMDP, n: int, kind: int) -> Any:
    features, targets, variances = [], [], []
    for s in range(1, n):  # of the second episode all parts foresee the first
        parts = foreseen(world, s, int(KINDS[s]))
        middle = parts.mean(axis=0)
        features.append(np.array([advantages(world, part - middle) for part in parts]).T)
        targets.append(advantages(world, TABLES[world.layout][s] - middle))
        squares = [float(target @ target) for target in targets]
        variances.append(np.average(squares, weights=0.95 ** np.arange(s, 0, -1)))
    parts = foreseen(world, n, kind)
    middle = parts.mean(axis=0)
    if n <= 2:
        return middle
    scales = np.sqrt(variances)
    stacked = np.vstack([part / scale for part, scale in zip(features, scales, strict=True)])
    came = np.concatenate([part / scale for part, scale in zip(targets, scales, strict=True)])
    size = stacked.shape[1]
    shares = np.linalg.lstsq(
        np.vstack([stacked, np.eye(size)]), np.concatenate([came, np.zeros(size)]), rcond=None
    )[0]
    return middle + shares @ (parts - middle)


@pytest.mark.parametrize("world", [DENSE, GRID], ids=["dense", "declared support"])
def test_the_forecast_is_that_of_stacked_least_squares(world: am.LayeredMDP) -> None:
    learner = planner(world)
    for n, (table, kind) in enumerate(zip(TABLES[world.layout], KINDS, strict=True), start=1):
        learner.enter(int(kind))
        learner.observe(table)
        if n in (1, 2, 5, 12):
            for coming in (0, 1):
                learner.enter(coming)
                found = world.layout.flat_pairs(learner.forecast)
                np.testing.assert_allclose(found, by_hand(world, n, coming), atol=1e-8)
            plan = am.best_fixed_policy(world, learner.forecast).policy
            assert np.array_equal(flat(learner.policy()), flat(plan))


def test_losses_in_another_unit_have_the_same_plans() -> None:
    """Also at first, when all parts say the same up to rounding."""
    plain, other = planner(), planner()
    for t, table in enumerate(TABLES[DENSE.layout]):
        plain.observe(table)
        other.observe(1e9 * table)
        assert np.array_equal(flat(plain.policy()), flat(other.policy())), t


def test_a_level_that_no_policy_depends_on_is_no_error() -> None:
    """A number for all pairs of a layer: its advantages are zero, so that it changes no share."""
    for world in (DENSE, GRID):
        level = RNG.normal(size=world.layout.n_layers)[world.layout.row_layer]
        found = planner(world)._losses._play.advantages(level[np.newaxis])
        np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_a_restored_planner_goes_on_with_the_same_bits() -> None:
    first, again = planner(), planner()
    for table in TABLES[DENSE.layout][:20]:
        first.observe(table)
    first.enter(1)
    again.restore(first.state())
    for table in TABLES[DENSE.layout][20:]:
        for each in (first, again):
            each.observe(table)
    assert_same_state(first, again)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("losses.weights", -1.0, "weights is not finite, or has values below 0"),
        ("losses.sums", np.inf, "sums is not finite, or too large"),
        ("losses.targets", np.nan, "products or targets are not finite"),
        ("losses.products", -1.0, "products are no products"),
        ("losses.errors", -1.0, "errors is not finite, or below 0"),
        ("losses.1.surprises", np.nan, "surprises is not finite"),
    ],
)
def test_states_that_no_run_has_are_refused(part: str, value: float, message: str) -> None:
    learner = planner()
    for table in TABLES[DENSE.layout][:3]:
        learner.observe(table)
    before = learner.state()
    with pytest.raises(am.InvalidInput, match=message):
        learner.restore({**before, part: np.full_like(before[part], value)})
    assert all(np.array_equal(learner.state()[name], before[name]) for name in before)


def test_parts_that_differ_by_far_more_than_they_err_are_combined() -> None:
    """Squares of 1e25 times the errors: beside them the penalty is lost in rounding."""
    learner = planner()
    for table in TABLES[DENSE.layout][:5]:
        learner.observe(table)
    saved = learner.state()
    size = len(saved["losses.targets"])
    learner.restore({**saved, "losses.products": np.full((size, size), 1e25)})
    learner.observe(TABLES[DENSE.layout][5])
    assert np.isfinite(flat(learner.forecast)).all()


def test_shared_regressions_change_no_forecast() -> None:
    """In every order of learning, after a copy, and after a state was restored."""
    layout, known = DENSE.layout, DENSE.transitions

    def planners() -> list[Any]:
        alone = [am.planners.KnownRegressionPlanner(layout, known, 2, g) for g in OF_REGRESSIONS]
        return [*alone, planner()]

    apart, before, after = planners(), planners(), planners()
    for together in (before, after):
        together[-1].share_regressions(together[:-1])
    assert before[0]._losses is before[-1]._losses.regressions[0]
    other = planners()
    for t, (table, kind) in enumerate(zip(TABLES[layout], KINDS, strict=True)):
        if t == 15:
            after = copy.deepcopy(after)
            for each, fresh in zip(before, other, strict=True):
                fresh.restore(each.state())
            other[-1].share_regressions(other[:-1])
            before = other
        for team in (apart, before, after[::-1]):
            for each in team:
                each.enter(int(kind))
            for each in team:
                each.observe(table)
        for one, two, three in zip(apart, before, after, strict=True):
            np.testing.assert_array_equal(flat(one.forecast), flat(two.forecast), err_msg=str(t))
            np.testing.assert_array_equal(flat(one.forecast), flat(three.forecast), err_msg=str(t))


def test_combining_beats_each_of_its_parts() -> None:
    """Each part knows half of what drives the losses: a level that stays, a sign that turns."""
    layout = GRID.layout
    rng = np.random.default_rng(0)
    stays, turns = rng.normal(size=(2, layout.n_rows))
    tables = stays + np.where(np.arange(150) % 2, 1.0, -1.0)[:, np.newaxis] * turns
    tables += 0.3 * rng.normal(size=tables.shape)
    mixture = am.EstimatedAdaMixture(layout)
    run = am.play(GRID, am.losses.Replayed(tables, any_losses=True), mixture, 150)
    foresight = sum(am.best_fixed_policy(GRID, table).loss for table in tables)
    assert run.expected_loss[-1] < 0.8 * foresight < 0.0
    assert COMBINED in mixture.weights
