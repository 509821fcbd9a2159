"""Specs and sweeps: round trips, hashes, refusals, and common random numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advmdp as am
from advmdp.experiments.build import build
from advmdp.experiments.catalogue import LEARNERS, LOSSES, MDPS, Factory, check_parameters
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.sweep import SweepSpec
from tests.experiments.sweeps import one_run

MDP_EXAMPLES: dict[str, dict[str, Any]] = {
    "random": {"layer_sizes": [1, 2, 1], "n_actions": 2},
    "grid": {"width": 2, "height": 2, "horizon": 3},
    "river-swim": {"length": 3, "horizon": 4},
    "deep-sea": {"depth": 3},
    "combination-lock": {"length": 3, "n_actions": 2},
    "routing": {"width": 3, "depth": 2},
    "gymnasium": {"id": "FrozenLake-v1", "horizon": 3},
}
SPARSE = {"name": "random", "layer_sizes": "1,3,3,1", "n_actions": 2, "n_successors": 2}
HIDDEN = {"name": "corrupted", "means": "gap"}
LOSS_EXAMPLES: dict[str, dict[str, Any]] = {"corrupted": {"n_corrupted": 3}}


@given(
    learner=st.sampled_from(sorted(LEARNERS)),
    mdp=st.sampled_from(sorted(MDP_EXAMPLES)),
    losses=st.sampled_from(sorted(LOSSES)),
    n_episodes=st.integers(1, 2**31 - 1),
    seed=st.integers(0, 2**63 - 1),
    replicate=st.integers(0, 10**6),
    checkpoints=st.integers(1, 50) | st.lists(st.integers(1, 10**6), min_size=1, max_size=5),
    gap=st.floats(0.0, 0.5),
)
@settings(max_examples=60, deadline=None)
def test_round_trips(learner, mdp, losses, gap, **rest) -> None:  # type: ignore[no-untyped-def]
    spec = RunSpec(
        learner=learner,
        mdp={"name": mdp, **MDP_EXAMPLES[mdp]},
        losses={"name": losses, "gap": gap, **LOSS_EXAMPLES.get(losses, {})},
        **rest,
    )
    for again in (RunSpec.from_json(spec.to_json()), RunSpec.from_toml(spec.to_toml())):
        assert again == spec
        assert (again.id, again.hash) == (spec.id, spec.hash)


def test_the_examples_cover_the_catalogue() -> None:
    assert set(MDP_EXAMPLES) == set(MDPS)


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_can_be_built(name: str) -> None:
    learner = build(one_run(learner=name)).learner
    assert type(learner) is LEARNERS[name].make


@pytest.mark.parametrize("name", sorted(MDPS))
def test_every_mdp_can_be_built(name: str) -> None:
    mdp = build(one_run(mdp={"name": name, **MDP_EXAMPLES[name]})).mdp
    assert isinstance(mdp, am.LayeredMDP)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_every_loss_process_can_be_built(name: str) -> None:
    parts = build(one_run(losses={"name": name, **LOSS_EXAMPLES.get(name, {})}))
    table = parts.losses.begin(parts.mdp.layout, parts.seed).table(0)
    assert ((table >= 0.0) & (table <= 1.0)).all()


def test_every_field_changes_the_hash() -> None:
    changes: list[dict[str, Any]] = [
        {"learner": "uniform"},
        {"learner": {"name": "uob-reps", "eta_scale": 2}},
        {"mdp": {"name": "random", "layer_sizes": [1, 3, 4, 1], "n_actions": 2}},
        {"losses": "stochastic"},
        {"n_episodes": 301},
        {"seed": 1},
        {"replicate": 1},
        {"checkpoints": 11},
        {"rewards": {"low": -1, "high": 0}},
    ]
    hashes = {one_run().hash, *(one_run(**change).hash for change in changes)}
    assert len(hashes) == len(changes) + 1


def test_the_hash_is_of_the_content() -> None:
    assert (
        one_run(learner={"name": "uob-reps", "eta_scale": 2}).hash
        == one_run(learner={"eta_scale": 2.0, "name": "uob-reps"}).hash
    )
    assert one_run(learner="uob-reps").hash == one_run(learner={"name": "uob-reps"}).hash


@pytest.mark.parametrize(
    ("change", "id_and_hash"),
    [
        ({}, "majority_T300_s0r0_1bad7130b1263fd4df06f4c6b001cbaa"),
        (
            {"mdp": {"name": "deep-sea", "depth": 4}},
            "majority_T300_s0r0_cd406d5c6617b12f4c63c736eb30eed9",
        ),
        (
            {"learner": {"name": "uob-reps", "eta_scale": 2, "preset": "practical"}},
            "majority_T300_s0r0_e53d4dbce630b8932bd1fa95756ba4ce",
        ),
        (
            {"losses": {"name": "stochastic", "means": "gap", "gap": 0.25, "seed": 3}},
            "stochastic_T300_s0r0_0a0a0486a9071d1ac1885ce9775c4466",
        ),
        (
            {
                "mdp": {
                    "name": "random",
                    "layer_sizes": "1,3,3,1",
                    "n_actions": 2,
                    "n_successors": 2,
                }
            },
            "majority_T300_s0r0_9ec70e35c5bd00b2b8ffffe308805fe1",
        ),
        (
            {"checkpoints": [300, 1, 10], "seed": 7, "replicate": 5},
            "majority_T300_s7r5_0e8d82bac1edf055c4a68c7f7dd3bfde",
        ),
        (
            {"rewards": {"low": -1, "high": 2.5, "unit": "EUR"}},
            "majority_T300_s0r0_75d3d87fd5f75233475e773800acae2b",
        ),
        (
            {"mdp": {**MDP_EXAMPLES["gymnasium"], "name": "gymnasium"}},
            "majority_T300_s0r0_4177842b7705439fb96e7089275c6c83",
        ),
    ],
)
def test_hashes_are_pinned(change: dict[str, Any], id_and_hash: str) -> None:
    """Stored runs are found by their hashes: a change needs a new version of the spec."""
    spec = one_run(**change)
    assert f"{spec.id[:-10]}{spec.hash[:32]}".endswith(f"_{id_and_hash}")
    assert spec.id.endswith(f"_{spec.hash[:10]}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "uob-rep"}, r"learner: there is no 'uob-rep'; did you mean 'uob-reps'\?"),
        ({"mdp": "rivr-swim"}, r"mdp: there is no 'rivr-swim'; did you mean 'river-swim'\?"),
        ({"losses": "zebra"}, r"losses: there is no 'zebra'; choose from stochastic, "),
        ({"lerner": "uniform"}, r"lerner: no such key; did you mean 'learner'\?"),
        (
            {"learner": {"name": "uob-reps", "eta_scal": 2}},
            r"learner.eta_scal: 'uob-reps' has no such key; did you mean 'eta_scale'\?",
        ),
        ({"learner": {"name": "uniform", "x": 1}}, r"learner.x: 'uniform' has no such key"),
        ({"mdp": "random"}, r"mdp.layer_sizes: 'random' needs it"),
        ({"mdp": {"name": "deep-sea", "depth": 3, "seed": 1}}, r"mdp.seed: .* has no such key"),
        ({"n_episodes": 0}, r"n_episodes: 0: input should be greater than or equal to 1"),
        ({"n_episodes": 2**31}, r"n_episodes: "),
        ({"n_episodes": "10"}, r"n_episodes: '10': "),
        ({"n_episodes": True}, r"n_episodes: True: "),
        ({"seed": -1}, r"seed: -1: "),
        ({"seed": 2**63}, r"seed: 9223372036854775808: input should be less than 922337203685477"),
        ({"replicate": 2**63}, r"replicate: 9223372036854775808: input should be less than 9223"),
        ({"checkpoints": [0]}, r"checkpoints: give whole numbers of at least 1"),
        ({"checkpoints": []}, r"checkpoints: "),
        ({"checkpoints": [True]}, r"checkpoints.*: \[True\]: "),
        ({"learner": 3}, r"learner: 3: "),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        one_run(**change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": {"name": "uob-reps", "preset": "x"}}, "learner.preset: 'x' is neither"),
        ({"learner": {"name": "uob-reps", "delta": 2.0}}, "learner.delta: 2.0"),
        ({"losses": {"name": "stochastic", "means": "x"}}, "losses.means: 'x' is none of"),
        ({"losses": {"name": "stochastic", "means": "natural"}}, "has no natural loss"),
        ({"losses": {"name": "stochastic", "means": "gap", "gap": 0.7}}, "gap: 0.7 is above"),
        (
            {"losses": {"name": "majority", "gap": 0.1}},
            "gap: has no effect with means='uniform'; s",
        ),
        (
            {"losses": {"name": "corrupted", "n_corrupted": 1, "means": "natural", "gap": 0.2}},
            "losses.gap: has no effect with means='natural'; set means='gap' or means='place'",
        ),
        (
            {"losses": {"name": "corrupted", "n_corrupted": 1, "first_gap": 0.1}},
            "losses.first_gap: has no effect with means='uniform'",
        ),
        (
            {"losses": {**HIDDEN, "n_corrupted": 2, "first_gap": 0.7}},
            "losses.first_gap: 0.7 is above 0.5",
        ),
        (
            {"losses": {**HIDDEN, "n_corrupted": 301, "first_gap": 0.1}},
            "losses.n_corrupted: 301 is larger than 300",
        ),
        ({"checkpoints": [301]}, "checkpoints: give whole numbers between 1 and 300"),
    ],
)
def test_values_that_the_constructors_refuse(change: dict[str, Any], message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message):
        build(one_run(**change))


@pytest.mark.parametrize("means", ["gap", "place"])
def test_a_hidden_gap_changes_the_first_episodes_and_not_what_is_best(means: str) -> None:
    given = {"name": "corrupted", "means": means, "gap": 0.5}  # coins that never cost, where best
    parts = build(one_run(losses={**given, "n_corrupted": 70, "first_gap": 0.2}))
    usual = build(one_run(losses={**given, "n_corrupted": 0})).losses.mean
    stream = parts.losses.begin(parts.mdp.layout, seed=3)
    drawn = np.array([stream.table(t) for t in range(300)])
    best = usual == 0.0
    assert best.any()
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert 0.24 < drawn[:70, best].mean() < 0.36  # 0.3; four hundred flips, seed 3
    assert not drawn[70:, best].any()
    assert 0.4 < drawn[:, ~best].mean() < 0.6


FOUR = {"name": "grid", "width": 2, "height": 2, "horizon": 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"learner": {"name": "uob-reps", "eta_scale": ".5"}},
            "learner.eta_scale: '.5' is not a n",
        ),
        ({"learner": {"name": "uob-reps", "eta": True}}, "learner.eta: True is not a number"),
        ({"learner": {"name": "uob-reps", "eta": None}}, "learner.eta: None is not a number"),
        ({"learner": {"name": "uob-reps", "eta": [1, 2]}}, r"learner.eta: \[1, 2\] is not a num"),
        ({"learner": {"name": "uob-reps", "eta": ["a"]}}, r"learner.eta: \['a'\] is not a numb"),
        ({"learner": {"name": "uob-reps", "preset": 3}}, "learner.preset: 3 is not a string"),
        ({"learner": {"name": "fpop", "fresh": "no"}}, "learner.fresh: 'no' is neither true nor"),
        (
            {"learner": {"name": "ucrl2-window", "window": 2.5}},
            "learner.window: 2.5 is not a whole",
        ),
        ({"mdp": FOUR | {"pooled": "false"}}, "mdp.pooled: 'false' .*; write true or false"),
        ({"mdp": FOUR | {"pooled": 1}}, "mdp.pooled: 1 is neither true nor false"),
        ({"mdp": FOUR | {"width": "2"}}, "mdp.width: '2' is not a whole number"),
        ({"mdp": {"name": "random", "n_actions": 2, "layer_sizes": 7}}, "sizes: 7 is not a list"),
        (
            {"mdp": {"name": "random", "n_actions": 2, "layer_sizes": [1, "2", 1]}},
            r"mdp.layer_sizes\[1\]: '2' is not a whole number",
        ),
        ({"losses": {"name": "majority", "noisy": "False"}}, "losses.noisy: 'False' is neither"),
        ({"losses": {"name": "majority", "seed": "x"}}, "losses.seed: 'x' is not a whole number"),
        ({"losses": {"name": "stochastic", "means": 3}}, "losses.means: 3 is not a string"),
    ],
)
def test_values_of_the_wrong_kind(change: dict[str, Any], message: str) -> None:
    """Refused when the spec is made: Python takes the text "false" for true."""
    with pytest.raises(am.InvalidInput, match=message) as caught:
        one_run(**change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("what", "table"), [("learner", LEARNERS), ("mdp", MDPS), ("losses", LOSSES)]
)
def test_the_kind_of_every_parameter_is_known(what: str, table: dict[str, Factory]) -> None:
    for name, factory in table.items():
        good = MDP_EXAMPLES.get(name, LOSS_EXAMPLES.get(name, {}))
        for key in factory.known:
            with pytest.raises(am.InvalidInput, match=rf"{what}\.{key}: {{}} is "):
                check_parameters(factory, name, {**good, key: {}}, what)


def test_a_constructor_without_annotations_is_still_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(layout, *, steps, fast=False):  # type: ignore[no-untyped-def]
        return range(steps)

    monkeypatch.setitem(LEARNERS, "uniform", Factory(made))
    with pytest.raises(am.InvalidInput, match=r"learner: .* check the types of its parameters"):
        build(one_run(learner={"name": "uniform", "steps": "3"}))
    with pytest.raises(am.InvalidInput, match=r"learner.fast: 'no' is neither true nor false"):
        one_run(learner={"name": "uniform", "steps": 3, "fast": "no"})


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        one_run().n_episodes = 7


@pytest.mark.parametrize("text", ["[", "3", '{"a": }'])
def test_text_that_is_no_spec(text: str) -> None:
    with pytest.raises(am.InvalidInput, match="spec: "):
        RunSpec.from_json(text)


def test_common_random_numbers() -> None:
    """Learners of one replicate meet the same world; replicates and seeds differ."""

    def world(**change: Any) -> tuple[bytes, ...]:
        parts = build(one_run(**change))
        stream = parts.losses.begin(parts.mdp.layout, parts.seed)
        return parts.mdp.flat.tobytes(), *(stream.table(t).tobytes() for t in range(3))

    assert world() == world(learner="uniform") == world(learner={"name": "fpop"})
    for other in (world(replicate=1), world(seed=1)):
        assert all(mine != theirs for mine, theirs in zip(world(), other, strict=True))


def test_an_instance_can_be_kept_over_replicates() -> None:
    mdp = {"name": "random", "layer_sizes": [1, 3, 3, 1], "n_actions": 2, "seed": 5}
    losses = {"name": "stochastic", "seed": 6}
    first, second = (build(one_run(mdp=mdp, losses=losses, replicate=r)) for r in (0, 1))
    assert np.array_equal(first.mdp.flat, second.mdp.flat)
    assert np.array_equal(first.losses.mean, second.losses.mean)  # type: ignore[attr-defined]
    assert first.seed.spawn_key != second.seed.spawn_key


def test_gap_means() -> None:
    losses = build(one_run(losses={"name": "stochastic", "means": "gap", "gap": 0.1})).losses
    table = np.asarray(losses.mean).reshape(-1, 2)  # type: ignore[attr-defined]
    assert np.allclose(np.sort(table, axis=1), [0.4, 0.5])
    usual, written = (
        build(one_run(losses={"name": "stochastic", "means": "gap", **gap})).losses
        for gap in ({}, {"gap": 0.2})
    )
    assert np.array_equal(usual.mean, written.mean)  # type: ignore[attr-defined]


def test_sweeps_multiply() -> None:
    sweep = SweepSpec(
        learner=[{"name": ["uob-reps", "uob-reps-l1"], "eta_scale": [1, 2, 4]}, "uniform"],
        mdp={"name": "random", "layer_sizes": [[1, 2, 1], [1, 3, 1]], "n_actions": [2, 3]},
        losses=["stochastic", {"name": "majority", "period": 50}],
        n_episodes=[100, 200],
        replicates=3,
    )
    runs = sweep.runs()
    assert len(runs) == len({run.id for run in runs}) == (2 * 3 + 1) * (2 * 2) * 2 * 2 * 3
    assert runs[-1].replicate == 2
    assert [run.replicate for run in runs] == sorted(run.replicate for run in runs)
    labels = {run.learner.label for run in runs}
    assert labels == {
        "uniform",
        *("uob-reps", "uob-reps-l1"),  # eta_scale=1 is the default
        *(f"{name} eta_scale={s}" for name in ("uob-reps", "uob-reps-l1") for s in (2, 4)),
    }


def test_a_list_of_numbers_is_one_value_where_it_must_be() -> None:
    mdp = {"name": "random", "layer_sizes": [1, 2, 1], "n_actions": 2}
    for written in ([1, 2, 1], "1,2,1"):
        sweep = SweepSpec(learner="uniform", mdp=mdp | {"layer_sizes": written},
                          losses="stochastic", n_episodes=10)  # fmt: skip
        assert [run.mdp.parameters["layer_sizes"] for run in sweep.runs()] == [(1, 2, 1)]


def test_sweep_without_repetition_and_with_refusals() -> None:
    good: dict[str, Any] = json.loads(one_run().to_json())
    for key in ("replicate",):
        del good[key]
    assert len(SweepSpec(**good | {"learner": ["uniform", "uniform"]}).runs()) == 1
    for change, message in [
        ({"replicates": 0}, "replicates: 0"),
        ({"replicate": 1}, "replicate: no such key; did you mean 'replicates'"),
        ({"learner": 3}, "learner"),
        ({"seed": 2**63}, "seed: 9223372036854775808: input should be less than"),
        ({"n_episodes": True}, "n_episodes.0: True: input should be a valid integer"),
        ({"n_episodes": [10, "20"]}, "n_episodes.1: '20': input should be a valid integer"),
        ({"checkpoints": True}, "checkpoints.*: True: "),
        ({"n_episodes": []}, "n_episodes: the list is empty; give at least one value"),
        ({"learner": []}, "learner: the list is empty"),
        ({"mdp": []}, "mdp: the list is empty"),
        ({"losses": {"name": []}}, "losses.name: the list is empty"),
        ({"learner": {"name": "uob-reps", "eta_scale": []}}, "learner.eta_scale: the list is empt"),
        ({"mdp": {**MDP_EXAMPLES["random"], "name": "random", "layer_sizes": []}}, "layer_sizes: "),
    ]:
        with pytest.raises(am.InvalidInput, match=message):
            SweepSpec(**good | change)
