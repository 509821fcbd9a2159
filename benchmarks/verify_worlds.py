"""``python -m benchmarks.verify_worlds [STORE]``: the claims about both worlds, at length.

The full effort of ``advmdp verify --full --claim both-worlds --claim both-worlds-unknown --claim
corrupted-episodes`` with fewer worlds: an hour and a half on one core.  Runs are kept in the store,
results/verify unless another is named; what is there is not played again.  Writes
verify_worlds.json and draws docs/figures/both_worlds_claims.svg.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from advmdp.claims.claim import Claim
from advmdp.claims.finding import Findings
from advmdp.claims.lab import Lab
from advmdp.claims.output.findings_json import as_data
from advmdp.claims.regret import both_worlds, both_worlds_unknown, corrupted_episodes
from advmdp.reports.figures.figure_look import FigureLook
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.figures.panels import Panel
from advmdp.reports.figures.paper_figure import save_panels
from advmdp.store import Store

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "verify_worlds.json"
FIGURE = FOLDER.parent / "docs" / "figures" / "both_worlds_claims.svg"
N_WORLDS = 6


def find(claim: Claim[object, object], effort: object, lab: Lab, findings: Findings) -> None:
    """Measure one claim and keep its finding."""
    findings[claim.name] = claim.conclude(claim.measure_at(lab, effort))
    print(claim.name, findings[claim.name].verdict, flush=True)


def draw(findings: Findings, path: Path) -> None:
    """All learners on coin flips and at worst, and the cost of a gap that is hidden at first."""
    known, unknown, corrupted = (
        findings[claim.name].panels
        for claim in (both_worlds.CLAIM, both_worlds_unknown.CLAIM, corrupted_episodes.CLAIM)
    )
    panels = [
        _by_learner(replace(one, series=(*one.series, *other.series)))
        for one, other in zip(known, unknown, strict=True)
    ]
    title = "Gap hidden in the first C of a million episodes: measured, and U + sqrt(U C) as lines"
    panels.append(_by_learner(replace(corrupted[1], title=title)))
    names = [*both_worlds.LEARNERS, *both_worlds_unknown.LEARNERS]
    save_panels(panels, styles_of(names), path, FigureLook(width=5.5, height=2.6))


def _by_learner(panel: Panel) -> Panel:
    """The panel with the names of learners alone in its legend."""
    return replace(panel, series=tuple(replace(one, label=one.key) for one in panel.series))


def main() -> None:
    """Play what is missing, judge, and write."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "results/verify")
    lab = Lab(Store(path, create=True), quick=False, workers=1)
    findings: Findings = {}
    for claim in (both_worlds.CLAIM, both_worlds_unknown.CLAIM):
        find(claim, claim.full._replace(n_replicates=N_WORLDS), lab, findings)
    corrupted = corrupted_episodes.CLAIM
    find(corrupted, corrupted.full._replace(n_replicates=N_WORLDS), lab, findings)
    kept = {name: as_data(found) for name, found in findings.items()}
    for finding in kept.values():
        del finding["panels"], finding["runs"]  # the picture has them, and the store
    RESULTS.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n")
    draw(findings, FIGURE)


if __name__ == "__main__":
    main()
