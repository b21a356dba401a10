"""Sentences that say what a run's time and bounds mean, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.explain.bounds import Bound
from harness.explain.shares import OperatorShares, ThreadShares, Times
from harness.runtime.protocol import MAX_BATCH

BINDS = 0.85
"""A bound that is used so far is what holds a run back (a guess: queues fill and run empty by
chance, so that none is ever used fully)."""

TELLING = 0.15  # a share of the threads' time from which on it has a sentence of its own
MOST_STOLEN = 0.3  # the same of time that other programs took, if nothing else binds
MUCH_MOVING = 0.25  # the same of the part of useful time that queues and copies take
MANY_NAMES = 4  # a longer path is said by its ends
LINES_A_TUPLE = 2.0  # lines that cores take from each other, from which on it is worth a sentence


def sentences(
    shares: Times,
    operators: Sequence[OperatorShares],
    threads: Sequence[ThreadShares],
    bounds: Sequence[Bound],
    use: Mapping[str, Any],
) -> list[str]:
    """Return what bounds the run first, then what else takes a large part of the time."""
    if not threads:
        return ["no thread has spent time on anything in the window"]
    by_name = {operator.name: operator for operator in operators}
    first = _of_bound(bounds[0], by_name, use)
    binds = bounds[0].used >= BINDS
    told = [f"bound by {first}" if binds else _nothing_binds(bounds[0], first)]
    if not binds and shares["stolen"] >= MOST_STOLEN:
        told = [f"bound by {sentence}" for sentence in _of_others(shares, use)] + told
    else:
        told += _of_others(shares, use)
    told += _of_no_cpu(shares, threads, use)
    told += _of_locks(shares, operators)
    if not binds:
        told += _of_room(shares, operators)
    told += _of_queues(shares, operators)
    return told + _of_lines(operators, use)


def _nothing_binds(bound: Bound, words: str) -> str:
    return (
        f"no bound is reached: the run uses {_percent(bound.used)} of the nearest one, which is "
        f"{words.split(':')[0].split(';')[0]}"
    )


def _of_bound(bound: Bound, by_name: Mapping[str, OperatorShares], use: Mapping[str, Any]) -> str:
    used = _percent(bound.used)
    names = _names(bound.members)
    match bound.kind:
        case "source" if bound.used < 1.0:
            return f"the source {names}: it makes and sends tuples {used} of the time"
        case "source":
            return (
                f"the source {names}: it waits for the time of its next tuple, and the rest of the "
                "graph keeps up"
            )
        case "operator":
            return _of_operator(by_name[bound.members[0]], used)
        case "path" if bound.limit > 1:
            return (
                f"the paths {names}: the threads of {bound.limit:g} sources execute these "
                f"{len(bound.members)} operators, and are busy {used} of the time; a queue on the "
                "way would let more threads work"
            )
        case "path":
            return (
                f"the path {names}: one thread at a time executes these "
                f"{len(bound.members)} operators, and is busy {used} of the time; a queue between "
                "them would let two threads work"
            )
        case "in flight":
            return (
                f"the queues: they have room for {bound.limit:,.0f} tuples on the critical path "
                f"{names}, which is too few for the time that these need; longer queues would help"
            )
    others = use["others_cpus"]
    taken = f", which is what other programs leave of {use['cpus']:g}" if others >= 0.1 else ""
    return (
        f"the CPUs: operators and queues use {bound.used * bound.limit:.2f} of {bound.limit:.3g} "
        f"CPUs{taken}; only less work would help, or more CPUs"
    )


def _of_operator(operator: OperatorShares, used: str) -> str:
    name = f"`{operator.name}`"
    if operator.most_threads > 1:
        return (
            f"{name}: its {operator.most_threads} threads are busy {used} of the time; more "
            "replicas would help"
        )
    if operator.replicable:
        remedy = "replicas would help (--model coroutine --replicas N)"
    else:
        remedy = "it can have no replicas, so it would have to become cheaper or be divided"
    moves = (operator.queues_ns or 0.0) / operator.tuple_ns if operator.tuple_ns > 0.0 else 0.0
    of_that = f" ({_percent(moves)} of that moves tuples)" if moves >= MUCH_MOVING else ""
    return f"{name}: it is busy {used} of the time{of_that} and can use only one thread; {remedy}"


def _of_others(shares: Times, use: Mapping[str, Any]) -> list[str]:
    if shares["stolen"] < TELLING / 2:
        return []
    return [
        f"other programs, which had {use['others_cpus']:.1f} of {use['cpus']:g} CPUs: threads "
        f"waited for them {_percent(shares['stolen'])} of the time"
    ]


def _of_no_cpu(shares: Times, threads: Sequence[ThreadShares], use: Mapping[str, Any]) -> list[str]:
    if shares["no CPU"] < TELLING:
        return []
    return [
        f"{_percent(shares['no CPU'])} of the time threads wait for a CPU that another thread of "
        f"the run has: there are {len(threads)} threads for {use['cpus']:g} CPUs"
    ]


def _of_locks(shares: Times, operators: Sequence[OperatorShares]) -> list[str]:
    worst = max(operators, key=lambda operator: operator.shares["locks"])
    if shares["locks"] < TELLING / 2 or worst.shares["locks"] <= 0.0:
        return []
    remedy = (
        "a queue before it would let them go on"
        if worst.queue_capacity is None
        else "fewer threads that send there would help"
    )
    return [
        f"{_percent(shares['locks'])} of the time threads wait for each other before "
        f"`{worst.name}`, where one at a time may be; {remedy}"
    ]


def _of_room(shares: Times, operators: Sequence[OperatorShares]) -> list[str]:
    """A queue is too short if threads wait for room before an operator that is not busy."""
    worst = max(operators, key=lambda operator: operator.shares["no room"])
    if shares["no room"] < TELLING / 2 or worst.queue_capacity is None:
        return []
    return [
        f"{_percent(worst.shares['no room'])} of the time threads wait for room before "
        f"`{worst.name}`, which is busy only {_percent(worst.busy)}: its queue of "
        f"{worst.queue_capacity:,} tuples is too short (--queue-capacity N)"
    ]


def _of_queues(shares: Times, operators: Sequence[OperatorShares]) -> list[str]:
    useful = shares["work"] + shares["source"] + shares["queues"]
    if useful <= 0.0 or shares["queues"] < MUCH_MOVING * useful:
        return []
    short = [each for each in operators if each.queue_capacity and each.queue_capacity < MAX_BATCH]
    pair = _to_fuse(operators)
    if short:
        shortest = min(short, key=lambda operator: operator.queue_capacity or 0)
        remedy = (
            f": the queue before `{shortest.name}` has room for {shortest.queue_capacity} of the "
            f"{MAX_BATCH} tuples that could move at once (--queue-capacity N)"
        )
    else:
        remedy = "" if pair is None else f": fuse `{pair[0]}` with `{pair[1]}`"
    return [f"{_percent(shares['queues'] / useful)} of the useful time is spent in queues{remedy}"]


def _to_fuse(operators: Sequence[OperatorShares]) -> tuple[str, str] | None:
    """Return the neighbours with a queue between that spend most on it, and that one thread could
    execute together.
    """
    by_name = {operator.name: operator for operator in operators}
    pairs = [
        (by_name[before].shares["queues"], -by_name[before].busy - each.busy, before, each.name)
        for each in operators
        if each.queue_capacity is not None and len(each.behind) == 1
        for before in each.behind
        if by_name[before].busy + each.busy < BINDS
    ]
    if not pairs:
        return None
    *_, first, second = max(pairs)
    return first, second


def _of_lines(operators: Sequence[OperatorShares], use: Mapping[str, Any]) -> list[str]:
    lines = use["counters"].get("lines_of_other_cores")
    tuples = max((operator.tuples for operator in operators), default=0)
    if lines is None or tuples == 0 or lines / tuples < LINES_A_TUPLE:
        return []
    return [
        f"cores take {lines / tuples:.1f} cache lines from each other for each tuple: look for "
        "data that several operators change, or that lies in one line (false sharing)"
    ]


def _names(members: Sequence[str]) -> str:
    shown = members if len(members) <= MANY_NAMES else (members[0], "...", members[-1])
    return " > ".join(name if name == "..." else f"`{name}`" for name in shown)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
