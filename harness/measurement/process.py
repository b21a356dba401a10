"""A run in a fresh process, so that no run inherits another's heap, threads or caches.

The child is `python -m harness.measurement.child --parent PID FD INPUT`: run as JSON on stdin,
record as one line of JSON on stdout. PID is our process: the child ends with it
(`harness.machines.host.parent`). FD is its end of a pipe, to which it writes its phases. INPUT is
our standard input, which becomes the child's when it has read the spec; -1: we have none. It is in
a session of its own: Ctrl-C reaches us alone, and we kill it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from harness.files.places import CODE
from harness.machines.host.descendants import end_descendants
from harness.measurement.spec import Run

# -P: no module that is called harness in the user's working directory
CHILD_COMMAND = (sys.executable, "-P", "-m", "harness.measurement.child")
MAX_STDERR = 4000  # characters of a failed child's last words that its record keeps


def run_in_fresh_process(
    run: Run,
    timeout_s: float | None = None,
    *,
    announce: Callable[[str], None] | None = None,
    command: Sequence[str] = CHILD_COMMAND,
) -> dict[str, Any]:
    """Do one run in a child process; returns its record.

    A child that crashes, hangs for `timeout_s` (None: as `Run.timeout_s`), or answers anything but
    a record gives a *failed* record whose `error` says so in its first line; the child's last words
    follow. What a good child wrote to stderr is passed on. `announce` gets the phases of the run,
    on another thread.
    """
    import subprocess
    import tempfile
    import threading

    from harness.measurement.records import RecordError, validate_record

    limit_s = run.timeout_s if timeout_s is None else timeout_s
    timed_out = False
    ours, theirs = os.pipe()
    given = _standard_input()
    with (
        os.fdopen(ours, encoding="utf-8", errors="replace") as phases,
        # The child is killed when its time is up, and on Ctrl-C: it cannot remove its files then.
        tempfile.TemporaryDirectory(prefix="millrace-", ignore_cleanup_errors=True) as scratch,
    ):
        try:
            child = subprocess.Popen(
                [*command, "--parent", str(os.getpid()), str(theirs), str(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs, *([given] if given >= 0 else [])),
                env=_environment() | {"TMPDIR": scratch},
                start_new_session=True,
            )
        except OSError as error:
            return failed_record(
                run, f"the measuring process could not be started: {error.strerror}"
            )
        finally:
            os.close(theirs)
            if given >= 0:
                os.close(given)
        listener = threading.Thread(target=_listen, args=(phases, announce), daemon=True)
        with child:
            try:
                listener.start()
                output, words = child.communicate(run.to_json().encode(), limit_s)
            except subprocess.TimeoutExpired:
                timed_out = True
                end_descendants(child.pid)
                child.kill()
                output, words = child.communicate()
            finally:
                child.kill()  # does nothing to a child that has ended
                _end_session(child.pid)
        listener.join()
    if timed_out:
        return failed_record(
            run, f"the measuring process was killed after {limit_s:g} s without an answer", words
        )
    if child.returncode < 0:
        return failed_record(
            run, f"the measuring process was killed by {signal_name(-child.returncode)}", words
        )
    if child.returncode > 0:
        return failed_record(
            run, f"the measuring process ended with exit code {child.returncode}", words
        )
    record = _parse(output)
    if record is None:
        return failed_record(
            run, f"the measuring process answered no record but {output[:60]!r}", words
        )
    record["commit"] = _commit()
    try:
        validate_record(record)
    except RecordError as error:
        return failed_record(
            run, f"the measuring process answered a record that breaks its schema: {error}", words
        )
    if words:
        print(words.decode(errors="replace"), end="", file=sys.stderr)
    return record


def failed_record(run: Run, error: str, words: bytes = b"") -> dict[str, Any]:
    """Return the record of a run that was lost, so that the loss is on record. `words`: what the
    child wrote to stderr.
    """
    from harness.measurement.assemble import blank_record, fail_record
    from harness.measurement.subject import parameters_of

    text = words.decode(errors="replace").strip()
    if text:
        error += f" ({text.splitlines()[-1].strip()[:200]})\n{text[-MAX_STDERR:]}"
    record = blank_record(run, parameters_of(run), run.model)
    return fail_record(record, error) | {"commit": _commit()}


def _standard_input() -> int:
    """Return a second descriptor of it; -1: there is none."""
    try:
        return os.dup(0)
    except OSError:
        return -1


def _commit() -> str | None:
    from harness.measurement.source import commit

    return commit()


def _environment() -> dict[str, str]:
    """Return this process's environment, with this project first on the path of modules."""
    root = str(CODE)
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": root + (os.pathsep + inherited if inherited else "")}


def _end_session(leader: int) -> None:
    """End what a measuring process may have left behind: the program of a peer has processes of its
    own.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _listen(phases: TextIO, announce: Callable[[str], None] | None) -> None:
    """Pass on the child's phases, one a line, until it ends."""
    for line in phases:
        if announce is not None:
            announce(line.strip())


def _parse(output: bytes) -> dict[str, Any] | None:
    """Return the one JSON object that the output is, or None."""
    try:
        record = json.loads(output)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def signal_name(number: int) -> str:
    """Return the name of a signal, `SIGKILL`; `signal 70` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
