"""The size, the axes and the labels of a paper's figure, where they differ from the usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.reports.figures.panels import Panel, Series
from advmdp.reports.settings import by_setting

COLUMN_WIDTH, PANEL_HEIGHT = 3.3, 2.1  # inches: one of two columns on a letter-size page
LEAST, MOST = 1.0, 40.0  # inches
AXES = ("linear", "log")


@dataclass(frozen=True)
class FigureLook:
    """How a figure is drawn; None leaves an axis or a label as it is.

    >>> FigureLook(y_axis="logarithmic")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: y_axis: 'logarithmic' is none of linear, log
    """

    width: float = COLUMN_WIDTH
    """Of the figure, in inches."""
    height: float = PANEL_HEIGHT
    """Of a panel, in inches, without the legend."""
    x_axis: str | None = None
    y_axis: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    titles: bool = True
    """Whether panels have titles; a caption often makes them redundant."""
    by_setting: bool = False
    """One panel for each group of learners that know and see the same, instead of one for all."""

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            inches = getattr(self, name)
            if not (isinstance(inches, (int, float)) and LEAST <= inches <= MOST):
                raise InvalidInput(f"{inches!r} is not from 1 to 40 inches", field=name)
        for name in ("x_axis", "y_axis"):
            if getattr(self, name) not in (None, *AXES):
                raise InvalidInput(
                    f"{getattr(self, name)!r} is none of {', '.join(AXES)}", field=name
                )

    def applied_to(self, panels: Sequence[Panel]) -> list[Panel]:
        """The panels with these axes and labels, divided if they are to be."""
        changes: dict[str, Any] = {}
        for axis, chosen in (("x", self.x_axis), ("y", self.y_axis)):
            if chosen is not None:
                changes[f"{axis}_log"] = chosen == "log"
        for name in ("x_label", "y_label"):
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        divided = [part for panel in panels for part in _divided(panel, self.by_setting)]
        return [_on_its_axes(replace(panel, **changes)) for panel in divided]


USUAL_LOOK = FigureLook()


def _divided(panel: Panel, wanted: bool) -> list[Panel]:
    """A panel for each setting of the learners; a panel of a single learner stays whole."""
    if not wanted or panel.learner is not None:
        return [panel]
    groups = by_setting(dict.fromkeys(series.key for series in panel.series if series.is_learner))
    common = tuple(series for series in panel.series if not series.is_learner)
    return [
        replace(
            panel,
            title=f"{panel.title}: {setting.words}",
            series=(*(one for one in panel.series if one.key in learners), *common),
        )
        for setting, learners in groups.items()
    ]


def _on_its_axes(panel: Panel) -> Panel:
    """The panel without points that have no place on a logarithmic horizontal axis."""
    if not panel.x_log:
        return panel
    return replace(panel, series=tuple(_with_positive_x(one) for one in panel.series))


def _with_positive_x(series: Series) -> Series:
    kept = series.x > 0.0
    if kept.all():
        return series
    low, high = (None if ends is None else ends[kept] for ends in (series.low, series.high))
    return replace(series, x=series.x[kept], y=series.y[kept], low=low, high=high)
