"""Errors that name the remedy, for what is often given in the place of something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import advmdp as am
from advmdp.experiments.spec import RunSpec
from advmdp.reports.cells import cells_of, select_cell
from advmdp.reports.from_store import results_from_store
from advmdp.store import Store
from tests.experiments.sweeps import play_here, runs_of, sweep_text

MDP = am.families.random_mdp((1, 2, 2, 1), 2, seed=0)
LAYOUT = MDP.layout
LOSSES = am.losses.Stochastic(np.full(LAYOUT.n_rows, 0.5))


def starts() -> am.PerStart:
    return am.PerStart(LAYOUT, lambda view: am.UOBREPS(view.layout, 10))


def in_contexts() -> am.PerContext:
    return am.PerContext(am.UOBREPS, LAYOUT, 2, n_episodes=10)


def play(losses: Any = LOSSES, learner: Any = None) -> Any:
    return am.play(MDP, losses, am.Uniform(LAYOUT) if learner is None else learner, 3)


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a function as losses": (
        lambda: play(losses=lambda episode, history: None),
        r"losses: .*; wrap a function: am\.losses\.Custom\(function\)",
    ),
    "tables as losses": (
        lambda: play(losses=[np.zeros((1, 2))]),
        r"losses: .*am\.losses\.Replayed\(tables\)",
    ),
    "a function of one argument as losses": (
        lambda: am.losses.Custom(lambda episode: None),  # type: ignore[arg-type, misc]
        r"function: it is called as function\(episode, history\); take 2",
    ),
    "recorded losses in a unit of their own": (
        lambda: play(losses=am.losses.Replayed(np.full((3, LAYOUT.n_rows), 7.0))),
        r"tables\[0\]: 7\.0 at .* or say any_losses=True, which play\(losses_outside='clip'\)",
    ),
    "a class as losses": (lambda: play(losses=am.losses.Stochastic), r"make one: Stochastic\("),
    "a name as losses": (lambda: play(losses="majority"), "names are for specs and commands"),
    "a name as learner": (
        lambda: play(learner="uob-reps"),
        r"learner: .*; names are for specs .* am\.UOBREPS\(layout, n_episodes\)",
    ),
    "a class as learner": (lambda: play(learner=am.UOBREPS), r"make one: UOBREPS\(layout"),
    "learners of several starts": (lambda: play(learner=starts()), r"am\.play_starts"),
    "a service of several": (lambda: am.Service(starts()), "several, one for each start"),
    "a name in a service": (lambda: am.Service("uob-reps"), "names are for specs"),
    "a loss that is no number": (
        lambda: am.UOBREPS(LAYOUT, 9).update(
            am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.0, np.nan, 0.0])
        ),
        "loss nan at step 1 is not finite; find out",
    ),
    "a function in place of a table": (
        lambda: play(losses=am.losses.Stochastic(lambda episode: None)),
        r"mean: give numbers, not .*am\.losses\.Custom\(function\)",
    ),
    "a function in place of tables": (
        lambda: play(losses=am.losses.Switching(lambda episode: None, 10)),  # type: ignore[arg-type]
        r"tables: give numbers, not .*am\.losses\.Custom\(function\)",
    ),
    "a function in place of the usual losses": (
        lambda: am.losses.Majority.against(lambda episode: None),
        r"usual: give numbers, not .*am\.losses\.Custom\(function\)",
    ),
    "a learner without update()": (
        lambda: play(learner=SimpleNamespace(policy=list)),
        r"with policy\(\) and update\(\), not .*, which has no update\(\)$",
    ),
    "a function as contexts": (
        lambda: am.play(MDP, LOSSES, in_contexts(), 3, contexts=lambda episode: episode % 2),
        r"contexts: give an array .*, not a function; such as numpy\.arange",
    ),
    "an episode without its context": (
        lambda: am.Service(in_contexts()).begin(),
        r"begin: PerContext has 2 contexts; say which, begin\(context=0\)",
    ),
    "a run of several contexts without them": (
        lambda: play(learner=in_contexts()),
        r"contexts: PerContext has 2; say which each episode has, such as numpy\.arange",
    ),
    "an MDP in place of its layout": (
        lambda: am.UOBREPS(MDP, 10),  # type: ignore[arg-type]
        r"layout: give an advmdp Layout, not LayeredMDP; it has one: \.layout$",
    ),
    "an object in a spec": (
        lambda: RunSpec(learner=am.Uniform(LAYOUT), mdp="grid", losses="majority", n_episodes=9),
        r"learner: Uniform\(.*\): give a name, .* 'module:Name', and objects .* by am\.play",
    ),
    "a callback of two arguments": (
        lambda: am.play(
            *(MDP, LOSSES, am.Uniform(LAYOUT), 3),
            callback=lambda episodes, learner: None,  # type: ignore[arg-type, misc]
        ),
        r"callback: it is called as callback\(moment\); take 1 argument$",
    ),
    "feedback that there is none of": (
        lambda: play(learner=SimpleNamespace(policy=list, update=print, feedback="all")),
        r"learner: SimpleNamespace\.feedback: 'all' is none of full, bandit, aggregate$",
    ),
    "a learner of one's own in rounds": (
        lambda: am.Doubling(SimpleNamespace, LAYOUT),  # type: ignore[arg-type]
        r"make: SimpleNamespace is none of the package's learners, .* such as am\.UOBREPS",
    ),
    "a reward that is no number": (
        lambda: am.Rewards(0, 1).to_losses([0.5, np.nan]),
        r"rewards: nan is not finite; find out where it comes from$",
    ),
    "a loss that is too large": (
        lambda: am.UOBREPS(LAYOUT, 9).update(
            am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.0, 3.0, 0.0])
        ),
        r"loss 3\.0 at step 1 is outside \[0, 1\]; rescale",
    ),
}


TOO_LARGE = ("a loss that is too large", "recorded losses in a unit of their own")


@pytest.mark.parametrize("name", CASES)
def test_the_remedy_is_named(name: str) -> None:
    call, message = CASES[name]
    with pytest.raises(am.InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert "rescale" not in str(caught.value) or name in TOO_LARGE


def test_several_cells_are_told_apart_by_a_flag(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store(tmp_path / "store", create=True)
    play_here(store, runs_of(sweep_text(replicates=1).replace("[500]", "[50, 60]")))
    cells = cells_of(results_from_store(store))
    with pytest.raises(am.InvalidInput, match=r"cell: 2 fit.*; for the first, --episodes 50$"):
        select_cell(cells)
    assert select_cell(cells, n_episodes=50) is cells[0]
    there = f"2 runs begin with 'u'; give more of its id, see 'advmdp ls {store.path}'"
    with pytest.raises(am.InvalidInput, match=re.escape(there)):
        store.manifest("u")
