"""Findings as a table for a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from advmdp.claims.finding import Finding, Findings

VERDICT_STYLES = {"holds": "green", "fails": "bold red", "vacuous": "yellow"}
SHOWN = ("measured", "bound", "margin")
TEXTS = ("checked", "instances", "measured", "bound", "margin", "error_rate")


def findings_table(findings: Findings) -> Table:
    """One row for every claim: its verdict, the measured figure, the bound and the margin."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", overflow="fold")
    for name, found in findings.items():
        text = Text.assemble((found.claim, "bold"), (f"  {found.reference}; {name}", "dim"))
        for part in SHOWN:
            text.append(f"\n{part}: ", style="dim").append(getattr(found, part))
        table.add_row(Text(found.verdict, style=VERDICT_STYLES[found.verdict]), text)
    return table


def summary_line(findings: Findings) -> str:
    """How many of each verdict.

    >>> summary_line({})
    '0 claims: 0 hold, 0 fail, 0 vacuous'
    """
    verdicts = [found.verdict for found in findings.values()]
    counts = {kind: verdicts.count(kind) for kind in VERDICT_STYLES}  # type: ignore[arg-type]
    several = "claim" if len(verdicts) == 1 else "claims"
    return (
        f"{len(verdicts)} {several}: {counts['holds']} hold, {counts['fails']} fail, "
        f"{counts['vacuous']} vacuous"
    )


def texts_of(found: Finding) -> list[tuple[str, str]]:
    """The texts of a finding with their names, in reading order."""
    return [(name.replace("_", " "), getattr(found, name)) for name in TEXTS]
