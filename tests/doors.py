"""One valid call of every public function and class, with the kind of each argument.

``DOORS`` maps a name to (callable, {argument: (kind, valid value)}).  A kind says which of the
wrong values of ``tests/test_doors.py`` are not wrong for it, see ``MAY_PASS``.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import advmdp as am
from advmdp.experiments.own import registry
from advmdp.store import Store

Arguments = dict[str, tuple[str, Any]]
Door = tuple[Callable[..., Any], Arguments]

LAYOUT = am.Layout((1, 2, 2, 1), 2)
MDP = am.LayeredMDP(LAYOUT, np.repeat(1.0 / LAYOUT.row_sizes(), LAYOUT.row_sizes()))
TRANSITIONS = [np.array(table) for table in MDP.transitions]
PAIRS = [np.full((n, 2), 0.5) for n in (1, 2, 2)]
LOSSES = am.losses.Stochastic(PAIRS)
SAVED = Path(__file__).parent / "data/version_1/uob-reps.am"
LAKE = gymnasium.make("FrozenLake-v1", is_slippery=False)
RANGE = am.Rewards(0, 1)
GAME = am.gym.unroll(LAKE, 3, RANGE, starts=[0])
EMPTY_STORE = Path(tempfile.gettempdir()) / f"advmdp-empty-store-{os.getpid()}"
Store(EMPTY_STORE, create=True)
atexit.register(shutil.rmtree, EMPTY_STORE, ignore_errors=True)
RUN = am.play(MDP, LOSSES, am.Uniform(LAYOUT), 5)

MAY_PASS: dict[str, set[str]] = {
    "whole": set(),
    "numbers of actions": {"ragged"},  # which the sizes of this layout make a proper list
    "maybe whole": {"none"},
    "real": set(),
    "any real": {"minus one"},
    "maybe real": {"none"},
    "seed": {"huge"},
    "flag": {"true"},
    "maybe flag": {"none", "true"},
    "table": set(),
    "maybe table": {"none"},
    "object": set(),
    "maybe object": {"none"},
    "maybe mapping": {"none", "dict"},
    "function": {"function", "class"},
    "maybe function": {"none", "function", "class"},
    "maybe report": {"none", "function", "class", "true"},
    "maybe file or function": {"none", "text", "digit", "function", "class"},
    "name": set(),
    "maybe name": {"none"},
    "path": {"text", "digit"},
    "maybe path": {"none", "text", "digit"},
    "maybe list": {"none"},
    "maybe empty list": {"none", "list"},
    "numbers": {"list", "nan", "inf", "minus one", "array"},
}

_KIND_OF_PARAMETER = {
    "layout": ("object", LAYOUT),
    "transitions": ("table", TRANSITIONS),
    "n_episodes": ("whole", 50),
    "phase": ("whole", 2),
    "window": ("whole", 5),
    "hint_window": ("whole", 5),
    "baseline": ("maybe name", "damped"),
    "baseline_memory": ("whole", 5),
    "hint": ("maybe object", None),
    "hint_weight": ("maybe real", 0.5),
    "late": ("name", "own-time"),
    "total_delay": ("whole", 7),
    "n_contexts": ("whole", 2),
    "rule": ("name", "squint"),
    "fresh": ("flag", False),
    "stationary": ("flag", False),
    "seed": ("seed", 0),
    "eta": ("maybe real", 0.1),
    "gamma": ("maybe real", 0.1),
    "alpha": ("maybe real", 0.1),
    "log_barrier": ("maybe real", 0.1),
    "dilation": ("maybe real", 0.1),
    "delta": ("real", 0.1),
    "limit_scale": ("real", 0.75),
}


def learner_door(make: Any) -> Door:
    """The arguments of a learner by their names; all others are positive numbers."""
    arguments = {
        name: _KIND_OF_PARAMETER.get(name, ("real", 0.5))
        for name in inspect.signature(make).parameters
        if (make, name) != (am.OREPSBandit, "gamma_scale")  # excludes gamma
    }
    defaults = inspect.signature(make).parameters
    for name in ("gamma", "alpha", "delta"):
        if name in arguments:
            kind = "maybe real" if defaults[name].default is None else "real"
            arguments[name] = (kind, arguments[name][1])
    return make, arguments


def _begun(process: Any) -> Callable[..., Any]:
    """A loss process and its first table: only then are its tables compared with a layout."""

    def call(layout: Any, seed: Any, **arguments: Any) -> Any:
        return process(**arguments).begin(layout, seed).table(0)

    return call


def loss_door(process: Any, **arguments: tuple[str, Any]) -> Door:
    return _begun(process), {"layout": ("object", LAYOUT), "seed": ("seed", 0), **arguments}


def update(states: Any, actions: Any, losses: Any) -> Any:
    """A trajectory is looked at by the learner; what it refuses leaves it as it was."""
    return _fed(am.UOBREPS(LAYOUT, 10), am.Trajectory(states, actions, losses))


def update_with_sum(states: Any, actions: Any, total: Any) -> Any:
    return _fed(am.AggregateUOBFTRL(LAYOUT, 10), am.Aggregate(states, actions, total))


def update_with_all(states: Any, actions: Any, losses: Any) -> Any:
    return _fed(am.UCOREPS(LAYOUT, 10), am.FullInformation(states, actions, losses))


def _fed(learner: Any, feedback: Any) -> Any:
    before = learner.state()
    try:
        learner.update(feedback)
    except am.AdvMDPError:
        after = learner.state()
        assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
        raise
    return learner


def finish(number: Any, policy: Any) -> Any:
    service = am.Service(am.UOBREPS(LAYOUT, 10))
    service.begin()
    try:
        service.abandon(am.Ticket(number, policy))
    finally:
        assert (not service.open) == (service.abandoned == 1)
    return service


def regularised(make: Any) -> Callable[..., Any]:
    """A regulariser is compared with a layout when it is used."""

    def call(**arguments: Any) -> Any:
        return am.minimise(PAIRS, am.KnownTransition(LAYOUT, TRANSITIONS), make(**arguments))

    return call


def project(weights: Any, confidence: Any) -> Any:
    """Of weights; their logarithms are given instead of them."""
    return am.project(weights, confidence)


def registered(kind: Any, name: Any, part: Any) -> None:
    """Register a part, and forget it: names are given once."""
    before = dict(registry._locations)
    try:
        am.register(kind, name, part)
    finally:
        registry._locations.clear()
        registry._locations.update(before)


def in_a_folder(door: Any) -> Callable[..., Any]:
    """Files that are kept go elsewhere."""

    def call(**arguments: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return door(**arguments)

    return call


ON_PAIRS: Arguments = {"on": ("object", "pairs")}
EPISODES: Arguments = {"n_episodes": ("whole", 4), "seed": ("seed", 0)}
STEP: Arguments = {"occupancy": ("table", am.occupancy_measure(TRANSITIONS, PAIRS, LAYOUT))}
PATH: Arguments = {"states": ("table", [0, 1, 1, 0]), "actions": ("table", [0, 1, 1])}
SET: Arguments = {"confidence": ("object", am.AnyTransition(LAYOUT))}
ON_LAYOUT: Arguments = {"layout": ("object", LAYOUT)}
ON_MDP: Arguments = {"mdp": ("object", MDP), "losses": ("object", LOSSES)}
FLAGS: Arguments = {"per_action": ("flag", False), "pooled": ("flag", False)}
PERIOD: Arguments = {"period": ("whole", 10), "noisy": ("flag", True)}

DOORS: dict[str, Door] = {
    "Layout": (
        am.Layout,
        {
            "layer_sizes": ("object", (1, 2, 1)),
            "n_actions": ("numbers of actions", 2),
            "successors": ("maybe list", [np.ones((1, 2, 2), bool), np.ones((2, 2, 1), bool)]),
            "shared_rows": ("maybe list", [np.array([[0, 0]]), np.full((2, 2), -1)]),
            "known_rows": ("maybe table", [np.full((1, 2, 2), 0.5), np.full((2, 2, 1), 1.0)]),
            "state_names": ("maybe list", [["a"], ["b", "c"]]),
            "action_names": ("maybe list", ["left", "right"]),
        },
    ),
    "LayeredMDP": (
        am.LayeredMDP,
        {
            **ON_LAYOUT,
            "transitions": ("table", TRANSITIONS),
            "natural_loss": ("maybe table", PAIRS),
            "opening": ("whole", 1),
        },
    ),
    **{make.__name__: learner_door(make) for make in (m.make for m in am.LEARNERS.values())},
    "Doubling": (
        am.Doubling,
        {
            "make": ("object", am.UOBREPS),
            **ON_LAYOUT,
            "first": ("maybe whole", 4),
            "delta": ("real", 0.1),
            "eta": ("maybe real", 0.1),
        },
    ),
    "Mixture": (
        am.Mixture,
        {
            **ON_LAYOUT,
            "experts": ("object", [PAIRS]),
            "transitions": ("maybe table", TRANSITIONS),
            "rule": ("name", "adahedge"),
            "prior": ("real", 0.5),
            "votes": ("maybe mapping", {"expert 0": 2}),
            "warm_up": ("whole", 2),
        },
    ),
    "Corral": (
        am.Corral,
        {
            **ON_LAYOUT,
            "learners": ("object", [am.UOBREPS(LAYOUT, 5)]),
            "n_episodes": ("whole", 5),
            "eta": ("maybe real", 0.1),
            "eta_scale": ("real", 1.0),
            "seed": ("seed", 1),
        },
    ),
    "PerContext": (
        am.PerContext,
        {
            "make": ("object", am.planners.WindowPlanner),
            **ON_LAYOUT,
            "n_contexts": ("whole", 3),
            "window": ("whole", 4),
        },
    ),
    "PerStart": (
        am.PerStart,
        {**ON_LAYOUT, "make": ("function", lambda view: am.UOBREPS(view.layout, 10))},
    ),
    "AnyTransition": (am.AnyTransition, ON_LAYOUT),
    "KnownTransition": (am.KnownTransition, {**ON_LAYOUT, "transitions": ("table", TRANSITIONS)}),
    "BoxSet": (
        am.BoxSet,
        {**ON_LAYOUT, "lower": ("table", TRANSITIONS), "upper": ("table", TRANSITIONS)},
    ),
    "L1Set": (
        am.L1Set,
        {
            **ON_LAYOUT,
            "centre": ("table", TRANSITIONS),
            "width": ("table", PAIRS),
            "floor": ("real", 0.0),
        },
    ),
    "Projector": (am.Projector, ON_LAYOUT),
    "project": (project, {"weights": ("table", TRANSITIONS), **SET}),
    "project, logarithms": (am.project, {"log_weights": ("table", TRANSITIONS), **SET}),
    "PartialTransition": (
        am.PartialTransition,
        {**ON_LAYOUT, "transitions": ("table", TRANSITIONS)},
    ),
    "minimise": (
        am.minimise,
        {
            "cost": ("table", PAIRS),
            "transitions": ("object", am.KnownTransition(LAYOUT, TRANSITIONS)),
            "regulariser": ("object", am.Tsallis(1.0)),
            "constraints": ("maybe empty list", [(PAIRS, 2.0)]),
        },
    ),
    "Entropy": (regularised(am.Entropy), {"eta": ("real", 0.5), **ON_PAIRS}),
    "Tsallis": (
        regularised(am.Tsallis),
        {"eta": ("real", 0.5), "log_barrier": ("real", 0.1), **ON_PAIRS},
    ),
    "LogBarrier": (regularised(am.LogBarrier), {"weights": ("table", PAIRS), **ON_PAIRS}),
    "upper_occupancy": (am.upper_occupancy, {"policy": ("table", PAIRS), **SET}),
    "occupancy_measure": (
        am.occupancy_measure,
        {"transitions": ("table", TRANSITIONS), "policy": ("table", PAIRS), **ON_LAYOUT},
    ),
    "policy_of": (am.policy_of, {**STEP, **ON_LAYOUT}),
    "transition_of": (am.transition_of, {**STEP, **ON_LAYOUT}),
    "best_fixed_policy": (
        am.best_fixed_policy,
        {"mdp": ("object", MDP), "total_loss": ("table", PAIRS)},
    ),
    "start_views": (am.start_views, ON_LAYOUT),
    "with_break_off": (am.with_break_off, {**ON_LAYOUT, "rest_loss": ("real", 0.5)}),
    "open_store": (am.open_store, {"path": ("path", EMPTY_STORE)}),
    "register": (
        registered,
        {
            "kind": ("name", "learner"),
            "name": ("path", "even"),  # any short text is a name
            "part": ("function", "advmdp.learners.uniform:Uniform"),
        },
    ),
    "time_expand": (
        am.time_expand,
        {
            "transition": ("table", np.full((2, 2, 2), 0.5)),
            "horizon": ("whole", 3),
            "start": ("table", np.array([0.5, 0.5])),
            "loss": ("maybe table", np.full((2, 2), 0.5)),
            **FLAGS,
            "state_names": ("maybe list", ["here", "there"]),
            "action_names": ("maybe list", ["stay", "go"]),
        },
    ),
    "Trajectory": (update, {**PATH, "losses": ("table", [0.5, 0.5, 0.5])}),
    "FullInformation": (update_with_all, {**PATH, "losses": ("table", PAIRS)}),
    "Ticket": (finish, {"number": ("whole", 1), "policy": ("table", PAIRS)}),
    "Aggregate": (update_with_sum, {**PATH, "total": ("real", 1.5)}),
    "connect": (
        am.connect,
        {
            "url": ("name", "http://127.0.0.1:9/pump"),  # nobody is asked before the first call
            "token": ("maybe name", "sixteen-letters-"),
            "patience": ("real", 1.0),
        },
    ),
    "open_service": (
        in_a_folder(am.open_service),
        {
            "path": ("path", "service.am"),
            "learner": ("object", am.UOBREPS(LAYOUT, 10)),
            "every": ("whole", 2),
        },
    ),
    "Service": (
        in_a_folder(am.Service),
        {
            "learner": ("object", am.UOBREPS(LAYOUT, 10)),
            "path": ("maybe path", "service.am"),
            "every": ("whole", 2),
            "losses_outside": ("name", "clip"),
        },
    ),
    "play": (
        am.play,
        {
            **ON_MDP,
            "learner": ("object", am.Uniform(LAYOUT)),
            **EPISODES,
            "checkpoints": ("maybe list", [2, 3]),
            "check": ("flag", False),
            "compiled": ("maybe flag", False),
            "progress": ("maybe report", None),
            "record": ("maybe empty list", ["policy"]),
            "every": ("maybe whole", 2),
            "callback": ("maybe function", lambda moment: None),
            "resume": ("maybe object", None),
            "keep": ("maybe function", None),
            "contexts": ("maybe list", None),
            "losses_outside": ("name", "clip"),
            "delays": ("maybe object", None),
            "in_flight": ("maybe object", None),
            "feedback": ("maybe name", "bandit"),
        },
    ),
    "play_starts": (
        am.play_starts,
        {
            **ON_MDP,
            "learners": ("object", [am.Uniform(view.layout) for view in am.start_views(LAYOUT)]),
            "starts": ("function", [0, 1, 0, 1]),
            **EPISODES,
            "checkpoints": ("maybe list", [2, 3]),
        },
    ),
    "Rewards": (am.Rewards, {"low": ("any real", -2.0), "high": ("any real", 1.0)}),
    "Rewards.to_losses": (RANGE.to_losses, {"rewards": ("numbers", [0.5])}),
    "Rewards.total": (RANGE.total, {"losses": ("numbers", [0.5]), "steps": ("numbers", [1])}),
    "Rewards.report": (RANGE.report, {"run": ("object", RUN), "steps": ("maybe whole", 3)}),
    "losses.Stochastic": loss_door(am.losses.Stochastic, mean=("table", PAIRS)),
    "losses.Switching": loss_door(am.losses.Switching, tables=("table", [PAIRS]), **PERIOD),
    "losses.Majority": loss_door(
        am.losses.Majority,
        usual=("table", PAIRS),
        adverse=("table", PAIRS),
        adverse_share=("real", 0.25),
        **PERIOD,
    ),
    "losses.Majority.against": loss_door(
        am.losses.Majority.against, usual=("table", PAIRS), adverse_share=("real", 0.25), **PERIOD
    ),
    "losses.Drifting": loss_door(
        am.losses.Drifting, start=("table", PAIRS), end=("table", PAIRS), **PERIOD
    ),
    "losses.Corrupted": (
        lambda process_seed, **given: _begun(
            lambda **rest: am.losses.Corrupted(seed=process_seed, **rest)
        )(**given),
        {
            **ON_LAYOUT,
            "seed": ("seed", 0),
            "process_seed": ("seed", 0),
            "mean": ("table", PAIRS),
            "corrupted_table": ("table", PAIRS),
            "n_corrupted": ("whole", 2),
            "n_episodes": ("whole", 10),
        },
    ),
    "losses.Replayed": loss_door(
        am.losses.Replayed,
        tables=("table", [PAIRS]),
        repeat=("flag", True),
        any_losses=("flag", False),
    ),
    "losses.Adaptive": loss_door(
        am.losses.Adaptive,
        base=("table", PAIRS),
        strength=("real", 0.5),
        memory=("real", 0.5),
        noisy=("flag", False),
    ),
    "losses.Custom": loss_door(
        am.losses.Custom,
        function=("function", lambda episode, history: PAIRS),
        any_losses=("flag", False),
    ),
    "families.random_mdp": (
        am.families.random_mdp,
        {
            "layer_sizes": ("object", (1, 3, 1)),
            "n_actions": ("whole", 2),
            "seed": ("seed", 0),
            "concentration": ("real", 1.0),
            "n_successors": ("maybe whole", 2),
        },
    ),
    "families.deep_sea": (
        am.families.deep_sea,
        {"depth": ("whole", 3), "move_cost": ("real", 0.01)},
    ),
    "families.combination_lock": (
        am.families.combination_lock,
        {
            "length": ("whole", 3),
            "n_actions": ("whole", 2),
            "seed": ("seed", 0),
            "slip": ("real", 0.1),
        },
    ),
    "families.routing": (
        am.families.routing,
        {
            "width": ("whole", 3),
            "depth": ("whole", 2),
            "seed": ("seed", 0),
            "n_links": ("whole", 2),
            "failure": ("real", 0.2),
        },
    ),
    "families.grid": (
        am.families.grid,
        {
            "width": ("whole", 2),
            "height": ("whole", 3),
            "horizon": ("whole", 3),
            "slip": ("real", 0.1),
            "pooled": ("flag", False),
        },
    ),
    "families.river_swim": (
        am.families.river_swim,
        {"length": ("whole", 3), "horizon": ("whole", 3), "pooled": ("flag", True)},
    ),
    "load": (
        lambda path, own: am.load(path, own),
        {"path": ("path", str(SAVED)), "own": ("object", am.UOBREPS)},
    ),
    "gym.from_gymnasium": (
        am.gym.from_gymnasium,
        {
            "env": ("object", LAKE),
            "horizon": ("whole", 3),
            "start": ("maybe table", np.eye(16)[0]),
            "rewards": ("maybe object", RANGE),
            **FLAGS,
        },
    ),
    "gym.unroll": (
        am.gym.unroll,
        {
            "env": ("object", LAKE),
            "horizon": ("whole", 3),
            "rewards": ("object", RANGE),
            "starts": ("maybe list", [0]),
            "successors": ("maybe function", lambda place: [0, 1]),
            "pooled": ("flag", False),
        },
    ),
    "gym.play": (
        in_a_folder(am.gym.play),
        {
            "env": ("object", LAKE),
            "learner": ("object", am.Uniform(GAME.layout)),
            "game": ("object", GAME),
            **EPISODES,
            "progress": ("maybe report", None),
            "record": ("maybe empty list", ["policy"]),
            "every": ("maybe whole", 2),
            "callback": ("maybe function", lambda moment: None),
            "resume": ("maybe object", None),
            "keep": ("maybe file or function", None),
            "contexts": ("maybe list", None),
            "rewards_outside": ("name", "clip"),
        },
    ),
    "gym.AdversarialMDP": (am.gym.AdversarialMDP, ON_MDP),
}
