"""Every claim plays its runs and finds something, at a size of a moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from advmdp.claims import (
    estimator,
    exploration_spread,
    four_terms,
    full_information,
    regret_over_episodes,
    regret_over_size,
    stochastic_learners,
    tighter_set,
)
from advmdp.claims.designs import Effort, Gaps
from advmdp.claims.finding import Finding
from advmdp.claims.verify import as_data
from advmdp.experiments.build import build
from advmdp.store import Store
from tests.claims.made_up import InlineLab

SHORT = Effort((40, 80), (40, 80), Gaps(2, 1), 2, 2)
CLAIMS: dict[str, Callable[[InlineLab], Finding]] = {
    "four-terms": lambda lab: four_terms.measure(lab, SHORT),
    "regret-over-episodes": lambda lab: regret_over_episodes.measure(lab, SHORT),
    "regret-over-size": lambda lab: regret_over_size.measure(
        lab, regret_over_size.Effort(40, Gaps(1, 1), 2, 3, 4)
    ),
    "tighter-set": lambda lab: tighter_set.measure(lab, tighter_set.Effort(60, (2, 3), 2, 2)),
    "estimator": lambda lab: estimator.measure(lab, estimator.Effort((40, 80), 2, 2)),
    "exploration-spread": lambda lab: exploration_spread.measure(
        lab, exploration_spread.Effort(50, 6, 4)
    ),
    "full-information": lambda lab: full_information.measure(lab, SHORT),
    "stochastic-learners": lambda lab: stochastic_learners.measure(
        lab, stochastic_learners.Effort((40, 80), 2)
    ),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> InlineLab:
    return InlineLab(Store(tmp_path_factory.mktemp("claims") / "store", create=True))


@pytest.mark.parametrize("name", CLAIMS)
def test_a_finding_with_all_it_needs(lab: InlineLab, name: str) -> None:
    found = CLAIMS[name](lab)
    assert found.verdict in ("holds", "fails", "vacuous")
    for text in ("claim", "reference", "checked", "instances", "measured", "bound", "margin"):
        assert getattr(found, text)
    assert "none" not in found.error_rate or "must hold" in found.error_rate
    assert found.panels
    stored = set(lab.store.runs()["run"])
    assert found.runs
    assert set(found.runs) <= stored  # every figure has its runs
    assert as_data(found)["data"]
    for panel in found.panels:
        for series in panel.series:
            assert len(series.x) == len(series.y) > 0


def test_nothing_is_played_twice(lab: InlineLab) -> None:
    CLAIMS["four-terms"](lab)
    finished = lab.store.runs().sort("run")["finished"].to_list()
    CLAIMS["four-terms"](lab)  # and the theorem shares its runs
    assert lab.store.runs().sort("run")["finished"].to_list() == finished


def test_looseness_is_the_sum_over_all_episodes(lab: InlineLab) -> None:
    """The trapezium rule between checkpoints against the plain sum, one look in every episode."""
    parts = tighter_set._parts("uob-reps", 3, tighter_set.Effort(60, (3,), 1, 1))
    design = tighter_set.grid_of([[{**parts, "checkpoints": list(range(1, 61))}]], 1)
    spec = design[0, 0, 0]
    mdp, losses, learner, seed, _ = build(spec)
    # Before the first episode every state may be reached for sure: u = pi, and q sums to L.
    assert tighter_set.excess(mdp, learner) == pytest.approx(7 - 3)
    total = []
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
    assert min(total) >= -1e-12  # u_t >= q_t: the set holds the truth


def test_place_and_turning_losses(tmp_path: Path) -> None:
    spec = estimator._design(estimator.OWN, estimator.Effort((80,), 1, 1))[0, 0, 0]
    mdp, losses, *_ = build(spec)
    early, late = losses.tables[0], losses.tables[-1]
    assert np.allclose(early, 1.0 - late)
    assert (len(losses.tables), losses.period) == (8, 10)
    by_state = late.reshape(-1, 2)
    assert np.allclose(by_state[:, 0], by_state[:, 1])  # actions do not matter, places do
    sizes = mdp.layout.layer_sizes[:-1]
    begin = 0
    for size in sizes:
        assert (by_state[begin : begin + size, 0] < 0.5).sum() == 1
        begin += size
