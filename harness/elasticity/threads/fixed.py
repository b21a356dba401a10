"""A law that keeps its first level: a baseline with the same interface as the laws that are
compared with it."""

from __future__ import annotations

from harness.elasticity.cpu_limit import Answers, CpuLimit
from harness.elasticity.law import Decision, Law, Reading


class Fixed(Law):
    """Law that keeps the start level."""

    name = "fixed"
    summary = "keeps the level at which it begins"

    def decide(self, reading: Reading) -> Decision:
        """Return the start level."""
        return Decision(self.bounds.start, "fixed", "fixed")

    def cpu_limit(self) -> CpuLimit:
        """Return a limit that grants all requests; the law asks for none."""
        return Answers(())


LAW = Fixed
