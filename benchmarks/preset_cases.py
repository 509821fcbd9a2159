"""What presets are chosen on, and what they are judged on: no shape, seed or horizon in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import advmdp as am


@dataclass(frozen=True)
class Case:
    """A world up to its seed; ``gap`` None draws every mean uniformly from [0, 1]."""

    name: str
    sizes: tuple[int, ...]
    n_actions: int
    n_episodes: int
    kind: str = "coins"
    gap: float | None = None
    period: int = 100

    def world(self, seed: int) -> tuple[am.LayeredMDP, am.losses.LossProcess]:
        """The seed draws the transition and the means."""
        if self.kind == "river":
            mdp = am.families.river_swim(length=self.sizes[0], horizon=self.sizes[1])
            return mdp, am.losses.Stochastic(mdp.natural_loss)
        mdp = am.families.random_mdp(self.sizes, self.n_actions, seed=seed)
        rng = np.random.default_rng([seed, 1])
        mean = rng.random((2, mdp.layout.n_rows))
        if self.gap is not None:
            best = rng.integers(self.n_actions, size=mdp.layout.n_rows // self.n_actions)
            mean[:] = 0.5
            mean[:, np.arange(len(best)) * self.n_actions + best] -= self.gap
        if self.kind == "majority":
            return mdp, am.losses.Majority.against(mean[0], period=self.period)
        if self.kind == "switching":
            return mdp, am.losses.Switching(list(mean), period=self.period, noisy=True)
        return mdp, am.losses.Stochastic(mean[0])


TRAINING = (
    Case("uniform means", (1, 4, 4, 4, 1), 3, 20_000),
    Case("uniform means, long", (1, 3, 3, 3, 3, 3, 1), 2, 20_000),
    Case("gap 0.3", (1, 3, 3, 1), 2, 10_000, gap=0.3),
    Case("gap 0.15", (1, 4, 4, 4, 1), 3, 30_000, gap=0.15),
    Case("gap 0.08", (1, 6, 6, 1), 4, 20_000, gap=0.08),
    Case("majority", (1, 3, 3, 1), 2, 10_000, "majority", period=150),
    Case("majority, larger", (1, 4, 4, 4, 1), 3, 30_000, "majority", period=60),
    Case("river swim", (3, 5), 2, 10_000, "river"),
    Case("switching", (1, 4, 4, 4, 1), 3, 20_000, "switching", period=1000),
)
SIZES, LONG = (1, 5, 5, 5, 5, 1), 100_000
JUDGED = (
    Case("uniform means", SIZES, 3, LONG),
    *(Case(f"gap {gap}", SIZES, 3, LONG, gap=gap) for gap in (0.05, 0.1, 0.2, 0.4)),
    Case("majority", SIZES, 3, LONG, "majority"),
    Case("switching, T/10", SIZES, 3, LONG, "switching", period=LONG // 10),
    Case("switching, T/50", SIZES, 3, LONG, "switching", period=LONG // 50),
)
