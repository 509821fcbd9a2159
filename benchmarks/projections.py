"""Our projection against general solvers, on the same instances in the same run.

Times are processor times: another process interrupts a solve of a second, but hardly ever one of a
tenth of a millisecond, so that wall-clock ratios on a busy machine flatter the faster side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from statistics import median

import advmdp as am
from benchmarks.instances import (
    MOMENTS,
    Accuracy,
    Instance,
    instances_of_a_run,
    judge,
    share_at_bounds,
)
from benchmarks.machine import Timing, calm, median_of, rotating
from benchmarks.report import AT_MOST, Figure, Grid, Section, number, seconds
from benchmarks.rivals import RIVALS, RIVALS_AS_WRITTEN, Rival
from benchmarks.worlds import BROAD, MIDDLE, Shape

TARGETS = {MIDDLE: 1000.0, BROAD: 3000.0}
FLOW_TARGET = 1e-10
USABLE = 1e-6  # an answer with larger errors in flow, box or divergence is none
NO_ANSWER = Accuracy(math.inf, math.inf, math.inf, math.inf)
ERRORS = ("flow", "box", "|dD|", "entries")
COLUMNS = ("method", "time", "own time", "ratio", "own ratio", *ERRORS, "answers")


@dataclass(frozen=True)
class Line:
    """One method over all instances; ``own`` is the time that a solver reports for itself."""

    name: str
    total: Sequence[Timing]
    own: Sequence[float]
    errors: Sequence[Accuracy]
    statuses: Sequence[str]

    def usable(self, i: int) -> bool:
        """Whether instance i was solved."""
        return max(self.errors[i].flow, self.errors[i].box, self.errors[i].divergence) <= USABLE

    def cells(self, base: Line) -> tuple[str, ...]:
        """Median times and ratios, worst errors."""
        total, n = median_of(list(self.total)), len(self.total)
        ratio = median(
            mine.cpu / ours.cpu for mine, ours in zip(self.total, base.total, strict=True)
        )
        own_ratio = median(mine / ours for mine, ours in zip(self.own, base.own, strict=True))
        worst = reduce(Accuracy.worst_with, self.errors)
        solved = sum(self.usable(i) for i in range(n))
        return (
            self.name,
            f"{'~' if total.noisy else ''}{seconds(total.cpu)}",
            seconds(median(self.own)),
            number(ratio),
            number(own_ratio),
            *(f"{e:.0e}" for e in (worst.flow, worst.box, worst.divergence, worst.entries)),
            f"{solved} of {n}, " + ", ".join(sorted(set(self.statuses))),
        )


def our_lines(instances: Sequence[Instance], rounds: int) -> tuple[list[Line], list[am.Projection]]:
    """The projection with its work space kept, and made anew each time."""
    projector = am.Projector(instances[0].box.layout)
    answers = [projector.project(case.weights, case.box) for case in instances]
    errors = [judge(case, a.occupancy, a) for case, a in zip(instances, answers, strict=True)]
    lines = []
    for name, method in (
        ("Projector.project", projector.project),
        ("project, allocating", am.project),
    ):
        calls = [partial(method, case.weights, case.box) for case in instances]
        times = rotating(calls, rounds)
        lines.append(Line(name, times, [t.cpu for t in times], errors, ["certified"]))
    return lines, answers


def rival_line(
    name: str, rival: Rival, instances: Sequence[Instance], references: Sequence[am.Projection]
) -> Line:
    """One rival on each instance; a disturbed attempt is repeated, so as not to flatter us."""
    timed = [calm(partial(rival, case)) for case in instances]
    errors = [
        NO_ANSWER if attempt.occupancy is None else judge(case, attempt.occupancy, reference)
        for case, (_, attempt), reference in zip(instances, timed, references, strict=True)
    ]
    return Line(
        name,
        [timing for timing, _ in timed],
        [attempt.own for _, attempt in timed],
        errors,
        [attempt.status for _, attempt in timed],
    )


def fastest_ratio(ours: Line, rivals: Sequence[Line], *, own: bool) -> tuple[float, str]:
    """The median over instances of (fastest rival with an answer) / (ours), and who that was."""
    ratios, names = [], []
    for i, mine in enumerate(ours.total):
        times = [
            (line.own[i] if own else line.total[i].cpu, line.name)
            for line in rivals
            if line.usable(i)
        ]
        fastest, name = min(times, default=(math.nan, "none"))
        ratios.append(fastest / mine.cpu)
        names.append(name)
    return median(ratios), " or ".join(sorted(set(names)))


def against_the_paper(
    shape: Shape, base: Line, instances: Sequence[Instance], answers: Sequence[am.Projection]
) -> tuple[Grid, Figure]:
    """The rivals on the constraints as printed: the paper's own dual has 2 E + |X| variables."""
    rivals = [
        rival_line(name, rival, instances, answers) for name, rival in RIVALS_AS_WRITTEN.items()
    ]
    note = "Both bounds for every triple against the sum of its row, as the paper prints them."
    cells = [line.cells(base) for line in [base, *rivals]]
    grid = Grid(f"Projection at {shape}, constraints as written", COLUMNS, cells, note)
    ratio, names = fastest_ratio(base, rivals, own=False)
    text = f"projection at {shape}: fastest rival ({names}), constraints as written"
    noisy = any(timing.noisy for line in [base, *rivals] for timing in line.total)
    return grid, Figure(text, ratio, "times ours", TARGETS[shape], noisy=noisy)


