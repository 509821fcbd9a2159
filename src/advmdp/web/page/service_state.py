"""The state of a service's view: losses, policy, epochs, open episodes, and what has changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from advmdp.layout import Floats, Layout
from advmdp.reports.figures.layered_graph import layered_graph
from advmdp.reports.figures.panels import EPISODES, Panel, Series
from advmdp.reports.html.self_contained import PALETTES, panel_data
from advmdp.service import Service
from advmdp.service.looking import Look, look_at
from advmdp.service.loss_history import LossBlocks
from advmdp.web.page.states import State

DAY_SECONDS = 86_400.0
RECORD_SECONDS = 600.0  # between two policies that are kept to compare with
MOST_WIDTHS = 400  # points of the curve of widths
MOST_CHANGES = 8  # that are listed
LEAST_CHANGE = 0.005  # of a probability that is worth a line
SMOOTHED = 24  # points of the moving mean
LOSS, WIDTH, EPOCH = "loss", "width", "epoch"


class Record(NamedTuple):
    """A policy of the past."""

    time: float
    finished: int
    policy: Floats


class ServiceWatch:
    """A service, and what is remembered of it since the server began."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._widths: list[tuple[int, float]] = []
        self.note()

    def note(self) -> Look:
        """Look at the service; the policy is kept now and then, to compare later ones with."""
        look = look_at(self._service)
        with self._lock:
            self._records = kept_records(self._records, look, time.time())
            if look.width is not None and (not self._widths or self._widths[-1][0] < look.finished):
                self._widths.append((look.finished, look.width))
                if len(self._widths) > MOST_WIDTHS:
                    self._widths = self._widths[::2]
        return look

    def summary(self) -> dict[str, Any]:
        """Its line in the overview."""
        look = self.note()
        return _summary(look, self._service)

    def state(self) -> State:
        """Everything that its view shows."""
        look = self.note()
        with self._lock:
            first, widths = self._records[:1], list(self._widths)
        panels = {"loss": loss_panel(look.losses), "epoch": _epoch_panel(look)}
        panels["width"] = _width_panel(widths)
        shown = {name: panel for name, panel in panels.items() if panel is not None}
        graph = None
        if look.layout is not None and look.policy is not None:
            graph = layered_graph(look.layout, look.flow, look.policy).data()
        styles = {LOSS: (0, 0), EPOCH: (1, 0), WIDTH: (2, 0)}
        return {
            "summary": {
                "service": _summary(look, self._service),
                "look": {**PALETTES, "styles": styles, "thin": []},
            },
            "panels": {name: panel_data([panel])[0] for name, panel in shown.items()},
            "graph": {} if graph is None else {"graph": graph},
            "tickets": {str(number): {"context": context} for number, context in look.open},
            "change": {"policy": change_since(first[0], look)} if first else {},
        }


def kept_records(records: Sequence[Record], look: Look, now: float) -> list[Record]:
    """The records with a new one if it is time; first stands the latest that is a day old.

    Until a day has passed, first stands the policy of the moment when the server began.
    """
    kept = list(records)
    if look.policy is not None and (not kept or now - kept[-1].time >= RECORD_SECONDS):
        kept.append(Record(now, look.finished, look.policy))
    while len(kept) > 1 and now - kept[1].time >= DAY_SECONDS:
        kept.pop(0)
    return kept


def change_since(record: Record, look: Look, now: float | None = None) -> dict[str, Any]:
    """The pairs whose probability has changed the most, weighed by how often they matter."""
    age = (time.time() if now is None else now) - record.time
    told: dict[str, Any] = {
        "since": record.time,
        "a_day": age >= DAY_SECONDS,
        "episodes": look.finished - record.finished,
        "pairs": [],
        "distance": None,
    }
    layout, policy = look.layout, look.policy
    if layout is None or policy is None or record.policy.shape != policy.shape:
        return told
    difference = policy - record.policy
    through = _through(layout, look.flow)
    weight = np.abs(difference) * np.repeat(through, layout.n_actions)[: layout.n_rows]
    by_state = np.abs(difference).reshape(-1, layout.n_actions).sum(axis=1) / 2
    told["distance"] = round(float(by_state.max()), 4)
    for row in np.argsort(-weight, kind="stable")[:MOST_CHANGES].tolist():
        if abs(difference[row]) >= LEAST_CHANGE:
            told["pairs"].append(_pair(layout, row, record.policy[row], policy[row]))
    return told


