"""Bounds of a run's throughput, from what its operators cost and which of them may be executed at
once.

Each bound says how far it is used. A run that uses a bound fully cannot be faster as long as the
bound stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.explain.shares import USEFUL, OperatorShares, ThreadShares

OPERATOR, SOURCE, PATH, CPUS, IN_FLIGHT = "operator", "source", "path", "CPUs", "in flight"
SCHEDULE = "schedule"
INTERPRETER, THREADS = "interpreter", "threads"

POOL_THREAD = "scheduler thread"
"""Beginning of the names of threads that execute whatever has tuples (`RunLayout.thread_name`)."""

PACED = 0.02
"""Share of its time for which a source waits, from which on its schedule bounds it; if it sent all
tuples of the schedule but for this share, the schedule bounds it, too."""


@dataclass(frozen=True)
class Bound:
    """Upper bound of the throughput at the sinks.

    `used`: throughput over the bound. `members`: the operators that make it, by name. `limit`:
    threads, or CPUs, that may work on them at once; of `IN_FLIGHT` the tuples.
    """

    kind: str
    members: tuple[str, ...]
    used: float
    limit: float
    tuples_per_s: float | None  # None: nothing arrived, or it is not used at all


def bounds_of(
    operators: Sequence[OperatorShares],
    threads: Sequence[ThreadShares],
    elapsed_s: float,
    cpus: float,
    rate: float | None,
) -> list[Bound]:
    """Return all bounds, the one that is used most first. `cpus`: that others leave; `rate`:
    throughput at the sinks [tuples/s].
    """
    found = [
        *_of_operators(operators, rate),
        *_of_sources(operators, threads, elapsed_s, rate),
        *_of_paths(operators, rate),
        *_of_source_threads(operators, threads, elapsed_s, rate),
        *_in_flight(operators, rate),
        *_of_interpreter(operators, rate),
        _bound(
            CPUS, (), sum(operator.busy for operator in operators) / max(cpus, 1e-9), cpus, rate
        ),
        *_of_threads(operators, threads, elapsed_s, rate),
    ]
    best: dict[tuple[str, tuple[str, ...]], Bound] = {}
    for bound in found:
        key = (bound.kind, bound.members)
        if key not in best or best[key].used < bound.used:
            best[key] = bound
    return by_use(best.values())


def by_use(bounds: Iterable[Bound]) -> list[Bound]:
    """Return bounds, the one that is used most first. Of those that are used equally, but for the
    last digits of their sums, the order stays: what names operators, CPUs, threads.
    """
    return sorted(bounds, key=lambda bound: -round(bound.used, 9))


def interpreter_work(work: Iterable[float | None]) -> float:
    """Return the work that one thread at a time does, since it has the interpreter's lock: that of
    all operators in Python together. None: an operator that needs no lock.
    """
    return sum(each for each in work if each is not None)


def _bound(
    kind: str, members: tuple[str, ...], used: float, limit: float, rate: float | None
) -> Bound:
    used = min(used, 1.0)
    return Bound(kind, members, used, limit, rate / used if rate and used > 0.0 else None)


def _of_operators(operators: Sequence[OperatorShares], rate: float | None) -> list[Bound]:
    """An operator is executed by one thread at a time, unless it has replicas."""
    return [
        _bound(OPERATOR, (each.name,), each.busy / each.most_threads, each.most_threads, rate)
        for each in operators
        if each.kind != "source"
    ]


def _of_sources(
    operators: Sequence[OperatorShares],
    threads: Sequence[ThreadShares],
    elapsed_s: float,
    rate: float | None,
) -> list[Bound]:
    """A source bounds the run as it is busy. If all sources keep to their schedules, these bound it
    fully; if one does not, the graph does not keep up with that one. A source whose schedule is not
    known keeps to it if its thread waits.
    """
    whole_s = sum(thread.time_s for thread in threads)
    sources = [each for each in operators if each.kind == "source"]

    def keeps_to_schedule(source: OperatorShares) -> bool:
        if source.due_tuples is not None:  # a co-routine has no thread of its own that waits
            return source.tuples + 1 >= (1.0 - PACED) * source.due_tuples
        return source.shares["idle"] * whole_s >= PACED * elapsed_s

    if sources and elapsed_s > 0.0 and all(map(keeps_to_schedule, sources)):
        return [_bound(SCHEDULE, tuple(each.name for each in sources), 1.0, 1, rate)]
    return [_bound(SOURCE, (each.name,), each.busy, 1, rate) for each in sources]


def _of_interpreter(operators: Sequence[OperatorShares], rate: float | None) -> list[Bound]:
    """Operators in Python take turns, and so do replicas of one."""
    turns = sorted(
        (each for each in operators if each.interpreter), key=lambda each: -(each.interpreter or 0)
    )
    if sum(each.most_threads for each in turns) < 2:
        return []  # the bound of the operator itself
    used = interpreter_work(each.interpreter for each in operators)
    return [_bound(INTERPRETER, tuple(each.name for each in turns), used, 1, rate)]


def _of_threads(
    operators: Sequence[OperatorShares],
    threads: Sequence[ThreadShares],
    elapsed_s: float,
    rate: float | None,
) -> list[Bound]:
    """The threads of the pool, or all threads if there is none: each executes one operator at a
    time. Time for which a law has suspended them does not count; it is idle time for no operator.
    """
    whole_s = sum(thread.time_s for thread in threads)
    idle_s = sum(thread.shares["idle"] * thread.time_s for thread in threads)
    suspended_s = max(0.0, idle_s - sum(each.shares["idle"] for each in operators) * whole_s)
    pool = [thread for thread in threads if thread.name.startswith(POOL_THREAD)] or threads
    there_s = len(pool) * elapsed_s - suspended_s
    if there_s <= 0.0:
        return []
    works_s = sum(sum(each.shares[name] for name in USEFUL) * each.time_s for each in pool)
    return [_bound(THREADS, (), works_s / there_s, there_s / elapsed_s, rate)]


def region_of(operators: Sequence[OperatorShares]) -> dict[str, tuple[str, ...]]:
    """Return, by operator, where the calls begin by which it is executed: at a source, or at an
    operator with a queue. Several: more than one thread may come to it.
    """
    heads: dict[str, tuple[str, ...]] = {}
    for each in _in_order(operators):
        if each.kind == "source" or each.queue_capacity is not None:
            heads[each.name] = (each.name,)
        else:
            of = [head for before in each.behind for head in heads.get(before, ())]
            heads[each.name] = tuple(dict.fromkeys(of))
    return heads


def _of_paths(operators: Sequence[OperatorShares], rate: float | None) -> list[Bound]:
    """Operators that are executed by calls from one place on: one thread at a time is on the
    path.
    """
    members: dict[str, list[OperatorShares]] = {}
    regions = region_of(operators)
    for each in operators:
        if len(regions[each.name]) == 1 and each.most_threads == 1:
            members.setdefault(regions[each.name][0], []).append(each)
    return [
        _bound(PATH, tuple(each.name for each in path), sum(each.busy for each in path), 1, rate)
        for path in members.values()
        if len(path) > 1
    ]


def _of_source_threads(
    operators: Sequence[OperatorShares],
    threads: Sequence[ThreadShares],
    elapsed_s: float,
    rate: float | None,
) -> list[Bound]:
    """Operators that the threads of several sources come to by calls: these threads execute all of
    their paths.
    """
    busy = {
        thread.name: sum(thread.shares[name] for name in USEFUL) * thread.time_s / elapsed_s
        for thread in threads
        if elapsed_s > 0.0
    }
    regions = region_of(operators)
    found = []
    for heads in dict.fromkeys(heads for heads in regions.values() if len(heads) > 1):
        own = [busy[f"source {head}"] for head in heads if f"source {head}" in busy]
        path = tuple(name for name, of in regions.items() if set(of) <= set(heads))
        if len(own) == len(heads):
            found.append(_bound(PATH, path, sum(own) / len(own), len(own), rate))
    return found


def critical_path(operators: Sequence[OperatorShares]) -> list[OperatorShares]:
    """Return the operators on the way of a tuple that takes longest."""
    by_name = {each.name: each for each in operators}
    longest_ns: dict[str, float] = {}
    before: dict[str, str] = {}
    for each in _in_order(operators):
        ways = [(longest_ns[name], name) for name in each.behind if name in longest_ns]
        longest_ns[each.name] = each.tuple_ns
        if ways:
            time_ns, before[each.name] = max(ways)
            longest_ns[each.name] += time_ns
    path = [max(longest_ns, key=lambda name: longest_ns[name])] if longest_ns else []
    while path and path[-1] in before:
        path.append(before[path[-1]])
    return [by_name[name] for name in reversed(path)]


def _in_flight(operators: Sequence[OperatorShares], rate: float | None) -> list[Bound]:
    """Little's law on the critical path: no more tuples are on it than its queues hold, and each
    stays at an operator as long as its work takes at least. So the work on the path at any time,
    which is how busy its operators are together, is at most that of so many tuples.
    """
    path = critical_path(operators)
    capacities = [each.queue_capacity for each in path if each.queue_capacity is not None]
    if not capacities:
        return []
    room = sum(capacities) + 1
    used = sum(each.busy for each in path) / room
    return [_bound(IN_FLIGHT, tuple(each.name for each in path), used, room, rate)]


def _in_order(operators: Sequence[OperatorShares]) -> list[OperatorShares]:
    """Return the operators so that each comes after those that send to it. There are no cycles: a
    control port is an operator of its own, which sends nothing on.
    """
    by_name = {each.name: each for each in operators}
    ordered: dict[str, OperatorShares] = {}
    for each in operators:
        stack = [(each, iter(each.behind))]
        while stack:
            last, rest = stack[-1]
            before = next((name for name in rest if name not in ordered), None)
            if before is None:
                ordered[last.name] = last
                stack.pop()
            else:
                stack.append((by_name[before], iter(by_name[before].behind)))
    return list(ordered.values())
