"""Instructions that a program executes, counted by the CPU (perf) or by Cachegrind of valgrind.

Counts hardly scatter, so few processes tell a small difference. Cachegrind makes a program about 50
times slower, and counts a process that forks without an exec from its parent's count on.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.gate.environment import clean_environment

FILE = "instructions"  # files with a count begin with this
PERF, CACHEGRIND = "perf", "valgrind"
PROBE_S = 20.0  # longest time that perf is waited for when it is asked whether there are counters
SUMMARY = re.compile(r"^summary: (\d+)", re.M)
COUNT = re.compile(r"^(\d+),[^,]*,instructions", re.M)


@dataclass(frozen=True)
class Counter:
    """A tool that counts: the words to put before a command, and how much slower it makes it."""

    name: str
    slowdown: float

    def words(self, room: Path) -> list[str]:
        """Return the words to put before a command, so that its counts are written into `room`."""
        file = room / FILE
        if self.name == PERF:
            return ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(file), "--"]
        return [
            *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes", "-q"),
            *("--vgdb=no", "--log-file=/dev/null", f"--cachegrind-out-file={file}.%p"),
        ]

    def read(self, room: Path) -> int:
        """Return the count of all processes that wrote into `room`; 0 if there is none."""
        pattern = COUNT if self.name == PERF else SUMMARY
        texts = (path.read_text(errors="replace") for path in room.glob(f"{FILE}*"))
        return sum(int(count) for text in texts for count in pattern.findall(text))


@functools.cache
def counter() -> Counter | None:
    """Return the tool that counts here: perf if there are hardware counters, else Cachegrind; None
    if there is neither."""
    path = clean_environment().get("PATH")
    if shutil.which("perf", path=path):
        command = ["perf", "stat", "-x,", "-e", "instructions:u", "true"]
        done = subprocess.run(command, capture_output=True, timeout=PROBE_S, check=False)
        if COUNT.search(done.stderr.decode(errors="replace")):
            return Counter(PERF, 1.0)
    return Counter(CACHEGRIND, 50.0) if shutil.which("valgrind", path=path) else None
