"""A range of rewards in a spec: identity, refusals, the same numbers, worlds from Gymnasium."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
import pytest

import advmdp as am
from advmdp.experiments.build import build
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from advmdp.store import Store
from tests.experiments.sweeps import curve_bytes, one_run, play_here

LAKE = {"name": "gymnasium", "id": "FrozenLake-v1", "horizon": 6}
TAXI = {"name": "gymnasium", "id": "Taxi-v4", "horizon": 3}
RANGE = {"low": -3.0, "high": 5.0, "unit": "EUR"}


def test_specs_without_rewards_are_what_they_were() -> None:
    """Ids and hashes from before specs could have rewards."""
    mdp = {"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2}
    shared: dict[str, Any] = {"mdp": mdp, "losses": "majority", "checkpoints": 3}
    for change, hashed in (
        (
            {"learner": "uob-reps", "n_episodes": 60},
            "3f54a413350d9fc81909a7894c3e33c2ccef2b151369bf953e0f2ef0c02d6643",
        ),
        (
            {"learner": "uniform", "n_episodes": 240, "replicate": 1},
            "17f4236fa42a15d47ff35ba8397f0998f62af340cd8f7a92a23904c9ba72d415",
        ),
    ):
        spec = RunSpec(**shared, **change)
        assert spec.hash == hashed
        assert spec.id.endswith(hashed[:10])
        assert "rewards" not in spec.data()
        assert RunSpec(**shared, **change, rewards=None) == spec


def test_a_range_is_part_of_the_identity() -> None:
    """A store never rewrites a run, so what is told in other units has to be another run."""
    ranges: list[Any] = [
        None,
        RANGE,
        {**RANGE, "low": -4.0},
        {**RANGE, "high": 6.0},
        {**RANGE, "unit": "USD"},
    ]
    specs = [one_run(rewards=given) for given in ranges]
    assert len({spec.hash for spec in specs}) == len({spec.id for spec in specs}) == len(ranges)
    assert one_run(rewards={"low": -3, "high": 5, "unit": " EUR "}).hash == specs[1].hash
    for spec in specs:
        assert RunSpec.from_json(spec.to_json()) == RunSpec.from_toml(spec.to_toml()) == spec


def test_the_numbers_do_not_depend_on_the_range(tmp_path) -> None:  # type: ignore[no-untyped-def]
    stores = [Store(tmp_path / name, create=True) for name in ("losses", "rewards")]
    for store, rewards in zip(stores, (None, RANGE), strict=True):
        play_here(store, [one_run(rewards=rewards)])
    frames = [store.curves().drop("run") for store in stores]
    losses = [name for name in frames[0].columns if "reward" not in name]
    assert frames[0].select(losses).equals(frames[1].select(losses))
    assert [len(curve_bytes(store)) for store in stores] == [1, 1]
    assert frames[0]["expected_reward"].null_count() == frames[0].height
    assert "rewards" not in next(stores[0].manifests())["figures"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 1.0, "high": 1.0}, "rewards.low, high: 1.0 is not below 1.0"),
        ({"low": 2, "high": -2}, "rewards.low, high: 2.0 is not below -2.0"),
        ({"low": 0.0, "high": float("inf")}, "rewards.high: inf is not a finite number"),
        ({"low": float("nan"), "high": 0.0}, "rewards.low: nan is not a finite number"),
        ({"low": -1.7e308, "high": 1.7e308}, "rewards.low, high: the range .* is too wide"),
        ({"low": 0.0}, "rewards.high: missing; add rewards.high = "),
        ({**RANGE, "units": "x"}, r"rewards.units: no such key; did you mean 'unit'\?"),
        ({**RANGE, "unit": "  "}, "rewards.unit: "),
        ({"low": "0", "high": 1}, "rewards.low: '0': "),
        ({"low": False, "high": 1}, "rewards.low: False: "),
        ([-1, 0], "rewards: "),
    ],
)
def test_ranges_that_are_refused(given: Any, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        one_run(rewards=given)
    assert "\n" not in str(caught.value)


def test_a_sweep_has_one_range_for_all_runs() -> None:
    text = """
    learner = ["uob-reps", "uniform"]
    mdp = {name = "deep-sea", depth = 3}
    losses = {name = "stochastic", means = "natural"}
    n_episodes = 10
    rewards = {low = -1, high = 0}
    """
    runs = SweepSpec.from_toml(text).runs()
    assert [run.rewards and (run.rewards.low, run.rewards.high) for run in runs] == [(-1, 0)] * 2


def test_gymnasium_brings_its_range() -> None:
    spec = one_run(mdp=LAKE)
    assert spec.rewards is not None
    assert (spec.rewards.low, spec.rewards.high, spec.rewards.unit) == (0.0, 1.0, "rewards")
    assert one_run(mdp=LAKE, rewards={"low": 0, "high": 1}).hash == spec.hash
    cliff = one_run(mdp={**LAKE, "id": "CliffWalking-v1"}).rewards
    assert cliff is not None
    assert (cliff.low, cliff.high) == (-100.0, 0.0)


def test_a_wider_range_than_the_table_has_changes_the_losses() -> None:
    wide = build(one_run(mdp=LAKE, rewards={"low": -1.0, "high": 3.0})).mdp.natural_loss
    own = build(one_run(mdp=LAKE)).mdp.natural_loss
    assert wide is not None
    assert own is not None
    for one, other in zip(wide, own, strict=True):
        assert np.allclose(3.0 - 4.0 * one, 1.0 - other)  # the rewards are the same
    with pytest.raises(am.InvalidInput, match=r"mdp.rewards: .* from 0.0 to 1.0; widen the range"):
        build(one_run(mdp=LAKE, rewards={"low": 0.5, "high": 1.0}))


def test_options_go_to_the_environment() -> None:
    layout = build(one_run(mdp={**LAKE, "is_slippery": False, "map_name": "8x8"})).mdp.layout
    env = gymnasium.make("FrozenLake-v1", is_slippery=False, map_name="8x8")
    assert layout == am.gym.from_gymnasium(env, 6).layout


def test_a_table_that_is_kept_does_not_hide_a_wrong_kind() -> None:
    assert one_run(mdp={**LAKE, "is_slippery": True})
    with pytest.raises(am.InvalidInput, match=r"mdp.is_slippery: 1 is neither true nor false"):
        one_run(mdp={**LAKE, "is_slippery": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "FrozenLak-v1"}, "mdp.id: 'FrozenLak-v1': .*Did you mean: `FrozenLake`"),
        ({"id": "Blackjack-v1"}, "mdp.env: .* no transition table P"),
        ({"horizont": 3}, "mdp.id: 'FrozenLake-v1': .*horizont"),
        ({"horizon": 0}, "mdp.horizon: 0 is not a whole number"),
        ({"is_slippery": "False"}, "mdp.is_slippery: 'False' is neither true nor false; write"),
        ({"start": 77}, "mdp.start: 77 is not in the observation_space"),
    ],
)
def test_worlds_that_gymnasium_does_not_have(change: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        one_run(mdp={**LAKE, **change})
    assert "\n" not in str(caught.value)


def test_without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    from advmdp.experiments import gymnasium_mdps

    gymnasium_mdps._table.cache_clear()
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "advmdp.gym", raising=False)
    with pytest.raises(am.MissingExtra, match=r"pip install 'advmdp\[gym\]'"):
        one_run(mdp=LAKE)
    with_range = one_run(mdp=LAKE, rewards={"low": 0, "high": 1})  # can be read, not played
    with pytest.raises(am.MissingExtra, match=r"pip install 'advmdp\[gym\]'"):
        build(with_range)


@pytest.mark.parametrize(
    "losses",
    [
        {"name": "stochastic"},
        {"name": "switching"},
        {"name": "majority", "adverse_share": 0.4, "period": 5},
        {"name": "turning", "means": "gap"},
        {"name": "drifting", "means": "place"},
        {"name": "corrupted", "n_corrupted": 10, "means": "natural"},
    ],
    ids=lambda losses: losses["name"],
)
def test_an_opening_layer_costs_nothing(losses: dict[str, Any]) -> None:
    parts = build(one_run(mdp=TAXI, losses=losses, learner="uniform", n_episodes=20))
    assert (parts.mdp.n_steps, parts.mdp.layout.n_layers) == (3, 4)
    stream = parts.losses.begin(parts.mdp.layout, parts.seed)
    opening = parts.mdp.layout.layer_rows(0)
    tables = [stream.table(t) for t in range(20)]
    assert not any(table[opening].any() for table in tables)
    assert all(table[opening.stop :].any() for table in tables)


def test_losses_that_would_charge_an_opening_are_refused() -> None:
    with pytest.raises(am.InvalidInput, match=r"losses.name: 'adaptive' would charge .* one start"):
        build(one_run(mdp=TAXI, losses="adaptive", learner="uniform"))
    assert build(one_run(mdp={**TAXI, "start": 1}, losses="adaptive", learner="uniform"))
