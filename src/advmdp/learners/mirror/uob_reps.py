"""UOB-REPS: upper occupancy bound relative entropy policy search, and its older variant."""

from __future__ import annotations

from typing import ClassVar

from advmdp.kernels.learners.mirror.mirror_descent import PRINTED, UPPER
from advmdp.layout import Layout
from advmdp.learners.mirror.baselines import MEMORY, chosen_baseline
from advmdp.learners.mirror.hints import HintChoice
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.learners.tuning import (
    checked_delta,
    checked_horizon,
    checked_layout,
    checked_rate,
    scaled_rate,
    uob_reps_rate,
    width_log_term,
)
from advmdp.steps.confidence import AnyTransition, ConfidenceSet, L1Set


class UOBREPS(MirrorDescent):
    """Adversarial losses, bandit feedback, unknown transition; regret of order sqrt(T).

    Keeps an occupancy measure q and plays its policy.  After episode t, with u_t the upper
    occupancy bound over the current confidence set and i the epoch of the NEXT episode,

        l^_t(x, a) = l_t(x, a) / (u_t(x, a) + gamma)      on the visited pairs, else 0
        q_{t+1}    = argmin over q in Delta(P_i) of  eta <q, l^_t> + D(q || q_t)

    Parameters
    ----------
    layout
        Layers, actions and declared successors [X, A].
    n_episodes
        The horizon T; learning rate, exploration and widths are tuned for it.
    delta
        Confidence parameter; the guarantee holds with probability 1 - 9 delta.
    eta, gamma
        Learning rate and implicit exploration.  By default both are the theorem's
        sqrt(L ln(L |X| |A| / delta) / (T |X| |A|)), times ``eta_scale`` and ``gamma_scale``.
    log_scale
        Multiplies ln(T |X| |A| / delta) in the confidence widths.  The theory's constants keep a
        pair's set vacuous for its first hundred visits or so; smaller values learn faster without
        the proof.
    baseline
        None, or a control variate for the estimates: ``"damped"`` as in ``UOBREPSBaseline``, or
        ``"undamped"``, which is unsafe, and warns: an action that was given up and becomes good is
        not found again.
    baseline_memory, damping_scale
        As in ``UOBREPSBaseline``.
    hint
        What the coming losses m_{t+1} may be: an undamped baseline that is also played against.
        "last" for the last loss seen at a pair, a number n for the mean of the last n visits, a
        pair table, or a function of the history (``docs/hints.md``).

    Guarantee: R_T = O(L |X| sqrt(|A| T ln(T |X| |A| / delta))) (Theorem 3), without a baseline and
    a hint.  Cost of an episode: a few passes over the triples.

    >>> from advmdp.learners.feedback import Trajectory
    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = UOBREPS(layout, n_episodes=100, delta=0.1)
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.policy()[0].round(4)
    array([[0.4542, 0.5458]])

    Reference: Jin, Jin, Luo, Sra, Yu, "Learning Adversarial Markov Decision Processes with Bandit
    Feedback and Unknown Transition", ICML 2020.
    """

    _estimator: ClassVar[int] = UPPER

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        gamma: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
        baseline: str | None = None,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
        hint: HintChoice = None,
    ) -> None:
        layout, n_episodes = checked_layout(layout), checked_horizon(n_episodes)
        self.delta = delta = checked_delta(delta)
        theory = uob_reps_rate(layout, n_episodes, delta)
        super().__init__(
            layout,
            n_episodes,
            eta=scaled_rate(eta, theory, eta_scale, "eta"),
            gamma=checked_rate(theory if gamma is None else gamma, "gamma", zero_allowed=True)
            * checked_rate(gamma_scale, "gamma_scale", zero_allowed=True),
            log_term=width_log_term(layout, n_episodes, delta)
            * checked_rate(log_scale, "log_scale"),
            estimator=self._estimator,
            confidence=self._initial_set(layout),
            baseline=chosen_baseline(
                layout,
                baseline,
                baseline_memory,
                theory * checked_rate(damping_scale, "damping_scale"),
            ),
            hint=hint,
        )

    def _initial_set(self, layout: Layout) -> ConfidenceSet:
        """Every transition: the set of the first epoch."""
        return AnyTransition(layout)


