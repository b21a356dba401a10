"""Processes end with the one that started them, without a turn of their own."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from harness.files.places import CODE as ROOT
from harness.machines.host.parent import PR_SET_TIMERSLACK, ending_with_us

STARTER = """
import subprocess, sys, time
from harness.machines.host.parent import ending_with_us
subprocess.Popen(ending_with_us(["sh", "-c", "kill -STOP $$; sleep 500"]))  # stopped: it could not end itself
print("started", flush=True)
time.sleep(500)
"""


@pytest.mark.heavy
def test_a_program_that_cannot_run_ends_with_the_process_that_started_it():
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert starter.stdout.readline() == "started\n"
    starter.kill()
    assert starter.communicate(timeout=100) == (
        "",
        None,
    )  # returns when the program has closed its end of the pipe


def test_a_program_gets_its_words_and_environment_and_its_exit_code_comes_back():
    words = ending_with_us(["sh", "-c", 'echo "$0 $1 $A"; exit 3', "a b", "c"])
    done = subprocess.run(
        words, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "A": "d"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "a b c d\n", "")


def test_a_program_that_is_not_there_is_told_in_a_line():
    done = subprocess.run(ending_with_us(["/no/such/program"]), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (126, "/no/such/program: No such file or directory\n")


@pytest.mark.parametrize(("sharp", "slack_ns"), [(True, 1), (False, 70_000)])
def test_all_threads_of_a_program_sleep_exactly_if_asked_to(sharp, slack_ns):
    look = (
        "import ctypes, threading\n"
        "def look(): print(ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))\n"  # PR_GET_TIMERSLACK
        "look(); other = threading.Thread(target=look); other.start(); other.join()"
    )
    done = subprocess.run(
        ending_with_us([sys.executable, "-c", look], sharp),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 70_000, 0, 0, 0),
    )
    assert [int(word) for word in done.stdout.split()] == [slack_ns] * 2
