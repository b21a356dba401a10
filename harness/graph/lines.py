"""Lines of a file in which the operators and streams of a graph are written, for messages."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.graph.operator import Stream


@dataclass
class FileLines:
    """Lines of `file`, counted from 1, of operators and of streams, in the order in which the graph
    has them; 0: not known.
    """

    file: Path
    operators: array[int] = field(default_factory=lambda: array("I"))
    streams: array[int] = field(default_factory=lambda: array("I"))

    def add(self, operators: int, streams: int, line: int | None) -> None:
        """Let a line be that of what is new, up to so many operators and streams."""
        for lines, count in ((self.operators, operators), (self.streams, streams)):
            lines.extend([line or 0] * (count - len(lines)))

    def last(
        self, about: Iterable[str | Stream], operators: Iterable[str], streams: Iterable[Stream]
    ) -> int:
        """Return the last line of what is named: operators, or streams. 0: it is not known."""
        wanted = set(about)
        found = [
            line for name, line in zip(operators, self.operators, strict=False) if name in wanted
        ]
        found += [
            line for stream, line in zip(streams, self.streams, strict=False) if stream in wanted
        ]
        return max(found, default=0)
