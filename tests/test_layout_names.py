"""Names of states and actions: in messages, in views, in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import advmdp as am

PLACES = [["gate"], ["north", "east", "south"], ["hall", "yard"]]
MOVES = ["walk", "ride"]
SUPPORT: Any = [
    [[[2, 0], [2, -1]]],  # east is never reached
    [[[0, 1], [0, -1]], [[1, -1], [1, -1]], [[1, 0], [1, -1]]],
    [[[0], [0]], [[0], [0]]],
]
NAMED = am.Layout((1, 3, 2, 1), 2, SUPPORT, state_names=PLACES, action_names=MOVES)


def test_states_are_called_by_their_declared_numbers_where_they_have_no_names() -> None:
    plain = am.Layout((1, 3, 2, 1), 2, SUPPORT)
    assert [plain.state_name(1, i) for i in (0, 1)] == ["0", "2"]
    assert plain.action_name(1, 1, 1) == "1"
    assert plain.name_of_row(5) == "layer 1, state 2, action 1"


def test_names_follow_the_states_that_are_kept() -> None:
    assert [NAMED.state_name(1, i) for i in (0, 1)] == ["north", "south"]
    assert NAMED.state_name(3, 0) == "0"  # the last layer was left out
    assert NAMED.name_of_row(5) == "layer 1, state south, action ride"
    table = [np.zeros((n, 2)) for n in (1, 2, 2)]
    table[1][1, 0] = np.nan
    with pytest.raises(am.InvalidInput, match="layer 1, state south, action walk"):
        NAMED.flat_pairs(table)


def test_each_state_may_have_names_of_its_own() -> None:
    own = [[["in", "out"]], [["up", "down"], ["left", "right"]]]
    layout = am.Layout((1, 2, 1), 2, action_names=own)
    assert layout.action_name(1, 1, 0) == "left"
    assert layout.action_name(0, 0, 1) == "out"


def test_views_from_start_states_keep_the_names() -> None:
    south = am.start_views(NAMED)[1].layout
    assert south.state_name(0, 0) == "south"
    assert {south.state_name(1, i) for i in range(south.layer_sizes[1])} == {"hall", "yard"}
    own = [[["in", "out"]], [["up", "down"], ["left", "right"]]]
    view = am.start_views(am.Layout((1, 2, 1), 2, action_names=own))[1].layout
    assert view.action_name(0, 0, 0) == "left"


def test_files_keep_them(tmp_path: Path) -> None:
    am.UOBREPS(NAMED, n_episodes=10).save(tmp_path / "named.am")
    again = am.load(tmp_path / "named.am").layout
    assert again.names == NAMED.names
    assert again == NAMED == am.Layout((1, 3, 2, 1), 2, SUPPORT)  # names are no part of equality
    own = am.Layout((1, 1), 2, action_names=[[["in", "out"]]])
    am.Uniform(own).save(tmp_path / "own.am")
    assert am.load(tmp_path / "own.am").layout.names == own.names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"state_names": [["a"]]}, "state_names: give 3 lists of names, one for each layer"),
        ({"state_names": [["a"], ["b"]]}, "state_names: layer 1: give 2 names in a list"),
        ({"state_names": [["a"], "bc"]}, "state_names: layer 1: give 2 names in a list"),
        ({"state_names": [["a"], ["b", 7]]}, "state_names: layer 1: 7 is not a name"),
        ({"state_names": [["a"], ["b", "b"]]}, "'b' names two"),
        ({"state_names": [["a"], ["b", "c\nd"]]}, "give text on one line"),
        ({"action_names": ["a"]}, "action_names: give 2 names in a list"),
        ({"action_names": [[["a", "b"]]]}, "action_names: give 2 names, or for each layer"),
        ({"action_names": [[["a", "b"]], [["c", "d"]]]}, "action_names: layer 1 needs 2 lists"),
    ],
)
def test_other_things_are_refused_in_one_line(given: Any, message: str) -> None:
    with pytest.raises(am.InvalidInput, match=message) as caught:
        am.Layout((1, 2, 1), 2, **given)
    assert "\n" not in str(caught.value)


def test_places_and_observations_give_names_to_every_layer() -> None:
    go = np.full((2, 2, 2), 0.5)
    mdp = am.time_expand(
        go, 3, start=[0.5, 0.5], state_names=["home", "away"], action_names=["stay", "go"]
    )
    assert mdp.layout.name_of_row(0) == "layer 0, state opening, action stay"
    assert mdp.layout.name_of_row(9) == "layer 2, state away, action go"
    lake = am.gym.from_gymnasium("FrozenLake-v1", horizon=4)
    assert lake.layout.state_name(0, 0) == "0"
    assert lake.layout.state_name(3, lake.layout.layer_sizes[3] - 1) == "finished"
    hands = am.gym.unroll("Blackjack-v1", 2, am.Rewards(-1, 1), starts=[(4, 1, 0)])
    assert hands.layout.state_name(0, 0) == "(4, 1, 0)"
    assert hands.layout.state_name(1, 0) == "(0, 0, 0)"
    with pytest.raises(am.InvalidInput, match="state_names: give 2 names, one for each place"):
        am.time_expand(go, 3, state_names=["home"])
