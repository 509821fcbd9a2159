"""Go through the claims, one after the other, and write down what was found."""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from advmdp.atomic_files import replacing
from advmdp.claims.aside import spread
from advmdp.claims.catalogue import CLAIMS, Claim, runs_of
from advmdp.claims.finding import Finding
from advmdp.claims.lab import Incomplete, Lab
from advmdp.errors import AdvMDPError, InvalidInput
from advmdp.experiments.catalogue import nearest
from advmdp.reports.html.self_contained import panel_data
from advmdp.reports.output_path import checked_path

log = logging.getLogger(__name__)
Findings = dict[str, Finding]
"""By the name that the command line knows."""
Claims = Mapping[str, Claim]


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
    """Measure the claims; the lab is told what came out of each.

    The stored runs of all claims are played as one list, so that no worker waits for the end of a
    claim; then the claims without stored runs are measured side by side, and the others judged.
    A claim is left out, and the lab told why, if one of its runs cannot be played or if anything
    else goes wrong in it: the others are worth having.
    """
    wanted = checked_names(names, claims)
    with suppress(Incomplete):  # the claims that need what is missing will say so
        lab.prepare(runs_of((claims[name] for name in wanted), quick=lab.quick))
    measured: dict[str, Finding] = {}

    def heard(result: _Measured) -> None:
        name, found, seconds = result
        if isinstance(found, _Problem):
            log.error("%s: not measured: %s", name, found.trace)
            lab.say(f"{name}: not measured: {found.line}")
            return
        measured[name] = found
        lab.say(f"[{len(measured)}/{len(wanted)}] {name}: {found.verdict} ({seconds:.0f} s)")

    alone = [name for name in wanted if claims[name].runs is None]
    spread(
        partial(_measure, lab.alone()), [(n, claims[n].measure) for n in alone], lab.workers, heard
    )
    for name in wanted:
        if name not in alone:
            heard(_measure(lab, (name, claims[name].measure)))
    return {name: measured[name] for name in wanted if name in measured}


class _Problem(NamedTuple):
    line: str
    trace: str


class _Measured(NamedTuple):
    name: str
    finding: Finding | _Problem
    seconds: float


def _measure(lab: Lab, claim: tuple[str, Callable[[Lab], Finding]]) -> _Measured:
    begin = time.perf_counter()
    name, measure = claim
    found: Finding | _Problem
    try:
        found = measure(lab)
    except AdvMDPError as problem:
        found = _Problem(str(problem), traceback.format_exc())
    except Exception as problem:  # another library's, or a mistake of ours: the log has the rest
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        found = _Problem(what, traceback.format_exc())
    return _Measured(name, found, time.perf_counter() - begin)


def n_failures(findings: Findings) -> int:
    """How many claims failed."""
    return sum(found.verdict == "fails" for found in findings.values())


def as_data(finding: Finding) -> dict[str, Any]:
    """A finding as plain JSON values."""
    texts = {k: v for k, v in vars(finding).items() if isinstance(v, str)}
    rest = {"panels": panel_data(finding.panels), "runs": list(finding.runs)}
    return {**texts, **rest, "data": plain(finding.data)}


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries; what is not finite becomes null.

    >>> from advmdp.reports.statistics import Interval
    >>> plain({"slope": Interval(0.5, float("nan"), 0.6, 4), "at": np.array([1, 2])})
    {'slope': {'estimate': 0.5, 'low': None, 'high': 0.6, 'n': 4}, 'at': [1, 2]}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = asdict(value)
    elif isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def write_json(findings: Findings, path: str | os.PathLike[str]) -> Path:
    """Everything that was measured, for other programs."""
    target = checked_path(path, (".json",))
    content = {name: as_data(found) for name, found in findings.items()}
    with replacing(target) as draft:
        draft.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return target
