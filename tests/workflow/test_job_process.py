"""A job's process ends with the workflow that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.files.places import CODE as ROOT

JOB = """
import os, sys, time
from harness.machines.host.parent import end_with
from harness.workflow.job import WORKFLOW_GONE
end_with(int(sys.argv[1]), WORKFLOW_GONE)
print("watching", flush=True)
time.sleep(500)
"""
STARTER = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())])
time.sleep(500)
"""


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def test_it_ends_when_the_workflow_is_killed():
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, JOB],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert starter.stdout.readline() == "watching\n"
    starter.kill()
    assert starter.communicate(timeout=100) == (
        "",
        "",
    )  # returns when the job, which sleeps, has closed its end of the pipes


def test_it_runs_the_command_while_the_workflow_lives():
    words = [
        sys.executable,
        "-m",
        "harness.workflow.job",
        str(os.getpid()),
        "sweep",
        "--config",
        "none.yaml",
    ]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.returncode == 2
    assert (
        done.stderr
        == f"millrace sweep: none.yaml: cannot be read: No such file or directory in {Path.cwd()}\n"
    )


def test_it_does_not_begin_if_the_workflow_is_gone_already():
    done = subprocess.run(
        [sys.executable, "-c", JOB, "1"], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 1
    assert "the workflow that started this job is gone" in done.stderr
