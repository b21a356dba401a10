"""Store of oracles' answers, which depend on code and profiles alone and take longer than the laws.

Each answer is a file in build/oracles. Its name is a digest of all that the answer depends on, so
it is never out of date. If no file can be written, answers are computed again.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.bench.queues.oracle import BestPlacement
from harness.errors import RunFailed
from harness.files.closure import closure, digest, strings
from harness.files.places import kept
from harness.files.whole import write_whole

FOLDER = kept("build") / "oracles"


def best_known(question: object, ask: Callable[[], BestPlacement]) -> BestPlacement:
    """Return the answer to a question, which its `repr` identifies; `ask` computes it."""
    name = hashlib.sha256(f"{_code_digest()} {question!r}".encode()).hexdigest()[:24]
    file = FOLDER / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads(file.read_text())
        return BestPlacement(
            float(stored["throughput"]), int(stored["threads"]), frozenset(stored["queued"])
        )
    best = ask()
    answer = {
        "question": repr(question),
        "throughput": best.throughput,
        "threads": best.threads,
        "queued": sorted(best.queued),
    }
    with suppress(RunFailed):
        write_whole(file, json.dumps(answer).encode())
    return best


def answer_files() -> frozenset[Path]:
    """Return the files that answers depend on, with the topologies, machines and software that the
    library names."""
    modules = (
        f"harness.bench.queues.{module}" for module in ("graphs", "oracle", "surface", "world")
    )
    return closure(*modules, names=strings("harness.bench.queues.scenario"))


@functools.cache
def _code_digest() -> str:
    """Return a digest of the files that answers depend on."""
    return digest(answer_files())
