"""The events of a sweep as JSON, one object a line.

Regrets and losses are in losses; those in rewards, where their range is known, come beside them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from advmdp.experiments.engines.results import CompletedRun, RunProgress
from advmdp.experiments.runner import Watcher
from advmdp.experiments.spec import RunSpec
from advmdp.experiments.specs.rewards import RewardsSpec


class JSONWatcher(Watcher):
    """Writes every event to standard output when it happens."""

    def __init__(self) -> None:
        self._rewards: dict[str, RewardsSpec | None] = {}

    def begin(self, specs: Sequence[RunSpec], unfinished: Sequence[RunSpec]) -> None:
        _emit("begin", runs=len(specs), finished=len(specs) - len(unfinished))

    def started(self, spec: RunSpec) -> None:
        self._rewards[spec.id] = spec.rewards
        in_rewards = {"rewards": spec.rewards.model_dump()} if spec.rewards else {}
        _emit("started", run=spec.id, n_episodes=spec.n_episodes, **in_rewards)

    def progress(self, run: str, progress: RunProgress) -> None:
        rewards, regret = self._rewards.get(run), progress.regret
        in_rewards = {}
        if rewards is not None:
            span = rewards.range.span
            in_rewards["reward_regret"] = None if regret is None else span * regret
        _emit(
            "progress",
            run=run,
            episodes=progress.episodes,
            episodes_per_second=progress.episodes_per_second,
            regret=regret,
            epoch=progress.epoch,
            **in_rewards,
        )

    def finished(self, spec: RunSpec, completed: CompletedRun) -> None:
        figures = completed.outcome.figures
        in_losses = {name: value for name, value in figures.items() if isinstance(value, float)}
        in_rewards = figures.get("rewards", {})
        _emit("finished", run=spec.id, seconds=completed.seconds, **in_losses, **in_rewards)

    def failed(self, spec: RunSpec, reason: str) -> None:
        _emit("failed", run=spec.id, reason=reason)

    def elsewhere(self, n_runs: int) -> None:
        _emit("elsewhere", runs=n_runs)

    def stopping(self) -> None:
        _emit("stopping")


def _emit(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()
