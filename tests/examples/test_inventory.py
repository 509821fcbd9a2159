"""The inventory scenario: its yard, its opponent, the money it reports."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from tests.examples.scripts import assert_a_picture, script

inventory = script("inventory")
WEEKS = 900


@cache
def managed(name: str) -> Any:
    return inventory.manage(name, WEEKS, seed=0)


def stocks(diary: Any, week: int) -> list[int]:
    layout = diary.layout
    flat = np.asarray(diary.rows[week]) // layout.n_actions - layout.layer_start[:-2]
    later = [int(layout.original_state[day][flat[day]]) for day in range(1, 7)]
    return [inventory.MONDAY, *later]


def test_the_script_writes_a_picture_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "inventory.png"
    runs = inventory.main(["--weeks", "60", "--output", str(target)])
    assert_a_picture(target)
    printed = capsys.readouterr().out
    for name, run in runs.items():
        line = next(line for line in printed.splitlines() if line.startswith(f"  {name} "))
        total, *thirds = (float(word) for word in line.removeprefix(f"  {name}").split())
        assert total == pytest.approx(run.total / 60, abs=0.051)
        assert np.mean(thirds) == pytest.approx(total, abs=0.11)


@pytest.mark.parametrize("name", ["UOB-REPS", "plan on all averages"])
def test_money_is_what_rents_and_orders_bring(name: str) -> None:
    """Every week again from stocks and orders alone; also who the opponent turns against."""
    run = managed(name)
    total = 0.0
    for week in range(WEEKS):
        stock = stocks(run.diary, week)
        orders = np.asarray(run.diary.rows[week]) % 3
        if week < WEEKS // 3:
            usual = inventory.EARLY
        elif week < 2 * WEEKS // 3:
            usual = inventory.LATE
        else:
            lately = np.mean([stocks(run.diary, past) for past in range(week - 4, week)], axis=0)
            served = {
                first: sum(
                    min(s, 4 if first <= day < first + 3 else 1) for day, s in enumerate(lately)
                )
                for first in (0, 2, 4)
            }
            worst = min(served, key=lambda first: served[first])
            usual = np.array([4 if worst <= day < worst + 3 else 1 for day in range(7)])
        change = np.random.default_rng([0, week]).integers(-1, 2, size=7)
        for day in range(7):
            demand = min(max(int(usual[day] + change[day]), 0), 4)
            total += 50 * min(stock[day], demand) - 20 * stock[day] - 10 * int(orders[day])
    assert run.realised == pytest.approx(total, rel=1e-12)
    assert run.total == pytest.approx(run.realised, rel=0.1)
    assert run.earned.mean() * WEEKS == pytest.approx(run.total)


def test_the_yard_by_enumeration() -> None:
    """Three pumps and two orders: every combination of breakdowns and arrivals, one by one."""
    survives, arrives = 0.7, 0.6
    chance = np.zeros(inventory.ROOM + 1)
    for outcome in product((0, 1), repeat=5):
        weight = 1.0
        for i, good in enumerate(outcome):
            p = survives if i < 3 else arrives
            weight *= p if good else 1 - p
        chance[min(sum(outcome), inventory.ROOM)] += weight
    step = inventory.yard(survives, arrives).transitions[3]
    np.testing.assert_allclose(step[3, 2], chance, atol=1e-15)


def test_losses_use_the_whole_interval() -> None:
    layout = inventory.yard(0.9, 0.9).layout
    book = inventory.Book(layout)
    none, plenty = (book.losses(np.full(7, float(demand))) for demand in (0, 4))
    assert none.max() == 1.0
    assert plenty.min() == 0.0


def test_the_rule_orders_up_to_its_target() -> None:
    layout = inventory.yard(0.9, 0.9).layout
    rule = inventory.order_up_to(1, 3, layout)
    assert rule[4].argmax(axis=1).tolist() == [2, 2, 0, 0, 0]  # at most two pumps an evening
    assert rule[0].argmax(axis=1).tolist() == [0]  # two pumps on Monday


def test_last_seasons_rules_fail_when_the_season_turns() -> None:
    before, turned, _ = np.split(managed("plan for last season").earned, 3)
    assert turned.mean() < 0.8 * before.mean()
    _, recovered, _ = np.split(managed("plan on recent averages").earned, 3)
    assert recovered.mean() > turned.mean()


def test_too_short_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--weeks: 29 is too short"):
        inventory.main(["--weeks", "29", "--output", str(tmp_path / "a.png")])
