"""Best of both worlds with unknown transition, on made-up regrets."""

from __future__ import annotations

import pytest

from advmdp.claims.regret.both_worlds_unknown import CLAIM, grids, judge
from advmdp.learners.presets import PRACTICAL
from tests.claims.regret.made_up_worlds import TINY as TINY
from tests.claims.regret.made_up_worlds import both_worlds

ROOT = {"uob-reps": 0.5}
MADE_UP = {
    "holds": lambda: both_worlds(grids, ROOT),
    "fails": lambda: both_worlds(grids, ROOT | {"optimistic-ftrl": 0.3}),
    "vacuous": lambda: both_worlds(grids, ROOT | {"uob-ftrl": 0.25}),
}


@pytest.mark.parametrize("name", ["uob-ftrl", "optimistic-ftrl"])
def test_each_learner_can_fail_alone(name: str) -> None:
    assert judge(both_worlds(grids, ROOT | {name: 0.4})).verdict == "fails"
    assert judge(both_worlds(grids, ROOT, {name: 0.8})).verdict == "fails"


def test_the_full_effort_goes_to_ten_million_episodes_with_presets() -> None:
    runs = CLAIM.runs(quick=False)
    assert max(spec.n_episodes for spec in runs) == 10**7
    for spec in runs:
        given = spec.learner.parameters
        preset = PRACTICAL[spec.learner.name]
        assert {key: given.get(key, value) for key, value in preset.items()} == preset
