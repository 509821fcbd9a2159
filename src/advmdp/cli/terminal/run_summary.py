"""The results of single runs: tables and sentences."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.table import Table

from advmdp.evaluation.run import Run

BEST = "best fixed policy"
FEW = 100  # episodes that say nothing about a trend
LESS = 0.75  # the second half of a run adds less than this share of the first: the curve bends


def comparison_table(learner_name: str, learner: Run, baseline_name: str, baseline: Run) -> Table:
    """A learner, a baseline and the best fixed policy against the same losses."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("learner", no_wrap=True)
    baseline_share = f"% of\n{baseline_name.split()[0]}'s"
    for heading in (
        "total\nloss",
        "loss per\nepisode",
        "regret",
        baseline_share,
        "episodes\nper s",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    n_episodes = int(learner.episodes[-1])
    rows = (
        (baseline_name, baseline.expected_loss[-1], baseline.regret[-1], baseline.seconds),
        (learner_name, learner.expected_loss[-1], learner.regret[-1], learner.seconds),
        (BEST, learner.best_loss[-1], 0.0, None),  # known in hindsight only
    )
    for name, loss, regret, seconds in rows:
        table.add_row(
            name,
            f"{loss:z,.0f}",
            f"{loss / n_episodes:.3f}",
            f"{regret:z,.0f}",
            _percentage(regret, baseline.regret[-1]),
            "-" if seconds is None else f"{n_episodes / max(seconds, 1e-9):z,.0f}",
            style="bold" if name == learner_name else None,
        )
    return table


def certificate_table(run: Run) -> Table | None:
    """The certificates of the projections; None for a learner without any."""
    if run.solver is None:
        return None
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    if run.epoch is not None:
        table.add_row("epochs", f"{int(run.epoch[-1]):,}")
    # A projection without a certificate stops the run, so all that were made are certified.
    done = f"{run.solver.projections:,}"
    table.add_row("projections certified", f"{done} of {done}")
    table.add_row("worst flow residual", f"{run.solver.worst_residual:.1e}")
    table.add_row("worst duality gap", f"{run.solver.worst_gap:.1e}")
    return table


def in_plain_words(learner_name: str, learner: Run, baseline_name: str, baseline: Run) -> str:
    """The figures in two sentences."""
    n_episodes = int(learner.episodes[-1])
    total = float(learner.regret[-1])
    share = _percentage(total, baseline.regret[-1])
    if share == "-":
        return "All policies lose the same in this world: there is nothing to learn."
    lost = f"{abs(total):,.0f} {'less' if total < 0.0 else 'more'}"
    what = f"{learner_name} lost {lost} than the {BEST}, {share} of the {baseline_name}'s regret."
    if n_episodes < FEW:
        return f"{what} So short a run shows no trend."
    first = float(np.interp(n_episodes / 2, learner.episodes, learner.regret))
    second = total - first
    halves = f"The first half of the run added {first:z,.0f} to that, the second {second:z,.0f}"
    if second < LESS * first:
        return f"{what} {halves}: the curve bends, for it falls behind more and more slowly."
    return f"{what} {halves}: no bend to be seen, a longer run may show one."


def _percentage(part: float, whole: float) -> str:
    # Where all policies are equally good there is no regret to compare with.
    return f"{100 * part / whole:.1f}%" if whole > 1e-9 else "-"
