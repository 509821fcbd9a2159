"""Random small instances, and Hypothesis strategies that draw them.

Hypothesis chooses the shape (layers, actions, how much was observed, how uneven the weights are)
and a seed; the numbers follow from the seed, so a failure shrinks towards small shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.tables import Array, Table

Rng = np.random.Generator

# Reproducible runs: no deadline (first calls compile), no random seeds, few examples.
modest = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def centre_and_width(visits: Table, transitions: Table, log_term: float) -> tuple[Table, Table]:
    """P-bar and epsilon of Eq. (5) and (6).

    A row without visits stands for the whole simplex.  The formula gives that by itself only when
    14/3 log_term >= 1, so it is said explicitly, as the paper's footnote does for epoch 1:
    any distribution with width 1.
    """
    centres, widths = [], []
    for n, m in zip(visits, transitions, strict=True):
        seen = n[:, :, None] > 0
        centre = np.where(seen, m / np.maximum(1.0, n)[:, :, None], 1.0 / m.shape[2])
        spread = np.maximum(1.0, n - 1.0)[:, :, None]
        width = 2.0 * np.sqrt(centre * log_term / spread) + 14.0 * log_term / (3.0 * spread)
        centres.append(centre)
        widths.append(np.where(seen, width, 1.0))
    return centres, widths


def box_from_counts(visits: Table, transitions: Table, log_term: float) -> tuple[Table, Table]:
    """The clipped interval of every triple: [P-bar - epsilon, P-bar + epsilon] within [0, 1]."""
    lower, upper = [], []
    centres, widths = centre_and_width(visits, transitions, log_term)
    for n, centre, width in zip(visits, centres, widths, strict=True):
        seen = n[:, :, None] > 0
        lower.append(np.where(seen, np.maximum(0.0, centre - width), 0.0))
        upper.append(np.where(seen, np.minimum(1.0, centre + width), 1.0))
    return lower, upper


def l1_from_counts(visits: Table, transitions: Table, log_term: float) -> tuple[Table, Table]:
    """The ball of the older analysis: width sqrt(2 n log_term / N), whole simplex when N = 0."""
    centres, widths = centre_and_width(visits, transitions, log_term)[0], []
    for n, centre in zip(visits, centres, strict=True):
        width = np.sqrt(2.0 * centre.shape[2] * log_term / np.maximum(1.0, n))
        widths.append(np.where(n > 0, np.minimum(2.0, width), 2.0))
    return centres, widths


def random_policy(rng: Rng, sizes: tuple[int, ...], n_actions: int) -> Table:
    return [rng.dirichlet(np.ones(n_actions), size=n) for n in sizes[:-1]]


def random_kernel(rng: Rng, sizes: tuple[int, ...], n_actions: int) -> Table:
    return [
        rng.dirichlet(np.ones(after), size=(before, n_actions)) for before, after in pairwise(sizes)
    ]


def random_box_member(rng: Rng, lower: Table, upper: Table) -> Table:
    """A kernel inside the box: every row a random mixture of greedily filled rows."""
    kernel = []
    for lo, hi in zip(lower, upper, strict=True):
        layer = np.zeros_like(lo)
        for x, a in np.ndindex(lo.shape[:2]):
            for share in rng.dirichlet(np.ones(4)):
                layer[x, a] += share * _fill(rng.permutation(lo.shape[2]), lo[x, a], hi[x, a])
        kernel.append(layer)
    return kernel


def _fill(order: NDArray[np.int64], lower: Array, upper: Array) -> Array:
    row = lower.copy()
    for i in order:
        row[i] += min(upper[i] - lower[i], max(0.0, 1.0 - row.sum()))
    return row


def random_l1_member(rng: Rng, centre: Table, width: Table) -> Table:
    """A kernel inside the L1 balls: a random row pulled towards the centre until it fits."""
    kernel = []
    for middle, radius in zip(centre, width, strict=True):
        row = rng.dirichlet(np.ones(middle.shape[2]), size=middle.shape[:2])
        distance = np.abs(row - middle).sum(axis=2, keepdims=True)
        share = np.minimum(1.0, radius[:, :, None] / np.maximum(distance, 1e-300))
        kernel.append(middle + share * (row - middle))
    return kernel


@dataclass(frozen=True)
class Instance:
    """One projection and one bound problem, with the counts behind its confidence set."""

    sizes: tuple[int, ...]
    n_actions: int
    visits: Table
    transitions: Table
    log_term: float
    weights: Table
    policy: Table
    kernel: Table
    seed: int

    def rng(self) -> Rng:
        """A fresh generator for whatever else a test draws."""
        return np.random.default_rng([self.seed, 1])

    def box(self, log_term: float | None = None) -> tuple[Table, Table]:
        term = self.log_term if log_term is None else log_term
        return box_from_counts(self.visits, self.transitions, term)

    def ball(self, log_term: float | None = None) -> tuple[Table, Table]:
        term = self.log_term if log_term is None else log_term
        return l1_from_counts(self.visits, self.transitions, term)


def random_instance(
    seed: int,
    sizes: tuple[int, ...] = (1, 3, 3, 1),
    n_actions: int = 2,
    most_visits: int = 1000,
    log_term: float = 1.0,
    tilt: float = 1.0,
) -> Instance:
    """Counts of a random kernel, weights e^{tilt g} around a random measure.

    Visits are spread evenly over the orders of magnitude up to ``most_visits``; at least one pair
    in seven was never visited.
    """
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, sizes, n_actions)
    visits, transitions, weights = [], [], []
    for layer in kernel:
        n = np.floor((most_visits + 1) ** rng.random(layer.shape[:2]) - 1.0)
        n[rng.random(n.shape) < 1 / 7] = 0.0
        visits.append(n)
        transitions.append(rng.multinomial(n.astype(np.int64), layer).astype(np.float64))
        weights.append(np.exp(tilt * rng.normal(size=layer.shape)) / layer.size)
    policy = random_policy(rng, sizes, n_actions)
    return Instance(sizes, n_actions, visits, transitions, log_term, weights, policy, kernel, seed)


def shapes(widest: int = 4, longest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Layer sizes with L <= longest and inner layers of at most ``widest`` states."""
    inner = st.lists(st.integers(1, widest), max_size=longest - 1)
    return inner.map(lambda middle: (1, *middle, 1))


def instances(
    widest: int = 4, longest: int = 4, most_tilt: float = 3.0
) -> st.SearchStrategy[Instance]:
    """Anything from an unseen MDP (whole simplices) to narrow sets around many counts."""
    return st.builds(
        random_instance,
        seed=st.integers(0, 2**32 - 1),
        sizes=shapes(widest, longest),
        n_actions=st.integers(1, 3),
        most_visits=st.sampled_from([0, 10, 1000, 100_000]),
        log_term=st.sampled_from([0.05, 1.0, 8.0]),
        tilt=st.floats(0.0, most_tilt),
    )
