"""What the figures show, before anyone decides how they look.

A panel is a set of axes with series on it.  The page and the paper figures draw the same panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from advmdp.errors import InvalidInput
from advmdp.reports.rates import ACROSS, Family, Rate
from advmdp.reports.results import TERMS
from advmdp.reports.statistics import LEVEL, Band, Floats, mean_band
from advmdp.reports.summary import Cell, Group

BEST, TOTAL = "best fixed policy", "regret"
TERM_NAMES = dict(zip(TERMS, ("ERROR", "BIAS1", "REG", "BIAS2"), strict=True))
PLAIN_KEYS = (BEST, TOTAL)
"""Series drawn in ink: they belong to no learner and are no term."""
EPISODES = "episodes"
MOST_DECADES = 6  # on a logarithmic axis: what is smaller is rounding


@dataclass(frozen=True)
class Series:
    """A line, or dots with whiskers.  ``key`` fixes colour and line style, and is what a legend
    switches on and off; ``label`` may say more."""

    key: str
    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    dots: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    from_zero: bool = True
    """Whether a linear vertical axis has to show zero."""
    note: str = ""
    learner: str | None = None
    """The learner that the whole panel belongs to, if it is only one."""


def regret_panels(cell: Cell) -> list[Panel]:
    """Regret over episodes."""
    series = [_curve(group, group.band("regret"), origin=True) for group in cell.groups]
    note = band_note(cell.groups)
    return [Panel("Regret", EPISODES, cell.units.regret, tuple(series), note=note)]


def term_panels(cell: Cell) -> list[Panel]:
    """The four terms of the regret (Section 4 of the paper), one panel for each learner."""
    panels = []
    for group in cell.groups:
        if all(term in group.curves for term in TERMS):
            series = [
                _curve(group, group.band(name), key=label, origin=True)
                for name, label in ((TOTAL, TOTAL), *TERM_NAMES.items())
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
    wanted = (
        ("epoch", "Epochs", "epoch", False),
        ("mean_width", "Confidence widths", "mean width of the intervals", True),
    )
    panels = []
    for name, title, y_label, y_log in wanted:
        groups = [group for group in cell.groups if name in group.curves]
        series = tuple(_curve(group, group.band(name)) for group in groups)
        if series:
            note = band_note(groups)
            panels.append(Panel(title, EPISODES, y_label, series, True, y_log, note=note))
    return panels


def realised_panels(cell: Cell) -> list[Panel]:
    """What was expected, what the trajectories drawn brought, and the gap."""
    lines, dots, gaps = [], [], []
    for group in cell.groups:
        curves, episodes = group.curves, group.episodes.astype(np.float64)
        # No bands: they would show how much worlds differ, not how well the means are known.
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
    """Regret against T in logarithms, with the fitted power laws."""
    series = []
    for rate in family.rates:
        slope = "T^" if rate.kind == ACROSS else "slope in the run "
        label = f"{rate.learner} ({slope if rate.law else ''}{exponent_text(rate)})"
        x, (mean, low, high, _) = rate.n_episodes, rate.regret
        series.append(Series(rate.learner, label, x, mean, low, high, dots=rate.kind == ACROSS))
        if rate.law and rate.kind == ACROSS:  # along a curve the line would hide what it fits
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
    return [Panel(title, x_label, y_label, tuple(series), True, has_logarithm, note=note)]


FIGURES: dict[str, Callable[[Cell], list[Panel]]] = {
    "regret": regret_panels,
    "terms": term_panels,
    "epochs": epoch_panels,
    "realised": realised_panels,
}
"""Figures of a cell; the one of a family is ``rate``."""
RATE = "rate"
KINDS = ("regret", RATE, "terms", "epochs", "realised")


def only(panels: Sequence[Panel], learners: Sequence[str]) -> list[Panel]:
    """The panels with fewer learners."""
    known = {series.key for panel in panels for series in panel.series}
    known |= {panel.learner for panel in panels if panel.learner}
    for learner in learners:
        if learner not in known:
            raise InvalidInput(
                f"learners: no '{learner}' in this figure; there are {', '.join(sorted(known))}"
            )
    kept = []
    for panel in panels:
        if panel.learner is None:
            chosen = tuple(s for s in panel.series if s.key in (*learners, *PLAIN_KEYS))
            if any(series.key in learners for series in chosen):
                kept.append(replace(panel, series=chosen))
        elif panel.learner in learners:
            kept.append(panel)
    return kept


def shown_range(panel: Panel) -> tuple[float, float]:
    """The ends of the vertical axis: all means, and bands as far as they do not dwarf them."""
    values = np.concatenate([series.y[np.isfinite(series.y)] for series in panel.series])
    lows = [series.low for series in panel.series if series.low is not None]
    highs = [series.high for series in panel.series if series.high is not None]
    ends = np.concatenate([values, *lows, *highs])
    if panel.y_log:
        positive = values[values > 0.0]
        if not len(positive):
            return 0.1, 1.0
        values = np.log10(positive[positive >= positive.max() * 10.0**-MOST_DECADES])
        ends = np.log10(ends[ends > 0.0])
    elif panel.from_zero:
        values = np.append(values, 0.0)
    low, high = float(values.min()), float(values.max())
    room = (high - low) or abs(high) or 1.0
    bottom = max(float(np.nanmin(ends, initial=low)), low - room / 2)
    top = min(float(np.nanmax(ends, initial=high)), high + room / 2)
    if panel.y_log or bottom < 0.0 or not panel.from_zero:  # no room below a zero line
        bottom -= 0.04 * room
    top += 0.04 * room
    return (10.0**bottom, 10.0**top) if panel.y_log else (bottom, top)


def exponent_text(rate: Rate) -> str:
    """The exponent and its interval, or why there is none."""
    if rate.law is None:
        return "no exponent"
    value, low, high, _ = rate.law.exponent
    interval = f" [{low:.2f}, {high:.2f}]" if np.isfinite(low) else ""
    return f"{value:.2f}{interval}"


def band_note(groups: Sequence[Group]) -> str:
    """How many replicates the means are over, and what the bands are."""
    counts = sorted({len(group.replicates) for group in groups})
    if counts == [1]:
        return "One replicate: no interval."
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    rough = "; so few make rough ones" if counts[0] < 5 else ""
    return (
        f"Mean over {number} replicates; bands: {LEVEL:.0%} bootstrap intervals, pointwise{rough}."
    )


def _curve(group: Group, band: Band, key: str | None = None, *, origin: bool = False) -> Series:
    """A mean with its band; ``origin`` adds the point where nothing was played or lost yet."""
    label = key or group.learner
    parts: list[ArrayLike] = [group.episodes, band.mean, band.low, band.high]
    x, y, low, high = (np.concatenate([[0.0] * origin, np.asarray(part)]) for part in parts)
    known = band.n > 1
    return Series(label, label, x, y, low if known else None, high if known else None)


def _best_lines(cell: Cell) -> list[Series]:
    """The best fixed policy; none where losses react to the learner, for then it varies."""
    largest = max(cell.groups, key=lambda group: len(group.replicates))
    row_of = {replicate: i for i, replicate in enumerate(largest.replicates)}
    final = largest.runs["best_loss"].to_numpy()  # in whichever units: equal or not
    for group in cell.groups:
        theirs = zip(group.replicates, group.runs["best_loss"], strict=True)
        if not all(
            np.isclose(loss, final[row_of[r]], rtol=1e-9) for r, loss in theirs if r in row_of
        ):
            return []
    episodes = largest.episodes.astype(np.float64)
    return [Series(BEST, BEST, episodes, (largest.curves["best"] / episodes).mean(axis=0))]
