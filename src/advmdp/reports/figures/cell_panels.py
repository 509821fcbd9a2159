"""The panels of a cell and of a family of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from advmdp.evaluation.schema import column
from advmdp.reports.cells import Cell, Group
from advmdp.reports.figures.panels import BEST, EPISODES, TERM_NAMES, TOTAL, Panel, Series
from advmdp.reports.rates import ACROSS, Family, Rate
from advmdp.reports.statistics import LEVEL, Band, mean_band


def regret_panels(cell: Cell) -> list[Panel]:
    """Regret over episodes."""
    series = [_curve(group, group.band("regret"), origin=True) for group in cell.groups]
    note = band_note(cell.groups)
    return [Panel("Regret", EPISODES, cell.units.regret, tuple(series), note=note)]


def term_panels(cell: Cell) -> list[Panel]:
    """The four terms of the regret (Section 4 of the paper), one panel per learner."""
    panels = []
    for group in cell.groups:
        if all(term in group.curves for term in TERM_NAMES):
            series = [
                _curve(group, group.band(name), key=label, origin=True)
                for name, label in (("regret", TOTAL), *TERM_NAMES.items())
            ]
            note = f"The four terms add up to the regret. {band_note([group])}"
            panels.append(
                Panel(
                    group.learner,
                    EPISODES,
                    f"{cell.units.regret} and its terms",
                    tuple(series),
                    note=note,
                    learner=group.learner,
                )
            )
    return panels


def epoch_panels(cell: Cell) -> list[Panel]:
    """Epochs and the mean width of the confidence sets over time."""
    shown = (("epoch", "Epochs", False), ("mean_width", "Confidence widths", True))
    panels = []
    for name, title, is_log in shown:
        groups = [group for group in cell.groups if name in group.curves]
        series = tuple(_curve(group, group.band(name)) for group in groups)
        if series:
            label, note = column(name).label, band_note(groups)
            panel = Panel(title, EPISODES, label, series, x_log=True, y_log=is_log, note=note)
            panels.append(panel)
    return panels


def realised_panels(cell: Cell) -> list[Panel]:
    """Expected and realised loss or reward per episode, and their difference."""
    lines, dots, gaps = [], [], []
    for group in cell.groups:
        curves, episodes = group.curves, group.episodes.astype(np.float64)
        # No bands: they would show how much the worlds differ, not how precise the means are.
        expected, realised = (
            (curves[total] / episodes).mean(axis=0) for total in ("expected", "realised")
        )
        lines.append(Series(group.learner, group.learner, episodes, expected))
        label = f"{group.learner}, realised"
        dots.append(Series(group.learner, label, episodes, realised, dots=True))
        gaps.append(_curve(group, mean_band(curves["realised"] - curves["expected"])))
    note, kind = band_note(cell.groups), cell.units.kind
    return [
        Panel(
            f"{kind.capitalize()} per episode so far",
            EPISODES,
            cell.units.per_episode,
            (*lines, *dots, *_best_lines(cell)),
            x_log=True,
            from_zero=False,
            note="Lines: expected; dots: realised. Means over replicates, whose worlds differ.",
        ),
        Panel(
            f"Realised minus expected {kind}",
            EPISODES,
            f"realised - expected{cell.units.suffix}",
            tuple(gaps),
            x_log=True,
            note=f"A martingale: bands should hold zero nearly everywhere. {note}",
        ),
    ]


def rate_panels(family: Family) -> list[Panel]:
    """Regret against T on logarithmic axes, with the fitted power laws."""
    series = []
    for rate in family.rates:
        slope = "T^" if rate.kind == ACROSS else "slope in the run "
        label = f"{rate.learner} ({slope if rate.law else ''}{exponent_text(rate)})"
        x, (mean, low, high, _) = rate.n_episodes, rate.regret
        series.append(Series(rate.learner, label, x, mean, low, high, dots=rate.kind == ACROSS))
        if rate.law and rate.kind == ACROSS:  # along a curve the line would hide the curve
            span = x[[0, -1]]
            name = f"{rate.learner}, fit"
            series.append(Series(rate.learner, name, span, rate.law.at(span)))
    title, x_label, note = (
        "Growth of the regret",
        "T (episodes)",
        "A point: the mean regret of runs of one length; lines: least squares in logarithms.",
    )
    if family.rates[0].kind != ACROSS:
        x_label, title = EPISODES, "Growth within runs of one length"
        note = "Slopes of the last decade of one run, not the rate in T of the theorems."
    has_logarithm = any((one.y > 0.0).any() for one in series)
    y_label = family.units.regret
    return [
        Panel(title, x_label, y_label, tuple(series), x_log=True, y_log=has_logarithm, note=note)
    ]


FIGURES: dict[str, Callable[[Cell], list[Panel]]] = {
    "regret": regret_panels,
    "terms": term_panels,
    "epochs": epoch_panels,
    "realised": realised_panels,
}
"""Figures of a cell; ``rate_panels`` is the figure of a family."""
RATE = "rate"
KINDS = ("regret", RATE, "terms", "epochs", "realised")


def exponent_text(rate: Rate) -> str:
    """The exponent with its interval, or that there is none."""
    if rate.law is None:
        return "no exponent"
    value, low, high, _ = rate.law.exponent
    interval = f" [{low:.2f}, {high:.2f}]" if np.isfinite(low) else ""
    return f"{value:.2f}{interval}"


def band_note(groups: Sequence[Group]) -> str:
    """The number of replicates behind the means, and what the bands are."""
    counts = sorted({len(group.replicates) for group in groups})
    if counts == [1]:
        return "One replicate: no interval."
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    rough = "; so few make rough ones" if counts[0] < 5 else ""
    return (
        f"Mean over {number} replicates; bands: {LEVEL:.0%} bootstrap intervals, pointwise{rough}."
    )


def _curve(group: Group, band: Band, key: str | None = None, *, origin: bool = False) -> Series:
    """A mean with its band; ``origin`` adds the point (0, 0), before the first episode."""
    label = key or group.learner
    parts: list[ArrayLike] = [group.episodes, band.mean, band.low, band.high]
    x, y, low, high = (np.concatenate([[0.0] * origin, np.asarray(part)]) for part in parts)
    known = band.n > 1
    return Series(label, label, x, y, low if known else None, high if known else None)


def _best_lines(cell: Cell) -> list[Series]:
    """The best fixed policy; none if the losses react to the learner, since it then differs."""
    largest = max(cell.groups, key=lambda group: len(group.replicates))
    row_of = {replicate: i for i, replicate in enumerate(largest.replicates)}
    final = largest.runs["best_loss"].to_numpy()  # equal in losses, equal in any units
    for group in cell.groups:
        theirs = zip(group.replicates, group.runs["best_loss"], strict=True)
        if not all(
            np.isclose(loss, final[row_of[r]], rtol=1e-9) for r, loss in theirs if r in row_of
        ):
            return []
    episodes = largest.episodes.astype(np.float64)
    return [Series(BEST, BEST, episodes, (largest.curves["best"] / episodes).mean(axis=0))]