def compare(shape: Shape, *, quick: bool) -> tuple[list[Grid], list[Figure]]:
    """All methods on one layout."""
    instances = instances_of_a_run(shape, MOMENTS[2:3] if quick else MOMENTS)
    ours, answers = our_lines(instances, rounds=20 if quick else 100)
    rivals = [rival_line(name, rival, instances, answers) for name, rival in RIVALS.items()]
    base = ours[0]
    bites = [share_at_bounds(c, a) for c, a in zip(instances, answers, strict=True)]
    note = (
        f"{len(instances)} instances of a run, {instances[0].box.layout.n_entries:,} triples, of "
        f"which on a bound: {', '.join(f'{100 * share:.0f}' for share in bites)} %; Newton steps: "
        f"{', '.join(str(answer.iterations) for answer in answers)}.\n  Medians over instances, "
        "worst errors; |dD| and entries are differences to our certified answer.\n  With flow, box "
        f"or |dD| above {USABLE:g} it does not count as an answer."
    )
    grid = Grid(
        f"Projection at {shape}, the model sharpened for the rivals",
        COLUMNS,
        [line.cells(base) for line in [*ours, *rivals]],
        note,
    )
    noisy = any(timing.noisy for line in [base, *rivals] for timing in line.total)
    figures = []
    for own, what in ((False, "model and solver"), (True, "the solver's own time")):
        ratio, names = fastest_ratio(base, rivals, own=own)
        text = f"projection at {shape}: fastest rival ({names}), sharpened model, {what}"
        figures.append(Figure(text, ratio, "times ours", noisy=noisy))
    flow = max(*(e.flow for e in base.errors), *(a.flow_residual for a in answers))
    time = median_of(list(base.total))
    figures += [
        Figure(f"projection at {shape}: flow residual", flow, "", FLOW_TARGET, AT_MOST),
        Figure(f"projection at {shape}: our time", time.cpu, "s", noisy=time.noisy),
    ]
    written, figure = against_the_paper(shape, base, instances, answers)
    return [grid, written], [*figures, figure]


def run(*, quick: bool) -> Section:
    """The section."""
    section = Section()
    for shape in TARGETS:
        grids, figures = compare(shape, quick=quick)
        section.grids += grids
        section.figures += figures
    return section
