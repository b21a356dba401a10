"""A million samples: what they take. Not part of `make test`; run it with `pytest -m slow -s
tests/spark/test_scale.py`.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
CELLS, REPEATS, SAMPLES = 100, 5, 500
ARMS = (("manual", None), ("dedicated", None), ("dynamic", 1), ("dynamic", 2))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_million_samples_fit_into_a_driver_of_two_gibibytes(
    request, make_record, sample, write_lines, tmp_path
):
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("takes minutes: pytest -m slow")
    numbers = random.Random(1)
    for cell in range(CELLS):
        series = [
            sample(time_s=index / 100, sink_tuples_per_s=1e6 * numbers.random())
            for index in range(SAMPLES)
        ]
        write_lines(
            tmp_path / "raw" / f"{cell}.jsonl",
            *[
                make_record(
                    cell=str(cell),
                    model=model,
                    threads=threads,
                    arm=f"{model}-{threads}",
                    repeat=repeat,
                    samples=series,
                )
                for repeat in range(REPEATS)
                for model, threads in ARMS
            ],
        )
    command = [sys.executable, "-m", "harness", "aggregate", "--master", "local[2]"]
    started = time.monotonic()
    job = psutil.Popen(
        [*command, "--records", tmp_path / "raw", "--tables", tmp_path / "tables"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    peak = 0
    while job.poll() is None:
        time.sleep(0.1)
        peak = max([peak, *[child.memory_info().rss for child in java_children(job)]])
    print(
        f"\n{CELLS * len(ARMS) * REPEATS * SAMPLES} samples: {time.monotonic() - started:.1f} s, "
        f"{peak / 2**20:.0f} MiB"
    )
    assert job.returncode == 0
    assert (
        pq.read_table(tmp_path / "tables" / "samples.parquet").num_rows
        == CELLS * len(ARMS) * REPEATS * SAMPLES
    )
    assert 0 < peak < 2 * 2**30


def java_children(job: psutil.Process) -> list[psutil.Process]:
    try:
        return [child for child in job.children(recursive=True) if child.name() == "java"]
    except psutil.NoSuchProcess:
        return []
