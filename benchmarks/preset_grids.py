"""Where ``benchmarks.short_presets`` looks: multiples of theory's constants, learner by learner."""

from __future__ import annotations

Grid = dict[str, tuple[float, ...]]

SETS: Grid = {"log_scale": (0.1, 0.01, 0.001)}
BARRIER: Grid = {"log_barrier": (0.03, 0.1, 0.3, 1.0)}
UPPER: Grid = {"log_barrier": (0.1, 0.3), "log_scale": (0.01, 0.001), "bonus_scale": (1.0, 0.1)}
L1: Grid = {"eta_scale": (2, 4), "gamma_scale": (0.1, 0.01), "log_scale": (0.01, 0.001)}
REACHABLE: Grid = {"eta_scale": (2, 8), **SETS}
DILATED: Grid = {
    "eta_scale": (3, 10, 30),
    "gamma_scale": (0.01, 0.001),
    "bonus_scale": (0.1, 0.01),
}
WIDTHS: Grid = {"log_scale": (0.01, 0.002)}
OPTIMISTIC: Grid = {"eta_scale": (1, 4, 16), "bonus_scale": (0.1, 0.01, 0.001)}
GRIDS: dict[str, Grid] = {
    "tsallis-ftrl": {"eta_scale": (1, 2, 4), **BARRIER},
    "log-barrier-ftrl": {"adapt_scale": (0.0, 0.1, 1.0), **BARRIER},
    "uob-ftrl": {"eta_scale": (1, 2, 4), **UPPER},
    "optimistic-ftrl": {
        "root_scale": (0.0, 0.5, 1.0),
        "adapt_scale": (0.0, 1.0),
        "log_barrier": (0.1, 0.3),
        "log_scale": (0.01, 0.001),
    },
    "dilated-bonus": DILATED | WIDTHS,
    "pomd": {"eta_scale": (10, 30, 100), "gamma_scale": (0.01, 0.001), **WIDTHS},
    "oppo": OPTIMISTIC,
    "apo-mvp": OPTIMISTIC,
    "tsallis-ftrl-aggregate": {"eta_scale": (0.5, 1, 2), **BARRIER},
    "uob-ftrl-aggregate": {"eta_scale": (0.5, 1, 2), **UPPER},
    "dilated-bonus-aggregate": DILATED | WIDTHS,
    "dilated-bonus-aggregate-known": DILATED,
    "o-reps": {"eta_scale": (1, 2, 4, 8, 16, 32)},
    "mdp-e": {"eta_scale": (1, 2, 4, 8, 16, 32)},
    "fpl": {"noise_scale": (0.3, 0.1, 0.03, 0.01)},
    "fpop": {"noise_scale": (0.3, 0.1, 0.03, 0.01), **SETS},
    "uc-o-reps": {"eta_scale": (1, 4, 16), **SETS},
    "uc-o-reps-box": {"eta_scale": (1, 4, 16), **SETS},
    "ada-uc-o-reps": {"log_scale": (0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.01)},
    "exp3-ix": {"eta_scale": (2, 4, 8, 16), "gamma_scale": (0.3, 0.1, 0.03)},
    "ngs-2010": {"eta_scale": (1, 2, 4, 8, 16)},
    "ucrl2-window": {
        "loss_scale": (0.02, 0.01, 0.005, 0.002, 0.001),
        "transition_scale": (0.1, 0.02, 0.005, 0.001),
    },
    "lykouris": {"width_scale": (0.9, 0.6, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)},
    "uob-log-barrier": {"eta_scale": (2, 8), "log_scale": (0.1, 0.01)},
    "bandit-uc-o-reps": REACHABLE,
    "bandit-uc-o-reps-floor": REACHABLE,
    "bandit-uc-o-reps-shifted": {"eta_scale": (2, 8), "log_scale": (0.1, 0.01)},
    "uob-reps-l1": L1,
    "uob-reps-l1-printed": L1,
}
