"""A law that keeps its first level: a baseline with the same interface as the laws that are
compared with it."""

from __future__ import annotations

from harness.elasticity.law import Decision, Law, Reading


class Fixed(Law):
    """Law that keeps the start level."""

    name = "fixed"
    summary = "keeps the level at which it begins"

    def decide(self, reading: Reading) -> Decision:
        """Return the start level."""
        return Decision(self.bounds.start, "fixed", "fixed")


LAW = Fixed
