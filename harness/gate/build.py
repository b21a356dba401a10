"""Builds a tree with the suite's commands. Their output goes to a log, and an error quotes its last
lines."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import RunFailed
from harness.gate.environment import clean_environment
from harness.gate.session import run_session

# of one command; generous, because a build may be long, but a hung build must end
TIMEOUT_S = 3600.0
QUOTED_LINES, QUOTED = 3, 300  # quoted from the log in an error: lines, and characters


class BuildFailed(RunFailed):
    """A build command failed. The message quotes the log's last lines and names the log."""


def build(
    commands: Sequence[Sequence[str]],
    directory: Path,
    log: Path,
    notify: Callable[[str], None],
    name: str,
) -> None:
    """Run the commands in a tree, one after the other. Raises BuildFailed at the first that fails.
    `name` is for messages."""
    if not commands:
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        for command in commands:
            shown = shlex.join(command)
            notify(f"building {name}: {shown}")
            try:
                ended = run_session(command, directory, clean_environment(), TIMEOUT_S, log=file)
            except OSError as error:
                raise BuildFailed(f"does not build: {shown}: {error.strerror}") from error
            if ended.timed_out or ended.code != 0:
                how = (
                    f"took longer than {TIMEOUT_S:g} s"
                    if ended.timed_out
                    else f"ended with exit code {ended.code}"
                )
                raise BuildFailed(f"does not build: {shown} {how}: {_last_lines(log)} (log: {log})")


def _last_lines(log: Path) -> str:
    lines = [
        " ".join(line.split())
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip()
    ]
    text = " | ".join(lines[-QUOTED_LINES:])
    return f"…{text[-QUOTED:]}" if len(text) > QUOTED else text or "it printed nothing"
