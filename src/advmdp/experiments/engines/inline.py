"""One run at a time, in this process."""

from __future__ import annotations

from pathlib import Path

from advmdp.experiments.engines.interface import DEFAULT_OPTIONS, Engine, EngineOptions
from advmdp.experiments.engines.results import OnProgress, RunResult, result_of
from advmdp.experiments.engines.single_run import play_run
from advmdp.experiments.spec import RunSpec
from advmdp.store import Store


class InlineEngine(Engine):
    """Plays in this process, for ``advmdp run`` and for programs."""

    def __init__(self, store: Path, options: EngineOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(store, options)
        self._waiting: list[RunSpec] = []
        self._stopping = False

    @classmethod
    def require(cls) -> None:
        """Available everywhere."""

    def submit(self, spec: RunSpec) -> None:
        self._waiting.append(spec)

    def poll(self, on_progress: OnProgress) -> list[RunResult]:
        if not self._waiting:
            return []
        spec = self._waiting.pop()
        return [
            result_of(
                spec,
                lambda: play_run(
                    spec,
                    Store(self.store).checkpoints(spec.identity()),
                    schedule=self.options.schedule,
                    on_progress=lambda progress: on_progress(spec.id, progress),
                    should_stop=lambda: self._stopping,
                ),
            )
        ]

    def stop(self) -> None:
        self._stopping = True

    def close(self) -> None:
        """Holds no resources."""
