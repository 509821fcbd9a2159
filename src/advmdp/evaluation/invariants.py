"""Checks that must hold in every episode of UOB-REPS, whatever happens.

They restate lemmas and definitions of the paper; failing one means that the implementation is
wrong, not that the learner was unlucky.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.layout import Floats
from advmdp.learners.base import Auditable, offers
from advmdp.steps.confidence import BoxSet
from advmdp.steps.upper_occupancy import upper_occupancy

TOLERANCE = 1e-9


class InvariantViolation(AdvMDPError, AssertionError):
    """An invariant of the algorithm does not hold: please report it."""


def auditable(learner: Any) -> Auditable:
    """The learner, if its invariants can be verified; otherwise an error that says why not."""
    if not offers(learner, Auditable) or not learner.divides_by_upper_bound:
        raise InvalidInput(
            f"play: check=True verifies UOB-REPS and its box-set relatives, not a "
            f"{type(learner).__name__}; leave check out"
        )
    if not isinstance(learner.confidence_set(), BoxSet):
        raise InvalidInput(
            f"play: check=True verifies box sets, and a {type(learner).__name__} has another; "
            "leave check out"
        )
    checked: Auditable = learner
    return checked


class InvariantChecker:
    """Watches one learner: call ``before`` and ``after`` around every update."""

    def __init__(self, learner: Auditable) -> None:
        self.learner = learner
        self.layout = learner.layout
        known = self.layout.known
        self._known = np.zeros(self.layout.n_rows, np.bool_) if known is None else known[0]
        self._check_iterate()

    def before(self) -> None:
        """Note u_t for every pair; q^_t <= u_t must hold for all of them."""
        learner = self.learner
        self._policy = np.concatenate([p.ravel() for p in learner.policy()])
        bounds = upper_occupancy(learner.policy(), learner.confidence_set())
        self._bounds = np.concatenate([u.ravel() for u in bounds])
        self._baseline = np.concatenate([b.ravel() for b in learner.baseline_table()])
        self._visits = learner.visits
        self._epoch = learner.epoch
        self._require(
            (self._row_masses() <= self._bounds + TOLERANCE).all(), "q^_t exceeds u_t somewhere"
        )
        self._require(
            (self._bounds <= self._policy + TOLERANCE).all(), "u_t exceeds the policy somewhere"
        )

    def after(self, rows: NDArray[np.int64], losses: Floats) -> None:
        """Estimator, counters and epoch rules, and the new iterate."""
        learner = self.learner
        bound, estimate = learner.upper_occupancy_of_last, learner.estimate_of_last
        self._require(np.allclose(bound, self._bounds[rows], atol=1e-12), "u_t was not of set i_t")
        off_path = self._baseline[rows]
        expected = off_path + (np.asarray(losses) - off_path) / (self._bounds[rows] + learner.gamma)
        self._require(np.allclose(estimate, expected, rtol=1e-9), "l^_t is not l_t / (u_t + gamma)")
        start = np.concatenate([n.ravel() for n in self._visits])
        now = np.concatenate([n.ravel() for n in learner.visits])
        pool = self.layout.counter_row
        pool = np.arange(len(now)) if pool is None else pool  # rows may share their counts
        counted = np.bincount(pool[rows], minlength=len(now))[pool]
        self._require(np.array_equal(now - start, counted), "a visit was not counted once")
        total = now[np.unique(pool)].sum()
        self._require(total == learner.episodes * self.layout.n_layers, "visits do not sum to t L")
        self._require(learner.epoch - self._epoch in (0, 1), "an episode opened several epochs")
        if learner.episodes == 1:
            opens = 0 if self._known[rows].all() else 1  # known rows open no epoch
            self._require(learner.epoch == 1 + opens, "the first epoch is not one episode long")
        self._check_iterate()

    def _check_iterate(self) -> None:
        """q^ is a measure of Delta(P_i): flow, layer sums, bounds."""
        learner, layout = self.learner, self.layout
        q = learner.occupancy()
        box = learner.confidence_set()
        for k, table in enumerate(q):
            rows = table.sum(axis=2, keepdims=True)
            self._require(abs(table.sum() - 1.0) <= TOLERANCE, f"layer {k} does not sum to one")
            self._require(
                (table <= box.upper[k] * rows + TOLERANCE).all()
                and (table >= box.lower[k] * rows - TOLERANCE).all(),
                f"the transition of layer {k} left the confidence set",
            )
            if k + 1 < layout.n_layers:
                difference = table.sum(axis=(0, 1)) - q[k + 1].sum(axis=(1, 2))
                self._require(abs(difference).max() <= TOLERANCE, f"flow is lost after layer {k}")

    def _row_masses(self) -> Floats:
        return np.concatenate([q.sum(axis=2).ravel() for q in self.learner.occupancy()])

    def _require(self, holds: bool | np.bool_, message: str) -> None:
        if not holds:
            raise InvariantViolation(f"episode {self.learner.episodes}: {message}")
