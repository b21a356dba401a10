"""Records of runs that were made up, with the times that a test needs."""

from __future__ import annotations

from typing import Any

from harness.measurement.record import declaration
from tests.records import example


def operator(name: str, kind: str = "work", **facts: Any) -> dict[str, Any]:
    """Facts of an operator without a queue, one tuple a microsecond."""
    plain = {
        "tuples": 1_000_000,
        "most_threads": 1,
        "locked": False,
        "replicable": False,
        "queue_capacity": None,
        "behind": [],
        "interpreter_s": None,
        "due_tuples": None,
    }
    return example(declaration.OPERATOR_FACTS, name=name, kind=kind, **plain | facts)


def thread(name: str, *spent: tuple[str, str | None, float]) -> dict[str, Any]:
    """A thread that spent times [s] on activities for operators."""
    entries = [
        example(declaration.TIME_SPENT, activity=activity, operator=of, time_s=time_s)
        for activity, of, time_s in spent
    ]
    return example(declaration.THREAD_TIME, name=name, spent=entries)


def record(operators: list[Any], threads: list[Any], rate: float = 1e6, **use: Any) -> dict:
    """The record of a second of a run on two CPUs."""
    plain = {
        "elapsed_s": 1.0,
        "cpus": 2.0,
        "others_cpus": 0.0,
        "looks": 1000,
        "look_s": 0.001,
        "counters": {},
        "counters_problem": "none here",
    }
    entry = example(declaration.TIME_USE, operators=operators, threads=threads, **plain | use)
    return example(
        declaration.RECORD,
        topology="made",
        parameters={},
        arm="dynamic-2",
        simulated=False,
        sink_tuples_per_s=rate,
        time_use=entry,
    )
