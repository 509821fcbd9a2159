"""What each lack of knowledge costs: the figures of docs/which_learner.md.

    python -m benchmarks.which_learner

The excess of the expected loss over that of the best policy of every stretch in which the means
stay the same, as a share of what uniform play exceeds it by; mean over worlds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import advmdp as am

SIZES, N_ACTIONS, N_EPISODES, WORLDS = (1, 5, 5, 5, 5, 1), 3, 10_000, 5
DELAYS = (10, 100, 1000)


class Case(NamedTuple):
    """A learner and what it may know."""

    transition: str
    feedback: str
    name: str
    parameters: dict[str, Any] = {}  # noqa: RUF012


def with_preset(transition: str, feedback: str, name: str) -> Case:
    """A learner with the parameters for practice."""
    return Case(transition, feedback, name, am.PRACTICAL[name])


CASES = (
    Case("known", "full", "ada-mixture"),
    Case("known", "full", "ada-ftrl"),
    Case("known", "full", "ada-ftrl", {"forgetting": 0.99}),
    Case("known", "full", "plan-window-known"),
    Case("known", "full", "o-reps"),
    with_preset("known", "full", "o-reps"),
    Case("unknown", "full", "ada-mixture-estimated"),
    Case("unknown", "full", "ada-ftrl-estimated"),
    Case("unknown", "full", "fpop"),
    with_preset("unknown", "full", "fpop"),
    Case("unknown", "full", "uc-o-reps-box"),
    with_preset("unknown", "full", "uc-o-reps-box"),
    with_preset("unknown", "full", "oppo"),
    with_preset("known", "path", "log-barrier-ftrl"),
    with_preset("known", "path", "tsallis-ftrl"),
    with_preset("known", "path", "o-reps-bandit"),
    Case("known", "path", "log-barrier-ftrl"),
    with_preset("unknown", "path", "ucbvi-bf"),
    with_preset("unknown", "path", "uob-reps-baseline"),
    with_preset("unknown", "path", "uob-reps"),
    with_preset("unknown", "path", "pomd"),
    with_preset("unknown", "path", "dilated-bonus"),
    with_preset("unknown", "path", "uob-ftrl"),
    with_preset("unknown", "path", "optimistic-ftrl"),
    Case("unknown", "path", "uob-reps"),
    Case("unknown", "path", "ucbvi-bf"),
    Case("unknown", "path", "uniform"),
)


class World(NamedTuple):
    """An MDP, losses, and what the best policy of every stretch would have paid."""

    mdp: am.LayeredMDP
    losses: Any
    best: float


def worlds(kind: str, seed: int) -> World:
    """Losses that are steady, turn every tenth of the run, or turn every 100 episodes."""
    mdp = am.families.random_mdp(SIZES, N_ACTIONS, seed=seed)
    n_tables = 1 if kind == "steady" else 10
    tables = np.random.default_rng(seed).random((n_tables, mdp.layout.n_rows))
    period = {"steady": N_EPISODES, "turns every 1,000": 1000, "turns every 100": 100}[kind]
    best = np.mean([am.best_fixed_policy(mdp, table).loss for table in tables])
    return World(mdp, am.losses.Switching(tables, period, noisy=True), float(best) * N_EPISODES)


def made(case: Case, mdp: am.LayeredMDP) -> Any:
    """The learner of a case."""
    entry = am.LEARNERS[case.name]
    given: dict[str, Any] = {"n_episodes": N_EPISODES} if entry.has_horizon else {}
    if entry.knows_transition:
        given["transitions"] = mdp.transitions
    return entry.make(mdp.layout, **given, **case.parameters)


def excess(world: World, learner: Any) -> float:
    """Expected loss beyond the best policies'."""
    run = am.play(world.mdp, world.losses, learner, N_EPISODES, seed=1)
    return float(run.expected_loss[-1]) - world.best


def late(world: World, delay: int) -> float:
    """The same for UOB-REPS when feedback comes ``delay`` episodes late, on sampled paths."""
    learner = am.UOBREPS(world.mdp.layout, N_EPISODES, **am.PRACTICAL["uob-reps"])
    stream, rng = world.losses.begin(world.mdp.layout, 1), np.random.default_rng(1)
    waiting: list[Any] = []
    total, layout = 0.0, world.mdp.layout
    for episode in range(N_EPISODES):
        record, table = learner.issue(), layout.pairs(stream.table(episode))
        states, actions, losses = [0], [], []
        for k, policy in enumerate(record.policy):
            action = int(rng.choice(N_ACTIONS, p=policy[states[-1]]))
            losses.append(float(table[k][states[-1], action]))
            chances = world.mdp.transitions[k][states[-1], action]
            actions.append(action)
            states.append(int(rng.choice(len(chances), p=chances)))
        total += sum(losses)
        waiting.append((am.Trajectory(states, actions, losses), record))
        if len(waiting) > delay:
            learner.update(*waiting.pop(0))
    return total - world.best


def main() -> None:
    """Print the tables."""
    kinds = ("steady", "turns every 1,000", "turns every 100")
    print(f"{'':<44}" + "".join(f"{kind:>20}" for kind in kinds))
    uniform = {
        (kind, seed): excess(worlds(kind, seed), am.Uniform(worlds(kind, seed).mdp.layout))
        for kind in kinds
        for seed in range(WORLDS)
    }
    for case in CASES:
        shares = []
        for kind in kinds:
            found = [
                excess(world, made(case, world.mdp)) / uniform[kind, seed]
                for seed, world in ((seed, worlds(kind, seed)) for seed in range(WORLDS))
            ]
            shares.append(100.0 * float(np.mean(found)))
        given = ", ".join(f"{key}={value:.3g}" for key, value in case.parameters.items())
        label = f"{case.transition}, {case.feedback}: {case.name} {given}"
        print(f"{label[:44]:<44}" + "".join(f"{share:>19.1f}%" for share in shares), flush=True)
    for delay in (0, *DELAYS):
        found = [late(worlds("steady", seed), delay) / uniform["steady", seed] for seed in range(2)]
        print(f"uob-reps, {delay} episodes late, steady: {100 * float(np.mean(found)):.1f}%")


if __name__ == "__main__":
    main()
