"""Gymnasium environments as MDPs, and MDPs as Gymnasium environments.

* ``from_gymnasium(env, horizon)`` reads the transition table of a tabular environment;
* ``unroll(env, horizon, rewards)`` and ``play(env, learner, game, n_episodes)`` run a learner in
  any environment with discrete spaces, with or without a table;
* ``AdversarialMDP`` is an MDP with adversarial losses as an environment, registered as
  ``advmdp/Adversarial-v0``.

Install with ``pip install 'advmdp[gym]'``; Gymnasium is imported when ``advmdp.gym`` is used.
"""

from __future__ import annotations

from advmdp.errors import MissingExtra

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise MissingExtra("advmdp.gym needs Gymnasium: pip install 'advmdp[gym]'") from error

from advmdp.evaluation.reward_run import EnvironmentRun
from advmdp.gym.adversarial import AdversarialMDP
from advmdp.gym.environment_loop import play
from advmdp.gym.progress import EnvironmentProgress
from advmdp.gym.tabular import Tabular, from_gymnasium
from advmdp.gym.unrolled import Unrolled, unroll

__all__ = [
    "ENVIRONMENT_ID",
    "AdversarialMDP",
    "EnvironmentProgress",
    "EnvironmentRun",
    "Tabular",
    "Unrolled",
    "from_gymnasium",
    "play",
    "unroll",
]

ENVIRONMENT_ID = "advmdp/Adversarial-v0"

if ENVIRONMENT_ID not in gymnasium.registry:
    gymnasium.register(ENVIRONMENT_ID, entry_point="advmdp.gym.adversarial:AdversarialMDP")
