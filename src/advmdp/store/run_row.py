"""The row of a run in the frame of runs, from its manifest.

A manifest may come from another program or another machine: whatever does not fit the columns of
``evaluation.schema`` is rejected here, run by run, before it can stop a listing of all of them.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

from advmdp.evaluation.schema import CUT, FAILED, FINISHED, RUNNING, UNITS, Column, Level, columns
from advmdp.store.identity import Identity

STATUSES = (FINISHED, RUNNING, CUT, FAILED)
REQUIRED = (*Identity._fields, "status", "started", "sittings", "versions", "machine")
REQUIRED_AT_THE_END = ("finished", "seconds", "figures", "files")
TABLES = ("spec", "versions", "machine", "figures", "files")
INT64 = range(-(2**63), 2**63)


def run_row(manifest: dict[str, Any]) -> dict[str, Any]:
    """The values of the frame's columns; None for what the run does not have."""
    figures = manifest.get("figures") or {}
    seconds = manifest.get("seconds")
    flat = {
        **manifest,
        **figures,
        **(figures.get("solver") or {}),
        **{f"reward_{name}": value for name, value in _rewards(manifest).items()},
        **(figures.get("rewards") or {}),
        "episodes": manifest["n_episodes"] if figures else None,
        "episodes_per_second": manifest["n_episodes"] / seconds if seconds else None,
        "version": manifest["versions"]["advmdp"],
        "machine": manifest["machine"]["host"],
        "spec": json.dumps(manifest["spec"], sort_keys=True),
    }
    return {column.name: flat.get(column.name) for column in columns(Level.RUN)}


def check_manifest(manifest: dict[str, Any]) -> None:
    """``ValueError`` unless the manifest has everything that readers of a store rely on."""
    finished = manifest.get("status") == FINISHED
    for key in (*REQUIRED, *(REQUIRED_AT_THE_END if finished else ())):
        if manifest.get(key) is None:
            raise ValueError(f"{key!r} is missing")
    if manifest["status"] not in STATUSES:
        raise ValueError("'status' is unknown")
    _check_tables(manifest)
    try:
        row = run_row(manifest)
    except (TypeError, KeyError, OverflowError):
        raise ValueError("a figure is missing or is not a number") from None
    for column in columns(Level.RUN):
        if not _fits(row[column.name], column):
            raise ValueError(f"{column.name!r} is not a value of its column")
    for name in Identity._fields:
        if name != "spec" and row[name] != manifest[name]:
            raise ValueError(f"{name!r} is given twice")
    _check_rewards(_rewards(manifest), [row[name] for name in UNITS])
    _check_files(manifest.get("files") or {})
    solver = (manifest.get("figures") or {}).get("solver") or {}
    if not all(type(value) in (int, float) for value in solver.values()):
        raise ValueError("'solver' holds more than numbers")


def _check_tables(manifest: dict[str, Any]) -> None:
    tables = {name: manifest.get(name) for name in TABLES}
    figures = tables["figures"]
    if isinstance(tables["spec"], dict):
        tables["spec.rewards"] = tables["spec"].get("rewards")
    if isinstance(figures, dict):
        tables |= {"figures.solver": figures.get("solver")}
        tables |= {"figures.rewards": figures.get("rewards")}
    for name, table in tables.items():
        if not isinstance(table, dict | None):
            raise ValueError(f"{name!r} is not a table")


def _rewards(manifest: dict[str, Any]) -> dict[str, Any]:
    return manifest["spec"].get("rewards") or {}


def _fits(value: Any, column: Column) -> bool:
    if value is None:
        return True
    if column.dtype is float:
        return type(value) is float or (type(value) is int and value in INT64)
    return type(value) is column.dtype and (column.dtype is str or value in INT64)


def _check_rewards(given: dict[str, Any], units: list[Any]) -> None:
    low, high, unit = units
    if not given:
        return
    known = {name.removeprefix("reward_") for name in UNITS}
    if given.keys() != known or None in (low, high, unit):
        raise ValueError("'rewards' is not low, high and unit")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("'rewards' is not a range")


def _check_files(files: dict[str, Any]) -> None:
    for name, checksum in files.items():
        if name in ("", ".", "..") or os.path.basename(name) != name or type(checksum) is not str:
            raise ValueError("'files' names a file outside its folder")
