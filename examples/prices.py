"""Hourly electricity prices for the battery: read from a CSV file, or made up.

The file has the columns date,h00,...,h23: one row for each local day, in order, with the price of
one MWh in each hour.  Clocks change twice a year: on the Sunday in March that has 23 hours the cell
h02 may stay empty (the hour before is repeated), and the second 02:00 of the autumn day may stand
in a further column h02b (the two are averaged).  Whole days may be missing; an hour may not.
"""

from __future__ import annotations

import csv
import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

import advmdp as am
from advmdp.layout import Floats

HOURS = [f"h{hour:02d}" for hour in range(24)]
HISTORY = 28  # days that everybody has seen before trading begins


class Prices(NamedTuple):
    dates: list[datetime.date]
    hourly: Floats  # (days, 24), money per MWh


def read_prices(path: Path) -> Prices:
    """The prices of a CSV file, or an error of one line that names the place."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            missing = [name for name in ["date", *HOURS] if name not in (table.fieldnames or ())]
            if missing:
                raise am.InvalidInput(f"{path}: no column {missing[0]}; give date,h00,...,h23")
            twice = [n for n in ("date", *HOURS, "h02b") if (table.fieldnames or ()).count(n) > 1]
            if twice:
                raise am.InvalidInput(f"{path}: column {twice[0]} is there twice; leave one out")
            days = [_day(row, f"{path}, line {table.line_num}") for row in table]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise am.InvalidInput(f"{path}: cannot be read as CSV ({problem})") from None
    for (before, _), (after, _) in pairwise(days):
        if after <= before:
            raise am.InvalidInput(f"{path}: {after} follows {before}; sort the days, each once")
    if len(days) <= HISTORY:
        raise am.InvalidInput(f"{path}: {len(days)} days; {HISTORY} of history and more are needed")
    return Prices([date for date, _ in days], np.array([hours for _, hours in days]))


def _day(row: dict[str, str], place: str) -> tuple[datetime.date, list[float]]:
    if None in row:  # a decimal comma makes two cells of one, and every hour another
        raise am.InvalidInput(f"{place}: more cells than columns; write 12.5, not 12,5")
    try:
        date = datetime.date.fromisoformat(row["date"])
    except (TypeError, ValueError):
        raise am.InvalidInput(f"{place}: date {row['date']!r}; write YYYY-MM-DD") from None
    if not row["h02"] and date.month == 3 and date.weekday() == 6:  # the 23-hour day
        row["h02"] = row["h01"]
    hours = [_price(row[name], f"{place}, {name}") for name in HOURS]
    if row.get("h02b"):  # the 25-hour day
        hours[2] = (hours[2] + _price(row["h02b"], f"{place}, h02b")) / 2
    return date, hours


def _price(cell: str | None, place: str) -> float:
    try:
        price = float(cell or "")
    except ValueError:
        price = np.nan
    if not np.isfinite(price):
        raise am.InvalidInput(f"{place}: {cell!r} is no price; fill the hour or leave out the day")
    return price


def made_up_prices(days: int, seed: int) -> Prices:
    """A wandering price level times a daily shape with a solar dip, cheaper at weekends."""
    rng = np.random.default_rng(seed)
    dates = [datetime.date(2020, 1, 1) + datetime.timedelta(day) for day in range(days)]
    hour = np.arange(24)
    evening, morning, noon = (np.exp(-(((hour - h) / 2.5) ** 2)) for h in (19, 8, 13))
    summer = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(days) / 365)[:, np.newaxis]
    shape = 0.7 + 0.7 * evening + 0.35 * morning - 0.5 * summer * noon
    pull = np.zeros(days)
    for day in range(1, days):
        pull[day] = 0.97 * pull[day - 1] + 0.08 * rng.normal()
    weekend = np.array([0.85 if date.weekday() >= 5 else 1.0 for date in dates])
    level = 80.0 * weekend * np.exp(pull)
    noise = rng.normal(scale=0.08, size=(days, 24))
    return Prices(dates, level[:, np.newaxis] * (shape + noise))
