"""Collects the result of a run at its checkpoints, and what a cut run is resumed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.errors import InvalidInput
from advmdp.evaluation.account import (
    Decomposition,
    EvaluationPoint,
    Evaluator,
    figures_of,
    new_ledger,
    solver_statistics,
)
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.evaluation.run import Run
from advmdp.kernels.accounting.evaluation_point import EPOCH, NEVER, WIDTH, Points
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.runtime.storage import Storage, storage_of
from advmdp.layout import Floats
from advmdp.learners.base import (
    CertifiesRegret,
    EstimatesLosses,
    HasEpochs,
    HasEpochStarts,
    HasWidth,
    offers,
)
from advmdp.learners.contract_checks import horizon_of
from advmdp.world.mdp import LayeredMDP

Snapshot = dict[str, NDArray[Any]]
"""Everything that changes in a run, under names: what a cut run is resumed from."""

SEED, HORIZON = "run.seed", "run.horizon"
BOUND = "points.bound"
"""Only of learners that certify their regret."""
IDENTITY = {SEED: "seed", HORIZON: "n_episodes of its learner"}
LEDGER = tuple(name for name, storage in storage_of(Ledger).items() if storage is Storage.LASTING)


FORMER_NAMES = {"ledger.fed": "ledger.estimated"}


def with_current_names(snapshot: Mapping[str, NDArray[Any]]) -> Snapshot:
    """A snapshot that an earlier version took, under the names of this one."""
    return {FORMER_NAMES.get(name, name): array for name, array in snapshot.items()}


class Recorder:
    """Collects a ``Run``."""

    def __init__(
        self, mdp: LayeredMDP, learner: Any, seed_words: tuple[int, int] | None = None
    ) -> None:
        self.mdp = mdp
        self.learner = learner
        self._seed_words = seed_words
        self.ledger = new_ledger(mdp)
        self.episodes = 0
        """Episodes behind the run when it began: 0, unless it was resumed."""
        self._evaluator = Evaluator(mdp, self.ledger)
        self._has_epochs, self._has_width, self._certifies = (
            offers(learner, kind) for kind in (HasEpochs, HasWidth, CertifiesRegret)
        )
        self._episodes: list[int] = []
        self._figures: list[Floats] = [np.zeros((0, 7))]
        self._epoch: list[int] = []
        self._width: list[float] = []
        self._bound: list[float] = []

    @property
    def n_points(self) -> int:
        """Checkpoints recorded so far."""
        return len(self._episodes)

    def is_checkpoint(self, episodes: int) -> bool:
        """Whether the account was just taken after so many episodes."""
        return bool(self._episodes) and self._episodes[-1] == episodes

    def evaluate(self) -> EvaluationPoint:
        """The account now (nothing is recorded)."""
        return self._evaluator.now()

    def record(self, episodes: int) -> None:
        """Add a checkpoint."""
        self._evaluator.note()
        self._episodes.append(episodes)
        if self._has_epochs:
            self._epoch.append(self.learner.epoch)
        if self._has_width:
            self._width.append(self.learner.mean_width)
        if self._certifies and self.learner.episodes == episodes:
            self._bound.append(self.learner.regret_bound)  # of this run, and of nothing before it
        if self._evaluator.points.found[0] == self._evaluator.room:
            self._take_out()

    @property
    def room(self) -> int:
        """How many checkpoints compiled code can note at once; none of what only Python reads."""
        return 0 if self._certifies else self._evaluator.room

    def expect(self, coming: NDArray[np.int64]) -> Points:
        """Where compiled code notes the coming checkpoints, of which there must be few enough."""
        self._take_out()
        points = self._evaluator.points
        points.at[: len(coming)], points.at[len(coming) :] = coming, NEVER
        return points

    def add_noted(self) -> None:
        """Add the checkpoints that compiled code has noted since they were expected."""
        points = self._evaluator.points
        n_points = int(points.found[0])
        self._episodes += points.at[:n_points].tolist()
        if self._has_epochs:
            self._epoch += points.figures[:n_points, EPOCH].astype(np.int64).tolist()
        if self._has_width:
            self._width += points.figures[:n_points, WIDTH].tolist()
        self._take_out()

    def _take_out(self) -> None:
        if self._evaluator.points.found[0]:
            self._figures.append(figures_of(self._evaluator.points))

    def _all_figures(self) -> Floats:
        self._take_out()
        self._figures = [np.concatenate(self._figures)]
        return self._figures[0]

    def state(self, episodes: int) -> Snapshot:
        """A copy of the account after ``episodes`` and of the checkpoints so far."""
        return {
            "episodes": np.array(episodes),
            "points.episodes": np.array(self._episodes, dtype=np.int64),
            "points.figures": self._all_figures().copy(),
            "points.epoch": np.array(self._epoch, dtype=np.int64),
            "points.width": np.array(self._width, dtype=np.float64),
            **({BOUND: np.array(self._bound)} if self._bound else {}),
            **{f"ledger.{name}": getattr(self.ledger, name).copy() for name in LEDGER},
            **self._identity(),
        }

    def _identity(self) -> Snapshot:
        """What tells the run from others that have the same shapes, as far as it is known."""
        known = {SEED: self._seed_words, HORIZON: horizon_of(self.learner)}
        return {name: np.array(value) for name, value in known.items() if value is not None}

    def check_resumable(self, saved: Mapping[str, NDArray[Any]], points: NDArray[np.int64]) -> None:
        """Refuse a snapshot of another run, before anything is changed."""
        mine, identity = self.state(0), self._identity()
        missing = sorted(set(mine) - set(identity) - set(saved))
        if missing:
            raise InvalidInput(f"resume: not the snapshot of a run, it has no {missing[0]!r}")
        for name, own in identity.items():
            if not np.array_equal(saved.get(name, own), own):  # older snapshots do not have it
                raise InvalidInput(
                    f"resume: the snapshot is of a run with another {IDENTITY[name]}; "
                    "resume with what the run was begun with"
                )
        for name in set(mine) - set(identity):
            if saved[name].dtype != mine[name].dtype:
                raise InvalidInput(
                    f"resume: {name} holds {saved[name].dtype}, expected {mine[name].dtype}; "
                    "resume from another checkpoint"
                )
        for name in (f"ledger.{name}" for name in LEDGER):
            if saved[name].shape != mine[name].shape:
                raise InvalidInput(
                    f"resume: {name} has shape {saved[name].shape}, expected {mine[name].shape}; "
                    "resume with the MDP that the snapshot was taken with"
                )
        _check_values(saved)
        done = int(saved["episodes"])
        if not 0 <= done <= points[-1]:
            raise InvalidInput(
                f"resume: the snapshot is after {done} episodes of {points[-1]}; "
                "resume with the same n_episodes"
            )
        if not np.array_equal(saved["points.episodes"], points[points <= done]):
            raise InvalidInput(
                f"resume: the snapshot after {done} episodes has other checkpoints; "
                "resume with the same n_episodes and checkpoints"
            )

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` returned."""
        self.episodes = int(saved["episodes"])
        self._episodes = saved["points.episodes"].tolist()
        self._figures = [saved["points.figures"]]
        self._epoch = saved["points.epoch"].tolist()
        self._width = saved["points.width"].tolist()
        self._bound = saved[BOUND].tolist() if BOUND in saved else []
        for name in LEDGER:
            getattr(self.ledger, name)[...] = saved[f"ledger.{name}"]

    def run(self, seconds: float, *, compiled: bool) -> Run:
        """Everything recorded."""
        estimates = offers(self.learner, EstimatesLosses)
        expected, realised, best, *terms = self._all_figures().T.copy()
        return Run(
            episodes=np.array(self._episodes, dtype=np.int64),
            regret=expected - best,
            expected_loss=expected,
            realised_loss=realised,
            best_loss=best,
            decomposition=Decomposition(*terms) if estimates else None,
            epoch=np.array(self._epoch, dtype=np.int64) if self._epoch else None,
            mean_width=np.array(self._width) if self._width else None,
            epoch_starts=self.learner.epoch_starts
            if offers(self.learner, HasEpochStarts)
            else None,
            solver=solver_statistics(self.ledger) if estimates else None,
            best=best_fixed_policy(self.mdp, self.ledger.total),
            seconds=seconds,
            compiled=compiled,
            regret_bound=np.array(self._bound) if len(self._bound) == self.n_points else None,
            estimated_losses=self.ledger.estimated.copy() if estimates else None,
        )


