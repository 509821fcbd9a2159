"""``advmdp demo``: UOB-REPS on a default adversarial MDP, with a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import advmdp
from advmdp.cli.options import INTERRUPTED, MOST_EPISODES, layer_sizes_of
from advmdp.plain_text import plain_text

if TYPE_CHECKING:
    from advmdp.world.losses import Majority
    from advmdp.world.mdp import LayeredMDP

PERIODS = 10  # of the demo's losses, in a run of any length
SHORTEST_PERIOD = 10
ADVERSE_SHARE = 0.3


def demo(
    episodes: Annotated[
        int, typer.Option(min=1, max=MOST_EPISODES, help="Episodes to play.")
    ] = 200_000,
    layers: Annotated[
        str, typer.Option(help="States in each layer; one in the first and in the last.")
    ] = "1,5,5,5,1",
    actions: Annotated[int, typer.Option(help="Actions in every state.")] = 4,
    seed: Annotated[
        int, typer.Option(min=0, help="Fixes the world, the losses and the trajectories.")
    ] = 0,
    delta: Annotated[
        float, typer.Option(help="Confidence parameter, strictly between 0 and 1.")
    ] = 0.1,
    eta_scale: Annotated[
        float, typer.Option(help="Multiplies the theorem's learning rate eta.")
    ] = 1.0,
    gamma_scale: Annotated[
        float, typer.Option(help="Multiplies the theorem's implicit exploration gamma.")
    ] = 1.0,
    log_scale: Annotated[
        float,
        typer.Option(help="Multiplies the logarithm in the confidence widths; 0.1 learns faster."),
    ] = 1.0,
    output: Annotated[Path, typer.Option(help="Where the figure goes: .png, .pdf or .svg.")] = Path(
        "results/regret.png"
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, only the results.")
    ] = False,
) -> None:
    """UOB-REPS against losses that keep turning, beside the uniform and the best fixed policy.

    The losses are those of a fixed random table, except in the last 30% of each of ten periods,
    where every preference is reversed. One fixed policy stays the best throughout: the learner
    must find it from bandit feedback, without knowing the transition, and not be talked out of it.
    """
    try:
        _demo(
            episodes,
            layer_sizes_of(layers),
            actions,
            seed,
            {
                "delta": delta,
                "eta_scale": eta_scale,
                "gamma_scale": gamma_scale,
                "log_scale": log_scale,
            },
            output,
            quiet,
        )
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _demo(
    episodes: int,
    layer_sizes: tuple[int, ...],
    actions: int,
    seed: int,
    tuning: dict[str, Any],
    output: Path,
    quiet: bool,
) -> None:
    import numpy as np
    from rich.console import Console

    from advmdp.cli.terminal.run_progress import followed
    from advmdp.cli.terminal.run_summary import (
        certificate_table,
        comparison_table,
        in_plain_words,
    )
    from advmdp.cli.terminal.screen import waiting
    from advmdp.evaluation.run import log_spaced
    from advmdp.reports.figures.regret_plot import plot_regret
    from advmdp.reports.output_path import checked_figure_path

    console = Console(highlight=False)
    mdp, losses, adverse = _demo_world(episodes, layer_sizes, actions, seed)
    learner = advmdp.UOBREPS(mdp.layout, n_episodes=episodes, **tuning)
    output = checked_figure_path(output, "output")  # last, for it makes missing folders
    world = f"Layers of {', '.join(map(str, layer_sizes))} states, {actions} actions"
    if not quiet:
        console.print(
            f"{world}, {episodes:,} episodes; the losses turn against the best fixed policy in "
            f"the last {ADVERSE_SHARE:.0%} of every {losses.period:,}."
        )
    message = "Loading the kernels (compiled once, on the first run: up to a minute)"
    with waiting(console, message, quiet=quiet):
        _compile(mdp, losses)
    # Evenly spaced points for the figure, log-spaced ones for the first episodes.
    even = np.linspace(0, episodes, 401)[1:].round().astype(np.int64)
    points = np.union1d(even[even > 0], log_spaced(episodes))
    with followed(console, episodes, quiet=quiet) as follower:
        uniform_run, run = (
            advmdp.play(
                mdp, losses, who, episodes, seed, checkpoints=points, progress=follower(name)
            )
            for name, who in (("uniform policy", advmdp.Uniform(mdp.layout)), ("UOB-REPS", learner))
        )
    names_and_runs = ("UOB-REPS", run, "uniform policy", uniform_run)
    console.print(comparison_table(*names_and_runs))
    console.print(certificate_table(run))
    console.print()
    console.print(in_plain_words(*names_and_runs))
    plot_regret(
        {"UOB-REPS": run, "uniform policy": uniform_run},
        output,
        title="Learning while the losses keep turning",
        shaded=adverse,
        note=f"Shaded: every preference among the losses is reversed.  {world}, seed {seed}.",
    )
    console.print(plain_text(f"Figure: {output}"), soft_wrap=True, markup=False)


def _demo_world(
    episodes: int, layer_sizes: tuple[int, ...], actions: int, seed: int
) -> tuple[LayeredMDP, Majority, list[tuple[int, int]]]:
    """A random world, its losses, and the intervals of episodes in which they are reversed."""
    import numpy as np

    world_seed, loss_seed = np.random.SeedSequence(seed).spawn(2)
    mdp = advmdp.families.random_mdp(layer_sizes, actions, seed=world_seed)
    usual = np.random.default_rng(loss_seed).uniform(size=mdp.layout.n_rows)
    period = max(SHORTEST_PERIOD, episodes // PERIODS)
    losses = advmdp.losses.Majority.against(usual, period, ADVERSE_SHARE)
    return mdp, losses, losses.adverse_stretches(episodes)


def _compile(mdp: LayeredMDP, losses: Majority) -> None:
    """Play one episode with each learner, so that the clock of the real runs measures playing."""
    for learner in (advmdp.Uniform(mdp.layout), advmdp.UOBREPS(mdp.layout, n_episodes=1)):
        advmdp.play(mdp, losses, learner, n_episodes=1)
