"""Learning in adversarial Markov decision processes: UOB-REPS, exact and fast."""

from advmdp.errors import AdvMDPError, InvalidInput, UncertifiedStep
from advmdp.evaluation.run import Run
from advmdp.layout import Layout
from advmdp.learners.base import FullInformation, Learner, Trajectory
from advmdp.learners.uniform import Uniform
from advmdp.learners.uob_reps import UOBREPS
from advmdp.play import Progress, play
from advmdp.steps.confidence import AnyTransition, BoxSet, KnownTransition, L1Set
from advmdp.steps.mirror_descent import Projection, Projector, project
from advmdp.steps.occupancy import occupancy_measure, policy_of, transition_of
from advmdp.steps.upper_occupancy import upper_occupancy
from advmdp.world import families, losses
from advmdp.world.mdp import LayeredMDP

__version__ = "0.1.0"

__all__ = [
    "UOBREPS",
    "AdvMDPError",
    "AnyTransition",
    "BoxSet",
    "FullInformation",
    "InvalidInput",
    "KnownTransition",
    "L1Set",
    "LayeredMDP",
    "Layout",
    "Learner",
    "Progress",
    "Projection",
    "Projector",
    "Run",
    "Trajectory",
    "UncertifiedStep",
    "Uniform",
    "families",
    "losses",
    "occupancy_measure",
    "play",
    "policy_of",
    "project",
    "transition_of",
    "upper_occupancy",
]
