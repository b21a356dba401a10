"""Signals that end a command: exit codes as shells have them, for every command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.cli import COMMANDS, call

ROOT = Path(__file__).resolve().parents[2]


def command_that(does):
    return SimpleNamespace(
        SUMMARY="a command",
        DESCRIPTION="",
        add_arguments=lambda parser: None,
        run=lambda args: does(),
    )


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("signals_heeded")
def test_a_signal_ends_every_command_with_its_own_exit_code(name, number, code, capsys):
    command = command_that(lambda: signal.raise_signal(number))
    assert call(f"millrace {name}", command, []) == code
    assert capsys.readouterr().err == f"millrace {name}: interrupted\n"


@pytest.mark.usefixtures("signals_heeded")
def test_a_command_leaves_signals_as_they_were_and_forgets_the_last_one(capsys):
    assert (
        call("millrace run", command_that(lambda: signal.raise_signal(signal.SIGTERM)), []) == 143
    )
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def interrupted():
        raise KeyboardInterrupt

    assert call("millrace run", command_that(interrupted), []) == 130


@pytest.mark.usefixtures("signals_heeded")
def test_a_fork_of_a_command_ends_by_itself_and_runs_nothing_of_it(capfd):
    def fork():
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGTERM)
            print("it went on")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    assert call("millrace laws", command_that(fork), []) == 143
    assert "it went on" not in capfd.readouterr().out


@pytest.mark.heavy
@pytest.mark.usefixtures("signals_heeded")
def test_an_interrupt_in_code_from_a_string_has_the_same_exit_code(tmp_path):
    """Importing a module with a dataclass executes such code, early in a command."""
    program = """import signal, sys
from harness.cli import call
from tests.cli.test_ending import command_that
words = "import signal; signal.raise_signal(signal.SIGTERM)"
sys.exit(call("millrace run", command_that(lambda: exec(words)), []))
"""
    (tmp_path / "early.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "-m", "early"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (143, b"millrace run: interrupted\n")


def catches(process: int, number: signal.Signals) -> bool:
    """Return True if a process has a handler of the signal (SigCgt in proc(5))."""
    status = Path(f"/proc/{process}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.heavy
@pytest.mark.usefixtures("signals_heeded")
def test_a_real_command_that_never_caught_signals_ends_with_143(tmp_path):
    words = ["laws", "bench", "--jobs", "1", "--table", "t.parquet"]
    child = subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        deadline = time.monotonic() + 100.0
        while not catches(child.pid, signal.SIGTERM) and time.monotonic() < deadline:
            time.sleep(0.01)
        child.terminate()
        _, err = child.communicate(timeout=100)
    assert child.returncode == 143
    assert err == "millrace laws: interrupted\n"
