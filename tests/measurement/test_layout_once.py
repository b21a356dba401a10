"""A run's layout is made once, and with it the queues and the pool of its graph."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.measurement.spec import run_of

ROOT = Path(__file__).resolve().parents[2]

COUNTED = ("layout_of", "port_queues", "pool_of")

COUNTING = f"""
import sys
from collections import Counter

calls = Counter()

def count(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/models/" in code.co_filename and code.co_name in {COUNTED}:
        calls[code.co_name] += 1

sys.setprofile(count)
"""
"""Beginning of a process that counts calls of functions of harness/models."""

MEASURED = """
from harness.measurement.child import main
code = main([])
"""

COMMANDED = """
from harness import cli
code = cli.main(sys.argv[1:])
"""

SAID = """
sys.setprofile(None)
print(code, *calls.items(), sep="\\n", file=sys.stderr)
"""

RUNS = {
    "real": {"model": "dynamic", "threads": 2, "tuples": 100},
    "real, a law of queues": {"model": "multilevel", "tuples": 100, "law": "streams"},
    "real, replicas": {"model": "coroutine", "replicas": 2, "threads": 2, "tuples": 100},
    "simulated": {"model": "dynamic", "threads": 2, "tuples": 100, "machine": "xeon"},
    "simulated, a law of queues": {"model": "multilevel", "tuples": 100, "machine": "xeon"},
}


def counted(text: str, lock: Path, *words: str, given: str = "") -> Counter[str]:
    """Return how often a process has called each function that is counted."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING + text + SAID, *words],
        input=given, capture_output=True, text=True, check=True, cwd=ROOT,
        env=os.environ | {"MILLRACE_LOCK": str(lock)},
    )  # fmt: skip
    code, *lines = done.stderr.splitlines()[-1 - len(COUNTED) :]
    assert code == "0" and done.stdout, done.stderr
    return Counter(dict(eval(line) for line in lines))


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_a_measuring_process_lays_its_graph_out_once(name, tmp_path):
    options = dict(RUNS[name])
    asked = run_of("chain", {"operators": 3}, options.pop("model"), **options)
    assert counted(MEASURED, tmp_path / "lock", given=asked.to_json()) == dict.fromkeys(COUNTED, 1)


@pytest.mark.heavy
@pytest.mark.parametrize(("machine", "times"), [("local", 1), ("xeon", 2)])
def test_a_command_lays_a_graph_out_for_its_checks_and_once_for_each_run_of_its_own(
    machine, times, tmp_path
):
    """The checks come before all runs, and each run makes a graph of its own: a user's operators
    may keep a state in it. Measured runs have processes of their own.
    """
    words = "run chain --set operators=3 --model dynamic --threads 2 --tuples 100 --json -"
    calls = counted(COMMANDED, tmp_path / "lock", *words.split(), "--machine", machine)
    assert calls == dict.fromkeys(COUNTED, times)
