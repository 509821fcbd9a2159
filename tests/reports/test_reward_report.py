"""Reports of rewards alone: the numbers of the page are those of the runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.reports.html.self_contained import ASSETS, CHART_SCRIPTS, PALETTES, package_text
from advmdp.reports.reward_report import reward_page, write_reward_report

RNG = np.random.default_rng(0)


def run(mean: float, n_episodes: int = 300, **more: Any) -> EnvironmentRun:
    reward = (RNG.random(n_episodes) < mean).astype(float)
    return EnvironmentRun(reward, np.full(n_episodes, 7), seconds=2.0, **more)


RUNS = {"<good>": [run(0.6), run(0.6, clipped=4), run(0.6, 350)], "plain": run(0.1)}


def data_of(page: str) -> Any:
    found = re.search(r'id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_the_table_and_the_curves_hold_the_means_of_the_runs() -> None:
    data = data_of(reward_page(RUNS))
    rows = {row["entries"][0]["text"]: row["entries"] for row in data["sheet"]["rows"]}
    good = np.array([each.reward[:300] for each in RUNS["<good>"]])  # type: ignore[union-attr]
    assert rows["<good>"][2]["value"] == pytest.approx(good.mean())
    assert rows["<good>"][4]["value"] == pytest.approx(good[:, 150:].mean())
    assert rows["plain"][3]["text"] == "-"  # one run has no interval
    assert rows["plain"][6]["value"] == 7.0
    so_far, recent = data["panels"]
    series = {each["key"]: each for each in so_far["series"]}
    assert series["<good>"]["y"][-1] == pytest.approx(good.mean(), rel=1e-5)
    assert series["plain"]["low"] is None
    blocks = {each["key"]: each for each in recent["series"]}["plain"]
    assert blocks["x"][0] == 12
    assert blocks["y"][0] == pytest.approx(RUNS["plain"].reward[:12].mean(), rel=1e-5)  # type: ignore[union-attr]
    assert "4 runs of 2 learners, 300 episodes each. Of 1 longer runs" in data["counts"]
    assert "4 rewards were outside" in data["counts"]


def test_the_page_contains_everything_and_no_label_is_markup(tmp_path: Path) -> None:
    path = write_reward_report(RUNS, tmp_path / "rewards.html", title="Lake & shore")
    text = path.read_text()
    assert "<good>" not in text
    assert "Lake &amp; shore" in text
    assert data_of(text)["look"].keys() == {*PALETTES, "styles", "settings", "order"}
    assert all(package_text(ASSETS, name) in text for name in CHART_SCRIPTS)
    assert not re.search(r'(src|href)="http', text)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "runs: give runs by the label"),
        ([run(0.5)], "runs: give runs by the label"),
        ({"a": [3]}, r"runs\['a'\]: give an advmdp EnvironmentRun, not int"),
        ({"a": []}, "runs: no episode of 'a' was played"),
    ],
)
def test_what_is_refused(runs: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        write_reward_report(runs, tmp_path / "rewards.html")
