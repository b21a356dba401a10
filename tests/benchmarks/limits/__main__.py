"""Costs of a run besides its speed: memory, planning, latency, sleep, the work kernel,
profiling, a user's own operators.

And what simulating one costs, and how much queues differ from place to place.

Run `make limits` or, for some of them, `make limits ARGS='memory latency'`.

Each measurement has a fresh process. Figures stand beside what they should stay below; nothing is
asserted.
"""

from __future__ import annotations

import argparse
import importlib

from harness.errors import RunFailed
from harness.measurement.lock import measuring_lock
from tests.benchmarks.fresh import Missing

LIMITS = (
    "memory",
    "planning",
    "latency",
    "suspended",
    "kernel",
    "profiler",
    "user_operators",
    "simulator",
    "hops",
)
"""Modules of this package. Each has a TITLE, HEADINGS, and rows() that measures."""


def show(name: str) -> None:
    limit = importlib.import_module(f"tests.benchmarks.limits.{name}")
    print(f"{limit.TITLE}\n", flush=True)
    try:
        with measuring_lock():
            rows = [limit.HEADINGS, ("---",) * len(limit.HEADINGS), *limit.rows()]
    except (Missing, RunFailed) as error:
        print(f"{error}\n", flush=True)
        return
    print("\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "only", nargs="*", metavar="LIMIT", help=f"of: {', '.join(LIMITS)} (default: all)"
    )
    chosen = parser.parse_args().only or LIMITS
    for name in chosen:
        if name not in LIMITS:
            parser.error(f"no limit is named {name!r}; limits are: {', '.join(LIMITS)}")
    for name in chosen:
        show(name)


if __name__ == "__main__":
    main()
