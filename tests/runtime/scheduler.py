"""The scheduler of co-routines as C-Stream's section 3.2 tells it: slow, for one thread. The
shipped one is compared with it step by step.

An operator waits until each of its input ports, or any, has as many tuples as it needs there. It
takes them, works, and sends some to each port downstream. A source does the same for a number of
steps, as fast as it may or at a rate. Only work takes time.

The shipped scheduler (tests/native/schedule.cpp) tells what it does: at which co-routine it looks,
what a policy then sees, and which one it resumes. The reference says what is due at each moment:
whom a change at a port makes ready, in which order, and what a policy sees of it. So it knows who
may be resumed: the operator with the highest score among those that are ready, as things stand when it is
picked. Chance decides between equal scores, so there the reference takes what was taken. A policy
whose scores may rise while a co-routine is ready is asked about all that are ready at each pick:
one that is not C-Stream's after all operators with input ports have begun. Any other one is asked
when a co-routine becomes ready, and about those that come first at a pick.
"""

from __future__ import annotations

import ctypes
import heapq
import subprocess
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from harness.runtime.protocol import POLICIES

from tests import compiler

ROOT = Path(__file__).parents[2]
LOOK, PICK, STUCK, PORT, STATE = range(5)
READY = "Ready"
READ_BLOCKED = "ReadBlocked"
WRITE_BLOCKED = "WriteBlocked"
ASLEEP = "Asleep"
COMPLETED = "Completed"
NUMBERS = {READY: 0, COMPLETED: 6}  # of CoState
FLOOR = 32  # tuples that a turn of ours should be worth
FOREVER = 1e300


@dataclass
class Operator:
    needs: dict[int, int]  # by input port: tuples
    gives: dict[int, int]  # by port downstream: tuples a step
    waits_for_any: bool = False
    steps: int = 0  # of a source
    cost_ns: int = 0
    gap_ns: int = 0  # of a source: between two steps; 0: as fast as it may
    batch: int = 1
    reads_per_s: float = 0.0
    writes_per_s: float = 0.0
    gain_per_s: float = 0.0


@dataclass
class Graph:
    operators: list[Operator]
    capacities: list[int]  # of ports

    def writers(self, port: int) -> list[int]:
        return [index for index, operator in enumerate(self.operators) if port in operator.gives]

    def reader(self, port: int) -> int:
        return next(
            index for index, operator in enumerate(self.operators) if port in operator.needs
        )


# -- the shipped one -------------------------------------------------------------------------------


@cache
def library() -> ctypes.CDLL:
    with TemporaryDirectory() as folder:
        path = f"{folder}/schedule.so"
        words = [
            *compiler.of_cxx(),
            "-std=c++20",
            "-O1",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-I",
            "harness/native",
            "-I",
            "harness/runtime/native",
            "-o",
            path,
        ]
        subprocess.run(
            [*words, "tests/native/schedule.cpp"], cwd=ROOT, check=True, capture_output=True
        )
        loaded = ctypes.CDLL(path)
    loaded.run_schedule.restype = loaded.age_in_hand.restype = ctypes.c_int64
    return loaded


def shipped(graph: Graph, policy: str, quantum_ns: int, most: int = 200_000) -> np.ndarray:
    """Return what it did: a row an event."""

    def address(values: list[object]) -> ctypes.Array:
        flat = np.array(values, dtype=float).ravel()
        return (ctypes.c_double * max(len(flat), 1))(*flat)

    operators = [
        (
            each.waits_for_any,
            each.steps,
            each.cost_ns,
            each.gap_ns,
            each.batch,
            each.reads_per_s,
            each.writes_per_s,
            each.gain_per_s,
        )
        for each in graph.operators
    ]
    ways = [
        (i, port, need, 1)
        for i, each in enumerate(graph.operators)
        for port, need in each.needs.items()
    ]
    ways += [
        (i, port, gives, 0)
        for i, each in enumerate(graph.operators)
        for port, gives in each.gives.items()
    ]
    rows = np.zeros((most, 10))
    count = library().run_schedule(
        address(operators), ctypes.c_int64(len(operators)), address(graph.capacities), ctypes.c_int64(len(graph.capacities)),
        address(ways), ctypes.c_int64(len(ways)), ctypes.c_int32(list(POLICIES).index(policy)), ctypes.c_int64(quantum_ns),
        rows.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(most),
    )  # fmt: skip
    assert 0 < count <= most
    return rows[:count]


