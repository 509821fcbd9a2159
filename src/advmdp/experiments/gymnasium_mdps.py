"""Gymnasium's tabular environments as MDPs of a spec (``pip install 'advmdp[gym]'``).

Gymnasium is imported when such an MDP is built, and not before.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.experiments.specs.parameter_types import check_types
from advmdp.world.mdp import LayeredMDP

if TYPE_CHECKING:
    from advmdp.gym import Tabular


def gymnasium_mdp(
    id: str,
    horizon: int,
    start: int | None = None,
    per_action: bool = False,
    pooled: bool = False,
    rewards: Rewards | None = None,
    **options: Any,
) -> LayeredMDP:
    """A tabular environment, unrolled over ``horizon`` actions; ``options`` go to the environment.

    >>> gymnasium_mdp("FrozenLake-v1", horizon=4, is_slippery=False).layout.layer_sizes
    (1, 3, 6, 9, 1)
    """
    return _table(id, horizon, start, per_action, pooled, rewards, **options).mdp


def reward_range(**parameters: Any) -> Rewards:
    """The range of the rewards in the environment's table.

    >>> reward_range(id="CliffWalking-v1", horizon=10)
    Rewards(low=-100.0, high=0.0)
    """
    return _table(**parameters).rewards


# The runs of a sweep share a few environments.  Typed: in a spec 1 and true are different.
@lru_cache(maxsize=8, typed=True)
def _table(
    id: str,
    horizon: int,
    start: int | None = None,
    per_action: bool = False,
    pooled: bool = False,
    rewards: Rewards | None = None,
    **options: Any,
) -> Tabular:
    from advmdp.gym import from_gymnasium  # raises MissingExtra without Gymnasium

    return from_gymnasium(
        _environment(id, options),
        horizon,
        start=start,
        rewards=rewards,
        per_action=per_action,
        pooled=pooled,
    )


def _environment(id: str, options: dict[str, Any]) -> Any:
    import gymnasium

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old versions: a spec names its version
            made = gymnasium.make(id, **options)
    except (gymnasium.error.Error, ImportError, LookupError, TypeError, ValueError) as problem:
        first = (str(problem).splitlines() or ["it cannot be made"])[0]
        raise InvalidInput(f"{id!r}: {first}", field="id") from None
    check_types(options, _parameters_of(made.unwrapped))
    return made


def _parameters_of(env: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of an environment's constructor; none where they cannot be inspected."""
    try:
        return inspect.signature(type(env), eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return {}
