"""The terms of a report in a sentence each; pages show them where the pointer rests."""

from __future__ import annotations

TERMS = {
    "regret": "The learner's expected loss minus that of the best fixed policy in hindsight, "
    "summed over all episodes so far. Less is better; zero is as good as the best policy.",
    "mean regret": "The mean over replicates of the final regret.",
    "least regret": "The learner with the least mean regret of the cell; see what it knows and "
    "sees before comparing it with others.",
    "told": "What the learner is told beside the losses of its path. P: the transition; all: the "
    "losses of all pairs after the episode (full information); -: neither (bandit feedback, "
    "unknown transition); sum: not even those of its path, only their sum; ?: not in the "
    "catalogue.",
    "knows and sees": "Whether the learner is told the transition P, and whether it sees the "
    "losses of its own path, their sum, or those of all pairs.",
    "n": "The number of replicates: worlds, losses and random numbers that were drawn anew.",
    "runs": "Finished runs: one for each learner and replicate.",
    "T": "The number of episodes; learners with a horizon are tuned for it.",
    "95% interval": "A bootstrap interval over replicates, widened for small n: with other "
    "replicates it would hold the true mean in about 95 of 100 cases.",
    "loss/episode": "The mean expected loss of an episode, over the whole run.",
    "reward/episode": "The mean expected reward of an episode, over the whole run.",
    "difference": "Regret of the learner minus that of the other one, replicate by replicate: what "
    "makes a world easy for both cancels.",
    "p": "How often a difference at least as large would be seen if its sign were a coin flip in "
    "every replicate (two-sided sign-flip test).",
    "adjusted p": "The p-value that holds for all comparisons of this table together (the largest "
    "statistic under the same flips, Westfall and Young).",
    "exponent": "The slope of log regret against log T: 0.5 is the rate of the theorems, 1 is no "
    "learning.",
    "projections": "Steps onto the set of occupancy measures that were solved.",
    "worst gap": "The largest duality gap of a step, relative: how far it is at most from exact.",
    "worst flow residual": "The largest violation of the flow constraints by an iterate.",
    "on the safe path": "Steps that were repeated in the log domain.",
    "expected": "Over the random choices of the policy and the transition, exactly computed.",
    "realised": "On the trajectories that were drawn.",
    "best fixed policy": "The policy with the least total loss in hindsight, under the true "
    "transition.",
    "Four terms": "ERROR: the transition is not known; BIAS1 and BIAS2: losses are estimated from "
    "too high a chance of a visit; REG: the regret of the steps on the estimates.",
    "Rate in T": "How fast the regret grows with the number of episodes.",
    "Epochs and widths": "When the confidence sets were renewed, and how much they leave open.",
    "Realised and expected": "What was drawn, and its expectation.",
    "Comparisons": "Every learner against a chosen baseline, replicate by replicate.",
}
