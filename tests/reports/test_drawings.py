"""The drawings of the documentation: no text leaves its box."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports.browser import launched

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
OUTSIDE = """() => {
  const boxes = [...document.querySelectorAll("rect")].map((rect) => rect.getBBox());
  const holds = (box, x, y) =>
    x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
  return [...document.querySelectorAll("text:not([transform])")].flatMap((text) => {
    const drawn = text.getBBox(), middle = drawn.y + drawn.height / 2;
    const around = boxes.filter((box) => holds(box, drawn.x, middle))
      .sort((one, other) => one.width * one.height - other.width * other.height)[0];
    return around && drawn.x + drawn.width > around.x + around.width ? [text.textContent] : [];
  });
}"""


@pytest.mark.parametrize("name", ["episode", "rooms", "policy"])
def test_every_text_stays_in_its_box(name: str) -> None:
    for browser in launched():
        page = browser.new_page()
        page.goto((FIGURES / f"{name}.svg").as_uri())
        assert page.locator("text").count() > 10
        assert page.evaluate(OUTSIDE) == []
