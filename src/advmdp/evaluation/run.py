"""The result of a run, and the recorder that fills it at checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advmdp.checks.numbers import whole_array
from advmdp.checks.range_policy import LossRange
from advmdp.display.pictures import curve_picture
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput
from advmdp.evaluation.account import (
    Decomposition,
    EvaluationPoint,
    SolverStatistics,
    evaluate_now,
    new_ledger,
    solver_statistics,
)
from advmdp.evaluation.comparator import Comparator
from advmdp.evaluation.schema import curves_of
from advmdp.frames import frame_in
from advmdp.kernels.accounting.ledger import Ledger
from advmdp.kernels.runtime.storage import Storage, storage_of
from advmdp.layout import Floats
from advmdp.learners.base import (
    CertifiesRegret,
    EstimatesLosses,
    HasEpochs,
    HasEpochStarts,
    HasWidth,
    horizon_of,
    offers,
)
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


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """Curves over checkpoints: entry i of every array belongs to ``episodes[i]``."""

    episodes: NDArray[np.int64]
    """Numbers of episodes played at the checkpoints; the last is the whole run."""
    regret: Floats
    """Expected loss minus that of the best fixed policy for the losses so far, Eq. (regdef)."""
    expected_loss: Floats
    """Sum of <q_t, l_t>: the exact expectation of each policy under the true transition."""
    realised_loss: Floats
    """Sum of the losses on the trajectories drawn."""
    best_loss: Floats
    """Total loss of the best fixed policy in hindsight at each checkpoint."""
    decomposition: Decomposition | None
    """The four terms of the regret, for learners that estimate losses."""
    epoch: NDArray[np.int64] | None
    """The learner's epoch at the checkpoints."""
    mean_width: Floats | None
    """Mean width of the confidence intervals at the checkpoints."""
    epoch_starts: NDArray[np.int64] | None
    """Number of episodes before each epoch."""
    solver: SolverStatistics | None
    """Effort and certificates of the projections."""
    best: Comparator
    """The best fixed policy of the whole run."""
    seconds: float
    """Time spent playing."""
    compiled: bool
    """Whether the run stayed in compiled code."""
    regret_bound: Floats | None = None
    """What the regret cannot exceed by the learner's own certificate, where it has one."""
    estimated_losses: Floats | None = None
    """The sum of all loss estimates by pair, flat, for learners that estimate losses; a learner's
    ``to_frame(run=run)`` shows their means."""
    recorded: Any = None
    """What ``play(record=...)`` recorded (``evaluation.observations.Recorded``), or None."""
    feedback_times: Any = None
    """When late feedback came (``playing.late_queue.FeedbackTimes``); None: all at once."""
    clipped: int = 0
    """How many losses ``play(losses_outside="clip")`` moved into [0, 1], of pairs and episodes."""
    loss_range: LossRange | None = None
    """The range that ``play(losses_outside="adapt")`` ended with, and its doublings."""

    def to_frame(self, library: str = "polars") -> Any:
        """The curves as a frame, one row per checkpoint; ``library="pandas"`` for one of pandas."""
        kept = {name: values for name, values in curves_of(self).items() if values is not None}
        return frame_in(library, kept)

    def plot(self, ax: Any = None, label: str = "regret") -> Any:
        """Draw the regret over episodes into Matplotlib axes, which are returned.

        ``advmdp.reports.figures.regret_plot`` draws several runs with all that a figure needs.
        """
        from advmdp.evaluation.regret_curve import draw_regret_curve

        return draw_regret_curve(self, ax, label)

    def _facts(self) -> dict[str, Any]:
        outside = {"clipped": f"{self.clipped:,} losses"} if self.clipped else {}
        if self.loss_range is not None:
            outside["loss_range"] = str(self.loss_range)
        return {
            "episodes": f"{self.episodes[-1]:,}",
            "regret": f"{self.regret[-1]:,.1f}",
            "expected_loss": f"{self.expected_loss[-1]:,.1f}",
            "best_loss": f"{self.best_loss[-1]:,.1f}",
            "seconds": f"{self.seconds:.3g}",
            "compiled": self.compiled,
            **outside,
        }

    def _picture(self) -> str:
        return curve_picture(self.episodes.tolist(), self.regret.tolist(), "regret over episodes")


