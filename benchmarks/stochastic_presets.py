"""``python -m benchmarks.stochastic_presets [LEARNER ...]``: bonuses and widths for practice.

Of UCBVI, Q-learning and UCRL2; all of them, or those that are named.  At theory's bonuses these
learners still try everything after ten thousands of episodes.  One number multiplies the bonus; it
is chosen on the training cases with stochastic losses (several seeds, the same objective as for the
other presets) and judged on other shapes, seeds and a longer horizon.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import advmdp as am
from advmdp.learners.presets import PRACTICAL
from benchmarks.preset_cases import JUDGED, TRAINING, Case

RESULTS = Path(__file__).parent / "stochastic_presets.json"
BONUSES = {  # the parameters that multiply a bonus
    "ucbvi-ch": ("bonus_scale",),
    "ucbvi-bf": ("bonus_scale",),
    "q-learning-h": ("c",),
    "q-learning-b": ("c1", "c2"),
    "ucrl2": ("loss_scale", "transition_scale"),
}
SCALES = (0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
TRAINED, JUDGED_SEEDS = range(920, 924), range(5)


def stochastic(cases: Sequence[Case]) -> list[Case]:
    """Those whose means stay the same."""
    return [case for case in cases if case.kind in ("coins", "river")]


def regret(name: str, scale: float, case: Case, seed: int) -> float:
    """At the end of a run."""
    mdp, losses = case.world(seed)
    bonus = dict.fromkeys(BONUSES[name], scale)
    entry = am.LEARNERS[name]
    horizon = {"n_episodes": case.n_episodes} if entry.has_horizon else {}
    learner = entry.make(mdp.layout, **horizon, **bonus)
    run = am.play(mdp, losses, learner, case.n_episodes, seed=seed, checkpoints=[case.n_episodes])
    return float(run.regret[-1])


def objective(name: str, scale: float) -> tuple[float, float]:
    """Geometric mean over cases of mean plus deviation relative to theory; and the worst run."""
    upper, worst = [], 0.0
    for case in stochastic(TRAINING):
        ratio = np.array([regret(name, scale, case, s) / theory(name, case, s) for s in TRAINED])
        upper.append(math.log(ratio.mean() + ratio.std()))
        worst = max(worst, float(ratio.max()))
    return math.exp(float(np.mean(upper))), worst


_THEORY: dict[tuple[str, Case, int], float] = {}


def theory(name: str, case: Case, seed: int) -> float:
    """Regret at theory's bonus, played once."""
    key = (name, case, seed)
    if key not in _THEORY:
        _THEORY[key] = regret(name, 1.0, case, seed)
    return _THEORY[key]


def main() -> None:
    """Choose, then judge."""
    kept: dict[str, object] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or BONUSES:
        rated = {scale: objective(name, scale) for scale in SCALES}
        allowed = {s: r for s, r in rated.items() if r[1] <= 1.0} or rated
        chosen = min(allowed, key=lambda scale: allowed[scale][0])
        print(name, {s: (round(o, 3), round(w, 2)) for s, (o, w) in rated.items()}, flush=True)
        print(name, "chosen", chosen, "in the package", PRACTICAL.get(name), flush=True)
        judged = {}
        for case in stochastic(JUDGED):
            ratio = [regret(name, chosen, case, s) / theory(name, case, s) for s in JUDGED_SEEDS]
            judged[case.name] = [round(float(r), 4) for r in ratio]
        print(name, "judged, of theory's regret:", judged, flush=True)
        kept[name] = {"rated": rated, "chosen": chosen, "judged": judged}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
