"""A test that hangs, or that its process dies in, or that pytest cannot tell of, has failed by its
name, and the others run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("ours", {str(Path(__file__).parent / "conftest.py")!r})
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)
ours.TOO_LATE_S = 0.5
globals().update({{name: value for name, value in vars(ours).items() if name.startswith("pytest_")}})
"""
TESTS = """
import ast, os, signal, time
import pytest

def test_before():
    pass

@pytest.mark.timeout(1)
def test_hangs_and_heeds_no_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(500)

@pytest.mark.timeout(1)
def test_hangs():
    time.sleep(500)

def test_cannot_be_told():
    def parse(*words):
        raise SystemError("AST constructor recursion depth mismatch")
    ast.parse = parse
    assert "this" == "that"

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass
"""


@pytest.mark.heavy
@pytest.mark.parametrize("processes", ["1", "2"])
def test_each_that_fails_so_is_named_once_and_the_others_run(
    processes: str, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test_more.py").write_text("def test_more(): pass", encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-n", processes, "--dist", "loadfile"]
    words += ["-p", "no:cacheprovider", "--timeout", "500"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    ended = sorted(line.split(" - ")[0] for line in done.stdout.splitlines() if "FAILED" in line)
    names = ("cannot_be_told", "dies", "hangs", "hangs_and_heeds_no_signal")
    assert ended == [f"FAILED test_some.py::test_{name}" for name in names], done.stdout
    assert "4 failed, 3 passed" in done.stdout
    assert " in test_hangs_and_heeds_no_signal\n" in done.stderr
