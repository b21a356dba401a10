"""Run the tests that failed in `make test` once more, one after the other, and show why they fail.

`make test` runs tests beside each other on a machine that may be busy, and does not prepare the
details of assertions: that takes a fifth of the time. So the details come from here. A test that
passes here failed for lack of time, and only gets a line. A test of a protocol is no exception to
any rule: a tuple that is lost once in a thousand runs is a fault, so `make test` fails anyway.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FAILED = Path(".pytest_cache/v/cache/lastfailed")
PROTOCOLS = ("tests/runtime/", "tests/native/")
MOST = 30
"""Most tests that are run once more: if more failed, time was not what they lacked."""


def main(options: list[str]) -> int:
    """Return the exit code for `make test`. `options`: those of pytest that choose tests."""
    failed = list(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not 0 < len(failed) <= MOST:
        return 1
    print(f"\n{len(failed)} failed: once more, one after the other", flush=True)
    alone = ["-q", "-n0", "--benchmark-disable", "--last-failed", "--last-failed-no-failures=none"]
    if pytest.main([*alone, *options]) != 0:
        return 1
    faults = [name for name in failed if name.startswith(PROTOCOLS)]
    for name in failed:
        why = "a fault all the same" if name in faults else "the machine may have been busy"
        print(f"failed beside others, and passed alone ({why}): {name}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
