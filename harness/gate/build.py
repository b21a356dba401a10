"""Building a tree by the suite's commands; what they print goes to a log, whose last lines an error quotes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import RunFailed
from harness.gate.environment import clean_environment
from harness.gate.session import run_session

TIMEOUT_S = 3600.0  # of one command; generous: builds may be long, but nobody waits for a hung one for ever
QUOTED_LINES, QUOTED = 3, 300  # of the log, in an error; lines and characters


class BuildFailed(RunFailed):
    """A command failed. The message quotes the log's last lines and says where it is."""


def build(commands: Sequence[Sequence[str]], directory: Path, log: Path, notify: Callable[[str], None], name: str) -> None:
    """Run the commands in a tree, one after the other, at the first that fails raising BuildFailed. `name` is for people."""
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
                how = f"took longer than {TIMEOUT_S:g} s" if ended.timed_out else f"ended with exit code {ended.code}"
                raise BuildFailed(f"does not build: {shown} {how}: {_last_lines(log)} (log: {log})")


def _last_lines(log: Path) -> str:
    lines = [" ".join(line.split()) for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    text = " | ".join(lines[-QUOTED_LINES:])
    return f"…{text[-QUOTED:]}" if len(text) > QUOTED else text or "it printed nothing"
