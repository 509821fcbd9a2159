"""What may stand for an environment, and what is refused with the remedy."""

from __future__ import annotations

from typing import Any

import gymnasium

from advmdp.checks.arguments import with_methods
from advmdp.checks.numbers import shown
from advmdp.errors import InvalidInput


def checked_environment(env: Any) -> Any:
    """An environment; a text is the id of one, which is made."""
    if isinstance(env, str):
        try:
            return gymnasium.make(env)
        except (gymnasium.error.Error, ModuleNotFoundError) as problem:
            reason = " ".join(str(problem).split())
            raise InvalidInput(f"{shown(env)} makes none ({reason})", field="env") from None
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise InvalidInput(
            "a vector environment plays several episodes at once, and a policy is for one; give a "
            "single environment, gymnasium.make(id)",
            field="env",
        )
    return with_methods(env, "env", "a Gymnasium environment", "reset", "step")


def step_limit(env: Any) -> int | None:
    """After how many steps wrappers end an episode; None if they do not."""
    limits = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            limits.append(int(env._max_episode_steps))
        env = env.env
    return min(limits, default=None)


def refuse_early_end(env: Any, horizon: int, why: str) -> None:
    """Where an episode is cut off depends on the step: no dynamics that are the same at each."""
    limit = step_limit(env)
    if limit is not None and limit < horizon:
        raise InvalidInput(
            f"its TimeLimit cuts episodes off after {limit} of {horizon} steps, but {why}; make it "
            f"with max_episode_steps={horizon}, or use a horizon of at most {limit}",
            field="env",
        )
