"""One measuring process at a time, and a dead one holds nobody up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import RunFailed
from harness.measurement.lock import lock_path, measuring_lock

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from harness.measurement.lock import measuring_lock
with measuring_lock(path=Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def holder(path):
    """Another process that holds the lock until its stdin is closed or it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    process.stdin.close()


@pytest.mark.heavy
@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda process: process.stdin.close()], ids=["killed", "done"])
def test_a_second_measurer_says_that_it_waits_and_goes_on_when_the_first_ends(holder, path, end):
    notices: list[str] = []

    def notice(text: str) -> None:
        assert holder.poll() is None
        notices.append(text)
        end(holder)

    with measuring_lock(notice, path):
        assert holder.wait(10) is not None
    assert len(notices) == 1
    assert f"process {holder.pid} " in notices[0]


def test_a_free_lock_is_taken_without_a_word(path):
    for _ in range(2):
        with measuring_lock(pytest.fail, path):
            assert path.read_text() == f"{os.getpid()}\n"


def test_the_lock_is_released_when_measuring_fails(path):
    with pytest.raises(ValueError), measuring_lock(pytest.fail, path):
        raise ValueError
    with measuring_lock(pytest.fail, path):
        pass


def test_each_user_has_a_lock_of_his_own():
    assert str(os.getuid()) in lock_path().name


def test_a_lock_that_cannot_be_opened_is_told_by_its_name(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunFailed, match=r"cannot open the lock file .*/link"), measuring_lock(path=tmp_path / "link"):
        pass
    assert not (tmp_path / "elsewhere").exists(), "a link that somebody laid is not followed"
