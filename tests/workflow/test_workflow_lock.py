"""One workflow at a time in a directory, and no lock left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from harness.errors import RunFailed
from harness.files.places import CODE as ROOT
from harness.workflow import lock

HOLDER = """
from harness.workflow.lock import hold_lock
hold_lock()
print("held", flush=True)
input()
"""


@pytest.fixture(autouse=True)
def released():
    yield
    for handle in lock._held.values():
        os.close(handle)
    lock._held.clear()


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """Another process that holds the lock of the working directory."""
    monkeypatch.chdir(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == "held\n"
    with process:
        yield process
        process.kill()


def test_a_second_workflow_is_refused_and_told_who_runs(holder):
    with pytest.raises(
        RunFailed,
        match=rf"another workflow is running here \(process {holder.pid}, lock .*workflow.lock\)",
    ):
        lock.hold_lock()


def test_a_killed_workflow_leaves_no_lock(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock.hold_lock()
    assert lock.LOCK.read_text(encoding="utf-8") == f"{os.getpid()}\n"


def test_whoever_has_the_lock_may_ask_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lock.hold_lock()
    lock.hold_lock()


def test_another_directory_has_another_lock(holder, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    lock.hold_lock()


def test_a_place_without_room_for_a_lock_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".millrace").write_text("in the way")
    with pytest.raises(RunFailed, match="cannot open the lock file"):
        lock.hold_lock()
