"""Counters that a peer's program answers, checked: an impossible answer is a failed run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import RunFailed


@dataclass(frozen=True)
class Counts:
    """Counters since the start of a run; operators are those of the program."""

    ns: int  # since the start; of a finished run: until its end
    executed: Sequence[int]  # tuples by operator: sent by a source, arrived at a sink
    latency: Sequence[int]  # histogram at the sinks, in the buckets of our own runs
    longest_ns: int  # highest latency
    switches: int | None  # context switches of the process; None: not reported
    finished: bool

    @classmethod
    def none(cls, operators: int, buckets: int) -> Counts:
        """Return the counters before the start."""
        return cls(0, [0] * operators, [0] * buckets, 0, 0, False)

    @classmethod
    def read(cls, name: str, answer: Mapping[str, Any], operators: int, buckets: int) -> Counts:
        """Return the counters in an answer of the peer `name`.

        `latency` is written as bucket, count, bucket, count and so on, without empty buckets.
        Raise RunFailed if a counter is impossible.
        """
        pairs = _numbers(name, answer, "latency", None)
        counts = [0] * buckets
        for bucket, count in zip(pairs[::2], pairs[1::2], strict=len(pairs) % 2 == 0):
            if bucket >= buckets:
                raise RunFailed(
                    f"peer {name}: latency must be in buckets below {buckets}, not {bucket}"
                )
            counts[bucket] = count
        return cls(
            ns=_number(name, answer, "ns"),
            executed=_numbers(name, answer, "executed", operators),
            latency=counts,
            longest_ns=_number(name, answer, "longest"),
            switches=_number(name, answer, "switches") if "switches" in answer else None,
            finished=bool(answer.get("finished", False)),
        )

    def check_after(self, name: str, before: Counts) -> None:
        """Raise RunFailed if a counter is less than in `before`."""
        if self.ns < before.ns or any(
            now < then for now, then in zip(self.executed, before.executed, strict=True)
        ):
            raise RunFailed(f"peer {name}: a counter went back")


@dataclass(frozen=True)
class Ending:
    """Values that only the totals at the end of a run contain."""

    drained: bool
    left: Sequence[int]  # tuples that each operator received and did not execute
    # by operator, sums of fingerprints modulo 2^64: of the tuples that a source sent, that a sink
    # received, or that any other operator did not execute
    sums: Sequence[int]
    out_of_order: int  # tuples that a sink saw after a later one of the same path
    harmed: int  # tuples at the sinks whose payload or value differs from the source's
    ns_per_flop: float | None  # time of a dependent floating-point operation in the program

    @classmethod
    def read(cls, name: str, answer: Mapping[str, Any], operators: int) -> Ending:
        """Return the values in an answer of the peer `name`. Raise RunFailed if one is wrong."""
        flop = answer.get("ns_per_flop")
        if flop is not None and (
            isinstance(flop, bool) or not isinstance(flop, (int, float)) or not 0 < flop < 1e6
        ):
            raise RunFailed(
                f"peer {name}: ns_per_flop must be a time in ns, not {str(flop)[:40]!r}"
            )
        return cls(
            drained=answer.get("drained") is True,
            left=_numbers(name, answer, "left", operators),
            sums=_numbers(name, answer, "sums", operators),
            out_of_order=_number(name, answer, "out_of_order"),
            harmed=_number(name, answer, "harmed"),
            ns_per_flop=flop,
        )


def _number(name: str, answer: Mapping[str, Any], key: str) -> int:
    value = answer.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RunFailed(f"peer {name}: {key} must be a count, not {str(value)[:40]!r}")
    return value


def _numbers(name: str, answer: Mapping[str, Any], key: str, length: int | None) -> list[int]:
    values = answer.get(key)
    if not isinstance(values, list) or not all(
        type(value) is int and value >= 0 for value in values
    ):
        raise RunFailed(f"peer {name}: {key} must be a list of counts, not {str(values)[:40]!r}")
    if length is not None and len(values) != length:
        raise RunFailed(f"peer {name}: {key} must have {length} counts, not {len(values)}")
    return values
