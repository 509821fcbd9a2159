"""Select the runs that a GPU plays faster than the cores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from advmdp.experiments.spec import RunSpec

FEWEST_RUNS = 20
"""Of a batch, for each core that could play them instead.  An episode of a batch takes 0.05 ms on
an H200 however few runs share it, an episode of one run 4 microseconds on a core (docs/gpu.md)."""


def worth_a_batch(specs: Sequence[RunSpec], cores: int) -> list[RunSpec]:
    """The runs that a GPU finishes sooner than so many cores, in the order of the list.

    >>> common = {"learner": "uniform", "mdp": {"name": "deep-sea", "depth": 3}, "n_episodes": 10}
    >>> specs = [RunSpec(**common, losses="majority", replicate=i) for i in range(40)]
    >>> specs += [RunSpec(**common, losses="stochastic", replicate=i) for i in range(39)]
    >>> worth_a_batch(specs, cores=2) == specs[:40]
    True
    """
    groups = defaultdict(list)
    for spec in specs:
        if spec.delay is not None:  # batches have no late feedback
            continue
        names = (spec.learner.name, spec.losses.name, spec.mdp.name)
        shape = {key: value for key, value in spec.mdp.parameters.items() if key != "seed"}
        groups[names, spec.n_episodes, str(spec.checkpoints), str(shape)].append(spec)
    large = [group for group in groups.values() if len(group) >= FEWEST_RUNS * cores]
    chosen = {spec for group in large for spec in group}
    return [spec for spec in specs if spec in chosen]
