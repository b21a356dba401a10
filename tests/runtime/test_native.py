"""The lock-free structures alone, without Python, under each sanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(900)
def test_stress_programs_run_clean_under_every_sanitizer() -> None:
    if shutil.which("make") is None:
        pytest.fail("make is needed, as for `make test`")
    words = ["make", "--jobs=2", "--silent", "stress"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=880, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "clean under the thread, address and undefined-behaviour sanitizers" in done.stdout
