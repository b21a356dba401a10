"""Statistics of one quantity, one value after the other."""

from __future__ import annotations

import math


class RunningStatistics:
    """Mean and sum of squares of the values that were added (Welford, Technometrics 4(3), 1962)."""

    def __init__(self, mean: float = 0.0) -> None:
        """Begin without values; `mean` is what is expected until then."""
        self.count = 0
        self.mean = mean
        self.squares = 0.0  # sum of squares about the mean

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def deviation(self) -> float:
        """Return the standard deviation; 0 for fewer than two values."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0
