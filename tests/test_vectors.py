"""Every stored reference answer, recomputed (see tests/vectors/README.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.tables import Table, divergence, flow_error, greatest_difference

FOLDER = Path(__file__).parent / "vectors"
BOX_CASES = sorted(path.stem for path in FOLDER.glob("case_*.npz"))
L1_CASES = sorted(path.stem for path in FOLDER.glob("l1_case_*.npz"))
REPLAYS = sorted(path.stem for path in FOLDER.glob("replay_*.npz"))


class Case:
    """One file: its layout and its tables."""

    def __init__(self, name: str) -> None:
        with np.load(FOLDER / f"{name}.npz") as data:
            self.arrays = {key: data[key] for key in data.files}
        sizes = tuple(int(n) for n in self["layer_sizes"])
        self.layout = am.Layout(layer_sizes=sizes, n_actions=int(self["n_actions"]))

    def __getitem__(self, key: str) -> Any:
        return self.arrays[key]

    def table(self, name: str) -> Table:
        n_layers = len(self["layer_sizes"]) - 1
        return [self[f"{name}_{k}"].astype(np.float64) for k in range(n_layers)]

    def box(self) -> Any:
        return am.BoxSet.from_counts(
            self.layout, self.table("visits"), self.table("transitions"), float(self["log_term"])
        )

    def ball(self) -> Any:
        return am.L1Set(self.layout, self.table("centre"), self.table("width"))


def test_the_folder_is_complete() -> None:
    assert (len(BOX_CASES), len(L1_CASES), len(REPLAYS)) == (12, 5, 2)


@pytest.mark.parametrize("name", BOX_CASES)
def test_bounds_of_the_box(name: str) -> None:
    case = Case(name)
    box = case.box()
    assert greatest_difference(box.lower, case.table("lower")) <= 1e-14
    assert greatest_difference(box.upper, case.table("upper")) <= 1e-14


@pytest.mark.parametrize("name", BOX_CASES)
def test_projection_on_the_box(name: str) -> None:
    case = Case(name)
    weights = case.table("weights")
    result = am.project(weights, case.box())
    assert result.converged
    assert result.flow_residual <= 1e-10
    assert -1e-12 <= result.duality_gap <= 1e-9
    assert greatest_difference(result.occupancy, case.table("projection")) <= 1e-8
    assert flow_error(result.occupancy) <= 1e-12
    assert result.divergence == pytest.approx(float(case["kl"]), rel=1e-8)
    assert divergence(result.occupancy, weights) == pytest.approx(float(case["kl"]), rel=1e-8)


@pytest.mark.parametrize("name", BOX_CASES)
def test_projection_on_bounds_given_directly(name: str) -> None:
    # The constructor that takes bounds must describe the same set as the one that takes counts.
    case = Case(name)
    box = am.BoxSet(case.layout, case.table("lower"), case.table("upper"))
    result = am.project(case.table("weights"), box)
    assert greatest_difference(result.occupancy, case.table("projection")) <= 1e-8


@pytest.mark.parametrize("name", BOX_CASES)
def test_upper_occupancy_over_the_box(name: str) -> None:
    case = Case(name)
    bound = am.upper_occupancy(case.table("policy"), case.box())
    assert greatest_difference(bound, case.table("upper_occupancy")) <= 1e-10


@pytest.mark.parametrize("name", L1_CASES)
def test_projection_on_the_l1_balls(name: str) -> None:
    case = Case(name)
    result = am.project(case.table("weights"), case.ball())
    assert result.converged
    assert result.flow_residual <= 1e-10
    assert -1e-12 <= result.duality_gap <= 1e-9
    assert greatest_difference(result.occupancy, case.table("projection")) <= 1e-6
    assert result.divergence == pytest.approx(float(case["kl"]), abs=1e-8)


@pytest.mark.parametrize("name", L1_CASES)
def test_upper_occupancy_over_the_l1_balls(name: str) -> None:
    case = Case(name)
    bound = am.upper_occupancy(case.table("policy"), case.ball())
    assert greatest_difference(bound, case.table("upper_occupancy")) <= 1e-10


@pytest.mark.parametrize("name", REPLAYS)
def test_replay_of_a_whole_run(name: str) -> None:
    case = Case(name)
    learner = am.UOBREPS(
        case.layout,
        n_episodes=int(case["n_episodes"]),
        delta=float(case["delta"]),
        eta=float(case["eta"]),
        gamma=float(case["gamma"]),
    )
    policies = []
    for t, (states, actions, losses) in enumerate(
        zip(case["states"], case["actions"], case["losses"], strict=True)
    ):
        policies.append(_flat(learner.policy()))
        learner.update(am.Trajectory(states, actions, losses))
        assert learner.epoch == case["epoch_after"][t], f"epoch after episode {t}"
        np.testing.assert_allclose(
            learner.upper_occupancy_of_last,
            case["upper_occupancy"][t],
            rtol=0,
            atol=1e-7,
            err_msg=f"upper occupancy in episode {t}",
        )
    policies.append(_flat(learner.policy()))
    np.testing.assert_allclose(np.array(policies), case["policies"], rtol=0, atol=1e-7)


def _flat(policy: Table) -> np.ndarray:
    return np.concatenate([layer.ravel() for layer in policy])
