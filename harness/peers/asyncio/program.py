"""A graph in asyncio, as a Python user would write it: a task for each operator, and an
`asyncio.Queue` before each, of tuples or of lists of them. A put and a get take longer than a cheap
operator; the tuples of a list share them.

Its input and its answers: harness/peers/plan.py and harness/peers/program.py.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FINAL = None  # the last thing on a stream
TUPLES_PER_LATENCY = (
    32  # at full speed the latency of one tuple in so many is measured, else of all
)
TUPLES_PER_CHECK = 32  # the payload of one tuple in so many is checked
LONGEST_SLEEP_S = 0.01
CALIBRATION_FLOP = 200_000
BUCKETS = 592  # of the latency histogram: exact below 16 ns, then 16 to each power of two
MASK = 2**64 - 1
FACTOR = float("1")
SWITCH_S = 1e-5  # after so long a thread that waits for Python's lock asks for it


@dataclass
class AsyncOperator:
    kind: str
    cost: int
    busy_ns: int
    # by output port: the targets of its tuples, and the step added to their path
    ports: list[list[tuple[AsyncOperator, int]]]
    gap_ns: float = 0.0  # from one tuple of a source to the next; 0: full speed
    queue: asyncio.Queue | None = None
    open_streams: int = 0
    executed: int = 0
    left: int = 0
    total: int = 0  # sum of the hashes of tuples sent, received, or not executed


@dataclass
class AsyncRun:
    operators: list[AsyncOperator] = field(default_factory=list)
    payload: int = 0
    capacity: int = 0  # of a queue
    batch: int = 1
    limit: int = -1
    stopping: bool = False
    cut: bool = False
    latency: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    longest: int = 0
    out_of_order: int = 0
    harmed: int = 0
    began: int = 0
    ended: int = 0


def read_plan(path: str) -> AsyncRun:
    run = AsyncRun()
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            word, *rest = line.split()
            if word == "payload":
                run.payload = int(rest[0])
            elif word == "capacity":
                run.capacity = int(rest[0])
            elif word == "batch":
                run.batch = int(rest[0])
            elif word == "tuples":
                run.limit = int(rest[0])
            elif word == "operator":
                run.operators.append(
                    AsyncOperator(
                        rest[0], int(rest[1]), int(rest[2]), [[] for _ in range(int(rest[3]))]
                    )
                )
            elif word == "gap":
                run.operators[int(rest[0])].gap_ns = float(rest[1])
            elif word == "stream":
                source, port, target, step = map(int, rest)
                run.operators[source].ports[port].append((run.operators[target], step))
                run.operators[target].open_streams += 1
    run.capacity = max(1, run.capacity // run.batch) * run.batch
    for operator in run.operators:
        operator.queue = asyncio.Queue(run.capacity // run.batch)
    return run


def value_of(sequence: int) -> float:
    return 1.0 + (sequence & 1023) / 1024.0


def payload_of(sequence: int, size: int) -> bytes:
    return (sequence.to_bytes(8, "little") * -(-size // 8))[:size]


def multiply(value: float, cost: int, factor: float = FACTOR) -> float:
    for _ in range(cost):
        value *= factor
    return value


def be_busy(ns: int) -> None:
    end = time.monotonic_ns() + ns
    while time.monotonic_ns() < end:
        pass


def bucket_of(ns: int) -> int:
    if ns < 16:
        return max(ns, 0)
    octave = ns.bit_length() - 5
    return min((octave + 1) * 16 + (ns >> octave) - 16, BUCKETS - 1)


async def source(op: AsyncOperator, run: AsyncRun) -> None:
    sequence = turn = 0
    while sequence != run.limit and not run.stopping:
        due = await due_time(op, run, sequence)
        payload = payload_of(sequence, run.payload)
        born = due or (0 if sequence % TUPLES_PER_LATENCY else time.monotonic_ns())
        op.total += hash((sequence,))
        for target, step in op.ports[turn]:
            await target.queue.put((sequence, step, born, value_of(sequence), payload))
        turn = (turn + 1) % len(op.ports)
        sequence += 1
        op.executed = sequence
    await close(op)


async def due_time(op: AsyncOperator, run: AsyncRun, sequence: int) -> int:
    """Wait until a tuple is due; return that time, or 0 if the source sends at full speed."""
    if not op.gap_ns:
        return 0
    due = run.began + round(sequence * op.gap_ns)
    while not run.stopping and (late := time.monotonic_ns() - due) < 0:
        await asyncio.sleep(min(-late / 1e9, LONGEST_SLEEP_S))
    return due


async def work(op: AsyncOperator, run: AsyncRun) -> None:
    turn = 0
    while True:
        item = await op.queue.get()
        if item is FINAL:
            op.open_streams -= 1
            if op.open_streams == 0:
                return await close(op)
            continue
        sequence, path, born, value, payload = item
        if run.cut:
            op.left += 1
            op.total += hash((sequence,))
            continue
        if op.busy_ns:
            be_busy(op.busy_ns)
        else:
            value = multiply(value, op.cost)
        for target, step in op.ports[turn]:
            await target.queue.put((sequence, path + step, born, value, payload))
        turn = (turn + 1) % len(op.ports)
        op.executed += 1


async def sink(op: AsyncOperator, run: AsyncRun) -> None:
    last: dict[int, int] = {}
    while True:
        item = await op.queue.get()
        if item is FINAL:
            op.open_streams -= 1
            if op.open_streams == 0:
                return
            continue
        op.total += hash((item[0],))
        # work has stopped: tuples here count as left, as before any other operator
        if run.cut:
            op.left += 1
        else:
            op.executed += 1
            arrive(item, run, last)


def arrive(item: Sequence[Any], run: AsyncRun, last: dict[int, int]) -> None:
    """Check a tuple at a sink. `last`: by path, the sequence number of the last one."""
    sequence, path, born, value, payload = item
    if sequence <= last.get(path, -1):
        run.out_of_order += 1
    last[path] = sequence
    if value != value_of(sequence):
        run.harmed += 1
    if born:
        ns = time.monotonic_ns() - born
        run.latency[bucket_of(ns)] += 1
        run.longest = max(run.longest, ns)
    if sequence % TUPLES_PER_CHECK == 0 and payload != payload_of(sequence, run.payload):
        run.harmed += 1


async def close(op: AsyncOperator) -> None:
    for port in op.ports:
        for target, _ in port:
            await target.queue.put(FINAL)


Item = list[Any]
"""A tuple of a batch: sequence number, path, time when it was born, value and payload. The operator
that has the batch changes it."""


class Filling:
    """The lists that an operator fills: one for each output port, as tuples take these in turn."""

    def __init__(self, op: AsyncOperator, run: AsyncRun) -> None:
        self.op, self.batch = op, run.batch
        self.open: list[list[Item]] = [[] for _ in op.ports]
        self.turn = 0

    async def deal(self, items: list[Item]) -> None:
        ports = len(self.open)
        for place in range(min(ports, len(items))):
            port = (self.turn + place) % ports
            waiting = self.open[port]
            waiting += items[place::ports]
            if len(waiting) >= self.batch:
                self.open[port] = waiting[self.batch :]
                await hand_on(waiting[: self.batch], self.op.ports[port])
        self.turn = (self.turn + len(items)) % ports

    async def flush(self) -> None:
        for port, waiting in enumerate(self.open):
            if waiting:
                self.open[port] = []
                await hand_on(waiting, self.op.ports[port])


async def hand_on(items: list[Item], streams: list[tuple[AsyncOperator, int]]) -> None:
    """Put a list into the queue behind each stream: a copy into each but the last."""
    for target, step in streams[:-1]:
        await target.queue.put(stepped([item.copy() for item in items], step))
    target, step = streams[-1]
    await target.queue.put(stepped(items, step))


def stepped(items: list[Item], step: int) -> list[Item]:
    if step:
        for item in items:
            item[1] += step
    return items


async def source_of_lists(op: AsyncOperator, run: AsyncRun) -> None:
    filling = Filling(op, run)
    while op.executed != run.limit and not run.stopping:
        await filling.deal(await make(op, run, filling))
    await filling.flush()
    await close(op)


async def make(op: AsyncOperator, run: AsyncRun, filling: Filling) -> list[Item]:
    """Return the next tuples of a source: as many as are due, but a batch at most."""
    first = op.executed
    end = first + run.batch
    if run.limit >= 0:
        end = min(end, run.limit)
    if op.gap_ns:
        if run.began + round(first * op.gap_ns) > time.monotonic_ns():
            await filling.flush()  # lists that are not full do not wait while the source does
            await due_time(op, run, first)
        late = time.monotonic_ns() - run.began
        end = min(end, max(first + 1, int(late / op.gap_ns) + 1))
    numbers = range(first, end)
    words = -(-run.payload // 8)
    items = [
        [number, 0, 0, value_of(number), (number.to_bytes(8, "little") * words)[: run.payload]]
        for number in numbers
    ]
    if op.gap_ns:
        for item in items:
            item[2] = run.began + round(item[0] * op.gap_ns)
    else:
        for item in items[-first % TUPLES_PER_LATENCY :: TUPLES_PER_LATENCY]:
            item[2] = time.monotonic_ns()
    op.total += sum_of(items)
    op.executed = end
    return items


def sum_of(items: list[Item]) -> int:
    return sum([hash((item[0],)) for item in items])


async def take_list(op: AsyncOperator, run: AsyncRun) -> list[Item]:
    """Wait for a list, and leave its tuples if the run was cut short; empty at the end of a
    stream.
    """
    items = await op.queue.get()
    if items is FINAL:
        op.open_streams -= 1
        return []
    if run.cut:
        op.left += len(items)
        op.total += sum_of(items)
        return []
    return items


async def work_on_lists(op: AsyncOperator, run: AsyncRun) -> None:
    filling = Filling(op, run)
    while op.open_streams > 0:
        if op.queue.empty():
            await filling.flush()
        items = await take_list(op, run)
        work_on(items, op)
        if len(op.ports) == 1:
            if items:
                await hand_on(items, op.ports[0])
        else:
            await filling.deal(items)
        op.executed += len(items)
    await filling.flush()
    await close(op)


def work_on(items: list[Item], op: AsyncOperator, factor: float = FACTOR) -> None:
    if op.busy_ns:
        for _ in items:
            be_busy(op.busy_ns)
    elif op.cost == 1:  # an inner loop would take longer than the multiply
        for item in items:
            item[3] *= factor
    else:
        for item in items:
            item[3] = multiply(item[3], op.cost, factor)


async def sink_of_lists(op: AsyncOperator, run: AsyncRun) -> None:
    last: dict[int, int] = {}
    while op.open_streams > 0:
        items = await take_list(op, run)
        for item in items:
            arrive(item, run, last)
        op.executed += len(items)
        op.total += sum_of(items)


async def execute(run: AsyncRun) -> None:
    if run.batch == 1:
        bodies = {"source": source, "work": work, "sink": sink}
    else:
        bodies = {"source": source_of_lists, "work": work_on_lists, "sink": sink_of_lists}
    await asyncio.gather(*(bodies[op.kind](op, run) for op in run.operators))
    run.ended = time.monotonic_ns()


def ns_per_flop() -> float:
    times = []
    for _ in range(3):
        begin = time.perf_counter_ns()
        multiply(1.5, CALIBRATION_FLOP)
        times.append((time.perf_counter_ns() - begin) / CALIBRATION_FLOP)
    return min(times)


def answer(word: str, values: dict) -> None:
    print(json.dumps({word: values}), flush=True)


def counts(run: AsyncRun) -> dict:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "ns": (run.ended or time.monotonic_ns()) - run.began,
        "executed": [op.executed for op in run.operators],
        "latency": [number for pair in enumerate(run.latency) if pair[1] for number in pair],
        "longest": run.longest,
        "switches": usage.ru_nvcsw + usage.ru_nivcsw,
        "finished": run.ended > 0,
    }


def totals(run: AsyncRun) -> dict:
    return counts(run) | {
        "drained": not any(op.left for op in run.operators),
        "left": [op.left for op in run.operators],
        "sums": [op.total & MASK for op in run.operators],
        "out_of_order": run.out_of_order,
        "harmed": run.harmed,
        "ns_per_flop": ns_per_flop(),
    }


def main() -> None:
    # This thread answers; another runs the loop. At the end of each turn the loop gives up Python's
    # lock, and takes it again before this thread is awake. Each time this thread begins to wait
    # anew. By default it asks for the lock after 5 ms, but turns of few tasks are shorter.
    sys.setswitchinterval(SWITCH_S)
    run = read_plan(sys.argv[1])
    graph = threading.Thread(target=lambda: asyncio.run(execute(run)), daemon=True)
    answer("ready", {"threads": 1, "capacity": run.capacity})
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "start":
            run.began = time.monotonic_ns()
            graph.start()
            answer("started", {})
        elif word == "sample":
            answer("sample", counts(run))
        elif word == "stop":
            run.stopping = True
            graph.join(int(rest[0]) / 1000)
            run.cut = graph.is_alive()
            graph.join()
            answer("totals", totals(run))
            return


if __name__ == "__main__":
    main()
