"""What threads of a run execute takes no memory from the heap, and a simulation that has none any more fails in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.graph import Graph
from harness.machines.constants import ROOT
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import chain, run_to_end

WORKERS = ("bodies", "operators", "submit", "users", "balance", "manual", "dedicated", "dynamic", "pacing")
"""Not `modes`: what a change of queues keeps is reserved beforehand (contexts.hpp), by containers that could grow."""


@pytest.mark.parametrize("module", WORKERS)
def test_no_code_of_the_runs_threads_can_allocate(module: str) -> None:
    """An allocation that fails there would end the process: nothing there can throw. So no operator new is linked."""
    library = next(Path(ROOT, "harness/runtime").glob(f"{module}.*.so"))
    listed = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    wanted = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    assert "_Py_NoneStruct" in wanted or "PyModuleDef_Init" in wanted, "nm lists what the module needs"
    assert not [name for name in wanted if name.startswith(("_Znw", "_Zna")) or name in ("malloc", "calloc", "realloc")]


@pytest.mark.parametrize(
    "model", [Manual(), Dedicated(queue_capacity=64), Dynamic(2, queue_capacity=3)], ids=lambda model: model.name
)
def test_punctuation_that_comes_early_to_a_merge_is_bounded_by_the_queues_of_the_slow_branch(model: Model) -> None:
    """A hundred windows to a tuple, all of which the fast branches bring to the merge while the slow one computes."""
    graph = Graph("many windows", 8)
    sieve, split, merge = graph.filter("sieve", 0.01), graph.split("split", 3), graph.merge("merge")
    graph.connect(graph.source("source", window=1), sieve)
    graph.connect(sieve, split)
    for branch in range(3):
        graph.connect(chain(graph, split.output(branch), 2, 1_000_000 if branch == 0 else 1, f"branch{branch}"), merge)
    graph.connect(merge, graph.sink("sink"))
    totals = run_to_end(graph, model, 20_000)
    assert totals.error is None and totals.correct and totals.drained and totals.received > 100


SCRIPT = """
import resource
from harness.engine import open_engine
from harness.errors import RunFailed
from harness.models import Dynamic
from tests.runtime.shapes import pipeline

engine = open_engine(pipeline(4000), Dynamic(1, queue_capacity=1), "xeon")  # nested as deep as the graph
engine.start()
line = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
most = int(line.split()[1]) * 1024 + 2**20
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


def test_a_simulation_without_memory_fails_and_the_process_goes_on() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "the system refuses memory to the simulation True False True\n"), done.stderr
