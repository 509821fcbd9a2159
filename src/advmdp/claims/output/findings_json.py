"""Findings as plain JSON values."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from advmdp.claims.finding import Finding, Findings
from advmdp.files.atomic import replacing
from advmdp.reports.html.self_contained import panel_data
from advmdp.reports.output_path import checked_path


def as_data(finding: Finding) -> dict[str, Any]:
    """A finding as plain JSON values."""
    texts = {k: v for k, v in vars(finding).items() if isinstance(v, str)}
    rest = {"panels": panel_data(finding.panels), "runs": list(finding.runs)}
    return {**texts, **rest, "data": plain(finding.data)}


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries; a number that is not finite becomes null.

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
    """Write all findings to a JSON file, and return its path."""
    target = checked_path(path, (".json",))
    content = {name: as_data(found) for name, found in findings.items()}
    with replacing(target) as draft:
        draft.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return target
