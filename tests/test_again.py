"""A test that fails beside others is run once more, alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONCE = """
from pathlib import Path

def test_once():
    seen = Path(__file__).with_suffix(".seen")
    before = seen.exists()
    seen.touch()
    assert before

def test_always():
    assert {always}
"""


def ran(folder, *words):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("place", "always", "code"),
    [("tests/cli", True, 0), ("tests/cli", False, 1), ("tests/runtime", True, 1)],
)
def test_only_a_test_that_fails_again_or_is_of_a_protocol_fails_the_run(
    place, always, code, tmp_path
):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "test_it.py").write_text(ONCE.format(always=always))
    assert ran(tmp_path, "pytest", "-q", "--assert=plain").returncode == 1
    again = ran(tmp_path, "tests.again")
    assert again.returncode == code, again.stdout + again.stderr
    assert ("passed alone" in again.stdout) == always


def test_a_run_that_failed_without_a_failed_test_fails(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert ran(tmp_path, "tests.again").returncode == 1
