"""A store that was written before runs had ranges of rewards: it opens and reads as it did.

``before_rewards/`` holds eight runs, and what ``ls``, ``show`` and the page said about them then.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from advmdp.cli import main
from advmdp.experiments.sweep import SweepSpec
from advmdp.reports.html.report_page import report_page
from advmdp.reports.results import Results
from advmdp.reports.tables.cell_tables import TOLD_NOTE
from advmdp.store import Store
from tests.experiments.sweeps import play_here

HERE = Path(__file__).parent / "before_rewards"
SWEEP = SweepSpec(
    learner=["uob-reps", "uniform"],
    mdp={"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2},
    losses="majority",
    n_episodes=[60, 240],
    replicates=2,
    checkpoints=3,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(shutil.copytree(HERE / "store", tmp_path / "store"))


def test_the_same_runs_are_found_and_played_to_the_same_numbers(
    store: Store, tmp_path: Path
) -> None:
    summary = play_here(store, SWEEP.runs())
    assert (summary.n_found, summary.n_played) == (8, 0)
    new = Store(tmp_path / "new", create=True)
    play_here(new, SWEEP.runs())
    assert_frame_equal(new.curves(), store.curves(), abs_tol=1e-9)


def test_listings_are_unchanged(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(store.path)]) == 0
    assert capsys.readouterr().out == (HERE / "ls.txt").read_text()
    run = "uob-reps_random_majority_T60_s0r0"
    assert main(["show", run, "--store", str(store.path)]) == 0
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown == [line.rstrip() for line in (HERE / "show.txt").read_text().splitlines()]


def test_the_page_holds_the_same_figures_and_tables(store: Store) -> None:
    page = report_page(Results(store.runs(), store.curves()))
    text = page.partition('id="data"')[2].partition(">")[2].partition("</script>")[0]
    now, then = json.loads(text), json.loads((HERE / "report.json").read_text())
    # The page is arranged otherwise, but what it draws and tabulates is the same.
    assert now["counts"] == then["counts"]
    for part in ("panels", "sheet"):
        for one, other in zip(now["families"], then["families"], strict=True):
            assert_alike(without_told(one[part]), other[part], part)
    cells = {cell["name"]: cell for cell in now["cells"]}
    assert cells.keys() == {cell["name"] for cell in then["cells"]}
    for cell in then["cells"]:
        found = cells[cell["name"]]
        assert found["sheets"]["rewards"] is None
        assert_alike(found["panels"], cell["panels"], cell["name"])
        for sheet in ("summary", "certificates"):
            assert_alike(without_told(found["sheets"][sheet]), cell["sheets"][sheet], sheet)


def without_told(sheet: Any) -> Any:
    """A table without its newer column and with the note that goes with it; panels as they are."""
    if not isinstance(sheet, dict) or "told" not in sheet["columns"]:
        return sheet
    at = sheet["columns"].index("told")
    rows = [
        {**row, "entries": row["entries"][:at] + row["entries"][at + 1 :]} for row in sheet["rows"]
    ]
    columns = [name for name in sheet["columns"] if name != "told"]
    note = sheet["note"].removeprefix(f"{TOLD_NOTE} ")
    return {**sheet, "columns": columns, "rows": rows, "note": note}


def assert_alike(now: Any, then: Any, place: str) -> None:
    """Equal, numbers up to rounding."""
    if isinstance(then, dict):
        assert now.keys() == then.keys(), place
        for key in then:
            assert_alike(now[key], then[key], f"{place}.{key}")
    elif isinstance(then, list):
        assert len(now) == len(then), place
        for i, (one, other) in enumerate(zip(now, then, strict=True)):
            assert_alike(one, other, f"{place}[{i}]")
    elif isinstance(then, float):
        assert math.isclose(now, then, rel_tol=1e-5, abs_tol=1e-9), place
    else:
        assert now == then, place
