"""The palettes: contrast with their grounds, and distances as colour-blind readers see them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from advmdp.reports.figures.line_styles import (
    COLOURS,
    COLOURS_ON_DARK,
    DARK_PAPER,
    PAPER,
)
from advmdp.reports.html.self_contained import ASSETS, package_text

Colour = NDArray[np.float64]
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
# Machado, Oliveira and Fernandes (2009), severity 1, on linear light.
EYES = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def linear(colour: str) -> Colour:
    """Linear light from #rrggbb (IEC 61966-2-1)."""
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light: Colour) -> Colour:
    t = (TO_XYZ @ light) / WHITE
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2."""
    high, low = sorted((TO_XYZ[1] @ linear(colour) for colour in (one, other)), reverse=True)
    return float((high + 0.05) / (low + 0.05))


PALETTES = pytest.mark.parametrize(
    ("palette", "ground"), [(COLOURS, PAPER), (COLOURS_ON_DARK, DARK_PAPER)]
)


@PALETTES
def test_lines_stand_out_from_their_ground(palette: tuple[str, ...], ground: str) -> None:
    assert min(contrast(colour, ground) for colour in palette) >= 3.0  # WCAG 1.4.11, graphics
    assert f"--ground: {ground.lower() if ground != '#FFFFFF' else '#fff'}" in package_text(
        ASSETS, "page.css"
    )


@pytest.mark.parametrize("eyes", EYES)
@PALETTES
def test_any_two_colours_differ(palette: tuple[str, ...], ground: str, eyes: str) -> None:
    seen = [lab(np.clip(EYES[eyes] @ linear(colour), 0.0, 1.0)) for colour in palette]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) >= 20.0


def test_the_measures_themselves() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    np.testing.assert_allclose(lab(linear("#FFFFFF")), [100.0, 0.0, 0.0], atol=0.01)
    # Red and green of equal lightness are far apart, and close for deuteranopes.
    red, green = linear("#D03030"), linear("#5C7A20")
    usual, blind = (
        np.linalg.norm(lab(EYES[eyes] @ red) - lab(EYES[eyes] @ green))
        for eyes in ("usual", "deuteranopia")
    )
    assert blind < 0.4 * usual
