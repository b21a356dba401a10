"""Effect of a lock at the sink on operators side by side, by three readings of P17 §5.2.

    python -m studies.sink_lock -o results/reference/sink-lock.md

P17 explains its results side by side with a lock at Snk that is elided only where one thread alone
gets there, and does not say whether Snk has a queue of its own. The readings are:

  elided       Snk has a queue, so one thread at a time executes it and no lock is taken
  behind       Snk has a queue, and its lock is taken for each tuple all the same
  by calls     Snk has no queue: each thread that executes a worker calls it, under the lock

Simulated with the costs of IBM Streams 4.2; prints the throughput of each, and its ratio to the
first reading. With `--ends` it prints instead what manual and dynamic pass at cost 1 if queues are
at the dear end of their ranges, and if calls are at the cheap end of theirs, too; with `--levels`
the throughput of dynamic at cost 10,000 by its threads, where Snk has a queue and has none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from harness.graph import Graph
from harness.machines.software import load_software
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of

WIDTH = 1000
COSTS = (1, 10_000, 100_000)
CAPACITY = 64  # as in the figures
EVENTS = 10_000_000
SOFTWARE = {"elided": "streams-4.2", "behind": "streams-locked", "by calls": "streams-4.2"}
MORE_LEVELS = (4, 8, 16, 32, 64, 176)
LEVELS = {"dedicated": None, "dynamic, 4 threads": 4, "dynamic, 64 threads": 64}


def called_sink(width: int = WIDTH, cost: int = 1) -> Graph:
    """Return operators side by side, each with a thread of its own, that call one sink."""
    graph = Graph("called sink", 128)
    split, sink = graph.split("split", outputs=width), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for number in range(width):
        worker = graph.work(f"work{number + 1}", cost)
        graph.connect(split.output(number), worker)
        graph.connect(worker, sink)
        graph.threaded_port(worker, CAPACITY)
    return graph


QUEUES = ("push", "take", "drain", "list", "flag", "search", "wait_round", "lock")
CALLS = ("source", "call", "sink", "way", "clock")
"""Beginnings of the names of costs, of queues and of calls."""


def ends() -> Mapping[str, Mapping[str, float]]:
    """Return constants by what they are: as estimated, and at ends of their ranges."""
    costs = {
        path.removeprefix("cost."): each
        for path, each in load_software("streams-4.2").constants.items()
        if path.startswith("cost.")
    }
    dear = {f"cost.{name}": each.high for name, each in costs.items() if name.startswith(QUEUES)}
    cheap = {f"cost.{name}": each.low for name, each in costs.items() if name.startswith(CALLS)}
    return {"as estimated": {}, "dear queues": dear, "and cheap calls": {**dear, **cheap}}


def rows_of_ends(machines: list[str]) -> Iterator[str]:
    """Yield the rows of a table: throughput at ends of the costs' ranges."""
    yield "| machine | costs | manual | dynamic, 1 thread | 2 | 4 |"
    yield "|---|---|---:|---:|---:|---:|"
    for machine in machines:
        for name, constants in ends().items():
            cells = []
            for threads in (None, 1, 2, 4):
                model = "dynamic" if threads else "manual"
                options = {"threads": threads, "queue_capacity": CAPACITY} if threads else {}
                run = run_of(
                    "data-parallel",
                    {"width": WIDTH, "cost": 1},
                    model,
                    machine=machine,
                    software="streams-4.2",
                    events=EVENTS,
                    constants=constants,
                    **options,
                )
                record = run_once(run)
                cells.append(_cell(record, record["sink_tuples_per_s"]))
            yield f"| {machine} | {name} | {' | '.join(cells)} |"


def rows_of_levels(machines: list[str]) -> Iterator[str]:
    """Yield the rows of a table: throughput of dynamic at cost 10,000, by its threads."""
    first, *others = MORE_LEVELS
    yield f"| machine | Snk | {first} threads | {' | '.join(map(str, others))} |"
    yield f"|---|---|{'---:|' * len(MORE_LEVELS)}"
    for machine in machines:
        for reading, name in (("elided", "has a queue"), ("by calls", "is called under its lock")):
            records = [run_once(run_for(machine, 10_000, each, reading)) for each in MORE_LEVELS]
            cells = [_cell(record, record["sink_tuples_per_s"]) for record in records]
            yield f"| {machine} | {name} | {' | '.join(cells)} |"


def run_for(machine: str, cost: int, threads: int | None, reading: str) -> Run:
    """Return the run of a reading; `threads`: of dynamic, None: dedicated."""
    model, options = ("dedicated", {}) if threads is None else ("dynamic", {"threads": threads})
    called = reading == "by calls"
    if called and threads is None:
        model = "manual"
    else:
        options["queue_capacity"] = CAPACITY
    if called and threads is not None:
        options["queued"] = ",".join(f"work{number + 1}" for number in range(WIDTH))
    run = run_of(
        "data-parallel",
        {"width": WIDTH, "cost": cost},
        model,
        machine=machine,
        software=SOFTWARE[reading],
        events=EVENTS,
        **options,
    )
    return replace(run, graph_file=f"{__file__}:called_sink") if model == "manual" else run


def rows(machines: list[str]) -> Iterator[str]:
    """Yield the rows of the table, one for each machine, arm and cost."""
    yield "| machine | arm | cost | elided | behind its queue | by calls |"
    yield "|---|---|---:|---:|---:|---:|"
    for machine in machines:
        for arm, threads in LEVELS.items():
            for cost in COSTS:
                records = [run_once(run_for(machine, cost, threads, each)) for each in SOFTWARE]
                first = records[0]["sink_tuples_per_s"]
                cells = [_cell(record, first) for record in records]
                yield f"| {machine} | {arm} | {cost:,} | {' | '.join(cells)} |"


def _cell(record: Mapping[str, object], first: float) -> str:
    rate = record["sink_tuples_per_s"] or 0.0
    if not record["correct"]:
        return f"failed: {record['error']}"
    ratio = "" if rate == first or not first else f" ({rate / first:.2f})"
    return f"{rate / 1e3:,.0f}{ratio}{'' if record['settled'] else ' *'}"


def main() -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machines", nargs="+", default=["xeon", "power8"])
    parser.add_argument("--ends", action="store_true", help="vary the costs at cost 1 instead")
    parser.add_argument("--levels", action="store_true", help="vary the threads instead")
    parser.add_argument("-o", type=Path, help="file for the table")
    given = parser.parse_args()
    lines = []
    table = rows_of_ends if given.ends else rows_of_levels if given.levels else rows
    for line in table(given.machines):
        print(line, flush=True)
        lines.append(line)
    if given.o:
        given.o.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
