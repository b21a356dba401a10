"""Oracles' answers, kept from run to run: they depend on code and profiles alone, and take longer than the laws.

A file an answer in build/oracles, named by a digest of all that it depends on, so that none is ever out of date. Where
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
from harness.files.closure import ROOT, closure, digest, strings
from harness.files.whole import write_whole

FOLDER = ROOT / "build" / "oracles"


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


def of_answers() -> frozenset[Path]:
    """Files that answers depend on: of the library's topologies, machines and software, those that it names."""
    modules = (f"harness.bench.queues.{module}" for module in ("graphs", "oracle", "surface", "world"))
    return closure(*modules, names=strings("harness.bench.queues.scenario"))


@functools.cache
def _ground() -> str:
    """A digest of them."""
    return digest(of_answers())
