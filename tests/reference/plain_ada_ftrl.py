"""AdaFTRL as its formulas state it, in dictionaries of numbers; slow, and obviously so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def soft_value(mdp: Any, costs: Any, eta: float) -> tuple[float, list[Any]]:
    """Phi_eta(costs) and its policy, layer by layer from the last."""
    value, policies = np.zeros(1), []
    for k in reversed(range(mdp.layout.n_layers)):
        q = costs[k] + mdp.transitions[k] @ value
        least = q.min(axis=1, keepdims=True)
        if math.isinf(eta):
            policy = (q <= least + 1e-9).astype(float)
            value = least[:, 0]
        else:
            policy = np.exp(-eta * (q - least))
            value = least[:, 0] - np.log(policy.mean(axis=1)) / eta
        policies.append(policy / policy.sum(axis=1, keepdims=True))
    return float(value[0]), policies[::-1]


def expected(mdp: Any, policy: Any, losses: Any) -> float:
    """<q^{P,pi}, losses>."""
    mass, total = np.ones(1), 0.0
    for k in range(mdp.layout.n_layers):
        occupancy = mass[:, None] * policy[k]
        total += float((occupancy * losses[k]).sum())
        mass = np.einsum("xa,xay->y", occupancy, mdp.transitions[k])
    return total


class PlainAdaFTRL:
    """The update of the docstring, with both values of Phi subtracted."""

    def __init__(self, mdp: Any, forgetting: float = 1.0, weight: float = 0.0) -> None:
        self.mdp, self.forgetting, self.weight = mdp, forgetting, weight
        zero = [np.zeros((n, mdp.layout.n_actions)) for n in mdp.layout.layer_sizes[:-1]]
        self.total, self.hint, self.gaps = zero, zero, 0.0
        self.bound = 0.0

    @property
    def eta(self) -> float:
        entropy = self.mdp.layout.n_layers * math.log(self.mdp.layout.n_actions)
        return entropy / self.gaps if self.gaps > 0 else math.inf

    def _guessed(self) -> list[Any]:
        return [s + self.weight * m for s, m in zip(self.total, self.hint, strict=True)]

    def policy(self) -> list[Any]:
        return soft_value(self.mdp, self._guessed(), self.eta)[1]

    def update(self, losses: list[Any]) -> None:
        surprise = [x - self.weight * m for x, m in zip(losses, self.hint, strict=True)]
        summed = [s + x for s, x in zip(self.total, losses, strict=True)]
        after = soft_value(self.mdp, summed, self.eta)[0]
        before = soft_value(self.mdp, self._guessed(), self.eta)[0]
        gap = expected(self.mdp, self.policy(), surprise) - (after - before)
        self.bound = 2.0 * (self.gaps + gap)
        self.gaps = self.forgetting * (self.gaps + gap)
        self.total = [self.forgetting * s for s in summed]
        self.hint = losses