def log_spaced(n_episodes: int, per_decade: int = 12) -> NDArray[np.int64]:
    """Checkpoints 1 .. n_episodes, evenly spaced in the logarithm."""
    n_points = 2 + int(per_decade * np.log10(n_episodes))
    points = np.unique(np.geomspace(1, n_episodes, n_points).round().astype(np.int64))
    points[-1] = n_episodes
    return points


def checked_checkpoints(checkpoints: Any, n_episodes: int) -> NDArray[np.int64]:
    """Sorted checkpoints that end with the run itself."""
    if checkpoints is None:
        return log_spaced(n_episodes)
    points = np.unique(whole_array(checkpoints, "checkpoints"))
    if not len(points) or points[0] < 1 or points[-1] > n_episodes:
        raise InvalidInput(f"checkpoints: give whole numbers between 1 and {n_episodes}")
    return np.union1d(points, [n_episodes]).astype(np.int64)


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
        self._episodes: list[int] = []
        self._points: list[EvaluationPoint] = []
        self._epoch: list[int] = []
        self._width: list[float] = []
        self._bound: list[float] = []

    @property
    def n_points(self) -> int:
        """Checkpoints recorded so far."""
        return len(self._points)

    def is_checkpoint(self, episodes: int) -> bool:
        """Whether the account was just taken after so many episodes."""
        return bool(self._episodes) and self._episodes[-1] == episodes

    def evaluate(self) -> EvaluationPoint:
        """The account now (nothing is recorded)."""
        return evaluate_now(self.mdp, self.ledger)[0]

    def record(self, episodes: int) -> None:
        """Add a checkpoint."""
        self._episodes.append(episodes)
        self._points.append(self.evaluate())
        if offers(self.learner, HasEpochs):
            self._epoch.append(self.learner.epoch)
        if offers(self.learner, HasWidth):
            self._width.append(self.learner.mean_width)
        if offers(self.learner, CertifiesRegret) and self.learner.episodes == episodes:
            self._bound.append(self.learner.regret_bound)  # of this run, and of nothing before it

    def state(self, episodes: int) -> Snapshot:
        """A copy of the account after ``episodes`` and of the checkpoints so far."""
        figures = [(p.expected_loss, p.realised_loss, p.best_loss, *p.terms) for p in self._points]
        return {
            "episodes": np.array(episodes),
            "points.episodes": np.array(self._episodes, dtype=np.int64),
            "points.figures": np.array(figures, dtype=np.float64).reshape(-1, 7),
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
        self._points = [
            EvaluationPoint(expected, realised, best, (error, bias1, reg, bias2))
            for expected, realised, best, error, bias1, reg, bias2 in saved[
                "points.figures"
            ].tolist()
        ]
        self._epoch = saved["points.epoch"].tolist()
        self._width = saved["points.width"].tolist()
        self._bound = saved[BOUND].tolist() if BOUND in saved else []
        for name in LEDGER:
            getattr(self.ledger, name)[...] = saved[f"ledger.{name}"]

    def run(self, seconds: float, *, compiled: bool) -> Run:
        """Everything recorded."""
        points = self._points
        estimates = offers(self.learner, EstimatesLosses)
        terms = np.array([point.terms for point in points]).T
        return Run(
            episodes=np.array(self._episodes, dtype=np.int64),
            regret=np.array([point.regret for point in points]),
            expected_loss=np.array([point.expected_loss for point in points]),
            realised_loss=np.array([point.realised_loss for point in points]),
            best_loss=np.array([point.best_loss for point in points]),
            decomposition=Decomposition(*terms) if estimates else None,
            epoch=np.array(self._epoch, dtype=np.int64) if self._epoch else None,
            mean_width=np.array(self._width) if self._width else None,
            epoch_starts=self.learner.epoch_starts
            if offers(self.learner, HasEpochStarts)
            else None,
            solver=solver_statistics(self.ledger) if estimates else None,
            best=evaluate_now(self.mdp, self.ledger)[1],
            seconds=seconds,
            compiled=compiled,
            regret_bound=np.array(self._bound) if len(self._bound) == len(points) else None,
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
