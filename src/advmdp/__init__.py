"""Learning in adversarial Markov decision processes: UOB-REPS, exact and fast."""

# ruff: noqa: E402 -- Numba reads the setting when it is imported
from importlib import import_module
from typing import TYPE_CHECKING, Any

from advmdp.kernel_cache import choose_kernel_cache
from advmdp.startup import tell_in_one_line

tell_in_one_line()
choose_kernel_cache()

from advmdp.errors import (
    AdvMDPError,
    DamagedFile,
    InvalidInput,
    MissingExtra,
    NoConnection,
    StorageFailure,
    UncertifiedStep,
)
from advmdp.evaluation.comparator import Comparator, best_fixed_policy
from advmdp.evaluation.observations import Moment, Recorded
from advmdp.evaluation.rewards import RewardCurves, Rewards
from advmdp.evaluation.run import Run
from advmdp.experiments.own.registry import register
from advmdp.layout import Layout
from advmdp.layout.broken_off import with_break_off
from advmdp.layout.start_view import StartView, start_views
from advmdp.learners import planners
from advmdp.learners.adaptive.ada_ftrl import AdaFTRL, EstimatedAdaFTRL
from advmdp.learners.adaptive.ada_o_reps import AdaOREPS, AdaUCOREPS
from advmdp.learners.adaptive.per_context import PerContext
from advmdp.learners.base import Learner
from advmdp.learners.catalogue import LEARNERS
from advmdp.learners.doubling import Doubling
from advmdp.learners.feedback import Aggregate, FullInformation, Trajectory
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
from advmdp.learners.mixtures.corral import Corral
from advmdp.learners.mixtures.mixture import Mixture
from advmdp.learners.per_start import PerStart
from advmdp.learners.per_state.exp3_ix import Exp3IX
from advmdp.learners.per_state.mdp_e import MDPE
from advmdp.learners.per_state.ngs2010 import NGS2010
from advmdp.learners.policy_optimisation.aggregate import (
    AggregateDilatedBonus,
    KnownAggregateDilatedBonus,
)
from advmdp.learners.policy_optimisation.dapo import DAPO
from advmdp.learners.policy_optimisation.dilated_bonus import DilatedBonus
from advmdp.learners.policy_optimisation.full_information import APOMVP, OPPO
from advmdp.learners.policy_optimisation.pomd import POMD
from advmdp.learners.presets import PRACTICAL
from advmdp.learners.saving.loading import load
from advmdp.learners.stochastic.lykouris import Lykouris
from advmdp.learners.stochastic.q_learning import QLearningB, QLearningH
from advmdp.learners.stochastic.ucbvi import UCBVIBF, UCBVICH
from advmdp.learners.stochastic.ucrl2 import UCRL2, SlidingWindowUCRL2
from advmdp.learners.uniform import Uniform
from advmdp.play import play
from advmdp.playing.watch import Progress
from advmdp.reports.open_store import open_store
from advmdp.service import Service, Ticket, open_service
from advmdp.starts import StartsRun, play_starts
from advmdp.steps.confidence import AnyTransition, BoxSet, KnownTransition, L1Set
from advmdp.steps.minimise import minimise
from advmdp.steps.minimum import Minimum, PartialTransition
from advmdp.steps.mirror_descent import Projection, Projector, project
from advmdp.steps.occupancy import occupancy_measure, policy_of, transition_of
from advmdp.steps.regularisers import Entropy, LogBarrier, Tsallis
from advmdp.steps.upper_occupancy import upper_occupancy
from advmdp.world import delays, families, losses
from advmdp.world.mdp import LayeredMDP
from advmdp.world.time_expand import time_expand

if TYPE_CHECKING:
    from advmdp.web.client import connect

__version__ = "0.2.0"

__all__ = [
    "APOMVP",
    "DAPO",
    "FPL",
    "FPOP",
    "LEARNERS",
    "MDPE",
    "NGS2010",
    "OPPO",
    "OREPS",
    "POMD",
    "PRACTICAL",
    "UCBVIBF",
    "UCBVICH",
    "UCOREPS",
    "UCRL2",
    "UOBFTRL",
    "UOBREPS",
    "UOBREPSL1",
    "AdaFTRL",
    "AdaMixture",
    "AdaOREPS",
    "AdaUCOREPS",
    "AdvMDPError",
    "Aggregate",
    "AggregateDilatedBonus",
    "AggregateTsallisFTRL",
    "AggregateUOBFTRL",
    "AnyTransition",
    "BanditUCOREPS",
    "BoxSet",
    "Comparator",
    "Corral",
    "DamagedFile",
    "DelayedUOBFTRL",
    "DelayedUOBREPS",
    "DilatedBonus",
    "Doubling",
    "Entropy",
    "EstimatedAdaFTRL",
    "EstimatedAdaMixture",
    "Exp3IX",
    "FlooredBanditUCOREPS",
    "FullInformation",
    "InvalidInput",
    "KnownAggregateDilatedBonus",
    "KnownTransition",
    "L1Set",
    "LayeredMDP",
    "Layout",
    "Learner",
    "LogBarrier",
    "LogBarrierFTRL",
    "Lykouris",
    "Minimum",
    "MissingExtra",
    "Mixture",
    "Moment",
    "NoConnection",
    "OREPSBandit",
    "OptimisticFTRL",
    "PartialTransition",
    "PerContext",
    "PerStart",
    "Progress",
    "Projection",
    "Projector",
    "QLearningB",
    "QLearningH",
    "Recorded",
    "RewardCurves",
    "Rewards",
    "Run",
    "Service",
    "ShiftedBanditUCOREPS",
    "SlidingWindowUCRL2",
    "StartView",
    "StartsRun",
    "StorageFailure",
    "Ticket",
    "Trajectory",
    "Tsallis",
    "TsallisFTRL",
    "UCOREPSBox",
    "UOBLogBarrier",
    "UOBREPSBaseline",
    "UOBREPSL1Printed",
    "UncertifiedStep",
    "Uniform",
    "best_fixed_policy",
    "connect",
    "delays",
    "families",
    "gym",
    "load",
    "losses",
    "minimise",
    "occupancy_measure",
    "open_service",
    "open_store",
    "planners",
    "play",
    "play_starts",
    "policy_of",
    "project",
    "register",
    "start_views",
    "time_expand",
    "transition_of",
    "upper_occupancy",
    "with_break_off",
]


def __getattr__(name: str) -> Any:
    """What is loaded when it is asked for: Gymnasium, and what speaks to a server."""
    if name == "gym":
        return import_module("advmdp.gym")
    if name == "connect":
        return import_module("advmdp.web.client").connect
    raise AttributeError(f"module 'advmdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What a prompt completes: the public names, also those that are loaded later."""
    return [*__all__, "__version__"]
