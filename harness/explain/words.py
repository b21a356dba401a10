"""Sentences that say what a run's time and bounds mean, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from harness.explain.bounds import (
    CPUS,
    INTERPRETER,
    OPERATOR,
    POOL_THREAD,
    SCHEDULE,
    SOURCE,
    THREADS,
    Bound,
    by_use,
)
from harness.explain.shares import OperatorShares, ThreadShares, Times
from harness.runtime.protocol import MAX_BATCH
from harness.terminal.listed import listed_names

BINDS = 0.85
"""A bound that is used so far is what holds a run back (a guess: queues fill and run empty by
chance, so that none is ever used fully)."""

TELLING = 0.15  # a share of the threads' time from which on it has a sentence of its own
MOST_STOLEN = 0.3  # the same of time that other programs took, if nothing else binds
MUCH_MOVING = 0.25  # the same of the part of useful time that queues and copies take
MANY_NAMES = 4  # a longer path is said by its ends
FEW_CPUS = 0.1  # that others take, from which on it is said
DOMINATES = 0.9  # share of a bound's use; an operator with more of it leaves little to the others
NEARLY_WHOLE = 0.05  # a mean number of threads as near to a whole one is given as that one
LINES_A_TUPLE = 2.0  # lines that cores take from each other, from which on it is worth a sentence

WITHOUT_OTHERS = "without other programs the nearest bound would be"
ELSE = "or use a Python without that lock (docs/how-to/operators.md)"
OF_ONE = f"compile it (numba, C, Cython), {ELSE}"
OF_SEVERAL = f"compile them (numba, C, Cython), fuse them into one function, {ELSE}"
"""Remedies for operators in Python that take turns."""


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
    first = nearest(bounds)
    said = _of_bound(first, bounds, by_name, use)
    binds = first.used >= BINDS
    stolen = shares["stolen"]
    if not binds and stolen >= MOST_STOLEN:
        lines = [f"bound by other programs, which {_of_others(shares, use)}"]
        lines.append(_without_others(bounds, operators, use))
    else:
        lines = [f"bound by {said.headline}" if binds else _nothing_binds(first, said)]
        if binds and first.kind == CPUS and use["others_cpus"] >= FEW_CPUS:
            lines.append(_without_others(bounds, operators, use))
        if stolen >= TELLING / 2:
            lines.append(f"other programs {_of_others(shares, use)}")
    lines += _of_no_cpu(shares, threads, use)
    lines += _of_locks(shares, operators)
    if not binds:
        lines += _of_room(shares, operators)
    lines += _of_queues(shares, operators)
    return lines + _of_lines(operators, use)


def nearest(bounds: Sequence[Bound]) -> Bound:
    """Return the bound to name. It is the one that is used most, with two exceptions.

    The threads are not named if another bound is used nearly as much: more threads would gain
    little. The interpreter's lock is named if it is used nearly as much: whatever is done about the
    other bound, the lock remains. An operator that has the lock nearly all the time stands for it.
    """
    first = bounds[0]
    if first.kind == THREADS:
        near = (bound for bound in bounds[1:] if bound.used >= DOMINATES * first.used)
        first = next(near, first)
    lock = next((bound for bound in bounds if bound.kind == INTERPRETER), None)
    if lock is None or first.kind in (SOURCE, SCHEDULE) or lock.used < DOMINATES * first.used:
        return first
    turns = (
        bound for bound in bounds if bound.kind == OPERATOR and bound.members[0] in lock.members
    )
    dearest = next(turns, None)  # with replicas it may be used much less than the lock
    if dearest is None or dearest.used < DOMINATES * lock.used:
        return lock
    return dearest if first is lock else first


class BoundWords(NamedTuple):
    """Bound in words: its name, how far it is used, the rule behind it, and what would help."""

    name: str
    use: str
    rule: str
    remedy: str

    @property
    def headline(self) -> str:
        """All of it; the rule is in how far it is used."""
        return f"{self.name}: {self.use}" + (f"; {self.remedy}" if self.remedy else "")


def own_bound(
    bounds: Sequence[Bound], operators: Sequence[OperatorShares], use: Mapping[str, Any]
) -> str:
    """Return the bound of a run that has all CPUs, without numbers and remedies."""
    said = _alone(bounds, operators, use)
    return f"{said.name}: {said.rule}"


def _nothing_binds(bound: Bound, said: BoundWords) -> str:
    return (
        f"no bound is reached: the run uses {_percent(bound.used)} of the nearest one, which is "
        f"{said.name}"
    )


def _without_others(
    bounds: Sequence[Bound], operators: Sequence[OperatorShares], use: Mapping[str, Any]
) -> str:
    said = _alone(bounds, operators, use)
    remedy = f"; {said.remedy}" if said.remedy else ""
    return f"{WITHOUT_OTHERS} {said.name}: {said.rule}{remedy}"


def _alone(
    bounds: Sequence[Bound], operators: Sequence[OperatorShares], use: Mapping[str, Any]
) -> BoundWords:
    """Return what would bind if the run had all CPUs. It would then use every other bound more, all
    in the same proportion.
    """
    cpus = use["cpus"]
    needed = sum(operator.busy for operator in operators) / max(cpus, 1e-9)
    alone = [
        replace(bound, used=needed, limit=cpus) if bound.kind == CPUS else bound for bound in bounds
    ]
    alone = by_use(alone)
    by_name = {operator.name: operator for operator in operators}
    return _of_bound(nearest(alone), alone, by_name, {**use, "others_cpus": 0.0})


def _of_bound(
    bound: Bound,
    bounds: Sequence[Bound],
    by_name: Mapping[str, OperatorShares],
    use: Mapping[str, Any],
) -> BoundWords:
    used = _percent(bound.used)
    names = _names(bound.members)
    match bound.kind:
        case "source":
            rule = "it makes and sends tuples"
            return BoundWords(f"the source {names}", f"{rule} {used} of the time", rule, "")
        case "schedule" if len(bound.members) > 1:
            rule = "they wait for the times of their next tuples"
            keeps = f"{rule}, and the rest of the graph keeps up"
            sources = listed_names(bound.members, MANY_NAMES)
            return BoundWords(f"the sources {sources}", keeps, rule, "")
        case "schedule":
            rule = "it waits for the time of its next tuple"
            keeps = f"{rule}, and the rest of the graph keeps up"
            return BoundWords(f"the source {names}", keeps, rule, "")
        case "operator":
            operator = by_name[bound.members[0]]
            return _of_operator(operator, used, _remedy_of(operator, bound, bounds, use))
        case "interpreter":
            return _of_interpreter(bound, used)
        case "path" if bound.limit > 1:
            rule = (
                f"the threads of {bound.limit:g} sources execute these {len(bound.members)} "
                "operators"
            )
            busy = f"{rule}, and are busy {used} of the time"
            remedy = "a queue on the way would let more threads work"
            return BoundWords(f"the paths {names}", busy, rule, remedy)
        case "path":
            return _of_path(bound, bounds, by_name, use)
        case "in flight":
            rule = (
                f"they have room for {bound.limit:,.0f} tuples on the critical path {names}, which "
                "is too few for the time that these need"
            )
            return BoundWords("the queues", rule, rule, "longer queues would help")
        case "threads":
            return _of_threads(bound, bounds, by_name, use)
    others = use["others_cpus"]
    taken = f", which is what other programs leave of {use['cpus']:g}" if others >= FEW_CPUS else ""
    return BoundWords(
        "the CPUs",
        f"operators and queues use {bound.used * bound.limit:.2f} of {bound.limit:.3g} CPUs{taken}",
        f"operators and queues need all {bound.limit:.3g}",
        "only less work would help, or more CPUs",
    )


def _of_path(
    bound: Bound,
    bounds: Sequence[Bound],
    by_name: Mapping[str, OperatorShares],
    use: Mapping[str, Any],
) -> BoundWords:
    rule = f"one thread at a time executes these {len(bound.members)} operators"
    busy = f"{rule}, and is busy {_percent(bound.used)} of the time"
    name = f"the path {_names(bound.members)}"
    dearest = max((by_name[each] for each in bound.members), key=lambda operator: operator.busy)
    if dearest.kind == "source" or dearest.busy < DOMINATES * bound.used:
        return BoundWords(name, busy, rule, "a queue between them would let two threads work")
    share = _percent(min(dearest.busy / bound.used, 1.0))
    most = f"`{dearest.name}` takes {share} of that, so a queue would not help much"
    remedy = f"{most}; {_remedy_of(dearest, bound, bounds, use)}"
    return BoundWords(name, busy, rule, remedy)


def _of_threads(
    bound: Bound,
    bounds: Sequence[Bound],
    by_name: Mapping[str, OperatorShares],
    use: Mapping[str, Any],
) -> BoundWords:
    used, count = _percent(bound.used), _count(bound.limit)
    name, remedy = f"its {_threads(bound, use)}", "more threads would help"
    if _has_pool(use):
        remedy += " (--threads N, or --max-threads N with a law)"
    else:
        remedy += " if there were queues between operators (another model)"
    following = nearest([each for each in bounds if each.kind != THREADS])
    if following.used > 0.0:
        other = _of_bound(following, bounds, by_name, use).name
        times = _times(bound.used / following.used)
        remedy += f"; the next bound, {other}, is {times} times as high"
    if count == "1":
        busy, rule = f"it works {used} of the time", "it executes one operator at a time"
    else:
        busy = f"they work {used} of the time"
        rule = f"they execute at most {count} operators at once"
    return BoundWords(name, busy, rule, remedy)


def _has_pool(use: Mapping[str, Any]) -> bool:
    return any(thread["name"].startswith(POOL_THREAD) for thread in use["threads"])


def _threads(bound: Bound, use: Mapping[str, Any]) -> str:
    """Return the threads of a bound with their number: `2 scheduler threads`."""
    count = _count(bound.limit)
    noun = POOL_THREAD if _has_pool(use) else "thread"
    return f"{count} {noun}" if count == "1" else f"{count} {noun}s"


def _count(threads: float) -> str:
    """Return a number of threads. It is a mean if a law changed it."""
    whole = max(1, round(threads))
    return f"{whole}" if abs(threads - whole) <= NEARLY_WHOLE else f"{threads:.1f}"


def _of_interpreter(bound: Bound, used: str) -> BoundWords:
    names, one = listed_names(bound.members, MANY_NAMES), len(bound.members) == 1
    are = (
        "is a Python function, and its replicas take" if one else "are Python functions, which take"
    )
    rule = f"{names} {are} turns"
    return BoundWords(
        "the interpreter's lock",
        f"{rule}, and hold it {used} of the time",
        rule,
        f"more threads or replicas cannot help; {OF_ONE if one else OF_SEVERAL}",
    )


def _of_operator(operator: OperatorShares, used: str, remedy: str) -> BoundWords:
    name = f"`{operator.name}`"
    if operator.most_threads > 1:
        threads = f"{operator.most_threads} threads"
        return BoundWords(
            name,
            f"its {threads} are busy {used} of the time",
            f"at most {threads} execute it at once",
            remedy,
        )
    moves = (operator.queues_ns or 0.0) / operator.tuple_ns if operator.tuple_ns > 0.0 else 0.0
    of_that = f" ({_percent(moves)} of that moves tuples)" if moves >= MUCH_MOVING else ""
    return BoundWords(
        name,
        f"it is busy {used} of the time{of_that} and can use only one thread",
        "it can use only one thread",
        remedy,
    )


def _remedy_of(
    operator: OperatorShares, bound: Bound, bounds: Sequence[Bound], use: Mapping[str, Any]
) -> str:
    """Return what would help an operator that makes a bound. Replicas of it gain little if all
    threads of a pool are nearly as busy.
    """
    several = operator.most_threads > 1
    if operator.takes_turns:
        return OF_ONE if several else f"replicas would wait for the interpreter's lock; {OF_ONE}"
    if not operator.replicable:
        return "it can have no replicas, so it would have to become cheaper or be divided"
    how = "more replicas would help"
    if not several:
        how = "replicas would help (--model coroutine --replicas N)"
    threads = next((each for each in bounds if each.kind == THREADS), None)
    if threads is None or threads.used < DOMINATES * bound.used or not _has_pool(use):
        return how
    are = "is" if _count(threads.limit) == "1" else "are"
    return (
        f"{how}; they need more threads (--threads N), since its {_threads(threads, use)} {are} "
        "nearly as busy"
    )


def _of_others(shares: Times, use: Mapping[str, Any]) -> str:
    return (
        f"had {use['others_cpus']:.1f} of {use['cpus']:g} CPUs: threads waited for them "
        f"{_percent(shares['stolen'])} of the time"
    )


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
    if worst.interpreter is not None and not worst.locked:
        turns = [each.name for each in operators if each.interpreter is not None]
        return [
            f"{_percent(shares['locks'])} of the time threads wait for the interpreter's lock, "
            f"which {listed_names(turns, MANY_NAMES)} {'needs' if len(turns) == 1 else 'need'}"
        ]
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


def _times(factor: float) -> str:
    return f"{factor:.2g}" if factor < 10.0 else f"{factor:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
