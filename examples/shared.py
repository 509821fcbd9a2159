"""What the scenarios share: a diary of a run, planners that learn from paths, the drawing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.layout import Floats, Table
from advmdp.learners.mixtures.corral import log_barrier_step
from advmdp.reports.figures.axis_style import style_axes, thousands
from advmdp.reports.figures.line_styles import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Diary:
    """Plays like the learner inside and notes each policy, the pairs visited and their losses."""

    def __init__(self, learner: Any) -> None:
        self.learner, self.layout = learner, learner.layout
        self.feedback = getattr(learner, "feedback", "bandit")
        self.policies: list[Floats] = []
        self.rows: list[Any] = []
        self.losses: list[Floats] = []

    def __getattr__(self, name: str) -> Any:
        """What ``play`` asks of a learner that takes contexts, or losses in any unit."""
        if name in ("accepts_any_losses", "n_contexts", "enter"):
            return getattr(self.learner, name)
        raise AttributeError(name)

    def policy(self) -> Table:
        policy: Table = self.learner.policy()
        self.policies.append(self.layout.flat_pairs(policy))
        return policy

    def update(self, feedback: Any) -> None:
        rows = rows_of(self.layout, feedback)
        full = self.feedback == "full"
        self.rows.append(rows)
        self.losses.append(np.array(feedback.losses[rows] if full else feedback.losses))
        self.learner.update(feedback)

    def occupancy(self, mdp: am.LayeredMDP) -> Floats:
        """q_t(x, a) of every episode, shape (episodes, pairs): exact, no luck in it."""
        policies = np.array(self.policies)
        occupancy, mass = np.empty_like(policies), np.ones((len(policies), 1))
        for k, step in enumerate(mdp.transitions):
            rows = self.layout.layer_rows(k)
            occupancy[:, rows] = policies[:, rows] * np.repeat(mass, self.layout.n_actions, axis=1)
            mass = occupancy[:, rows] @ step.reshape(-1, step.shape[2])
        return occupancy

    def expected(self, mdp: am.LayeredMDP, costs: Floats) -> Floats:
        """The expected cost of every episode; ``costs[t]`` holds one number for each pair."""
        return np.asarray((self.occupancy(mdp) * costs).sum(axis=1))

    def realised(self, costs: Floats) -> Floats:
        """The cost of every episode on the path that was drawn."""
        return np.asarray(np.take_along_axis(costs, np.array(self.rows), axis=1).sum(axis=1))


def rows_of(layout: am.Layout, feedback: am.Trajectory | am.FullInformation) -> Any:
    """The flat numbers of the pairs on a path."""
    states = np.asarray(feedback.states[:-1]) + layout.layer_start[:-2]
    return states * layout.n_actions + np.asarray(feedback.actions)


class Scripted:
    """Plays policies that were written down before: the same one always, or one an episode."""

    def __init__(self, layout: am.Layout, policies: Sequence[Table]) -> None:
        self.layout = layout
        self._policies, self._episode = policies, 0

    def policy(self) -> Table:
        return self._policies[min(self._episode, len(self._policies) - 1)]

    def update(self, feedback: Any) -> None:
        self._episode += 1


class Replanner:
    """Plans on the averages measured so far, as if they were the truth.

    It starts from a believed model and believed losses, each worth one visit of every pair, and
    adds what it sees.  ``memory`` below 1 lets old measurements fade: an average over about
    1 / (1 - memory) episodes.  A new plan is made every ``every`` episodes.
    """

    def __init__(
        self, believed: am.LayeredMDP, losses: Any, memory: float = 1.0, every: int = 10
    ) -> None:
        self.layout = believed.layout
        self._prior = np.array(believed.flat), self.layout.flat_pairs(losses)
        self._visits = np.zeros(self.layout.n_rows)
        self._sums = np.zeros(self.layout.n_rows)
        self._moves = np.zeros(self.layout.n_entries)
        self._successors = self.layout.entry_successors()
        self._memory, self._every, self._episode = memory, every, 0
        self._plan = best_fixed_policy(believed, losses).policy

    def policy(self) -> Table:
        return self._plan

    def update(self, trajectory: am.Trajectory) -> None:
        rows = rows_of(self.layout, trajectory)
        for counter in (self._visits, self._sums):
            counter *= self._memory
        self._visits[rows] += 1.0
        self._sums[rows] += trajectory.losses
        reached = np.asarray(trajectory.states[1:]) + self.layout.layer_start[1:-1]
        for row, state in zip(rows, reached, strict=True):
            begin, end = self.layout.row_start[row : row + 2]
            self._moves[begin + np.searchsorted(self._successors[begin:end], state)] += 1.0
        self._episode += 1
        if self._episode % self._every == 0:
            self._replan()

    def _replan(self) -> None:
        chance, losses = self._prior
        moves = chance + self._moves  # transitions do not change: nothing is forgotten here
        totals = np.add.reduceat(moves, self.layout.row_start[:-1])
        estimate = moves / np.repeat(totals, self.layout.row_sizes())
        mean = (losses + self._sums) / (1.0 + self._visits)
        self._plan = best_fixed_policy(am.LayeredMDP(self.layout, estimate), mean).policy


class Drawn:
    """Draws one of several planners for every episode; all of them learn from every path.

    The chances are those of follow-the-regularised-leader with a log barrier, on the losses of
    episodes above or below their recent mean, divided by the chance of who played.  With V the
    squares of these deviations the rate is sqrt(M ln T / V), in the unit of the losses: nothing to
    choose.  For a rate known beforehand the expected regret to each of the M planners, with what
    all have learnt, is of order sqrt(M V ln T); for this one that is not proved here.

    It is no part of the package: it rests on planners that learn from a path whoever chose it,
    which those here do (``Replanner``) and no learner of the package with bandit feedback may:
    they divide by the chance of their own path.  The part for those is ``am.Corral``.
    """

    FADING = 0.01  # the mean is over about a hundred episodes

    def __init__(self, planners: Sequence[Replanner], seed: int) -> None:
        self.layout = planners[0].layout
        self._planners, self._rng = planners, np.random.default_rng(seed)
        self._even = np.full(len(planners), 1.0 / len(planners))
        self.chances, self._costs = self._even, np.zeros(len(planners))
        self._squares, self._mean, self._episodes, self._chosen = 0.0, 0.0, 0, 0

    def policy(self) -> Table:
        self._chosen = int(self._rng.choice(len(self._planners), p=self.chances))
        return self._planners[self._chosen].policy()

    def update(self, trajectory: am.Trajectory) -> None:
        loss = float(np.sum(trajectory.losses))
        deviation = loss - self._mean if self._episodes else 0.0
        self._costs[self._chosen] += deviation / self.chances[self._chosen]
        self._squares += deviation**2
        self._episodes += 1
        self._mean += max(1.0 / self._episodes, self.FADING) * (loss - self._mean)
        if self._squares > 0.0:
            size = len(self._planners)
            rate = np.sqrt(size * np.log(self._episodes + 2.0) / self._squares)
            self.chances = log_barrier_step(self._even, self._costs, np.full(size, rate))
        for planner in self._planners:
            planner.update(trajectory)


def new_figure(width: float, height: float, title: str, note: str) -> Figure:
    """An empty figure that asks no window system and leaves the caller's matplotlib alone."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    figure.text(0.6 / width, 1 - 0.42 / height, title, fontsize=13.5, color=INK, weight="bold")
    figure.text(0.6 / width, 0.14 / height, note, fontsize=8.5, color=FAINT)
    return figure


