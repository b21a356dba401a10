"""Account of every tuple at the end of a run: the compiled code of each engine says where tuples
are, and here that becomes the totals (ONCE).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.engine.conservation import of_tuples, of_windows
from harness.engine.counters import Counters
from harness.engine.sample import Totals

if TYPE_CHECKING:
    from harness.models.layout import RunLayout

SCHEDULING = (
    "drains",
    "searches",
    "reschedules",
    "waits",
    "pushes",
    "blocked_pushes",
    "queue_switches",
)
"""Sums over threads and queues, in the order of `Totals.scheduling`."""


@dataclass
class Account:
    """State of a run at its end, operators by index."""

    left_at: list[int]  # tuples queued or given up before each operator
    held_by: list[int]  # tuples in the slots of merges and barriers
    # by barrier: tuples that it took for nothing, since another input had ended
    discarded: dict[int, int] = field(default_factory=dict)
    # by operator and output port, of operators that choose the port by the tuple
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    marks_sent: dict[int, int] = field(default_factory=dict)  # window punctuations, by source
    marks_got: dict[int, int] = field(default_factory=dict)  # by operator that ends windows
    expected: int = 0  # sum of the fingerprints of all tuples sent
    seen: int = 0  # and of all that were found, at the sinks or on the way
    damaged: int = 0
    violations: int = 0  # tuples that came after a later one of the same path (ORDER)
    order_checked: bool = True
    longest_ns: int = 0  # longest latency at a sink
    # merges to which more came early than the queues before them can hold
    overrun: list[int] = field(default_factory=list)
    drained: bool = False
    stuck: list[str] = field(default_factory=list)
    error: str | None = None
    # those of `SCHEDULING` that the counters do not have
    scheduling: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)  # of what was left out, likewise


def totals_of(layout: RunLayout, counters: Counters, account: Account) -> Totals:
    """Compare the tuples sent with those that arrived and those left behind, tuple by tuple and
    operator by operator.
    """
    error = account.error
    for merge in account.overrun:
        error = (
            f"merge {layout.operators[merge].name!r}: more came early than the queues between it "
            "and its split can hold"
        )
    problems = []
    if not account.stuck and not error:
        problems = of_tuples(
            layout.operators,
            layout.streams,
            counters.processed,
            counters.emitted,
            account.sent,
            account.left_at,
            account.held_by,
            account.discarded,
            cut=not account.drained,
        )
        if account.drained:
            problems += of_windows(
                layout.operators,
                layout.streams,
                layout.order,
                account.marks_sent,
                account.marks_got,
            )
    sums = account.scheduling | {
        "pushes": sum(counters.pushes),
        "blocked_pushes": sum(counters.blocked),
    }
    operators = list(zip(layout.operators, counters.processed, strict=True))
    return Totals(
        sent=sum(count for operator, count in operators if operator.is_source),
        received=sum(count for operator, count in operators if operator.is_sink),
        in_flight=sum(account.left_at) + sum(account.held_by),
        processed=counters.processed,
        drained=account.drained,
        order_violations=account.violations,
        order_checked=account.order_checked,
        checksum_ok=(
            account.damaged == 0
            and (not layout.copies_known or account.seen == account.expected)
            and not account.stuck
        ),
        conservation=problems,
        latency_counts=counters.latency,
        latency_max_ns=account.longest_ns,
        part_latencies=counters.part_latencies if len(layout.parts) > 1 else (),
        stuck=account.stuck,
        error=error,
        scheduling={name: sums[name] for name in SCHEDULING},
        left_out=account.left_out,
        left_out_examples=account.examples,
    )
