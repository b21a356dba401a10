"""What ends a call of the gate before it has a verdict on every cell. Each is told in one line and has an exit code."""

from __future__ import annotations

from harness.errors import RunFailed
from harness.gate.verdict import Comparison, Exit


class NoBase(RunFailed):
    """There is nothing to compare with: an unknown base revision, a base that does not build, results that cannot be used."""

    exit_code = int(Exit.NO_BASE)


class NothingMeasured(RunFailed):
    """Head gave no number at all: it does not build, or its results hold none."""

    exit_code = int(Exit.NOTHING_MEASURED)


class Interrupted(KeyboardInterrupt):
    """The user stopped the measuring. `comparison` has what there was until then; cells without a decision are open."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison
