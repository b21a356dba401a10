"""Tests of what threads of a run execute takes no memory from the heap, and a simulation that has
none any more fails in one line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.building import shared_library
from harness.engine import open_engine
from harness.errors import UserError
from harness.files.places import CODE as ROOT
from harness.graph import Graph
from harness.machines.host import memory_room
from harness.machines.host.cgroup import MemoryLimit
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import chain, pipeline, run_to_end

RESERVED = "8Contexts"
"""In the names of functions that keep what a change of queues needs in containers that could grow:
room is reserved beforehand (contexts.hpp).
"""

ALLOCATES = re.compile("_Zn[wa]|(m|c|re)alloc$|_ZSt.*__throw_bad_alloc")


def calls_of(binary: Path) -> dict[str, set[str]]:
    """The functions that each function of an object file calls, or takes the address of."""
    listed = subprocess.run(
        ["objdump", "-dr", "--no-show-raw-insn", binary], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, set[str]] = {}
    function = ""
    for line in listed.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = head[1]
            found.setdefault(function, set())
        elif relocation := re.search(r"R_\S+\s+(\w+)", line):
            found[function].add(relocation[1])
    return found


def test_no_code_of_the_path_can_allocate(tmp_path: Path) -> None:
    """An allocation that fails there would end the process: nothing there can throw."""
    source, binary = Path(__file__).parent / "path_alone.cpp", tmp_path / "path.o"
    folders = [f"-I{ROOT / room / 'native'}" for room in ("harness/runtime", "harness")]
    options = ["-std=c++20", "-O1", "-fno-inline", "-fPIC", *folders, "-w", "-c"]
    subprocess.run(["g++", *options, source, "-o", binary], check=True)
    calls = calls_of(binary)
    todo = {name for name in calls if name.startswith("_ZN8millrace4PathI")}
    assert len(todo) > 100, "the path is there"
    reached: set[str] = set()
    while todo:
        reached |= todo
        called = set().union(*(calls.get(name, set()) for name in todo))
        todo = {name for name in called if RESERVED not in name} - reached
    assert "pthread_mutex_lock" in reached, "calls are followed"
    assert not [name for name in reached if ALLOCATES.match(name)]


@pytest.mark.parametrize(
    "model",
    [Manual(), Dedicated(queue_capacity=64), Dynamic(2, queue_capacity=3)],
    ids=lambda model: model.name,
)
def test_punctuation_that_comes_early_to_a_merge_is_bounded_by_the_queues_of_the_slow_branch(
    model: Model,
) -> None:
    """A hundred windows to a tuple, all of which the fast branches bring to the merge while the
    slow one computes.
    """
    graph = Graph("many windows", 8)
    sieve, split, merge = graph.filter("sieve", 0.01), graph.split("split", 3), graph.merge("merge")
    graph.connect(graph.source("source", window=1), sieve)
    graph.connect(sieve, split)
    for branch in range(3):
        graph.connect(
            chain(
                graph, split.output(branch), 2, 1_000_000 if branch == 0 else 1, f"branch{branch}"
            ),
            merge,
        )
    graph.connect(merge, graph.sink("sink"))
    totals = run_to_end(graph, model, 20_000)
    assert totals.error is None and totals.correct and totals.drained and totals.received > 100


RUNS = """
from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic
from tests.runtime.shapes import diamond, pipeline, split_and_join

async def forward(context):
    async for value in context.input:
        await context.push(value)

def loops():
    graph = Graph("loops", 8)
    loop = graph.loop("loop", forward)
    graph.connect(graph.source("source"), loop)
    graph.connect(loop, graph.sink("sink"))
    return graph

policies = ["random", "least_recently_run", "highest_rate", "max_queue_length", lambda ready: -ready.scheduled_ns]
models = [Dedicated(queue_capacity=4), Dynamic(2, queue_capacity=4)]
for model in models + [Coroutine(2, policy, queue_capacity=8) for policy in policies]:
    for graph in (pipeline(6, cost=100), split_and_join(4, 2, ordered=True), diamond(), loops()):
        if graph.name == "loops" and not isinstance(model, Coroutine):
            continue
        engine = open_engine(graph, model, tuples=3000)
        engine.start()
        for turn in range(200):
            if engine.finished():
                break
            if not isinstance(model, Dedicated):
                engine.set_threads(max(1 + turn % 4, engine.minimum_threads))
            for name in engine.living_replicas():
                engine.set_replicas(name, 1 + turn % 3)
            engine.sample(0.01)
        totals = engine.stop(True, 10.0)
        assert totals.correct, (graph.name, model, totals.error)
