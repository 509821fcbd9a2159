"""The claim about COMP-UOB holds, and notices bounds that are too small and iterates above them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.claims import oracles, upper_bounds
from advmdp.layout import Layout, Table
from tests.claims.broken import HeavyStart, WideSets, rng
from tests.reference.linear_programs import upper_occupancy_lp

TINY = upper_bounds.Size(1, 10, 1, 300)


def test_holds() -> None:
    finding = upper_bounds.examine(TINY, rng())
    assert finding.verdict == "holds"
    assert finding.data["truth_lost"] > 1e-3  # without coverage the comparison does fail
    assert finding.data["covered"] > 0


def test_notices_bounds_that_are_too_small() -> None:
    def shrunk(policy: Any, box: am.BoxSet) -> Table:
        return [0.999 * table for table in am.upper_occupancy(policy, box)]

    assert upper_bounds.examine(TINY, rng(), bounds=shrunk).verdict == "fails"


def test_notices_an_iterate_above_the_bound() -> None:
    assert upper_bounds.examine(TINY, rng(), make=HeavyStart).verdict == "fails"


def test_sets_that_never_lose_the_truth_are_vacuous() -> None:
    """Where P is in every set nothing shows that q_t <= u_t could have failed."""
    finding = upper_bounds.examine(TINY, rng(), make=WideSets)
    assert (finding.verdict, finding.data["lost"]) == ("vacuous", 0.0)


def test_says_so_without_the_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "missing", lambda *modules: f"no {modules[0]}: {oracles.REMEDY}")
    finding = upper_bounds.examine(TINY, rng())
    assert "install advmdp[oracles]" in finding.measured
    assert finding.data["programmes"] is None
    assert finding.verdict == "holds"


def test_the_two_linear_programmes_agree() -> None:
    layout = Layout((1, 2, 3, 1), 2)
    generator = np.random.default_rng(0)
    box = upper_bounds.random_box(layout, generator)
    policy = upper_bounds.random_policy(layout, generator)
    mine = oracles.upper_occupancy(layout, layout.flat_pairs(policy), box)
    assert np.allclose(mine, layout.flat_pairs(upper_occupancy_lp(policy, box.lower, box.upper)))


def test_the_programmes_are_as_accurate_as_the_claim_says() -> None:
    """A set on which HiGHS overstates the maximum by 3e-8 unless asked for more than by default."""
    layout, generator = Layout((1, 2, 4, 3, 1), 2), np.random.default_rng(240)
    box = upper_bounds.random_box(layout, generator)
    policy = upper_bounds.random_policy(layout, generator)
    programme = oracles.upper_occupancy(layout, layout.flat_pairs(policy), box)
    ours = layout.flat_pairs(am.upper_occupancy(policy, box))
    assert abs(programme - ours).max() <= upper_bounds.TOLERANCE
