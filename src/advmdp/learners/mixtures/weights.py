"""Rules that weigh experts by their losses, each with a bound that holds after the fact.

A rule has ``weights()`` of the coming episode, ``update(losses)`` with the losses of all experts,
in any unit, and ``regret_bounds()``: what the regret to each expert cannot exceed, for every
sequence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.learners.adaptive.ada_ftrl import AdaFTRL
from advmdp.learners.saving.saveable import Saved


class Rule(Protocol):
    """Weighs experts."""

    def weights(self) -> Floats: ...
    def update(self, losses: Floats) -> None: ...
    def regret_bounds(self) -> Floats: ...
    def state(self) -> Saved: ...
    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None: ...


class AdaHedge:
    """Exponential weights whose rate follows from the past: ``AdaFTRL`` on one state.

    Guarantee: regret <= 2 G to every expert, at most of order range sqrt(T ln K).
    """

    def __init__(self, n_experts: int) -> None:
        layout = Layout((1, 1), n_experts)
        self._hedge = AdaFTRL(layout, np.ones(layout.n_entries))

    def weights(self) -> Floats:
        return self._hedge.flat_policy()

    def update(self, losses: Floats) -> None:
        self._hedge.observe(losses)

    def regret_bounds(self) -> Floats:
        return np.full(self._hedge.layout.n_actions, self._hedge.regret_bound)

    def state(self) -> Saved:
        return self._hedge.state()

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        self._hedge.restore(saved)


class _Arrays:
    """A rule whose state is a few arrays."""

    _names: tuple[str, ...]

    def state(self) -> Saved:
        return {name: getattr(self, f"_{name}").copy() for name in self._names}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        mine = self.state()
        if set(saved) != set(mine):
            raise InvalidInput("restore: the rule has other parts; restore into the same rule")
        for name, array in mine.items():
            found = saved[name]
            if found.shape != array.shape or found.dtype != array.dtype:
                raise InvalidInput(f"restore: {name} has another shape; restore the same rule")
            if not self._is_proper(name, found):
                raise InvalidInput(f"restore: {name} has values that no run has")
        for name in mine:
            getattr(self, f"_{name}")[...] = saved[name]

    def _is_proper(self, name: str, array: NDArray[Any]) -> bool:
        return bool(np.isfinite(array).all() and (np.abs(array) <= 1e150).all())


def _log_sum(logs: Floats) -> float:
    """ln sum e^logs."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum()))


class FixedShare(_Arrays):
    """AdaHedge that keeps every expert within reach: tracks the best one as it changes.

    After the losses of episode t = 1, 2, ... the posterior w' ~ w e^{-eta l} is raised to the power
    of the ratio of the new rate to the old, and every expert gets the share alpha / K with
    alpha = 1 / (t + 1): nothing to choose.  The rate is ln K / G, with G the gaps so far.

    Guarantee: regret <= G (2 + ln T / ln K) to every expert [P]: w'_i / w_i telescopes up to the
    shares, whose sum is ln T, and a change of the rate costs ln K times the change of 1 / eta.  For
    every change of the expert that is followed add G ln(K T) / ln K.

    Reference: Herbster and Warmuth, "Tracking the best expert", Machine Learning 32, 1998.
    """

    _names = ("logs", "gaps", "clock")

    def __init__(self, n_experts: int) -> None:
        self._logs = np.full(n_experts, -math.log(n_experts))
        self._gaps = np.zeros(1)
        self._clock = np.zeros(1, dtype=np.int64)
        self._entropy = math.log(max(n_experts, 2))

    def weights(self) -> Floats:
        weights = np.exp(self._logs - self._logs.max())
        return np.asarray(weights / weights.sum())

    def update(self, losses: Floats) -> None:
        before, above = float(self._gaps[0]), losses - losses.min()
        mean, mixed, posterior = float(self.weights() @ above), 0.0, 0.0 * self._logs
        if before > 0.0:  # otherwise the rate is infinite, and the best expert mixes to zero
            eta = self._entropy / before
            posterior = self._logs - eta * above
            mixed = -_log_sum(posterior) / eta
        self._gaps[0] = before + max(mean - mixed, 0.0)
        ratio = before / float(self._gaps[0]) if before > 0.0 else 0.0
        tempered = ratio * (posterior - posterior.max())
        tempered -= _log_sum(tempered)
        self._clock[0] += 1
        alpha = 1.0 / (float(self._clock[0]) + 1.0)
        self._logs[:] = np.log((1.0 - alpha) * np.exp(tempered) + alpha / len(self._logs))

    def regret_bounds(self) -> Floats:
        rounds = math.log(max(int(self._clock[0]), 1))
        bound = float(self._gaps[0]) * (2.0 + rounds / self._entropy)
        return np.full(len(self._logs), bound)

    def _is_proper(self, name: str, array: NDArray[Any]) -> bool:
        least = {"gaps": 0.0, "clock": 0}.get(name, -1e3)
        return super()._is_proper(name, array) and bool((array >= least).all())


