"""A differential flame graph: head above, base below, on one scale, in one SVG without any script.

A box is a function within its callers, as wide as its cost with all that it calls. Red boxes cost
more in head than in base, blue ones less, the stronger the more. A pointer on a box shows its name
and both costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from harness.gate.explain.profile import Stack, StackProfile

WIDTH, MARGIN, ROW, TITLE = 1200, 10, 17, 24  # [px]
LETTER_WIDTH = 6.6  # width of a letter [px]
MIN_BOX_WIDTH = 0.4  # boxes that are not as wide are left out [px]
FULL_COLOUR = 0.1  # difference in shares of the total at which the colour is full


@dataclass
class Frame:
    """A function within its callers, and its cost with all that it calls."""

    cost: float = 0.0
    children: dict[str, Frame] = field(default_factory=dict)


@dataclass(frozen=True)
class Box:
    """A node at its place in the graph."""

    stack: Stack
    left: float
    width: float
    depth: int


def flame_graph(base: StackProfile, head: StackProfile, title: str) -> str:
    """Return the SVG."""
    costs = {name: _inclusive(profile) for name, profile in (("base", base), ("head", head))}
    scale = (WIDTH - 2 * MARGIN) / max(base.total, head.total, 1e-300)
    parts: list[str] = []
    y = TITLE + MARGIN
    for name, profile in (("head", head), ("base", base)):
        boxes = list(_boxes(_tree(profile), scale))
        parts.append(_text(MARGIN, y + ROW - 5, f"{name}: {amount(profile.total, profile.unit)}"))
        y += ROW
        for box in boxes:
            before, after = (costs[side].get(box.stack, 0.0) for side in ("base", "head"))
            colour = _colour((after - before) / max(base.total, head.total))
            parts.append(_drawn(box, y, colour, before, after, profile.unit))
        y += ROW * (1 + max((box.depth for box in boxes), default=0) + 1)
    heading = _text(MARGIN, TITLE - 6, f"{title}: red costs more in head, blue less", "bold")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}" font-family="monospace" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join([heading, *parts])
        + "\n</svg>\n"
    )


def amount(value: float, unit: str) -> str:
    """Return a cost for people: `0.52 s`, `1.2e+06 instructions`."""
    return f"{value:.3g} {unit}".rstrip()


def _inclusive(profile: StackProfile) -> Mapping[Stack, float]:
    """Return the cost of each beginning of a stack, with all that it calls."""
    found: dict[Stack, float] = {}
    for stack, cost in profile.costs.items():
        for end in range(1, len(stack) + 1):
            found[stack[:end]] = found.get(stack[:end], 0.0) + cost
    return found


def _tree(profile: StackProfile) -> Frame:
    root = Frame()
    for stack, cost in profile.costs.items():
        node = root
        for name in stack:
            node = node.children.setdefault(name, Frame())
            node.cost += cost
    return root


def _boxes(
    node: Frame, scale: float, stack: Stack = (), left: float = MARGIN, depth: int = 0
) -> Iterator[Box]:
    """Yield the boxes of a node's children, and of theirs, in the order of their names."""
    for name, child in sorted(node.children.items()):
        width = child.cost * scale
        if width >= MIN_BOX_WIDTH:
            yield Box((*stack, name), left, width, depth)
            yield from _boxes(child, scale, (*stack, name), left, depth + 1)
        left += width


def _drawn(box: Box, top: float, colour: str, before: float, after: float, unit: str) -> str:
    y, name = top + ROW * box.depth, box.stack[-1]
    tooltip = f"{name}: base {amount(before, unit)}, head {amount(after, unit)}"
    letters = int((box.width - 4) / LETTER_WIDTH)
    label = "" if letters < 3 else name if len(name) <= letters else f"{name[: letters - 1]}…"
    return (
        f"<g><title>{_escaped(tooltip)}</title>"
        f'<rect x="{box.left:.1f}" y="{y}" width="{box.width:.1f}" height="{ROW - 1}" '
        f'fill="{colour}" stroke="white" stroke-width="0.5"/>'
        f"{_text(box.left + 2, y + 12, label) if label else ''}</g>"
    )


def _colour(change: float) -> str:
    """Return red for more, blue for less, and light grey for no change."""
    strength = min(1.0, abs(change) / FULL_COLOUR)
    other = round(235 - 150 * strength)
    return f"rgb(235,{other},{other})" if change > 0 else f"rgb({other},{other},235)"


def _text(x: float, y: float, words: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y}" font-weight="{weight}">{_escaped(words)}</text>'


def _escaped(text: str) -> str:
    """Return a text for XML, without characters that it forbids."""
    return escape("".join(each if each.isprintable() else "�" for each in text))
