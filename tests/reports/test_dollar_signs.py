"""Dollar signs in names and units are signs: matplotlib reads no formula in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import advmdp as am
from advmdp.cli import main
from advmdp.experiments.build import build
from advmdp.reports.figures.regret_plot import plot_regret
from advmdp.store import Store
from tests.experiments.sweeps import one_run, play_here

UNIT = r"$\frac$"


@pytest.mark.parametrize("kind", ["regret", "realised"])
def test_units_in_a_paper_figure(kind: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "store", create=True)
    rewards = {"low": 0.0, "high": 1.0, "unit": UNIT}
    play_here(store, [one_run(rewards=rewards, replicate=r) for r in range(2)])
    output = tmp_path / "figure.svg"
    assert main(["figure", kind, str(output), "--store", str(store.path)]) == 0
    assert output.stat().st_size > 0


def test_names_and_units_in_a_plot_of_runs(tmp_path: Path) -> None:
    parts = build(one_run())
    run = am.play(parts.mdp, parts.losses, parts.learner, 300, parts.seed)
    rewards = am.Rewards(0.0, 1.0)
    options = {"rewards": rewards, "unit": UNIT}
    plot_regret({UNIT: run}, tmp_path / "plot.png", **options)  # type: ignore[arg-type]
    assert (tmp_path / "plot.png").stat().st_size > 0
