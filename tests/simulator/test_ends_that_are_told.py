"""A simulated run that can go on no more says so: nothing will happen, virtual time is over, or
there is no memory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.engine.engine import LONGEST_WAIT_S
from harness.errors import RunFailed
from harness.models import Dynamic, Manual
from harness.simulator import engine as simulator
from tests.runtime.shapes import pipeline
from tests.simulator.runs import simulated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("by_events", [False, True], ids=["a period", "so many events"])
def test_that_nothing_can_happen_any_more_is_an_error_and_no_idle_period(by_events: bool) -> None:
    """One tuple, and its port is in the hands of a thread that there is not: it lies in the queue,
    and all others sleep.
    """
    engine = simulated(pipeline(2), Dynamic(2), tuples=1)
    engine.core.seize("work0[0]")
    engine.start()
    for _ in range(2):
        with pytest.raises(
            RunFailed, match=r"after \S+ virtual s nothing can happen any more: every thread sleeps"
        ):
            engine.sample_events(100_000) if by_events else engine.sample(0.5)
    assert (
        engine.simulation["virtual_s"] < 0.5 and "nothing can happen" in engine.simulation["bound"]
    )
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert (
        not totals.drained
        and totals.in_flight == 1
        and totals.checksum_ok
        and not totals.conservation
    )


def test_virtual_time_has_an_end_and_does_not_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert simulator.END_OF_TIME_PS + LONGEST_WAIT_S / simulator.PS < 2**63
    monkeypatch.setattr(simulator, "END_OF_TIME_PS", 10**9)  # a millisecond
    engine = simulated(pipeline(2), Manual())
    engine.start()
    assert [engine.sample(0.0006).time_s for _ in range(2)] == pytest.approx([0.0006, 0.001])
    for sample in (lambda: engine.sample(0.0006), lambda: engine.sample_events(1000)):
        with pytest.raises(RunFailed, match="virtual time ends 0 days after the start of a run"):
            sample()
    assert engine.stop(drain=False, timeout_s=0.0).correct


STARVED = """
import resource
from harness.engine.engine import LONGEST_WAIT_S
from harness.errors import RunFailed
from harness.graph import Graph
from harness.models import Manual
from tests.simulator.runs import simulated

graph = Graph("ladder", 8)
steps = 4000
step, sink = graph.source("source"), graph.sink("sink", inputs=steps + 1)
for index in range(steps):
    following = graph.work(f"work{index}", 1)
    graph.connect(step, sink.input(index))
    graph.connect(step, following)
    step = following
graph.connect(step, sink.input(steps))
engine = simulated(graph, Manual())
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), resource.RLIM_INFINITY))
said = []
for act in (engine.start, lambda: engine.sample(0.001)):
    try:
        act()
    except RunFailed as failure:
        said.append(str(failure))
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
totals = engine.stop(drain=True, timeout_s=1.0)
print(said == [totals.error] * 2, totals.correct, totals.error)
"""


def test_a_virtual_thread_that_gets_no_memory_fails_the_run_with_one_message() -> None:
    """Each operator calls the next one before it is done itself, so that the thread's stack needs
    room for all of them at once.
    """
    done = subprocess.run(
        [sys.executable, "-c", STARVED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    refused = "True False the system refuses memory to the simulation at the start of the run\n"
    assert done.stdout == refused


def test_a_window_of_the_profiler_is_not_empty_because_samples_are_short() -> None:
    """Samples of a fifth of the time between two looks."""
    engine = simulated(pipeline(2, cost=1000), Manual(), profile=True)
    engine.start()
    engine.sample(simulator.PROFILE_S)
    for _ in range(25):
        assert sum(engine.sample(simulator.PROFILE_S / 5).operator_cost) == pytest.approx(1.0)
    assert engine.stop(drain=False, timeout_s=0.0).correct
