"""The oracles reproduce the stored answers, which come from an unrelated implementation.

So a failure of the package against an oracle, or against a stored answer, is the package's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reference.comp_uob import comp_uob_table
from tests.reference.instances import box_from_counts, centre_and_width, l1_from_counts
from tests.reference.linear_programs import upper_occupancy_lp_l1
from tests.reference.plain_uob_reps import Episode, PlainUOBREPS
from tests.reference.reduced_dual import project_reduced, project_reduced_l1
from tests.reference.tables import Table, divergence, greatest_difference

FOLDER = Path(__file__).parent.parent / "vectors"
BOX_CASES = sorted(path.stem for path in FOLDER.glob("case_*.npz"))
L1_CASES = sorted(path.stem for path in FOLDER.glob("l1_case_*.npz"))


def load(name: str) -> dict[str, Any]:
    with np.load(FOLDER / f"{name}.npz") as data:
        return {key: data[key] for key in data.files}


def table(data: dict[str, Any], name: str) -> Table:
    n_layers = len(data["layer_sizes"]) - 1
    return [data[f"{name}_{k}"].astype(np.float64) for k in range(n_layers)]


@pytest.mark.parametrize("name", BOX_CASES)
def test_box_answers(name: str) -> None:
    data = load(name)
    counts = table(data, "visits"), table(data, "transitions"), float(data["log_term"])
    lower, upper = box_from_counts(*counts)
    assert greatest_difference(lower, table(data, "lower")) <= 1e-15
    assert greatest_difference(upper, table(data, "upper")) <= 1e-15
    q = project_reduced(table(data, "weights"), lower, upper)
    assert greatest_difference(q, table(data, "projection")) <= 1e-12
    assert divergence(q, table(data, "weights")) == pytest.approx(float(data["kl"]), rel=1e-12)
    u = comp_uob_table(table(data, "policy"), *centre_and_width(*counts))
    assert greatest_difference(u, table(data, "upper_occupancy")) <= 1e-14


@pytest.mark.parametrize("name", L1_CASES)
def test_l1_answers(name: str) -> None:
    data = load(name)
    centre, width = l1_from_counts(
        table(data, "visits"), table(data, "transitions"), float(data["log_term"])
    )
    assert greatest_difference(centre, table(data, "centre")) <= 1e-15
    assert greatest_difference(width, table(data, "width")) <= 1e-15
    q = project_reduced_l1(table(data, "weights"), centre, width)
    assert greatest_difference(q, table(data, "projection")) <= 1e-7  # made by a conic solver
    assert divergence(q, table(data, "weights")) == pytest.approx(float(data["kl"]), abs=1e-9)
    u = upper_occupancy_lp_l1(table(data, "policy"), centre, width)
    assert greatest_difference(u, table(data, "upper_occupancy")) <= 1e-12


@pytest.mark.parametrize("name", ["replay_small", "replay_eager"])
def test_first_thirty_episodes_of_a_replay(name: str) -> None:
    data = load(name)
    learner = PlainUOBREPS(
        tuple(int(n) for n in data["layer_sizes"]),
        int(data["n_actions"]),
        n_episodes=int(data["n_episodes"]),
        delta=float(data["delta"]),
        eta=float(data["eta"]),
        gamma=float(data["gamma"]),
    )
    for t in range(30):
        flat = np.concatenate([layer.ravel() for layer in learner.policy])
        np.testing.assert_allclose(flat, data["policies"][t], rtol=0, atol=1e-12)
        learner.update(
            Episode(*(data[part][t].tolist() for part in ("states", "actions", "losses")))
        )
        assert learner.epoch == data["epoch_after"][t]
        np.testing.assert_allclose(
            learner.upper_occupancy_of_last, data["upper_occupancy"][t], rtol=0, atol=1e-12
        )
