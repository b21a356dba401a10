"""Cost of a tuple in a user's own operator that does nothing: Python callable, compiled
function, and a work operator.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.errors import RunFailed, UserError
from harness.graph import Graph, Operator
from harness.models import Manual
from tests.benchmarks.arms import BINARIES, PAYLOAD
from tests.benchmarks.fresh import Missing, call
from tests.benchmarks.steady import Span, steady_rate

TITLE = "User's operators: ns a tuple in one that does nothing, under the manual model"
HEADINGS = ("operator", "ns a tuple")
SPAN = Span(window_s=0.5, warm_up_s=1.0)
KINDS = {"work": "work, no FLOP", "python": "Python callable", "native": "compiled function"}
CHAIN = 10  # of them, so that the source's and sink's own cost can be told apart from theirs


def rows() -> Iterator[tuple[str, ...]]:
    for kind, meaning in KINDS.items():
        try:
            long, short = (1e9 / call(rate, kind, count) for count in (CHAIN + 1, 1))
        except Missing as missing:
            yield meaning, str(missing)
        else:
            yield meaning, f"{(long - short) / CHAIN:.1f}"


def rate(kind: str, count: int) -> float:
    """Tuples/s of a pipeline of `count` operators of this kind."""
    graph = Graph("own", PAYLOAD)
    last = graph.source("source")
    for number in range(1, count + 1):
        operator = add(graph, kind, f"own{number}")
        graph.connect(last, operator)
        last = operator
    graph.connect(last, graph.sink("sink"))
    return steady_rate(graph, Manual(), SPAN).tuples_per_s


def add(graph: Graph, kind: str, name: str) -> Operator:
    if kind == "work":
        return graph.work(name, 0)
    if kind == "python":
        return graph.python(name, lambda sequence, value: value, preserves=True)
    if not hasattr(graph, "native"):
        raise Missing("Graph.native")
    try:
        return graph.native(name, compiled(), preserves=True)
    except (ImportError, UserError) as error:
        raise Missing(f"Graph.native: {error}") from error


def compiled() -> object:
    """The function of keep.cpp, as ctypes has it."""
    BINARIES.mkdir(parents=True, exist_ok=True)
    library, source = BINARIES / "keep.so", Path(__file__).with_name("keep.cpp")
    done = subprocess.run(
        ["g++", "-O3", "-shared", "-fPIC", "-o", str(library), str(source)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        raise RunFailed(f"keep.cpp does not compile: {done.stderr}")
    function = ctypes.CDLL(str(library)).keep
    pointer = ctypes.POINTER(ctypes.c_double)
    function.argtypes = [
        ctypes.c_uint64,
        pointer,
        ctypes.c_char_p,
        ctypes.c_uint64,
        ctypes.c_double,
        ctypes.c_void_p,
    ]
    function.restype = ctypes.c_int32
    return function