def dress(axes: Axes, heading: str, x: str, y: str) -> None:
    """Titles with units, thousands with commas, and as little ink as possible."""
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() == "linear" and max(map(abs, limits)) >= 1000:
            axis.set_major_formatter(thousands())
    style_axes(axes, heading, x, y)


def draw_lines(axes: Axes, x: Any, lines: Mapping[str, Any], *, named: bool = True) -> None:
    """One line for each name, which is written at its right end, unless another panel says it."""
    ends = []
    for (name, y), colour in zip(lines.items(), COLOURS, strict=False):
        axes.plot(x, y, color=colour, linewidth=1.9)
        ends.append((float(y[-1]), name, colour))
    axes.set_xlim(min(x), max(max(x), min(x) + 1))  # also of a single day
    if not named:
        return
    low, high = axes.get_ylim()
    place = -1.0
    for value, name, colour in sorted(ends):
        place = max((value - low) / (high - low), place + 0.065)
        axes.annotate(
            *(name, (1.0, place), (6, 0), "axes fraction", "offset points"),
            va="center",
            color=colour,
            fontsize=9.5,
            annotation_clip=False,
        )


def natural(text: str) -> int:
    """The type of ``--seed`` for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def run_script(main: Callable[[], Any]) -> None:
    """Call ``main``; what the package refuses becomes one line on standard error."""
    try:
        main()
    except am.AdvMDPError as problem:
        sys.exit(f"error: {problem}")
