"""Progress of `millrace gate`: a line on the terminal, or now and then one in a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from harness.experiments.config import clock
from harness.gate.verdict import Verdict
from harness.terminal.countdown import QUIET_S
from harness.terminal.output import tell
from harness.terminal.overwritten_line import OverwrittenLine


class GateProgress(OverwrittenLine):
    """One line on stderr with blocks, time left and decided cells: overwritten on a terminal, else
    a new line every `QUIET_S`."""

    def __init__(self) -> None:
        super().__init__()
        self._told_s = -QUIET_S

    def __call__(self, blocks: int, left_s: float, states: Mapping[str, Verdict]) -> None:
        """Show that `blocks` are measured and at most `left_s` are left [s]; `states` has the
        verdict of each cell so far."""
        line = f"block {blocks}, {_left(left_s)}; {_standing(states)}"
        now_s = time.monotonic()
        if self._live:
            self._overwrite(line)
        elif now_s - self._told_s >= QUIET_S:
            self._told_s = now_s
            tell(f"millrace gate: {line}")

    def notify(self, text: str) -> None:
        """Print a line that stays: a build, or a reason for waiting."""
        self._overwrite("")
        tell(f"millrace gate: {text}")


def _left(left_s: float) -> str:
    return f"at most {clock(left_s)} left" if left_s < float("inf") else "no time limit"


def _standing(states: Mapping[str, Verdict]) -> str:
    """Return `3 of 8 cells decided: 2 ok, 1 regressed`."""
    counts = Counter(
        str(verdict) for verdict in states.values() if verdict is not Verdict.INCONCLUSIVE
    )
    verdicts = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    decided = f"{counts.total()} of {len(states)} cells decided"
    return f"{decided}: {verdicts}" if verdicts else decided
