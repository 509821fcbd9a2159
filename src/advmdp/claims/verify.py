"""Measure the claims one after the other, and collect the findings."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from advmdp.claims.catalogue import CLAIMS, AnyClaim, runs_of
from advmdp.claims.finding import Finding, Findings
from advmdp.claims.lab import Lab, MissingRuns
from advmdp.claims.playing.process_pool import map_in_processes
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.experiments.catalogue import nearest

log = logging.getLogger(__name__)
Claims = Mapping[str, AnyClaim]


def checked_names(names: Sequence[str], claims: Claims = CLAIMS) -> list[str]:
    """The claims of these names in the order of the paper; all of them if none is named.

    >>> checked_names(["four-term"])
    Traceback (most recent call last):
    ...
    advmdp.errors.InvalidInput: claim: there is no 'four-term'; did you mean 'four-terms'?
    """
    for name in names:
        if name not in claims:
            raise InvalidInput(f"claim: there is no {name!r}{nearest(name, claims)}")
    return [name for name in claims if name in names or not names]


def verify(lab: Lab, names: Sequence[str] = (), claims: Claims = CLAIMS) -> Findings:
    """Measure and judge the claims; the lab reports each verdict as it is known.

    The stored runs of all claims are played as one list, so that no worker waits for the end of a
    claim; then the claims without stored runs are measured in parallel, and the others judged.
    A claim is left out, and the lab reports why, if one of its runs cannot be played or an error
    occurs in it: the other findings are still returned.
    """
    wanted = checked_names(names, claims)
    with suppress(MissingRuns):  # the claims that need the missing runs report it below
        lab.prepare(runs_of((claims[name] for name in wanted), quick=lab.quick))
    findings: Findings = {}

    def report(outcome: _Outcome) -> None:
        name, found, seconds = outcome
        if isinstance(found, _Error):
            log.error("%s: not measured: %s", name, found.trace)
            lab.say(f"{name}: not measured: {found.line}")
            return
        findings[name] = found
        lab.say(f"[{len(findings)}/{len(wanted)}] {name}: {found.verdict} ({seconds:.0f} s)")

    chosen = [(name, claims[name]) for name in wanted]
    own_runs = [item for item in chosen if not item[1].is_stored]
    map_in_processes(partial(_find, lab.for_worker()), own_runs, lab.workers, report)
    for item in chosen:
        if item[1].is_stored:
            report(_find(lab, item))
    return {name: findings[name] for name in wanted if name in findings}


class _Error(NamedTuple):
    """An error inside a claim: in a line for the terminal, and in full for the log."""

    line: str
    trace: str


class _Outcome(NamedTuple):
    name: str
    finding: Finding | _Error
    seconds: float


def _find(lab: Lab, item: tuple[str, AnyClaim]) -> _Outcome:
    begin = time.perf_counter()
    name, claim = item
    found: Finding | _Error
    try:
        found = claim.finding(lab)
    except AdvMDPError as error:
        found = _Error(str(error), traceback.format_exc())
    except Exception as error:  # of another library, or a mistake of ours: the log has the trace
        line = " ".join(f"{type(error).__name__}: {error}".split())
        found = _Error(line, traceback.format_exc())
    return _Outcome(name, found, time.perf_counter() - begin)


def n_failures(findings: Findings) -> int:
    """How many claims failed."""
    return sum(found.verdict == "fails" for found in findings.values())
