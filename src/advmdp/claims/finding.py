"""What was found about one claim of the paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["holds", "fails", "vacuous"]
"""Vacuous: at the sizes that were run the claim could not have failed."""

DETERMINISTIC = "none: must hold on every run"


@dataclass(frozen=True)
class Finding:
    """One row of the table; texts are for people, ``data`` holds the numbers behind them."""

    claim: str
    """A short name."""
    reference: str
    """Where the paper says it."""
    checked: str
    """What was checked, in a sentence."""
    instances: str
    """On which MDPs, losses, horizons and seeds."""
    measured: str
    bound: str
    margin: str
    """How far the measured figure is from the bound, with a sign that makes sense to a reader."""
    verdict: Verdict
    error_rate: str = DETERMINISTIC
    """Chance that a statistical verdict is wrong although the claim is true."""
    panels: tuple[Any, ...] = ()
    """Figures: ``advmdp.reports.figures.panels.Panel``."""
    runs: tuple[str, ...] = ()
    """Ids of the stored runs behind the figures."""
    data: dict[str, Any] = field(default_factory=dict)
    """Everything measured, as plain JSON values."""
