"""The lock-free structures alone, without Python, under a sanitizer: `make test` looks for
data races, the slow tests for faults of memory, too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.plain_build

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sanitizer", ["thread", pytest.param("address", marks=pytest.mark.slow)])
def test_stress_programs_run_clean_under_a_sanitizer(sanitizer: str) -> None:
    if shutil.which("make") is None:
        pytest.fail("make is needed, as for `make test`")
    words = ["make", "--jobs=2", "--silent", "stress", f"SANITIZERS={sanitizer}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"programs clean under: {sanitizer}" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("sanitizer", ["none", "thread", "address"])
def test_a_hundred_thousand_changes_of_replicas_and_levels_leave_every_stream_as_it_is(
    sanitizer: str,
) -> None:
    program = f"build/stress/{sanitizer}/stress_replicas"
    subprocess.run(["make", "--silent", program], cwd=ROOT, check=True, timeout=200)
    changes = (
        20_000 if sanitizer == "thread" else 100_000
    )  # a fibre costs ThreadSanitizer a millisecond
    words = [f"./{program}", str(changes), str(changes // 300)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
