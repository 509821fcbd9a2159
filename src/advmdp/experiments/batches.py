"""Which runs of a list are worth a batch on a GPU."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from advmdp.experiments.spec import RunSpec

FEWEST_RUNS = 20
"""For each core that could play them instead.  An episode of a batch takes 0.05 ms on an H200
however few runs share it, an episode of a single run 4 microseconds on a core (docs/gpu.md)."""


def worth_a_batch(specs: Sequence[RunSpec], cores: int) -> list[RunSpec]:
    """The runs that a card ends sooner than so many cores, in the order of the list.

    >>> parts = {"learner": "uniform", "mdp": {"name": "deep-sea", "depth": 3}, "n_episodes": 10}
    >>> specs = [RunSpec(**parts, losses="majority", replicate=i) for i in range(40)]
    >>> specs += [RunSpec(**parts, losses="stochastic", replicate=i) for i in range(39)]
    >>> worth_a_batch(specs, cores=2) == specs[:40]
    True
    """
    groups = defaultdict(list)
    for spec in specs:
        kind = (spec.learner.name, spec.losses.name, spec.n_episodes, str(spec.checkpoints))
        shape = {k: v for k, v in spec.mdp.parameters.items() if k != "seed"}
        groups[kind, spec.mdp.name, str(shape)].append(spec)
    large = [group for group in groups.values() if len(group) >= FEWEST_RUNS * cores]
    chosen = {spec for group in large for spec in group}
    return [spec for spec in specs if spec in chosen]
