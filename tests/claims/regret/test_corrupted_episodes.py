"""Corrupted episodes: made-up regrets that grow like sqrt(C), like C, or not measurably."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.regret.corrupted_episodes import (
    CLAIM,
    HIDDEN,
    LEARNERS,
    REVERSED,
    Effort,
    Measurement,
    grids,
    judge,
)
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets

TINY = Effort(60, (1, 10), (20, 40), 2)
EFFORT = Effort(10**6, (1, 100, 1000, 10_000), (10_000, 100_000), 5)
Excess = Callable[[int], float]


def root(n: int) -> float:
    return 4.0 * n**0.5


def made_up(
    excess: Excess, base: float = 250.0, noise: float = 0.01, **others: Excess
) -> Measurement:
    """The same excess for all, unless another is given for a learner or a kind."""

    def regret(spec: RunSpec) -> float:
        given = spec.losses.parameters
        n: int = given["n_corrupted"]  # type: ignore[assignment]
        kind = HIDDEN if "first_gap" in given else REVERSED
        name = spec.learner.name.replace("-", "_")
        return base + others.get(name, others.get(kind, excess))(n)

    numbers = {REVERSED: list(EFFORT.reversed), HIDDEN: list(EFFORT.hidden)}
    return Measurement(numbers, by_pair(regrets(grids(EFFORT), regret, noise)))


MADE_UP = {
    "holds": lambda: made_up(root),
    "fails": lambda: made_up(lambda n: 1.2 * n),
    "vacuous": lambda: made_up(lambda n: 15.8 * n**0.5, noise=0.2),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_each_learner_can_fail_alone(name: str) -> None:
    linear = {name.replace("-", "_"): lambda n: 0.5 * n}
    assert judge(made_up(root, **linear)).verdict == "fails"


def test_linear_growth_with_a_hidden_gap_fails_also_where_its_share_is_small() -> None:
    found = judge(made_up(root, hidden=lambda n: 0.04 * n))
    assert all(share.high < 1.0 for share in found.data["uob-ftrl"]["shares"][HIDDEN])
    assert found.verdict == "fails"


def test_a_bound_above_what_is_at_stake_says_nothing() -> None:
    assert judge(made_up(lambda n: 0.0, base=10.0**9, noise=1e-6)).verdict == "vacuous"


def test_the_share_is_that_of_sqrt_u_c() -> None:
    cost = CLAIM.conclude(made_up(root)).data["optimistic-ftrl"]
    for kind in (REVERSED, HIDDEN):
        assert abs(cost["shares"][kind][-1].estimate - 4.0 / 254.0**0.5) < 0.02
    assert 0.3 < cost["slope"].estimate < 0.5  # 250 + 4 sqrt(C)
