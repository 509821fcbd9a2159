"""What notebooks show of runs, learners, sets, layouts, MDPs, services and stores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

import advmdp as am
from advmdp.display.layers import layers_text
from advmdp.display.pictures import MOST_DOTS, layers_picture
from advmdp.evaluation.schema import curves_of
from advmdp.experiments.engines.inline import InlineEngine
from advmdp.experiments.runner import run_all
from advmdp.store import Store
from tests.experiments.sweeps import one_run

mpl.use("Agg")
MDP = am.families.random_mdp((1, 3, 3, 1), 2, seed=0)
LOSSES = am.losses.Stochastic(np.full(MDP.layout.n_rows, 0.5))
LEARNER = am.UOBREPS(MDP.layout, n_episodes=50, delta=0.2)
RUN = am.play(MDP, LOSSES, LEARNER, 50)
LAKE = am.gym.from_gymnasium("FrozenLake-v1", horizon=3)
DEEP = am.Layout((*range(1, 90), 1), 2)  # thirty of its layers or more would fill several lines
SETS = [
    am.AnyTransition(MDP.layout),
    am.KnownTransition(MDP.layout, MDP.transitions),
    am.UOBREPS(MDP.layout, 5).confidence_set(),
    am.L1Set(MDP.layout, MDP.transitions, np.full(MDP.layout.n_rows, 0.5)),
]


def tiny_learners() -> list[Any]:
    made = []
    for entry in am.LEARNERS.values():
        given: dict[str, Any] = {"n_episodes": 9} if entry.has_horizon else {}
        if entry.knows_transition:
            given["transitions"] = MDP.transitions
        made.append(entry.make(MDP.layout, **given))
    return [
        *made,
        am.Doubling(am.UOBREPS, MDP.layout),
        am.Mixture(MDP.layout, [am.Uniform(MDP.layout).policy()], transitions=MDP.transitions),
        am.PerContext(am.planners.WindowPlanner, MDP.layout, 2, window=3),
        am.PerStart(MDP.layout, lambda view: am.UOBREPS(view.layout, 9)),
    ]


@pytest.mark.parametrize(
    "thing",
    [
        RUN,
        MDP,
        MDP.layout,
        am.Service(LEARNER),
        LAKE,
        *SETS,
        *tiny_learners(),
        DEEP,
        am.Uniform(DEEP),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_reprs_are_one_short_line_and_the_tables_are_well_formed(thing: Any) -> None:
    text = repr(thing)
    assert text.startswith(f"{type(thing).__name__}(")
    assert " object at 0x" not in text
    assert "\n" not in text
    assert len(text) <= 200
    page = ElementTree.fromstring(thing._repr_html_())
    assert page.find("strong").text == type(thing).__name__  # type: ignore[union-attr]
    assert len(page.findall(".//tr")) >= 1


def test_the_facts_are_true() -> None:
    assert repr(LEARNER) == "UOBREPS(layout=1,3,3,1 x2, n_episodes=50, delta=0.2, played=50)"
    assert repr(SETS[0]) == "AnyTransition(layout=1,3,3,1 x2, rows=8 free)"
    assert "rows=8 known" in repr(SETS[1])
    assert f"regret={RUN.regret[-1]:,.1f}" in repr(RUN)
    assert "episodes=50" in repr(RUN)
    assert "regret_bound" not in repr(RUN)
    certified = am.play(MDP, LOSSES, am.AdaFTRL(MDP.layout, MDP.transitions), 50)
    assert certified.regret_bound is not None
    assert f", regret_bound={certified.regret_bound[-1]:,.1f}, " in repr(certified)
    points = ElementTree.fromstring(RUN._repr_html_()).find(".//polyline")
    assert points is not None
    assert len(points.attrib["points"].split()) == len(RUN.episodes)


def test_a_wide_layer_is_cut() -> None:
    picture = layers_picture([1, 1000, 1])
    assert picture.count("r='2.2'") == 2 + MOST_DOTS - 1
    assert picture.count("r='0.8'") == 3
    assert (
        picture.count("L") == 2 * MOST_DOTS
    )  # a line from every dot to every dot of the next layer


def test_many_layers_are_told_in_short() -> None:
    assert layers_text((1, *[4] * 5, 2, 2, 2, 2, 1)) == "1,4x5,2,2,2,2,1"
    assert layers_text(DEEP.layer_sizes) == "1,2,3,4,5,6,7,8,...,1 (90 layers)"
    assert repr(am.Uniform(DEEP)) == "Uniform(layout=1,2,3,4,5,6,7,8,...,1 (90 layers) x2)"
    assert layers_picture([1] * 25).count("r='0.8'") == 3  # it goes on to the right
    assert layers_picture([1] * 24).count("r='0.8'") == 0


def test_a_run_as_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = RUN.to_frame()
    assert isinstance(frame, pl.DataFrame)
    for name, values in curves_of(RUN).items():
        assert (name in frame.columns) == (values is not None)
        if values is not None:
            np.testing.assert_array_equal(frame[name].to_numpy(), values)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(am.MissingExtra, match="pandas is not installed"):
        RUN.to_frame("pandas")
    with pytest.raises(am.InvalidInput, match="neither 'polars' nor 'pandas'"):
        RUN.to_frame("os")


def test_a_run_is_plotted() -> None:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    assert RUN.plot(axes, "mine") is axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_array_equal(x, RUN.episodes)
    np.testing.assert_array_equal(y, RUN.regret)
    assert RUN.plot() is plt.gca()
    plt.close("all")


def test_an_opened_store(tmp_path: Path) -> None:
    made = Store(tmp_path / "store", create=True)
    assert run_all([one_run()], made, InlineEngine(made.path)).complete
    store = am.open_store(tmp_path / "store")
    assert store.runs().equals(made.runs())
    assert store.curves().equals(made.curves())
    assert store.curves(store.runs()["run"]).equals(made.curves())
    assert store.curves(iter(store.runs()["run"])).equals(made.curves())
    with pytest.raises(
        am.InvalidInput, match=r"runs: give names in a list, .*; .* library='pandas'"
    ):
        store.curves("pandas")
    with pytest.raises(am.InvalidInput, match=r"runs: no run 'another'; runs\(\) lists all"):
        store.curves(["another"])
    page = store.report(tmp_path / "page.html", "My title")
    assert "My title" in page.read_text()
    assert repr(store) == f"OpenStore({str(made.path)!r})"
    table = ElementTree.fromstring(store._repr_html_())
    assert [cell.text for cell in table.findall(".//td")] == [str(made.path), "1", "0"]
    with pytest.raises(am.InvalidInput, match="is not a store"):
        am.open_store(tmp_path / "nowhere")
