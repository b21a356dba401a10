"""The pause that a change of the number of replicas causes: the longest gap between two tuples
behind the operator.

`python -m tests.benchmarks.replicas` prints it for moments that begin with a change, beside moments
without one.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness.engine import open_engine
from harness.graph import Graph
from harness.graph.functions.compiled import NativeFunction
from harness.models import Coroutine
from tests import compiler

RECORDER = """
#include <stdint.h>
#include <time.h>
/* state: when the last tuple came, and the longest gap since it was last set to 0 [ns] */
int32_t gap(uint64_t sequence, double *value, char *payload, uint64_t bytes, double control, void *state) {
  int64_t *of = state;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = t.tv_sec * 1000000000LL + t.tv_nsec;
  if (of[0] != 0 && now - of[0] > of[1]) of[1] = now - of[0];
  of[0] = now;
  return 1;
}
"""


def recorder(folder: Path) -> ctypes.CDLL:
    (folder / "gap.c").write_text(RECORDER)
    words = [
        *compiler.of_c(),
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "gap.so"),
        str(folder / "gap.c"),
    ]
    subprocess.run(words, check=True, timeout=60)
    return ctypes.CDLL(str(folder / "gap.so"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--moment-ms", type=float, default=5.0, help="how long a moment lasts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--most", type=int, default=4, help="replicas")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = recorder(Path(folder))
        state = (ctypes.c_int64 * 2)()
        address = ctypes.cast(library.gap, ctypes.c_void_p).value
        graph = Graph("pause")
        graph.connect(graph.source("source"), work := graph.work("work", 20_000))
        function = NativeFunction(address, ctypes.addressof(state), owners=(library, state))
        graph.connect(work, behind := graph.native("behind", function, preserves=True))
        graph.connect(behind, graph.sink("sink"))
        engine = open_engine(graph, Coroutine(given.threads, queue_capacity=200))
        engine.start()
        engine.sample(0.5)
        chance, gaps = random.Random(1), {True: [], False: []}
        now = 1
        for _ in range(2 * given.changes):
            changes = chance.random() < 0.5
            state[1] = 0
            if changes:
                now = chance.choice([count for count in range(1, given.most + 1) if count != now])
                engine.set_replicas("work", now)
            engine.sample(given.moment_ms / 1000)
            gaps[changes].append(state[1] / 1e6)
        totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.correct, totals
    for changes, name in ((True, "with a change"), (False, "without one")):
        found = sorted(gaps[changes])
        worst = found[int(0.99 * len(found))]
        median = statistics.median(found)
        print(
            f"longest gap {name}: median {median:.3f} ms, 99 % {worst:.3f} ms ({len(found)} "
            "moments)"
        )


if __name__ == "__main__":
    main()