# -- policies --------------------------------------------------------------------------------------


@dataclass
class Seen:
    source: bool
    queued: int
    scheduled_ns: int
    enqueued_ns: int
    born_ns: int
    room: int
    behind: int
    operator: Operator


def running_time(seen: Seen) -> float:
    reads, writes = seen.operator.reads_per_s, seen.operator.writes_per_s
    return min(
        FOREVER if seen.source or reads <= 0 else seen.queued / reads,
        FOREVER if writes <= 0 else seen.room / writes,
    )


SCORES: dict[str, Callable[[Seen], float]] = {
    "max_queue_length": lambda seen: FOREVER if seen.source else seen.queued,
    "min_latency": lambda seen: -(seen.scheduled_ns if seen.source else seen.enqueued_ns),
    "least_recently_run": lambda seen: -seen.scheduled_ns,
    "max_running_time": running_time,
    "highest_rate": lambda seen: -FOREVER if seen.source else seen.operator.gain_per_s,
    "oldest_source": lambda seen: -FOREVER if seen.source else -seen.born_ns,
    "pressure": lambda seen: float(seen.room if seen.source else seen.queued) - seen.behind,
}
FLOORS = dict.fromkeys(("highest_rate", "oldest_source", "pressure"), FLOOR)
NEVER_RISE = {"min_latency", "least_recently_run"}


# -- the reference ---------------------------------------------------------------------------------


@dataclass
class Coroutine:
    index: int
    operator: Operator
    state: str = READY
    lacks: int | None = None  # port
    wakes_ns: int = 0
    scheduled_ns: int = 0
    turn_ends_ns: int = 0
    looked_ns: int = 0
    looks_left: int = 0
    stretch: int = 1
    program: Generator[str, None, None] = field(init=False)


