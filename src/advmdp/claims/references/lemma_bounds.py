"""Bounds of lemmas whose constants the paper hides, restored from its proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from advmdp.layout import Floats, Layout

C1 = 4.0 * math.sqrt(2.0)
C2 = 4.0 * (2.0 * (1.0 + math.sqrt(17.0 / 3.0)) + 14.0 / 3.0)
"""From |P^ - P| <= 2 epsilon, the quadratic inequality of Lemma 8, and N - 1 >= N / 2."""


def key_lemma_bound(
    layout: Layout, log_term: float, inverse: Sequence[float], root: Sequence[float]
) -> float:
    """The right side of Lemma 4 with the constants of its proof (derived in docs/findings.md).

    With the sums of Lemma 10 as measured, ``inverse`` of q / max(1, N) and ``root`` of
    q / sqrt(max(1, N)) in each layer, and i the log term of the widths,

        K <= sum_{m<k} B1(m) + sum_{m<h<k} |X_k| B2(m, h)

    follows from  |P^ - P| <= C1 sqrt(P i / N) + C2 i / N  (Lemma 8).
    """
    n, n_layers = layout.layer_sizes, layout.n_layers
    total = 0.0
    for k in range(n_layers):
        for m in range(k):
            total += C1 * math.sqrt(n[m + 1] * log_term) * root[m]
            total += C2 * n[m + 1] * log_term * inverse[m]
            for h in range(m + 1, k):
                both = n[m + 1] * n[h + 1]
                mixed = C1**2 * log_term * math.sqrt(both * inverse[m] * inverse[h])
                mixed += (0.5 * C1**2 + C2) * log_term * both * inverse[m]
                mixed += 0.5 * C2 * log_term * n[h + 1] * inverse[h]
                total += n[k] * mixed
    return float(total)


def visit_sum_bounds(layout: Layout, n_episodes: int, delta: float) -> Floats:
    """Both bounds of Lemma 10 for each layer, shape (2, L); they hold with 1 - 2 delta.

    With B_k = 2 |X_k||A| (1 + 2 ln T) + 4 ln(L / delta) for the sum of q / max(1, N), that of
    q / sqrt(max(1, N)) is at most |X_k||A| + 2 sqrt(2 |X_k||A| T) + B_k + ln(L / delta).
    """
    pairs = np.array(layout.layer_sizes[:-1]) * layout.n_actions
    doubt = math.log(layout.n_layers / delta)
    first = 2.0 * pairs * (1.0 + 2.0 * math.log(n_episodes)) + 4.0 * doubt
    second = pairs + 2.0 * np.sqrt(2.0 * pairs * n_episodes) + first + doubt
    return np.stack([first, second])