def loss_panel(blocks: LossBlocks) -> Panel | None:
    """Means of blocks as dots, and a moving mean with its interval."""
    if not len(blocks.mean):
        return None
    window = max(1, len(blocks.mean) // SMOOTHED)
    count = _moving_sum(blocks.length, window)
    mean = _moving_sum(blocks.length * blocks.mean, window) / count
    squares = blocks.length * (blocks.deviation**2 + blocks.mean**2)
    variance = np.maximum(_moving_sum(squares, window) / count - mean**2, 0.0)
    half = np.where(count > 1, 1.96 * np.sqrt(variance / np.maximum(count - 1, 1)), 0.0)
    x = blocks.episodes
    series = (
        Series(LOSS, "loss per episode", x, mean, mean - half, mean + half),
        Series(LOSS, f"means of {blocks.length[0]:.0f}", x, blocks.mean, dots=True),
    )
    over = int(window * blocks.length[0])
    return Panel(
        *("Loss per episode", EPISODES, "loss per episode", series),
        from_zero=False,
        note=f"Line: the mean of about {over:,} episodes, with its 95% interval.",
    )


def _moving_sum(values: Floats, window: int) -> Floats:
    """The sum of each value and the ``window`` - 1 before it, fewer at the beginning."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    summed: Floats = total[ends] - total[np.maximum(ends - window, 0)]
    return summed


def _epoch_panel(look: Look) -> Panel | None:
    if look.epoch_starts is None or not len(look.epoch_starts) or not look.finished:
        return None
    begins = np.append(look.epoch_starts, look.finished).astype(np.float64)
    numbers = np.arange(1, len(begins), dtype=np.float64)
    x, y = np.repeat(begins, 2)[1:-1], np.repeat(numbers, 2)
    note = "A new epoch begins when a pair has been visited twice as often as before."
    return Panel("Epochs", EPISODES, "epoch", (Series(EPOCH, "epoch", x, y),), note=note)


def _width_panel(widths: Sequence[tuple[int, float]]) -> Panel | None:
    if len(widths) < 2:
        return None
    x, y = np.array(widths, dtype=np.float64).T
    series = (Series(WIDTH, "mean width", x, y),)
    note = "What is left open about the transition (1: everything), since the server began."
    return Panel("Confidence widths", EPISODES, "mean width", series, note=note)


def _summary(look: Look, service: Service) -> dict[str, Any]:
    blocks = look.losses
    recent = slice(-max(1, len(blocks.mean) // SMOOTHED), None)
    weight = blocks.length[recent].sum() if len(blocks.mean) else 0.0
    mean = float((blocks.mean[recent] * blocks.length[recent]).sum() / weight) if weight else None
    return {
        "learner": look.learner,
        "finished": look.finished,
        "abandoned": look.abandoned,
        "open": look.n_open,
        "clipped": look.clipped,
        "range": None if look.loss_range is None else look.loss_range._asdict(),
        "horizon": look.horizon,
        "epoch": look.epoch,
        "width": None if look.width is None else round(look.width, 4),
        "loss": None if mean is None else round(mean, 4),
        "kept": None if service.path is None else str(service.path),
    }


def _through(layout: Layout, flow: Floats | None) -> Floats:
    """The chance of an episode to pass each state, or one where that is not known."""
    through: Floats = np.ones(layout.n_states)
    if flow is not None:
        through[1:] = 0.0
        np.add.at(through, layout.entry_successors(), flow)
    return through


def _pair(layout: Layout, row: int, before: float, after: float) -> list[Any]:
    """Layer, state, action, and the two probabilities."""
    number, action = divmod(row, layout.n_actions)
    k = int(np.searchsorted(layout.layer_start, number, side="right")) - 1
    state = number - int(layout.layer_start[k])
    names = layout.state_name(k, state), layout.action_name(k, state, action)
    return [k, *names, round(float(before), 4), round(float(after), 4)]
