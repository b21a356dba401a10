"""Progress of a sweep: one line that is overwritten on a terminal, else a line for each run."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.terminal.overwritten_line import OverwrittenLine

if TYPE_CHECKING:
    from harness.experiments.experiment import Block


class SweepProgress(OverwrittenLine):
    """Tells how far the sweep of some blocks is."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__()
        self._total = sum(block.runs for block in blocks)
        self._left_s = sum(block.estimated_s for block in blocks)
        self._estimated_s = self._left_s
        self._started = time.monotonic()
        self._done = 0
        self._last = ""

    def phase(self, done: int, total: int, text: str) -> None:
        """Show the phase of the current run; on terminals only."""
        if self._live and text != "done":
            said = f"{self._head()} {self._remaining()} left; {text}{self._last}"
            self._overwrite(said, self._done, self._total)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._overwrite("")
        print(text, file=sys.stderr, flush=True)

    def finished(self, block: Block, record: dict[str, Any]) -> None:
        """Count a run that has ended."""
        self._done += 1
        self._left_s = max(self._left_s - block.estimated_s / block.runs, 0.0)
        constants = (record.get("simulation") or {}).get("constants", {})
        which = (
            f"{len(constants)} constants varied"
            if len(constants) > 1
            else " ".join(f"{path}={value:g}" for path, value in constants.items())
            or f"#{record['repeat'] + 1}"
        )
        name = f"{block.name} {record['arm']} {which}"
        if record["error"] is not None or not record["correct"]:
            self.note(f"{name}: run failed: {(record['error'] or 'wrong result').splitlines()[0]}")
        elif self._live:
            self._last = f" (last: {record['arm']} {_rate(record)})"
        else:
            print(
                f"{self._head()} {name}: {_rate(record)}, {self._remaining()} left",
                file=sys.stderr,
                flush=True,
            )

    def _head(self) -> str:
        return f"[{self._done}/{self._total}]"

    def _remaining(self) -> str:
        """Return the estimate of what is left, stretched by how wrong it was so far."""
        from harness.experiments.config import clock

        past = self._estimated_s - self._left_s
        stretch = (time.monotonic() - self._started) / past if past > 0 else 1.0
        return clock(self._left_s * stretch)


def _rate(record: dict[str, Any]) -> str:
    rate = record["sink_tuples_per_s"]
    settled = "" if record["settled"] else ", unsettled"
    return f"{rate:,.0f} tuples/s{settled}" if rate is not None else f"no rate{settled}"
