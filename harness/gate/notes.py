"""Notes for a reader of the verdict: on the sides, and on the host while it was measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.gate.host_key import contradictions
from harness.gate.sequential import FIRST_LOOK_BLOCKS
from harness.gate.verdict import CellResult, Side, Verdict
from harness.measurement.host import MAX_LOAD_OF_OTHERS, MAX_STEAL, MIN_THROTTLED_US

MAX_DISTURBED_SHARE = 0.1  # largest share of disturbed samples without a note; a guess, not tuned

LIMITS = {
    "load_of_others": ("load of other processes", MAX_LOAD_OF_OTHERS),
    "steal_share": ("time stolen by the hypervisor", MAX_STEAL),
    "throttled_us": ("throttling by the cgroup", MIN_THROTTLED_US),
}
"""Disturbances of a sample, by the field of its `host`: the name of each, and the limit above which
it is too much."""


@dataclass
class Fitness:
    """Counter of samples whose host was disturbed while they were measured, as far as their hosts
    report it."""

    samples: int = 0
    disturbed: int = 0
    causes: Counter[str] = field(default_factory=Counter)

    def see(self, host: Mapping[str, Any]) -> None:
        """Count one more sample by its `host`. One that says nothing about others does not
        count."""
        if all(host.get(key) is None for key in LIMITS):
            return
        causes = disturbances(host)
        self.samples += 1
        self.disturbed += bool(causes)
        self.causes.update(causes)

    def notes(self) -> Iterator[str]:
        """Yield a note if many samples were disturbed."""
        if self.disturbed > MAX_DISTURBED_SHARE * self.samples:
            causes = ", ".join(f"{name} in {count}" for name, count in self.causes.most_common())
            yield (
                f"the host was disturbed while {self.disturbed} of {self.samples} samples were "
                f"measured: {causes}"
            )


def side_notes(sides: Iterable[tuple[str, Side]]) -> Iterator[str]:
    """Yield notes on sides, given as (role, side), that differ from their commit or have none."""
    for role, side in sides:
        if side.dirty:
            yield f"{role} {side.label!r} has changes that are not committed"
        elif side.commit is None:
            yield f"no commit is known of {role} {side.label!r}"


def same_commit(commit: str) -> str:
    """Return the note that base and head are the same commit, so only builds and hosts can
    differ."""
    return (
        f"base and head are the same commit, {commit[:12]}: there is no difference to be found "
        "but one of builds or hosts"
    )


def built_notes(base: Side, head: Side) -> Iterator[str]:
    """Yield a note if the sides' hosts differ in a fact that both report. The compiler and the
    interpreter may be part of the change."""
    found = contradictions(head.host, base.host)
    if found:
        yield f"base and head were not built or executed alike: {'; '.join(found)}"


def crash_notes(program: str, control: bool, crashes: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield notes on processes of one program that gave no answer and were started again, by
    side."""
    for side, errors in crashes.items():
        if errors:
            where = (
                f"base of {program}, compared with itself," if control else f"{side} of {program}"
            )
            count = f"{len(errors)} process{'es' if len(errors) > 1 else ''}"
            yield f"{where} gave no answer in {count}, which ran again: {errors[0]}"


def mean_notes(results: Iterable[CellResult], factor: float) -> Iterator[str]:
    """Yield notes on cells whose means contradict their ranks, which happens if some processes are
    much slower than the others."""
    for result in results:
        metric, limit = result.cell.metric, result.cell.metric.factor or factor
        if (
            result.verdict not in (Verdict.REGRESSED, Verdict.OK, Verdict.IMPROVED)
            or metric.may_be_zero
            or metric.deterministic
        ):
            continue
        # dividing by the largest value keeps sums below the largest float
        most = max(*result.base, *result.head)
        before, after = (
            sum(value / most for value in side) / len(side) for side in (result.base, result.head)
        )
        if not metric.lower_is_better:
            before, after = after, before
        if (after > limit * before) is not (result.verdict is Verdict.REGRESSED) and before > 0.0:
            yield (
                f"{result.cell.name} is {result.verdict} by its ranks, but the mean of head is "
                f"{after / before:.3g} times that "
                "of base in the bad direction: a few processes are far from the others, or there "
                "are two speeds"
            )


def control_notes(control: CellResult, factor: float) -> Iterator[str]:
    """Yield a note on how far base may differ from itself if that is more than the factor, or a
    note that the control's values are too coarse or too few to tell."""
    low, high = control.decision.low, control.decision.high
    if not (low > 0.0 and math.isfinite(high)) and control.decision.blocks >= FIRST_LOOK_BLOCKS:
        yield "the control's values are too coarse to say how noisy the host is"
    elif not (low > 0.0 and math.isfinite(high)):
        yield (
            f"the control has {control.decision.blocks} blocks, too few to say how noisy the "
            "host is"
        )
    elif (most := max(high, 1.0 / low)) > factor:
        yield f"the host is noisy: base can differ from itself by up to {100 * (most - 1.0):.1f} %"


def disturbances(host: Mapping[str, Any]) -> list[str]:
    """Return the names of disturbances of a sample that exceed the limits of a fit host."""
    return [name for key, (name, limit) in LIMITS.items() if _exceeds(host.get(key), limit)]


def _exceeds(value: object, limit: float) -> bool:
    """Return True if a value is at or above a limit in whole microseconds, or above a limit that is
    a share, as in `host.fitness_warnings`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= limit if isinstance(limit, int) else value > limit