class Reference:
    def __init__(self, graph: Graph, policy: str, quantum_ns: int, rows: np.ndarray) -> None:
        self.graph, self.policy, self.quantum_ns = graph, policy, quantum_ns
        self.rows, self.place = rows, 0
        self.clock_ns, self.over = 1000, False
        self.queues: list[deque[tuple[int, int]]] = [deque() for _ in graph.capacities]
        self.pushed, self.refused, self.waiting, self.turn = (
            [0] * len(self.queues) for _ in range(4)
        )
        self.writers = [graph.writers(port) for port in range(len(self.queues))]
        self.readers = [graph.reader(port) for port in range(len(self.queues))]
        self.open = [len(writers) for writers in self.writers]
        self.all = [Coroutine(index, operator) for index, operator in enumerate(graph.operators)]
        self.ready: set[int] = set()
        self.asleep: list[tuple[int, int]] = []
        self.resumed: list[int] = []

    # what the shipped one did next

    def next_is(self, kind: int) -> bool:
        return self.rows[self.place][0] == kind

    def take(self, kind: int, co: int | None = None) -> np.ndarray:
        row = self.rows[self.place]
        assert row[0] == kind, f"event {self.place}: {kind} of {co} was due, not {row}"
        assert co is None or row[1] == co, f"event {self.place}: {co} was due, not {row}"
        self.place += 1
        return row

    # ports

    def room(self, port: int) -> int:
        return self.graph.capacities[port] - len(self.queues[port])

    def satisfied(self, co: Coroutine) -> bool:
        met = [len(self.queues[port]) >= need for port, need in co.operator.needs.items()]
        return any(met) if co.operator.waits_for_any else all(met)

    def hopeless(self, co: Coroutine) -> bool:
        never = [
            not self.open[port] and len(self.queues[port]) < need
            for port, need in co.operator.needs.items()
        ]
        return self.over or (all(never) if co.operator.waits_for_any else any(never))

    def has_room(self, port: int) -> bool:
        return self.over or self.room(port) > 0 or self.all[self.readers[port]].state == COMPLETED

    def may_go_on(self, co: Coroutine) -> bool:
        if co.state == WRITE_BLOCKED:
            assert co.lacks is not None
            return self.has_room(co.lacks)
        return self.satisfied(co) or self.hopeless(co)

    # what a policy sees

    def seen(self, co: Coroutine) -> Seen:
        fronts = [self.queues[port][0] for port in co.operator.needs if self.queues[port]]
        return Seen(
            source=not co.operator.needs,
            queued=sum(len(self.queues[port]) for port in co.operator.needs),
            scheduled_ns=co.scheduled_ns,
            enqueued_ns=min((front[0] for front in fronts), default=co.scheduled_ns),
            born_ns=min((front[1] for front in fronts), default=co.scheduled_ns),
            room=min((self.room(port) for port in co.operator.gives), default=2**64 - 1),
            behind=max((len(self.queues[port]) for port in co.operator.gives), default=0),
            operator=co.operator,
        )

    def found(self, co: Coroutine) -> tuple[bool, float]:
        """Return what a policy says of it now: whether it has enough for a turn, and its score."""
        if self.policy == "random":
            return True, 0.0
        seen = self.seen(co)
        score = float(SCORES[self.policy](seen))
        enough = (
            score > -FOREVER
            if seen.source
            else seen.queued >= min(FLOORS.get(self.policy, 0), co.operator.batch)
        )
        return enough, score

    # who becomes ready

    def look(self, co: Coroutine) -> None:
        row = self.take(LOOK, co.index)
        seen = self.seen(co)
        assert tuple(row[3:9]) == (
            seen.queued,
            seen.scheduled_ns,
            seen.enqueued_ns,
            seen.born_ns,
            float(seen.room),
            seen.behind,
        )
        assert row[9] == self.found(co)[1], (self.place, co.index)

    def look_before(self, co: Coroutine) -> None:
        """Note when it stops, or is woken."""
        if self.policy in NEVER_RISE:
            self.look(co)

    def make_ready(self, co: Coroutine) -> None:
        if co.state == WRITE_BLOCKED and co.lacks is not None:
            self.waiting[co.lacks] -= 1
        self.look_before(co)
        co.state = READY
        self.ready.add(co.index)

    def wake(self, index: int, blocked: str) -> bool:
        co = self.all[index]
        if co.state != blocked or not self.may_go_on(co):
            return False
        self.make_ready(co)
        return True

    def written(self, port: int) -> None:  # Algorithm 7
        self.wake(self.readers[port], READ_BLOCKED)

    def read(self, port: int) -> None:  # Algorithm 8
        if len(self.writers[port]) == 1:
            self.wake(self.writers[port][0], WRITE_BLOCKED)
        else:
            self.wake_writer(port)

    def wake_writer(self, port: int) -> None:
        """Return the next writer in turn that waits for room there."""
        writers = self.writers[port]
        for at in [*range(self.turn[port], len(writers)), *range(self.turn[port])]:
            lacks_room = self.all[writers[at]].lacks == port and self.waiting[port] > 0
            if lacks_room and self.room(port) > 0 and self.wake(writers[at], WRITE_BLOCKED):
                self.turn[port] = (at + 1) % len(writers)
                return

    # what operators do

    def preemption(self, co: Coroutine) -> Iterator[str]:
        """The clock is looked at as often as needed to be late by an eighth of the quantum."""
        if co.looks_left > 0:
            co.looks_left -= 1
        elif self.clock_ns >= co.turn_ends_ns:
            yield READY
        else:
            co.stretch = (
                min(2 * co.stretch, 64)
                if self.clock_ns - co.looked_ns < self.quantum_ns // 16
                else 1
            )
            co.looked_ns, co.looks_left = self.clock_ns, co.stretch - 1

    def push(
        self, co: Coroutine, port: int, count: int, born_ns: int
    ) -> Iterator[str]:  # Algorithm 3
        while count > 0 and self.all[self.readers[port]].state != COMPLETED:
            fitting = min(count, self.room(port))
            self.queues[port].extend([(self.clock_ns, born_ns)] * fitting)
            self.pushed[port] += fitting
            count -= fitting
            if fitting > 0:
                self.written(port)
            if fitting > 0 and len(self.writers[port]) > 1:
                self.wake_writer(port)
            if count == 0 or self.over:
                break
            if not self.has_room(port):
                co.lacks = port
                self.waiting[port] += 1
                yield WRITE_BLOCKED
                co.lacks = None
        self.refused[port] += count

    def send(self, co: Coroutine, born_ns: int) -> Iterator[str]:
        for port, count in co.operator.gives.items():
            yield from self.push(co, port, count, born_ns)
        yield from self.preemption(co)

    def program(self, co: Coroutine) -> Generator[str, None, None]:
        operator = co.operator
        due_ns = 0
        for _ in range(operator.steps if not operator.needs else 0):
            if self.over:
                break
            if operator.gap_ns > 0 and due_ns > self.clock_ns:
                co.wakes_ns = due_ns
                yield ASLEEP
            due_ns += operator.gap_ns
            self.clock_ns += operator.cost_ns
            yield from self.send(co, self.clock_ns)
        while operator.needs:
            while not self.satisfied(co) and not self.hopeless(co):  # Algorithms 1 and 2
                yield READ_BLOCKED
            if not self.satisfied(co):
                break
            yield from self.preemption(co)
            born_ns = 2**63 - 1
            for port, need in operator.needs.items():
                if len(self.queues[port]) < need:
                    continue
                born_ns = min([born_ns, *(self.queues[port].popleft()[1] for _ in range(need))])
                self.read(port)
            self.clock_ns += operator.cost_ns
            yield from self.send(co, born_ns)
        for port in operator.gives:
            self.open[port] -= 1
            self.written(port)

    # the thread

    def run(self) -> list[int]:
        """Follows the shipped one to the end; returns who was resumed, in that order."""
        for co in self.all:
            co.program = self.program(co)
            self.look_before(co)
            self.ready.add(co.index)
        while (co := self.pick()) is not None:
            co.scheduled_ns = co.looked_ns = self.clock_ns
            co.turn_ends_ns, co.looks_left = self.clock_ns + self.quantum_ns, 0
            co.state = "Running"
            self.resumed.append(co.index)
            self.settle(co, next(co.program, COMPLETED))
        for port, queue in enumerate(self.queues):
            assert tuple(self.take(PORT)[3:6]) == (
                len(queue),
                self.pushed[port],
                self.refused[port],
            )
        for co in self.all:
            assert (co.state, self.take(STATE, co.index)[2]) == (COMPLETED, NUMBERS[COMPLETED])
        assert self.place == len(self.rows)
        return self.resumed

    def settle(self, co: Coroutine, stopped: str) -> None:
        co.state = stopped
        if stopped == READY:  # preempted
            self.make_ready(co)
        elif stopped == ASLEEP:
            self.look_before(co)
            heapq.heappush(self.asleep, (co.wakes_ns, co.index))
        elif stopped == COMPLETED:
            for port in co.operator.needs:
                for writer in self.writers[port]:
                    self.wake(writer, WRITE_BLOCKED)
        elif self.may_go_on(co):
            self.make_ready(co)

    def pick(self) -> Coroutine | None:
        while True:
            while self.asleep and self.asleep[0][0] <= self.clock_ns:
                self.make_ready(self.all[heapq.heappop(self.asleep)[1]])
            if self.ready:
                return self.chosen()
            if all(co.state == COMPLETED for co in self.all):
                return None
            if self.asleep:
                self.clock_ns = max(self.clock_ns, self.asleep[0][0])
                continue
            self.take(STUCK)  # what operators wait for will never be: the run is ended
            self.over = True
            for co in self.all:
                if co.state in (READ_BLOCKED, WRITE_BLOCKED):
                    self.wake(co.index, co.state)

    def chosen(self) -> Coroutine:
        looked: list[int] = []
        while self.next_is(LOOK):
            looked.append(int(self.rows[self.place][1]))
            assert looked[-1] in self.ready
            self.look(self.all[looked[-1]])
        row = self.take(PICK)
        index = int(row[1])
        assert row[2] == self.clock_ns
        assert index in self.ready, f"event {self.place}: {index} is {self.all[index].state}"
        new = (
            self.ready
            - set(self.resumed)
            - {each.index for each in self.all if not each.operator.needs}
        )
        if self.policy in FLOORS and new and len(self.ready) > 1:
            assert index in new and not new & set(looked)
            self.ready.remove(index)
            return self.all[index]
        found = {each: self.found(self.all[each]) for each in self.ready}
        assert found[index] == max(found.values()), (self.place, index, found)
        if self.policy == "random" or len(self.ready) == 1:
            assert not looked
        elif self.policy in NEVER_RISE:
            assert looked[-1] == index and len(set(looked)) == len(looked)
        else:
            assert sorted(looked) == sorted(self.ready)
        self.ready.remove(index)
        return self.all[index]
