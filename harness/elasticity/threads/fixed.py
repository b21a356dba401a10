"""Keeps the level at which it began. The baseline goes through the same door as the laws that it is compared with."""

from __future__ import annotations

from harness.elasticity.cpu_limit import Answers, CpuLimit
from harness.elasticity.law import Decision, Law, Reading


class Fixed(Law):
    """level := start."""

    name = "fixed"
    summary = "keeps the level at which it begins"

    def decide(self, reading: Reading) -> Decision:
        """Always the same."""
        return Decision(self.bounds.start, "fixed", "fixed")

    def cpu_limit(self) -> CpuLimit:
        """It never asks."""
        return Answers(())


LAW = Fixed
