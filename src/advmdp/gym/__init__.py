"""Gymnasium, both ways (``pip install 'advmdp[gym]'``).

* ``from_gymnasium(env, horizon)`` reads the transition table of a tabular environment;
* ``unroll(env, horizon, rewards)`` and ``play(env, learner, game, n_episodes)`` drive any
  environment with discrete spaces, table or not;
* ``AdversarialMDP`` is an MDP with adversarial losses as an environment, registered as
  ``advmdp/Adversarial-v0``.

Reached as ``advmdp.gym``; Gymnasium is imported only then.
"""

from __future__ import annotations

from advmdp.errors import MissingExtra

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise MissingExtra("advmdp.gym needs Gymnasium: pip install 'advmdp[gym]'") from error

from advmdp.gym.adversarial import AdversarialMDP
from advmdp.gym.driving import Played, play
from advmdp.gym.tabular import Tabular, from_gymnasium
from advmdp.gym.unrolled import Unrolled, unroll

__all__ = [
    "ENVIRONMENT_ID",
    "AdversarialMDP",
    "Played",
    "Tabular",
    "Unrolled",
    "from_gymnasium",
    "play",
    "unroll",
]

ENVIRONMENT_ID = "advmdp/Adversarial-v0"

if ENVIRONMENT_ID not in gymnasium.registry:
    gymnasium.register(ENVIRONMENT_ID, entry_point="advmdp.gym.adversarial:AdversarialMDP")
