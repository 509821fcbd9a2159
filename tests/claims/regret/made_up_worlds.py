"""Made-up regrets of learners in both worlds: logarithms and powers of T."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from advmdp.claims.playing.regret_grids import by_pair
from advmdp.claims.playing.run_grids import Gaps, RunGrid
from advmdp.claims.regret.steady_and_worst import GAP, Effort, Measurement
from advmdp.experiments.spec import RunSpec
from tests.claims.made_up import gap_of, regrets

TINY = Effort((40, 80), (40, 80), Gaps(2, 1), 2)
EFFORT = Effort((10**4, 10**5, 10**6), (10**4, 10**5), Gaps(3, 1), 5)
Grids = Mapping[tuple[str, str], RunGrid]


def both_worlds(
    grids: Callable[[Effort], Grids],
    steady: Mapping[str, float] = {},
    worst: Mapping[str, float] = {},
) -> Measurement:
    """Exponents by learner: on coin flips 40 ln T - 200 unless one is given, at worst 1/2."""
    played = grids(EFFORT)

    def regret(spec: RunSpec) -> float:
        n, name = spec.n_episodes, spec.learner.name
        if gap_of(spec) != GAP:
            return float(3 * n ** worst.get(name, 0.5))
        return float(n ** steady[name]) if name in steady else 40 * math.log(n) - 200

    return Measurement(by_pair(regrets(played, regret)))
