"""Processes of a bench leave the CPUs to each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from harness.bench.side_by_side import THREADS_VARIABLE, processes
from harness.files.places import CODE as ROOT

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("before", [None, "2"])
def test_theirs_have_one_thread_of_numpy_and_the_own_process_what_it_had(before, monkeypatch):
    if before is None:
        monkeypatch.delitem(os.environ, THREADS_VARIABLE, raising=False)
    else:
        monkeypatch.setitem(os.environ, THREADS_VARIABLE, before)
    with processes(2) as pool:
        assert list(pool.map(os.getenv, [THREADS_VARIABLE] * 4)) == ["1"] * 4
    assert os.environ.get(THREADS_VARIABLE) == before


def test_a_mistake_in_one_of_them_is_raised_here(monkeypatch):
    monkeypatch.setitem(os.environ, THREADS_VARIABLE, "2")
    with pytest.raises(ValueError, match="invalid literal"), processes(1) as pool:
        list(pool.map(int, ["no number"]))
    assert os.environ[THREADS_VARIABLE] == "2"


BUSY = """
import os, sys, time
from harness.bench.side_by_side import processes
if __name__ == "__main__":
    with processes(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 50).result()
"""


INTERRUPTED = """
import time
from harness.bench.side_by_side import processes
if __name__ == "__main__":
    try:
        with processes(2) as pool:
            for _ in pool.map(abs, range(4)):
                pass
            print("busy", flush=True)
            for _ in pool.map(time.sleep, [500] * 4):
                pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_at_the_terminal_ends_them_at_once_and_without_a_word(tmp_path):
    """A terminal sends it to all processes of its foreground group."""
    (tmp_path / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    bench = subprocess.Popen(
        [sys.executable, tmp_path / "interrupted.py"],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert bench.stdout.readline() == "busy\n"
    os.killpg(bench.pid, signal.SIGINT)
    out, err = bench.communicate(timeout=100)  # sleeps of 500 s are not waited for
    assert (bench.returncode, out, err) == (0, "interrupted\n", "")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_the_bench_whatever_ends_that(ending, tmp_path):
    (tmp_path / "busy.py").write_text(BUSY, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    bench = subprocess.Popen(
        [sys.executable, tmp_path / "busy.py"], env=environment, stdout=subprocess.PIPE, text=True
    )
    theirs = int(bench.stdout.readline())
    bench.send_signal(ending)
    bench.communicate(timeout=100)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and _runs(theirs):
        time.sleep(0.1)
    assert not _runs(theirs)


def _runs(process: int) -> bool:
    try:
        return (
            psutil.Process(process).status() != psutil.STATUS_ZOMBIE
        )  # nobody may be there to wait for it
    except psutil.NoSuchProcess:
        return False


def test_calls_that_are_cancelled_before_their_processes_are_killed_leave_no_traceback(monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    with pytest.raises(KeyboardInterrupt), processes(1) as pool:
        calls = [pool.submit(time.sleep, 30) for _ in range(9)]
        while not calls[1].running():
            time.sleep(0.01)
        for call in calls:
            call.cancel()
        raise KeyboardInterrupt
    assert told == []
