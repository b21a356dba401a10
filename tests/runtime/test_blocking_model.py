"""Co-routines that block and are woken, modelled for Spin with store buffers, in all interleavings; planted faults are found.

What the invariants are is said in harness/runtime/model/blocking.pml.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.exhaustive import Broken, check

MODEL = (Path(__file__).parents[2] / "harness" / "runtime" / "model" / "blocking.pml").read_text()

SIZES = {
    "two threads": {},
    "one thread": {"WORKERS": 1},
    "three threads": {"WORKERS": 3},
    "a queue of two": {"TUPLES": 3, "CAPACITY": 2},
    "a stop at any moment": {"STOPS": 1, "TUPLES": 1},
    "a stop, one thread": {"STOPS": 1, "WORKERS": 1},
    "a thread is suspended": {"SUSPENDS": 1, "TUPLES": 1},
    "a thread is suspended, and a stop": {"SUSPENDS": 1, "STOPS": 1, "TUPLES": 1},
    "no store buffers": {"BUFFERED": 0},
}


def model_with(changes: dict[str, str]) -> str:
    model = MODEL
    for before, after in changes.items():
        assert model.count(before) == 1, before
        model = model.replace(before, after)
    return model


@pytest.mark.parametrize("sizes", SIZES)
def test_no_wake_up_is_lost_and_every_run_ends(sizes: str) -> None:
    assert check(MODEL, **SIZES[sizes]) > 50


SETTLE = "inline settle(co, may_go_on) {\n  STORE(co, BLOCKED);\n  FENCE;\n"
WAKE = "inline wake(co, may_go_on) {\n  FENCE;\n"
LEAVE = "      in_reader = false;\n      settle(READER, MAY_READ);\n"

LOOK = {
    "  :: may_go_on ->\n    claim": "  :: false ->\n    claim",
    "  :: !may_go_on -> skip": "  :: true -> skip",
}
FAILED_CLAIM = "atomic { EMPTIED && memory[co] != BLOCKED -> got = false }"
CLOSE = "    STORE(CLOSED, 1);\n    wake(READER, MAY_READ);\n"

PLANTED = {
    "no fence before a blocking thread looks": (
        {SETTLE: SETTLE.replace("  FENCE;\n", "")},
        "deadlock",
    ),
    "no fence before whoever changed the queue looks": (
        {WAKE: WAKE.replace("  FENCE;\n", "")},
        "deadlock",
    ),
    "a blocking thread does not look": (LOOK, "deadlock"),
    "a co-routine is blocked while it is on its stack": (
        {LEAVE: "      settle(READER, MAY_READ);\n      in_reader = false;\n"},
        "assert",
    ),
    "a blocked co-routine is made ready without a claim": (
        {FAILED_CLAIM: FAILED_CLAIM.replace("false", "true")},
        "assert",
    ),
    "the end of a stream wakes nobody": ({CLOSE: CLOSE.split("    wake")[0]}, "deadlock"),
    "a reader ends when the stream is closed, whatever is queued": (
        {"      :: LOAD(TAIL) == taken || LOAD(OVER) ->": "      :: true ->"},
        "assert",
    ),
}


PLANTED_AT_THE_END = {
    "a suspended thread sleeps on when the run is over, with the last co-routine in its hands": (
        {"suspended[_pid] == 0 || LOAD(OVER)": "suspended[_pid] == 0"},
        "deadlock",
    ),
    "a thread leaves when none is ready, though one is blocked and about to be woken": (
        {"LOAD(OVER) && NONE_READY && ALL_RUN": "LOAD(OVER) && NONE_READY"},
        "assert",
    ),
}
"""Of runs that are stopped while a thread is suspended."""


@pytest.mark.parametrize("fault", PLANTED_AT_THE_END)
def test_a_fault_that_is_planted_at_the_end_of_a_run_is_found(fault: str) -> None:
    changes, what = PLANTED_AT_THE_END[fault]
    with pytest.raises(Broken, match=what) as found:
        check(model_with(changes), SUSPENDS=1, STOPS=1, TUPLES=1)
    assert len(found.value.trace) > 5


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    changes, what = PLANTED[fault]
    with pytest.raises(Broken, match=what) as found:
        check(model_with(changes))
    assert len(found.value.trace) > 5
