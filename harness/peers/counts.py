"""Counters of a peer's program, checked: an impossible answer is a failed run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import RunFailed


@dataclass(frozen=True)
class Counts:
    """Counters since the start; those by operator are the program's own operators."""

    ns: int  # since the start; of a finished run: until its end
    executed: Sequence[int]  # tuples by operator: sent by a source, arrived at a sink
    latency: Sequence[int]  # histogram at the sinks, in the buckets of our own runs
    longest_ns: int
    switches: int | None  # context switches of the process; None: not reported
    finished: bool

    @classmethod
    def none(cls, operators: int, buckets: int) -> Counts:
        """Return the counters before the start."""
        return cls(0, [0] * operators, [0] * buckets, 0, 0, False)

    @classmethod
    def read(cls, name: str, told: Mapping[str, Any], operators: int, buckets: int) -> Counts:
        """Parse a line of a program. `latency` is written as bucket, count, bucket, count and so
        on, without empty buckets.
        """
        pairs = _numbers(name, told, "latency", None)
        counts = [0] * buckets
        for bucket, count in zip(pairs[::2], pairs[1::2], strict=len(pairs) % 2 == 0):
            if bucket >= buckets:
                raise RunFailed(
                    f"peer {name}: latency must be in buckets below {buckets}, not {bucket}"
                )
            counts[bucket] = count
        return cls(
            ns=_number(name, told, "ns"),
            executed=_numbers(name, told, "executed", operators),
            latency=counts,
            longest_ns=_number(name, told, "longest"),
            switches=_number(name, told, "switches") if "switches" in told else None,
            finished=bool(told.get("finished", False)),
        )

    def check_after(self, name: str, before: Counts) -> None:
        """Raise RunFailed if a counter is less than in `before`."""
        if self.ns < before.ns or any(
            now < then for now, then in zip(self.executed, before.executed, strict=True)
        ):
            raise RunFailed(f"peer {name}: a counter went back")


@dataclass(frozen=True)
class Ending:
    """Values that only the totals contain. Sums are of fingerprints, modulo 2^64."""

    drained: bool
    left: Sequence[int]  # tuples that each operator received and did not execute
    # by operator: of what a source sent, of what a sink received, of what any other one did not
    # execute
    sums: Sequence[int]
    out_of_order: int  # tuples that a sink saw after a later one of the same path
    harmed: int  # tuples at the sinks whose payload or value differs from the source's
    ns_per_flop: float | None  # time of a dependent floating-point operation in the program

    @classmethod
    def read(cls, name: str, told: Mapping[str, Any], operators: int) -> Ending:
        """Parse a line of a program."""
        flop = told.get("ns_per_flop")
        if flop is not None and (
            isinstance(flop, bool) or not isinstance(flop, (int, float)) or not 0 < flop < 1e6
        ):
            raise RunFailed(
                f"peer {name}: ns_per_flop must be a time in ns, not {str(flop)[:40]!r}"
            )
        return cls(
            drained=told.get("drained") is True,
            left=_numbers(name, told, "left", operators),
            sums=_numbers(name, told, "sums", operators),
            out_of_order=_number(name, told, "out_of_order"),
            harmed=_number(name, told, "harmed"),
            ns_per_flop=flop,
        )


def _number(name: str, told: Mapping[str, Any], key: str) -> int:
    value = told.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RunFailed(f"peer {name}: {key} must be a count, not {str(value)[:40]!r}")
    return value


def _numbers(name: str, told: Mapping[str, Any], key: str, length: int | None) -> list[int]:
    values = told.get(key)
    if not isinstance(values, list) or not all(
        type(value) is int and value >= 0 for value in values
    ):
        raise RunFailed(f"peer {name}: {key} must be a list of counts, not {str(values)[:40]!r}")
    if length is not None and len(values) != length:
        raise RunFailed(f"peer {name}: {key} must have {length} counts, not {len(values)}")
    return values
