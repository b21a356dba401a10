"""The thread pool of .NET: the level swings, and climbs if throughput swings with it.

The level is `setting`, or `setting + m` in every other half of a wave of `WAVE_SAMPLES` samples.
Over the last `HISTORY` samples, whole waves of them, c(x, p) is the Fourier component of x at a
period of p samples, over the mean of x:

  T = c(throughput, wave)         N = c(level, wave)
  E = the larger of |c(throughput, p)| at the two periods beside the wave; the noise is E, smoothed
      with 0.01
  move = clamp(Re((T - 0.15 N) / N), -1, 1) x clamp(|N| / max(noise, E) / 3, 0, 1)
  setting += sign(move) move^2 x 4 x the sample's length [s], at most 20; no climb above 95 % CPU
  m = clamp(floor(0.5 + 6 setting x noise), 1, 20)

0.15 is the share of throughput that a share of threads must bring. So the level never rests. The
component is Goertzel's.

Left out: .NET chooses the time to the next sample at random, from 10 to 200 ms, and puts short
samples together; here a sample is a period. Source: `HillClimbing` in the runtime of .NET, with its
default settings.
"""

from __future__ import annotations

import cmath
import math
from collections import deque
from collections.abc import Sequence

from harness.elasticity.law import Decision, Law, Reading, Setting

WAVE_SAMPLES = 4  # samples
HISTORY = 8 * WAVE_SAMPLES
SMOOTHING = 0.01
MIN_SIGNAL_TO_NOISE = 3.0  # times the noise that a swing of the level must be to be trusted
MOST_SWING, MOST_MOVE = 20, 20.0  # threads


class HillClimbing(Law):
    """Law of the thread pool of .NET."""

    name = "hill_climbing"
    summary = "swings the level and climbs where throughput swings with it (.NET thread pool)"
    SETTINGS = (
        Setting(
            "ratio", 0.15, 0.0, 1.0, "", "share of throughput that a share of threads must bring"
        ),
        Setting("speed", 4.0, 0.0, 1e3, "threads/s", "the fastest move"),
        Setting(
            "cpu_limit", 0.95, 0.0, 1.0, "", "no climb while the CPUs are busier than this share"
        ),
    )

    def begin(self) -> None:
        """Begin without samples."""
        self._setting = float(self.bounds.start)
        self._samples: deque[tuple[float, int]] = deque(maxlen=HISTORY)  # throughput and level
        self._total = 0
        self._noise = 0.0

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        self._samples.append((reading.throughput, reading.threads))
        self._total += 1
        move, why = self._move()
        change = math.copysign(move * move, move) * float(self.set["speed"]) * reading.elapsed_s
        change = min(change, MOST_MOVE)
        if (
            change > 0.0
            and reading.system_cpu is not None
            and reading.system_cpu > self.set["cpu_limit"]
        ):
            change, why = 0.0, f"{why}, but the CPUs are busy"
        self._setting += change
        swing = max(
            1,
            min(
                MOST_SWING,
                math.floor(0.5 + 2.0 * MIN_SIGNAL_TO_NOISE * self._setting * self._noise),
            ),
        )
        self._setting = max(
            float(self.bounds.minimum), min(float(self.bounds.maximum - swing), self._setting)
        )
        high = (self._total // (WAVE_SAMPLES // 2)) % 2
        level = self.bounds.clamp(int(self._setting + swing * high))
        state = (
            "searching"
            if level == reading.threads
            else "climbing"
            if level > reading.threads
            else "descending"
        )
        return Decision(
            level, f"{why} → {self._setting:.1f}{f' and {swing}' if high else ''}", state
        )

    def _move(self) -> tuple[float, str]:
        """Return the move, from -1 to 1, and its reason."""
        count = min(self._total - 1, HISTORY) // WAVE_SAMPLES * WAVE_SAMPLES
        if count <= WAVE_SAMPLES:
            return 0.0, "too few samples"
        rates, levels = zip(*list(self._samples)[-count:], strict=True)
        top = max(rates)
        if top <= 0.0:
            return 0.0, "no tuples"
        # only shares of the mean count, and sums of shares stay finite
        rates = [rate / top for rate in rates]
        mean, mean_level = sum(rates) / count, sum(levels) / count
        rate_wave = component(rates, WAVE_SAMPLES) / mean
        level_wave = component(levels, WAVE_SAMPLES) / mean_level
        waves = count / WAVE_SAMPLES
        error = abs(component(rates, count / (waves + 1.0)) / mean)
        if count / (waves - 1.0) <= count:
            error = max(error, abs(component(rates, count / (waves - 1.0)) / mean))
        self._noise = (
            error if self._noise == 0.0 else SMOOTHING * error + (1.0 - SMOOTHING) * self._noise
        )
        if abs(level_wave) <= 0.0:
            return 0.0, "the level does not swing"
        slope = ((rate_wave - float(self.set["ratio"]) * level_wave) / level_wave).real
        noise = max(self._noise, error)
        trust = abs(level_wave) / noise / MIN_SIGNAL_TO_NOISE if noise > 0.0 else 1.0
        return max(-1.0, min(1.0, slope)) * max(
            0.0, min(1.0, trust)
        ), f"slope {slope:+.2f}, trust {min(1.0, trust):.2f}"


def component(values: Sequence[float], period: float) -> complex:
    """Return the Fourier component of a series at a period in samples, over their number (Goertzel
    1958)."""
    angle = 2.0 * math.pi / period
    before = last = 0.0
    for value in values:
        before, last = last, 2.0 * math.cos(angle) * last - before + value
    return (last - before * cmath.exp(-1j * angle)) / len(values)


LAW = HillClimbing
