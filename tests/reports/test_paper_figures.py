"""Figures for papers: the right numbers, one column wide, fonts embedded; what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.image import imread

from advmdp.errors import InvalidInput
from advmdp.reports.cells import cells_of
from advmdp.reports.figures.cell_panels import (
    FIGURES,
    KINDS,
    epoch_panels,
    rate_panels,
    realised_panels,
    regret_panels,
    term_panels,
)
from advmdp.reports.figures.line_styles import styles_of
from advmdp.reports.figures.panels import Panel, Series, select_learners, vertical_range
from advmdp.reports.figures.paper_figure import SETTINGS, paper_figure, write_figure
from advmdp.reports.rates import families_of
from tests.reports.frames import LAWS, TERMS, changed, made_up_results

RESULTS = made_up_results()
CELLS = cells_of(RESULTS)
STYLES = styles_of(RESULTS.learners)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_one_column_wide(kind: str, tmp_path: Path) -> None:
    n_episodes = None if kind == "rate" else 4000
    path = write_figure(RESULTS, kind, tmp_path / "new" / f"{kind}.png", n_episodes=n_episodes)
    pixels = imread(path)
    assert pixels.shape[1] == 990  # 3.3 inches at 300 dots
    inked = (pixels[..., :3].min(axis=2) < 0.7).mean()
    assert 0.005 < inked < 0.3  # neither blank nor blotted


@pytest.mark.parametrize(("ending", "begin"), [(".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_vector_figures_are_reproducible(ending: str, begin: bytes, tmp_path: Path) -> None:
    first, second = (
        write_figure(RESULTS, "rate", tmp_path / f"{name}{ending}").read_bytes() for name in "ab"
    )
    assert first.startswith(begin)
    assert first == second
    if ending == ".pdf":
        assert b"/FontFile2" in first  # TrueType, embedded
        assert b"/Type3" not in first


def test_panels_hold_the_cells_numbers() -> None:
    cell = CELLS[-1]
    (panel,) = regret_panels(cell)
    for series, group in zip(panel.series, cell.groups, strict=True):
        assert series.key == group.learner
        assert series.x[0] == series.y[0] == 0.0
        np.testing.assert_array_equal(series.x[1:], group.episodes)
        np.testing.assert_allclose(series.y[1:], group.curves["regret"].mean(axis=0))
        assert series.low is not None
        assert series.high is not None
        assert (series.low <= series.y).all()
        assert (series.y <= series.high).all()


def test_the_four_terms_add_up_to_the_regret() -> None:
    (panel,) = term_panels(CELLS[-1])  # only one learner has them
    assert panel.learner == "uob-reps"
    regret, *terms = panel.series
    assert len(terms) == len(TERMS)
    np.testing.assert_allclose(sum(series.y for series in terms), regret.y)


def test_realised_and_expected_losses() -> None:
    losses, gap = realised_panels(CELLS[-1])
    assert sum(series.dots for series in losses.series) == len(LAWS)
    best = losses.series[-1]
    np.testing.assert_allclose(best.y, 1.5)
    group = CELLS[-1].groups[0]
    expected = next(s for s in losses.series if s.key == group.learner and not s.dots)
    realised = next(s for s in losses.series if s.key == group.learner and s.dots)
    np.testing.assert_allclose((realised.y - expected.y) * group.episodes, gap.series[0].y)


def test_reactive_losses_have_no_common_best_policy() -> None:
    other = RESULTS.runs["best_loss"][0] * 1.01
    losses, _ = realised_panels(cells_of(changed(RESULTS, 0, best_loss=other))[0])
    assert all(series.key in LAWS for series in losses.series)


def test_labels_of_major_and_minor_ticks_are_on_one_line() -> None:
    (panel,) = rate_panels(families_of(CELLS)[0])  # T from 1,000 to 16,000: 2,000 is named too
    with rc_context(SETTINGS):  # type: ignore[arg-type]
        figure = paper_figure([panel], STYLES)
        figure.canvas.draw()
        labels = figure.axes[0].get_xticklabels(which="both")
        tops = {label.get_text(): label.get_window_extent().y1 for label in labels}
    assert tops["1,000"] == pytest.approx(tops["2,000"], abs=0.5)


def test_slopes_are_labelled() -> None:
    (panel,) = rate_panels(families_of(CELLS)[0])
    labels = {series.label for series in panel.series}
    assert any(label.startswith("uniform (T^1.00 [") for label in labels)
    (panel,) = rate_panels(families_of(CELLS[:1])[0])
    assert "not the rate in T" in panel.note
    assert all("slope in the run" in series.label for series in panel.series)


def test_lines_differ_without_colour() -> None:
    names = [f"learner {i}" for i in range(30)]
    assert len({styles_of(names)[name] for name in names}) == 30
    with rc_context(SETTINGS):  # type: ignore[arg-type]
        axes = paper_figure(regret_panels(CELLS[0]), STYLES).axes[0]
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in axes.lines}) == 3
    assert len({line.get_color() for line in axes.lines}) == 3


def test_wide_bands_do_not_dwarf_the_means() -> None:
    x, y = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    wide = Series("a", "a", x, y, y - 1000.0, y + 1000.0)
    low, high = vertical_range(Panel("", "", "", (wide,)))
    assert -15.0 <= low <= 0.0
    assert 20.0 <= high <= 35.0
    low, high = vertical_range(Panel("", "", "", (wide,), y_log=True))
    assert 5.0 <= low <= 10.0
    assert 20.0 <= high <= 40.0
    nothing = Series("a", "a", x, -y)
    assert vertical_range(Panel("", "", "", (nothing,), y_log=True)) == (0.1, 1.0)


def test_chosen_learners_only(tmp_path: Path) -> None:
    panels = epoch_panels(CELLS[0])
    widths = replace(panels[1], series=(replace(panels[1].series[0], key="another"),))
    assert select_learners([panels[0], widths], ["uob-reps"]) == [panels[0]]  # no empty axes
    few = write_figure(RESULTS, "regret", tmp_path / "a.svg", n_episodes=1000, learners=["uniform"])
    both = write_figure(RESULTS, "regret", tmp_path / "b.svg", n_episodes=1000)
    assert len(few.read_bytes()) < len(both.read_bytes())
    with pytest.raises(InvalidInput, match="learners: no learner 'ucrl2' in this figure; there"):
        write_figure(RESULTS, "regret", tmp_path / "c.svg", n_episodes=1000, learners=["ucrl2"])


@pytest.mark.parametrize("kind", KINDS)
def test_few_numbers_and_odd_names_can_be_drawn(kind: str, tmp_path: Path) -> None:
    results = made_up_results({r"costs $\oops$": (-1.0, 0.5), "uob-reps": (0.0, 1.0)}, [1], 1)
    assert write_figure(results, kind, tmp_path / "few.svg").exists()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="kind: 'pie' is not one of regret, rate"):
        write_figure(RESULTS, "pie", tmp_path / "a.pdf")
    with pytest.raises(InvalidInput, match=r"should end in \.png"):
        write_figure(RESULTS, "regret", tmp_path / "a.gif")
    with pytest.raises(InvalidInput, match="cell: 3 fit"):
        write_figure(RESULTS, "regret", tmp_path / "a.pdf")
    with pytest.raises(InvalidInput, match="n_episodes: no runs of 5; there are 1,000, 4,000, 16"):
        write_figure(RESULTS, "rate", tmp_path / "a.pdf", n_episodes=5)
    plain = made_up_results({"uniform": (1.0, 1.0)}, [100], 2)
    for kind in ("terms", "epochs"):
        with pytest.raises(InvalidInput, match=f"no learner of this cell has what '{kind}' shows"):
            write_figure(plain, kind, tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []
    assert set(FIGURES) | {"rate"} == set(KINDS)


def test_the_callers_matplotlib_is_left_alone(tmp_path: Path) -> None:
    program = f"""
import sys, matplotlib
def settings():  # reading "backend" would choose one
    return {{key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}}
before = settings()
from advmdp.reports.figures.paper_figure import write_figure
from tests.reports.frames import made_up_results
write_figure(made_up_results(n_replicates=2), "rate", {str(tmp_path / "a.pdf")!r})
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)
