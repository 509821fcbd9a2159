"""Wrong arguments at every public door are refused in one line, by an error of ours.

Each argument of a valid call is replaced in turn by every wrong value; whatever passes must be of a
kind that allows it.  The same with every table in another type.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import advmdp as am
from tests.doors import DOORS, LAYOUT, MAY_PASS, MDP, PAIRS, TRANSITIONS


class Whatever:
    """A class, where an object is wanted."""

    def __init__(self, *arguments: Any) -> None:
        pass


WRONG: dict[str, Any] = {
    "none": None,
    "text": "text",
    "digit": "1",
    "bytes": b"",
    "object": object(),
    "list": [],
    "dict": {},
    "nan": np.nan,
    "inf": np.inf,
    "minus one": -1,
    "huge": 10**400,
    "complex": 1 + 2j,
    "complex64": np.complex64(1),
    "true": True,
    "numpy true": np.True_,
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "masked number": np.ma.masked,
    "date": np.datetime64("2020-01-01"),
    "duration": np.timedelta64(3, "D"),
    "array": np.array(3.0),
    "ragged": [[1], [1, 2]],
    "ragged deep": [[[1.0]], [[1.0], [2.0, [3.0]]]],
    "function": lambda *arguments: None,
    "class": Whatever,
}
RECORDS = {
    *(
        "Minimum",
        "Comparator",
        "Moment",
        "Recorded",
        "Progress",
        "Projection",
        "RewardCurves",
        "Run",
        "StartView",
        "StartsRun",
        "Learner",
    ),
    *("losses.History", "losses.LossProcess", "losses.LossStream", "losses.PlayedEpisode"),
    *("gym.EnvironmentProgress", "gym.EnvironmentRun", "gym.Tabular", "gym.Unrolled"),
}
"""What the package hands out, and protocols: nobody makes them to pass them in."""


def refusal(door: Any, arguments: dict[str, Any]) -> str | None:
    """The message of our error; None if the call passed."""
    try:
        door(**arguments)
    except am.AdvMDPError as error:
        message = str(error)
        assert 0 < len(message) < 400, message
        assert "\n" not in message
        return message
    return None


@pytest.mark.parametrize("name", DOORS)
def test_wrong_arguments_are_refused(name: str) -> None:
    door, described = DOORS[name]
    valid = {argument: value for argument, (_, value) in described.items()}
    passed = []
    for argument, (kind, _) in described.items():
        allowed = MAY_PASS[kind] | ({"numpy true"} if "true" in MAY_PASS[kind] else set())
        for label, wrong in WRONG.items():
            try:
                message = refusal(door, valid | {argument: wrong})
            except Exception as error:
                raise AssertionError(f"{argument}={label}: {error!r}") from error
            if message is None and label not in allowed:
                passed.append((argument, label))
    assert not passed
    assert refusal(door, valid) is None  # nothing that was passed in has suffered


TABLES = ("table", "maybe table", "numbers")


@pytest.mark.parametrize("name", DOORS)
def test_tables_of_other_types_are_refused(name: str) -> None:
    door, described = DOORS[name]
    valid = {argument: value for argument, (_, value) in described.items()}
    tables = [argument for argument, (kind, _) in described.items() if kind in TABLES]
    for argument in tables:
        for label, change in OTHER_TYPES.items():
            altered = changed(valid[argument], change)
            assert refusal(door, valid | {argument: altered}) is not None, (argument, label)
        for change in SAME_NUMBERS:
            altered = changed(valid[argument], change)
            assert refusal(door, valid | {argument: altered}) is None, argument


def with_one_masked(array: Any) -> Any:
    mask = np.zeros(np.shape(array), dtype=np.bool_)
    mask[(0,) * mask.ndim] = True
    return np.ma.array(array, mask=mask)


OTHER_TYPES: dict[str, Any] = {
    "complex": lambda array: np.asarray(array) + 1j,
    "complex without an imaginary part": lambda array: np.asarray(array) + 0j,
    "masked": with_one_masked,
    "masked rows": lambda array: list(with_one_masked(array)),
    "dates": lambda array: np.ones(np.shape(array), dtype="datetime64[s]"),
    "durations": lambda array: np.ones(np.shape(array), dtype="timedelta64[s]"),
    "text": lambda array: np.asarray(array).astype(str),
    "list of text": lambda array: np.asarray(array).astype(str).tolist(),
    "truth": lambda array: np.asarray(array).astype(np.bool_),
    "objects": lambda array: np.full(np.shape(array), None),
    "truth in a list": lambda array: with_truth(np.asarray(array).tolist()),
}
SAME_NUMBERS = [
    lambda array: np.asarray(array),
    lambda array: np.asarray(array).tolist(),
    lambda array: np.ma.array(array),
    lambda array: np.asarray(array).astype(np.asarray(array).dtype.kind + "4"),
]


def with_truth(nested: Any) -> Any:
    """The same list with True as its first element."""
    if not isinstance(nested, list):
        return True
    return [with_truth(nested[0]), *nested[1:]]


def changed(table: Any, change: Any) -> Any:
    """A table with every array changed; a list of arrays is one, a list of numbers an array."""
    if isinstance(table, list) and not isinstance(table[0], int | float):
        return [changed(part, change) for part in table]
    return change(table)


def test_every_public_name_has_a_door() -> None:
    rooms = {"": am, "losses.": am.losses, "families.": am.families, "gym.": am.gym}
    public = {
        prefix + name: getattr(room, name)
        for prefix, room in rooms.items()
        for name in room.__all__
    }
    wanted = {
        name
        for name, value in public.items()
        if callable(value)
        and not (inspect.isclass(value) and issubclass(value, BaseException))
        and name not in RECORDS
    }
    assert wanted <= DOORS.keys()
    for name in wanted & DOORS.keys():
        door, described = DOORS[name]
        if door is public[name] and name not in ("Doubling", "PerContext", "OREPSBandit"):
            assert set(described) == set(inspect.signature(door).parameters), name


def test_an_opening_is_none_or_one_layer() -> None:
    for opening in (-7, 2, True, 0.5):
        with pytest.raises(am.InvalidInput, match="opening"):
            am.LayeredMDP(LAYOUT, TRANSITIONS, opening=opening)
    assert am.LayeredMDP(LAYOUT, TRANSITIONS, opening=np.int8(1)).n_steps == 2


def test_a_ticket_needs_the_whole_policy() -> None:
    service = am.Service(am.UOBREPS(LAYOUT, 10))
    ticket = service.begin()
    feedback = am.Trajectory([0, 0, 0, 0], [0, 0, 0], [0.5, 0.5, 0.5])
    for policy in ([], ticket.policy[:1], [*ticket.policy, PAIRS[0]], None, PAIRS[0]):
        with pytest.raises(am.InvalidInput, match="another policy"):
            service.finish(am.Ticket(1, policy), feedback)
    service.finish(ticket, feedback)
    assert (service.finished, service.abandoned) == (1, 0)


def test_rows_are_marked_by_truth_values_or_numbers() -> None:
    marks = [np.array(table) for table in MDP.deterministic_rows]
    by_numbers = MDP.with_known_rows(marks).layout.known
    by_truth = MDP.with_known_rows([mark == 1.0 for mark in marks]).layout.known
    assert by_numbers is not None
    assert by_truth is not None
    assert np.array_equal(by_numbers[0], by_truth[0])
    for wrong in (None, "text", 5, [None] * 3, [m + 1j for m in marks]):
        with pytest.raises(am.InvalidInput, match="rows"):
            MDP.with_known_rows(wrong)
