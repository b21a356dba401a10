"""Advice in words for the reader's own runtime: what to fuse, where queues go, threads, batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.explain import RunExplanation
from harness.explain.bounds import region_of
from harness.explain.shares import OperatorShares
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Manual, Multilevel
from harness.runtime.protocol import MAX_BATCH
from harness.terminal.listed import listed_names

BATCH_NS = 12_000.0
"""Work in a batch of our runtime, about [ns]: 16,384 FLOP (`BATCH_FLOP`), which take 3 cycles each
on a CPU of 4 GHz."""

MOST_NAMED = 8  # operators, or groups of them, in a sentence
MOST_GROUPS = 6
MOST_SIZES = 3  # of batches, each with its queues


def in_your_runtime(graph: Graph, record: Mapping[str, Any], run: RunExplanation) -> list[str]:
    """Return what to do in another runtime to get what an explained run of a graph does."""
    operators = run.operators
    regions = region_of(operators)
    queued = [each for each in operators if each.queue_capacity is not None]
    return [
        *_of_threads(record, queued),
        *_of_queues(operators, queued),
        *_of_fusion(operators, regions),
        *_of_replicas(graph, operators),
        *([_of_batches(operators, regions, queued)] if queued else []),
    ]


def _of_threads(record: Mapping[str, Any], queued: Sequence[OperatorShares]) -> list[str]:
    pool, total = record["threads"] or 0, record["threads_total"]
    others = total - pool
    beside = f", beside {_count(others, 'thread')} for the sources" if others else ""
    if record["model"] == Manual.name or not queued:
        return [
            "Threads: one for each source. It executes everything behind it by plain calls, "
            "without queues."
        ]
    if record["model"] == Dedicated.name:
        return [
            f"Threads: {total}, one for each source and one for each operator with a queue, which "
            "waits for its tuples."
        ]
    if record["model"] == Coroutine.name:
        law = " A law changed their number." if record["elastic"] else ""
        return [
            f"Threads: {pool}. Make each operator and each source a co-routine (a task of an async "
            f"runtime); the threads resume whichever can go on.{law}"
        ]
    found = ", which a law has found," if record["model"] == Multilevel.name else ""
    return [
        f"Threads: a pool of {pool}{found} that executes any operator with tuples in its "
        f"queue{beside}."
    ]


def _of_queues(operators: Sequence[OperatorShares], queued: Sequence[OperatorShares]) -> list[str]:
    if not queued:
        return []
    capacity = f"{queued[0].queue_capacity:,}"
    able = [each for each in operators if each.kind != "source"]
    where = "each operator" if len(queued) == len(able) else _names([e.name for e in queued])
    only = "" if len(queued) == len(able) else ", and nowhere else"
    return [f"Queues: one of {capacity} tuples before {where}{only}."]


def _of_fusion(
    operators: Sequence[OperatorShares], regions: Mapping[str, tuple[str, ...]]
) -> list[str]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, heads in regions.items():
        groups.setdefault(heads, []).append(name)
    fused = [names for heads, names in groups.items() if len(heads) == 1 and len(names) > 1]
    shared = [name for heads, names in groups.items() if len(heads) > 1 for name in names]
    said = [f"Fuse {_names(names)}: one call after the other." for names in fused[:MOST_GROUPS]]
    if len(fused) > MOST_GROUPS:
        said.append(f"Fuse {len(fused) - MOST_GROUPS} more groups likewise.")
    if shared:
        said.append(
            f"Locks: several threads come to {_names(shared)} by calls, one at a time each."
        )
    return said


def _of_replicas(graph: Graph, operators: Sequence[OperatorShares]) -> list[str]:
    """Replicas of an operator with one state for all tuples would only wait for each other."""
    one_state = {name for name, each in graph.operators.items() if each.keys == 1}
    several = [each for each in operators if each.most_threads > 1 and each.name not in one_state]
    if not several:
        return []
    counts = sorted({each.most_threads for each in several})
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return [
        f"Replicas: {many} of {_names([each.name for each in several])}, which take its tuples in "
        "turn; their results go on in the order of the tuples. That is right only for operators "
        "without state."
    ]


def _of_batches(
    operators: Sequence[OperatorShares],
    regions: Mapping[str, tuple[str, ...]],
    queued: Sequence[OperatorShares],
) -> str:
    """Say how many tuples go through a queue at once. Our runtime chooses that by the work behind
    the queue, and no arm changes it.
    """
    work_ns: dict[str, float] = {}
    for each in operators:
        (head, *others) = regions[each.name] or ("",)
        if not others:
            work_ns[head] = work_ns.get(head, 0.0) + (each.work_ns or 0.0)
    sizes = {each.name: _batch(work_ns.get(each.name, 0.0), each) for each in queued}
    by_size: dict[int, list[str]] = {}
    for name, size in sizes.items():
        by_size.setdefault(size, []).append(name)
    if len(by_size) == 1:
        return f"Batches: {_at_once(next(iter(by_size)))} at each queue."
    if len(by_size) > MOST_SIZES:
        return (
            f"Batches: {min(by_size)} to {max(by_size)} tuples at once at each queue, fewer where "
            "more work is behind it."
        )
    parts = [f"{_at_once(size)} at {_names(names)}" for size, names in sorted(by_size.items())]
    return f"Batches: {'; '.join(parts)}."


def _batch(work_ns: float, operator: OperatorShares) -> int:
    most = min(MAX_BATCH, operator.queue_capacity or MAX_BATCH)
    return max(1, min(most, int(BATCH_NS / max(work_ns, 1.0))))


def _at_once(size: int) -> str:
    return "one tuple at a time" if size == 1 else f"up to {size} tuples at once"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _names(names: Sequence[str]) -> str:
    return listed_names(names, MOST_NAMED)
