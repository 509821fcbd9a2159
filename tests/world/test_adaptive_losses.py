"""The loss processes that look at the past: only at the past, and without sharing state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from advmdp.errors import InvalidInput
from advmdp.layout import Floats, Layout
from advmdp.world.loss_streams import LossStream
from advmdp.world.losses import Adaptive, Custom, History, LossProcess, Stochastic

LAYOUT = Layout((1, 3, 2, 1), n_actions=2)
BASE = np.random.default_rng(1).uniform(0.1, 0.4, LAYOUT.n_rows)


def path(rng: np.random.Generator) -> np.ndarray:
    """The rows of a random walk through the layers."""
    states = [int(rng.integers(n)) for n in LAYOUT.layer_sizes[:-1]]
    actions = rng.integers(2, size=3)
    return (np.array(states) + LAYOUT.layer_start[:-2]) * 2 + actions


def popular_last(episode: int, history: History) -> Floats:
    """A custom adversary: the losses of the pairs met in the last episode are halved."""
    table = np.full(LAYOUT.n_rows, 0.5)
    if history:
        last = history[-1]
        table[(last.states + LAYOUT.layer_start[:-2]) * 2 + last.actions] = last.losses / 2
    return table


REACTIVE: dict[str, LossProcess] = {
    "adaptive": Adaptive(BASE, strength=0.5, memory=0.8),
    "noisy": Adaptive(BASE, strength=0.5, memory=0.8, noisy=True),
    "custom": Custom(popular_last),
}


def advance(stream: LossStream, episodes: range, rng: np.random.Generator) -> list[Floats]:
    seen = []
    for t in episodes:
        losses = stream.table(t)
        rows = path(rng)
        stream.observe(rows, losses[rows])
        seen.append(losses)
    return seen


@pytest.mark.parametrize("process", REACTIVE.values(), ids=REACTIVE.keys())
def test_losses_of_an_episode_depend_on_earlier_episodes_only(process: LossProcess) -> None:
    """Two runs with the same past and different walks in episode 20: equal until then."""
    one, two = process.begin(LAYOUT, 3), process.begin(LAYOUT, 3)
    advance(one, range(20), np.random.default_rng(4))
    advance(two, range(20), np.random.default_rng(4))
    losses = one.table(20)
    assert np.array_equal(losses, one.table(20))  # asking changes nothing
    assert np.array_equal(losses, two.table(20))
    first, last = np.array([0, 2, 8]), np.array([1, 7, 11])
    for t in range(20, 40):
        one.observe(first, one.table(t)[first])
        two.observe(last, two.table(t)[last])
    assert not np.array_equal(one.table(40), two.table(40))


def test_adaptive_punishes_what_is_played_and_forgets() -> None:
    stream = Adaptive(BASE, strength=0.5, memory=0.9).begin(LAYOUT, 0)
    played, other = np.array([0, 2, 8]), np.array([1, 7, 11])
    for t in range(200):
        losses = stream.table(t)
        stream.observe(played, losses[played])
    punished = stream.table(200)
    assert np.allclose(punished[played], BASE[played] + 0.5, rtol=0, atol=1e-8)
    assert np.array_equal(np.delete(punished, played), np.delete(BASE, played))
    for t in range(200, 400):
        losses = stream.table(t)
        stream.observe(other, losses[other])
    assert np.allclose(stream.table(400)[played], BASE[played], rtol=0, atol=1e-8)


def test_adaptive_losses_are_capped_at_one() -> None:
    stream = Adaptive(np.full(LAYOUT.n_rows, 0.9), strength=1.0, memory=0.0).begin(LAYOUT, 0)
    stream.observe(np.array([0, 2, 8]), np.ones(3))
    assert stream.table(1).max() == 1.0


@pytest.mark.parametrize("process", REACTIVE.values(), ids=REACTIVE.keys())
def test_streams_of_one_process_are_independent(process: LossProcess) -> None:
    busy, idle = process.begin(LAYOUT, 0), process.begin(LAYOUT, 0)
    fresh = idle.table(0)
    advance(busy, range(10), np.random.default_rng(0))
    assert np.array_equal(idle.table(0), fresh)


@pytest.mark.parametrize(
    "process", [*REACTIVE.values(), Stochastic(BASE)], ids=[*REACTIVE.keys(), "stochastic"]
)
def test_a_restored_stream_continues_as_if_never_stopped(process: LossProcess) -> None:
    whole = process.begin(LAYOUT, 5)
    advance(whole, range(12), np.random.default_rng(1))
    saved = whole.state()
    resumed = process.begin(LAYOUT, 5)
    resumed.restore(saved)
    rest = advance(whole, range(12, 20), np.random.default_rng(2))
    assert np.array_equal(rest, advance(resumed, range(12, 20), np.random.default_rng(2)))
    # what was saved is a snapshot, not a window
    again = process.begin(LAYOUT, 5)
    again.restore(saved)
    assert np.array_equal(again.table(12), rest[0])


@pytest.mark.parametrize("process", [REACTIVE["adaptive"], REACTIVE["custom"]])
def test_a_state_of_another_layout_is_refused(process: LossProcess) -> None:
    other = Layout((1, 3, 3, 3, 1), 2)
    foreign = Adaptive(np.zeros(other.n_rows)).begin(other, 0).state()
    foreign |= Custom(lambda t, h: None).begin(other, 0).state()
    stream = process.begin(LAYOUT, 0)
    with pytest.raises(InvalidInput, match="restore into the same layout"):
        stream.restore(foreign)


def test_history_shows_states_within_their_layers() -> None:
    seen: list[Any] = []

    def look(episode: int, history: History) -> Floats:
        seen.append((episode, len(history), [h.losses.tolist() for h in history[-2:]]))
        return np.zeros(LAYOUT.n_rows)

    stream = Custom(look).begin(LAYOUT, 0)
    for t in range(3):
        stream.table(t)
        stream.observe(np.array([1, 6, 11]), np.array([0.1, 0.2, 0.3]) * t)
    assert seen == [(0, 0, []), (1, 1, [[0, 0, 0]]), (2, 2, [[0, 0, 0], [0.1, 0.2, 0.3]])]
    history = History(LAYOUT, [np.array([1, 6, 11])], [np.array([0.1, 0.2, 0.3])])
    (episode,) = history
    assert episode.states.tolist() == [0, 2, 1]
    assert episode.actions.tolist() == [1, 0, 1]
    episode.losses[:] = 9.0
    assert history[0].losses.tolist() == [0.1, 0.2, 0.3]


def bad_table(value: float) -> list[np.ndarray]:
    table = LAYOUT.pairs(BASE.copy())
    table[1][2, 0] = value
    return table


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (bad_table(1.5), "losses of episode 2: 1.5 at layer 1, state 2, action 0; losses lie in"),
        (bad_table(-0.5), "losses of episode 2: -0.5 at layer 1, state 2, action 0"),
        (bad_table(np.nan), "losses of episode 2: nan at layer 1, state 2, action 0"),
        (None, "losses of episode 2: give a list of 3 arrays"),
        (np.zeros(3), "losses of episode 2: a flat vector needs 12 values"),
    ],
)
def test_a_bad_custom_table_is_refused_before_anything_changes(given: Any, message: str) -> None:
    stream = Custom(lambda t, h: given if t == 2 else BASE).begin(LAYOUT, 0)
    advance(stream, range(2), np.random.default_rng(0))
    before = stream.state()
    with pytest.raises(InvalidInput) as caught:
        stream.table(2)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    after = stream.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert len(before["rows"]) == 2
