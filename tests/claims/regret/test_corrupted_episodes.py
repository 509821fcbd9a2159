"""Corrupted episodes: made-up regrets that grow like sqrt(C), like C, or not measurably."""

from __future__ import annotations

from collections.abc import Callable

from advmdp.claims.regret.corrupted_episodes import CLAIM, Effort, Measurement, grids, judge
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import regrets

TINY = Effort(60, (1, 10), 2)
EFFORT = Effort(10**5, (1, 100, 1000, 10_000), 5)


def made_up(
    excess: Callable[[int], float], base: float = 250.0, noise: float = 0.01
) -> Measurement:
    def regret(spec: RunSpec) -> float:
        n: int = spec.losses.parameters["n_corrupted"]  # type: ignore[assignment]
        return base + excess(n)

    return Measurement(list(EFFORT.corrupted), regrets(grids(EFFORT), regret, noise)["regret"])


MADE_UP = {
    "holds": lambda: made_up(lambda n: 4.0 * n**0.5),
    "fails": lambda: made_up(lambda n: 1.2 * n),
    "vacuous": lambda: made_up(lambda n: 15.8 * n**0.5, noise=0.2),
}


def test_a_bound_above_what_is_at_stake_says_nothing() -> None:
    assert judge(made_up(lambda n: 0.0, base=10.0**9)).verdict == "vacuous"


def test_the_share_is_that_of_sqrt_u_c() -> None:
    finding = CLAIM.conclude(made_up(lambda n: 4.0 * n**0.5))
    shares = finding.data["excess over sqrt(U C)"]
    assert abs(shares[-1].estimate - 4.0 / 254.0**0.5) < 0.02
