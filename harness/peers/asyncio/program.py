"""A graph in asyncio, as a Python user would write it: a task for each operator, and an
`asyncio.Queue` before each.

Its input and its answers: harness/peers/plan.py and harness/peers/program.py.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

FINAL = None  # the last thing on a stream
TUPLES_PER_LATENCY = 32  # the latency of one tuple in so many is measured
LONGEST_SLEEP_S = 0.01
CALIBRATION_FLOP = 200_000
BUCKETS = 592  # of the latency histogram: exact below 16 ns, then 16 to each power of two
MASK = 2**64 - 1
FACTOR = float("1")


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
    capacity = 0
    with Path(path).open(encoding="utf-8") as lines:
        for line in lines:
            word, *rest = line.split()
            if word == "payload":
                run.payload = int(rest[0])
            elif word == "capacity":
                capacity = int(rest[0])
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
    for operator in run.operators:
        operator.queue = asyncio.Queue(capacity)
    return run


def value_of(sequence: int) -> float:
    return 1.0 + (sequence & 1023) / 1024.0


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
    words = run.payload // 8 + 1
    while sequence != run.limit and not run.stopping:
        due = await due_time(op, run, sequence)
        payload = (sequence.to_bytes(8, "little") * words)[: run.payload]
        born = 0 if sequence % TUPLES_PER_LATENCY else due or time.monotonic_ns()
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
        sequence, path, born, value, payload = item
        # work has stopped: tuples here count as left, as before any other operator
        if run.cut:
            op.left += 1
        else:
            op.executed += 1
            if sequence <= last.get(path, -1):
                run.out_of_order += 1
            last[path] = sequence
        op.total += hash((sequence,))
        if value != value_of(sequence):
            run.harmed += 1
        if born:
            ns = time.monotonic_ns() - born
            run.latency[bucket_of(ns)] += 1
            run.longest = max(run.longest, ns)
            if payload[:8] != sequence.to_bytes(8, "little")[: run.payload]:
                run.harmed += 1


async def close(op: AsyncOperator) -> None:
    for port in op.ports:
        for target, _ in port:
            await target.queue.put(FINAL)


async def execute(run: AsyncRun) -> None:
    bodies = {"source": source, "work": work, "sink": sink}
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
    run = read_plan(sys.argv[1])
    graph = threading.Thread(target=lambda: asyncio.run(execute(run)), daemon=True)
    answer("ready", {"threads": 1})
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
