"""The battery scenario: its prices, its model, and the money it reports."""

from __future__ import annotations

import datetime
import doctest
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from tests.examples.scripts import FOLDER, assert_a_picture, script

battery, days, prices = script("battery"), script("days"), script("prices")
HEADER = ",".join(["date", *prices.HOURS])
FIRST = datetime.date(2021, 3, 1)
DAYS = 200
UOB = "UOB-REPS, own trades only"


def price_file(folder: Path, *, header: str = HEADER, days: int = 40, **changes: str) -> Path:
    """A good file of prices 0, 1, ..., 23, in which some lines (``line_5=...``) are others."""
    lines = [header]
    for day in range(days):
        cells = [str(FIRST + datetime.timedelta(day)), *map(str, range(24))]
        lines.append(changes.get(f"line_{day + 2}", ",".join(cells)))
    path = folder / "prices.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def cells(date: str, **other: str) -> str:
    """A line of the file with some cells (``h02=""``) that are others."""
    return ",".join([date, *(other.get(name, str(i)) for i, name in enumerate(prices.HOURS))])


@cache
def small_run() -> Any:
    return battery.trade(prices.made_up_prices(DAYS, seed=0), seed=0)


def test_the_script_writes_a_picture_and_the_figures_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = price_file(tmp_path)
    target = tmp_path / "new" / "battery.png"
    arguments = [str(path), "--days", "35", "--output", str(target)]
    trading = battery.main(arguments)
    assert_a_picture(target)
    printed = capsys.readouterr().out
    assert "7 days, thousand EUR a year" in printed
    for name, daily in trading.expected.items():
        line = next(line for line in printed.splitlines() if line.startswith(f"  {name}  "))
        figures = [float(text) for text in line.removeprefix(f"  {name}").split()]
        for shown, exact in zip(figures, (daily, trading.unknown[name]), strict=True):
            assert shown == pytest.approx(365.25 * exact.mean() / 1000.0, abs=0.051)


def test_money_is_what_the_trades_on_the_path_cost() -> None:
    """Follow charge and cash through every day, without the tables of the script."""
    trading = small_run()
    layout = battery.layout()
    for name, diary in trading.diaries.items():
        for day in range(0, DAYS - prices.HISTORY, 17):
            cash, charge, may_rise = 0.0, 0, False
            for hour, row in enumerate(diary.rows[day]):
                state, action = divmod(int(row), 3)
                now = int(layout.original_state[hour][state - layout.layer_start[hour]])
                assert now - charge in ((0, 1) if may_rise else (-1, 0)), name
                charge = now
                may_rise = action == battery.CHARGE and charge < battery.FULL
                price = trading.prices.hourly[day, hour]
                if may_rise:
                    cash -= price
                elif action == battery.DISCHARGE and charge > 0:
                    cash += price
            assert cash == pytest.approx(trading.realised[name][day], abs=1e-9)


def test_the_docstrings_example() -> None:
    assert doctest.testmod(battery) == (0, 1)


def test_losses_map_back_to_money() -> None:
    """cost = (2 loss - 1) scale, in every hour that was not cut."""
    trading = small_run()
    scale = battery.scale_of(prices.made_up_prices(DAYS, seed=0))
    diary = trading.diaries[UOB]
    losses = np.array(diary.losses)
    whole = ((losses > 0.0) & (losses < 1.0)).all(axis=1)
    money = -((2 * losses - 1) * scale[:, np.newaxis]).sum(axis=1)
    assert whole.mean() > 0.5
    np.testing.assert_allclose(money[whole], trading.realised[UOB][whole], atol=1e-8)


def test_expected_and_realised_earnings_agree_in_the_mean() -> None:
    """Their difference is a martingale: within 5 standard errors in all but a few of 1e6 runs."""
    trading = small_run()
    for name, expected in trading.expected.items():
        luck = trading.realised[name] - expected
        assert abs(luck.mean()) < 5 * luck.std() / np.sqrt(len(luck)), name


def test_who_earns_what() -> None:
    trading = small_run()
    earned = {name: daily.sum() for name, daily in trading.expected.items()}
    best = earned[days.best_single(trading.expected)]
    for name in (days.MIXTURE, days.NOTHING_TO_CHOOSE):
        assert earned[name] > 0.97 * best
        assert trading.unknown[name].sum() > 0.95 * earned[name]
    assert earned[days.MIXTURE] > earned["UC-O-REPS"] > earned["random actions"]
    assert max(earned.values()) < trading.foresight.sum()
    assert trading.best_fixed.sum() < trading.foresight.sum()


