"""Delays in specs, sweeps, the store and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import advmdp as am
from advmdp.cli import app
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec

COMMON = {"mdp": {"name": "random", "layer_sizes": [1, 3, 2, 1], "n_actions": 2}}


def spec(learner: str = "delayed-uob-reps", **more: object) -> RunSpec:
    parts = {**COMMON, "losses": "majority", "n_episodes": 200, "learner": learner}
    return RunSpec(**{**parts, **more})  # type: ignore[arg-type]


def test_a_delay_is_part_of_the_identity_and_its_absence_is_not() -> None:
    plain, late = spec(), spec(delay="geometric:30.0")
    assert "delay" not in plain.data()
    assert late.data()["delay"] == "geometric:30"
    assert plain.hash != late.hash
    assert late == RunSpec.from_toml(late.to_toml()) == spec(delay="geometric:30")
    assert late.identity().losses.endswith("delay=geometric:30")


def test_sweeps_multiply_delays() -> None:
    parts = {**COMMON, "losses": "majority", "n_episodes": 50, "learner": "delayed-uob-reps"}
    sweep = SweepSpec(**parts, delay=["constant:0", "blocks:16:0.1"], replicates=3)  # type: ignore[arg-type]
    assert len(sweep.runs()) == 6
    assert {run.delay for run in sweep.runs()} == {"constant:0", "blocks:16:0.1"}


@pytest.mark.parametrize("wrong", ["soon", "geometric", "constant:x", "constant:-1", "blocks:0", 7])
def test_other_delays_are_refused(wrong: object) -> None:
    with pytest.raises(am.InvalidInput, match=r"^delay"):
        spec(delay=wrong)


def test_a_learner_that_knows_no_delays_is_refused_before_it_plays() -> None:
    with pytest.raises(am.InvalidInput, match="such as delayed-uob-reps"):
        build(spec("uob-reps", delay="constant:3"))


def test_what_can_be_seen_is_part_of_a_run_and_refuses_learners_that_need_more() -> None:
    assert spec("uob-reps", feedback="bandit").hash != spec("uob-reps").hash
    build(spec("uob-ftrl-aggregate", feedback="aggregate"))
    for name, offered in (("uob-reps", "aggregate"), ("o-reps", "bandit"), ("o-reps", "aggregate")):
        with pytest.raises(am.InvalidInput, match=r"^feedback: .* can be seen; choose a learner"):
            build(spec(name, feedback=offered))
    with pytest.raises(am.InvalidInput, match="feedback"):
        spec(feedback="some")


def test_the_command_line_plays_and_stores_them(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    common = ["--episodes", "200", "--layers", "1,3,2,1", "--store", store, "-q"]
    for option in (["--delay", "geometric:30"], ["--in-flight", "16"]):
        done = CliRunner().invoke(app, ["run", "delayed-uob-reps", *option, *common])
        assert done.exit_code == 0, done.output
    runs = am.open_store(store).runs()
    assert sorted(label.split("delay=")[1] for label in runs["losses"]) == [
        "blocks:16",
        "geometric:30",
    ]
    late, at_once = (
        am.play(*_parts(one), delays=delays).regret[-1]
        for one, delays in (
            (spec(delay="geometric:30"), am.delays.Geometric(30)),
            (spec(), None),
        )
    )
    (name,) = (run for run, losses in runs.select("run", "losses").rows() if "geometric" in losses)
    curves = am.open_store(store).curves()
    assert curves.filter(curves["run"] == name)["regret"][-1] == late != at_once
    refused = CliRunner().invoke(app, ["run", "uob-reps", "--delay", "constant:5", *common])
    assert isinstance(refused.exception, am.InvalidInput)


def test_policy_optimisation_speaks_both_protocols(tmp_path: Path) -> None:
    common = ["--episodes", "100", "--layers", "1,3,2,1", "--store", str(tmp_path / "store"), "-q"]
    for name, option in (
        ("dapo", ["--delay", "geometric:30"]),
        ("dilated-bonus-aggregate", ["--feedback", "aggregate"]),
        ("dilated-bonus-aggregate-known", ["--feedback", "aggregate"]),
    ):
        done = CliRunner().invoke(app, ["run", name, *option, *common])
        assert done.exit_code == 0, done.output
    for name, wrong in (("dilated-bonus", {"delay": "constant:3"}), ("dapo", {"feedback": "sum"})):
        with pytest.raises(am.InvalidInput, match=r"^(delay|feedback)"):
            build(spec(name, **wrong))
    with pytest.raises(am.InvalidInput, match="can be seen"):
        build(spec("dapo", feedback="aggregate"))


def _parts(one: RunSpec) -> Any:
    parts = build(one)
    return parts.mdp, parts.losses, parts.learner, one.n_episodes, parts.seed
