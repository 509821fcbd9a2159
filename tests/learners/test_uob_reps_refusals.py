"""What UOB-REPS refuses, and that a refusal leaves no trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.reference.plain_uob_reps import Episode, random_episodes
from tests.reference.tables import Table, greatest_difference

SIZES = (1, 2, 3, 1)
# State 0 of layer 1 leads to 0 or 1, state 1 leads to 1 or 2.
SUPPORT = [
    np.ones((1, 2, 2), dtype=bool),
    np.repeat(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)[:, None], 2, axis=1),
    np.ones((3, 2, 1), dtype=bool),
]
KERNEL: Table = [mask / mask.sum(axis=2, keepdims=True) for mask in SUPPORT]
GOOD: dict[str, Any] = {
    "n_episodes": 50,
    "delta": 0.1,
    "eta": 0.5,
    "gamma": 0.05,
    "log_scale": 0.01,
}


def layout() -> am.Layout:
    return am.Layout(layer_sizes=SIZES, n_actions=2, successors=SUPPORT)


def fed(episodes: list[Episode]) -> am.UOBREPS:
    learner = am.UOBREPS(layout(), **GOOD)
    for episode in episodes:
        learner.update(am.Trajectory(episode.states, episode.actions, episode.losses))
    return learner


def bad_trajectory(
    states: tuple[Any, ...] = (0, 1, 2, 0),
    actions: tuple[Any, ...] = (0, 1, 1),
    losses: tuple[float, ...] = (0.2, 0.4, 0.6),
) -> tuple[Any, Any, Any]:
    """A good trajectory with one part replaced."""
    return states, actions, losses


# For each: the trajectory, and what its one-line message has to name.
BAD: dict[str, tuple[tuple[Any, Any, Any], str]] = {
    "too few states": (bad_trajectory(states=(0, 1, 2)), "(?i)state"),
    "too many states": (bad_trajectory(states=(0, 1, 2, 0, 0)), "(?i)state"),
    "too few actions": (bad_trajectory(actions=(0, 1)), "(?i)action"),
    "too many actions": (bad_trajectory(actions=(0, 1, 1, 0)), "(?i)action"),
    "too few losses": (bad_trajectory(losses=(0.2, 0.4)), "(?i)loss"),
    "too many losses": (bad_trajectory(losses=(0.2, 0.4, 0.6, 0.8)), "(?i)loss"),
    "nothing at all": (bad_trajectory((), (), ()), "(?i)state|action|loss"),
    "state beyond its layer": (bad_trajectory(states=(0, 2, 2, 0)), r"(?i)state.*\b2\b"),
    "negative state": (bad_trajectory(states=(0, -1, 2, 0)), r"(?i)state.*-1"),
    "wrong first state": (bad_trajectory(states=(1, 1, 2, 0)), r"(?i)state.*\b1\b"),
    "wrong last state": (bad_trajectory(states=(0, 1, 2, 1)), r"(?i)state.*\b1\b"),
    "action beyond the last": (bad_trajectory(actions=(0, 2, 1)), r"(?i)action.*\b2\b"),
    "negative action": (bad_trajectory(actions=(0, -1, 1)), r"(?i)action.*-1"),
    "undeclared transition": (bad_trajectory(states=(0, 0, 2, 0)), r"(?i)layer 1\b"),
    "loss is nan": (bad_trajectory(losses=(0.2, 0.4, math.nan)), r"(?i)loss.*\b2\b"),
    "loss is inf": (bad_trajectory(losses=(0.2, 0.4, math.inf)), r"(?i)loss.*\b2\b"),
    "loss is -inf": (bad_trajectory(losses=(0.2, 0.4, -math.inf)), r"(?i)loss.*\b2\b"),
    "loss below zero": (bad_trajectory(losses=(0.2, 0.4, -1e-9)), r"(?i)loss.*\b2\b"),
    "loss above one": (bad_trajectory(losses=(0.2, 0.4, 1.0 + 1e-9)), r"(?i)loss.*\b2\b"),
}


def arrays_of(parts: tuple[Any, Any, Any]) -> am.Trajectory:
    """As ``play`` makes it: such a trajectory is checked by a kernel, others in Python."""
    kinds = (np.int64, np.int64, np.float64)
    return am.Trajectory(*(np.array(*given) for given in zip(parts, kinds, strict=True)))


FORMS = {"numbers": lambda parts: am.Trajectory(*parts), "arrays": arrays_of}
both_forms = pytest.mark.parametrize("form", FORMS)


@both_forms
@pytest.mark.parametrize("name", BAD)
def test_bad_trajectory_is_refused_without_a_trace(name: str, form: str) -> None:
    episodes = list(random_episodes(2, KERNEL, 12))
    learner, twin = fed(episodes[:6]), fed(episodes[:6])
    parts, place = BAD[name]
    with pytest.raises(am.InvalidInput, match=place) as caught:
        learner.update(FORMS[form](parts))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert learner.epoch == twin.epoch
    assert greatest_difference(learner.policy(), twin.policy()) == 0.0
    assert greatest_difference(learner.occupancy(), twin.occupancy()) == 0.0
    np.testing.assert_array_equal(learner.upper_occupancy_of_last, twin.upper_occupancy_of_last)
    for episode in episodes[6:]:
        for each in (learner, twin):
            each.update(am.Trajectory(episode.states, episode.actions, episode.losses))
        assert learner.epoch == twin.epoch
        assert greatest_difference(learner.policy(), twin.policy()) == 0.0


@both_forms
def test_the_unaltered_trajectory_is_accepted(form: str) -> None:
    # Otherwise the cases above could be refused for the wrong reason.
    learner = fed([])
    learner.update(FORMS[form](bad_trajectory()))
    assert learner.epoch == 2


@both_forms
@pytest.mark.parametrize("losses", [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)])
def test_the_ends_of_the_loss_range_are_accepted(losses: tuple[float, ...], form: str) -> None:
    learner = fed([])
    learner.update(FORMS[form](bad_trajectory(losses=losses)))
    assert learner.epoch == 2


BAD_PARAMETERS = [
    ("delta", 0.0),
    ("delta", 1.0),
    ("delta", -0.1),
    ("delta", 1.5),
    ("delta", math.nan),
    ("n_episodes", 0),
    ("n_episodes", -3),
    ("eta", -0.1),
    ("eta", math.nan),
    ("eta", math.inf),
    ("gamma", -0.1),
    ("gamma", math.nan),
    ("gamma", math.inf),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS)
def test_bad_parameter_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(am.InvalidInput, match=name) as caught:
        am.UOBREPS(layout(), **{**GOOD, name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["eta_scale", "gamma_scale", "log_scale"])
def test_negative_scale_is_refused_by_name(name: str) -> None:
    parameters: dict[str, Any] = {"n_episodes": 50, "delta": 0.1, name: -1.0}
    with pytest.raises(am.InvalidInput, match=name):
        am.UOBREPS(layout(), **parameters)
