"""Stacks on which users' operators run: how large they are, and the error if one is too small."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.engine import open_engine
from harness.errors import UserError
from harness.files.places import CODE as ROOT
from harness.graph import Graph
from harness.models import Manual

DEEP = """
#include <stdint.h>
static uint64_t down(volatile uint64_t n) {
  volatile uint64_t room[128];
  room[n % 128] = n;
  return n == 0 ? 0 : down(n - 1) + room[n % 128];
}
uint64_t use(uint64_t kib) { return down(kib); }
int32_t deep(uint64_t sequence, double* value, char* payload, uint64_t bytes, double control, void* state) {
  (void)value, (void)payload, (void)bytes, (void)control, (void)state;
  return sequence == 30 ? (int32_t)(down(100000) % 2 + 1) : 1; }
"""
PROGRAM = """
import ctypes, sys
from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual
from harness.graph.functions.compiled import NativeFunction

library = ctypes.CDLL(sys.argv[1])
library.use.argtypes, library.use.restype = [ctypes.c_uint64], ctypes.c_uint64
kind, kib = sys.argv[3], int(sys.argv[4])
graph = Graph("deep", 8)
if kind == "native":
    deep = graph.native("deep", NativeFunction(ctypes.cast(library.deep, ctypes.c_void_p).value, owners=(library,)))
elif kind == "python":
    deep = graph.python("deep", lambda sequence, value: library.use(kib if sequence == 30 else 1) * 0.0 + value)
source, sink = graph.source("source"), graph.sink("sink")
graph.chain(source, graph.work("before", 1), deep, sink)
engine = open_engine(graph, eval(sys.argv[2]), tuples=100)
engine.start()
while not engine.finished():
    engine.sample(5.0)
print(engine.stop(True, 5.0).correct)
"""

TOLD = (
    r"millrace: operator 'deep' used more than its thread's stack of {}\d\d\d KiB; "
    r"MILLRACE_STACK_KIB=N makes it larger\n"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep")
    (folder / "deep.c").write_text(DEEP)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O0", str(folder / "deep.c"), "-o", str(folder / "deep.so")],
        check=True,
    )
    return folder / "deep.so"


def program(
    library: Path, model: str, kind: str, kib: int, stack: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    if stack is not None:
        environment["MILLRACE_STACK_KIB"] = stack
    words = [sys.executable, "-c", PROGRAM, str(library), model, kind, str(kib)]
    return subprocess.run(
        words, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


@pytest.mark.plain_build
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("Manual()", "native"),
        ("Dedicated()", "python"),
        ("Dynamic(2)", "native"),
        ("Coroutine(2)", "python"),
    ],
)
def test_an_operator_that_uses_more_than_its_threads_stack_is_told_by_its_name(
    library: Path, model: str, kind: str
) -> None:
    done = program(library, model, kind, kib=100_000)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(TOLD.format("2"), done.stderr)


@pytest.mark.plain_build
def test_the_stack_is_as_large_as_the_environment_says(library: Path) -> None:
    assert program(library, "Dynamic(2)", "python", 6000, "8192").stdout == "True\n"
    assert re.fullmatch(
        TOLD.format("4"), program(library, "Dynamic(2)", "python", 6000, "4096").stderr
    )


@pytest.mark.parametrize("size", ["255", "1048577", "-1", "2 MiB", "1e3"])
def test_a_stack_that_cannot_be_is_refused_in_one_line(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_STACK_KIB", size)
    graph = Graph("user", 8)
    graph.chain(
        graph.source("source"),
        graph.python("user", lambda sequence, value: value),
        graph.sink("sink"),
    )
    with pytest.raises(UserError) as refused:
        open_engine(graph, Manual())
    assert (
        str(refused.value)
        == f"MILLRACE_STACK_KIB must be a whole number from 256 to 1,048,576 KiB, not {size!r}"
    )
