"""A claim: how it is measured, how a measurement is judged, and how both are described.

The three are apart.  *Measuring* plays runs and returns plain data.  *Judging* is a pure function
of that data: it can be tested on made-up measurements, and repeated on stored ones.  The
*description* holds every sentence of the finding; the judge supplies the figures in it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from advmdp.claims.finding import DETERMINISTIC, Finding, Verdict
from advmdp.claims.lab import Lab
from advmdp.claims.playing.run_grids import RunGrid, specs_of
from advmdp.experiments.spec import RunSpec
from advmdp.reports.figures.panels import Panel

EffortT = TypeVar("EffortT")
MeasurementT = TypeVar("MeasurementT")


@dataclass(frozen=True)
class Description:
    """The sentences of a claim.

    ``instances``, ``measured``, ``bound`` and ``margin`` are templates in the syntax of
    ``str.format``, whose fields are the figures of a judgement.

    >>> texts = Description("A", "Lemma 1", "c", "{n} runs", "{x:.1f}", "1", "{x:.0%}").fill(
    ...     {"n": 3, "x": 0.25}
    ... )
    >>> texts["instances"], texts["measured"], texts["margin"]
    ('3 runs', '0.2', '25%')
    """

    statement: str
    """The claim in a few words."""
    reference: str
    """Where the paper says it."""
    checked: str
    """What is checked, in a sentence."""
    instances: str
    """On which MDPs, losses, horizons and seeds."""
    measured: str
    bound: str
    margin: str
    """Distance of the measured figure from the bound."""
    error_rate: str = DETERMINISTIC
    """Probability that a statistical verdict rejects a true claim."""

    def fill(self, figures: Mapping[str, Any]) -> dict[str, str]:
        """The texts of a finding, by the name of its field."""
        templates = {
            "instances": self.instances,
            "measured": self.measured,
            "bound": self.bound,
            "margin": self.margin,
        }
        return {
            "claim": self.statement,
            "reference": self.reference,
            "checked": self.checked,
            "error_rate": self.error_rate,
            **{name: template.format(**figures) for name, template in templates.items()},
        }


@dataclass(frozen=True)
class Judgement:
    """What a judge concludes from a measurement."""

    verdict: Verdict
    figures: Mapping[str, Any]
    """What the templates of the description name: numbers, and lists of them as text."""
    data: dict[str, Any]
    """Everything measured and computed, for the JSON file."""
    panels: tuple[Panel, ...] = ()
    runs: tuple[str, ...] = ()
    """Ids of the stored runs that were measured."""


@dataclass(frozen=True)
class Claim(Generic[EffortT, MeasurementT]):
    """One claim of the paper.

    Parameters
    ----------
    name
        What the command line calls it.
    quick, full
        How much to play, in minutes and in hours.
    measure_at
        Plays at an effort and returns plain data: a NamedTuple of JSON values.
    judge
        A pure function of a measurement; plays nothing, reads and writes nothing.
    grids
        The stored runs at an effort, in grids; None if the claim plays its runs beside the store.
    on_gpu
        Whether ``measure_at`` plays its own runs as batches on a GPU where the lab has one.
    """

    name: str
    description: Description
    quick: EffortT
    full: EffortT
    measure_at: Callable[[Lab, EffortT], MeasurementT]
    judge: Callable[[MeasurementT], Judgement]
    grids: Callable[[EffortT], Mapping[Any, RunGrid]] | None = None
    on_gpu: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether the claim rests on stored runs; the others are measured anew each time."""
        return self.grids is not None

    def runs(self, *, quick: bool) -> list[RunSpec]:
        """The stored runs that the claim needs, each once."""
        return [] if self.grids is None else specs_of(*self.grids(self._effort(quick)).values())

    def measure(self, lab: Lab) -> MeasurementT:
        """Measure at the lab's effort."""
        return self.measure_at(lab, self._effort(lab.quick))

    def conclude(self, measurement: MeasurementT) -> Finding:
        """The finding that follows from a measurement."""
        judgement = self.judge(measurement)
        return Finding(
            verdict=judgement.verdict,
            panels=judgement.panels,
            runs=judgement.runs,
            data=judgement.data,
            **self.description.fill(judgement.figures),
        )

    def finding(self, lab: Lab) -> Finding:
        """Measure and conclude; a claim without stored runs names the seed that it drew from."""
        found = self.conclude(self.measure(lab))
        if self.is_stored:
            return found
        return replace(found, instances=f"{found.instances}; {lab.origin(on_gpu=self.on_gpu)}")

    def _effort(self, quick: bool) -> EffortT:
        return self.quick if quick else self.full
