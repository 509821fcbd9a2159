"""``advmdp.open_store``: the runs of a folder as frames, and a report about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from advmdp.checks.arguments import file_path
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput
from advmdp.frames import frame_in
from advmdp.store import Store


class OpenStore(Store):
    """A store to look at: ``runs()``, ``curves()`` and ``manifest(run)`` read, ``report()`` draws.

    Nothing is written into it, and no code that its specs name is imported.
    """

    def runs(self, library: str = "polars") -> Any:
        """One row per run: identity, status, final figures; ``library="pandas"`` for pandas."""
        return _in_library(library, super().runs())

    def curves(self, runs: Any = None, library: str = "polars") -> Any:
        """One row per run and evaluation point, of all finished runs or of those in a list."""
        return _in_library(library, super().curves(None if runs is None else self._named(runs)))

    def _named(self, runs: Any) -> list[str]:
        """Names of runs that are there: of others nobody would miss the curves."""
        if isinstance(runs, str):
            hint = "; for another library, library=" + shown(runs) if runs == "pandas" else ""
            raise InvalidInput(f"give names in a list, not {shown(runs)}{hint}", field="runs")
        names, there = list(runs), set(super().runs()["run"])
        for name in names:
            if name not in there:
                raise InvalidInput(f"no run {shown(name)}; runs() lists all", field="runs")
        return names

    def report(
        self,
        output: str | Path = "report.html",
        title: str | None = None,
        baseline: str | None = None,
    ) -> Path:
        """Write one HTML page about all finished runs, which opens offline; returns its path."""
        from advmdp.reports.from_store import results_from_store
        from advmdp.reports.html.report_page import write_report

        target = file_path(output, "output")
        return write_report(results_from_store(self), target, title, baseline)


def _in_library(library: Any, frame: pl.DataFrame) -> Any:
    """The frame, or its columns in another library, where a number that is missing is NaN."""
    if library == "polars":
        return frame
    columns = {c.name: c.to_numpy() if c.dtype.is_numeric() else c.to_list() for c in frame}
    return frame_in(library, columns)


def open_store(path: str | Path) -> OpenStore:
    """The store in a folder, which ``advmdp run``, ``compare`` or ``sweep`` made.

    >>> import tempfile
    >>> from advmdp.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Store(folder + "/results", create=True).path.name
    ...     open_store(folder + "/results").runs().height
    'results'
    0
    """
    return OpenStore(file_path(path))
