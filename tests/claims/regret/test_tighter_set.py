"""The tighter set: made-up powers of |X|, and the looseness against a plain sum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from advmdp.claims.playing.run_grids import layout_of, run_grid, specs_of, values_on
from advmdp.claims.regret import tighter_set
from advmdp.claims.regret.tighter_set import BALL, CLAIM, Effort, Measurement, grids, judge
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets, with_noise

TINY = Effort(60, (2, 3), 2, 2)
EFFORT = Effort(1000, (4, 8, 16), 4, 3)


def costs(
    regret_power: float, loose_power: float, noise: float = 0.01, equal_at: float = 1.0
) -> Measurement:
    """The L1 set costs (|X| / equal_at)^power times what the box set costs."""

    def cost(spec: RunSpec, power: float) -> float:
        states = layout_of(spec.mdp.parameters).n_states
        times = (states / equal_at) ** power if spec.learner.name == BALL else 1.0
        return float(100.0 * states * times)

    of_set = grids(EFFORT)
    replayed = {name: grid[: EFFORT.n_replayed] for name, grid in of_set.items()}
    loose = with_noise(specs_of(*replayed.values()), lambda spec: cost(spec, loose_power), noise)
    return Measurement(
        regrets(of_set, lambda spec: cost(spec, regret_power), noise),
        {name: values_on(grid, loose).tolist() for name, grid in replayed.items()},
    )


MADE_UP = {
    "holds": lambda: costs(0.3, 0.6),
    "fails": lambda: costs(-0.2, 0.6),
    "vacuous": lambda: costs(0.0, 0.6),
}


def test_both_must_be_larger_and_grow() -> None:
    finding = CLAIM.conclude(costs(0.3, 0.6))
    assert finding.data["u - q"]["exponent of the ratio"].estimate == pytest.approx(0.6, abs=0.05)
    assert "u - q on 3 of them" in finding.instances
    assert judge(costs(0.3, -0.2)).verdict == "fails"
    assert judge(costs(0.3, 0.6, noise=0.8)).verdict == "vacuous"
    equal = CLAIM.conclude(costs(0.3, 0.6, equal_at=34.5))  # grows, but is hardly larger
    assert equal.data["regret"]["exponent of the ratio"].low > 0.0
    assert equal.verdict == "vacuous"


def test_looseness_is_the_sum_over_all_episodes(tmp_path: Path) -> None:
    """The trapezium rule between checkpoints against the plain sum over every episode."""
    parts = tighter_set._parts("uob-reps", 3, Effort(60, (3,), 1, 1))
    grid = run_grid([[{**parts, "checkpoints": list(range(1, 61))}]], 1)
    spec = grid[0, 0, 0]
    mdp, losses, learner, seed, _ = build(spec)
    # Before the first episode every state may be reached for sure: u = pi, and q sums to L.
    assert tighter_set.excess(mdp, learner) == pytest.approx(7 - 3)
    total: list[float] = []
    tighter_set.play(
        mdp,
        losses,
        learner,
        60,
        seed,
        compiled=False,
        keep=lambda *_: total.append(tighter_set.excess(mdp, learner)),
    )
    assert tighter_set.looseness_of(spec) == pytest.approx(float(np.trapezoid(total)), rel=1e-9)
    assert min(total) >= -1e-12  # u_t >= q_t: the set contains the truth
