"""Who sees to a port with tuples, as modelled for Spin with store buffers, in all interleavings; planted faults are found.

What the invariants are is said in harness/runtime/model/ready.pml.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.exhaustive import Broken, check

MODEL = (Path(__file__).parents[2] / "harness" / "runtime" / "model" / "ready.pml").read_text()

SIZES = {
    "a queue of one": {},
    "a queue of two": {"CAPACITY": 2},
    "no store buffers": {"BUFFERED": 0},
    "three tuples": {"TUPLES": 3},
    "two scheduler threads": {"TAKERS": 2},
    "two holders": {"HOLDERS": 2},
}
SLOW = {"two scheduler threads", "two holders"}


def model_with(changes: dict[str, str]) -> str:
    model = MODEL
    for before, after in changes.items():
        assert model.count(before) == 1, before
        model = model.replace(before, after)
    return model


@pytest.mark.parametrize(
    "sizes",
    [pytest.param(sizes, marks=pytest.mark.slow if sizes in SLOW else ()) for sizes in SIZES],
)
def test_no_tuple_is_left_lying_or_executed_twice_and_every_run_ends(sizes: str) -> None:
    assert check(MODEL, **SIZES[sizes]) > 20_000


ADD_ZERO = "  atomic { EMPTIED -> was = ready }; /* adds 0 */"
LOOK = "  if\n  :: was -> was = false\n  :: !was -> look()\n  fi\n"
CLEAR = "  atomic { EMPTIED -> ready = false };\n  look()\n"
PUBLISH = "      STORE(TAIL, sent + 1);\n      sent++;\n"
PUT_OFF = "      :: ready -> skip /* put off */\n      fi\n"

PLAIN = {f"{ADD_ZERO}\n{LOOK}": "  look()\n"}
"""The holder lets go by a store, and looks: what is in its store buffer is not seen by the scheduler thread that comes by."""


def test_a_holder_that_lets_go_by_a_store_alone_loses_a_tuple() -> None:
    with pytest.raises(Broken, match="deadlock of taker") as found:
        check(model_with(PLAIN))
    assert len(found.value.trace) > 10


def test_it_is_the_store_buffer_that_loses_it() -> None:
    assert check(model_with(PLAIN), BUFFERED=0) > 10_000


PLANTED = {
    "the holder reads the flag without a read-modify-write": (
        {ADD_ZERO: "  was = ready;"},
        "deadlock",
    ),
    "the holder does not look": ({LOOK: LOOK.replace("look()", "skip")}, "deadlock"),
    "a scheduler thread looks before it writes": (
        {CLEAR: "  look();\n  atomic { EMPTIED -> ready = false }\n"},
        "deadlock",
    ),
    "a scheduler thread does not look": ({CLEAR: "  ready = false\n"}, "deadlock"),
    "the flag is set before the tuple is published": (
        {
            PUBLISH: "      sent++;\n",
            PUT_OFF: PUT_OFF.replace("fi\n", "fi;\n      STORE(TAIL, sent)\n"),
        },
        "deadlock",
    ),
    "what was put off is forgotten": (
        {"  od;\n  announce();\n  ended++": "  od;\n  unannounced = false;\n  ended++"},
        "deadlock",
    ),
    "a port is drained without its consumer flag": (
        {
            "atomic { EMPTIED && !memory[HELD] -> memory[HELD] = 1 };\n      drain(most)": "true;\n      drain(most)"
        },
        "assert",
    ),
    "a port is put on the list whatever its flag was": (
        {
            "  :: was -> was = false\n  :: !was -> atomic { assert(": "  :: false -> skip\n  :: true -> atomic { assert("
        },
        "listed",
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    changes, what = PLANTED[fault]
    with pytest.raises(Broken, match=what) as found:
        check(model_with(changes))
    assert len(found.value.trace) > 5
