"""A forecast made of forecasts: means with memories of all lengths, and regressions, combined.

F_1 .. F_K are what each foresees of an episode, pair by pair: the fading means with every g of a
grid, those of the context alone, and the regressions (``autoregression.py``).  With F their mean,

    forecast = F + sum_k b_k (F_k - F),   b = argmin  sum_s |A (l_s - F - sum_k b_k D_k)|^2 + ...,

D_k = F_k - F of the episode s, by ridge regression over all episodes.  The squares of an episode
are divided by the fading mean of |A (l_s - F)|^2, and the penalty is |b|^2: the most likely b, if
errors are normal with this variance and the b_k are standard normal beforehand.  So no unit
matters, a year of crisis counts no more than another, and the penalty matters less with every
episode.  What policies do not depend on must not count: a forecast that is wrong by the same in
all hours is a good one.  So A maps a table of losses to its advantages Q - V under broad play
(``broad_play.py``), and |.|^2 is the mean square over the pairs that this visits; by the
performance-difference lemma they say of every policy how much better it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.kernels.model.transition import Transition
from advmdp.layout import Floats, Layout
from advmdp.learners.planners.autoregression import LARGEST, Autoregression
from advmdp.learners.planners.broad_play import BroadPlay
from advmdp.learners.saving.saveable import Saved

FADING = 0.95  # of errors: their variance is that of about twenty episodes
ROUNDING = 1e-12  # forecasts that differ by less, relative to the largest, agree
ARRAYS = ("sums", "weights", "products", "targets", "errors")


class Stacking:
    """Fading means by context, regressions, and how much each of them counts."""

    def __init__(
        self,
        layout: Layout,
        transition: Transition,
        memories: Iterable[float],
        regressions: list[Autoregression],
        n_contexts: int,
    ) -> None:
        self._play = BroadPlay(layout, transition)
        self._memories = np.array(list(memories))
        self.regressions = regressions
        parts = n_contexts + 1 if n_contexts > 1 else 1  # all contexts come last
        self._sums = np.zeros((parts, len(self._memories), layout.n_rows))
        self._weights = np.zeros((parts, len(self._memories)))
        size = min(parts, 2) * len(self._memories) + len(regressions)
        self._products, self._targets = np.zeros((size, size)), np.zeros(size)
        self._errors = np.zeros(2)  # squares of what F was wrong by, fading, and their weights
        self._known: tuple[tuple[int, int], Floats] | None = None  # when, and F_k

    def learn(self, episode: int, context: int, losses: Floats) -> None:
        """The losses of ``episode`` = 0, 1, ..., against what was foreseen of it."""
        apart, mean = self._apart(episode, context)
        told = self._play.advantages(np.vstack([apart, losses - mean]))
        if episode:  # of the first, nothing was foreseen
            self._compare(told[:-1], told[-1])
        for part in {context, len(self._sums) - 1} if len(self._sums) > 1 else {0}:
            self._sums[part] += losses
            self._sums[part] *= self._memories[:, np.newaxis]
            self._weights[part] = self._memories * (self._weights[part] + 1.0)
        for regression in self.regressions:
            regression.learn(episode, context, losses)

    def _compare(self, parts: Floats, came: Floats) -> None:
        """Advantages of D_k with those of what came."""
        visits = self._play.visits()
        self._errors *= FADING
        self._errors += np.array([visits @ came**2, 1.0])
        typical = float(self._errors[0] / self._errors[1])
        if typical > 0.0:
            weighed = parts * (visits / typical)
            products = weighed @ parts.T
            self._products += (products + products.T) / 2.0  # the same to the last bit
            self._targets += weighed @ came

    def coming(self, episode: int, context: int) -> Floats:
        """The forecast of ``episode``, which is the one after the last that was learnt."""
        apart, mean = self._apart(episode, context)
        ridge = self._products.copy()
        ridge.flat[:: len(ridge) + 1] += max(1.0, ROUNDING * ridge.trace())
        return np.asarray(mean + np.linalg.solve(ridge, self._targets) @ apart)

    def _apart(self, episode: int, context: int) -> tuple[Floats, Floats]:
        """F_k - F, (K, R), and F.  Kept, since a regression that is shared may go on before."""
        if self._known is None or self._known[0] != (episode, context):
            self._known = (episode, context), self._forecasts(episode, context)
        forecasts = self._known[1]
        mean = forecasts.mean(axis=0)
        apart = forecasts - mean
        apart[np.abs(apart) <= ROUNDING * np.abs(forecasts).max()] = 0.0  # nothing to learn from
        return apart, mean

    def _forecasts(self, episode: int, context: int) -> Floats:
        weights = np.maximum(self._weights, 1e-300)[:, :, np.newaxis]
        found = [self._sums[-1] / weights[-1]]
        if len(self._sums) > 1:  # a context that was never seen is like all
            seen = self._weights[context][:, np.newaxis] > 0.0
            found.append(np.where(seen, self._sums[context] / weights[context], found[0]))
        regressed = [each.coming(episode, context) for each in self.regressions]
        return np.vstack([*found, *regressed])

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """Copies, with those of the regressions."""
        found: Saved = {name: getattr(self, f"_{name}").copy() for name in ARRAYS}
        for i, regression in enumerate(self.regressions):
            found |= {f"{i}.{name}": array for name, array in regression.state().items()}
        return found

    def check(self, saved: Saved) -> None:
        """Refuse a state that no run has."""
        sums, weights, products, targets, errors = (saved[name] for name in ARRAYS)
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise InvalidInput("restore: weights is not finite, or has values below 0")
        if not (np.abs(sums) <= LARGEST * np.minimum(weights, LARGEST)[:, :, np.newaxis]).all():
            raise InvalidInput("restore: sums is not finite, or too large for its weights")
        if not (np.isfinite(products).all() and np.isfinite(targets).all()):
            raise InvalidInput("restore: products or targets are not finite")
        if not (np.isfinite(errors).all() and (errors >= 0.0).all()):
            raise InvalidInput("restore: errors is not finite, or below 0")
        least = np.linalg.eigvalsh(products)[0]
        if (products != products.T).any() or least < -1e-9 * products.trace():
            raise InvalidInput("restore: products are no products of anything")
        for i, regression in enumerate(self.regressions):
            regression.check(_part(saved, f"{i}."))

    def restore(self, saved: Saved, episodes: int) -> None:
        """What ``state()`` returned after so many episodes, checked by the caller."""
        for name in ARRAYS:
            getattr(self, f"_{name}")[...] = saved[name]
        for i, regression in enumerate(self.regressions):
            regression.restore(_part(saved, f"{i}."), episodes)
        self._known = None


def _part(saved: Saved, prefix: str) -> dict[str, Any]:
    return {n.removeprefix(prefix): saved[n] for n in saved if n.startswith(prefix)}
