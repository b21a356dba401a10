"""Simulated runs whose records are kept, so that a change of the code that moves a number is seen.

    python -m tests.simulator.seeded_runs --write    keep the records of today's code

`seeded_records.json` has a digest and a few readable numbers of each run. Write it anew only with a
commit whose message says why the numbers move.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
from pathlib import Path
from typing import Any

from harness import cli

KEPT = Path(__file__).with_name("seeded_records.json")
GRAPH = "tests/simulator/seeded_graph.py"
ROOT = Path(__file__).parents[2]

VOLATILE = ("run_id", "asked", "cell", "host", "commit", "started_at")
"""Fields of a record that depend on the host, the time or the text of the tree, not on the run."""

READABLE = ("tuples_sent", "tuples_received", "sink_tuples_per_s", "order_violations", "correct")

_SMALL_MIX = "mix --set width=3 --set depth=4"
_WIDE = "data-parallel --set width=30 --set cost=1000"
_BURSTS = "load-balance --set workers=6 --set load=bursty-cost --set cycle=1000"
_SHORT = "--duration 0.002"
_CSTREAM = "--machine cstream --duration 0.05"

RUNS: dict[str, str] = {
    "manual": f"pipeline --set operators=8 --model manual --machine xeon {_SHORT}",
    "manual, several sources": f"reverse-tree --model manual {_CSTREAM}",
    "dedicated": f"{_SMALL_MIX} --model dedicated --machine power8 {_SHORT}",
    "dedicated, large tuples": "pipeline --set operators=5 --set payload=4096 --model dedicated "
    f"--machine xeon {_SHORT}",
    "dynamic": f"{_SMALL_MIX} --model dynamic --threads 8 --machine xeon {_SHORT}",
    "dynamic, one thread": "pipeline --set operators=20 --set cost=1 --model dynamic --threads 1 "
    f"--machine xeon {_SHORT}",
    "dynamic, shared sink": f"{_WIDE} --model dynamic --threads 16 --machine power8 {_SHORT}",
    "dynamic, some queues": "bushy --set depth=3 --model dynamic --threads 6 --queued 40% "
    f"--machine xeon {_SHORT}",
    "dynamic, bounded": f"{_SMALL_MIX} --model dynamic --threads 4 --queue-capacity 8 --tuples "
    "3000 --machine xeon",
    "dynamic, P17's software": f"{_SMALL_MIX} --model dynamic --threads 8 --software p17-printed "
    f"--machine power8 {_SHORT}",
    "dynamic, elastic": "pipeline --set operators=30 --model dynamic --elastic --max-threads 12 "
    f"--machine xeon {_SHORT}",
    "dynamic, P17's law": f"{_SMALL_MIX} --model dynamic --elastic --law pldi17 --max-threads 16 "
    f"--machine xeon {_SHORT}",
    "dynamic, split and merge": f"replicated --model dynamic --threads 4 {_CSTREAM}",
    "dynamic, a phase change": f"phase-change --model dynamic --threads 6 --machine xeon {_SHORT}",
    "load balance": f"{_BURSTS} --model manual --machine xeon {_SHORT}",
    "multilevel": "pipeline --set operators=20 --set cost=1000 --model multilevel --max-threads 8 "
    f"--machine xeon {_SHORT}",
    "multilevel, M19's law": f"{_SMALL_MIX} --model multilevel --law middleware19 --max-threads 8 "
    f"--machine xeon {_SHORT}",
    "coroutine": f"chain --set operators=6 --model coroutine --threads 4 {_CSTREAM}",
    "coroutine, a policy": "tree --model coroutine --threads 3 --policy max_queue_length "
    f"--quantum 5 {_CSTREAM}",
    "coroutine, replicas": "chain --set operators=3 --model coroutine --threads 4 --replicas 3 "
    f"{_CSTREAM}",
    "coroutine, elastic": "chain --set operators=2 --model coroutine --elastic --max-threads 4 "
    f"{_CSTREAM}",
    "mixed by annotations": f"{GRAPH} --model dynamic --threads 4 --machine xeon {_SHORT}",
}


def record_of(words: str) -> dict[str, Any]:
    """Return the record of one run. Raises AssertionError, with what it said, if the command
    fails.
    """
    record, said = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(record),
        contextlib.redirect_stderr(said),
    ):
        code = cli.main(["run", *words.split(), "--seed", "7", "--json", "-"])
    assert code == 0, said.getvalue()
    return json.loads(record.getvalue())


def kept_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the digest of a record without its volatile fields, and its readable numbers."""
    stable = {name: value for name, value in record.items() if name not in VOLATILE}
    stable["simulation"] = {
        name: value for name, value in stable["simulation"].items() if name != "wall_s"
    }
    digest = hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:16]
    return {"digest": digest, **{name: record[name] for name in READABLE}}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", required=True, help="replace seeded_records.json"
    )
    parser.parse_args()
    kept = {name: kept_of(record_of(words)) for name, words in RUNS.items()}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
