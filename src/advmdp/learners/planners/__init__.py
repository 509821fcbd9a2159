"""The rules that practitioners use: plan for the recent past, again and again.

``advmdp.planners`` holds them as learners, so that they can be played, compared and reported like
all others; one for each context is ``advmdp.PerContext`` of them.
"""

from advmdp.learners.planners.combination import CombinationPlanner, KnownCombinationPlanner
from advmdp.learners.planners.regression import KnownRegressionPlanner, RegressionPlanner
from advmdp.learners.planners.rolling import (
    ExponentialPlanner,
    KnownExponentialPlanner,
    KnownWindowPlanner,
    WindowPlanner,
)

__all__ = [
    "CombinationPlanner",
    "ExponentialPlanner",
    "KnownCombinationPlanner",
    "KnownExponentialPlanner",
    "KnownRegressionPlanner",
    "KnownWindowPlanner",
    "RegressionPlanner",
    "WindowPlanner",
]
