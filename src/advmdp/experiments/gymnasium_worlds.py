"""Gymnasium's tabular environments as worlds of a spec (``pip install 'advmdp[gym]'``).

Gymnasium is imported when such a world is asked for, and not before.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from advmdp.errors import InvalidInput
from advmdp.evaluation.rewards import Rewards
from advmdp.experiments.kinds import check_kinds
from advmdp.world.mdp import LayeredMDP

if TYPE_CHECKING:
    from advmdp.gym import Tabular


def gymnasium_world(
    id: str,
    horizon: int,
    start: int | None = None,
    per_action: bool = False,
    pooled: bool = False,
    rewards: Rewards | None = None,
    **options: Any,
) -> LayeredMDP:
    """A tabular environment, unrolled over ``horizon`` actions; ``options`` go to the environment.

    >>> gymnasium_world("FrozenLake-v1", horizon=4, is_slippery=False).layout.layer_sizes
    (1, 3, 6, 9, 1)
    """
    return _table(id, horizon, start, per_action, pooled, rewards, **options).mdp


def reward_range(**parameters: Any) -> Rewards:
    """The range of the rewards in the environment's table.

    >>> reward_range(id="CliffWalking-v1", horizon=10)
    Rewards(low=-100.0, high=0.0)
    """
    return _table(**parameters).rewards


# The runs of a sweep ask for the same few again and again.  Typed, for 1 is not true in a spec.
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
    from advmdp.gym import from_gymnasium  # says what to install where Gymnasium is missing

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
            warnings.simplefilter("ignore")  # of versions that are out of date: specs name theirs
            made = gymnasium.make(id, **options)
    except (gymnasium.error.Error, TypeError, ValueError) as problem:
        first = (str(problem).splitlines() or ["it cannot be made"])[0]
        raise InvalidInput(f"id: {id!r}: {first}") from None
    check_kinds(options, _parameters_of(made.unwrapped))
    return made


def _parameters_of(env: Any) -> Mapping[str, inspect.Parameter]:
    """What the constructor of an environment asks for; nothing where it cannot be read."""
    try:
        return inspect.signature(type(env), eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return {}