class UOBREPSBaseline(UOBREPS):
    """UOB-REPS with a baseline for its estimates; adversarial losses, bandit, unknown transition.

        l^_t(x, a) = b_t(x, a) + (l_t(x, a) - b_t(x, a)) 1{visited} / (u_t(x, a) + gamma)
        b_t(x, a)  = m(x, a) v_t(x, a) / (v_t(x, a) + gamma_0)

    with m the mean of the last losses seen at the pair, and v_t >= u_t an upper occupancy bound
    that takes one pass.  Where losses are steady the estimates vary less: about half the regret of
    ``UOBREPS`` at theory's parameters, and less at the presets.

    Parameters
    ----------
    baseline_memory
        How many visits m averages over; those before fade.
    damping_scale
        gamma_0 as a multiple of the theorem's gamma: how rarely a pair must be visited for what is
        known of it to be doubted.
    layout, n_episodes, delta, eta, gamma, log_scale, eta_scale, gamma_scale
        As in ``UOBREPS``.

    Guarantee: none.  Three of the four terms of the regret keep their bounds; the fourth does not,
    and two actions with losses made for the purpose cost a part of T (``docs/baselines.md``).  Cost
    of an episode: a few passes over the triples.

    >>> layout = Layout(layer_sizes=(1, 2, 1), n_actions=2)
    >>> learner = UOBREPSBaseline(layout, n_episodes=100, gamma=0.1)
    >>> from advmdp.learners.feedback import Trajectory
    >>> learner.update(Trajectory(states=[0, 1, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learner.baseline_table()[0].round(2)
    array([[0.8, 0. ]])

    Reference: control variates for bandit estimates as in Wei and Luo, "More adaptive algorithms
    for adversarial bandits", COLT 2018; this form and its damping are ours.
    """

    def __init__(
        self,
        layout: Layout,
        n_episodes: int,
        delta: float = 0.1,
        eta: float | None = None,
        gamma: float | None = None,
        log_scale: float = 1.0,
        eta_scale: float = 1.0,
        gamma_scale: float = 1.0,
        baseline_memory: int = MEMORY,
        damping_scale: float = 1.0,
    ) -> None:
        super().__init__(
            layout,
            n_episodes,
            delta,
            eta,
            gamma,
            log_scale,
            eta_scale,
            gamma_scale,
            "damped",
            baseline_memory,
            damping_scale,
        )


class UOBREPSL1(UOBREPS):
    """UOB-REPS with the L1 set of the paper's older supplement; bandit, unknown transition.

    The same loop with  |p - P-bar|_1 <= sqrt(2 |X_{k+1}| ln(T |X| |A| / delta) / max(1, N))  in
    place of the interval of each triple, and upper occupancy bounds by the corrected Comp-Prob-UB
    (half the radius moves from the worst successors to the best one).  The supplement does not
    state eta and gamma; those of ``UOBREPS`` are used [reconstructed].

    Guarantee: order L |X|^2 sqrt(|A| T) up to logarithms (first version of the paper).  Cost of an
    episode: a few passes over the triples.  Parameters: see ``UOBREPS``.

    >>> learner = UOBREPSL1(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    Reference: supplement of Jin, Jin, Luo, Sra, Yu, ICML 2020.
    """

    def _initial_set(self, layout: Layout) -> ConfidenceSet:
        return L1Set.everything(layout)


class UOBREPSL1Printed(UOBREPSL1):
    """``UOBREPSL1`` with Comp-Prob-UB as it is printed; bandit, unknown transition.

    For comparison only.  The printed procedure overestimates u for radii between 1 and 2, and
    underestimates it below a layer with a single state, which can break q <= u and with it the
    analysis.

    >>> learner = UOBREPSL1Printed(Layout(layer_sizes=(1, 2, 1), n_actions=2), n_episodes=100)
    >>> learner.policy()[0]
    array([[0.5, 0.5]])

    Reference: supplement of Jin, Jin, Luo, Sra, Yu, ICML 2020.
    """

    _estimator = PRINTED
