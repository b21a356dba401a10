"""Each virtual thread has a stack of its own: deep graphs do not overflow it, an overflow harms
nothing else, and nothing is left of a run that was given up.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.files.places import CODE as ROOT
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import barriers, pipeline
from tests.simulator.runs import simulated

DEEP, JOINS = 2000, 300
"""Levels of nesting, and barriers, each of which takes threads of a pool."""


def ladder(steps: int) -> Graph:
    """Each operator calls the next one before it has sent all, window punctuation too."""
    graph = Graph("ladder", 8)
    sink = graph.sink("sink", inputs=steps + 1)
    step = graph.source("source", window=16)
    for index in range(steps):
        following = graph.work(f"work{index}", 1)
        graph.connect(step, sink.input(index))
        graph.connect(step, following)
        step = following
    graph.connect(step, sink.input(steps))
    return graph


def joins(steps: int) -> Graph:
    """Each step is a split of two ways and the barrier behind it, whose frames are the largest."""
    graph = Graph("joins", 8)
    step = graph.source("source")
    for index in range(steps):
        fork, join = graph.work(f"fork{index}", 1), graph.barrier(f"join{index}", 2)
        graph.connect(step, fork)
        graph.connect(fork, join.input(0))
        graph.connect(fork, join.input(1))
        step = join
    graph.connect(step, graph.sink("sink"))
    return graph


@pytest.mark.parametrize(
    "model", [Manual(), Dynamic(1, queue_capacity=1), Dynamic(2, queued="none")], ids=repr
)
@pytest.mark.parametrize(
    "graph", [pipeline(DEEP), ladder(DEEP), joins(JOINS)], ids=lambda g: g.name
)
def test_a_stack_has_room_for_all_operators_of_a_path(graph: Graph, model: Model) -> None:
    """Queues of one tuple begin full, so that a push drains the next queue from within: nested as
    deep as the graph.
    """
    run_a_while(graph, model)


def test_the_papers_own_way_of_draining_has_room_too() -> None:
    run_a_while(pipeline(DEEP), Dynamic(1, queue_capacity=1), software="p17-printed")


def run_a_while(graph: Graph, model: Model, **options: object) -> None:
    engine = simulated(graph, model, **options)
    engine.start()
    engine.sample_events(100_000)
    assert engine.stop(drain=False, timeout_s=0.0).correct


TOO_LITTLE = """
from harness.simulator import engine
from harness.models import Manual
from tests.simulator.test_stacks import ladder, run_a_while

engine.FRAME_BYTES = 0
run_a_while(ladder(2000), Manual())
"""


def test_a_program_that_overflows_its_stack_is_stopped_at_the_guard() -> None:
    done = subprocess.run([sys.executable, "-c", TOO_LITTLE], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGSEGV


def heap_bytes() -> int:
    """Bytes of C++ objects: all that malloc has given, but for Python's own small objects."""

    class Mallinfo(ctypes.Structure):
        _fields_ = [
            (name, ctypes.c_size_t)
            for name in (
                *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
                *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
            )
        ]

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("the C library does not count what it has given")
    library.mallinfo2.restype = Mallinfo
    counted = library.mallinfo2()
    return counted.uordblks + counted.hblkhd


def mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096


@pytest.mark.parametrize(
    "model",
    [Manual(), Dedicated(queue_capacity=2), Dynamic(2, queue_capacity=2), Coroutine(2)],
    ids=repr,
)
def test_nothing_is_left_of_a_run_that_is_given_up_in_the_middle(model: Model) -> None:
    """Programs stop anywhere, and are never ended: what is on their stacks owns no memory."""

    def give_up() -> None:
        for events in range(100, 160):
            engine = simulated(barriers(), model)
            engine.start()
            engine.sample_events(events)
            del engine
        gc.collect()

    give_up()
    before, mapped_before = heap_bytes(), mapped_bytes()
    give_up()
    assert heap_bytes() - before < 16 * 1024
    assert mapped_bytes() - mapped_before < 2**20
