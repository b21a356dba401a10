"""Contests whose runs are made up: `truth` has the tuples/s of each arm."""

from __future__ import annotations

import random

from harness.compare.contest import By, Contender, Contest
from harness.graph import Operator
from harness.graph.kinds import SOURCE
from harness.graph.schedule import Schedule
from harness.measurement.spec import run_of


def made_record(run, rate, *, p99=1e6, sent=None, error=None, settled=True):
    sample = {
        "time_s": 1.0,
        "elapsed_s": 1.0,
        "source_tuples_per_s": rate if sent is None else sent,
    }
    return {
        "arm": run.arm,
        "sink_tuples_per_s": rate,
        "latency_ns": {"p50": p99 / 2, "p99": p99},
        "correct": error is None,
        "error": error,
        "settled": settled,
        "warmup_s": 0.0,
        "simulation": None,
        "samples": [sample],
        "cpu_seconds": 1.5,
        "duration_s": 1.0,
        "threads_total": 3,
        "host": {"host_fit": True},
    }


class Silent:
    def __init__(self):
        self.told = []

    def phase(self, text):
        self.told.append(text)

    def ran(self):
        pass


class Host:
    """Stand-in that runs an arm in `run_s` of a clock of its own."""

    def __init__(self, truth, *, noise=0.01, run_s=1.0, make=made_record):
        self.truth, self.noise, self.run_s, self.make = truth, noise, run_s, make
        self.now_s, self.runs, self.draw = 0.0, [], random.Random(5)

    def clock(self):
        return self.now_s

    def execute(self, run, announce):
        announce("measuring")
        self.now_s += self.run_s
        self.runs.append(run)
        return self.make(run, self.truth[run.arm] * self.draw.lognormvariate(0.0, self.noise))


def contest(
    host, *, budget_s=1000.0, by=By.THROUGHPUT, alpha=0.05, offered=None, cost=1, machine="local"
):
    where = {"machine": machine} if machine == "local" else {"machine": machine, "events": 5000}
    arms = [
        Contender(
            name, f"arm {name}", run_of("pipeline", {"cost": cost}, "manual", arm=name, **where)
        )
        for name in host.truth
    ]
    sources = () if offered is None else (Operator("source", SOURCE, 0, 1, rate=offered),)
    return Contest(
        "pipeline",
        {"cost": cost},
        arms,
        by,
        alpha,
        budget_s,
        3,
        Schedule(sources),
        clock=host.clock,
    )


def compared(truth, **options):
    host = Host(truth, **{k: options.pop(k) for k in ("noise", "run_s", "make") if k in options})
    made = contest(host, **options)
    made.compare(host.execute, Silent())
    return made, host
