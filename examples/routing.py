"""Routing over a network whose congestion changes, also because of the routing.

    python examples/routing.py [--packets 6000] [--output routing.png] [--seed 0]

The problem.  A source sends packets to a sink over four stages of routers.  Each router has three
links to the next stage.  A link has a delay of its own, and queues add to it: of others, whose
rush hour moves between two halves of the network; of an incident; and our own, for a link
that we use much becomes slow.  Now and then a link fails and the packet leaves by another one.

The model.  An episode is a packet; a layer is a stage, a state a router, an action a link.  The map
(which router leads to which) is declared, how often links fail is unknown.  The sender learns the
delay of the links that the packet took and of no other: bandit feedback.

The delays.  A link takes 0 to 50 ms, at which point packets are dropped and sent again; the loss is
the delay in units of 50 ms, so that  delay = 50 ms * loss.

What one would do otherwise.  Always take the path that is shortest on an empty network; or measure,
and send along the path that is shortest on the averages so far, all of them or the recent ones.

What was learnt.  Rivals must be fair.  Against routing tables that are renewed every ten packets
the spread of UOB-REPS looked better; renewed at every packet, as UOB-REPS learns, the shortest path
on recent averages is better at every speed of the queues: each packet moves it off a link that
fills.  UOB-REPS beats what does not forget, where queues are quick, and knows no map beforehand.
Who does not know how long averages should reach back draws among planners, by what they have cost.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from shared import (
    Diary,
    Drawn,
    Replanner,
    Scripted,
    draw_lines,
    dress,
    natural,
    new_figure,
    run_script,
)

import advmdp as am
from advmdp.evaluation.comparator import best_fixed_policy
from advmdp.layout import Floats
from advmdp.reports.output_path import checked_figure_path

MILLISECONDS = 50.0  # of delay for a loss of 1
OTHERS, OWN = 0.25, 0.35  # the largest queues, in units of 50 ms: of others, and of our own making
RUSH_HOURS = 6  # in a run
INCIDENT = (0.5, 0.6)  # when, in parts of a run
REACTION = 10  # packets over which our own queues build up and drain
REACTIONS = (5, 20, 50, 200)
REPLAN = 1  # packets between new routing tables of those who measure: as often as UOB-REPS learns
STRETCHES = 30  # stretches of the run in the figure


# ---------------------------------------------------------------------- the network


class Network(NamedTuple):
    truth: am.LayeredMDP
    on_paper: am.LayeredMDP  # the same map, with links that never fail
    empty: Floats  # the loss of each link without queues


def network(seed: int) -> Network:
    """Five stages of links between random routers; every link fails up to one time in ten."""
    truth = am.families.routing(width=4, depth=4, seed=seed, n_links=3, failure=0.1)
    straight = [(step == step.max(axis=2, keepdims=True)) * 1.0 for step in truth.transitions]
    empty = 0.05 + 0.5 * truth.layout.flat_pairs(truth.natural_loss)
    return Network(truth, am.LayeredMDP(truth.layout, straight), empty)


class Congestion:
    """The losses of every link for packet t, given where the last packets went.

    Others load one half of the routers while the other half is free, and slowly change sides.  The
    incident fills the first link of the path that is shortest on paper.  Our own packets load each
    link by its share in about the last ``reaction`` packets.  One object serves one run.
    """

    def __init__(self, net: Network, packets: int, reaction: int) -> None:
        layout = net.truth.layout
        self._layout, self._empty = layout, net.empty
        self._packets, self._reaction = packets, reaction
        inner = [np.arange(n) if n > 1 else np.full(1, -1) for n in layout.layer_sizes[:-1]]
        router = np.repeat(np.concatenate(inner), layout.n_actions)
        self._north, self._south = (router >= 0) & (router < 2), router >= 2
        shortest = best_fixed_policy(net.on_paper, net.empty)
        self._incident = int(shortest.policy[0].argmax())
        self._own = np.zeros(layout.n_rows)

    def others(self, packet: int) -> Floats:
        wave = 0.5 - 0.5 * np.cos(2 * np.pi * RUSH_HOURS * packet / self._packets)
        load = OTHERS * (wave * self._north + (1 - wave) * self._south)
        if INCIDENT[0] <= packet / self._packets < INCIDENT[1]:
            load[self._incident] = 1.0
        return np.asarray(load)

    def __call__(self, packet: int, history: am.losses.History) -> Floats:
        if packet:  # the queue that each link has from us drains, and the last packet adds to it
            states = history[-1].states + self._layout.layer_start[:-2]
            self._own *= 1.0 - 1.0 / self._reaction
            self._own[states * self._layout.n_actions + history[-1].actions] += OWN / self._reaction
        return np.minimum(self._empty + self.others(packet) + self._own, 1.0)


# ---------------------------------------------------------------------- the senders


def senders(net: Network, packets: int) -> dict[str, Any]:
    """UOB-REPS with the preset of the package, and what one would use otherwise."""
    paper = net.on_paper, net.empty
    layout = net.truth.layout
    memories = [Replanner(*paper, memory=m, every=REPLAN) for m in (1.0, 0.99, 0.98, 0.95)]
    return {
        "UOB-REPS": am.UOBREPS(layout, packets, **am.PRACTICAL["uob-reps"]),
        "shortest on paper": Scripted(layout, [best_fixed_policy(*paper).policy]),
        "shortest on all averages": Replanner(*paper, every=REPLAN),
        "shortest on recent averages": Replanner(*paper, memory=0.98, every=REPLAN),
        "drawn among four memories": Drawn(memories, seed=0),
        "random links": am.Uniform(layout),
    }


class Sent(NamedTuple):
    """The delays of all packets of a run, in milliseconds."""

    delay: Floats  # expected, in each stretch of the run, for one packet
    total: float  # expected, of all packets
    realised: float  # on the paths that were drawn
    diary: Diary


def send(net: Network, sender: Any, packets: int, reaction: int, seed: int) -> Sent:
    """One run; the congestion starts afresh, since it depends on what the sender does."""
    losses = am.losses.Custom(Congestion(net, packets, reaction))
    points = np.unique(np.linspace(0, packets, STRETCHES + 1).astype(int))[1:]
    diary = Diary(sender)
    run = am.play(net.truth, losses, diary, packets, seed, checkpoints=points)
    delay = np.diff(run.expected_loss, prepend=0.0) / np.diff(points, prepend=0)
    return Sent(
        delay=MILLISECONDS * delay,
        total=MILLISECONDS * float(run.expected_loss[-1]),
        realised=MILLISECONDS * float(run.realised_loss[-1]),
        diary=diary,
    )


# ---------------------------------------------------------------------- the outcome


class Outcome(NamedTuple):
    runs: dict[str, Sent]  # with queues that build up over REACTION packets
    by_reaction: dict[str, list[float]]  # mean delay for each of REACTIONS


def compare(packets: int, seed: int) -> Outcome:
    """All senders once in full, then again with own queues that react faster and slower."""
    net = network(seed)
    names = list(senders(net, packets))

    def run(name: str, reaction: int) -> Sent:
        return send(net, senders(net, packets)[name], packets, reaction, seed)

    runs = {name: run(name, REACTION) for name in names}
    by_reaction = {name: [run(name, r).total / packets for r in REACTIONS] for name in names}
    return Outcome(runs, by_reaction)


def draw(outcome: Outcome, packets: int, target: Path) -> None:
    """Delay over time, and against the speed at which the network answers to our own traffic."""
    note = (
        f"Left: own queues build up over {REACTION} packets; shaded: the incident. All learn "
        "from every packet."
    )
    figure = new_figure(13.0, 5.2, "Routing while the congestion changes", note)
    left = figure.add_axes((0.065, 0.16, 0.33, 0.65))
    right = figure.add_axes((0.63, 0.16, 0.2, 0.65))
    stretches = len(outcome.runs["UOB-REPS"].delay)
    middle = (np.arange(stretches) + 0.5) * packets / stretches
    left.axvspan(*(part * packets for part in INCIDENT), color="#f0ece4", linewidth=0, zorder=0)
    draw_lines(left, middle, {name: sent.delay for name, sent in outcome.runs.items()})
    left.set_xlim(0, packets)
    dress(left, "Mean delay over time", "packets sent", "ms per packet")
    right.set_xscale("log")
    draw_lines(right, REACTIONS, outcome.by_reaction)
    right.set_xticks(REACTIONS, labels=map(str, REACTIONS))
    right.minorticks_off()
    dress(
        right,
        "Mean delay of the whole run",
        "packets in which our queues build up",
        "ms per packet",
    )
    figure.savefig(target)


def main(arguments: list[str] | None = None) -> Outcome:
    parser = argparse.ArgumentParser(description="Routing while the congestion changes.")
    parser.add_argument("--packets", type=int, default=6000)
    parser.add_argument("--output", default="results/routing.png")
    parser.add_argument("--seed", type=natural, default=0)
    options = parser.parse_args(arguments)
    target = checked_figure_path(options.output, "output")
    if options.packets < STRETCHES:
        raise am.InvalidInput(f"--packets: {options.packets} is too short; at least {STRETCHES}")
    outcome = compare(options.packets, options.seed)
    heads = "".join(f"{f'queue of {r}':>14}" for r in REACTIONS)
    print(f"ms per packet, {options.packets:,} packets{'main run':>16}{heads}")
    for name, sent in outcome.runs.items():
        others = "".join(f"{delay:>14.1f}" for delay in outcome.by_reaction[name])
        print(f"  {name:<32}{sent.total / options.packets:>12.1f}{others}")
    draw(outcome, options.packets, target)
    print(f"Figure: {target}")
    return outcome


if __name__ == "__main__":
    run_script(main)
