"""Tables on the terminal, and the runs in memory that can be reported."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import advmdp as am
from advmdp.cli.terminal.tables import rich_table
from advmdp.errors import InvalidInput
from advmdp.reports.cells import cells_of
from advmdp.reports.figures.cell_panels import regret_panels
from advmdp.reports.figures.forests import ranking_forest
from advmdp.reports.figures.panels import select_learners
from advmdp.reports.from_runs import LabelledRun, results_from_runs
from advmdp.reports.html.report_page import report_page
from advmdp.reports.learner_names import label_of
from advmdp.reports.rates import families_of
from advmdp.reports.tables.cell_tables import (
    certificate_table,
    overview_table,
    rate_table,
    summary_table,
)
from advmdp.reports.tables.comparison_tables import (
    baseline_table,
    comparison_table,
    readable_comparisons,
)
from advmdp.reports.tables.table_data import TableData
from tests.reports.frames import made_up_results

CELLS = cells_of(made_up_results(own=0.0, common=0.0, n_episodes=(100, 10_000)))


def shown(table: TableData, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(rich_table(table, "a heading"))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_summary_on_a_terminal() -> None:
    text = shown(summary_table(CELLS[1]))
    # Without noise the intervals are points: 8 sqrt(T), 2 T^0.75, 0.4 T.
    assert rows(text)["uob-reps"] == ["-", "8", "800", "[800,", "800]", "1.5800", "50,000"]
    assert rows(text)["uniform"][1:3] == ["8", "4,000"]
    assert max(map(len, text.splitlines())) <= 80


def test_titles_and_notes_are_as_wide_as_the_terminal() -> None:
    """In the width of a narrow table a title is cut in two, and cannot be copied."""
    table = TableData("After 10 episodes", ("a", "b"), (), "One note " * 15)
    lines = shown(table).splitlines()
    assert lines[0] == "After 10 episodes: a heading"
    assert max(map(len, lines)) > 60


def test_pairs_on_a_terminal() -> None:
    text = shown(comparison_table(CELLS[1]))
    against, *numbers = rows(text)["exp3-ix"]
    assert against == "uniform"
    assert numbers == ["2,000", "[2,000,", "2,000]", "8", "0.0078", "0.0078"]
    assert "adjusted" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_baseline_has_one_row_for_each_other() -> None:
    sheet = baseline_table(CELLS[1], "exp3-ix")  # 2 T^0.75 = 2,000; 8 sqrt(T) = 800; 0.4 T = 4,000
    assert [row.entries[0].text for row in sheet.rows] == ["uob-reps", "uniform"]
    assert [row.entries[2].value for row in sheet.rows] == pytest.approx([-1200.0, 2000.0])
    assert [row.entries[-1].text for row in sheet.rows] == ["*", "*"]  # p = 2/2^8, exactly
    assert [row.entries[-2].value for row in sheet.rows] == [2.0**-7, 2.0**-7]
    assert max(map(len, shown(sheet).splitlines())) <= 80
    with pytest.raises(InvalidInput, match=r"baseline: no learner 'x' .* exp3-ix, uniform"):
        baseline_table(CELLS[1], "x")


def test_many_learners_are_compared_with_one() -> None:
    laws = {f"learner-{i}": (1.0 + i, 0.5) for i in range(5)}
    (cell,) = cells_of(made_up_results(laws, [100], 4))
    assert len(comparison_table(cell).rows) == 10
    sheet = readable_comparisons(cell)
    assert sheet.title == "Against learner-0"  # no UOB-REPS: the least regret
    assert len(sheet.rows) == 4
    assert "With n = 4 no p is below 0.125" in sheet.note
    assert readable_comparisons(cell, "learner-3").title == "Against learner-3"
    (few,) = cells_of(made_up_results(n_episodes=[100]))
    assert readable_comparisons(few).title == "Paired comparisons"


def test_rates_on_a_terminal() -> None:
    (family,) = families_of(CELLS)
    text = shown(rate_table(family))
    assert rows(text)["uob-reps"][1:5] == ["0.500", "[0.500,", "0.500]", "8"]
    assert "T: 100, 10,000" in " ".join(text.split())


def test_certificates_and_overview() -> None:
    sheet = certificate_table(CELLS[0])
    assert sheet is not None
    (row,) = sheet.rows  # only one learner projects
    assert [entry.text for entry in row.entries] == ["uob-reps", "800", "0", "2.0e-14", "3.0e-16"]
    overview = overview_table(CELLS)
    assert [row.entries[5].text for row in overview.rows] == ["uniform", "uob-reps"]
    assert overview.columns[6] == "knows and sees"
    plain = cells_of(made_up_results({"uniform": (1.0, 1.0)}, [100], 2))
    assert certificate_table(plain[0]) is None


def test_long_names_of_ones_own_are_broken_before_the_hash() -> None:
    label = "mylearners:Hedge@107b7c76"
    (cell,) = cells_of(made_up_results({label: (1.0, 0.5), "uob-reps": (2.0, 0.5)}, [100], 4))
    text = shown(comparison_table(cell))
    assert "mylearners:Hedge " in text
    assert "\n @107b7c76 " in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_learner_is_found_without_its_hash() -> None:
    labels = ["own:A@107b7c76", "own:A@107b7c76 rate=2", "own:B@00000000 rate=2", "uniform"]
    assert label_of("own:A", labels, "baseline") == labels[0]
    assert label_of("own:A rate=2", labels, "baseline") == labels[1]
    assert label_of("own:B", labels, "baseline") == labels[2]
    edited = ["own:A@107b7c76", "own:A@ffffffff"]
    with pytest.raises(InvalidInput, match="baseline: 'own:A' may be own:A@107b7c76 or own:A@fff"):
        label_of("own:A", edited, "baseline")
    laws = {"own:A@107b7c76": (1.0, 0.5), "uob-reps": (2.0, 0.5)}
    results = made_up_results(laws, [100], 4)
    assert '"baseline":"own:A@107b7c76"' in report_page(results, baseline="own:A")
    (cell,) = cells_of(results)
    assert [pair.learner for pair in cell.against("own:A")] == ["uob-reps"]
    (panel, *_) = select_learners(regret_panels(cell), ["own:A"])
    assert [series.key for series in panel.series] == ["own:A@107b7c76"]
    assert [row.learner for row in ranking_forest(cell).of(["own:A"]).rows] == ["own:A@107b7c76"]


def test_labels_are_no_markup() -> None:
    (cell,) = cells_of(made_up_results({"[red]name[/red]": (1.0, 0.5)}, [100], 2))
    assert "[red]name[/red]" in shown(summary_table(cell))


def test_runs_in_memory() -> None:
    mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
    losses = am.losses.Stochastic(np.linspace(0.0, 1.0, mdp.layout.n_rows))
    plays = []
    for seed in range(3):
        for name, learner in (
            ("uob-reps", am.UOBREPS(mdp.layout, n_episodes=200)),
            ("uniform", am.Uniform(mdp.layout)),
        ):
            plays.append(
                LabelledRun(name, am.play(mdp, losses, learner, 200, seed), replicate=seed)
            )
    (cell,) = cells_of(results_from_runs(plays))
    for group in cell.groups:
        runs = [play.run for play in plays if play.learner == group.learner]
        assert group.regret.estimate == pytest.approx(np.mean([run.regret[-1] for run in runs]))
        np.testing.assert_array_equal(group.curves["regret"], [run.regret for run in runs])
    learner = next(group for group in cell.groups if group.learner == "uob-reps")
    total = sum(learner.curves[term] for term in ("error", "bias1", "reg", "bias2"))
    np.testing.assert_allclose(total, learner.curves["regret"], atol=1e-9)
    solvers = [play.run.solver for play in plays if play.run.solver]
    assert learner.runs["projections"].to_list() == [solver.projections for solver in solvers]
    assert "epoch" not in next(g for g in cell.groups if g.learner == "uniform").curves
    with pytest.raises(InvalidInput, match="at least one run"):
        results_from_runs([])