class Squint(_Arrays):
    """Second-order weights: little regret to experts that are steadily better.

    With the regrets r_i of an episode, cut to the largest size B seen before it, their sums R_i and
    squares V_i, and rates eta_k = 2^{-k} / B_1,

        w_i ~ sum over eta_k <= 1 / (2 B) of  p_k eta_k e^{eta_k R_i - eta_k^2 V_i}.

    Guarantee [P]: R_i <= min over those k of (ln K + ln(1 / p_k)) / eta_k + eta_k V_i, plus B for
    what was cut; of order sqrt(V_i (ln K + ln ln T)) + B.

    Reference: Koolen and van Erven, "Second-order quantile methods for experts and combinatorial
    games", COLT 2015; cutting as in Mhammedi, Koolen, van Erven, "Lipschitz adaptivity with
    multiple learning rates in online learning", COLT 2019.
    """

    _names = ("regrets", "squares", "sizes")
    RATES = 100

    def __init__(self, n_experts: int) -> None:
        self._regrets, self._squares = np.zeros((2, n_experts))
        self._sizes = np.zeros(2)  # B_1, and B
        k = np.arange(1, self.RATES + 1)
        self._prior = 1.0 / (k * (k + 1.0))

    def _rates(self) -> tuple[Floats, Floats]:
        """The rates that are small enough, and their weights."""
        first, largest = self._sizes
        rates = 2.0 ** -np.arange(1, self.RATES + 1) / first
        small = rates * largest <= 0.5
        small[-1] = True  # sizes that grow beyond all rates: no guarantee, but weights
        return rates[small], self._prior[small]

    def weights(self) -> Floats:
        n = len(self._regrets)
        if self._sizes[0] == 0.0:
            return np.full(n, 1.0 / n)
        rates, prior = self._rates()
        grid = np.outer(self._regrets, rates) - np.outer(self._squares, rates**2)
        weights = np.exp(grid - grid.max()) @ (prior * rates)
        return np.asarray(weights / weights.sum())

    def update(self, losses: Floats) -> None:
        regrets = float(self.weights() @ losses) - losses
        size = float(np.abs(regrets).max())
        if self._sizes[0] == 0.0:
            self._sizes[:] = (
                size if size > 1e-200 else 0.0
            )  # the first that is not zero sets the scale, and is cut away
            return
        largest = float(self._sizes[1])
        cut = regrets * min(1.0, largest / size) if size > 0.0 else regrets
        self._regrets += cut
        self._squares += cut**2
        self._sizes[1] = max(largest, size)

    def regret_bounds(self) -> Floats:
        n = len(self._regrets)
        if self._sizes[0] == 0.0:
            return np.zeros(n)
        rates, prior = self._rates()
        fixed = (math.log(n) - np.log(prior)) / rates
        bounds = (fixed + np.outer(self._squares, rates)).min(axis=1)
        in_range = rates[-1] * self._sizes[1] <= 0.5
        return np.asarray(bounds + self._sizes[1]) if in_range else np.full(n, math.inf)

    def _is_proper(self, name: str, array: NDArray[Any]) -> bool:
        if name == "sizes":
            ordered = 0.0 <= array[0] <= array[1] and (array[0] > 1e-200 or array[1] == 0.0)
            return super()._is_proper(name, array) and bool(ordered)
        return super()._is_proper(name, array) and (name == "regrets" or bool((array >= 0).all()))


RULES: dict[str, type[AdaHedge] | type[FixedShare] | type[Squint]] = {
    "adahedge": AdaHedge,
    "fixed-share": FixedShare,
    "squint": Squint,
}
