"""Placeholder."""

PRACTICAL: dict[str, dict[str, float]] = {
    "uob-reps": {"eta_scale": 4.0, "gamma_scale": 0.1, "log_scale": 0.01},
    "o-reps-bandit": {"eta_scale": 4.0, "gamma_scale": 0.1},
}
