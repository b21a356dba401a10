"""Errors that end a call of the gate before every cell has a verdict. Each has a message of one
line and an exit code."""

from __future__ import annotations

from harness.errors import RunFailed, UserError
from harness.gate.verdict import Comparison, Exit


class NoBase(RunFailed):
    """There is nothing to compare with: an unknown base revision, a base that does not build, or
    results that cannot be used."""

    exit_code = int(Exit.NO_BASE)


class NothingMeasured(RunFailed):
    """Head gave no number at all: it does not build, or its results hold none."""

    exit_code = int(Exit.NOTHING_MEASURED)


class UnusableResults(UserError):
    """A file of results holds none that can be used: it is empty or cut short, has no benchmark, or
    has a value that is no number."""


class Interrupted(KeyboardInterrupt):
    """The user stopped the measuring. `comparison` holds the results so far; cells without a
    decision are open."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison
