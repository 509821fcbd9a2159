"""What a batch leaves behind: figures at checkpoints, final arrays, and a ``Run`` for each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from advmdp.batch.columns import BatchColumn
from advmdp.batch.runs import BatchRun
from advmdp.evaluation.account import Decomposition, four_terms, new_ledger, solver_statistics
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.evaluation.run import Run
from advmdp.kernels.accounting.evaluation_point import (
    BEST,
    BEST_ESTIMATED,
    EPOCH,
    N_FIGURES,
    SUMS,
    WIDTH,
)
from advmdp.kernels.accounting.ledger import EXPECTED, REALISED
from advmdp.learners.base import EstimatesLosses, HasEpochs, HasEpochStarts, HasWidth, offers

if TYPE_CHECKING:
    from advmdp.batch.wave import Wave

# What a Run needs beside its curves, and how the name of its column ends.
FINAL = {
    "total": "ledger.total",
    "counts": "ledger.counts",
    "worst": "ledger.worst",
    "starts": "visits.starts",
}
Arrays = dict[str, NDArray[Any]]


def final_columns(columns: Iterable[str]) -> dict[str, str]:
    """The names of ``FINAL`` that are among the columns, and where."""
    return {
        name: column
        for column in columns
        for name, end in FINAL.items()
        if column.endswith(f".{end}") or column == end
    }


class Records:
    """Arrays over all runs of a batch; they are all that has to be kept."""

    def __init__(self, runs: Sequence[BatchRun], points: NDArray[np.int64]) -> None:
        self._runs, self._points = runs, points
        self.figures = np.full((len(points), N_FIGURES, len(runs)), np.nan)
        self.refused = np.full(len(runs), -1, dtype=np.int64)
        self._final: Arrays = {}

    def checkpoint(self, wave: Wave, i: int) -> None:
        """Note the account of a wave at checkpoint i."""
        self.figures[i, :, wave.begin : wave.end] = wave.evaluate()

    def refuse(self, wave: Wave, done: NDArray[np.int64]) -> None:
        """Note which runs ended in a step that could not be certified, and where."""
        self.refused[wave.begin : wave.end] = np.where(done < 0, -1 - done, -1)

    def finish(self, wave: Wave) -> None:
        """Keep the final arrays of a wave."""
        for name, column in final_columns(wave.columns).items():
            found = wave.column(column)
            if name not in self._final:
                self._final[name] = np.zeros((len(self._runs), *found.shape[1:]), found.dtype)
            self._final[name][wave.begin : wave.end] = found

    def arrays(self) -> Arrays:
        """Live, for saving."""
        final = {f"final.{name}": array for name, array in self._final.items()}
        return {"figures": self.figures, "refused": self.refused, **final}

    def arrays_before(self, wave: int, columns: Mapping[str, BatchColumn]) -> Arrays:
        """``arrays`` when the wave that begins at this run is played, in shape and type."""
        finished = {name: columns[place] for name, place in final_columns(columns).items()}
        final = {
            f"final.{name}": np.zeros((len(self._runs), *column.shape), column.dtype)
            for name, column in finished.items()
            if wave > 0
        }
        return {"figures": self.figures, "refused": self.refused, **final}

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from copies of ``arrays``."""
        self.figures[...] = saved["figures"]
        self.refused[...] = saved["refused"]
        self._final = {
            name.removeprefix("final."): np.array(array)
            for name, array in saved.items()
            if name.startswith("final.")
        }

    def run(self, i: int, seconds: float) -> Run:
        """The ``Run`` that ``advmdp.play`` would have returned."""
        run = self._runs[i]
        learner: Any = run.learner
        curves = self.figures[:, :, i].T
        final = {name: array[i] for name, array in self._final.items()}
        estimates = offers(learner, EstimatesLosses)
        expected, best = curves[SUMS + EXPECTED].copy(), curves[BEST].copy()
        epoch = curves[EPOCH].astype(np.int64)
        ledger = new_ledger(run.mdp)._replace(counts=final["counts"], worst=final["worst"])
        terms = four_terms(curves[SUMS : SUMS + 4], best, curves[BEST_ESTIMATED])
        return Run(
            episodes=self._points.copy(),
            regret=expected - best,
            expected_loss=expected,
            realised_loss=curves[SUMS + REALISED].copy(),
            best_loss=best,
            decomposition=Decomposition(*terms) if estimates else None,
            epoch=epoch if offers(learner, HasEpochs) else None,
            mean_width=curves[WIDTH].copy() if offers(learner, HasWidth) else None,
            epoch_starts=final["starts"][: epoch[-1]].copy()
            if offers(learner, HasEpochStarts)
            else None,
            solver=solver_statistics(ledger) if estimates else None,
            best=best_fixed_policy(run.mdp, final["total"]),
            seconds=seconds,
            compiled=True,
        )
