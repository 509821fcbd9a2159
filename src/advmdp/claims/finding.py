"""The outcome of one claim: texts for people, a verdict, figures and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from advmdp.reports.figures.panels import Panel

Verdict = Literal["holds", "fails", "vacuous"]
"""Vacuous: at the sizes that were run the claim could not have failed."""

DETERMINISTIC = "none: must hold on every run"


@dataclass(frozen=True)
class Finding:
    """One row of the table; texts are for people, ``data`` holds the numbers behind them."""

    claim: str
    """The statement in a few words."""
    reference: str
    """Where the paper says it."""
    checked: str
    """What was checked, in a sentence."""
    instances: str
    """On which MDPs, losses, horizons and seeds."""
    measured: str
    bound: str
    margin: str
    """Distance of the measured figure from the bound."""
    verdict: Verdict
    error_rate: str = DETERMINISTIC
    """Probability that a statistical verdict rejects a true claim."""
    panels: tuple[Panel, ...] = ()
    runs: tuple[str, ...] = ()
    """Ids of the stored runs behind the figures."""
    data: dict[str, Any] = field(default_factory=dict)
    """Everything measured, as plain JSON values."""


Findings = dict[str, Finding]
"""Findings by the name of the claim."""


def verdict_of(holds: bool, can_fail: bool = True) -> Verdict:
    """The verdict; a claim that could not have failed does not hold but is vacuous.

    >>> verdict_of(True), verdict_of(True, can_fail=False), verdict_of(False, can_fail=False)
    ('holds', 'vacuous', 'fails')
    """
    if not holds:
        return "fails"
    return "holds" if can_fail else "vacuous"


def verdict_of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of a claim whose parts must all hold.

    >>> verdict_of_all(["holds", "vacuous"]), verdict_of_all(["vacuous", "fails"])
    ('vacuous', 'fails')
    """
    if "fails" in verdicts:
        return "fails"
    return "vacuous" if "vacuous" in verdicts else "holds"
