"""The protocol of switching queues, as modelled for Spin, in all interleavings; the checker finds
what is planted in it.

What the invariants are is said in harness/runtime/model/switching.pml.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime.exhaustive import Broken, check

FOLDER = Path(__file__).parents[2] / "harness" / "runtime" / "model"
MODEL = (FOLDER / "switching.pml").read_text()

ONE = {"PRODUCERS": 1, "TUPLES": 3, "CHANGES": 3}
TWO = {"PRODUCERS": 2, "TUPLES": 2, "CHANGES": 2, "SUSPENDS": 0}
SIZES = {
    "one producer": ONE,
    "one producer, a run that may be cut short": {**ONE, "CHANGES": 2, "STOPS": 1},
    "two producers": TWO,
    "two producers, suspensions": {**TWO, "CHANGES": 1, "SUSPENDS": 1},
    "two producers, a run that may be cut short": {**TWO, "TUPLES": 1, "STOPS": 1},
}


@pytest.mark.parametrize("sizes", SIZES)
def test_the_protocol_keeps_order_once_alone_and_heed_and_every_run_ends(sizes: str) -> None:
    assert check(MODEL, **SIZES[sizes]) > 2000


PLANTED = {
    "suspension is honoured while the queue is emptied, which then counts as empty": (
        ONE,
        {
            "drain(255, false);": "drain(255, true);",
            ":: waiting == 0 -> atomic { mode": ":: true -> atomic { mode",
        },
        "== expected",
    ),
    "suspension is honoured while the queue is emptied": (
        ONE,
        {"drain(255, false);": "drain(255, true);"},
        "settled",
    ),
    "a queue is closed without being emptied": (
        ONE,
        {
            "drain(255, false);": "skip;",
            ":: waiting == 0 -> atomic { mode": ":: true -> atomic { mode",
        },
        "== expected",
    ),
    "a queue is emptied without the consumer flag": (
        ONE,
        {"atomic { !consuming -> consuming = true };\n    drain(255": "true;\n    drain(255"},
        "assert",
    ),
    "the shortcut is removed before the wish is written": (
        ONE,
        {
            "mode = mode & NOW_CALLED;\n  shortcut = "
            "false": "shortcut = false;\n  mode = mode & NOW_CALLED"
        },
        "settled",
    ),
    "the wish is looked at before the shortcut is set": (
        ONE,
        {
            "shortcut = true;\n    if\n    :: !(mode & WANTED_CALLED) -> shortcut = false\n    :: "
            "else -> skip\n    fi": (
                "if\n    :: !(mode & WANTED_CALLED) -> shortcut = false\n    :: else -> shortcut = "
                "true\n    fi"
            )
        },
        "settled",
    ),
    "the shortcut stays while the queue comes back": (
        ONE,
        {
            "    shortcut = false;\n    atomic { mode = mode & "
            "WANTED_CALLED": "    atomic { mode = mode & WANTED_CALLED"
        },
        "assert",
    ),
    "a producer that waited for its flag does not look at the mode again": (
        TWO,
        {":: SHARED && (mode & NOW_CALLED) -> UNLOCK(producing)": ":: false -> skip"},
        "assert",
    ),
    "producers call without the lock": (
        TWO,
        {"  TRY(call_lock);\n": "", "  UNLOCK(call_lock)\n": "  skip\n"},
        "assert",
    ),
    "the queue is emptied without the producer flag": (
        TWO,
        {"  TRY(producing);\n  if": "  if", "  fi;\n  UNLOCK(producing)\n": "  fi\n"},
        "assert",
    ),
    "the mode is read before the call lock is held": (
        TWO,
        {"  TRY(call_lock);\n  seen = mode;\n": "  seen = mode;\n  TRY(call_lock);\n"},
        "assert",
    ),
    "a cycle comes back to the port itself": (
        TWO,
        {"inline feed_back() {\n  skip": "inline feed_back() {\n  !call_lock"},
        "deadlock",
    ),
    "the producer writes over a wish that has changed meanwhile": (
        ONE,
        {"mode = mode | NOW_CALLED; seen": "mode = CALLED; seen"},
        "assert",
    ),
    "a blocked producer takes the consumer flag of an empty queue": (
        TWO,
        {"    :: waiting > 0 ->\n      if\n": "    :: true ->\n      if\n"},
        "livelock",
    ),
}


QUICK = 4
"""Planted faults that every test run looks for; the others take as long as all the rest of this
file.
"""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if number < QUICK else pytest.mark.slow)
        for number, fault in enumerate(PLANTED)
    ],
)
def test_a_planted_fault_is_found(fault: str) -> None:
    sizes, changes, what = PLANTED[fault]
    model = MODEL
    for before, after in changes.items():
        assert model.count(before) == 1, before
        model = model.replace(before, after)
    with pytest.raises(Broken, match=what) as found:
        check(model, **sizes)
    assert len(found.value.trace) > 5


# -- make model-check ------------------------------------------------------------------------------


def run_check(tmp_path: Path, path: str) -> subprocess.CompletedProcess[str]:
    words = ["/bin/sh", str(FOLDER / "check.sh"), str(tmp_path / "made")]
    return subprocess.run(
        words, env={"PATH": path}, capture_output=True, text=True, timeout=50, check=False
    )


def test_without_spin_one_line_says_so_and_nothing_fails(tmp_path: Path) -> None:
    for tool in ("dirname", "mkdir", "grep", "cat", "cc"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/false")
    done = run_check(tmp_path, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1 and "spin is not installed" in done.stdout


@pytest.mark.parametrize(("errors", "code"), [(0, 0), (1, 1)])
def test_what_spin_finds_is_what_the_check_says(errors: int, code: int, tmp_path: Path) -> None:
    """A stand-in for Spin, whose verifier prints the verdict that it is told to."""
    spin = tmp_path / "spin"
    verifier = (
        f'#include <stdio.h>\nint main() {{ puts("State-vector 1 byte, errors: {errors}"); }}'
    )
    spin.write_text(f"#!/bin/sh\necho '{verifier}' > pan.c\n")
    spin.chmod(0o755)
    done = run_check(tmp_path, f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == code, done.stdout + done.stderr
    assert ("switching.pml is wrong" in done.stdout) == (code == 1)
    models = sorted(path.name for path in FOLDER.glob("*.pml"))
    assert [name for name in models if f"no error in {name}" in done.stdout] == (
        models if code == 0 else []
    )