print("done")
"""


@pytest.mark.plain_build
def test_no_thread_of_a_run_takes_memory() -> None:
    """Whatever the policy, while threads and replicas come and go: there a refusal would end the
    process.
    """
    library = str(shared_library(Path(__file__).parent / "allocations.cpp", "-std=c++20"))
    environment = os.environ | {"LD_PRELOAD": library}
    done = subprocess.run(
        [sys.executable, "-c", RUNS], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


LIMIT = MemoryLimit("memory.max", bytes=400 * 2**20, used=100 * 2**20)


def test_replicas_whose_tuples_do_not_fit_are_refused_and_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_room, "memory_limit", lambda *_: LIMIT)
    engine = open_engine(pipeline(1, payload=2**20), Coroutine(2, queue_capacity=32), tuples=50)
    engine.start()
    with pytest.raises(UserError) as refused:
        engine.set_replicas("work0", 2)
    assert str(refused.value) == (
        "operator 'work0' needs 256 MiB for tuples of 1048640 bytes in the hands of up to 64 "
        "replicas, besides 64 MiB "
        "that the rest of the run needs; memory.max of its cgroup is 400 MiB, of which 300 MiB are "
        "left"
    )
    totals = engine.stop(True, 20.0)
    assert totals.correct and totals.received == totals.sent


def test_what_a_law_may_ask_for_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_room, "memory_limit", lambda *_: LIMIT)
    graph = pipeline(2, payload=2**20)
    open_engine(graph, Coroutine(2, queue_capacity=2))
    with pytest.raises(
        UserError, match=r"^operator 'work1' needs 256 MiB .*memory.max of its cgroup is 400 MiB"
    ):
        open_engine(graph, Coroutine(elastic=True, queue_capacity=2))
    open_engine(graph, Coroutine(elastic=True, queue_capacity=2), changes_replicas=False)


@pytest.mark.parametrize(
    "model", [Dynamic(2, queue_capacity=200), Dedicated(200), Coroutine(2, queue_capacity=200)]
)
def test_queues_that_do_not_fit_in_the_cgroup_are_refused_by_one_line(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_room, "memory_limit", lambda *_: LIMIT)
    with pytest.raises(UserError) as refused:
        open_engine(pipeline(1, payload=2**20), model)
    assert str(refused.value).startswith("queue_capacity 200 needs 400 MiB for 2 queues of ")
    assert str(refused.value).endswith(
        "; memory.max of its cgroup is 400 MiB, of which 300 MiB are left"
    )


def test_what_parts_of_a_run_need_counts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_room, "memory_limit", lambda *_: LIMIT)
    graph = Graph("barrier", 2**20)
    barrier = graph.barrier("join", 2)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), barrier.input(port))
    graph.connect(barrier, graph.sink("sink"))
    with pytest.raises(
        UserError,
        match=r"^barrier 'join' needs \d+ MiB, besides 297 MiB that the rest of the run needs; mem",
    ):
        open_engine(graph, Dedicated(99))


SCRIPT = """
import resource
from harness.engine import open_engine
from harness.errors import RunFailed
from harness.models import Dedicated
from tests.runtime.shapes import pipeline

# a queue that fills before an expensive operator
engine = open_engine(pipeline(1, cost=1_000_000), Dedicated(queue_capacity=2**20), "xeon")
engine.start()
line = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
most = int(line.split()[1]) * 1024 + 2**18
resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
try:
    for _ in range(100):
        engine.sample_events(1_000_000)
except RunFailed as failure:
    said = str(failure)
resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
totals = engine.stop(True, 1.0)
print(said.split(" after ")[0], totals.error == said, totals.correct, engine.stop(True, 1.0) is totals)
"""


@pytest.mark.plain_build
def test_a_simulation_without_memory_fails_and_the_process_goes_on() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (
        0,
        "the system refuses memory to the simulation True False True\n",
    ), done.stderr
