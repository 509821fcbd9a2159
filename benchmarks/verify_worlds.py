"""``python -m benchmarks.verify_worlds [STORE]``: the claims about both worlds, at length.

The full effort of ``advmdp verify --full --claim both-worlds --claim both-worlds-unknown --claim
corrupted-episodes`` with fewer worlds, and the worst case up to a million episodes: half an hour on
one core.  Runs are kept in the store, results/verify unless another is named; what is there is not
played again.  Writes verify_worlds.json and draws docs/figures/both_worlds_claims.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path

from advmdp.claims.claim import Claim
from advmdp.claims.finding import Findings
from advmdp.claims.lab import Lab
from advmdp.claims.output.findings_json import write_json
from advmdp.claims.playing.run_grids import DECADES
from advmdp.claims.regret import both_worlds, both_worlds_unknown, corrupted_episodes
from advmdp.store import Store

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "verify_worlds.json"
N_WORLDS = 6
MILLION = DECADES[1:4]


def find(claim: Claim[object, object], effort: object, lab: Lab, findings: Findings) -> None:
    """Measure one claim and keep its finding."""
    findings[claim.name] = claim.conclude(claim.measure_at(lab, effort))
    print(claim.name, findings[claim.name].verdict, flush=True)


def main() -> None:
    """Play what is missing, judge, and write."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "results/verify")
    lab = Lab(Store(path, create=True), quick=False, workers=1)
    findings: Findings = {}
    for claim in (both_worlds.CLAIM, both_worlds_unknown.CLAIM):
        effort = claim.full._replace(worst_horizons=MILLION, n_replicates=N_WORLDS)
        find(claim, effort, lab, findings)
    corrupted = corrupted_episodes.CLAIM
    find(corrupted, corrupted.full._replace(n_replicates=N_WORLDS), lab, findings)
    write_json(findings, RESULTS)


if __name__ == "__main__":
    main()
