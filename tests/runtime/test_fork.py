"""A process that was forked while an engine runs has its memory and none of its threads: it leaves
the engine alone.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.files.places import CODE as ROOT

SCRIPT = """
import multiprocessing, os, signal, sys, time
from harness.engine import open_engine
from harness.errors import UserError
from harness.models import Dedicated, Dynamic
from tests.runtime.shapes import pipeline

LIMIT_S = 8.0  # a child that waits for threads that are not there gives up after ten seconds, or never

def wait(child):
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"

def refused(engine):
    calls = {
        "start": engine.start,
        "sample": lambda: engine.sample(0.1),
        "since_sample": engine.since_sample,
        "finished": engine.finished,
        "set_threads": lambda: engine.set_threads(1),
        "set_queued": lambda: engine.set_queued([], True),
        "queued": engine.queued,
        "set_active_ports": lambda: engine.set_active_ports("none", 1),
        "stop": lambda: engine.stop(True, 1.0),
    }
    for name, call in calls.items():
        try:
            call()
        except UserError as error:
            assert str(error).startswith(f"{name}: this engine runs in process {os.getppid()}, which started it;"), error
        else:
            raise AssertionError(name)

def in_child(engine):
    refused(engine)

if __name__ == "__main__":
    machine, how = sys.argv[1:]
    ended = []
    for attempt in range(6):
        for model in (Dynamic(4), Dedicated()):
            engine = open_engine(pipeline(6, cost=300 * (attempt % 3)), model, machine, profile=True)
            engine.start()
            engine.sample(0.002)
            if how == "fork":
                child = os.fork()
                if child == 0:
                    refused(engine)
                    del engine       # drops it
                    sys.exit(0)      # and ends as a program does
                ended.append(wait(child))
            else:
                child = multiprocessing.get_context("fork").Process(target=in_child, args=(engine,))
                child.start()
                child.join(LIMIT_S)
                ended.append(child.exitcode)
                child.kill()
            totals = engine.stop(False, 5.0)
            assert totals.correct and not totals.stuck, totals
    assert ended == [0] * 12, ended
"""


@pytest.mark.parametrize("how", ["fork", "multiprocessing"])
@pytest.mark.parametrize("machine", ["local", "xeon"])
def test_a_forked_process_refuses_calls_and_ends_at_once(machine: str, how: str) -> None:
    words = [sys.executable, "-c", SCRIPT, machine, how]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
