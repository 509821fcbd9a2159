"""Services as the page sees them: losses, policies, and what has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advmdp as am
from advmdp.errors import DamagedFile
from advmdp.reports.figures.layered_graph import layered_graph
from advmdp.service.looking import look_at
from advmdp.service.loss_history import MOST_BLOCKS, LossHistory, total_loss
from advmdp.web.page.service_state import (
    DAY_SECONDS,
    RECORD_SECONDS,
    ServiceWatch,
    change_since,
    kept_records,
    loss_panel,
)

LAYOUT = am.Layout(layer_sizes=(1, 3, 3, 1), n_actions=2)


def served_episodes(service: am.Service, number: int, seed: int = 0) -> list[float]:
    """Play episodes in which action 1 is the expensive one; returns their losses."""
    rng = np.random.default_rng(seed)
    totals = []
    for _ in range(number):
        ticket, states, actions = service.begin(), [0], []
        for k in range(3):
            actions.append(int(rng.choice(2, p=ticket.policy[k][states[-1]])))
            states.append(int(rng.integers(LAYOUT.layer_sizes[k + 1])))
        losses = [float(rng.random() < 0.2 + 0.6 * action) for action in actions]
        totals.append(sum(losses))
        service.finish(ticket, {"states": states, "actions": actions, "losses": losses})
    return totals


@given(st.lists(st.floats(0.0, 10.0), max_size=3 * MOST_BLOCKS), st.integers(0, 1000))
def test_blocks_hold_all_losses(losses: list[float], again: int) -> None:
    history = LossHistory()
    for i, loss in enumerate(losses):
        history.add(loss)
        if i == again:  # killed and loaded
            loaded = LossHistory()
            loaded.restore(history.contents())
            history = loaded
    blocks = history.blocks()
    assert blocks.length.sum() == len(losses)
    assert len(blocks.mean) <= MOST_BLOCKS
    begin = 0
    for i, end in enumerate(blocks.episodes.astype(int)):
        part = np.array(losses[begin:end])
        assert blocks.mean[i] == pytest.approx(part.mean())
        assert blocks.deviation[i] == pytest.approx(part.std(), abs=1e-6)
        begin = end


def test_losses_of_every_kind_of_feedback() -> None:
    tables = [np.arange(n * 2, dtype=float).reshape(n, 2) for n in (1, 3, 3)]
    path: dict[str, Any] = {"states": [0, 2, 1, 0], "actions": [1, 0, 1]}
    full = am.FullInformation(**path, losses=tables)
    learner = am.UCOREPS(LAYOUT, n_episodes=10)
    assert total_loss(full, learner) == 1.0 + 4.0 + 3.0
    flat = am.FullInformation(**path, losses=np.concatenate([t.ravel() for t in tables]))
    assert total_loss(flat, learner) == 8.0
    assert total_loss(am.Aggregate(**path, total=2.5), learner) == 2.5
    assert total_loss(am.Trajectory(**path, losses=[0.5, 0.5, 1.0]), learner) == 2.0
    assert total_loss("something else", learner) is None


def test_the_history_outlives_the_process(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    service = am.Service(am.UOBREPS(LAYOUT, n_episodes=100), folder, every=7)
    totals = served_episodes(service, 17)
    service.close()
    again = am.Service.load(folder)
    blocks = look_at(again).losses
    assert blocks.mean.tolist() == totals
    again.save()
    again.close()


@pytest.mark.parametrize(
    "change",
    [
        {"history.sums": np.full((3, 3), np.nan)},
        {"history.sums": np.ones((3, 2))},
        {"history.sums": np.ones((600, 3))},
        {"history.length": np.array(0)},
    ],
)
def test_histories_that_nobody_wrote(change: dict[str, Any], tmp_path: Path) -> None:
    from advmdp.files.archive import read_archive, write_archive

    service = am.Service(am.Exp3IX(LAYOUT, n_episodes=100))
    served_episodes(service, 3)
    service.save(tmp_path / "file.am")
    header, arrays = read_archive(tmp_path / "file.am", "service")
    write_archive(tmp_path / "file.am", "service", header, arrays | change)
    with pytest.raises(DamagedFile):
        am.Service.load(tmp_path / "file.am")


def test_the_moving_mean_and_its_band() -> None:
    history, rng = LossHistory(), np.random.default_rng(0)
    losses = rng.normal(1.0, 0.5, size=480)
    for loss in losses:
        history.add(float(loss))
    panel = loss_panel(history.blocks())
    assert panel is not None
    line = panel.series[0]
    window = losses[-20:]  # 480 blocks of one episode: the mean of a twenty-fourth of them
    assert line.y[-1] == pytest.approx(window.mean())
    half = 1.96 * window.std(ddof=1) / np.sqrt(20)
    assert line.high is not None
    assert line.high[-1] - line.y[-1] == pytest.approx(half)
    assert loss_panel(LossHistory().blocks()) is None


def test_a_view_of_a_service() -> None:
    service = am.Service(am.UOBREPS(LAYOUT, n_episodes=2000))
    watch = ServiceWatch(service)
    json.dumps(watch.state(), allow_nan=False)  # before the first episode
    before = service.learner.policy()[0][0, 1]
    totals = served_episodes(service, 400)
    service.begin()
    state = watch.state()
    json.dumps(state, allow_nan=False)
    told = state["summary"]["service"]
    assert (told["finished"], told["open"], told["epoch"]) == (400, 1, service.learner.epoch)
    assert told["loss"] == pytest.approx(np.mean(totals[-16:]), abs=1e-4)
    assert list(state["tickets"]) == ["401"]
    assert set(state["panels"]) == {"loss", "epoch", "width"}
    starts = state["panels"]["epoch"]["series"][0]
    assert starts["y"][-1] == service.learner.epoch
    change = state["change"]["policy"]
    assert change["a_day"] is False
    assert change["episodes"] == 400
    pairs = {tuple(pair[:3]): pair[3:] for pair in change["pairs"]}
    now = service.learner.policy()[0][0, 1]
    assert pairs[0, "0", "1"] == pytest.approx([before, now], abs=1e-4)
    graph = state["graph"]["graph"]
    flow = sum(chance for row, _, chance in graph["flows"] if row < 2)
    assert flow == pytest.approx(1.0, abs=0.02)


def test_the_graph_without_a_flow_and_of_many_states() -> None:
    large = am.Layout(layer_sizes=(1, 40, 1), n_actions=9)
    policy = np.full(large.n_rows, 1 / 9)
    graph = layered_graph(large, None, policy)
    assert [len(layer) for layer in graph.layers] == [1, 10, 1]
    assert graph.hidden == [0, 30, 0]
    assert graph.flows == []
    assert len(graph.layers[0][0].actions) == 6


def test_learners_without_a_measure_are_drawn_under_what_they_have_seen() -> None:
    for learner in (am.Exp3IX(LAYOUT, n_episodes=50), am.UCBVIBF(LAYOUT, n_episodes=50)):
        service = am.Service(learner)
        served_episodes(service, 20)
        look = look_at(service)
        assert look.policy is not None
        assert (look.flow is None) or look.flow.sum() == pytest.approx(3.0)


def test_yesterday_is_the_latest_policy_that_is_a_day_old() -> None:
    service = am.Service(am.Exp3IX(LAYOUT, n_episodes=100))
    look = look_at(service)
    records: list[Any] = []
    hours = np.arange(0, 60) * 3600.0
    for now in hours:
        records = kept_records(records, look._replace(finished=int(now)), float(now))
        assert records[0].time == max(0.0, now - DAY_SECONDS)
        change = change_since(records[0], look, float(now))
        assert change["a_day"] is bool(now >= DAY_SECONDS)
    assert len(records) <= 1 + DAY_SECONDS / RECORD_SECONDS
    assert len(kept_records(records, look, hours[-1] + 1.0)) == len(records)
