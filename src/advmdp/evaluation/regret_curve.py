"""The regret of one run in Matplotlib axes, for a quick look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advmdp.evaluation.run import Run


def draw_regret_curve(run: Run, ax: Any, label: str) -> Any:
    """Draw into ``ax``, or into the current axes if it is None."""
    if ax is None:
        import matplotlib.pyplot as plt  # slow to import: only those who plot pay for it

        ax = plt.gca()
    (line,) = ax.plot(run.episodes, run.regret, label=label)
    if run.regret_bound is not None:
        style = {"color": line.get_color(), "linestyle": "--", "linewidth": 1}
        ax.plot(run.episodes, run.regret_bound, label=f"{label}, at most", **style)
    ax.set_xlabel("episodes")
    ax.set_ylabel("regret")
    ax.legend(frameon=False)
    return ax
