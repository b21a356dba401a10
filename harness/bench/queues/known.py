"""Oracles' answers, kept from run to run: they follow from code and profiles alone, and take longer than the laws.

A file an answer in build/oracles, named by a digest of all that it follows from, so that none is ever out of date. Where
nothing can be written they are worked out anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.bench.queues.oracle import Best
from harness.errors import RunFailed
from harness.files.whole import write_whole
from harness.machines.constants import ROOT

FOLDER = ROOT / "build" / "oracles"
CODE = ("bench/queues/graphs.py", "bench/queues/oracle.py", "bench/queues/regions.pyx", "bench/queues/surface.py")
CODE += ("bench/queues/world.py", "elasticity/layout.py", "models/port_queues.py", "models/queue.py", "machines/machine.py")
CODE += (
    "machines/software.py",
    "machines/constants.py",
    "graph/builder.py",
    "graph/data.py",
    "graph/operator.py",
    "graph/order.py",
)


def best_known(question: object, ask: Callable[[], Best]) -> Best:
    """The answer to a question that its `repr` tells; `ask` works it out."""
    name = hashlib.sha256(f"{_ground()} {question!r}".encode()).hexdigest()[:24]
    file = FOLDER / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_text())
        return Best(float(kept["throughput"]), int(kept["threads"]), frozenset(kept["queued"]))
    best = ask()
    answer = {"question": repr(question), "throughput": best.throughput, "threads": best.threads, "queued": sorted(best.queued)}
    with suppress(RunFailed):
        write_whole(file, json.dumps(answer).encode())
    return best


def followed_from() -> list[Path]:
    """The code and the profiles that answers follow from."""
    topologies = sorted((ROOT / "topologies").glob("*.py")) + sorted((ROOT / "harness" / "applications").glob("*.py"))
    profiles = sorted((ROOT / "config").glob("machines/*.yaml")) + sorted((ROOT / "config").glob("software/*.yaml"))
    return [*(ROOT / "harness" / each for each in CODE), *topologies, *profiles]


@functools.cache
def _ground() -> str:
    """A digest of them."""
    digest = hashlib.sha256()
    for file in followed_from():
        digest.update(file.read_bytes())
    return digest.hexdigest()
