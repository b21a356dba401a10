"""`millrace validate` with real threads and the simulator, on one small cell. How good the
predictions are is not tested.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from harness.measurement.records import read_records

pytestmark = pytest.mark.heavy
ROOT = Path(__file__).resolve().parents[2]
COMMAND = [
    sys.executable,
    "-m",
    "harness",
    "validate",
    "--cells",
    "topology=pipeline,cost=100,payload=128,model=manual,model=dynamic-2",
    "--duration",
    # a record of a window that is longer by a half is not what was asked for, and on busy CPUs each
    # may end late by a tenth of a second or two
    "0.6",
    "--patience",
    "2",
]


def environment(folder):
    """Set a lock of its own: another measurement on this machine must not hold up the test."""
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder),
        "MILLRACE_LOCK": str(folder / "millrace.lock"),
    }


@pytest.fixture(scope="module")
def gone_on(tmp_path_factory):
    """A session that was killed amid its runs and gone on with: its folder, the runs that it had,
    what was said at last.
    """
    folder = tmp_path_factory.mktemp("session")
    log = folder / "v.measured.jsonl"
    words = [
        *COMMAND,
        "--repeats",
        "1",
        "--output",
        "v.parquet",
        "--figure",
        "v.png",
        "--report",
        "v.md",
    ]
    with subprocess.Popen(
        words, cwd=folder, env=environment(folder), stderr=subprocess.DEVNULL
    ) as session:
        while not log.exists() or log.read_bytes().count(b"\n") < 1:
            assert session.poll() is None
            time.sleep(0.02)
        session.send_signal(signal.SIGKILL)
    before = read_records(log)[0]
    words.append("--resume")
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=folder, env=environment(folder)
    )
    assert done.returncode == 0, done.stderr
    return folder, before, done


def test_a_cell_is_predicted_measured_and_compared(gone_on):
    folder, _, done = gone_on
    assert done.stdout == (folder / "v.md").read_text(encoding="utf-8")
    table = pd.read_parquet(folder / "v.parquet")
    assert table["arm"].tolist() == ["manual", "dynamic-2"]
    assert (table[["measured", "predicted"]] > 0).all(axis=None)
    assert table["machine_digest"].str.len().tolist() == [12] * 2
    assert (folder / "v.png").stat().st_size > 10_000
    measured, predicted = (
        read_records(folder / f"v.{kind}.jsonl")[0] for kind in ("measured", "predicted")
    )
    assert [record["simulated"] for record in measured] == [False] * 2
    assert [record["simulated"] for record in predicted] == [True] * 6


def test_a_session_that_is_killed_goes_on_with_what_it_had(gone_on):
    folder, before, done = gone_on
    assert f"{len(before)} of 2 measured runs are there already" in done.stderr
    after = read_records(folder / "v.measured.jsonl")[0]
    had = [record["run_id"] for record in before]
    assert [record["run_id"] for record in after][: len(had)] == had and len(after) == 2