def _check_values(saved: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a snapshot with the right names whose values no run produces."""
    n_points = saved["points.episodes"].size
    optional = {(0,), (n_points,)}  # not every learner has epochs and widths
    proper = {
        "episodes": saved["episodes"].shape == (),
        "points.figures": saved["points.figures"].shape == (n_points, 7),
        "points.epoch": saved["points.epoch"].shape in optional,
        "points.width": saved["points.width"].shape in optional,
        BOUND: BOUND not in saved or saved[BOUND].shape in optional,
    }
    bounds = (BOUND,) if BOUND in saved else ()
    for name in ("points.figures", "points.width", *bounds):
        proper[name] = proper[name] and _is_finite(saved[name])
    wrong = [name for name, is_proper in proper.items() if not is_proper]
    improper = wrong[0] if wrong else improper_part_of_ledger(saved)
    if improper is not None:
        raise InvalidInput(
            f"resume: {improper} has values that no run has; resume from another checkpoint"
        )


def improper_part_of_ledger(saved: Mapping[str, NDArray[Any]]) -> str | None:
    """The name of an array ``ledger.*`` with values that no run has; None if all are proper."""
    for name in (f"ledger.{part}" for part in LEDGER):
        if name in saved and not _is_finite(saved[name]):
            return name
    counts = saved.get("ledger.counts")
    return "ledger.counts" if counts is not None and (counts < 0).any() else None


def _is_finite(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "if" and bool(np.isfinite(array).all())
