"""A forecast of the coming losses: a fading mean, and what yesterday's surprise says about today.

With S_k and W_k the fading losses and weights of the context k, m those of all contexts,

    b_t = (S_k + m) / (W_k + 1),        r_t = l_t - b_t,

the mean of the context with the mean of all episodes as one more of its own, and the surprises.
The next surprise is a linear function of the last, found by ridge regression over the last n
episodes.  In its dual form only inner products of surprises are needed, however many pairs there
are: with K their matrix,

    forecast = b_t + sum_s a_s r_{s+1},     (K + penalty mean(diag K) I) a = <r_s, r_{t-1}>_s.

Multiplying all losses by a number multiplies the forecast by it: the penalty is in their unit.
"""

from __future__ import annotations

import numpy as np

from advmdp.errors import InvalidInput
from advmdp.layout import Floats
from advmdp.learners.saving.saveable import Saved

ARRAYS = ("sums", "weights", "surprises")
LARGEST = 1e101  # mean or surprise: losses are at most 1e100, and products of two must be finite


def require_proper(saved: Saved) -> None:
    """Reject what no run leaves behind, or what cannot be gone on with."""
    sums, weights, surprises = (saved[name] for name in ARRAYS)
    if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
        raise InvalidInput("restore: weights is not finite, or has values below 0")
    if not (np.abs(sums) <= LARGEST * np.minimum(weights, LARGEST)[:, np.newaxis]).all():
        raise InvalidInput("restore: sums is not finite, or too large for its weights")
    if not (np.abs(surprises) <= LARGEST).all():
        raise InvalidInput("restore: surprises is not finite or too large")


class Autoregression:
    """Fading means by context, the last n surprises, and the regression of one on the one before.

    >>> forecast = Autoregression(n_pairs=2, n_contexts=1, forgetting=0.9, window=10, penalty=0.01)
    >>> for t in range(40):                       # what is dear today is cheap tomorrow
    ...     forecast.learn(t, 0, np.array([5.0 + (-1) ** t, 5.0]))
    >>> forecast.coming(40, 0).round(1)
    array([6., 5.])
    """

    def __init__(
        self, n_pairs: int, n_contexts: int, forgetting: float, window: int, penalty: float
    ) -> None:
        self._forgetting, self._penalty = forgetting, penalty
        self._sums = np.zeros((n_contexts + 1, n_pairs))  # S_k, and of all contexts
        self._weights = np.zeros(n_contexts + 1)
        self._surprises = np.zeros((window, n_pairs))  # a ring
        self._products = np.zeros((window, window))  # K, in the order of the ring
        self._learnt = 0  # episodes
        self._known: tuple[tuple[int, int], Floats] | None = None  # when, and what is coming
        self._solved: tuple[tuple[int, int], Floats | float] | None = None  # when, and its surprise

    def learn(self, episode: int, context: int, losses: Floats) -> None:
        """The losses of ``episode`` = 0, 1, ...; the first surprises nobody, nothing was said.

        Several planners may share a regression: the first of them teaches it.
        """
        if episode < self._learnt:
            return
        place = episode % len(self._surprises)
        self._surprises[place] = losses - self.mean(context) if episode else 0.0
        self._multiply(place)
        for part in (context, -1):
            self._sums[part] = self._forgetting * (self._sums[part] + losses)
            self._weights[part] = self._forgetting * (self._weights[part] + 1.0)
        self._learnt = episode + 1

    def mean(self, context: int) -> Floats:
        """b: the fading mean of the context, and that of all episodes as one more of its own."""
        pooled = self._sums[-1] / max(float(self._weights[-1]), 1e-300)
        return np.asarray((self._sums[context] + pooled) / (self._weights[context] + 1.0))

    def coming(self, episode: int, context: int) -> Floats:
        """The forecast of ``episode``, which is the one after the last that was learnt."""
        if self._known is None or self._known[0] != (episode, context):
            self._known = (episode, context), self.mean(context) + self._surprise(episode)
        return self._known[1].copy()

    def _surprise(self, episode: int) -> Floats | float:
        """The same in every context, so that a context which is entered costs no regression."""
        when = episode, self._learnt
        if self._solved is None or self._solved[0] != when:
            self._solved = when, self._coming_surprise(episode)
        return self._solved[1]

    def _coming_surprise(self, episode: int) -> Floats | float:
        """Solved in the order of the ring; the last surprise, which nothing has followed yet, has
        an equation of its own that says zero."""
        used = min(episode, len(self._surprises))
        if used < 2:
            return 0.0
        last = (episode - 1) % len(self._surprises)
        ridge = self._products[:used, :used].copy()
        alike = ridge[:, last].copy()
        ridge[last] = ridge[:, last] = 0.0
        scale = ridge.trace() / (used - 1)
        if not scale > 0.0:
            return 0.0
        ridge.flat[:: used + 1] += self._penalty * scale
        alike[last] = 0.0
        shares = np.linalg.solve(ridge, alike)
        following = np.concatenate([shares[-1:], shares[:-1]])  # each weighs what followed it
        return np.asarray(following @ self._surprises[:used])

    def _multiply(self, place: int) -> None:
        """One row of K, pair by pair: the same bits whatever else the ring holds."""
        products = np.einsum("ij,j->i", self._surprises, self._surprises[place])
        self._products[place] = self._products[:, place] = products

    # ------------------------------------------------------------------ keeping

    def state(self) -> Saved:
        """Copies; K follows from the surprises."""
        return {name: getattr(self, f"_{name}").copy() for name in ARRAYS}

    def restore(self, saved: Saved, episodes: int) -> None:
        """What ``state()`` returned after so many episodes, checked by the caller."""
        for name in ARRAYS:
            getattr(self, f"_{name}")[...] = saved[name]
        for place in range(len(self._surprises)):
            self._multiply(place)
        self._learnt, self._known, self._solved = episodes, None, None

    def check(self, saved: Saved) -> None:
        """Refuse a state that no run has."""
        require_proper(saved)

    def equals(self, other: Autoregression) -> bool:
        """Whether both learn the same from the same losses."""
        shapes = self._sums.shape == other._sums.shape and len(self._surprises) == len(
            other._surprises
        )
        numbers = (self._forgetting, self._penalty) == (other._forgetting, other._penalty)
        return shapes and numbers
