"""The time of a run's threads, by what they did and for which operator.

Virtual time is added up exactly. Real threads are looked at many times a second, and the system
says how long each of them ran and how long it waited for a CPU. The looks only share these times
out among activities, so a look that comes late, since all CPUs were busy, does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

BUSY = ("work", "make", "move", "search")
"""Activities that need a CPU."""

HOLDING = ("work", "make")
"""Activities in which an operator in Python holds the interpreter's lock."""

NONE = "none"  # a thread that has ended

Spent = Mapping[tuple[str, int | None], float]
"""Times by activity and operator, as its place in the graph's order; None: for no operator."""


@dataclass(frozen=True)
class ThreadTime:
    """Time of one thread; `spent` is in looks where somebody looked, else in seconds."""

    number: int  # of the thread in the run
    name: str
    spent: Spent
    cpu_s: float | None = None  # for which it ran; None: not known
    ready_s: float | None = None  # for which it could have run, and had no CPU; None: not known

    @property
    def total(self) -> float:
        """Sum over all that it did."""
        return sum(self.spent.values())


@dataclass(frozen=True)
class TimeUse:
    """Time that threads have spent since the start of a run, or in a window of it."""

    time_s: float
    threads: tuple[ThreadTime, ...]
    looks: int | None = None  # None: exact
    look_s: float | None = None  # of a window: time that a look stands for; None: exact

    def since(self, before: TimeUse | None) -> TimeUse:
        """Return the times [s] of the window that began then; None: at the start of the run. They
        add up to the time for which each thread was there.
        """
        first = {} if before is None else {thread.number: thread for thread in before.threads}
        elapsed_s = self.time_s - (0.0 if before is None else before.time_s)
        unit_s, look_s = 1.0, None
        if self.looks is not None:
            looks = self.looks - (0 if before is None else before.looks)
            unit_s = look_s = elapsed_s / looks if looks > 0 else 0.0
        threads = (_difference(thread, first.get(thread.number), unit_s) for thread in self.threads)
        return TimeUse(
            elapsed_s, tuple(thread for thread in threads if thread.total > 0.0), self.looks, look_s
        )


def without_interpreter_waits(
    threads: Sequence[ThreadTime], in_python: Collection[int]
) -> tuple[tuple[ThreadTime, ...], dict[int, float]]:
    """Return the threads' times with the waits for the interpreter's lock set apart, and the CPU
    time of each operator in Python, for which it had the lock [s].

    A thread that waits for the lock says that it executes the operator, and uses no CPU. A function
    that sleeps does the same. Threads do not wait longer for the lock than others have it.
    """
    found, held = [], []
    for thread in threads:
        said = {
            key: amount
            for key, amount in thread.spent.items()
            if key[0] in HOLDING and key[1] in in_python
        }
        busy_s = sum(amount for (activity, _), amount in thread.spent.items() if activity in BUSY)
        off_s = 0.0 if thread.cpu_s is None else max(0.0, busy_s - thread.cpu_s)
        without_cpu_s = sum(
            amount
            for (activity, operator), amount in thread.spent.items()
            if activity == "ready" and operator in in_python
        )
        off_s = min(off_s, sum(said.values()))
        found.append((thread, said, off_s))
        held.append(sum(said.values()) - off_s + without_cpu_s)
    changed = []
    times: dict[int, float] = dict.fromkeys(in_python, 0.0)
    for (thread, said, off_s), own_s in zip(found, held, strict=True):
        waits_s = min(off_s, sum(held) - own_s)
        left = _reduced(thread.spent, said, waits_s)
        for key, amount in _reduced(said, said, off_s).items():
            times[key[1]] += amount
        for key, amount in said.items():
            waits = ("lock", key[1])
            left[waits] = left.get(waits, 0.0) + amount - left[key]
        changed.append(replace(thread, spent={key: each for key, each in left.items() if each > 0}))
    return tuple(changed), times


def _difference(now: ThreadTime, before: ThreadTime | None, unit_s: float) -> ThreadTime:
    earlier = {} if before is None else before.spent
    spent = {
        key: (amount - earlier.get(key, 0.0)) * unit_s
        for key, amount in now.spent.items()
        if key[0] != NONE
    }
    thread = replace(
        now,
        spent=_without_debts(spent),
        cpu_s=_less(now.cpu_s, before and before.cpu_s),
        ready_s=_less(now.ready_s, before and before.ready_s),
    )
    return with_waits_for_cpu(thread)


def _less(now: float | None, before: float | None) -> float | None:
    return None if now is None else now - (before or 0.0)


def _without_debts(spent: Spent) -> dict[tuple[str, int | None], float]:
    """Return the same sum without numbers below 0. There are some where a step of a virtual thread
    ends after the window, and is counted already.
    """
    debts = sum(amount for amount in spent.values() if amount < 0.0)
    left = {key: amount for key, amount in spent.items() if amount > 0.0}
    return _reduced(left, left, -debts)


def _reduced(
    spent: Spent, keys: Iterable[tuple[str, int | None]], by_s: float
) -> dict[tuple[str, int | None], float]:
    """Return the times, those of `keys` reduced in proportion by `by_s` in all."""
    chosen = set(keys)
    whole = sum(spent[key] for key in chosen)
    share = 1.0 - min(1.0, by_s / whole) if whole > 0.0 else 1.0
    return {key: amount * share if key in chosen else amount for key, amount in spent.items()}


def with_waits_for_cpu(thread: ThreadTime) -> ThreadTime:
    """Return the thread's times with those for which it had no CPU set apart, as the system counts
    them.

    A thread that loses its CPU goes on to say what it did last. So what is said of busy activities
    beyond the CPU time was without a CPU. The rest of that time is of a thread that was woken and
    had to wait for a CPU, and so still said what it slept for.
    """
    if thread.cpu_s is None or thread.ready_s is None:
        return thread
    busy = [key for key in thread.spent if key[0] in BUSY]
    waits = [key for key in thread.spent if key[0] not in BUSY]
    said_s = sum(thread.spent[key] for key in busy)
    slept_s = sum(thread.spent[key] for key in waits)
    ready_s = min(thread.ready_s, thread.total)
    of_waits_s = min(ready_s - min(ready_s, max(0.0, said_s - thread.cpu_s)), slept_s)
    left = _reduced(thread.spent, waits, of_waits_s)
    left = _reduced(left, busy, ready_s - of_waits_s)
    for (activity, operator), amount in thread.spent.items():
        key = ("ready", operator)
        left[key] = left.get(key, 0.0) + amount - left[activity, operator]
    return replace(thread, spent={key: amount for key, amount in left.items() if amount > 0.0})
