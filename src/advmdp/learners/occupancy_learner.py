"""What can be looked at in a learner that keeps an occupancy measure over a set of transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.kernels.accounting.protocol import width_of
from advmdp.kernels.model.visits import EPISODES, EPOCH
from advmdp.kernels.sets.interface import learns_from_counts
from advmdp.layout import Layout, Table
from advmdp.learners.base import HasEpochs, HasEpochStarts, HasWidth
from advmdp.learners.compiled import CompiledLearner
from advmdp.learners.own_program import OwnProgram
from advmdp.learners.pair_knowledge import PairKnowledge, empirical_chance
from advmdp.steps.confidence import ConfidenceSet
from advmdp.steps.occupancy import joined, transition_of


class WidthProgram(OwnProgram):
    """How much a set leaves open."""

    kernel = staticmethod(width_of)


class OccupancyLearner(CompiledLearner, HasEpochs, HasEpochStarts, HasWidth):
    """A learner whose state has fields ``step``, ``rows`` and ``visits``."""

    def __init__(self, layout: Layout, state: Any) -> None:
        super().__init__(layout, state)
        self._width_program = WidthProgram()

    @property
    def epoch(self) -> int:
        """The epoch of the coming episode: 1, 2, ..."""
        return int(self._state.visits.clock[EPOCH])

    @property
    def episodes(self) -> int:
        """Episodes learnt from so far."""
        return int(self._state.visits.clock[EPISODES])

    @property
    def epoch_starts(self) -> NDArray[np.int64]:
        """For every epoch, the number of episodes before it."""
        starts: NDArray[np.int64] = self._state.visits.starts[: self.epoch].copy()
        return starts

    @property
    def visits(self) -> Table:
        """N(x, a), a pair table; of all rows that share, where some do."""
        visits = self._state.visits
        return self.layout.pairs(visits.pairs[visits.counter].astype(np.float64))

    @property
    def transitions_seen(self) -> Table:
        """M(x' | x, a), a triple table; of all rows that share, where some do."""
        visits, size = self._state.visits, self.layout.row_sizes()
        shift = np.repeat(visits.cell - self.layout.row_start[:-1], size)
        seen = visits.triples[np.arange(self.layout.n_entries) + shift]
        return self.layout.triples(seen.astype(np.float64))

    @property
    def mean_width(self) -> float:
        """How much is left open: 1 while anything is possible, 0 when all is known.

        Boxes: the mean over triples of upper - lower.  Balls: the mean radius, as a share of 2.
        """
        return float(self._width_program(self._state.rows))

    def occupancy(self) -> Table:
        """q_t of the coming episode, a triple table."""
        return joined(self.layout, self._graph, self._state.step.measure)

    def confidence_set(self) -> ConfidenceSet:
        """A copy of the set of the coming episode."""
        return ConfidenceSet.of_rows(self.layout, self._state.rows)

    @property
    def kernel_state(self) -> Any:
        """The state as the kernels hold it: live arrays, for the accounting."""
        return self._state

    def pair_knowledge(self) -> PairKnowledge:
        """What it holds of every pair."""
        layout, confidence = self.layout, self.confidence_set()
        triples = layout.flat_triples(self.occupancy())
        occupancy = np.add.reduceat(triples, layout.row_start[:-1])
        own = layout.flat_triples(transition_of(self.occupancy(), layout))
        visits = layout.flat_pairs(self.visits)
        if learns_from_counts(self._state.rows):
            seen = layout.flat_triples(self.transitions_seen)
            chance = empirical_chance(layout, visits, seen, otherwise=own)
        else:
            chance = own  # that of its only transition
        return PairKnowledge(occupancy, visits, chance=chance, confidence=confidence)
