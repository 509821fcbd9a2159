"""The regret figure: what is drawn, what is written, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import advmdp as am
from advmdp.errors import InvalidInput
from advmdp.reports.figures.regret_axes import LABEL_GAP
from advmdp.reports.figures.regret_plot import plot_regret, regret_figure
from advmdp.reports.output_path import checked_figure_path
from tests.reports.runs import learner_and_baseline, made_up_run

LEARNER, BASELINE = learner_and_baseline()
CURVES = {"learner": LEARNER, "baseline": BASELINE}


def test_a_png_is_written_where_asked(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "regret.png"
    assert plot_regret(CURVES, target, title="A title") == target
    assert target.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(target)
    assert pixels.shape[0] > 500
    assert pixels.shape[1] > 1200
    dark_or_coloured = (pixels[..., :3].min(axis=2) < 0.7).mean()
    assert 0.005 < dark_or_coloured < 0.3  # neither blank nor blotted


@pytest.mark.parametrize(("name", "begin"), [("a.pdf", b"%PDF"), ("a.SVG", b"<?xml")])
def test_vector_formats(tmp_path: Path, name: str, begin: bytes) -> None:
    assert plot_regret(CURVES, tmp_path / name).read_bytes().startswith(begin)


def test_left_panel_shows_the_regret() -> None:
    left = regret_figure(CURVES).axes[0]
    for line, run in zip(left.lines, CURVES.values(), strict=True):
        assert line.get_xdata()[0] == line.get_ydata()[0] == 0.0
        np.testing.assert_array_equal(line.get_xdata()[1:], run.episodes)
        np.testing.assert_array_equal(line.get_ydata()[1:], run.regret)
    assert left.get_ylabel() == "regret"
    assert left.get_xlabel() == "episodes"


def test_right_panel_shows_the_loss_of_each_tenth() -> None:
    right = regret_figure(CURVES).axes[1]
    learner, baseline, best = right.lines
    middle = np.arange(500, 10_000, 1000)
    assert learner.get_xdata() == pytest.approx(middle)
    edges = np.arange(0, 10_001, 1000)
    # The checkpoints are ten episodes apart; between two of them the curve is nearly straight.
    exact = 1.5 + np.diff(np.sqrt(40.0 * edges)) / 1000
    assert learner.get_ydata() == pytest.approx(exact, abs=1e-4)
    assert baseline.get_ydata() == pytest.approx(2.0)
    assert best.get_ydata() == pytest.approx([1.5, 1.5])


def test_both_panels_in_rewards() -> None:
    mdp = am.families.random_mdp((1, 2, 1), n_actions=2, seed=0)
    losses = am.losses.Stochastic(np.linspace(0.0, 1.0, mdp.layout.n_rows))
    run = am.play(mdp, losses, am.Uniform(mdp.layout), 200)
    left, right = regret_figure({"u": run}, rewards=am.Rewards(-1.0, 3.0), unit="EUR").axes
    np.testing.assert_allclose(left.lines[0].get_ydata()[1:], 4.0 * run.regret)
    of_tenths, best = (line.get_ydata() for line in right.lines)
    # two steps an episode, 3 EUR each at a loss of zero
    assert of_tenths.mean() == pytest.approx(6.0 - 4.0 * run.expected_loss[-1] / 200)
    assert best[0] == pytest.approx(6.0 - 4.0 * run.best_loss[-1] / 200)
    labels = (left.get_ylabel(), right.get_ylabel())
    assert labels == ("regret (EUR)", "reward per episode (EUR)")
    assert "earned" in left.get_title(loc="left")
    assert "earned" in right.get_title(loc="left")


def test_thousands_are_separated() -> None:
    figure = regret_figure(CURVES)
    figure.canvas.draw()
    left = figure.axes[0]
    assert "5,000" in [label.get_text() for label in left.get_xticklabels()]
    assert "2,000" in [label.get_text() for label in left.get_yticklabels()]


def test_every_line_is_named_and_names_keep_their_distance() -> None:
    crowd = {f"learner {i}": made_up_run(LEARNER.regret + i, LEARNER.episodes) for i in range(5)}
    for axes, extra in zip(regret_figure(crowd).axes, ([], ["best fixed policy"]), strict=True):
        places = {text.get_text(): text.xy[1] for text in axes.texts}
        assert sorted(places) == sorted([*crowd, *extra])
        assert np.diff(sorted(places.values())).min() >= LABEL_GAP - 1e-12


@pytest.mark.parametrize(
    "name", ["short", "a name that is very much longer than usual", r"costs $\oops$"]
)
def test_names_stay_inside_the_figure_and_off_the_other_panel(name: str) -> None:
    figure = regret_figure({name: LEARNER, "baseline": BASELINE})
    figure.canvas.draw()
    left, right = figure.axes
    for text in left.texts:
        assert text.get_window_extent().x1 < right.yaxis.get_tightbbox().x0
    for text in right.texts:
        assert text.get_window_extent().x1 < figure.bbox.x1


def test_runs_that_met_different_losses_have_their_own_best_policies() -> None:
    other = made_up_run(BASELINE.regret, BASELINE.episodes, best_per_episode=1.2)
    right = regret_figure({"learner": LEARNER, "other": other}).axes[1]
    names = [text.get_text() for text in right.texts]
    assert "best fixed policy (learner)" in names
    assert "best fixed policy (other)" in names


def test_marks_and_note() -> None:
    figure = regret_figure(CURVES, shaded=[(10, 20), (50, 60), (90, 95)], note="what they mean")
    assert len(figure.axes[0].patches) == 3
    assert "what they mean" in [text.get_text() for text in figure.texts]


def test_one_episode_can_be_drawn(tmp_path: Path) -> None:
    path = plot_regret({"one": made_up_run(np.zeros(1), np.array([1]))}, tmp_path / "one.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_callers_matplotlib_is_left_alone(tmp_path: Path) -> None:
    program = f"""
import sys, matplotlib
def settings():  # reading "backend" would choose one
    return {{key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}}
before = settings(), matplotlib.get_backend(auto_select=False)
from advmdp.reports.figures.regret_plot import plot_regret
from tests.reports.runs import learner_and_baseline
plot_regret(dict(zip("ab", learner_and_baseline())), {str(tmp_path / "a.png")!r})
assert (settings(), matplotlib.get_backend(auto_select=False)) == before
assert "matplotlib.pyplot" not in sys.modules
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one run"):
        plot_regret({}, tmp_path / "a.png")
    with pytest.raises(InvalidInput, match=r"should end in \.png"):
        plot_regret(CURVES, tmp_path / "a.jpg")
    with pytest.raises(InvalidInput, match="cannot write"):
        plot_regret(CURVES, "/proc/no-such-folder/a.png")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_plain_file_is_not_opened(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make(tmp_path / "a.png")  # opening a pipe would wait for a reader
    with pytest.raises(InvalidInput, match=r"a\.png' exists and is not a plain file; choose"):
        checked_figure_path(tmp_path / "a.png")


def test_checking_a_path_leaves_no_trace(tmp_path: Path) -> None:
    assert checked_figure_path(tmp_path / "a.png") == tmp_path / "a.png"
    assert not (tmp_path / "a.png").exists()
    (tmp_path / "old.png").write_bytes(b"old")
    checked_figure_path(tmp_path / "old.png")
    assert (tmp_path / "old.png").read_bytes() == b"old"
