"""The learners by name: the only table to edit when one is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from advmdp.errors import InvalidInput
from advmdp.learners.adaptive.ada_ftrl import AdaFTRL, EstimatedAdaFTRL
from advmdp.learners.adaptive.ada_o_reps import AdaOREPS, AdaUCOREPS
from advmdp.learners.fpop import FPL, FPOP
from advmdp.learners.ftrl.aggregate import AggregateTsallisFTRL, AggregateUOBFTRL
from advmdp.learners.ftrl.known import LogBarrierFTRL, TsallisFTRL
from advmdp.learners.ftrl.unknown import UOBFTRL, OptimisticFTRL
from advmdp.learners.late.delayed import DelayedUOBFTRL, DelayedUOBREPS
from advmdp.learners.mirror.bandit_uc_o_reps import (
    BanditUCOREPS,
    FlooredBanditUCOREPS,
    ShiftedBanditUCOREPS,
)
from advmdp.learners.mirror.o_reps import OREPS, OREPSBandit
from advmdp.learners.mirror.uc_o_reps import UCOREPS, UCOREPSBox
from advmdp.learners.mirror.uob_log_barrier import UOBLogBarrier
from advmdp.learners.mirror.uob_reps import UOBREPS, UOBREPSL1, UOBREPSBaseline, UOBREPSL1Printed
from advmdp.learners.mixtures.ada_mixture import AdaMixture, EstimatedAdaMixture
from advmdp.learners.per_state.exp3_ix import Exp3IX
from advmdp.learners.per_state.mdp_e import MDPE
from advmdp.learners.per_state.ngs2010 import NGS2010
from advmdp.learners.planners.combination import CombinationPlanner, KnownCombinationPlanner
from advmdp.learners.planners.regression import KnownRegressionPlanner, RegressionPlanner
from advmdp.learners.planners.rolling import (
    ExponentialPlanner,
    KnownExponentialPlanner,
    KnownWindowPlanner,
    WindowPlanner,
)
from advmdp.learners.policy_optimisation.aggregate import (
    AggregateDilatedBonus,
    KnownAggregateDilatedBonus,
)
from advmdp.learners.policy_optimisation.dapo import DAPO
from advmdp.learners.policy_optimisation.dilated_bonus import DilatedBonus
from advmdp.learners.policy_optimisation.full_information import APOMVP, OPPO
from advmdp.learners.policy_optimisation.pomd import POMD
from advmdp.learners.stochastic.lykouris import Lykouris
from advmdp.learners.stochastic.q_learning import QLearningB, QLearningH
from advmdp.learners.stochastic.ucbvi import UCBVIBF, UCBVICH
from advmdp.learners.stochastic.ucrl2 import UCRL2, SlidingWindowUCRL2
from advmdp.learners.uniform import Uniform


@dataclass(frozen=True)
class Maker:
    """How a learner is made: ``make(layout, n_episodes=..., ...)``.

    With ``knows_transition`` the true transition is handed over openly, as ``transitions=...``.
    """

    make: Callable[..., Any]
    setting: str
    knows_transition: bool = False
    has_horizon: bool = True


class Catalogue(dict[str, Maker]):
    """The learners of the package; those of others are registered, where specs look for them.

    >>> LEARNERS["mine"] = Maker(Uniform, "naive")
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: LEARNERS: register it, am.register("learner", 'mine', part)
    """

    def __setitem__(self, name: str, maker: Maker) -> None:
        raise InvalidInput(f'register it, am.register("learner", {name!r}, part)', field="LEARNERS")


BUILT_IN: dict[str, Maker] = {
    "uob-reps": Maker(UOBREPS, "unknown P, bandit, adversarial"),
    "uob-reps-baseline": Maker(UOBREPSBaseline, "unknown P, bandit, no guarantee"),
    "uob-reps-l1": Maker(UOBREPSL1, "unknown P, bandit, adversarial"),
    "uob-reps-l1-printed": Maker(UOBREPSL1Printed, "unknown P, bandit, adversarial"),
    "o-reps": Maker(OREPS, "known P, full information, adversarial", knows_transition=True),
    "o-reps-bandit": Maker(OREPSBandit, "known P, bandit, adversarial", knows_transition=True),
    "uc-o-reps": Maker(UCOREPS, "unknown P, full information, adversarial"),
    "uc-o-reps-box": Maker(UCOREPSBox, "unknown P, full information, adversarial"),
    "bandit-uc-o-reps": Maker(BanditUCOREPS, "unknown P, bandit, reachable states"),
    "bandit-uc-o-reps-floor": Maker(FlooredBanditUCOREPS, "unknown P, bandit, reachable states"),
    "bandit-uc-o-reps-shifted": Maker(ShiftedBanditUCOREPS, "unknown P, bandit, adversarial"),
    "fpop": Maker(FPOP, "unknown P, full information, oblivious"),
    "fpl": Maker(FPL, "known P, full information, oblivious", knows_transition=True),
    "ucbvi-ch": Maker(UCBVICH, "unknown P, bandit, stochastic"),
    "ucbvi-bf": Maker(UCBVIBF, "unknown P, bandit, stochastic"),
    "lykouris": Maker(Lykouris, "unknown P, bandit, corrupted stochastic"),
    "q-learning-h": Maker(QLearningH, "unknown P, bandit, stochastic"),
    "q-learning-b": Maker(QLearningB, "unknown P, bandit, stochastic"),
    "ucrl2": Maker(UCRL2, "unknown P, bandit, stochastic", has_horizon=False),
    "ucrl2-window": Maker(SlidingWindowUCRL2, "unknown P, bandit, drifting", has_horizon=False),
    "mdp-e": Maker(MDPE, "known P, full information, adversarial", knows_transition=True),
    "ngs-2010": Maker(NGS2010, "known P, bandit, reachable states", knows_transition=True),
    "tsallis-ftrl": Maker(TsallisFTRL, "known P, bandit, both worlds", knows_transition=True),
    "log-barrier-ftrl": Maker(
        LogBarrierFTRL, "known P, bandit, both worlds", knows_transition=True
    ),
    "uob-ftrl": Maker(UOBFTRL, "unknown P, bandit, both worlds"),
    "optimistic-ftrl": Maker(OptimisticFTRL, "unknown P, bandit, both worlds"),
    "uob-log-barrier": Maker(UOBLogBarrier, "unknown P, bandit, small losses"),
    "tsallis-ftrl-aggregate": Maker(
        AggregateTsallisFTRL, "known P, sum of losses, both worlds", knows_transition=True
    ),
    "uob-ftrl-aggregate": Maker(AggregateUOBFTRL, "unknown P, sum of losses, both worlds"),
    "dilated-bonus-aggregate": Maker(
        AggregateDilatedBonus, "unknown P, sum of losses, adversarial"
    ),
    "dilated-bonus-aggregate-known": Maker(
        KnownAggregateDilatedBonus, "known P, sum of losses, adversarial", knows_transition=True
    ),
    "delayed-uob-reps": Maker(DelayedUOBREPS, "unknown P, late bandit, adversarial"),
    "delayed-uob-ftrl": Maker(DelayedUOBFTRL, "unknown P, late bandit, no guarantee"),
    "dapo": Maker(DAPO, "unknown P, late bandit, adversarial"),
    "dilated-bonus": Maker(DilatedBonus, "unknown P, bandit, adversarial"),
    "pomd": Maker(POMD, "unknown P, bandit, adversarial"),
    "apo-mvp": Maker(APOMVP, "unknown P, full information, oblivious"),
    "oppo": Maker(OPPO, "unknown P, full information, adversarial"),
    "exp3-ix": Maker(Exp3IX, "unknown P, bandit, no guarantee"),
    "ada-ftrl": Maker(
        AdaFTRL, "known P, full information, adversarial", knows_transition=True, has_horizon=False
    ),
    "ada-ftrl-estimated": Maker(
        EstimatedAdaFTRL, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "ada-o-reps": Maker(
        AdaOREPS, "known P, full information, adversarial", knows_transition=True, has_horizon=False
    ),
    "ada-uc-o-reps": Maker(
        AdaUCOREPS, "unknown P, full information, adversarial", has_horizon=False
    ),
    "ada-mixture": Maker(
        AdaMixture,
        "known P, full information, adversarial",
        knows_transition=True,
        has_horizon=False,
    ),
    "ada-mixture-estimated": Maker(
        EstimatedAdaMixture, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "plan-window": Maker(
        WindowPlanner, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "plan-window-known": Maker(
        KnownWindowPlanner,
        "known P, full information, no guarantee",
        knows_transition=True,
        has_horizon=False,
    ),
    "plan-exponential": Maker(
        ExponentialPlanner, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "plan-exponential-known": Maker(
        KnownExponentialPlanner,
        "known P, full information, no guarantee",
        knows_transition=True,
        has_horizon=False,
    ),
    "plan-regression": Maker(
        RegressionPlanner, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "plan-regression-known": Maker(
        KnownRegressionPlanner,
        "known P, full information, no guarantee",
        knows_transition=True,
        has_horizon=False,
    ),
    "plan-combination": Maker(
        CombinationPlanner, "unknown P, full information, no guarantee", has_horizon=False
    ),
    "plan-combination-known": Maker(
        KnownCombinationPlanner,
        "known P, full information, no guarantee",
        knows_transition=True,
        has_horizon=False,
    ),
    "uniform": Maker(Uniform, "naive", has_horizon=False),
}

LEARNERS = Catalogue(BUILT_IN)