def test_strategies_see_only_the_past() -> None:
    series = prices.made_up_prices(40, seed=1)
    changed = series.hourly.copy()
    changed[-1] = changed[-1, ::-1]  # the last day traded, unknown until it is over
    truth, kinds = battery.battery(0.9, 0.0), days.kinds_of(series.dates)

    def played(hourly: Any) -> dict[str, Any]:
        costs = hourly[:, truth.layout.row_layer] * battery.bought(truth.layout)
        found = days.strategies(truth.layout, truth.flat)
        return {n: days.follow(truth, costs, kinds, each, 0).policies for n, each in found.items()}

    before, after = played(series.hourly), played(changed)
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)


def test_the_scale_of_a_day_knows_only_the_past() -> None:
    series = prices.made_up_prices(40, seed=1)
    changed = series.hourly.copy()
    changed[35] *= 10.0
    scale, other = battery.scale_of(series), battery.scale_of(series._replace(hourly=changed))
    assert len(scale) == 40 - prices.HISTORY
    np.testing.assert_array_equal(scale[: 36 - prices.HISTORY], other[: 36 - prices.HISTORY])
    assert other[36 - prices.HISTORY] > scale[36 - prices.HISTORY]


def test_a_good_file_is_read_as_it_stands(tmp_path: Path) -> None:
    read = prices.read_prices(price_file(tmp_path))
    assert read.dates[0] == FIRST
    np.testing.assert_array_equal(read.hourly, np.tile(np.arange(24.0), (40, 1)))


def test_days_of_23_and_25_hours(tmp_path: Path) -> None:
    spring = cells("2021-03-28", h02="") + ","
    autumn = cells("2021-10-31", h02="10") + ",20"
    days = [cells(f"2021-02-{day:02d}") + "," for day in range(1, 28)]
    path = tmp_path / "prices.csv"
    path.write_text("\n".join([HEADER + ",h02b", *days, spring, autumn]), encoding="utf-8")
    hourly = prices.read_prices(path).hourly
    assert hourly[-2, :4].tolist() == [0.0, 1.0, 1.0, 3.0]
    assert hourly[-1, :4].tolist() == [0.0, 1.0, 15.0, 3.0]


BAD_FILES = {
    "no column h07": {"header": HEADER.replace("h07", "seven")},
    "no column date": {"header": HEADER.replace("date", "day")},
    r"line 5, h02: '' is no price": {"line_5": cells("2021-03-04", h02="")},
    r"line 29, h03: '' is no price": {"line_29": cells("2021-03-28", h03="")},
    r"line 5, h23: None is no price": {"line_5": cells("2021-03-04").removesuffix(",23")},
    r"line 6, h11: 'n/a' is no price": {"line_6": cells("2021-03-05", h11="n/a")},
    r"line 6, h11: 'inf' is no price": {"line_6": cells("2021-03-05", h11="inf")},
    r"line 7: date '6\.3\.21'": {"line_7": cells("6.3.21")},
    "2021-03-05 follows 2021-03-05": {"line_7": cells("2021-03-05")},
    "28 days; 28 of history": {"days": 28},
    r"line 6: more cells than columns; write 12\.5, not 12,5": {
        "line_6": cells("2021-03-05") + ",5"
    },
    "column h03 is there twice": {"header": HEADER.replace("h07", "h03") + ",h07"},
}


@pytest.mark.parametrize("message", BAD_FILES)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, message: str) -> None:
    path = price_file(tmp_path, **BAD_FILES[message])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=message) as refusal:
        prices.read_prices(path)
    assert "\n" not in str(refusal.value)
    assert str(path) in str(refusal.value)


def test_the_command_line_refuses_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.csv"
    output = ["--output", str(tmp_path / "battery.png")]
    command = [sys.executable, str(FOLDER / "battery.py"), str(path), *output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path}: cannot be read as CSV")
    assert done.stderr.count("\n") == 1
    for wrong in (["--days", "28"], ["--days", "-5"], ["--output", "a.jpg"]):
        with pytest.raises(InvalidInput, match=wrong[0].removeprefix("--")):
            battery.main([*output, *wrong])
