"""Figures as parts of a page: their SVG without what a page does not need."""

from __future__ import annotations

import re

DECIMALS = 2  # of a coordinate [pt]: a screen shows no less than a hundredth of a point
READABLE = 0.9  # of the natural width: letters of 9 pt are then as large as small print on a screen

_COORDINATE = re.compile(r"-?\d+\.\d{3,}")


def inline(text: str, name: str) -> str:
    """Return an SVG file as an element of a page that can hold several.

    Its ids begin with `name`, so that those of two figures differ. It is as wide as its place, but
    no narrower than its text needs.
    """
    start = text.index("<svg")
    text = re.sub(r"<metadata>.*?</metadata>", "", text[start:].strip(), flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", text)
    text = _COORDINATE.sub(lambda found: f"{float(found[0]):.{DECIMALS}f}", text)
    text = re.sub(r">\s+<", "><", text)
    width = re.search(r'viewBox="0 0 ([\d.]+) ', text)
    least = float(width[1]) * READABLE if width else 0.0
    head = re.sub(r'\s(?:width|height)="[^"]*pt"', "", text[: text.index(">")])
    style = f' style="min-width:{least:.0f}px" role="img" aria-label="{name}"'
    return head + style + text[text.index(">") :]
