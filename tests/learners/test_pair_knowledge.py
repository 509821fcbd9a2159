"""What learners know about every pair: values against flows and linear programmes, and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import advmdp as am
from advmdp.errors import InvalidInput
from advmdp.learners.catalogue import BUILT_IN
from advmdp.learners.pair_knowledge import knowledge_of, pair_columns
from advmdp.steps.policy_values import (
    largest_policy_values,
    least_policy_values,
    policy_values,
)

MDP = am.families.random_mdp((1, 3, 3, 1), n_actions=2, seed=0)
LAYOUT = MDP.layout
LOSSES = np.random.default_rng(3).random(LAYOUT.n_rows)
T = 400


def played(learner: Any) -> Any:
    return am.play(MDP, am.losses.Stochastic(LOSSES), learner, T, seed=0)


def made(name: str) -> Any:
    maker = BUILT_IN[name]
    known = {"transitions": MDP.transitions} if maker.knows_transition else {}
    return maker.make(LAYOUT, **({"n_episodes": T} if maker.has_horizon else {}), **known)


def test_values_are_those_of_the_flow() -> None:
    policy = LAYOUT.flat_pairs(am.UOBREPS(LAYOUT, n_episodes=T).policy())
    chance = LAYOUT.flat_triples(MDP.transitions)
    q = policy_values(LAYOUT, chance, policy, LOSSES)
    flow = LAYOUT.flat_triples(am.occupancy_measure(MDP.transitions, LAYOUT.pairs(policy), LAYOUT))
    through = np.bincount(LAYOUT.entry_rows(), flow)
    assert q[:2] @ policy[:2] == pytest.approx(through @ LOSSES)  # V(x_0) = <q, l>
    np.testing.assert_array_equal(q[-6:], LOSSES[-6:])  # nothing follows the last layer


def row_maximum(confidence: Any, r: int, value: Any) -> float:
    """A linear programme over one row of a set."""
    begin, end = LAYOUT.row_start[r : r + 2]
    n = end - begin
    bounds: Any = [(0.0, 1.0)] * n
    extra: dict[str, Any] = {}
    if isinstance(confidence, am.BoxSet):
        rows = confidence.rows
        bounds = list(zip(rows.lower[begin:end], rows.upper[begin:end], strict=True))
    elif isinstance(confidence, am.L1Set):  # |p - c|_1 <= w with p - c <= s, c - p <= s
        centre, width = confidence.rows.centre[begin:end], confidence.rows.width[r]
        eye = np.eye(n)
        extra = {
            "A_ub": np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]]),
            "b_ub": np.concatenate([centre, -centre, [width]]),
        }
        bounds = bounds + [(0.0, None)] * n
    cost = -np.concatenate([value, np.zeros(len(bounds) - n)])
    total = np.concatenate([np.ones(n), np.zeros(len(bounds) - n)])[np.newaxis]
    solved = linprog(cost, A_eq=total, b_eq=[1.0], bounds=bounds, **extra)
    return -float(solved.fun)


@pytest.mark.parametrize("name", ["uob-reps", "uob-reps-l1"])
def test_bounds_are_linear_programmes_row_by_row(name: str) -> None:
    learner = made(name)
    played(learner)
    confidence, policy = learner.confidence_set(), LAYOUT.flat_pairs(learner.policy())
    high = largest_policy_values(confidence, policy, LOSSES)
    low = least_policy_values(confidence, policy, LOSSES)
    successors = LAYOUT.entry_successors()
    for sign, bound in ((1.0, high), (-1.0, low)):
        value = np.zeros(LAYOUT.n_states)
        for r in reversed(range(LAYOUT.n_rows)):
            after = sign * value[successors[LAYOUT.row_start[r] : LAYOUT.row_start[r + 1]]]
            expected = LOSSES[r] + sign * row_maximum(confidence, r, after)
            assert bound[r] == pytest.approx(expected, abs=1e-9)
            state, action = divmod(r, 2)
            if action == 0:
                value[state] = policy[r : r + 2] @ bound[r : r + 2]
    inside = policy_values(LAYOUT, _own(learner), policy, LOSSES)
    assert (low <= inside + 1e-9).all()
    assert (inside <= high + 1e-9).all()


def _own(learner: Any) -> Any:
    """The transition of the iterate, which is in the set."""
    return LAYOUT.flat_triples(am.transition_of(learner.occupancy(), LAYOUT))


def test_widths_of_rows_add_up_to_the_mean_width() -> None:
    for name, weights in (
        ("uob-reps", LAYOUT.row_sizes()),
        ("uob-reps-l1", np.ones(LAYOUT.n_rows)),
    ):
        learner = made(name)
        played(learner)
        widths = learner.confidence_set().row_widths()
        assert np.average(widths, weights=weights) == pytest.approx(learner.mean_width)
    assert (made("o-reps").confidence_set().row_widths() == 0.0).all()


def test_frames_have_what_the_learner_has() -> None:
    learner = made("uob-reps")
    run = played(learner)
    frame = learner.to_frame(run=run)
    assert frame.columns[:3] == ["layer", "state", "action"]
    assert frame.height == LAYOUT.n_rows
    sums = frame.group_by("layer", "state").agg(frame["policy"].name).to_dicts()
    assert all(sum(row["policy"]) == pytest.approx(1.0) for row in sums)
    by_layer = frame.group_by("layer").agg(pl.col("occupancy", "visits").sum())
    np.testing.assert_allclose(by_layer["occupancy"], 1.0, atol=1e-9)
    assert set(by_layer["visits"]) == {T}
    assert (frame.filter(layer=2)["width"] == 0.0).all()  # one successor: nothing is open
    assert (frame.filter(layer=0)["width"] > 0.0).all()
    assert (frame["value_low"] <= frame["value"] + 1e-9).all()
    assert (frame["value"] <= frame["value_high"] + 1e-9).all()
    assert "estimated_loss" not in learner.to_frame().columns  # the account of a run has it
    with pytest.raises(InvalidInput, match="run: give the run that this learner"):
        learner.to_frame(run="run")
    with pytest.raises(InvalidInput, match="library: 'excel' is neither"):
        learner.to_frame("excel")


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("ucbvi-bf", {"visits", "estimated_loss", "lower_value"}),
        ("q-learning-h", {"visits", "lower_value"}),
        ("fpl", {"estimated_loss", "value"}),
        ("ada-ftrl", {"estimated_loss", "value"}),
        ("plan-window", {"visits", "estimated_loss", "value"}),
        ("exp3-ix", set()),
    ],
)
def test_other_families(name: str, columns: set[str]) -> None:
    learner = made(name)
    played(learner)
    found = learner.to_frame()
    assert columns <= set(found.columns[4:])
    if name in ("fpl", "ada-ftrl"):  # they see all losses, which never change in their means
        mean = found["estimated_loss"].to_numpy()
        np.testing.assert_allclose(mean, LOSSES, atol=5.0 / np.sqrt(T))
    if not columns:
        assert found.columns[3:] == ["policy"]


def test_a_learner_of_ones_own_has_a_policy() -> None:
    columns = pair_columns(LAYOUT, am.Uniform(LAYOUT).policy(), knowledge_of(object()))
    assert list(columns) == ["policy"]


def test_names_and_missing_actions() -> None:
    layout = am.Layout(
        (1, 2, 1),
        [[2], [1, 2]],
        state_names=[["depot"], ["north", "south"]],
        action_names=["a", "b"],
    )
    frame = am.UOBREPS(layout, n_episodes=10).to_frame()
    assert frame["state"].to_list() == ["depot", "depot", "north", "south", "south"]
    assert frame["action"].to_list() == ["a", "b", "a", "a", "b"]
    sums = frame.group_by("state").agg(pl.col("policy").sum())
    np.testing.assert_allclose(sums["policy"], 1.0, atol=1e-12)
