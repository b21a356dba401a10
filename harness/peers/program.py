"""A peer's program while it runs. It answers each word on its standard input with a line of JSON:

  (nothing)  {"ready": {"threads": N}}    after it has read the plan and could start; `threads`
                                          execute operators; also `capacity` and `batch`, if they
                                          are not those in the plan
  start      {"started": {}}
  sample     {"sample": {…}}              counters since the start (`Counts`); `finished`: true
                                          if all tuples have arrived
  stop MS    {"totals": {…}}              stops its sources and drains for so many ms at most;
                                          then each operator counts tuples that it gets and does
                                          not execute. It ends with exit code 0

Its standard error goes to a file; an error message shows the end of it. Its working directory is a
scratch folder that is removed.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import RunFailed
from harness.machines.host.descendants import adopt_orphans, descendants, end_descendants
from harness.machines.host.parent import ending_with_us

START_S = 120.0  # until it is ready; a local Storm cluster takes 10 s, and 60 s on a busy machine
# to a sample: it only reads counters, but on a host full of busy threads even that has taken more
# than 10 s
ANSWER_S = 30.0
END_S = 5.0  # to end after its totals
LONGEST_ANSWER = 64 * 2**20  # bytes; 100,000 operators have answers of 2 MB
SHOWN_CHARACTERS = 60  # characters of a wrong answer


class PeerProgram:
    """One process of a peer. Every failure of it is a RunFailed that names the peer; `close`
    removes all processes and files. `sharp`: its threads sleep as exactly as those of our sources
    with a rate.
    """

    def __init__(self, name: str, command: Sequence[str], plan: str, sharp: bool = False) -> None:
        self.name = name
        self._unread = b""
        self._scratch = tempfile.TemporaryDirectory(
            prefix="millrace-peer-", ignore_cleanup_errors=True
        )
        folder = Path(self._scratch.name)
        (folder / "plan").write_text(plan, encoding="utf-8")
        self._words = folder / "stderr"
        adopt_orphans()
        self._others = descendants(os.getpid())
        with self._words.open("wb") as words:
            self._process = subprocess.Popen(
                ending_with_us([*command, str(folder / "plan")], sharp),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=folder,
                bufsize=0,
            )

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self._process.pid

    def ask(self, word: str, answer: str, within_s: float) -> dict[str, Any]:
        """Send a word ("": the program speaks by itself) and return its answer. Raises RunFailed if
        that is not `answer`, or comes too late.
        """
        if word:
            try:
                self._process.stdin.write(f"{word}\n".encode())
            except OSError:
                raise self._ended() from None
        line = self._line(time.monotonic() + within_s, f"{answer!r} for {within_s:g} s")
        try:
            found = json.loads(line)[answer]
        except (ValueError, RecursionError, TypeError, KeyError):
            found = None
        if not isinstance(found, dict):
            raise RunFailed(
                f"peer {self.name} answered no {answer!r} but {line[:SHOWN_CHARACTERS]!r}"
            )
        return found

    def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass. Raises RunFailed at once if the program ends, or writes a line
        without a request, meanwhile.
        """
        if not self._unread and not self._readable(time.monotonic() + seconds):
            return
        line = self._line(time.monotonic() + ANSWER_S, "")
        raise RunFailed(f"peer {self.name} said unasked {line[:SHOWN_CHARACTERS]!r}")

    def finish(self) -> None:
        """Wait for its end after its totals. Raises RunFailed if it does not end, or fails."""
        self._process.stdin.close()
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise RunFailed(
                f"peer {self.name} did not end within {END_S:g} s of its totals{self._last_words()}"
            ) from None
        if code != 0:
            raise self._ended()

    def close(self) -> None:
        """End it, and all processes that it has started."""
        if self._process.poll() is None:
            end_descendants(self._process.pid)
            self._process.kill()
            self._process.wait()
        end_descendants(os.getpid(), self._others)  # processes that it left behind
        self._process.stdin.close()
        self._process.stdout.close()
        self._scratch.cleanup()

    def _line(self, deadline: float, late: str) -> bytes:
        while b"\n" not in self._unread:
            if len(self._unread) > LONGEST_ANSWER:
                raise RunFailed(
                    f"peer {self.name} answered more than {LONGEST_ANSWER} bytes without an end of "
                    "line"
                )
            if not self._readable(deadline):
                raise RunFailed(f"peer {self.name} gave no answer {late}{self._last_words()}")
            more = os.read(self._process.stdout.fileno(), 2**20)
            if not more:
                raise self._ended()
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _readable(self, deadline: float) -> bool:
        return bool(
            select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]
        )

    def _ended(self) -> RunFailed:
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            return RunFailed(
                f"peer {self.name} closed its output and did not end{self._last_words()}"
            )
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return RunFailed(f"peer {self.name} {how}{self._last_words()}")

    def _last_words(self) -> str:
        """Return the last line that it wrote to its standard error, in brackets."""
        lines = self._words.read_bytes()[-4000:].decode(errors="replace").strip().splitlines()
        return f" ({lines[-1].strip()[:200]})" if lines else ""
