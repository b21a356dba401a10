"""Driving laws in tests: along a curve that answers the level, or along given samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.elasticity import Bounds, Decision, Law, Reading, make_law


def reading(second: int, level: int, throughput: float, **others: float | None) -> Reading:
    """A period of one second."""
    return Reading(float(second), 1.0, level, float(throughput), **others)


def closed_loop(
    law: Law,
    curve: Callable[[int], float],
    periods: int,
    congested: Callable[[int], bool] = lambda level: True,
    after: Sequence[Decision] = (),
) -> list[Decision]:
    """Return what a law decides when the throughput of each period is that of its level; `after`:
    what it has decided before.
    """
    level, decisions = after[-1].threads if after else law.bounds.start, []
    for second in range(len(after) + 1, len(after) + 1 + periods):
        decisions.append(
            law.step(reading(second, level, curve(level), congestion=float(congested(level))))
        )
        level = decisions[-1].threads
    return decisions


def open_loop(law: Law, throughputs: Iterable[float]) -> list[Decision]:
    """Return what a law decides when the throughputs come as they come."""
    level, decisions = law.bounds.start, []
    for second, throughput in enumerate(throughputs):
        decisions.append(law.step(reading(second, level, throughput)))
        level = decisions[-1].threads
    return decisions


def levels(decisions: Iterable[Decision]) -> list[int]:
    """The levels alone."""
    return [decision.threads for decision in decisions]


def states(decisions: Iterable[Decision]) -> list[str]:
    """The states alone."""
    return [decision.state for decision in decisions]


class Cpu:
    """Answers requests to climb as the test says, and counts them."""

    def __init__(self, granted: bool = True) -> None:
        self.granted = granted
        self.requests = 0

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Nothing to see."""

    def acceptable(self) -> bool:
        """Answer as the test says."""
        self.requests += 1
        return self.granted


def up_to(knee: int, each: float = 100.0) -> Callable[[int], float]:
    """A curve that rises by `each` a level and is flat from `knee` on."""
    return lambda level: each * min(level, knee)


def peak_at(best: int, each: float = 100.0, fall: float = 20.0) -> Callable[[int], float]:
    """A curve that rises by `each` a level to `best`, and falls by `fall` a level from there."""
    return lambda level: each * min(level, best) - fall * max(0, level - best)


def scaled(curve: Callable[[int], float], factor: float) -> Callable[[int], float]:
    """Return the same curve with all throughputs times a factor."""
    return lambda level: factor * curve(level)


def millrace(
    maximum: int = 64,
    minimum: int = 1,
    start: int | None = None,
    cpu: Cpu | None = None,
    **given: object,
) -> Law:
    """Millrace's own law with settings, from its minimum if no start is given; climbs are granted
    if nobody else is to say.
    """
    return make_law(
        "millrace",
        Bounds(minimum, maximum, minimum if start is None else start),
        cpu or Cpu(),
        given,
    )
